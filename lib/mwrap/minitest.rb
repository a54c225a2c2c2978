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

    # call-seq: assert_memory(message = nil, peak:) { ... } -> Mwrap::Check::Peak
    #
    # Fails if the block's memory is more than +peak+ bytes at any moment, above what lived when it began, and
    # names the lines that hold most of it then. The block is called once. Mwrap::Check::Peak says what counts.
    #
    #   def test_an_export_streams
    #     assert_memory(peak: 20.megabytes) { Export.new.write(File::NULL) }
    #   end
    def assert_memory(message = nil, peak:, &block)
      raise ArgumentError, "peak: #{peak.inspect}: not a number of bytes: use 1 or more" unless peak.is_a?(Integer) && peak.positive?
      found = Check::Peak.of(&block)
      assert(found.bytes <= peak, [*message, "peak of #{Ctl::Text.bytes(peak)} at most, but it was #{found}"].join("\n"))
      found
    end
  end
end

Minitest::Assertions.include(Mwrap::MinitestAssertions)
