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

  # A snapshot of rows location => [live_bytes, live, objects, error in per cent]; nil: one of an earlier version
  def snapshot(name, rows, objects: true)
    head = %w[live_bytes live location] + (objects ? %w[objects object_bytes object_samples object_error] : [])
    lines = rows.map { |location, (bytes, live, n, error)| [bytes, live, location, *([n, n * 40, n / 10, n.zero? ? "" : error] if objects)].join("\t") }
    File.write(path(name), "# pid=1\n#{head.join("\t")}\n#{lines.join("\n")}\n")
    path(name)
  end

  def test_objects_grow_without_blocks
    names = XS.each_with_index.map do |x, i|
      snapshot("o#{i}", { "leak.rb:1" => [77, 1, 1000 + x * 20, 5], "noise.rb:2" => [77, 1, 50_000 + i % 3 * 2000, 10], "blocks.rb:3" => [1000 + x, 10 + x / 100, 10, 90] })
    end
    rows = rows_of("score", *names, "--x", XS.join(","))
    assert_equal [["leak.rb:1", "objects", XS[-1] * 800], ["blocks.rb:3", "blocks", XS[-1]]], rows.map { |r| r.values_at("location", "of", "growth") }
    assert_equal [1.0, 800.0], rows[0].values_at("tau", "slope").map(&:to_f)
    assert_match(/SCORE .* CURVE +OF +LOCATION$/, ctl("score", *names, "--text").stdout.lines[2].chomp)
  end

  def test_objects_between_two_snapshots
    old = snapshot("old", { "leak.rb:1" => [77, 1] }, objects: false)
    a = snapshot("a", { "leak.rb:1" => [77, 1, 1000, 10], "noise.rb:2" => [77, 1, 5000, 10], "gone.rb:3" => [77, 1, 500, 20] })
    b = snapshot("b", { "leak.rb:1" => [77, 1, 9000, 5], "noise.rb:2" => [77, 1, 5500, 10], "new.rb:4" => [5, 1, 0, 0] })
    rows = rows_of("diff", a, b)
    assert_equal({ "leak.rb:1" => [8000, 320_000, 461, 1000, 9000], "noise.rb:2" => [500, 20_000, 743, 5000, 5500], "gone.rb:3" => [-500, -20_000, 100, 500, 0], "new.rb:4" => [0, 0, 0, 0, 0] },
                 rows.to_h { |r| [r["location"], r.values_at("growth_objects", "growth_object_bytes", "growth_objects_error", "from_objects", "to_objects")] })
    assert_equal "leak.rb:1", rows[0]["location"]
    assert_operator rows[0]["score"], :>, 4
    assert_equal 0, rows.find { |r| r["location"] == "noise.rb:2" }["score"], "it may be the estimate's"
    assert_match(/OBJECTS +SLOTS +LOCATION$/, ctl("diff", a, b, "--text").stdout)
    assert_equal [""] * 5, rows_of("diff", old, snapshot("c", { "leak.rb:1" => [78, 1, 5, 1] }))[0].values_at("growth_objects", "growth_object_bytes", "growth_objects_error", "from_objects", "to_objects")
    refute_includes ctl("diff", old, a, "--text").stdout, "OBJECTS"
  end

  # Those of all processes, and of a file's lines
  def test_objects_are_summed_up
    both = snapshot("both", { "/srv/a.rb:1" => [77, 1, 1000, 10], "/srv/a.rb:2" => [7, 1, 100, 75] })
    File.write(both, File.read(both).lines.drop(1).then { |l| l.join + l.drop(1).join })
    row = rows_of("report", both).find { |r| r["location"] == "/srv/a.rb:1" }
    assert_equal [2000, 80_000, 141], row.values_at("objects", "object_bytes", "objects_error")
    assert_match(/OBJECTS +SLOTS +FILE$.*2,200 .*a\.rb$.*OBJECTS +SLOTS +LOCATION$/m, ctl("report", both, "--text").stdout)
    assert_includes ctl("report", both, "--html").stdout, "<th scope=\"col\" class=\"num\">Object bytes</th>"
    old = snapshot("old", { "a.rb:1" => [77, 1] }, objects: false)
    refute_match(/OBJECTS|Object/, ctl("report", old, "--text").stdout + ctl("report", old, "--html").stdout)
  end

  def test_wrong_command_lines
    a, b, c = write(shapes(Random.new(1))).first(3)
    { [a, b] => "SNAPSHOT: 2 given: name 3 or more", [a, b, c, "--x", "1,2"] => "--x: 2 numbers for 3 snapshots: give one for each",
      [a, b, c, "--x", "1,3,2"] => "--x: does not rise: give the snapshots in their order", [a, b, c, "--x", "1,a"] => '--x: "1,a" is not a list of numbers: write one such as 0,1.5,3',
      [] => "SNAPSHOT: missing: see mwrapctl help score" }.each { |words, message| assert_refused ctl("score", *words), message, 2 }
  end
end
