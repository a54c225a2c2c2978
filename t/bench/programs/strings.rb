# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# strings.rb - short strings that die young, 24 to 87 bytes: each is one malloc
# on Ruby 3.1, where only up to 23 bytes fit into an object. From 3.2 on most
# live in Ruby's own heap; appends.rb has work that calls malloc on every Ruby.
require_relative "measure"

Measure.run do |rounds|
  i = 0
  while i < rounds
    "x" * (24 + (i & 63))
    i += 1
  end
end
