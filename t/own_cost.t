#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# What tracking takes of a process, as that process says itself: CPU time by calls that are clocked, and memory by use.
# On each allocator, in a family, over Rack, with sampled counts. No time is held to a figure.
require_relative "lib/served"
require_relative "lib/allocators"
require_relative "lib/runs_ctl"

class OwnCostTest < Minitest::Test
  include HttpdTest
  include Served

  # rows N: as many strings at a line, each freed soon
  APP = <<~'RUBY'
    require "mwrap"
    $stdout.sync = true
    def rows(n) = n.times { |i|
      "r" * (1500 + i % 100)
    }
    $stdin.each_line { |line| puts eval(line).inspect }
  RUBY
  PARTS = %w[calls_ns samples_ns threads_ns].freeze
  TABLES = %w[locations records threads history stacks names].freeze

  def stats(at = path) = JSON.parse(get("/stats.json", at: at).body)
  def own(at = path) = stats(at)["own"]
  def page(target) = get(target).body.force_encoding("UTF-8")

  # What it says once calls of both kinds were clocked and a second has passed.
  def told(app)
    eventually("clocked calls") do
      app.ask("rows(20_000)")
      app.ask("GC.start")
      is = own
      is if is["cpu_percent"]
    end
  end

  def assert_adds_up(own)
    parts = own.values_at(*PARTS)
    assert parts.all? { _1 >= 0 }, own.inspect
    assert_in_delta parts.sum, own["cpu_ns"], 3
    assert_operator own["calls_ns"], :>, 0
    assert_operator own["process_cpu_ns"], :>, own["samples_ns"]
    assert_in_delta [100.0 * own["cpu_ns"] / own["process_cpu_ns"], 100].min, own["cpu_percent"], 0.01
    assert_operator own["seconds"], :>, 0
    assert_operator own["clocked"], :>=, 64
    assert_operator own["alloc_ns"], :>, 0
  end

  Allocators.with_libc do |name, library, package|
    define_method("test_time_on_#{name}") do
      assert library, "#{package} is not installed" if package
      app = served_ruby(APP, env: library ? { "LD_PRELOAD" => "#{MwrapTest::TRACKER}:#{library}" } : {})
      assert_adds_up told(app)
    end
  end

  # A clocked call counts as any other, in the mode that it would have had.
  def test_counts_stay_exact
    app = served_ruby(APP)
    first = told(app)["clocked"]
    # Ruby allocates at the line, too, but no blocks of these sizes
    sizes = -> { JSON.parse(app.ask("Mwrap['#{path("app.rb")}:4'].each.map { |size, _| size }.select { (1501..1600).cover?(_1) }")) }
    app.ask("GC.disable")
    before = sizes.call
    app.ask("rows(30_000)")
    assert_equal Array.new(30_000) { 1501 + _1 % 100 }.tally, sizes.call.tally.merge(before.tally) { |_, a, b| a - b }.reject { _2.zero? }
    app.ask("GC.enable")
    told(app)
    assert_operator own["clocked"], :>, first
  end

  def test_memory_by_use
    app = served_ruby(APP)
    told(app)
    is = eventually("a moment at rest") do
      one, two = stats, stats
      two if one.values_at("live", "tracker_bytes") == two.values_at("live", "tracker_bytes")
    end
    bytes = is["own"]["bytes"]
    assert_equal TABLES + %w[server tails], bytes.keys
    assert_equal is["tracker_bytes"], bytes.values_at(*TABLES).sum
    assert_equal is["live"] * 8, bytes["tails"]
    assert_operator bytes["server"], :>, 0
    assert_operator bytes["records"], :>, is["live"] * 16
  end

  # A child's window begins with the child.
  def test_in_a_child
    app = served_ruby(APP)
    told(app)
    child = Integer(app.ask("fork { loop { rows(20_000) } }"))
    at = "#{path}.#{child}"
    wait_for_server(at)
    is = eventually("the child's clocked calls") { own(at).then { _1 if _1["cpu_percent"] } }
    assert_adds_up is
    up = stats["uptime"]
    assert_operator is["seconds"], :<, up
    assert_operator is["process_cpu_ns"], :<, up * 1e9
  ensure
    Process.kill(:KILL, child) if child
  end

  # An allocation between two samples takes too little to be clocked: nothing is said of it.
  def test_sampled
    app = served_ruby(APP, options: ["counts:sampled"])
    is = eventually("a second") do
      app.ask("rows(20_000)")
      own.then { _1 if _1["seconds"] }
    end
    assert_equal [nil, nil, nil, 0], is.values_at("calls_ns", "cpu_ns", "cpu_percent", "clocked")
    assert_equal 0, is["bytes"]["tails"]
    assert_operator is["samples_ns"], :>=, 0
    refute_match(/^mwrap_tracker_cpu_ratio/, get("/metrics").body)
    assert_match(%r{Of one CPU</th><td class="num">–<}, page("/stats"))
    post("/exact")
    assert_adds_up told(app)
  end

  def test_everywhere
    app = served_ruby(APP)
    told(app)
    html = page("/stats")
    assert_match(%r{CPU time</th><td class="num">\d+\.\d\d.%<}, html)
    assert_match(%r{A malloc</th><td class="num">\d+\.\d.ns<}, html)
    assert_match(%r{Records</th><td class="num">}, html)
    assert_match(%r{Tracking takes <b>\d+\.\d.%</b> of the CPU time, at most<}, page("/"))
    assert_match(/^mwrap_tracker_cpu_ratio 0\.\d{5}$/, get("/metrics").body)
  end
end
