# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

module Mwrap
  class Check
    # One location's gain in each round of a series, in live blocks and bytes. Fits a straight
    # line to the blocks: so many for each call, and so many for each round, whatever its length.
    class Growth # :nodoc: all
      SLOPE_MIN = 0.1  # blocks a call
      ERRORS = 4       # standard errors of the slope by which it is above 0
      SHARE_MIN = 0.5  # of its calls' blocks, which each round has at least
      EXACT_WITHIN = 2 # blocks that the GC may find a round later

      attr_reader :lengths, :blocks

      def initialize(lengths, blocks, bytes)
        @lengths = lengths
        @blocks = blocks
        @bytes = bytes
      end

      def to_s = "#{@blocks.join(" ")} blocks in rounds of #{@lengths.join(" ")}"

      # Grows with the number of calls, beyond doubt
      def linear? = rising? && slope >= ERRORS * error && @lengths.zip(@blocks).all? { |n, b| b >= SHARE_MIN * slope * n }

      # Grows in every round, and may grow with the number of calls
      def rising? = @blocks.all?(&:positive?) && slope >= SLOPE_MIN && @blocks.sum >= SLOPE_MIN * @lengths.sum

      # Grows in some rounds, and in one of the last two, by as much as if each call kept some; and not in others
      def uneven?
        mean = @blocks.sum.fdiv(@lengths.sum)
        grew = @lengths.zip(@blocks).map { |n, b| b >= SHARE_MIN * mean * n }
        !rising? && mean >= SLOPE_MIN && grew.count(true) >= 2 && grew.last(2).any? && @blocks.any? { |b| b <= 0 }
      end

      # Blocks of each call
      def slope = @slope ||= covariance / spread

      # The same whole number of blocks in each call, else their mean
      def blocks_per_call
        k = slope.round
        whole = k.positive? && [*@lengths.zip(@blocks), [@lengths.sum, @blocks.sum]].all? { |n, b| (b - k * n).abs <= EXACT_WITHIN }
        whole ? k : slope.round(2)
      end

      def bytes_per_block = @bytes.sum.fdiv(@blocks.sum).round

      private

      # The slope's standard error
      def error
        constant = mean(@blocks) - slope * mean(@lengths)
        rest = @lengths.zip(@blocks).sum { |n, b| (b - constant - slope * n)**2 }
        Math.sqrt(rest / (@lengths.size - 2) / spread)
      end

      def mean(list) = list.sum.fdiv(list.size)
      def spread = @spread ||= mean(@lengths).then { |m| @lengths.sum { |n| (n - m)**2 } }

      def covariance
        m = mean(@lengths)
        @lengths.zip(@blocks).sum { |n, b| (n - m) * b }
      end
    end
  end
end
