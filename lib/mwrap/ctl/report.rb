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

      def initialize(sources, given)
        @sources = sources
        @source = sources[0]
        @given = given
      end

      def run
        if @sources.size > 1
          require_relative "fleet"
          return Fleet.new(@sources, @given).run
        end
        return Written.new(@source, @given).run if Written.folder?(@source)
        return ask_for_one if @given["now"]
        page = @given["html"] || Output.form(@given, ["html", *Listing::FORMS]) == "html"
        raise Usage, "stdout: is a terminal: give -o FILE" if page && @given["output"].nil? && Output.terminal?
        @snapshot = Moment.read(@source, @given)
        Written.report?(@source) ? @verdict = Written.verdict(@source) : (ask_more unless @source == "-" || Moment.file?(@source))
        page ? write_page : listing
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
         ["RSS", s.rss && Text.bytes(s.rss)], ["Live", Text.bytes(s.live_bytes)], ["Blocks", s.live && Text.count(s.live)], ["Locations", Text.count(s.rows.size)]].select(&:last)
      end

      private

      # In the process's report_dir
      def ask_for_one
        $stdout.write(Client.of(@source, @given).post("/report"))
        nil
      end

      # Only a server knows these, and only of now: a mark has none.
      def ask_more
        socket, mark = Moment.split(@source)
        return if mark
        client = Client.of(socket, @given)
        @verdict = client.optional { client.json("/verdict.json") }
        @history = client.optional { client.json("/history.json?range=all&points=300") }
      end

      # The value of each order, the largest first
      SORTS = { "live" => ->(r) { r.live_bytes }, "growth" => ->(r) { r.growth.to_i }, "blocks" => ->(r) { r.live.to_i }, "allocations" => ->(r) { r.allocations.to_i } }.freeze

      def cells(rows)
        by = SORTS[@given["sort"]]
        all = [@snapshot.live_bytes, 1].max.to_f
        rows.sort_by { |location, r| [@given["sort"] == "location" ? location : -(by ? by.call(r) : 0), -r.live_bytes, -r.total.to_i, location] }
            .map { |location, r| [r.live_bytes, (r.live_bytes / all).round(4), r.live, r.growth, r.total, r.allocations, r.frees, location, r.objects, r.object_bytes, r.object_error&.round] }
      end

      # Without objects nobody reads their columns.
      def of(columns) = objects? ? columns : columns.map { |c| OBJECTS.include?(c) ? Column.new(c.name, nil, c.type) : c }

      # "app.rb" of "app.rb:3", the module of a native one
      def file_of(location) = location[/\A(.+)\([^()]*\+0x\h+\)\z/mn, 1] || location[/\A(.+?):\d+(?:\n|\z)/mn, 1] || location

      def listing
        head = [*sentence, *folded(facts)]
        if Output.terminal? || @given["text"]
          head.push("", *Listing.new(of(FILES), files).table(files.first(FILES_SHOWN)))
        end
        Listing.new(of(LINES), lines, facts: head, extra: extra, limit: @given["count"], empty: "Nothing is live.").print(@given)
      end

      # On lines that fit the terminal
      def folded(facts)
        room = Output.terminal? ? Output.size[1] : nil
        lines = [[]]
        facts.each do |title, text|
          wide = lines.last.sum { |t, s| t.size + s.to_s.size + 3 } + title.size + text.to_s.size + 1
          lines << [] if room && wide > room
          lines.last << [title, text]
        end
        lines.map { |line| line.map { |title, text| "#{title} #{Output.paint(text.to_s, :bold)}" }.join("  ") }
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

      def write_page
        require_relative "report_page"
        Output.write(ReportPage.new(self, @given["count"]).to_s, @given.fetch("output", "-"))
      end
    end
  end
end
