#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The memory maps of a family of a master and two workers: what /all/map.json and mwrapctl map --all add up, and
# pages that are shared since the fork.
require_relative "lib/served"
require_relative "lib/runs_ctl"

class MapFamilyTest < Minitest::Test
  include HttpdTest
  include RunsCtl

  # The workers keep 4 MB and 9 MB of their own, beside 6 MB of before the fork.
  APP = <<~'RUBY'
    $stdout.sync = true
    KEPT = Array.new(6000) { "m" * 1000 }
    GC.start
    ready, starts = IO.pipe
    workers = [4000, 9000].map do |n|
      fork do
        KEPT << Array.new(n) { "w" * 1000 }
        GC.start
        starts.puts Process.pid
        sleep
      end
    end
    2.times { ready.gets }
    puts workers.join(" ")
    $stdin.gets
    workers.each { |w| Process.kill(:KILL, w) }
  RUBY
  FIGURES = %w[rss_bytes seen_bytes live_bytes live swapped_bytes shared_bytes huge_bytes trim_bytes].freeze

  def start
    @app = served_ruby(APP)
    @workers = @app.hear.split.map(&:to_i)
    eventually("all three") { JSON.parse(body("/family.json"))["processes"].count { |p| p["state"] == "answers" } == 3 }
    @pids = [@app.pid, *@workers]
    @pids.each { |pid| eventually("#{pid} to wait") { AtRest.now?(pid) } }
  end

  def parts(map) = map["parts"].to_h { |p| p.values_at("name", "bytes") }

  def assert_sums(all)
    assert_equal [3, 3], all.values_at("processes", "answered")
    assert_equal @pids.sort, all["each"].map { |e| e["pid"] }.sort
    FIGURES.each { |n| assert_equal all["each"].sum { |e| e[n] }, all[n], n }
    parts(all).each { |name, bytes| assert_equal all["each"].sum { |e| parts(e)[name] }, bytes, name }
    [all, *all["each"]].each { |m| assert_equal m["seen_bytes"], parts(m).values.sum }
  end

  def test_the_sums_are_right
    start
    all = json_of("map", "--all", path)
    assert_sums(all)
    each = all["each"].to_h { |e| [e["pid"], e] }
    # as each one's own map says, and as the kernel does
    @pids.each do |pid|
      one = JSON.parse(body("/#{pid}/map.json"))
      rss = File.read("/proc/#{pid}/smaps_rollup")[/^Rss: +(\d+)/, 1].to_i * 1024
      assert_in_delta one["live_bytes"], each[pid]["live_bytes"], 100_000
      assert_in_delta rss, each[pid]["rss_bytes"], rss * 0.02
      assert_in_delta rss, each[pid]["seen_bytes"], rss * 0.02
    end
    small, large = @workers.map { |pid| each[pid]["live_bytes"] - each[@app.pid]["live_bytes"] }
    assert_in_delta 4_000_000, small, 300_000
    assert_in_delta 9_000_000, large, 300_000
    # blocks from before the fork are in all three
    @workers.each { |pid| assert_operator each[pid]["shared_bytes"], :>, 3_000_000 }
  end

  # What one of them doesn't know has no sum.
  def test_where_blocks_are_missing
    start
    careful = @workers[0]
    %w[pause resume].each { |c| assert_equal 200, request("POST", "/#{careful}/#{c}").status, c }
    all = JSON.parse(body("/all/map.json"))
    each = all["each"].to_h { |e| e.values_at("pid", "trim_bytes") }
    assert_equal [careful], each.select { |_, bytes| bytes.nil? }.keys
    assert_nil all["trim_bytes"]
    rows = rows_of("map", "--all", path).to_h { |r| [r["pid"], r["trim_bytes"]] }
    assert_equal each.transform_values { |bytes| bytes.is_a?(Integer) }, rows.transform_values { |bytes| bytes.is_a?(Integer) }
    assert_written ctl("map", "--all", "--text", path)
  end

  def test_mwrapctl_lists_each
    start
    rows = rows_of("map", "--all", path)
    all = json_of("map", "--all", path)
    assert_equal @pids.sort, rows.map { |r| r["pid"] }.sort
    assert_equal rows.map { |r| r["rss_bytes"] }.sort.reverse, rows.map { |r| r["rss_bytes"] }
    rows.each do |r|
      e = all["each"].find { |x| x["pid"] == r["pid"] }
      assert_equal %w[rss_bytes live_bytes holes_bytes empty_bytes trim_bytes shared_bytes pid], r.keys
      assert_in_delta e["live_bytes"], r["live_bytes"], 100_000
      assert_in_delta parts(e)["holes"], r["holes_bytes"], 500_000
    end
    run = ctl("map", "--all", "--text", path, env: { "LC_ALL" => "C.UTF-8" })
    assert_written run
    assert_match(/\A[\d.]+ MB is in memory of 3 processes\. Their [\d,]+ live blocks have [\d.]+ MB\. [\d.]+ MB is shared since a fork: each process counts it in its RSS\.\n/, run.stdout)
    assert_match(/^ *[\d.]+ MB +\d+ %  live blocks$/, run.stdout)
    @pids.each { |pid| assert_match(/ #{pid}$/, run.stdout) }
    assert_refused ctl("map", "--all", path, "-o", path("all.html")), "#{path}: a sum of processes has no map: name one of them by --pid"
  end

  # A page that a worker hasn't written to is marked in its tiles.
  def test_shared_pages_are_marked
    start
    m = JSON.parse(body("/#{@workers[0]}/map.json"))
    fill = Array.new((m["cells"] + 65_535) / 65_536) { |n| body("/#{@workers[0]}/map/#{m["id"]}/0/#{n}.bin").bytes.then { |b| b.first(b.size / 2) } }.flatten
    assert_operator m["shared_bytes"], :>=, fill.count { |c| c & 64 != 0 } * m["page_bytes"]
    assert_operator fill.count { |c| c & 64 != 0 && c & 63 >= 8 } * m["page_bytes"], :>, 3_000_000
    assert_operator fill.count { |c| c & 64 == 0 && c & 63 >= 8 } * m["page_bytes"], :>, 4_000_000
    assert_equal 0, fill.count { |c| c & 64 != 0 && c & 63 == 0 }, "nobody shares what isn't there"
  end

  # One that doesn't answer isn't in the sums, and the words say so.
  def test_one_that_stands_still
    swift
    start
    ::Process.kill(:STOP, @workers[1])
    all = eventually("a sum of two") { (m = JSON.parse(body("/all/map.json")))["answered"] == 2 && m }
    assert_equal [@app.pid, @workers[0]].sort, all["each"].map { |e| e["pid"] }.sort
    assert_equal all["each"].sum { |e| e["rss_bytes"] }, all["rss_bytes"]
    assert_equal 3, all["processes"]
    assert_match(/ 1 of 3 processes didn't answer\.\n/, ctl("map", "--all", "--text", path).stdout)
  ensure
    ::Process.kill(:CONT, @workers[1]) if @workers
  end
end
