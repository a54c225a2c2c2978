# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "moment"

module Mwrap
  module Ctl
    # mwrapctl report: the memory of a process, from a file or of a running one, as text or as a page.
    class Report # :nodoc: all
      Column = Listing::Column
      NUMBERS = [Column.new("live_bytes", "LIVE", :bytes), Column.new("share", "SHARE", :share), Column.new("live", "BLOCKS", :count), Column.new("growth", "GROWTH", :growth),
                 Column.new("total", "ALLOCATED", :bytes), Column.new("allocations", "CALLS", :count), Column.new("frees", nil, :count)].freeze
      OBJECTS = [Column.new("objects", "OBJECTS", :count), Column.new("object_bytes", "SLOTS", :bytes), Column.new("objects_error", nil, :count)].freeze
      LINES = [*NUMBERS, Column.new("location", "LOCATION", :text), *OBJECTS].freeze
      FILES = [*NUMBERS, Column.new("location", "FILE", :text), *OBJECTS].freeze
      FILES_SHOWN = 10 # on a terminal

      attr_reader :snapshot, :verdict, :history

      def initialize(source, given)
        @source = source
        @given = given
      end

      def run
        raise Usage, "--output: only for --html: redirect stdout" if @given["output"] && !@given["html"]
        raise Usage, "stdout: is a terminal: give -o FILE" if @given["html"] && @given["output"].nil? && Output.terminal?
        @snapshot = Moment.read(@source, @given)
        ask_more unless @source == "-" || Moment.file?(@source)
        @given["html"] ? page : listing
        nil
      end

      # Rows of Listing, those with the most live bytes first
      def lines = @lines ||= cells(@snapshot.rows)

      # The same for each file, or native module
      def files
        @files ||= cells(@snapshot.rows.group_by { |location, _| file_of(location) }.transform_values do |pairs|
          pairs.map(&:last).reduce { |sum, row| sum.plus(row) }
        end)
      end

      # Are Ruby's objects known, and are there any?
      def objects? = @snapshot.rows.each_value.any? { |r| r.objects.to_i.positive? }

      # [title, text] each
      def facts
        s = @snapshot
        uptime = s.head["uptime"].to_s[/\A\d{1,12}(\.\d{1,9})?\z/]
        [["Process", s.pid], ["Time", s.head["time"]&.then { |t| Text.clean(t) }], ["Mark", (Text.clean(s.mark) unless s.mark.empty?)], ["Uptime", uptime && Text.duration(uptime.to_f)],
         ["RSS", s.rss && Text.bytes(s.rss)], ["Live", Text.bytes(s.live_bytes)], ["Blocks", Text.count(s.live)], ["Locations", Text.count(s.rows.size)]].select(&:last)
      end

      private

      # Only a server knows these, and only of now: a mark has none.
      def ask_more
        socket, mark = Moment.split(@source)
        return if mark
        client = Client.of(socket, @given)
        @verdict = client.optional { client.json("/verdict.json") }
        @history = client.optional { client.json("/history.json?range=all&points=300") }
      end

      def cells(rows)
        all = [@snapshot.live_bytes, 1].max.to_f
        rows.sort_by { |location, r| [-r.live_bytes, -r.total.to_i, location] }
            .map { |location, r| [r.live_bytes, (r.live_bytes / all).round(4), r.live, r.growth, r.total, r.allocations, r.frees, location, r.objects, r.object_bytes, r.object_error&.round] }
      end

      # Without objects nobody reads their columns.
      def of(columns) = objects? ? columns : columns.map { |c| OBJECTS.include?(c) ? Column.new(c.name, nil, c.type) : c }

      # "app.rb" of "app.rb:3", the module of a native one
      def file_of(location) = location[/\A(.+)\([^()]*\+0x\h+\)\z/mn, 1] || location[/\A(.+?):\d+(?:\n|\z)/mn, 1] || location

      def listing
        head = [*sentence, facts.map { |title, text| "#{title} #{Output.paint(text.to_s, :bold)}" }.join("  ")]
        if Output.terminal? || @given["text"]
          head.push("", *Listing.new(of(FILES), files).table(files.first(FILES_SHOWN)))
        end
        Listing.new(of(LINES), lines, facts: head, extra: extra, limit: @given["count"], empty: "Nothing is live.").print(@given)
      end

      def sentence
        said, advice = @verdict&.values_at("sentence", "next")&.map { |s| Text.clean(s.to_s) }
        [*(Output.paint(said, :bold) if said), *(Output.paint(advice, :dim) unless advice.to_s.empty?)]
      end

      def extra
        s = @snapshot
        { "name" => Text.utf8(s.name), "time" => s.head["time"]&.then { |t| Text.utf8(t) }, "pid" => s.pid, "rss" => s.rss, "live_bytes" => s.live_bytes, "live" => s.live,
          "locations" => s.rows.size, "sentence" => @verdict&.fetch("sentence", nil) }
      end

      def page
        require_relative "report_page"
        Output.write(ReportPage.new(self, @given["count"]).to_s, @given.fetch("output", "-"))
      end
    end
  end
end
