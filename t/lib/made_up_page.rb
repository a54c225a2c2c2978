# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The page in front of a made-up app, of which one line leaks: browser.t, browser_history.t, browser_contrast.t.
require_relative "browser"

module MadeUpPage
  include BrowserTest

  LEAK = FakeServer::LEAK

  # Loads the page; returns when all of the first tick is there, and the past.
  def visit(*args, hash: "", base: "", ready: true, **page)
    serve(*args, base: base)
    open_page(@server.url(hash), **page)
    wait_for_live if ready
    wait_until("document.querySelectorAll('#{ROWS}').length > 0") if ready && hash !~ %r{at[=/]|view=map}
    wait_for_first_tick if ready
    wait_until("/^Memory over the last \\d+ [mh] /.test(document.querySelector('.headline .plot').getAttribute('aria-label'))") if ready && hash !~ %r{at[=/]|time=}
  end

  def origin = @server.origin

  def verdict_is(pattern) = wait_until("document.querySelector('.verdict').textContent") { |t| t.match?(pattern) }

  # Waits until the exact values of a column are what the block wants.
  def eventually_values(id, &)
    wait_until(<<~JS, id, &)
      (() => { const i = [...document.querySelectorAll("thead th")].findIndex((n) => n.dataset.column === arguments[0]);
        return [...document.querySelectorAll("#{BrowserTest::ROWS}")].map((r) => parseInt(r.children[i].title.replaceAll(",", "").replace("\u2212", "-"))); })()
    JS
  end
end
