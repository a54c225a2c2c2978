#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# mwrapctl map: words and tables, the page of one file, and the picture, of made-up maps (t/js/fake_server.mjs). The page in
# a browser is browser_map.t's.
require_relative "lib/fake_server"
require_relative "lib/runs_ctl"
require_relative "../lib/mwrap/ctl"
require_relative "../lib/mwrap/ctl/map"
require_relative "../lib/mwrap/ctl/map_page"
require_relative "../lib/mwrap/ctl/map_png"
require "net/http"
require "pty"
require "zlib"

# Reads a PNG of 8 bits and a palette, and sees that it is one.
class Picture
  attr_reader :width, :height, :palette

  def initialize(bytes)
    raise "no PNG" unless bytes.start_with?("\x89PNG\r\n\x1a\n".b)
    chunks = {}
    at = 8
    while at < bytes.bytesize
      size, name = bytes[at, 8].unpack("Na4")
      body = bytes[at + 8, size]
      raise "#{name}: wrong checksum" unless Zlib.crc32(name + body) == bytes[at + 8 + size, 4].unpack1("N")
      chunks[name] = body
      at += 12 + size
    end
    raise "parts #{chunks.keys}" unless chunks.keys == %w[IHDR PLTE IDAT IEND]
    @width, @height, *how = chunks["IHDR"].unpack("NNC5")
    raise "of kind #{how}" unless how == [8, 3, 0, 0, 0]
    @palette = chunks["PLTE"].unpack("C*").each_slice(3).map { |rgb| format("#%02x%02x%02x", *rgb) }
    @rows = Zlib.inflate(chunks["IDAT"]).unpack("a#{@width + 1}" * @height)
    raise "a row has a filter" unless @rows.all? { |r| r.getbyte(0).zero? }
  end

  def at(x, y) = @rows[y].getbyte(x + 1)
  def colour(x, y) = @palette.fetch(at(x, y))
  def count(number, rows = 0...@height) = @rows[rows].sum { |r| r[1..].count(number.chr.b) }
end

class RasterTest < Minitest::Test
  Raster = Mwrap::Ctl::Raster
  Font = Mwrap::Ctl::PixelFont

  def test_every_character_has_its_own_shape
    shapes = (32..126).map { |c| Font.dots(c.chr) }
    assert_equal 95, Font::DOTS.size
    assert_equal 95, shapes.uniq.size
    assert_empty shapes[0]
    assert(shapes.drop(1).all? { |dots| dots.any? && dots.all? { |x, y| (0...5).cover?(x) && (0...9).cover?(y) } })
    ["\n", "\u00e4", "\u{1f600}", "\x7f"].each { |c| assert_equal Font.dots("?"), Font.dots(c) }
  end

  def test_text_and_shapes_are_where_they_shall_be
    raster = Raster.new(40, 20, ["#ffffff", "#102030", "#aabbcc"], 0)
    raster.fill(1, 2, 3, 4, 1)
    raster.frame(10, 10, 5, 6, 2)
    raster.fill(0, 0, 0, 5, 2)
    raster.text(20, 0, "T" * 20, 1, scale: 2)
    picture = Picture.new(raster.png)
    assert_equal [40, 20, ["#ffffff", "#102030", "#aabbcc"]], [picture.width, picture.height, picture.palette]
    assert_equal ["#102030", "#ffffff", "#102030", "#ffffff"], [picture.colour(1, 2), picture.colour(4, 2), picture.colour(3, 5), picture.colour(1, 6)]
    assert_equal 2 * 5 + 2 * 4, picture.count(2)
    assert_equal 12 + 11 * 4, picture.count(1), "a T that is whole, and none that is cut"
    assert_equal "#102030", picture.colour(29, 1)
    assert_equal "#ffffff", picture.colour(30, 1)
  end
end

