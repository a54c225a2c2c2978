# make screenshots: takes pictures of every page of the demo's apps, light and dark, into
# t/demo/pictures. doc/index.md and doc/memory-map.md show some of them. Options: see
# t/screenshots/run.rb and maps.rb.
screenshots:
	$(Q)RUBY='$(RUBY)' t/lib/with_browser.sh t/screenshots/run.rb
	$(Q)RUBY='$(RUBY)' t/lib/with_browser.sh t/screenshots/maps.rb
.PHONY: screenshots
