# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# appends.rb - strings that grow: malloc, then realloc, then free, on every Ruby.
# The last thousand are kept, as an app would: were none, the C library would give
# memory back to the system and ask for it again all the time.
require_relative "measure"

Measure.run do |rounds|
  piece = "0123456789" * 24
  kept = Array.new(1000)
  i = 0
  while i < rounds
    s = String.new(capacity: 700)
    kept[i % 1000] = s << piece << piece << piece << piece
    i += 1
  end
end
