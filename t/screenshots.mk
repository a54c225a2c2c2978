# make screenshots: takes pictures of every page of the demo's app, light and dark, into
# t/demo/pictures. doc/index.md shows six of them. Options: see t/screenshots/run.rb.
screenshots:
	$(Q)RUBY='$(RUBY)' t/lib/with_browser.sh t/screenshots/run.rb
.PHONY: screenshots
