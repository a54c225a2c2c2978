#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# ctl_score.t - mwrapctl score: of made-up series the leak is first; by requests, by time and by place; and of a process.
require_relative "lib/served"
require_relative "lib/runs_ctl"
require_relative "../lib/mwrap/ctl"
require_relative "../lib/mwrap/ctl/series"

class CtlScoreTest < Minitest::Test
  include RunsCtl

  # Live bytes after x requests
  SHAPES = {
    "leak" => ->(x, _) { 50_000 + 100 * x },
    "noise" => ->(_, random) { 5_000_000 + random.rand(1_000_000) },
    "sawtooth" => ->(x, _) { 1_000_000 + 3000 * (x % 1700) },
    "warm-up" => ->(x, _) { 3_000_000 * (1 - Math.exp(-x / 1500.0)).round(6) },
    "cache" => ->(x, _) { [200 * x, 400_000].min },
    "flat" => ->(_, _) { 77 },
    "falls" => ->(x, _) { 9_000_000 - 200 * x },
    "step" => ->(x, _) { x < 8500 ? 100 : 4_000_000 }
  }.freeze
  XS = [0, 700, 1900, 3000, 4100, 5200, 6000, 7400, 8300, 9000].freeze

  def shapes(random) = SHAPES.transform_values { |shape| XS.map { |x| shape.call(x, random).to_i } }

  # A file for each x; times: seconds, nil for none
  def write(values, times: nil)
    XS.each_index.map do |i|
      rows = values.map { |name, v| "#{v[i]}\t#{[v[i] / 100, 1].max}\t#{name}" }
      File.write(path("s#{i}"), ["# pid=1#{" unix=#{times[i]}" if times}", "live_bytes\tlive\tlocation", *rows].join("\n") + "\n")
      path("s#{i}")
    end
  end

  def test_the_leak_is_first
    20.times do |seed|
      scores = shapes(Random.new(seed)).transform_values { |v| Mwrap::Ctl::Series.new(XS, v).score }
      assert_equal "leak", scores.max_by(&:last)[0], scores.inspect
      assert_operator scores["leak"], :>, 2 * scores.except("leak").values.max, scores.inspect
      assert_equal [0, 0], scores.values_at("flat", "falls")
    end
  end

  def test_a_leak_with_noise_on_it
    20.times do |seed|
      random = Random.new(seed)
      all = shapes(random)
      all["leak"] = all["leak"].map { |v| v + random.rand(-60_000..60_000) }
      scores = all.transform_values { |v| Mwrap::Ctl::Series.new(XS, v).score }
      assert_equal "leak", scores.max_by(&:last)[0], scores.inspect
    end
  end

  def test_its_columns
    s = Mwrap::Ctl::Series.new([0, 1, 2, 3], [10, 20, 30, 40])
    assert_equal [1.0, 1.0, 1.0, 10.0, 1.0, 30], [s.tau, s.r2.round(9), s.late, s.slope, s.confidence.round(9), s.growth]
    s = Mwrap::Ctl::Series.new([0, 1, 2], [0, 10, 15])
    assert_equal [1.0, 0.5], [s.tau, s.late]
    s = Mwrap::Ctl::Series.new([0, 2, 10], [0, 10, 10])
    assert_equal [(2 / 3.0).round(6), 0.0], [s.tau.round(6), s.late]
    s = Mwrap::Ctl::Series.new([0, 1, 2], [5, 5, 5])
    assert_equal [0.0, 0.0, 0.0, 0.0], [s.tau, s.r2, s.confidence, s.score]
  end

  def test_by_requests_by_time_and_by_place
    files = write(shapes(Random.new(1)))
    rows = rows_of("score", *files, "--x", XS.join(","))
    assert_equal ["leak", 100.0, 900_000], rows[0].values_at("location", "slope", "growth").then { |l, s, g| [l, s.to_f, g] }
    assert_equal shapes(Random.new(1))["leak"].join(","), rows[0]["values"]
    object = json_of("score", *files)
    assert_equal ["snapshot", (0..9).to_a, "leak"], [object["unit"], object["x"], object["rows"][0]["location"]]
    object = json_of("score", *write(shapes(Random.new(1)), times: XS.map { |x| 1_000_000_000 + x * 60 }))
    assert_equal ["minute", XS, "leak"], [object["unit"], object["x"], object["rows"][0]["location"]]
    text = ctl("score", *files, "--text", "--x=#{XS.join(",")}", "-n", "1", env: { "LC_ALL" => "C.UTF-8" }).stdout
    assert_match(/\A10 snapshots, by the given x: live \S+ MB to \S+ MB  [▁-█]{10}\n\nSCORE +TAU +R2 +LATE +GROWTH +PER X +LIVE +BLOCKS  CURVE +LOCATION\n +9\.\d\d  1\.00  1\.00  1\.00 .* \+100 B .*  leak\n/, text)
    assert_equal 1, ctl("score", *files, "--x", XS.join(","), "--fail-above", "8").status.exitstatus
    assert_written ctl("score", *files, "--x", XS.join(","), "--fail-above", "30")
  end

  def test_of_a_process
    app = served_ruby(<<~'RUBY')
      $stdout.sync = true
      KEPT = []
      LAST = []
      GC.disable
      def step(n)
        n.times { KEPT << ("x" * 900) } # the leak
        LAST[0]&.clear
        LAST[0] = "y" * (n == 10 ? 900_000 : 1000)
      end
      step(20)
      puts "ready"
      while (line = gets)
        step(line.to_i)
        puts "done"
      end
    RUBY
    assert_equal "ready", app.hear
    names = [10, 30, 10, 20].each_with_index.map do |n, i|
      assert_written ctl("snap", path, path("p#{i}"))
      app.ask(n.to_s)
      path("p#{i}")
    end
    rows = rows_of("score", *names, path, "--x", "0,10,40,50,70")
    assert rows[0]["location"].end_with?("app.rb:6"), rows[0].inspect
    assert_in_delta 901, rows[0]["slope"], 108
    assert_in_delta 1, rows[0]["tau"], 0
  end

  def test_wrong_command_lines
    a, b, c = write(shapes(Random.new(1))).first(3)
    { [a, b] => "SNAPSHOT: 2 given: name 3 or more", [a, b, c, "--x", "1,2"] => "--x: 2 numbers for 3 snapshots: give one for each",
      [a, b, c, "--x", "1,3,2"] => "--x: does not rise: give the snapshots in their order", [a, b, c, "--x", "1,a"] => '--x: "1,a" is not a list of numbers: write one such as 0,1.5,3',
      [] => "SNAPSHOT: missing: see mwrapctl help score" }.each { |words, message| assert_refused ctl("score", *words), message, 2 }
  end
end
