# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# stats.rb - a median, and between which values it lies.
#
# The interval is that of order statistics: it assumes nothing about how the
# values are spread, only that they are independent. Fewer than six values can't
# give 95 %: then it is all of them.
class Stats
  attr_reader :median, :low, :high, :count

  def initialize(values)
    raise ArgumentError, "no values" if values.empty?

    sorted = values.sort
    @count = sorted.size
    @median = (sorted[(@count - 1) / 2] + sorted[@count / 2]) / 2.0
    below = Stats.outside(@count)
    @low = sorted[below]
    @high = sorted[@count - 1 - below]
  end

  # How many values may be left out at each end, so that those between the
  # remaining least and greatest hold the median with a probability of 95 %.
  def self.outside(count)
    tail = 0.0 # P(at most k of count coins show heads)
    (0..count).each do |k|
      tail += choose(count, k) / (2.0**count)
      return k if tail > 0.025
    end
  end

  RESAMPLED = 2000

  # Between which values the ratio of two medians lies with 95 %: of values that aren't in
  # pairs, by drawing from each as many as there are, again and again (always the same draws).
  def self.ratio(below, above)
    random = Random.new(1)
    again = ->(values) { new(Array.new(values.size) { values.sample(random: random) }).median }
    ratios = Array.new(RESAMPLED) { again.(above) / again.(below) }.sort
    [ratios[RESAMPLED / 40], ratios[-1 - (RESAMPLED / 40)]]
  end

  def self.choose(n, k)
    (1..k).inject(1) { |c, i| c * (n - i + 1) / i }
  end
end
