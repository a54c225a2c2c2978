#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The peak: what lived where when live memory was highest. Random lives with a ledger by line (SEED=N repeats them),
# in the table, the differences, the flame graph, dumps, metrics and mwrapctl; after a reset, in a forked child, and
# where nobody looks.
require_relative "lib/served"
require_relative "lib/runs_ctl"

class PeakTest < Minitest::Test
  include Served
  include RunsCtl

  SEED = Integer(ENV.fetch("SEED") { Random.new_seed % 1_000_000 })
  warn "# SEED=#{SEED}"
  LINES = 4
  # of what a line holds, and of all that the app has beside its lines
  STEP = 0.02

  # hold LINE MEGABYTES: what the line holds from now on
  APP = <<~'RUBY'
    require "mwrap"
    $stdout.sync = true
    $held = []
    # in one block: a look that comes between two would count half of it
    4.times { |i| eval("def hold#{i}(n) = $held[#{i}] = 'x' * (n * 1_000_000)", nil, "/srv/held.rb", i + 1) }
    while (line = $stdin.gets&.chomp)
      word, i, n = line.split
      case word
      when "hold"
        # not the collector: a pointer on the stack would keep the string
        $held[i.to_i]&.clear
        send("hold#{i}", n.to_i)
      when "reset" then Mwrap.reset
      when "fork" then Process.wait(fork { puts Mwrap.stats[:peak_bytes].to_i; $stdout.flush; exit! })
      end
      next if word == "fork"
      # after a reset nothing is kept until a look, which never waits for another thread's
      sleep 0.01 until (peak = Mwrap.stats[:peak_bytes].to_i) > 0
      puts peak
    end
  RUBY

  def by_line(rows, value) = LINES.times.map { |i| rows.find { |r| r["location"] == "/srv/held.rb:#{i + 1}" }&.fetch(value).to_i }

  def rows(target) = JSON.parse(body(target)).then { |r| r.is_a?(Hash) ? r["rows"] : r }

  # The ledger: megabytes of each line when all were most, by the rule of 2 %. A byte and a slot more for each string.
  def check(ledger, rows, value)
    ledger.zip(by_line(rows, value)).each_with_index do |(want, is), i|
      assert_in_delta want * 1_000_000, is, want * 1_000 + 200_000, "SEED=#{SEED}: line #{i + 1} of #{ledger}"
    end
  end

  def test_random_lives
    random = Random.new(SEED)
    app = served_ruby(APP)
    now = [0] * LINES
    top = now
    own = app.ask("hold 0 0").to_i
    3.times do |epoch|
      12.times do
        line, size = random.rand(LINES), random.rand(20)
        held = now.dup.tap { |n| n[line] = size }
        # 2 % of all and the app's own bytes decide about these
        next if held != now && held.sum.between?(top.sum - 1, top.sum + 3)
        now = held
        kept = app.ask("hold #{line} #{size}").to_i
        top = now if now.sum > top.sum
        assert_operator kept, :>=, top.sum * 1_000_000 * (1 - STEP)
        check(top, rows("/each/0.json?limit=100000"), "peak_bytes") if now.sum == top.sum || (top.sum - now.sum).abs > top.sum * 0.1
      end
      check(top, rows("/diff.json?to=peak"), "to_bytes")
      check(now, rows("/diff.json?from=peak"), "to_bytes")
      check(top, rows("/diff.json?from=peak"), "from_bytes")
      assert_in_delta top.sum * 1_000_000 + own, JSON.parse(body("/stats.json"))["peak_bytes"], top.sum * 30_000 + 8_000_000
      assert_match(/^mwrap_peak_bytes \d+$/, body("/metrics")) if epoch.zero?
      flame = JSON.parse(body("/flame.json?by=growth&to=peak"))
      assert_equal "peak", flame.dig("range", "until")
      assert_in_delta own + now.sum * 1_000_000, app.ask("reset").to_i, 2_000_000
      top = now
    end
    (1...LINES).each { |i| app.ask("hold #{i} 0") }
    app.ask("hold 0 30")
    app.ask("hold 0 1")
    # a child's is its own
    assert_operator app.ask("fork").to_i, :<, own + 20_000_000
  end

  def test_marks_and_words
    app = served_ruby(APP)
    app.ask("hold 0 10")
    post("/mark?name=before")
    app.ask("hold 1 10")
    app.ask("hold 1 0")
    check([0, 10, 0, 0], rows("/diff.json?from=before&to=peak"), "growth")
    assert_equal 400, get("/diff?from=peak&to=5").status
    assert_equal 400, post("/mark?name=peak").status
    assert_equal 400, get("/flame?by=growth&from=peak&to=now").status
    assert_includes body("/diff?from=peak"), "<option selected>peak</option>"
  end

  # SOCKET@peak and FILE@peak, wherever a mark may stand
  def test_the_tools
    app = served_ruby(APP)
    own = stats["live_bytes"]
    2.times { |i| app.ask("hold #{i} 10") }
    post("/mark?name=before")
    app.ask("hold 2 20")
    (0..2).each { |i| app.ask("hold #{i} #{i.zero? ? 1 : 0}") }
    at = "#{path}@peak"
    check([10, 10, 20, 0], rows_of("report", at), "live_bytes")
    assert_equal "", rows_of("report", at)[0]["live"], "blocks aren't known"
    check([0, 0, 20, 0], rows_of("diff", "#{path}@before", at), "growth")
    down = rows_of("diff", at, path)
    check([-9, -10, -20, 0], down, "growth")
    assert_equal [0.0, ""], down[0].values_at("score", "growth_blocks").then { |score, blocks| [score.to_f, blocks] }
    check([0, 0, 20, 0], rows_of("diff", "#{path}@before", at, "--sort", "blocks", "--per", "3"), "to_bytes")
    file = path("kept.tsv")
    assert_written ctl("snap", path, file)
    assert_equal rows_of("report", "#{file}@peak"), rows_of("report", at)
    check([-9, -10, -20, 0], rows_of("diff", "#{file}@peak", file), "growth")
    stats = JSON.parse(body("/stats.json"))
    object = json_of("diff", at, path)
    assert_in_delta stats["uptime"] - stats["peak_uptime"], object["seconds"], 5
    assert_equal ["peak", nil], object["from"].values_at("mark", "live")
    assert_match(/^from  .*: \d{4}-\S+Z, the peak, pid #{app.pid}, live [\d.]+ MB$/, ctl("diff", at, path, "--text").stdout)
    assert_match(/Mark peak.*Live [\d.]+ MB  Locations/, ctl("report", at, "--text").stdout)
    assert_written ctl("report", at, "-o", path("report.html"))
    check([10, 10, 20, 0].map { |n| n / 2.0 }, rows_of("score", "#{path}@before", at, path, "--x", "0,1,2").map { |r| r.merge("live_bytes" => r["values"].split(",")[1].to_i / 2) }, "live_bytes")
    flame = JSON.parse(ctl("flame", at, "--format", "json").stdout)
    assert_equal ["growth", "peak"], [flame["by"], flame.dig("range", "until")]
    assert_in_delta 40_000_000 + own, flame["total"], 8_000_000
    assert_written ctl("flame", at, "-o", path("flame.html"))
    assert_refused ctl("flame", at, "-o", path("x.pb.gz")), "@peak: not for --format pprof: use html or json", 2
    assert_refused ctl("flame", at, "--by", "live", "-o", path("x.html")), /--by: not for the peak.*/, 2
    assert_refused ctl("flame", "#{path}@before", "-o", path("x.html")), /.*@before: a flame graph is of now or of the peak: .*/, 2
    assert_refused ctl("report", "#{file}@before"), "#{file}@before: a file has no marks: leave the @ out, or write @peak"
    old = path("old.tsv")
    File.write(old, "live_bytes\tlive\tlocation\n5\t1\ta.rb:1\n")
    assert_refused ctl("report", "#{old}@peak"), "#{old}: its table has no peak: write it again with this version"
    File.write(old, "live_bytes\tlive\tpeak_bytes\tlocation\n5\t1\t0\ta.rb:1\n")
    assert_refused ctl("report", "#{old}@peak"), /.*old\.tsv: no peak is known: .*/
  end

  # With dump_every somebody looks; without a server and without it nobody does.
  def test_dumps
    peak = lambda do |*options|
      dump = path("dump#{options.size}")
      run = run_command(RUBY, "--disable=gems", "-e", "x = Array.new(20) { 'x' * 1_000_000 }; sleep 2.5; x = nil; GC.start", timeout: 30,
                        env: { "LD_PRELOAD" => TRACKER, "MWRAP" => ["dump_path:#{dump}", "dump_format:tsv", *options].join(",") })
      assert run.status.success?, run.stderr
      table = File.read(dump).lines.map { |l| l.chomp.split("\t", -1) }
      head = table.shift
      table.sum { |r| r[head.index("location")] == "-e:1" ? r[head.index("peak_bytes")].to_i : 0 }
    end
    assert_equal 0, peak.call
    assert_in_delta 20_000_000, peak.call("dump_every:3600"), 400_000
  end
end
