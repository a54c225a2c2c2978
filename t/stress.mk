# make chaos: an application of 50 threads that do everything at once, beside 20 clients that ask for
# everything, for SECONDS; compares its ledger with the table (t/stress/chaos.rb). SEED repeats a run's draws.
chaos: all $(T)/programs/chaos $(PLUGINS)
	$(Q)'$(RUBY)' t/stress/chaos.rb $(SECONDS) $(SEED)
.PHONY: chaos
