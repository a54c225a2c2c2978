# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Takes pictures of a page in Chromium, light and dark. Whoever includes it has @tab, and wait_for.
require "fileutils"
require_relative "../lib/chromium"

module Pictures
  TO = File.expand_path(ENV.fetch("PICTURES", "t/demo/pictures"), File.expand_path("../..", __dir__)).tap { |to| FileUtils.mkdir_p(to) }
  WIDE = [1280, 800].freeze

  def look(size, scheme)
    Chromium.look(@tab, *size, scheme, still: true)
  end

  # fragment: of the URL, nil: as it is; ready: what must hold, as JavaScript
  def picture(name, fragment, ready, size: WIDE)
    @tab.evaluate("location.hash = arguments[0], document.activeElement.blur()", fragment) if fragment
    %w[light dark].each do |scheme|
      look(size, scheme)
      wait_for("#{name}: #{ready}") { @tab.evaluate("document.readyState === 'complete' && #{ready}") }
      sleep 1.5 # a tick more, and what is drawn in the next frames
      path = File.join(TO, "#{name}-#{scheme}.png")
      File.binwrite(path, @tab.screenshot(encoding: :binary))
      taken(path)
    end
    look(WIDE, "light")
  end

  def taken(path)
    puts format("%-24s %4d kB", File.basename(path), File.size(path) / 1000)
  end
end
