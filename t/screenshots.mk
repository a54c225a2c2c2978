# make screenshots: pictures of every page, light and dark, in front of the demo's app,
# into t/demo/pictures; doc/index.md shows four of them. Options: see t/screenshots/run.rb.
screenshots:
	$(Q)RUBY='$(RUBY)' t/lib/with_browser.sh t/screenshots/run.rb
.PHONY: screenshots
