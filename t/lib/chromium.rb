# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# A headless Chromium, driven by ferrum: for tests (browser.rb) and for pictures
# (t/screenshots/run.rb).
gems = File.expand_path("../../.build/gems-#{RUBY_ENGINE}-#{RUBY_VERSION}-#{RUBY_PLATFORM}", __dir__)
Gem.use_paths(gems, [*Gem.path, gems])
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
    Ferrum::Browser.new(headless: true, browser_path: ENV["CHROMIUM"] || "/usr/bin/chromium", window_size: [1280, 800],
                        timeout: patience, process_timeout: patience, browser_options: flags,
                        ignore_default_browser_options: careful)
  end

  # How a page is looked at: its size in CSS pixels, "light" or "dark"; still: by somebody
  # who wants nothing to move.
  def self.look(page, width, height, scheme, still: false)
    page.command("Emulation.setEmulatedMedia", features: [{ name: "prefers-color-scheme", value: scheme },
                                                          { name: "prefers-reduced-motion", value: still ? "reduce" : "" }])
    page.command("Emulation.setDeviceMetricsOverride", width: width, height: height, deviceScaleFactor: 1, mobile: width < 600)
  end
end
