# make soak: puts two Puma clusters under load for SECONDS, requests all pages, restarts
# workers, and prints a report (t/soak/soak.rb). t/soak.t does it for a short time.
SECONDS ?= 600
soak:
	$(Q)RUBY='$(RUBY)' t/soak/run.sh $(SECONDS)
.PHONY: soak
