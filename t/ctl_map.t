#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# mwrapctl map: words and tables, and the page of one file, of made-up maps (t/js/fake_server.mjs). The page in
# a browser is browser_map.t's.
require_relative "lib/fake_server"
require_relative "lib/runs_ctl"
require_relative "../lib/mwrap/ctl"
require_relative "../lib/mwrap/ctl/map"
require_relative "../lib/mwrap/ctl/map_page"
require "net/http"
require "pty"
require "zlib"

class CtlMapTest < Minitest::Test
  include RunsCtl

  def serve(*args) = @server = BrowserTest::FakeServer.new(*args)
  def at = "127.0.0.1:#{@server.port}"
  def cells_of(page) = Zlib.inflate(page[%r{<script type="text/plain" id="cells">(.*?)</script>}m, 1].unpack1("m0"))
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
      planes = cells_of(page)
      assert_equal 2 * data["map"]["cells"], planes.bytesize
      assert_equal asked("/map/1/0/0.bin").b[0, data["map"]["cells"]], planes[0, data["map"]["cells"]]
    end
  end

  def test_a_page_of_a_large_map
    serve("--gigabytes=10")
    in_tmp do |dir|
      assert_written ctl("map", at, "-o", "#{dir}/m.html")
      tiles = (0..40).map { |n| asked("/map/1/0/#{n}.bin").b }
      assert_equal 2_624_440, tiles.sum(&:bytesize) / 2
      assert_equal tiles.map { |t| t[0, t.bytesize / 2] }.join + tiles.map { |t| t[t.bytesize / 2..] }.join, cells_of(File.read("#{dir}/m.html"))
    end
  end

  def test_a_snapshot_that_is_gone_is_taken_again_once
    in_tmp do |dir|
      serve("--forget=1")
      assert_written ctl("map", at, "-o", "#{dir}/m.html")
      assert_equal(2, @server.asked.count { |a| a == "GET /map.json" })
      @server.close
      serve("--forget=9")
      assert_refused ctl("map", at, "-o", "#{dir}/n.html"), "#{at}: map: no such snapshot: it is kept for 60 seconds"
      assert_equal(2, @server.asked.count { |a| a == "GET /map.json" })
      refute_path_exists "#{dir}/n.html"
    end
  end

  def test_refusals
    serve("--no-map")
    assert_refused ctl("map", at), "#{at}: map: no memory left for it"
    { %w[-o x.png] => '--output: "x.png" has no ending that says its form: end it in .html, .tsv, .json or .txt',
      %w[-o x.html --json] => "--json: not for a page: give one of them", %w[--pid 1 --all] => "--pid and --all: exclude each other: give one of them" }.each do |words, message|
      assert_refused ctl("map", at, *words), message, 2
    end
    assert_empty Dir.glob("x.{png,html}")
  end

  # A wrong answer is reported before anything is drawn.
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
