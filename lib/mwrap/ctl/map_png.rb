# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "map_layout"
require_relative "raster"
require_relative "text"

module Mwrap
  module Ctl
    # The memory map as a picture: the sentence, the bar of parts, the legend, a panel for each arena, and the lines that
    # hold most.
    class MapPng # :nodoc: all
      CELLS = 4_000_000 # at most
      WIDTH = 1400
      MARGIN = 24
      INNER = WIDTH - 2 * MARGIN
      LINES = 20 # of the table
      BAR = 30
      LABEL = 14

      # Colours of the fill plane's low six bits, then those of the bar and of text
      STATES = { 0 => "#ffffff", 1 => "#d93036", 2 => "#fbd5e6", 3 => "#86a6dd", 4 => "#4a2a86", 5 => "#8b949e", 6 => "#c9d1d9", 7 => "#f0f2f5" }.freeze
      FEW = [0xf0, 0xb4, 0x29].freeze
      FULL = [0x14, 0x60, 0x3a].freeze
      OWN = { ground: "#ffffff", ink: "#1b1f24", dim: "#57606a", edge: "#b6bec7", strong: "#b3261e", stacks: "#b9a7d6", files: "#aab6c2", mwrap: "#39465a" }.freeze
      USED = (8..63)
      PALETTE = [*Array.new(64) { |v| STATES[v] || format("#%02x%02x%02x", *FEW.zip(FULL).map { |a, b| (a + (b - a) * (v - 8) / 55.0).round }) }, *OWN.values].freeze
      COLOUR = OWN.keys.each_with_index.to_h { |name, i| [name, 64 + i] }.freeze
      # For each part of the bar its colour and that of its text
      PARTS = { "live" => [63, :ground], "holes" => [8, :ink], "empty" => [1, :ground], "ends" => [2, :ink], "unknown" => [5, :ink], "ruby" => [3, :ink], "stacks" => [COLOUR[:stacks], :ink],
                "files" => [COLOUR[:files], :ink], "mwrap" => [COLOUR[:mwrap], :ground], "other" => [6, :ink] }.freeze
      LEGEND = [[0, "not in memory (given back, or never touched)"], [1, "in memory, no block is there: a trim gives it back"], [2, "end of an arena: empty, a trim leaves it"],
                [8, "a few bytes keep it"], [63, "full"], [3, "Ruby's heap pages"], [6, "other memory"]].freeze

      # fill: the fill plane of that level
      def initialize(snapshot, level, fill, title)
        @snapshot = snapshot
        @level = level
        @fill = fill.tr("\x40-\xff".b, ("\x00-\x3f" * 3).b) # without the flags
        @title = title
      end

      def to_s
        @y = MARGIN
        @layout = MapLayout.new(@snapshot.panels, level: @level, width: INNER, label: LABEL)
        @raster = Raster.new(WIDTH, height, PALETTE, COLOUR[:ground])
        head
        map
        table
        @raster.png
      end

      private

      def sentence = wrap(ascii(@snapshot.sentence), INNER / PixelFont::WIDTH / 2)
      def lines = @snapshot.lines.first(LINES)
      # Rows of the legend: [x, colour, text] each
      def legend
        x = 0
        LEGEND.each_with_object([[]]) do |(colour, text), rows|
          wide = 18 + (text.size + 3) * PixelFont::WIDTH
          (rows << []) && x = 0 if x + wide > INNER
          rows[-1] << [x, colour, text]
          x += wide
        end
      end

      def height
        2 * MARGIN + 34 + sentence.size * 24 + 12 + BAR + 24 + 30 + legend.size * 16 + 12 + @layout.height + 24 + (lines.empty? ? 0 : 50 + lines.size * 16)
      end

      def head
        say(0, @title, scale: 2)
        @y += 34
        sentence.each do |line|
          say(0, line, scale: 2)
          @y += 24
        end
        @y += 12
        bar
        @y += BAR + 24
      end

      def bar
        x = 0
        parts = @snapshot.parts.select { |p| p["bytes"].positive? }
        all = [parts.sum { |p| p["bytes"] }, 1].max
        sum = 0
        parts.each do |part|
          sum += part["bytes"]
          to = sum * INNER / all
          colour, ink = PARTS.fetch(part["name"], PARTS["other"])
          @raster.fill(MARGIN + x, @y, to - x, BAR, colour)
          text = "#{ascii(part["title"].to_s)} #{Text.bytes(part["bytes"])}"[0, [(to - x - 6) / PixelFont::WIDTH, 0].max]
          @raster.text(MARGIN + x + 4, @y + 10, text, COLOUR[ink])
          x = to
        end
      end

      def map
        page = @snapshot.page_bytes * 4**@level
        say(0, "Every page of the heap. One square = #{kib(page)}, one row = #{kib(page * @layout.row)}", scale: 2)
        @y += 30
        legend.each do |row|
          row.each do |x, colour, text|
            @raster.fill(MARGIN + x, @y, 11, 11, colour)
            @raster.frame(MARGIN + x, @y, 11, 11, COLOUR[:edge])
            say(x + 17, text, dy: 1)
          end
          @y += 16
        end
        @y += 12
        @layout.blocks.each { |block| panel(block) }
        @y += @layout.height + 24
      end

      def panel(block)
        p = @snapshot.panels[block.panel]
        text = "#{ascii(p.name.to_s)}: #{Text.bytes(p.resident_bytes)} in memory, #{Text.bytes(p.live_bytes)} live"
        say(block.x, text[0, block.width / PixelFont::WIDTH], colour: :dim, dy: block.y)
        @layout.columns(block) { |x, y, rows| @raster.frame(MARGIN + x - 1, @y + y - 1, @layout.wide + 2, rows * @layout.cell + 2, COLOUR[:edge]) }
        @layout.rows(block) do |x, y, from, n|
          bytes = widen(@fill[from, n], @layout.cell)
          @layout.cell.times { |i| @raster.put(MARGIN + x, @y + y + i, bytes) }
        end
      end

      def widen(bytes, times) = times == 1 ? bytes : bytes.each_byte.map { |b| b.chr * times }.join

      def table
        return if lines.empty?
        say(0, "Lines by the memory that they hold", scale: 2)
        @y += 30
        row(["live", "holds", "times", "alone on pages of", "blocks", "line"], :dim)
        lines.each do |line|
          live, holds, alone, blocks = line.values_at("live_bytes", "holds_bytes", "alone_bytes", "blocks").map(&:to_i)
          times = live.positive? ? holds / live.to_f : 0
          row([Text.bytes(live), Text.bytes(holds), live.positive? ? format("%.1f", times) : "-", Text.bytes(alone), Text.count(blocks), ascii(line["location"].to_s)], :ink, loud: times >= 5)
        end
      end

      ENDS = [60, 130, 190, 310, 380].freeze # of the columns of numbers

      def row(cells, colour, loud: false)
        cells.first(5).each_with_index { |text, i| say(ENDS[i] - text.size * PixelFont::WIDTH, text, colour: loud && i == 2 ? :strong : colour) }
        say(ENDS[-1] + 20, cells[5], colour: colour)
        @raster.fill(MARGIN, @y + 12, INNER, 1, COLOUR[:edge])
        @y += 16
      end

      def say(x, text, scale: 1, colour: :ink, dy: 0) = @raster.text(MARGIN + x, @y + dy, text, COLOUR.fetch(colour), scale: scale)

      # "4 KiB", "1 MiB"
      def kib(bytes)
        unit = %w[KiB MiB GiB].each_with_index.select { |_, i| bytes >= 1024**(i + 1) }.last || ["KiB", 0]
        "#{(bytes / 1024.0**(unit[1] + 1)).round(2).to_s.delete_suffix(".0")} #{unit[0]}"
      end

      # What the font has: typographic signs as plain ones, everything else as a question mark.
      def ascii(text) = Text.clean(text).tr("\u2018\u2019\u201c\u201d\u2013\u2212\u00a0\u00d7", "''\"\"\\-\\- x").encode("US-ASCII", undef: :replace, invalid: :replace)

      def wrap(text, columns) = text.scan(/\S.{0,#{columns - 1}}(?=\s|\z)|\S{#{columns}}/)
    end
  end
end
