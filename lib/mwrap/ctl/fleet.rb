# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "moment"

module Mwrap
  module Ctl
    # mwrapctl report of several sources, one for each process or machine: which lines grow on most of them, and
    # which on one only. Growth is the table's: since the start or the last reset. A location that a file has no
    # growth of counts by what is live.
    class Fleet # :nodoc: all
      Column = Listing::Column
      COLUMNS = [Column.new("sources", "ON", :count), Column.new("growth", "GROWTH", :growth), Column.new("most", "MOST", :growth),
                 Column.new("live_bytes", "LIVE", :bytes), Column.new("most_at", "AT", :text), Column.new("location", "LOCATION", :text)].freeze
      Line = Struct.new(:location, :by) do # by: growth by the source's name
        def sources = by.count { |_, growth| growth.positive? }
        def growth = by.sum(&:last)
        def most = by.max_by { |name, growth| [growth, name] }
      end

      def initialize(sources, given)
        @sources = sources
        @given = given
      end

      def run
        raise Usage, "--html: only for one SOURCE: name one" if @given["html"]
        raise Usage, "--output: only for --html: redirect stdout" if @given["output"]
        repeated = @sources.tally.find { |_, n| n > 1 }
        raise Usage, "#{repeated[0]}: given twice" if repeated
        @snapshots = @sources.to_h { |name| [name, Moment.read(name, @given)] }
        Listing.new(COLUMNS, lines.map { |l| cells(l) }, facts: facts, extra: extra, limit: @given["count"], empty: "Nothing grows.").print(@given)
        nil
      end

      private

      # Those that grow on most sources first, then by bytes
      def lines
        @lines ||= @snapshots.values.flat_map { |s| s.rows.keys }.uniq.map { |location| line(location) }
                             .select { |l| l.sources.positive? }.sort_by { |l| [-l.sources, -l.growth, l.location] }
      end

      def line(location)
        Line.new(location, @snapshots.filter_map { |name, s| [name, s.rows[location].growth || s.rows[location].live_bytes] if s.rows.key?(location) })
      end

      def cells(line)
        name, most = line.most
        [line.sources, line.growth, most, @snapshots.each_value.sum { |s| s.rows.key?(line.location) ? s.rows[line.location].live_bytes : 0 }, Text.utf8(name), line.location]
      end

      # The line with most growth that one source alone has, and the one that most sources have
      def alone = @alone ||= lines.select { |l| l.most[1] >= 0.8 * l.by.sum { |_, n| [n, 0].max } }.max_by { |l| l.most[1] }
      def common = @common ||= lines.select { |l| l.sources * 2 > @sources.size && l != alone }.max_by(&:growth)

      def facts
        [*(said(common, "Grows on #{common.sources} of #{@sources.size}", common.growth) if common),
         *(said(alone, "Grows on one only, #{Text.clean(alone.most[0])}", alone.most[1]) if alone)]
      end

      def said(line, where, bytes) = "#{Output.paint(where, :bold)}: #{Text.clean(line.location)} by #{Text.bytes(bytes)}"

      def extra
        { "sources" => @snapshots.map { |name, s| { "name" => Text.utf8(name), "pid" => s.pid, "rss" => s.rss, "live_bytes" => s.live_bytes } },
          "on_most" => common && Text.utf8(common.location), "on_one" => alone && Text.utf8(alone.location), "on_one_at" => alone && Text.utf8(alone.most[0]) }
      end
    end
  end
end
