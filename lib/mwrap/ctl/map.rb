# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "client"
require_relative "map_snapshot"
require_relative "output"

module Mwrap
  module Ctl
    # mwrapctl map: why RSS isn't live memory, in words and tables, or as one page.
    class Map # :nodoc: all
      Column = Listing::Column
      LINES = [Column.new("live_bytes", "LIVE", :bytes), Column.new("holds_bytes", "HOLDS", :bytes), Column.new("times", "TIMES", :score), Column.new("alone_bytes", "ALONE", :bytes),
               Column.new("blocks", "BLOCKS", :count), Column.new("location", "LOCATION", :text)].freeze
      PARTS = [Column.new("bytes", "BYTES", :bytes), Column.new("share", "SHARE", :share), Column.new("part", "PART", :text)].freeze
      # Of a family: a row for each process
      PROCESSES = [Column.new("rss_bytes", "RSS", :bytes), Column.new("live_bytes", "LIVE", :bytes), Column.new("holes_bytes", "HOLES", :bytes), Column.new("empty_bytes", "EMPTY", :bytes),
                   Column.new("trim_bytes", "TRIM", :bytes), Column.new("shared_bytes", "SHARED", :bytes), Column.new("pid", "PID", :text)].freeze

      def initialize(socket, given)
        @socket = socket
        @given = given
        @output = given["output"]
      end

      def run
        check
        @client = Client.of(@socket, @given)
        @page ? draw : say
        nil
      end

      private

      def check
        @page = Output.form(@given, ["html", *Listing::FORMS]) == "html"
        raise Usage, "--json: not for a page: give one of them" if @given["json"] && @page
      end

      def draw
        bytes = Output.busy("reading #{@socket}") { |tell| whole(tell) }
        Output.write(bytes, @output)
      end

      # All of one snapshot; of another one if the server forgot the first one meanwhile.
      def whole(tell)
        again ||= 0
        snapshot = MapSnapshot.new(@client)
        raise Failure, "#{@client.at.name}: a sum of processes has no map: name one of them by --pid" unless snapshot.cells?
        page(snapshot, tell)
      rescue Failure => e
        retry if e.code == 404 && snapshot && (again += 1) == 1
        raise
      end

      def page(snapshot, tell)
        require_relative "map_page"
        level = snapshot.level(MapPage::CELLS)
        planes = snapshot.planes(level) { |i, n| tell.call("reading #{@socket}: #{i} of #{n} tiles") }
        MapPage.new(snapshot, level, planes, @client, @client.at).to_s
      end

      def say
        snapshot = Output.busy("reading #{@socket}") { MapSnapshot.new(@client) }
        return Output.write(snapshot.text, @output || "-") if @given["json"] || Output.form(@given, ["html", *Listing::FORMS]) == "json"
        listing(snapshot).print(@given)
      end

      def listing(snapshot)
        facts = facts(snapshot)
        return Listing.new(PROCESSES, processes(snapshot), facts: facts, limit: @given["count"], empty: "No process answered.") if snapshot.sum?
        Listing.new(LINES, rows(snapshot), facts: facts, limit: @given["count"], empty: "No line is known.")
      end

      # Those with the most memory first
      def processes(snapshot)
        rows = snapshot.each.map do |one|
          parts = Array(one["parts"]).grep(Hash).to_h { |p| p.values_at("name", "bytes") }
          [*one.values_at("rss_bytes", "live_bytes"), *parts.values_at("holes", "empty")].map(&:to_i) + [one["trim_bytes"]&.to_i, one["shared_bytes"].to_i, one["pid"].to_s]
        end
        rows.sort_by { |r| [-r[0], r[-1].to_i] }
      end

      def rows(snapshot)
        snapshot.lines.map do |line|
          live, holds, alone, blocks = line.values_at("live_bytes", "holds_bytes", "alone_bytes", "blocks").map(&:to_i)
          [live, holds, live.positive? ? (holds / live.to_f).round(2) : nil, alone, blocks, line["location"].to_s]
        end
      end

      def facts(snapshot)
        parts = snapshot.parts.select { |p| p["bytes"].positive? }.map { |p| [p["bytes"], snapshot.share(p["bytes"]), p["title"].to_s] }
        said = Text.clean(snapshot.sentence)
        [*(Output.paint(said, :bold) unless said.empty?), *snapshot.advice.map { |a| Output.paint(Text.clean(a), :dim) }, "", *Listing.new(PARTS, parts).table(parts)]
      end
    end
  end
end
