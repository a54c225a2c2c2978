# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "zlib"
require_relative "pixel_font"

module Mwrap
  module Ctl
    # A picture of up to 256 colours, and the PNG file of it. A pixel is a byte, the number of its colour.
    class Raster # :nodoc: all
      attr_reader :width, :height

      # palette: "#rrggbb" for each number; all pixels are of colour `ground` at first
      def initialize(width, height, palette, ground)
        @width = width
        @height = height
        @palette = palette
        @rows = Array.new(height) { ground.chr.b * width }
      end

      # Bytes at a place; they must fit into the row.
      def put(x, y, bytes) = @rows[y][x, bytes.bytesize] = bytes

      def fill(x, y, width, height, colour)
        return unless width.positive?
        bytes = colour.chr.b * width
        height.times { |i| put(x, y + i, bytes) }
      end

      # The edge of a rectangle
      def frame(x, y, width, height, colour)
        [y, y + height - 1].each { |at| fill(x, at, width, 1, colour) }
        [x, x + width - 1].each { |at| fill(at, y, 1, height, colour) }
      end

      # One line of text, its upper left corner at a place; it ends at the picture's edge. scale: of a dot
      def text(x, y, text, colour, scale: 1)
        dot = colour.chr.b * scale
        text.each_char do |char|
          break if x + PixelFont::WIDTH * scale > @width
          PixelFont.dots(char).each { |dx, dy| scale.times { |i| put(x + dx * scale, y + dy * scale + i, dot) } }
          x += PixelFont::WIDTH * scale
        end
      end

      def png
        "\x89PNG\r\n\x1a\n".b + chunk("IHDR", [@width, @height, 8, 3, 0, 0, 0].pack("NNC5")) + chunk("PLTE", @palette.map { |c| [c.delete("#")].pack("H*") }.join) +
          chunk("IDAT", Zlib.deflate(@rows.map { |row| "\0".b + row }.join)) + chunk("IEND", "")
      end

      private

      # Its length, name, bytes and checksum
      def chunk(name, bytes) = [bytes.bytesize].pack("N") + name.b + bytes + [Zlib.crc32(name.b + bytes)].pack("N")
    end
  end
end
