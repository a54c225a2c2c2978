# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
# An object's C struct is allocated with it, and not freed with it.
require_relative "run"
LeakRun.use "redcarpet"
require "redcarpet"

LeakRun.calls do
  Redcarpet::Render::HTML.new # leaks here
end
