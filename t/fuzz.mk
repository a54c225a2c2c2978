# make fuzz     runs each fuzz target (t/fuzz/*.c) for FUZZ_TIME seconds and prints how
#               many inputs it tried. Inputs that it keeps are in .build/fuzz/corpus
# make fuzzers  only builds the targets; t/fuzz.t runs them for a short time
# libFuzzer comes with clang.
FUZZ_CC ?= clang
FUZZ_TIME ?= 600
FUZZ_SAN := -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZ_CFLAGS := -std=gnu11 -O1 -g -fno-omit-frame-pointer $(WARN) -Wno-missing-prototypes -fno-strict-aliasing -DMW_ASSERT -D_GNU_SOURCE -Isrc
FUZZ := $(patsubst t/fuzz/%.c,%,$(wildcard t/fuzz/*.c))
FUZZ_SRC := $(filter-out src/server/httpd/%,$(call c,shared memory server recording/format)) \
	$(patsubst %,src/tools/replay/%.c,befores index json lives mem merge names packed pages refs streams)
FUZZ_OBJ := $(FUZZ_SRC:%.c=$(B)/fuzz/%.o) $(B)/fuzz/web.o

$(B)/fuzz/src/%.o: src/%.c GNUmakefile t/fuzz.mk
	$(call say,CC,'$< for fuzzing')
	$(Q)mkdir -p $(@D) && $(FUZZ_CC) $(FUZZ_CFLAGS) $(FUZZ_SAN) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<
$(B)/fuzz/web.o: $(B)/web.c
	$(Q)mkdir -p $(@D) && $(FUZZ_CC) $(FUZZ_CFLAGS) -Isrc/server/http -c -o $@ $<
$(FUZZ:%=$(B)/fuzz/%): $(B)/fuzz/%: t/fuzz/%.c $(wildcard t/fuzz/*.h) t/unit/fake_api.h $(FUZZ_OBJ)
	$(call say,LD,$@)
	$(Q)$(FUZZ_CC) $(FUZZ_CFLAGS) $(FUZZ_SAN) -fsanitize=fuzzer -o $@ $< $(FUZZ_OBJ)
fuzzers: $(FUZZ:%=$(B)/fuzz/%)

fuzz: $(FUZZ:%=fuzz-%)
$(FUZZ:%=fuzz-%): fuzz-%: $(B)/fuzz/%
	@mkdir -p $(B)/fuzz/corpus/$*
	@$(B)/fuzz/$* -max_total_time=$(FUZZ_TIME) -max_len=20000 -timeout=20 -print_final_stats=1 \
		-dict=t/fuzz/$*.dict -artifact_prefix=$(B)/fuzz/$*- $(B)/fuzz/corpus/$* t/fuzz/corpus/$* \
		>$(B)/fuzz/$*.log 2>&1 </dev/null || { tail -n 60 $(B)/fuzz/$*.log; exit 1; }
	@awk -v name=$* '/cov:/ { for (i = 1; i < NF; i++) if ($$i == "cov:") cov = $$(i + 1) } \
		/number_of_executed_units/ { n = $$2 } \
		END { printf "%s: %d inputs, %d edges, no fault\n", name, n, cov; exit !n }' $(B)/fuzz/$*.log
.PHONY: fuzz fuzzers $(FUZZ:%=fuzz-%)
