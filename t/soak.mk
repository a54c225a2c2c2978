# make soak: two Puma clusters under load for SECONDS while all pages are asked for
# and workers restart, then a report (t/soak/soak.rb); t/soak.t does it shortly.
SECONDS ?= 600
soak:
	$(Q)RUBY='$(RUBY)' t/soak/run.sh $(SECONDS)
.PHONY: soak
