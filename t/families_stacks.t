#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Who called it, for the processes of a family: each by its number, and all of them as one, whose
# frames are put together by their texts. What a broken answer of one does: t/unit/test_wire_stacks.c.
require_relative "lib/served"
require_relative "lib/go_pprof"
require "csv"

class FamiliesStacksTest < Minitest::Test
  include GoPprof

  # Each worker has a caller of its own for the same line.
  APP = <<~RUBY
    $stdout.sync = true
    KEPT = []
    def keep = KEPT << ("x" * 20_000) # the line
    def in_first(n) = n.times { keep }
    def in_second(n) = n.times { keep }
    def in_parent(n) = n.times { keep }
    GC.start
    GC.disable
    in_parent(100)
    workers = { first: 300, second: 200 }.map do |name, n|
      fork do
        send(:"in_\#{name}", n)
        puts "\#{name} \#{Process.pid}"
        sleep
      end
    end
    trap(:TERM) { exit! 0 }
    $stdin.gets
    workers.each { |w| Process.kill(:KILL, w) rescue nil }
  RUBY
  LINE = APP.lines.index { |l| l.include?("# the line") } + 1
  PAGES = %w[/flame /flame.json /stacks.collapsed /stacks.speedscope.json /debug/pprof/heap /debug/pprof/allocs].freeze

  def line = "#{path("app.rb")}:#{LINE}"

  # The parent's and the workers' numbers.
  def family(*options)
    app = served_ruby(APP, options: options)
    workers = Array.new(2) { app.hear.split }.to_h
    pids = [app.pid, *workers.values_at("first", "second").map { |pid| Integer(pid) }]
    eventually("three processes that answer") do
      JSON.parse(body("/family.json"))["processes"].count { |p| p["state"] == "answers" } == 3
    end
    pids
  end

  # The row of the line in a table.
  def row(target) = CSV.parse(body(target), headers: true, col_sep: "\t", quote_char: nil).find { |r| r["location"] == line }

  # Of all three: one that couldn't run for a second and a half is left out.
  def all_at_once(pids)
    eventually("the sum of all") do
      before = row("/all/each/0.tsv")
      value = yield
      value if before && before["processes"] == pids.size.to_s && before == row("/all/each/0.tsv")
    end
  end

  def names_of(tree, name)
    tree["frame"].each_index.select { |i| tree["frame"][i] >= 0 && tree["names"][tree["frames"][tree["frame"][i]][0]].match?(/\A(?:[^ ]*#)?#{Regexp.escape(name)}\z/) }
  end

  def value_of(tree, name) = names_of(tree, name).then { |i| i.empty? ? 0 : tree["value"][i[0]] }

  def test_each_by_its_number
    pids = family("stacks:64k")
    pids.each do |pid|
      PAGES.each { |target| assert_equal 200, get("/#{pid}#{target}").status, target }
      tree = JSON.parse(body("/#{pid}/flame.json?location=#{escape(line)}"))
      assert_equal row("/#{pid}/each/0.tsv")["live_bytes"].to_i, tree["total"]
      r = get("/#{pid}/debug/pprof/heap")
      assert_equal [nil, "\x1f\x8b".b], [r.headers["content-encoding"], r.body.b[0, 2]]
    end
    first = JSON.parse(body("/#{pids[1]}/flame.json?location=#{escape(line)}"))
    assert_operator value_of(first, "in_first"), :>, 3_000_000
    assert_equal 0, value_of(first, "in_second")
  end

  def test_all_as_one
    pids = family("stacks:64k")
    tree = all_at_once(pids) { JSON.parse(body("/all/flame.json?location=#{escape(line)}")).then { |t| t if value_of(t, "in_first") > 0 && value_of(t, "in_second") > 0 } }
    all = row("/all/each/0.tsv")
    assert_equal all["live_bytes"].to_i, tree["total"]
    assert_equal 65_536, tree["rate"]
    # 6 MB by the first, 4 MB by the second, and the parent's 2 MB in each of three
    assert_in_delta 6_000_000, value_of(tree, "in_first"), 2_000_000
    assert_in_delta 4_000_000, value_of(tree, "in_second"), 2_000_000
    assert_in_delta 6_000_000, value_of(tree, "in_parent"), 2_500_000
    assert_equal 1, names_of(tree, "in_parent").size, "the processes' frames are one"

    profile = all_at_once(pids) { body("/all/debug/pprof/heap") }
    in_tmp do |dir|
      File.binwrite("#{dir}/heap", profile)
      values = raw_samples(pprof("-raw", "#{dir}/heap")).filter_map { |v, _, location| v if location == line }.transpose.map(&:sum)
      assert_equal all.values_at("allocations", "total", "live", "live_bytes").map(&:to_i), values
    end
    PAGES.each do |target|
      assert_equal 200, get("/all#{target}").status, target
      assert_equal 400, get("/all#{target}?by=x").status, target
      assert_equal 404, get("/all#{target}?location=/no/such.rb:1").status, target
      assert_equal 404, get("/all#{target}x").status, target
    end
    page = body("/all/flame")
    ["data-base=\"/all\"", 'href="/all/debug/pprof/heap"', 'href="/all/flame" aria-current="page">Who called it</a>'].each { |s| assert_includes page, s }
    assert_includes body("/all/at/#{escape(line)}"), "<a href=\"/all/flame?location=#{escape(line)}\">who called it</a>"
  end

  def test_all_without_stacks
    pids = family
    tree = all_at_once(pids) { JSON.parse(body("/all/flame.json?location=#{escape(line)}")) }
    assert_equal [row("/all/each/0.tsv")["live_bytes"].to_i, 0, 0, 1], [tree["total"], tree["samples"], tree["rate"], tree["depth"].max]
    refute_includes body("/all/each/0"), "Who called it"
  end
end
