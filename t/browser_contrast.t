#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# All text of the page can be read, in light and in dark: computed in Chromium from
# the colours that each piece of text and what is behind it really have.
require_relative "lib/browser"
require "cgi/escape"

class ContrastTest < Minitest::Test
  include BrowserTest

  LEAK = "/usr/share/gems/gems/redcarpet-3.3.2/lib/redcarpet.rb:51"

  def teardown
    close_page
    @server&.close
  end

  def visit(option, scheme)
    @server = FakeServer.new(option)
    open_page(@server.url, scheme: scheme)
    Chromium.look(@page, 1280, 800, scheme, still: true) # no colour that fades
    wait_until("document.querySelector('.light')?.dataset.state === 'live'")
    wait_until("document.querySelectorAll('#{ROWS}').length > 0")
  end

  # WCAG 2, 1.4.3: 4.5 to 1, 3 to 1 for large text; controls that are off have no rule.
  CONTRAST = <<~'JS'
    (() => {
      const rgba = (s) => { const n = s.match(/[\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
      const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
      const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const ground = (n) => n ? over(rgba(getComputedStyle(n).backgroundColor), ground(n.parentElement)) : [255, 255, 255, 1];
      const seen = new Set(), bad = [];
      const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) {
        const text = walk.currentNode.data.trim(), n = walk.currentNode.parentElement;
        if (!text || seen.has(n) || !n.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || n.closest("script, :disabled"))
          continue;
        seen.add(n);
        const s = getComputedStyle(n), back = ground(n), size = parseFloat(s.fontSize);
        const [a, b] = [light(over(rgba(s.color), back)), light(back)].sort((x, y) => y - x);
        const least = size >= 24 || (size >= 18.66 && s.fontWeight >= 700) ? 3 : 4.5;
        if ((a + 0.05) / (b + 0.05) < least)
          bad.push(`${((a + 0.05) / (b + 0.05)).toFixed(2)}: ${n.tagName}.${n.className} ${text.slice(0, 30)}`);
      }
      return [seen.size, bad];
    })()
  JS

  def assert_readable(where)
    n, bad = js(CONTRAST)
    assert_operator n, :>, 20, where
    assert_empty bad, where
  end

  def test_it_would_be_noticed
    visit("--locations=100", "light")
    js("document.querySelector('.verdict').style.color = '#8a8a8a'")
    assert_match(/\A3\.\d\d: H1\.verdict /, js(CONTRAST)[1][0])
  end

  def test_contrast_is_aa_in_light_and_dark
    %w[light dark].each do |scheme|
      visit("--locations=100", scheme)
      @server.tick(20)
      wait_until("document.querySelector('#{ROWS} .trend').dataset.way === 'up'")
      assert_readable "#{scheme}: table"
      click("[data-action=reset]")
      wait_until("!document.querySelector('.ask').hidden")
      assert_readable "#{scheme}: question"
      keys(:Escape)
      js("location.hash = '#view=map'")
      wait_until("document.querySelectorAll('.area').length > 3")
      assert_readable "#{scheme}: map"
      js("location.hash = '#at=#{CGI.escape(LEAK)}'")
      wait_until("document.querySelectorAll('.one .histogram td').length > 0")
      assert_readable "#{scheme}: location"
      @server.die
      wait_until("document.querySelector('.light').dataset.state === 'gone'")
      assert_readable "#{scheme}: gone"
      close_page
      @server.close
    end
  end
end