class MapPngTest < Minitest::Test
  PNG = Mwrap::Ctl::MapPng
  Panel = Mwrap::Ctl::MapSnapshot::Panel

  # As MapSnapshot, of an Array of panels' sizes
  Snapshot = Struct.new(:panels, :lines, :sentence, :parts) do
    def self.of(sizes, lines: [], sentence: "Something.", parts: [{ "name" => "live", "title" => "live blocks", "bytes" => 5 }])
      at = 0
      panels = sizes.each_with_index.map do |n, i|
        at += n
        Panel.new(name: "panel #{i}", kind: "arena", cell: at - n, cells: n, resident_bytes: 1, live_bytes: 1)
      end
      new(panels, lines, sentence, parts)
    end

    def page_bytes = 4096
  end

  def layout(snapshot, level) = Mwrap::Ctl::MapLayout.new(snapshot.panels, level: level, width: PNG::INNER, label: PNG::LABEL)

  # Each cell has its colour, where the layout says, and all cells are there.
  def assert_cells(snapshot, fill, level: 0)
    picture = Picture.new(PNG.new(snapshot, level, fill, "process 1").to_s)
    layout = self.layout(snapshot, level)
    top = (0...picture.height - layout.height).find { |y| layout.blocks.all? { |b| corners(layout, b).all? { |x, dy, from| picture.at(PNG::MARGIN + x, y + dy) == fill.getbyte(from) & 63 } } }
    refute_nil top, "the first cell of each column has its colour"
    seen = 0
    layout.blocks.each do |block|
      layout.rows(block) do |x, y, from, n|
        seen += n
        [0, n / 2, n - 1].each do |i|
          assert_equal fill.getbyte(from + i) & 63, picture.at(PNG::MARGIN + x + i * layout.cell + layout.cell - 1, top + y + layout.cell - 1), "cell #{from + i}"
        end
      end
    end
    assert_operator seen, :>=, fill.bytesize
    picture
  end

  def corners(layout, block)
    found = []
    layout.rows(block) { |x, y, from, _| found << [x, y, from] }
    found
  end

  def noise(n) = Random.new(3).bytes(n)

  def test_each_cell_has_its_colour
    [[700, 300, 5, 256], [90_000, 20], [1], [300_000]].each do |sizes|
      snapshot = Snapshot.of(sizes)
      assert_cells(snapshot, noise(sizes.sum))
    end
  end

  def test_coarser_levels_and_nothing
    snapshot = Snapshot.of([16_000, 6, 4000])
    assert_cells(snapshot, noise(20_006.fdiv(16).ceil), level: 2)
    picture = Picture.new(PNG.new(Snapshot.of([], parts: [], sentence: ""), 0, "".b, "x").to_s)
    assert_operator picture.height, :<, 300
  end

  def test_panels_lie_apart
    [[700, 300, 5, 256], [90_000, 20], [2_600_000, 4000], Array.new(60) { |i| 900 * i }].each do |sizes|
      layout = self.layout(Snapshot.of(sizes), 0)
      layout.blocks.combination(2) do |a, b|
        assert(a.x >= b.x + b.width || b.x >= a.x + a.width || a.y >= b.y + b.height || b.y >= a.y + a.height)
      end
      assert(layout.blocks.all? { |b| b.x + b.width <= PNG::INNER && b.y + b.height <= layout.height })
    end
  end

  # The bar's parts are as wide as their bytes.
  def test_the_bar
    parts = [["live", 500], ["empty", 250], ["odd", 250]].map { |name, n| { "name" => name, "title" => "", "bytes" => n } }
    picture = Picture.new(PNG.new(Snapshot.of([10], parts: parts), 0, "\0".b * 10, "x").to_s)
    y = (0...picture.height).find { |at| picture.at(PNG::MARGIN, at) == 63 }
    row = Array.new(PNG::INNER) { |x| picture.at(PNG::MARGIN + x, y) }
    assert_equal({ 63 => PNG::INNER / 2, 1 => PNG::INNER / 4, 6 => PNG::INNER / 4 }, row.tally)
  end

  def test_texts_of_any_length_and_kind
    line = { "location" => "/srv/\e[31m\u00e4\n#{"x" * 500}.rb:1", "live_bytes" => 0, "holds_bytes" => 5, "alone_bytes" => 1, "blocks" => 2 }
    snapshot = Snapshot.of([500], lines: [line] * 50, sentence: "#{"long " * 200}#{"x" * 400}", parts: [{ "name" => "live", "title" => "\u{1f600}", "bytes" => 7 }])
    picture = assert_cells(snapshot, noise(500))
    assert_operator picture.height, :<, 1500, "twenty lines at most"
  end
end

