# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
# The HTML is copied into a string, and not freed.
require_relative "run"
LeakRun.use "commonmarker"
require "commonmarker"

TEXT = "hello *world*\n" * 20

LeakRun.calls do
  CommonMarker.render_html(TEXT)
end
