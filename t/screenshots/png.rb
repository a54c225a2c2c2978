# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# png.rb: makes pictures of pages smaller: those have some thousand colours, nearly all
# of them shades within letters, so that 256 well chosen ones leave nothing to be missed.
# Only what Chromium writes is read: 8 bits, RGB, not interlaced.
require "zlib"

module Png
  SIGNATURE = "\x89PNG\r\n\x1a\n".b.freeze
  COLOURS = 256

  # The picture with a palette; both are whole files' bytes.
  def self.with_palette(png)
    width, height, lines = pixels(png)
    pixels = lines.map { |line| line.unpack("a3" * width) }
    counts = Hash.new(0)
    pixels.each { |line| line.each { |colour| counts[colour] += 1 } }
    palette, index = choose(counts)
    data = pixels.map { |line| "\0#{line.map { |colour| index[colour] }.pack("C*")}".b }.join
    SIGNATURE + chunk("IHDR", [width, height, 8, 3, 0, 0, 0].pack("N2C5")) + chunk("PLTE", palette.join) +
      chunk("IDAT", Zlib.deflate(data, 9)) + chunk("IEND", "")
  end

  def self.chunk(type, data)
    [data.bytesize].pack("N") + type.b + data + [Zlib.crc32(type.b + data)].pack("N")
  end

  # counts: pixels by colour. Returns the palette, and each colour's place in it: half of it
  # are the most frequent ones, then always that which is missed most, such as a green light
  # that is small but like nothing else.
  def self.choose(counts)
    palette = counts.keys.max_by(COLOURS / 2) { |colour| counts[colour] }
    places = counts.keys.to_h { |colour| [colour, palette.each_index.map { |i| [distance(colour, palette[i]), i] }.min] }
    while palette.size < [COLOURS, counts.size].min
      more = places.each_key.max_by { |colour| counts[colour] * places[colour][0] }
      palette << more
      places.each { |colour, place| places[colour] = [place, [distance(colour, more), palette.size - 1]].min }
    end
    [palette, places.transform_values(&:last)]
  end

  def self.distance(one, two)
    (one.getbyte(0) - two.getbyte(0))**2 + (one.getbyte(1) - two.getbyte(1))**2 + (one.getbyte(2) - two.getbyte(2))**2
  end

  # [width, height, lines of 3 bytes a pixel]
  def self.pixels(png)
    png = png.b
    chunks = []
    at = SIGNATURE.bytesize
    while at < png.bytesize
      size, type = png[at, 8].unpack("Na4")
      chunks << [type, png[at + 8, size]]
      at += 12 + size
    end
    width, height, *kind = chunks.assoc("IHDR")[1].unpack("N2C5")
    kind == [8, 2, 0, 0, 0] or raise "unexpected kind of PNG: #{kind}"
    data = Zlib.inflate(chunks.filter_map { |type, part| part if type == "IDAT" }.join)
    above = [0] * (width * 3)
    lines = Array.new(height) do |y|
      filter, *line = data[y * (width * 3 + 1), width * 3 + 1].bytes
      above = unfilter(filter, line, above)
      above.pack("C*")
    end
    [width, height, lines]
  end

  # One line, in place: each byte is the difference to what its neighbours say.
  def self.unfilter(filter, line, above)
    line.each_index do |i|
      left = i > 2 ? line[i - 3] : 0
      guess = case filter
              when 0 then break
              when 1 then left
              when 2 then above[i]
              when 3 then (left + above[i]) / 2
              when 4 then paeth(left, above[i], i > 2 ? above[i - 3] : 0)
              else raise "unknown filter #{filter}"
              end
      line[i] = (line[i] + guess) & 255
    end
    line
  end

  def self.paeth(left, up, corner)
    p = left + up - corner
    a, b, c = (p - left).abs, (p - up).abs, (p - corner).abs
    a <= b && a <= c ? left : b <= c ? up : corner
  end
  private_class_method :chunk, :choose, :distance, :pixels, :unfilter, :paeth
end
