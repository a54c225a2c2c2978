# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "rspec/expectations"
require_relative "check"

module Mwrap
  # <tt>require "mwrap/rspec"</tt> adds this to RSpec's matchers.
  module RSpecMatchers
    # call-seq: leak_memory(warmup: 20, rounds: [10, 30, 10, 30, 20], native: false, suppressions: nil) -> matcher
    #
    # Whether a block keeps memory of each call. Mwrap::Check has the options.
    #
    #   expect { Page.new.render }.not_to leak_memory
    #   expect { Cache.add(Object.new) }.to leak_memory.at("cache.rb:12")
    #
    # With +at+, only locations that end with this text count. The example fails both ways if it can't
    # be told. It raises the block's exception.
    def leak_memory(**options) = LeakMemory.new(options)

    # call-seq: peak_within(bytes) -> matcher
    #
    # Whether a block's memory stays within so many bytes, above what lived when it began. The block is called once.
    # Mwrap::Check::Peak says what counts.
    #
    #   expect { Export.new.write(File::NULL) }.to peak_within(20.megabytes)
    def peak_within(bytes) = PeakWithin.new(bytes)

    class PeakWithin # :nodoc: all
      def initialize(bytes)
        raise ArgumentError, "peak_within: #{bytes.inspect}: not a number of bytes: use 1 or more" unless bytes.is_a?(Integer) && bytes.positive?
        @bytes = bytes
      end

      def supports_block_expectations? = true
      def supports_value_expectations? = false
      def description = "have its peak of memory within #{Ctl::Text.bytes(@bytes)}"
      def matches?(block) = (@peak = Check::Peak.of(&block)).bytes <= @bytes
      def failure_message = "expected the block to #{description}, but it was #{@peak}"
      def failure_message_when_negated = "expected the block not to #{description}, but it was #{@peak}"
    end
    private_constant :PeakWithin

    class LeakMemory # :nodoc: all
      def initialize(options)
        @options = options
      end

      def at(location)
        @at = location
        self
      end

      def supports_block_expectations? = true
      def supports_value_expectations? = false
      def description = "leak memory#{" at #{@at}" if @at}"

      def matches?(step) = !check(step).unknown? && leaks.any?

      def does_not_match?(step)
        return true if !check(step).unknown? && leaks.empty?
        Check::Annotations.print(@result)
        false
      end

      def failure_message = message("expected the block to #{description}: it keeps nothing of each call#{" there" if @at}")
      def failure_message_when_negated = message("expected the block not to #{description}")

      private

      def check(step)
        @result = Check.run(**@options, &step)
        @result.reraise
        @result
      end

      def leaks = @at ? @result.leaks.select { |leak| leak.location.end_with?("/#{@at}") || leak.location == @at } : @result.leaks
      def message(head) = [head, *@result.lines].join("\n")
    end
    private_constant :LeakMemory
  end
end

RSpec::Matchers.include(Mwrap::RSpecMatchers)
