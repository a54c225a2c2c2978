# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "difference"
require_relative "moment"

module Mwrap
  module Ctl
    # mwrapctl diff: the differences of two moments.
    class Diff # :nodoc: all
      Column = Listing::Column

      def initialize(from, to, given)
        @names = [from, to]
        @given = given
        @per = given["per"]
      end

      def run
        raise Usage, "A and B: both are stdin: name a file for one of them" if @names == %w[- -]
        @from, @to = @names.map { |name| Moment.read(name, @given) }
        @difference = Difference.new(@from, @to, @per)
        rows = @difference.sorted(@given.fetch("sort", "score"))
        Listing.new(columns, rows.map { |r| cells(r) }, facts: facts, extra: extra, limit: @given["count"], empty: "Nothing changed.").print(@given)
        limit = @given["fail-above"]
        :found if limit && rows.any? { |r| r.score > limit }
      end

      private

      def columns
        [Column.new("score", "SCORE", :score), Column.new("confidence", nil, :score),
         Column.new("growth", "GROWTH", :growth), Column.new("growth_blocks", "BLOCKS", :change),
         *([Column.new("bytes_each", "EACH", :growth), Column.new("blocks_each", "BLOCKS EACH", :change)] if @per),
         Column.new("from_bytes", nil, :bytes), Column.new("to_bytes", "LIVE", :bytes),
         Column.new("from_blocks", nil, :count), Column.new("to_blocks", "IN BLOCKS", :count),
         Column.new("allocations", nil, :count), Column.new("location", "LOCATION", :text), *objects]
      end

      def objects
        titles = @difference.rows.any? { |r| r.growth_objects.to_i.nonzero? } ? ["OBJECTS", "SLOTS"] : []
        [Column.new("growth_objects", titles[0], :change), Column.new("growth_object_bytes", titles[1], :growth), Column.new("growth_objects_error", nil, :count),
         Column.new("from_objects", nil, :count), Column.new("to_objects", nil, :count)]
      end

      def cells(r)
        [r.score.round(4), r.confidence.round(4), r.growth, r.growth_blocks, *([r.growth / @per.to_f, r.growth_blocks && r.growth_blocks / @per.to_f] if @per),
         r.from_bytes, r.to_bytes, r.from_blocks, r.to_blocks, r.allocations, r.location,
         r.growth_objects, r.growth_object_bytes, r.growth_objects_error, r.from_objects, r.to_objects]
      end

      def seconds = @from.unix && @to.unix && (@to.unix - @from.unix).round(3)

      def facts
        blocks = @difference.growth_blocks
        grown = "live #{Text.bytes(@difference.growth, sign: true)}#{" in #{Text.count(blocks, sign: true)} blocks" if blocks}"
        all = [moment("from", @from), moment("to", @to)]
        all << "#{"#{Text.duration(seconds.abs)}#{" backwards" if seconds.negative?}: " if seconds}#{grown}#{", over #{Text.count(@per)} requests" if @per}"
      end

      def moment(word, snapshot)
        facts = [snapshot.head["time"]&.then { |t| Text.clean(t) }, *moment_name(snapshot),
                 snapshot.pid&.then { |pid| "pid #{pid}" }, "live #{Text.bytes(snapshot.live_bytes)}", snapshot.rss&.then { |n| "RSS #{Text.bytes(n)}" }]
        "#{word.ljust(5)} #{Output.paint(Text.clean(snapshot.name), :bold)}: #{facts.compact.join(", ")}"
      end

      def moment_name(snapshot)
        return if snapshot.mark.empty?
        snapshot.mark == Snapshot::PEAK ? "the peak" : "mark #{Text.clean(snapshot.mark)}"
      end

      def extra
        { "from" => object(@from), "to" => object(@to), "seconds" => seconds, "per" => @per, "growth" => @difference.growth, "growth_blocks" => @difference.growth_blocks }
      end

      def object(snapshot)
        { "name" => Text.utf8(snapshot.name), "mark" => Text.utf8(snapshot.mark), "time" => snapshot.head["time"]&.then { |t| Text.utf8(t) }, "unix" => snapshot.unix,
          "pid" => snapshot.pid, "rss" => snapshot.rss, "live_bytes" => snapshot.live_bytes, "live" => snapshot.live }
      end
    end
  end
end
