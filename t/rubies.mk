# make check-rubies  runs bin/check on Ruby 3.1, 3.3, 3.4 and 3.4 with YJIT, each in
#                    a bare root, and prints a line for each. Takes 10 minutes a Ruby.
#                    Options, for example BARE_ROOT=../shared/bare-root: t/rubies/run.sh
BARE_ROOT ?= ../shared/bare-root
check-rubies:
	$(Q)BARE_ROOT='$(BARE_ROOT)' SUITES='$(SUITES)' CHECK='$(CHECK)' t/rubies/run.sh
.PHONY: check-rubies
