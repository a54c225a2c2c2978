# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

module Mwrap
  module Ctl
    # Bytes over time: [[seconds, bytes], ...], by time. Between two points it is straight.
    class Curve # :nodoc: all
      attr_reader :points

      # ended: the process isn't there any more after the last point
      def initialize(points, ended: true)
        @points = points
        @ended = ended
      end

      def peak = @points.map(&:last).max
      def empty? = @points.empty?
      def ended? = @ended
      def seconds = @points.empty? ? 0 : @points[-1][0] - @points[0][0]

      # Over time
      def mean
        return if empty?
        return @points[-1][1] unless seconds.positive?
        @points.each_cons(2).sum { |(t, a), (u, b)| (u - t) * (a + b) / 2.0 } / seconds
      end

      # So many points at most: of each part the highest, so that the peak stays.
      def thin(size)
        return @points if @points.size <= size
        Array.new(size) { |i| @points[i * @points.size / size...(i + 1) * @points.size / size].max_by(&:last) }
      end

      # Several processes' curves added up. starts: for each, the time of its zero. A process counts from its first point on, and
      # with its last one, unless it ended there.
      def self.sum(curves, starts)
        return curves[0] if curves.size == 1
        zero = starts.min
        steps = curves.zip(starts).flat_map { |curve, start| curve.steps(start - zero) }.sort_by(&:first)
        total = 0
        points = steps.chunk_while { |a, b| a[0] == b[0] }.map { |same| [same[0][0], total += same.sum(&:last)] }
        new(points, ended: curves.all?(&:ended?))
      end

      # [seconds, change] of each point. It begins and ends at once.
      def steps(shift)
        return [] if empty?
        last = 0
        changes = @points.map { |at, bytes| [at + shift, bytes - last].tap { last = bytes } }
        changes.unshift([changes[0][0] - AT_ONCE, 0]) if shift.positive?
        @ended ? changes << [changes[-1][0] + AT_ONCE, -last] : changes
      end

      AT_ONCE = 1e-6 # seconds
    end
  end
end
