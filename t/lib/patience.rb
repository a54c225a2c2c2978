# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For tests that wait: asks until something is so. Needs the standard library only, and is
# minitest's failure where that is loaded.

module Patience
  PATIENCE = 60 # seconds until something that must happen counts as not happening
  Never = defined?(Minitest::Assertion) ? Minitest::Assertion : RuntimeError

  # The block's value, once it is true; else the last one.
  def patiently(limit = PATIENCE)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + limit
    sleep 0.02 until (value = yield) || Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
    value
  end

  def eventually(what, limit = PATIENCE, &asked) = patiently(limit, &asked) || raise(Never, "never: #{what}")
end
