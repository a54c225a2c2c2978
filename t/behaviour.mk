# make check-behaviour  runs other projects' tests (Ruby's own, msgpack's, Puma's)
#                       without the tracker and with it. Each test must have the same
#                       outcome. Takes 40 minutes or more; t/behaviour.t does the same
#                       with a small project. Options: see t/behaviour/run.rb
check-behaviour:
	$(Q)RUBY='$(RUBY)' t/behaviour/run.sh
.PHONY: check-behaviour
