# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "minitest"
require "minitest/assertions"
require_relative "check"

module Mwrap
  # <tt>require "mwrap/minitest"</tt> adds this to every Minitest test.
  module MinitestAssertions
    # call-seq: assert_no_leak(message = nil, warmup: 20, rounds: [10, 30, 10, 30, 20], native: false, suppressions: nil) { ... }
    #
    # Fails if the block keeps memory of each call, and names the lines; it also fails if that can't be
    # told. Raises what the block raises. Mwrap::Check has the options.
    #
    #   def test_rendering_keeps_nothing
    #     assert_no_leak { Page.new.render }
    #   end
    #
    # The block is called some 120 times, and 240 times or more if it seems to leak, in threads of their
    # own. Tests that run in parallel are checked one at a time.
    def assert_no_leak(message = nil, **options, &step)
      result = Check.run(**options, &step)
      result.reraise
      Check::Annotations.print(result)
      assert(result.clean?, [*message, *result.lines].join("\n"))
    end
  end
end

Minitest::Assertions.include(Mwrap::MinitestAssertions)
