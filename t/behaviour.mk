# make check-behaviour  runs other projects' tests (Ruby's own, msgpack's, Puma's)
#                       without the tracker and with it: every test must have the
#                       same outcome. 40 minutes and more; t/behaviour.t does the
#                       same with a small one. Options: see t/behaviour/run.rb
check-behaviour:
	$(Q)RUBY='$(RUBY)' t/behaviour/run.sh
.PHONY: check-behaviour
