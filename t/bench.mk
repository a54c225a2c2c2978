# make bench: prints the costs of tracking. Never part of the tests: it measures
# times, and no test does that. Options: see t/bench/run.rb.
BENCH_PROGRAMS := $(patsubst t/bench/programs/%.c,$(B)/t/bench/%,$(wildcard t/bench/programs/*.c))
bench-programs: $(BENCH_PROGRAMS)
$(BENCH_PROGRAMS): $(wildcard t/bench/programs/*.h)
$(B)/t/bench/%: t/bench/programs/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 -O2 -g $(WARN) -fno-builtin -D_GNU_SOURCE -o $@ $< -lpthread -lm
bench:
	$(Q)RUBY='$(RUBY)' t/bench/run.sh
# Prints the costs on several allocators side by side. Options: see t/bench/sides.rb.
bench-sides:
	$(Q)RUBY='$(RUBY)' t/bench/run.sh sides.rb
# Prints how fast the page at / is in a browser. Options: see t/bench/page.rb.
bench-page:
	$(Q)RUBY='$(RUBY)' t/lib/with_browser.sh t/bench/page.rb
.PHONY: bench bench-sides bench-page bench-programs
