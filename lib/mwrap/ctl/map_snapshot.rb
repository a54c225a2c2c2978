# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "client"
require_relative "text"

module Mwrap
  module Ctl
    # One moment's /map.json, and its cells. The server forgets them after a minute.
    class MapSnapshot # :nodoc: all
      # A part of the heap: [cells of level 0) from `cell` on
      Panel = Struct.new(:cell, :cells, :resident_bytes, :live_bytes, keyword_init: true)

      attr_reader :json, :text

      # client: it is asked now
      def initialize(client)
        @client = client
        @text = +""
        @json = client.json("/map.json", @text)
        whole? or client.strange
      end

      def sentence = sum? ? sentence_of_all : @json["sentence"].to_s
      def advice = Array(@json["advice"]).map(&:to_s)
      def parts = @json["parts"].grep(Hash)
      def lines = Array(@json["lines"]).grep(Hash)
      def seen_bytes = @json["seen_bytes"].to_i
      def cells(level = 0) = (@json["cells"] + 4**level - 1) / 4**level

      # The part of RSS that each of the bytes is, 0 to 1
      def share(bytes) = seen_bytes.positive? ? bytes / seen_bytes.to_f : 0.0

      # Is it the sum of several processes? Then there are no cells and no lines, but each process's figures.
      def sum? = @json.key?("each")
      def each = Array(@json["each"]).grep(Hash)
      def cells? = [@json["id"], @json["cells"], @json["levels"], @json["tile_cells"], @json["panels"]].none?(nil)

      def panels
        @panels ||= @json["panels"].grep(Hash).map { |p| Panel.new(**p.slice(*Panel.members.map(&:to_s)).transform_keys(&:to_sym)) }
      end

      # The finest level of at most so many cells; the coarsest one if none is
      def level(most) = (0...@json["levels"]).find { |l| cells(l) <= most } || @json["levels"] - 1

      # [fill plane, line plane] of a level. Calls the block with how many tiles are here, and how many there are.
      def planes(level)
        size = @json["tile_cells"]
        n = (cells(level) + size - 1) / size
        parts = Array.new(n) do |i|
          yield i, n
          tile(level, i, [size, cells(level) - i * size].min)
        end
        parts.empty? ? ["".b, "".b] : parts.transpose.map(&:join)
      end

      private

      def sentence_of_all
        asked, answered, rss, live, blocks, shared = @json.values_at("processes", "answered", "rss_bytes", "live_bytes", "live", "shared_bytes").map(&:to_i)
        said = ["#{Text.bytes(rss)} is in memory of #{answered} #{answered == 1 ? "process" : "processes"}. Their #{Text.count(blocks)} live blocks have #{Text.bytes(live)}."]
        said << "#{Text.bytes(shared)} is shared since a fork: each process counts it in its RSS." if shared.positive?
        said << "#{asked - answered} of #{asked} processes didn't answer." if asked > answered
        said.join(" ")
      end

      def tile(level, number, cells)
        bytes = @client.get("/map/#{@json["id"]}/#{level}/#{number}.bin").b
        bytes.bytesize == 2 * cells or @client.strange
        [bytes[0, cells], bytes[cells, cells]]
      end

      def whole?
        @json["parts"].is_a?(Array) && parts.all? { |p| p["bytes"].is_a?(Integer) } && (!cells? || drawable?)
      end

      # Numbers of which a page can be made
      def drawable?
        counts = @json.values_at("cells", "levels", "tile_cells", "page_bytes")
        counts.all?(Integer) && counts[0] >= 0 && counts.drop(1).all?(&:positive?) && counts[1] < 20 && @json["id"].to_s.match?(/\A[\w-]{1,64}\z/) && @json["panels"].is_a?(Array) &&
          panels.all? { |p| [p.cell, p.cells, p.resident_bytes, p.live_bytes].all? { |v| v.is_a?(Integer) && v >= 0 } && p.cell + p.cells <= counts[0] }
      end
    end
  end
end
