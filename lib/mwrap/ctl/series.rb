# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

module Mwrap
  module Ctl
    # How steadily numbers grow with x: requests, or time. confidence, from 0 to 1, is the product of
    #
    # tau:: Kendall's: how often a later value is the larger one, less how often it is the smaller one,
    #       of all pairs. Noise and what comes and goes have little.
    # r2::  the share of their variance that a straight line explains.
    # late:: growth in the second half of x over that in the first, 1 at most. A cache that fills, or a
    #       start-up, has little.
    class Series # :nodoc: all
      attr_reader :tau, :r2, :late, :slope

      # Two Arrays of one size, three at least; xs rises.
      def initialize(xs, values)
        @xs = xs
        @values = values
        @slope, @r2 = fit
        @tau = kendall
        @late = later
      end

      def growth = @values[-1] - @values[0]
      def confidence = growth.positive? && tau.positive? ? tau * r2 * late : 0.0

      # As a Difference has it
      def score = confidence * Math.log2(1 + [growth, 0].max / 1024.0)

      private

      def fit
        n = @xs.size.to_f
        mx = @xs.sum / n
        my = @values.sum / n
        sxx = @xs.sum { |x| (x - mx)**2 }
        sxy = @xs.zip(@values).sum { |x, y| (x - mx) * (y - my) }
        syy = @values.sum { |y| (y - my)**2 }
        return [0.0, 0.0] if syy.zero?
        [sxy / sxx, sxy**2 / (sxx * syy)]
      end

      def kendall
        pairs = @values.combination(2).to_a
        pairs.sum { |a, b| b <=> a } / pairs.size.to_f
      end

      def later
        middle = at((@xs[0] + @xs[-1]) / 2.0)
        early = middle - @values[0]
        late = @values[-1] - middle
        return 0.0 unless late.positive?
        early.positive? ? [late / early, 1.0].min : 1.0
      end

      # The value at some x between the first and the last one, on a straight line between two
      def at(x)
        i = @xs.rindex { |known| known <= x }
        return @values[i] if i == @xs.size - 1
        @values[i] + (@values[i + 1] - @values[i]) * (x - @xs[i]) / (@xs[i + 1] - @xs[i]).to_f
      end
    end
  end
end
