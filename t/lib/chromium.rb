# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# A headless Chromium, driven by ferrum: for tests (browser.rb) and for pictures
# (t/screenshots/run.rb). It is chromium-headless-shell: the same engine without a browser's own
# windows, with a third of the processor time for a page. Tests about origins have the whole browser.
gems = File.expand_path("../../.build/gems-#{RUBY_ENGINE}-#{RUBY_VERSION}-#{RUBY_PLATFORM}", __dir__)
Gem.use_paths(gems, [*Gem.path, gems])
# While a page is being left there is nothing to ask. ferrum tries so often to, every 0.1 s:
# its own six times aren't enough where the browser may be kept from running.
ENV["FERRUM_INTERMITTENT_ATTEMPTS"] ||= "600"
require "ferrum"

module Chromium
  FLAGS = %w[no-sandbox disable-gpu disable-quic no-first-run disable-background-networking disable-component-update
             disable-sync disable-dev-shm-usage].to_h { |flag| [flag, nil] }.freeze

  # Of ferrum's own flags these switch off what a browser keeps apart.
  CARELESS = %w[disable-web-security disable-site-isolation-trials disable-features].freeze

  # A Ferrum::Browser; patience: seconds to wait for it, and for each of its answers. careful:
  # one that keeps origins apart, as people's do.
  def self.start(patience, careful: false)
    flags = careful ? Ferrum::Browser::Options::Chrome::DEFAULT_OPTIONS.except(*CARELESS).merge(FLAGS) : FLAGS
    # not the script in /usr/bin, which would end alone
    program = ENV["CHROMIUM"] || (careful ? "/usr/bin/chromium" : "/usr/lib/chromium/chromium-headless-shell")
    Ferrum::Browser.new(headless: true, browser_path: program, window_size: [1280, 800],
                        timeout: patience, process_timeout: patience, browser_options: flags,
                        ignore_default_browser_options: careful)
  end

  # By WCAG 2: ground(n) is the colour behind an element, ratio(colour, back) the contrast of two.
  RATIO = <<~'JS'
    const rgba = (s) => { const n = s.match(/[\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
    const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
    const light = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = (n) => n ? over(rgba(getComputedStyle(n).backgroundColor), ground(n.parentElement)) : [255, 255, 255, 1];
    const ratio = (colour, back) => {
      const [a, b] = [light(over(rgba(colour), back)), light(back)].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05);
    };
  JS

  # How many pieces of text a page has, and which can hardly be read: WCAG 2, 1.4.3, 4.5 to 1, and
  # 3 to 1 for large text; controls that are off have no rule.
  CONTRAST = <<~JS
    (() => {
      #{RATIO}
      const seen = new Set(), bad = [];
      const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) {
        const text = walk.currentNode.data.trim(), n = walk.currentNode.parentElement;
        if (!text || seen.has(n) || !n.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || n.closest("script, :disabled"))
          continue;
        seen.add(n);
        const s = getComputedStyle(n), back = ground(n), size = parseFloat(s.fontSize);
        const least = size >= 24 || (size >= 18.66 && s.fontWeight >= 700) ? 3 : 4.5, r = ratio(s.color, back);
        if (r < least)
          bad.push(`${r.toFixed(2)}: ${n.tagName}.${n.className} ${text.slice(0, 30)}`);
      }
      return [seen.size, bad];
    })()
  JS

  # How many inputs a page shows, and whose edges can hardly be seen: WCAG 2, 1.4.11, 3 to 1 to what is
  # around them.
  EDGES = <<~JS
    (() => {
      #{RATIO}
      const all = [...document.querySelectorAll("input:not([type=checkbox]):not([type=hidden]), select, textarea")].filter((n) => n.checkVisibility());
      const bad = all.flatMap((n) => {
        const s = getComputedStyle(n), r = ratio(s.borderBottomColor, ground(n.parentElement));
        return r < 3 || parseFloat(s.borderBottomWidth) < 1 ? [`${r.toFixed(2)}: ${n.tagName} ${n.name || n.ariaLabel}`] : [];
      });
      return [all.length, bad];
    })()
  JS

  # How a page is looked at: its size in CSS pixels, "light" or "dark"; still: by somebody
  # who wants nothing to move.
  def self.look(page, width, height, scheme, still: false)
    page.command("Emulation.setEmulatedMedia", features: [{ name: "prefers-color-scheme", value: scheme },
                                                          { name: "prefers-reduced-motion", value: still ? "reduce" : "" }])
    page.command("Emulation.setDeviceMetricsOverride", width: width, height: height, deviceScaleFactor: 1, mobile: width < 600)
  end
end