class CtlMapTest < Minitest::Test
  include RunsCtl

  def serve(*args) = @server = BrowserTest::FakeServer.new(*args)
  def at = "127.0.0.1:#{@server.port}"
  def asked(path) = Net::HTTP.get(URI("#{@server.origin}#{path}"))

  def teardown
    @server&.close
    super
  end

  def test_words_and_tables
    serve
    rows = rows_of("map", at)
    json = JSON.parse(asked("/map.json"))
    assert_equal(json["lines"].map { |l| l["location"] }, rows.map { |r| r["location"] })
    assert_equal(json["lines"].map { |l| l.values_at("live_bytes", "holds_bytes", "alone_bytes", "blocks") }, rows.map { |r| r.values_at("live_bytes", "holds_bytes", "alone_bytes", "blocks") })
    assert_in_delta rows[0]["holds_bytes"].fdiv(rows[0]["live_bytes"]), rows[0]["times"], 0.01
    run = ctl("map", at, "--text", "-n", "2", env: { "LC_ALL" => "C.UTF-8" })
    assert_written run
    assert_equal json["sentence"], run.stdout.lines[0].chomp
    assert_match(/^ *147 MB   66 %  empty pages$/, run.stdout)
    refute_match(/before tracking/, run.stdout, "no part of nothing")
    assert_equal 2, run.stdout.scan(/\.rb:\d+$/).size
    assert_match(/^3 more: -n 5$/, run.stdout)
    printed = json_of("map", at)
    assert_equal json.except("id", "unix"), printed.except("id", "unix")
  end

  def test_a_page
    serve("--hostile")
    in_tmp do |dir|
      assert_written ctl("map", at, "-o", "#{dir}/m.HTML")
      page = File.read("#{dir}/m.HTML")
      assert_includes page, "<title>puma 6.4 [app] (4711) - mwrap</title>"
      refute_includes page, "<img src=x"
      data = JSON.parse(page[%r{<script type="application/json" id="map">(.*?)</script>}m, 1])
      assert_equal 0, data["level"]
      assert_equal "/srv/<img src=x onerror=\"window.hostile=1\"></script>.rb:1", data["map"]["lines"].find { |l| l["location"].include?("hostile") }["location"]
      planes = Zlib.inflate(page[%r{<script type="text/plain" id="cells">(.*?)</script>}m, 1].unpack1("m0"))
      assert_equal 2 * data["map"]["cells"], planes.bytesize
      assert_equal asked("/map/1/0/0.bin").b[0, data["map"]["cells"]], planes[0, data["map"]["cells"]]
    end
  end

  def test_a_picture_of_a_large_map
    serve("--gigabytes=10")
    in_tmp do |dir|
      assert_written ctl("map", at, "-o", "#{dir}/m.png")
      picture = Picture.new(File.binread("#{dir}/m.png"))
      json = JSON.parse(asked("/map.json"))
      tiles = (0..40).map { |n| asked("/map/2/0/#{n}.bin").b }
      empty = tiles.sum { |t| t[0, t.bytesize / 2].each_byte.count { |b| b & 63 == 1 } }
      # those of the bar and the legend are other ones
      assert_in_delta empty, picture.count(1), 60_000
      assert_operator empty, :>, 1_000_000
      assert_equal 2_624_440, json["cells"]
    end
  end

  def test_a_snapshot_that_is_gone_is_taken_again_once
    in_tmp do |dir|
      serve("--forget=1")
      assert_written ctl("map", at, "-o", "#{dir}/m.png")
      assert_equal(2, @server.asked.count { |a| a == "GET /map.json" })
      @server.close
      serve("--forget=9")
      assert_refused ctl("map", at, "-o", "#{dir}/n.png"), "#{at}: status 404: map: no such snapshot: it is kept for 60 seconds"
      assert_equal(2, @server.asked.count { |a| a == "GET /map.json" })
      refute_path_exists "#{dir}/n.png"
    end
  end

  def test_refusals
    serve("--no-map")
    assert_refused ctl("map", at), "#{at}: status 503: map: no memory left for it"
    { %w[-o x.svg] => '--output: "x.svg" is neither a page nor a picture: end it in .html or .png', %w[-o -] => '--output: "-" is neither a page nor a picture: end it in .html or .png',
      %w[-o x.png --json] => "--json: not for --output: give one of them", %w[--pid 1 --all] => "--pid and --all: exclude each other: give one of them" }.each do |words, message|
      assert_refused ctl("map", at, *words), message, 2
    end
    assert_empty Dir.glob("x.{png,svg}")
  end

  # What isn't as it should be is told before anything is drawn.
  def test_odd_answers
    good = { "id" => "1", "cells" => 5, "levels" => 1, "tile_cells" => 65_536, "page_bytes" => 4096, "panels" => [{ "cell" => 0, "cells" => 5, "resident_bytes" => 0, "live_bytes" => 0 }], "parts" => [] }
    bad = [{}, good.merge("parts" => [{}]), good.merge("cells" => -1), good.merge("tile_cells" => 0), good.merge("id" => "../x"), good.merge("levels" => 99),
           good.merge("panels" => [{ "cell" => 3, "cells" => 3, "resident_bytes" => 0, "live_bytes" => 0 }])]
    client = Struct.new(:answer, :tile) do
      def json(*) = answer
      def get(*) = tile
      def strange = raise(Mwrap::Ctl::Failure, "strange")
    end
    bad.each { |json| assert_raises(Mwrap::Ctl::Failure, json.inspect) { Mwrap::Ctl::MapSnapshot.new(client.new(json)) } }
    assert_equal %w[abcde fghij], Mwrap::Ctl::MapSnapshot.new(client.new(good, "abcdefghij")).planes(0) { |i, n| assert_equal [0, 1], [i, n] }
    assert_raises(Mwrap::Ctl::Failure) { Mwrap::Ctl::MapSnapshot.new(client.new(good, "abcdefghi")).planes(0) { nil } }
  end

  # How far it is, for somebody who waits
  def test_progress_on_a_terminal
    serve("--gigabytes=10")
    in_tmp do |dir|
      said = +""
      PTY.spawn({ "RUBYOPT" => nil, "TERM" => "xterm" }, RUBY, CTL, "map", at, "-o", "#{dir}/m.html") do |out, _, pid|
        Timeout.timeout(BrowserTest::LONG) { loop { said << out.readpartial(4096) } }
      rescue Errno::EIO
        ::Process.wait(pid)
      end
      assert_path_exists "#{dir}/m.html"
      refute_match(/\S/, said.split("\r").last.to_s.gsub("\e[K", ""), "nothing of it stays")
    end
  end
end
