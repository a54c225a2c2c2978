# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "moment"
require_relative "series"

module Mwrap
  module Ctl
    # mwrapctl score: the locations that grow with requests, or with time, over several snapshots.
    class Score # :nodoc: all
      Column = Listing::Column
      LEAST = 3 # snapshots; two points are always on a line

      def initialize(names, given)
        @names = names
        @given = given
      end

      def run
        raise Usage, "SNAPSHOT: #{@names.size} given: name #{LEAST} or more" if @names.size < LEAST
        raise Usage, "--x: #{@given["x"].size} numbers for #{@names.size} snapshots: give one for each" if @given["x"] && @given["x"].size != @names.size
        raise Usage, "--x: does not rise: give the snapshots in their order" if @given["x"] && !rises?(@given["x"])
        @snapshots = @names.map { |name| Moment.read(name, @given) }
        choose_x
        rows = series.sort_by { |r| [-r.series.score, -r.series.growth, r.location] }
        Listing.new(columns, rows.map { |row| cells(row) }, facts: facts, extra: extra, limit: @given["count"], empty: "Nothing changed.").print(@given)
        limit = @given["fail-above"]
        :found if limit && rows.any? { |r| r.series.score > limit }
      end

      private

      # --x, else the times of the snapshots, else their numbers. unit: what the slope is of
      def choose_x
        times = @snapshots.map(&:unix)
        if @given["x"]
          @xs, @unit = @given["x"], "x"
        elsif times.none?(&:nil?) && rises?(times)
          @xs, @unit = times.map { |t| (t - times[0]) / 60 }, "minute"
        else
          @xs, @unit = (0...@snapshots.size).to_a, "snapshot"
        end
      end

      def rises?(numbers) = numbers.each_cons(2).all? { |a, b| a < b }

      # A location's change: the bytes of its blocks, or the slots of its Ruby objects; n: how many there are
      Row = Struct.new(:location, :of, :series, :bytes, :n)

      # The one that grows more steadily, of each location
      def series
        @snapshots.flat_map { |s| s.rows.keys }.uniq.filter_map do |location|
          rows = @snapshots.map { |s| s.rows[location] }
          [of_blocks(location, rows), of_objects(location, rows)].compact.max_by { |r| [r.series.score, r.of == "blocks" ? 1 : 0] }
        end
      end

      def of_blocks(location, rows) = row(location, "blocks", rows.map(&:live_bytes), rows[-1].live)

      # None whose change may be one of the estimate alone
      def of_objects(location, rows)
        first, last = rows.values_at(0, -1)
        return unless @snapshots.all?(&:objects?) && (last.objects.to_i - first.objects.to_i).abs > Math.hypot(first.object_error.to_f, last.object_error.to_f)
        row(location, "objects", rows.map { |r| r.object_bytes.to_i }, last.objects.to_i)
      end

      def row(location, of, bytes, n) = (Row.new(location, of, Series.new(@xs, bytes), bytes, n) if bytes.uniq.size > 1)

      def columns
        [Column.new("score", "SCORE", :score), Column.new("confidence", nil, :score), Column.new("tau", "TAU", :score), Column.new("r2", "R2", :score), Column.new("late", "LATE", :score),
         Column.new("growth", "GROWTH", :growth), Column.new("slope", "PER #{@unit.upcase}", :growth),
         Column.new("live_bytes", "LIVE", :bytes), Column.new("live", "BLOCKS", :count), Column.new("values", "CURVE", :series), Column.new("location", "LOCATION", :text),
         Column.new("of", ("OF" if @snapshots.all?(&:objects?)), :text)]
      end

      def cells(row)
        s = row.series
        [s.score.round(4), s.confidence.round(4), s.tau.round(4), s.r2.round(4), s.late.round(4), s.growth, s.slope.round(3), row.bytes[-1], row.n, row.bytes, row.location, row.of]
      end

      def facts
        bytes = @snapshots.map(&:live_bytes)
        ["#{@snapshots.size} snapshots, by #{@unit == "x" ? "the given x" : @unit}: live #{Text.bytes(bytes[0])} to #{Text.bytes(bytes[-1])}  #{Text.spark(bytes, Output.bars)}"]
      end

      def extra = { "snapshots" => @snapshots.map { |s| Text.utf8(s.name) }, "x" => @xs, "unit" => @unit, "live_bytes" => @snapshots.map(&:live_bytes) }
    end
  end
end
