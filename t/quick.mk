# make check-quick  runs the tests that a change breaks first, in less than a minute:
#                   the unit tests, the core, exact counts, and one server. Needs no
#                   packages beyond those of a build: no prove, no gem, no C++.
# Each file is a target, so make runs two at a time. t/README says more.
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
.PHONY: check-quick quick-programs $(QUICK:%=quick-%)
