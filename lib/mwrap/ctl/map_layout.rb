# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

module Mwrap
  module Ctl
    # Where the panels of the memory map's picture are: rows of 256 cells, columns of rows side by side where a panel is
    # tall, as on the page (web/src/memory_layout.js).
    class MapLayout # :nodoc: all
      ROW = 256
      COLUMN_GAP = 8
      PANEL_GAP = 20
      TALL = 220
      MOST = 1000 # pixels, if a cell has two

      Block = Struct.new(:panel, :x, :y, :width, :height, :from, :to, :rows, :columns, keyword_init: true)

      # cell: the side of a square
      attr_reader :blocks, :cell, :wide, :height

      # panels: each has cell and cells, of level 0
      def initialize(panels, level:, width:, label:)
        @panels = panels
        @level = level
        @width = width
        @label = label
        @cell = ROW * 2 <= width && place(2) <= MOST ? 2 : 1
        place(@cell)
      end

      def row = ROW

      # Each column of a block: x, y, how many rows it has
      def columns(block)
        block.columns.times do |i|
          rows = [block.rows, (block.to - block.from + ROW - 1) / ROW - i * block.rows].min
          yield block.x + i * (@wide + COLUMN_GAP), block.y + @label, rows if rows.positive?
        end
      end

      # Each row of cells of a block: x, y, the first cell, how many
      def rows(block)
        (block.from...block.to).step(ROW).each_with_index do |from, i|
          column, line = i.divmod(block.rows)
          yield block.x + column * (@wide + COLUMN_GAP), block.y + @label + line * @cell, from, [ROW, block.to - from].min
        end
      end

      private

      # Places all for a size of cells, and gives the height.
      def place(cell)
        @wide = ROW * cell
        @blocks = []
        x = y = deep = 0
        @panels.each_with_index do |panel, i|
          block = block(panel, i, cell) or next
          x, y, deep = 0, y + deep + PANEL_GAP, 0 if x.positive? && x + block.width > @width
          block.x, block.y = x, y
          @blocks << block
          x += block.width + PANEL_GAP
          deep = [deep, block.height].max
        end
        @height = y + deep
      end

      def block(panel, number, cell)
        from, to = panel.cell / 4**@level, -(-(panel.cell + panel.cells) / 4**@level)
        return if from == to
        all = (to - from + ROW - 1) / ROW
        columns = [[1, (@width + COLUMN_GAP) / (@wide + COLUMN_GAP)].max, -(-all / [8, TALL / cell].max)].min
        rows = -(-all / columns)
        Block.new(panel: number, from: from, to: to, rows: rows, columns: columns, width: columns * (@wide + COLUMN_GAP) - COLUMN_GAP, height: @label + rows * cell)
      end
    end
  end
end
