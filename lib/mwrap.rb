# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# Finds the lines of a running Ruby program that allocate memory, and those that keep it.
#
# The program must be started with the tracker, as mwrap(1) does, or call Mwrap.start; see doc/ruby.md.
# Without it this library loads and costs nothing, every count is 0, and Mwrap.each yields nothing.
# Mwrap.tracking? tells whether the tracker is there.
#
# Bytes are those asked for from malloc(3) and its relatives. Lifespans and generations are counted
# in runs of the GC (GC.count). All methods may be called in any thread and Ractor.
#
#   require "mwrap"
#   Mwrap.each(1_000_000) do |name, *|
#     at = Mwrap[name] or next
#     puts "#{name}: #{at.live} blocks live, #{at.live_bytes} bytes"
#   end
module Mwrap
end

require_relative "mwrap/version"
require "mwrap/mwrap_ext"
