# The programs that the tests run, in .build/t; other builds of what is installed, in .build/NAME; and targets that run
# more than the tests. No gem has this file: building needs none of it.
T := $(B)/t

# --- programs: t/programs/*.c, *.cc, t/unit/*.c (cmocka), which t/unit.t runs, t/preload/*.c as *.so, t/plugins/*.c,
# *.cc as *.so, t/bench/programs/*.c. All of them may include t/lib/*.h ---
# t/programs/urcu.c: once for each flavour of liburcu
FLAVOURS := bp memb mb qsbr
# $1: a folder of t/; its programs, and with $2 its shared objects
built = $(patsubst t/%,$(T)/%$2,$(basename $(wildcard t/$1/*.c t/$1/*.cc)))
PROGRAMS := $(filter-out %/urcu,$(call built,programs)) $(FLAVOURS:%=$(T)/programs/urcu_%)
UNITS := $(call built,unit)
PRELOADS := $(call built,preload,.so)
PLUGINS := $(call built,plugins,.so)
BENCH_PROGRAMS := $(patsubst t/bench/programs/%.c,$(T)/bench/%,$(wildcard t/bench/programs/*.c))
check-programs: $(PROGRAMS) $(UNITS) $(PRELOADS) $(PLUGINS) bench-programs
bench-programs: $(BENCH_PROGRAMS)
$(PROGRAMS) $(PRELOADS) $(PLUGINS): $(wildcard t/lib/*.h) src/api/api.h src/shared/options/options.h src/server/httpd/httpd.h

TEST_CFLAGS := -std=gnu11 -O1 -g $(WARN) -Wno-missing-prototypes -fno-builtin -D_GNU_SOURCE -Isrc
$(T)/programs/%: t/programs/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -rdynamic -o $@ $< $(LIBS) -lpthread -ldl
$(T)/programs/own_mhd: LIBS := $(MHD_LIBS)
PROFILE_OBJ := $(call o,shared/text shared/report server/report) $(B)/src/server/history/limit.o
$(T)/programs/profile_forms: LIBS := $(PROFILE_OBJ)
$(T)/programs/profile_forms: $(PROFILE_OBJ)
TRACE_OBJ := $(call o,recording/format)
$(T)/programs/write_trace: LIBS := $(TRACE_OBJ)
$(T)/programs/write_trace: $(TRACE_OBJ)
$(T)/programs/urcu_%: t/programs/urcu.c
	$(call say,CC,'$< for $*')
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -Wno-unused-function -DFLAVOUR_$* -rdynamic -o $@ $< -lurcu-$* -lurcu-cds -lurcu-common -lpthread -ldl
$(T)/programs/%: t/programs/%.cc
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D) && $(CXX) -std=c++17 -O1 -g -rdynamic -o $@ $< -lpthread -ldl
$(T)/%.so: t/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(TEST_CFLAGS) -fPIC -shared -o $@ $< -ldl -lpthread
$(T)/preload/above.so: t/preload/witness.c
$(T)/plugins/call_b.so: t/plugins/call_a.c
$(T)/plugins/swap_b.so: t/plugins/swap_a.c
$(T)/%.so: t/%.cc
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D) && $(CXX) -std=c++17 -O1 -g -fPIC -shared -o $@ $< -ldl -lpthread
$(BENCH_PROGRAMS): $(T)/bench/%: t/bench/programs/%.c $(wildcard t/bench/programs/*.h)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 -O2 -g $(WARN) -fno-builtin -D_GNU_SOURCE -o $@ $< -lpthread -lm

# with assertions (src/shared/sys/mw_assert.h): all of the tracker, and what else has an assertion or a lock.
# $1: objects; replaces those
ASSERT := $(B)/assert
ASSERT_OBJ := $(TRACKER_OBJ) $(patsubst %.c,$(B)/%.o,$(shell grep -rl --include='*.c' -e mw_assert -e mw_mutex -e mw_rank src))
asserted = $(foreach o,$1,$(if $(filter $o,$(ASSERT_OBJ)),$(o:$(B)/%=$(ASSERT)/%),$o))

# a unit test names the objects that it needs in a comment: /* uses: src/shared/options/options.c ... */;
# @server: those of the server's rooms but httpd that it calls. $1: the folder of the tracker's and shared objects,
# $2: of others, $3: flags. These have assertions. All have ranks, so that the server's archive adds none. The test's own
# file is compiled as fast as can be: what is tested is in these objects
UNIT_CFLAGS := $(filter-out -O% -g,$(TEST_CFLAGS)) -O0 -g1
unit = $(Q)mkdir -p $(@D) && $(CC) $(UNIT_CFLAGS) $(if $(filter $(B),$1),,-DMW_ASSERT) $3 -o $@ $< $1/src/shared/sys/ranks.o \
	$$(sed -n 's,^/\* uses: \(.*\) \*/,\1,p' $< | tr ' ' '\n' | sed 's,^\.build/,$2/,; \
		s,^\(src/\(tracker\|shared\)/.*\)\.c$$,$1/\1.o,; s,^\(src/.*\)\.c$$,$2/\1.o,; s,^@server$$,$1/server.a,') \
	-lcmocka -lpthread -ldl $(URCU_LIBS)
# UNIT_OBJ=.build: with the installed objects, which t/contributing.t has built anyway
UNIT_OBJ := $(ASSERT)
$(ASSERT)/server.a: $(call asserted,$(filter-out $(B)/src/server/httpd/%,$(SERVER_OBJ)))
$(B)/server.a: $(filter-out $(B)/src/server/httpd/%,$(SERVER_OBJ))
$(B)/server.a $(ASSERT)/server.a $(B)/asan/server.a:
	$(Q)rm -f $@ && ar rcs $@ $^
$(T)/unit/%: t/unit/%.c $(TRACKER_OBJ:$(B)/%=$(UNIT_OBJ)/%) $(REPLAY_OBJ) $(UNIT_OBJ)/server.a
	$(call say,CC,$<)
	$(call unit,$(UNIT_OBJ),$(B))
$(UNITS): $(wildcard t/unit/*.h)
$(T)/unit/test_routes $(T)/unit/test_routes_random $(T)/unit/test_template $(T)/unit/test_access $(T)/unit/test_login $(T)/unit/test_socket_mode \
	$(T)/unit/test_history $(filter $(T)/unit/test_family% $(T)/unit/test_journal% $(T)/unit/test_stream%,$(UNITS)): $(SERVER_OBJ)

# --- what t/unit/test_unwind.c and test_cfi*.c look at: t/unwound/*.c, *.cc by several compilers with several options, as
# .build/t/unwound/*.so. Those of clang and of C++ only if there is such a compiler: check-quick needs no more than a build ---
UNWOUND_gcc := O0 O1 O2 O3 Os
UNWOUND_clang := $(if $(shell command -v clang),O0 O2 Os)
UNWOUND_c := $(UNWOUND_gcc:%=cc_%) cc_fp cc_nofp cc_plt $(UNWOUND_clang:%=clang_%) $(if $(UNWOUND_clang),clang_fp)
UNWOUND_cxx := $(if $(shell command -v $(CXX)),$(UNWOUND_gcc:%=cxx_%))
UNWOUND := $(patsubst %,$(T)/unwound/%.so,$(UNWOUND_c) $(UNWOUND_cxx) near far)
# cc_O2.so: -O2
UNWOUND_OPT = -$(lastword $(subst _, ,$(basename $(@F))))
UNWOUND_CFLAGS := -std=gnu11 -g $(WARN) -D_GNU_SOURCE -fPIC -shared
$(T)/unwound/cc_fp.so: UNWOUND_OPT = -O2 -fno-omit-frame-pointer
$(T)/unwound/cc_nofp.so: UNWOUND_OPT = -O1 -fomit-frame-pointer -fno-shrink-wrap
$(T)/unwound/cc_plt.so: UNWOUND_OPT = -O2 -fplt -Wl,-z,lazy
$(T)/unwound/clang_fp.so: UNWOUND_OPT = -O2 -fno-omit-frame-pointer
$(UNWOUND_c:%=$(T)/unwound/%.so): t/unwound/shapes.c t/unwound/shapes.h
	$(call say,CC,'$< for $(@F)')
	$(Q)mkdir -p $(@D) && $(if $(findstring /clang_,$@),clang,$(CC)) $(UNWOUND_CFLAGS) $(UNWOUND_OPT) -o $@ $<
$(UNWOUND_cxx:%=$(T)/unwound/%.so): $(T)/unwound/cxx_%.so: t/unwound/shapes_cxx.cc t/unwound/shapes.h
	$(call say,CXX,'$< for $(@F)')
	$(Q)mkdir -p $(@D) && $(CXX) -std=c++17 -g -$* -fPIC -shared -o $@ $<
$(T)/unwound/near.so: FRAME := 400
$(T)/unwound/far.so: FRAME := 4000
$(T)/unwound/near.so $(T)/unwound/far.so: t/unwound/moved.c t/unwound/shapes.h
	$(call say,CC,'$< for $(@F)')
	$(Q)mkdir -p $(@D) && $(CC) $(UNWOUND_CFLAGS) -O1 -fomit-frame-pointer -fcf-protection=none -fno-stack-protector -DFRAME=$(FRAME) -o $@ $<
UNWOUND_TESTS := test_unwind test_cfi test_cfi_bytes
$(UNWOUND_TESTS:%=$(T)/unit/%) $(UNWOUND_TESTS:%=$(B)/asan/unit/%): | $(UNWOUND)

# --- other builds, in .build/NAME. $1: the name, $2: what it is, for who reads the output, $3: compiler and flags ---
define build
$(B)/$1/%.o: %.c GNUmakefile t/tests.mk
	$$(call say,CC,'$$< $2')
	$$(Q)mkdir -p $$(@D)
	$$(Q)$3 -MMD -MP -c -o $$@ $$<
$(B)/$1/web.o: $(B)/web.c
	$$(Q)mkdir -p $$(@D) && $3 -Isrc/server/http -c -o $$@ $$<
endef
# $1: a compiler, $2: the list of what the tracker exports
define tracker_by
$(call say,LD,$@)
$(Q)$1 -shared -o $@ $(filter %.o,$^) $(LDFLAGS_ALL) -Wl,--version-script=$2 -Wl,-z,nodelete -Wl,--gc-sections $(URCU_LIBS) -ldl -lpthread
endef
define server_by
$(call say,LD,$@)
$(Q)$(CC) -shared -o $@ $(filter %.o,$^) $(LDFLAGS_ALL) -Wl,--version-script=$1 -Wl,--gc-sections -lz -lpthread
endef
as_installed = $(CFLAGS_ALL) $(CFLAGS_$(subst /,_,$*))

# make clang: the tracker by clang as well: t/cost.t counts its instructions, too. Without what debuggers read, which
# valgrind may not understand
CLANG := $(B)/clang/libmwrap.so
$(eval $(call build,clang,by clang,clang $$(filter-out -fno-align-loops,$$(as_installed)) -g0))
$(CLANG): $(TRACKER_SRC:%.c=$(B)/clang/%.o) $(B)/exports.map
	$(call tracker_by,clang,$(B)/exports.map)
clang: $(CLANG)

# The tracker, its server and the writer of recordings with assertions. The unit tests are linked with these objects,
# and t/assert.t preloads this tracker. The installed ones have no assertion
ASSERTED := $(addprefix $(ASSERT)/,libmwrap.so libmwrap_httpd.so libmwrap_mhd.so libmwrap_record.so)
$(eval $(call build,assert,with assertions,$$(CC) $$(as_installed) -DMW_ASSERT))
# each thread's ranks are the same in all of them
$(ASSERT)/%.map: %.map
	$(Q)mkdir -p $(@D) && sed 's/global:/& mw_ranks_mine;/' $< >$@
$(ASSERT)/exports.map: $(B)/exports.map
	$(Q)mkdir -p $(@D) && sed 's/global:/& mw_ranks_mine;/' $< >$@
$(ASSERT)/libmwrap.so: $(call asserted,$(TRACKER_OBJ)) $(ASSERT)/exports.map
	$(call tracker_by,$(CC),$(ASSERT)/exports.map)
$(ASSERT)/libmwrap_httpd.so: $(call asserted,$(SERVER_OBJ)) $(ASSERT)/src/server/httpd/exports.map
	$(call server_by,$(ASSERT)/src/server/httpd/exports.map)
$(ASSERT)/libmwrap_record.so: $(call asserted,$(RECORDER_OBJ)) $(ASSERT)/src/recording/writer/exports.map
	$(call say,LD,$@)
	$(Q)$(CC) -shared -o $@ $(filter %.o,$^) $(LDFLAGS_ALL) -Wl,--version-script=$(filter %.map,$^) -Wl,--gc-sections -ldl -lz
$(ASSERT)/libmwrap_mhd.so $(B)/swift/libmwrap_mhd.so: $(LIBRARY)
	$(Q)mkdir -p $(@D) && cp $< $@
check-programs: $(ASSERTED)
# make check-assert: runs tests of hazards with that tracker and that server
ASSERT_TESTS := t/exact.t t/fiddle.t t/process.t t/record.t t/httpd.t t/family.t $(addprefix t/hazards/,threads.t processes.t limits.t waits.t)
check-assert: all check-programs
	$(Q)MWRAP_TEST_LIB='$(abspath $(ASSERT))' prove $(PROVE_FLAGS) $(ASSERT_TESTS)

# make check-allocators: runs the hazards' tests with another allocator beneath every program, natively and tracked
check-allocators: all check-programs
	$(Q)'$(RUBY)' -r./t/lib/allocators -e 'Allocators.each { |_, path, package| puts path || abort("install #{package}") }' | \
		while read -r a; do echo "On $$a"; HAZARDS_ON=$$a prove $(PROVE_FLAGS) t/hazards/*.t </dev/null || exit 1; done

# make check-sampled: runs the hazards' tests while allocations are sampled, natively and tracked
check-sampled: all check-programs
	$(Q)HAZARDS_SAMPLED=4096 prove $(PROVE_FLAGS) t/hazards/*.t </dev/null

# make planted: a tracker in which t/planted.t plants wrong offsets of Ruby's structures (t/planted/plant.h). The real
# tracker has no switch for that
PLANTED := $(B)/planted/libmwrap.so
# every room that sees the offsets
PLANTED_ROOMS := $(addprefix src/tracker/,caller track hooks process)
PLANTED_SRC := $(filter $(PLANTED_ROOMS:%=%/%),$(TRACKER_SRC)) t/planted/plant.c
$(eval $(call build,planted,with offsets to be planted,$$(CC) $$(as_installed) -It/planted -DMW_PLANT='"plant.h"'))
$(B)/planted/exports.map: $(B)/exports.map
	$(Q)mkdir -p $(@D) && sed 's/mwrap_api;/& mw_plant_now;/' $< > $@
$(PLANTED): $(PLANTED_SRC:%.c=$(B)/planted/%.o) $(filter-out $(PLANTED_ROOMS:%=$(B)/%/%),$(TRACKER_OBJ)) $(B)/planted/exports.map
	$(call tracker_by,$(CC),$(B)/planted/exports.map)
planted: $(PLANTED)

# The tracker and its server with shorter waits (src/shared/sys/times.h): a fifth of each time. For tests that wait for
# these times; the real ones have no switch for it. Compiles only the sources that include times.h
SWIFT := $(addprefix $(B)/swift/,libmwrap.so libmwrap_httpd.so libmwrap_mhd.so)
SWIFT_OBJ := $(patsubst %.c,$(B)/%.o,$(shell grep -rl --include='*.c' '^#include "\(shared/sys/\)*times\.h"' src))
# $1: objects; replaces those that have a swift version
swift = $(foreach o,$1,$(if $(filter $o,$(SWIFT_OBJ)),$(o:$(B)/%=$(B)/swift/%),$o))
$(eval $(call build,swift,with shorter waits,$$(CC) $$(as_installed) -DMW_SWIFT=5))
$(B)/swift/libmwrap.so: $(call swift,$(TRACKER_OBJ)) $(B)/exports.map
	$(call tracker_by,$(CC),$(B)/exports.map)
$(B)/swift/libmwrap_httpd.so: $(call swift,$(SERVER_OBJ)) src/server/httpd/exports.map
	$(call server_by,src/server/httpd/exports.map)
check-programs: $(SWIFT)

# --- the core (the tracker's objects in a driver, t/core/) and the unit tests under sanitizers, in .build/asan and
# .build/tsan. t/core.t runs the core in .build/asan; t/sanitize.t builds and runs the others. The sanitizers' runtime is
# always the compiler's dynamic one: the drivers look up the functions beneath them as the tracker does. Their reports need
# lines and no more of the debug information, which takes a sixth of the time ---
SANITIZE_asan := -fsanitize=address,undefined -fno-sanitize-recover=all
# gcc has no model of a fence under TSan; all data that a fence orders is atomic anyway
SANITIZE_tsan := -fsanitize=thread $(if $(findstring clang,$(CC)),,-Wno-tsan)
SANITIZED_CFLAGS := -std=gnu11 -O1 -g1 -fno-omit-frame-pointer $(WARN) -Wno-missing-prototypes -fno-strict-aliasing -DMW_ASSERT -D_GNU_SOURCE -Isrc -I$(B)
# with untracked.c the tracker would stand aside: t/core/beneath.c replaces it
CORE_SRC := $(filter-out src/tracker/hooks/cxx.c src/tracker/real/untracked.c,$(TRACKER_SRC)) $(filter-out src/server/httpd/%,$(call c,server memory))
# here the functions that these files interpose have other names
RENAMED := $(addprefix src/tracker/,hooks/malloc hooks/mmap hooks/pthread process/exit process/fork)
renamed = $(if $(filter $(RENAMED),$*),-DCORE_RENAME -include t/core/renamed.h)
$(B)/hooks_renamed.h: src/api/hooks.def
	$(Q)mkdir -p $(@D) && sed -n 's/^MW_HOOK\(_REAL\|_NEXT\)*(\([A-Za-z0-9_]*\).*/#define \2 app_\2/p' $< >$@
# $1: asan or tsan
define core
$(CORE_SRC:%.c=$(B)/$1/%.o): | $(B)/hooks_renamed.h
$(B)/$1/core: $(CORE_SRC:%.c=$(B)/$1/%.o) $(B)/$1/web.o $(wildcard t/core/*) t/lib/site.h
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(SANITIZED_CFLAGS) $$(SANITIZE_$1) -o $$@ \
		$$(filter %.o,$$^) $$(filter t/core/%.c,$$^) -Wl,--wrap=mmap -rdynamic $(URCU_LIBS) -lz -lpthread -ldl
$1: $(B)/$1/core
endef
$(foreach s,asan tsan,$(eval $(call build,$s,for $s,$$(CC) $$(SANITIZED_CFLAGS) $$(SANITIZE_$s) $$(renamed)))$(eval $(call core,$s)))

$(B)/asan/server.a: $(patsubst %.c,$(B)/asan/%.o,$(filter-out src/server/httpd/%,$(call c,shared memory server))) $(B)/asan/web.o
ASAN_UNITS := $(UNITS:$(T)/unit/%=$(B)/asan/unit/%)
$(B)/asan/unit/%: t/unit/%.c $(wildcard t/unit/*.h) $(CORE_SRC:%.c=$(B)/asan/%.o) $(B)/asan/src/server/httpd/socket_mode.o $(B)/asan/server.a
	$(call say,CC,$<)
	$(call unit,$(B)/asan,$(B)/asan,$(SANITIZE_asan))
$(ASAN_UNITS): $(REPLAY_OBJ:$(B)/%=$(B)/asan/%)
asan: $(ASAN_UNITS)
check-programs: $(B)/asan/core

# --- make lives N=20000 SEED=7: plays made-up processes (t/lives/), and prints how right the verdicts about them are.
# LIFE=k: one of them alone, sentence by sentence. PART=thread: only those with that part. t/lives.t plays some hundred ---
LIVES := $(T)/lives/lives
LIVES_OBJ := $(patsubst t/lives/%.c,$(T)/lives/%.o,$(wildcard t/lives/*.c))
$(LIVES_OBJ): $(T)/lives/%.o: t/lives/%.c $(wildcard t/lives/*.h src/server/verdict/*.h src/server/history/*.h) src/api/api.h
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 -O2 -g $(WARN) -D_GNU_SOURCE -Isrc -c -o $@ $<
$(LIVES): $(LIVES_OBJ) $(B)/server.a
	$(call say,LD,$@)
	$(Q)$(CC) -o $@ $^ -lm -lpthread -ldl
check-programs: $(LIVES)
lives: $(LIVES)
	$(Q)$(LIVES) -n $(or $(N),5000) -s $(or $(SEED),1) $(if $(LIFE),-l $(LIFE)) $(if $(PART),-p $(PART))

# --- make fuzz: runs each fuzz target (t/fuzz/*.c) for FUZZ_TIME seconds and prints how many inputs it tried. Inputs that
# it keeps are in .build/fuzz/corpus. make fuzzers: only builds the targets; t/fuzz.t runs them for a short time.
# libFuzzer comes with clang ---
FUZZ_CC ?= clang
FUZZ_TIME ?= 600
FUZZ := $(patsubst t/fuzz/%.c,%,$(wildcard t/fuzz/*.c))
FUZZ_SRC := $(filter-out src/server/httpd/%,$(call c,shared memory server recording/format)) \
	$(patsubst %,src/tools/replay/%.c,befores births index large_pages mem merge names packed read_json refs streams)
$(eval $(call build,fuzz,for fuzzing,$$(FUZZ_CC) $$(SANITIZED_CFLAGS) $$(SANITIZE_asan) -fsanitize=fuzzer-no-link))
$(FUZZ:%=$(B)/fuzz/%): $(B)/fuzz/%: t/fuzz/%.c $(wildcard t/fuzz/*.h) t/unit/fake_api.h $(FUZZ_SRC:%.c=$(B)/fuzz/%.o) $(B)/fuzz/web.o
	$(call say,LD,$@)
	$(Q)$(FUZZ_CC) $(SANITIZED_CFLAGS) $(SANITIZE_asan) -fsanitize=fuzzer -o $@ $< $(filter %.o,$^) -lz
# an input for each page
$(B)/fuzz/pages: t/fuzz/seeds.rb src/api/routes.def
	$(Q)rm -rf $@ && mkdir -p $@ && '$(RUBY)' $< $@
fuzzers: $(FUZZ:%=$(B)/fuzz/%) $(B)/fuzz/pages
fuzz: $(FUZZ:%=fuzz-%)
$(FUZZ:%=fuzz-%): fuzz-%: $(B)/fuzz/% $(B)/fuzz/pages
	@mkdir -p $(B)/fuzz/corpus/$*
	@$(B)/fuzz/$* -max_total_time=$(FUZZ_TIME) -max_len=20000 -timeout=20 -print_final_stats=1 \
		-dict=t/fuzz/$*.dict -artifact_prefix=$(B)/fuzz/$*- $(B)/fuzz/corpus/$* t/fuzz/corpus/$* \
		$(if $(filter routes,$*),$(B)/fuzz/pages) \
		>$(B)/fuzz/$*.log 2>&1 </dev/null || { tail -n 60 $(B)/fuzz/$*.log; exit 1; }
	@awk -v name=$* '/cov:/ { for (i = 1; i < NF; i++) if ($$i == "cov:") cov = $$(i + 1) } \
		/number_of_executed_units/ { n = $$2 } \
		END { printf "%s: %d inputs, %d edges, no fault\n", name, n, cov; exit !n }' $(B)/fuzz/$*.log

# --- make check-quick: the tests that a change breaks first, in less than a minute: the unit tests, the core, exact counts,
# and one server. Needs no packages beyond those of a build: no prove, no gem, no C++. Each file is a target, so make runs
# two at a time. t/README says more ---
QUICK := unit core exact serves
QUICK_PROGRAMS := counts early exits forks huge inproc jit lifespans limits million places reload ring signals threads
quick-programs: $(UNITS) $(B)/asan/core $(QUICK_PROGRAMS:%=$(T)/programs/%) $(T)/preload/above.so $(T)/preload/witness.so \
	$(T)/plugins/late.so $(T)/plugins/swap_a.so $(T)/plugins/swap_b.so
check-quick: all
	$(Q)$(MAKE) --no-print-directory -j2 quick-programs
	$(Q)$(MAKE) --no-print-directory -j2 -k -O $(QUICK:%=quick-%)
	@echo 'All quick tests passed. bin/check runs all tests.'
$(QUICK:%=quick-%): quick-%:
	@t/quick.sh t/$*.t
check: all check-programs
	t/lib/prove.sh $(PROVE_FLAGS)

# --- what runs for long, or measures times, which no test does. GNUmakefile's head says what each is; options: see the file ---
bench bench-sides bench-page check-allocators check-arm64 check-behaviour check-lives check-modes check-rubies lives-real screenshots soak: export RUBY := $(RUBY)
bench:
	$(Q)t/bench/run.sh
bench-sides:
	$(Q)t/bench/run.sh sides.rb
bench-page:
	$(Q)t/lib/with_browser.sh t/bench/page.rb
check-arm64:
	$(Q)CFLAGS='$(CFLAGS)' t/arm64/run.sh $(TESTS)
check-behaviour:
	$(Q)t/behaviour/run.sh
check-modes: all check-programs
	$(Q)BUILT='$(abspath $(T))' '$(RUBY)' t/behaviour/modes.rb
check-lives: all check-programs
	$(Q)BUILT='$(abspath $(T))' '$(RUBY)' t/behaviour/lives.rb $(or $(N),300)
lives-real: all
	$(Q)'$(RUBY)' t/lives/real.rb $(or $(N),30) $(or $(MINUTES),9) $(PART)
check-rubies:
	$(Q)BARE_ROOT='$(BARE_ROOT)' SUITES='$(SUITES)' CHECK='$(CHECK)' t/rubies/run.sh
screenshots:
	$(Q)t/lib/with_browser.sh t/screenshots/run.rb
	$(Q)t/lib/with_browser.sh t/screenshots/maps.rb
	$(Q)t/lib/with_browser.sh t/screenshots/objects.rb
	$(Q)t/lib/with_browser.sh t/screenshots/story.rb
SECONDS ?= 600
soak:
	$(Q)t/soak/run.sh $(SECONDS)
chaos: all $(T)/programs/chaos $(PLUGINS)
	$(Q)'$(RUBY)' t/stress/chaos.rb $(SECONDS) $(SEED)
.PHONY: check-programs bench-programs clang planted asan tsan lives fuzz fuzzers $(FUZZ:%=fuzz-%) check-quick quick-programs $(QUICK:%=quick-%) check check-assert \
	bench bench-sides bench-page check-allocators check-arm64 check-behaviour check-lives check-modes check-rubies lives-real screenshots soak chaos
