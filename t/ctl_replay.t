#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# mwrapctl record, replay and trace, of recordings that are made up (t/lib/traces.rb).
require "etc"
require_relative "lib/tap"
require_relative "lib/patience"
require_relative "lib/runs_ctl"
require_relative "lib/traces"
require_relative "../lib/mwrap/ctl"
require_relative "../lib/mwrap/ctl/replay"
require "minitest/mock"

class CurveTest < Minitest::Test
  Curve = Mwrap::Ctl::Curve

  def test_peak_and_mean
    curve = Curve.new([[0, 10], [1, 30], [3, 30]])
    assert_equal [30, (20 + 60) / 3.0, 3], [curve.peak, curve.mean, curve.seconds]
    assert_equal [7, 7], [Curve.new([[2, 7]]).peak, Curve.new([[2, 7]]).mean]
    assert_equal [nil, nil], [Curve.new([]).peak, Curve.new([]).mean]
  end

  def test_processes_add_up_by_the_time_of_day
    a = Curve.new([[0, 10], [10, 20]])
    b = Curve.new([[0, 100], [2, 50]])
    sum = Curve.sum([a, b], [1000.0, 1005.0])
    assert_equal [[0, 10], [5, 10], [5, 110], [7, 60], [7, 10], [10, 20], [10, 0]], sum.points.map { |at, bytes| [at.round(3), bytes] }
    assert_equal 110, sum.peak
    stays = Curve.sum([a, Curve.new([[0, 100], [2, 50]], ended: false)], [1000.0, 1005.0])
    assert_equal [10.0, 70], stays.points.find { |at, _| at == 10 }
    assert_same a, Curve.sum([a], [5.0])
  end

  def test_thin_keeps_the_peak
    points = Array.new(1000) { |i| [i, i == 617 ? 5000 : i % 7] }
    thin = Curve.new(points).thin(100)
    assert_equal [100, 5000], [thin.size, thin.map(&:last).max]
    assert_equal points, Curve.new(points).thin(1000)
  end
end

class ReplaySettingsTest < Minitest::Test
  Settings = Mwrap::Ctl::ReplaySettings
  Usage = Mwrap::Ctl::Usage

  def names(given) = Settings.new(given).to_a.map(&:name)

  def refuse(given) = assert_raises(Usage) { Settings.new(given) }.message

  def test_what_is_played_by_default
    assert_equal ["glibc", "glibc MALLOC_ARENA_MAX=2", "jemalloc", "mimalloc", "tcmalloc"], names({})
    Mwrap::Allocators.stub(:installed, []) { assert_equal ["glibc", "glibc MALLOC_ARENA_MAX=2"], names({}) }
  end

  def test_the_matrix
    assert_equal ["glibc", "glibc MALLOC_ARENA_MAX=1", "glibc MALLOC_ARENA_MAX=4", "jemalloc", "jemalloc narenas:1", "jemalloc narenas:4", "mimalloc"],
                 names("malloc" => "glibc,jemalloc,mimalloc", "arena-max" => [1, 4])
    assert_equal ["glibc", "glibc MALLOC_ARENA_MAX=2"], names("arena-max" => [2])
    assert_equal ["jemalloc", "jemalloc MALLOC_CONF=narenas:2,dirty_decay_ms:0"], names("set" => ["MALLOC_CONF=narenas:2,dirty_decay_ms:0"])
    sets = ["MALLOC_TOP_PAD_=0,MALLOC_ARENA_MAX=1", "MIMALLOC_X=1", "OTHER=a,b"]
    assert_equal ["glibc", "glibc MALLOC_TOP_PAD_=0 MALLOC_ARENA_MAX=1", "glibc OTHER=a,b", "mimalloc", "mimalloc MIMALLOC_X=1", "mimalloc OTHER=a,b"],
                 names("malloc" => "glibc,mimalloc", "set" => sets)
    one = Settings.new("malloc" => "glibc", "set" => sets.first(1)).to_a[1]
    assert_equal [{ "MALLOC_TOP_PAD_" => "0", "MALLOC_ARENA_MAX" => "1" }, nil], [one.environment, one.library]
    assert_equal ["glibc", "glibc MALLOC_ARENA_MAX=2"], names("malloc" => "glibc,glibc", "arena-max" => [2, 2])
  end

  def test_refusals
    assert_match(/\A--malloc: "foo" is unknown: use glibc, jemalloc, mimalloc, tcmalloc or a library's path\z/, refuse("malloc" => "foo"))
    assert_match(/"" is unknown/, refuse("malloc" => "glibc,"))
    assert_equal '--malloc: "/nonexistent.so" is not there: name a library', refuse("malloc" => "/nonexistent.so")
    assert_match(/neither glibc nor jemalloc/, refuse("malloc" => "mimalloc", "arena-max" => [1]))
    assert_match(/is not a variable/, refuse("set" => ["x"]))
    assert_match(/MALLOC_CONF is for jemalloc: add it to --malloc/, refuse("malloc" => "glibc", "set" => ["MALLOC_CONF=a"]))
    assert_match(/belong to jemalloc and mimalloc/, refuse("set" => ["MALLOC_CONF=a,MIMALLOC_B=c"]))
    Mwrap::Allocators.stub(:installed, []) do
      assert_equal '--malloc: "jemalloc" is not installed: install it (Debian: libjemalloc2)', refuse("malloc" => "jemalloc")
    end
  end

  def test_a_machine_with_other_processors
    glibc, jemalloc = Settings.new("malloc" => "glibc,jemalloc").to_a
    here = Etc.nprocessors
    assert_nil glibc.variables(here)["MALLOC_ARENA_MAX"]
    assert_equal (8 * (here + 1)).to_s, glibc.variables(here + 1)["MALLOC_ARENA_MAX"]
    assert_equal "narenas:#{4 * (here + 1)}", jemalloc.variables(here + 1)["MALLOC_CONF"]
    assert_equal "2", Settings.new("arena-max" => [2]).to_a[1].variables(here + 1)["MALLOC_ARENA_MAX"]
  end

  def test_the_recorded_one
    recorded = ->(meta) { Settings.recorded(meta, "as recorded") }
    assert_nil recorded.call("allocator" => "glibc", "environment" => { "MALLOC_ARENA_MAX" => "2" }).problem
    assert_match(/is unknown: name it by --malloc/, recorded.call("allocator" => "").problem)
    Mwrap::Allocators.stub(:installed, []) { assert_match(/"jemalloc" is not installed/, recorded.call("allocator" => "jemalloc").problem) }
  end
end

class CtlReplayTest < Minitest::Test
  include RunsCtl
  include Traces
  include Patience

  # Two threads that take turns: each keeps some of its blocks, so that two arenas are worth less than one.
  def churn(rounds = 30, scale = 1)
    script do |s|
      kept = []
      rounds.times do |i|
        refs = Array.new(100) { |n| s.malloc((i + n) % 2, 3000 * scale) }
        kept.concat(refs.select.with_index { |_, n| n % 10 == 0 })
        (refs - kept).each_with_index { |r, n| s.call(n % 2, "free", r) }
        s.sample(heap: 100 * 3000 * scale, live: 300_000)
        s.later(10_000)
      end
    end
  end

  def test_the_table
    in_tmp do |dir|
      path = record("#{dir}/a.mwtrace", churn)
      run = ctl("replay", path, "--text")
      assert_written run
      table, lived = run.stdout.split("\nLive blocks were most ", 2)
      trust, empty, command, work, sentence, others, floor, _, head, *rows = table.lines(chomp: true)
      assert_match(/\AReplayed as it was recorded, the peak is \d+ % above the recorded 293 KB and the mean \d+ % above the recorded 293 KB\. That is more than/, trust)
      assert_equal ["", "ruby app.rb:"], [empty, command]
      assert_match(/\A5,\d{3} events of 2 threads, recorded in 0\.3\d? s\.\z/, work)
      assert_match(/\A(With .+ the same work would have peaked at .+ instead of |No other setting would have peaked at clearly less than )/, sentence)
      assert_match(/peaks of the others: /, others)
      assert_match(/\AThe live blocks alone peaked at \d+ KB\.\z/, floor)
      assert_match(/\ASETTING +PEAK +MEAN +CHANGE +CPU S\z/, head)
      assert_equal ["as recorded", "glibc", "glibc MALLOC_ARENA_MAX=2", "jemalloc", "mimalloc", "tcmalloc"], rows.map { |r| r[/\A\S+(?: [A-Za-z]\S+)?/] }
      assert_match(/ -  +\d/, rows[1], "nothing to compare it with but itself")
      # a round's 100 blocks, and 10 of each round before
      assert_match(/\A0\.\d+ s after the beginning, call by call: 1\.12 MB in 390 blocks\.\n +LIVE +SHARE +BLOCKS +LOCATION\n *1\.12 MB +100 % +\d+ +\(no location\)\n\z/, lived)
      assert(rows.drop(2).all? { |r| r.match?(/ [+-]\d+ %  +\d+\.\d\d\z/) }, rows.inspect)
    end
  end

  def test_forms_for_programs
    in_tmp do |dir|
      path = pack("#{dir}/a.packed", churn)
      rows = rows_of("replay", path, "--malloc", "glibc,jemalloc", "--arena-max", "1")
      assert_equal ["as recorded", "glibc", "glibc MALLOC_ARENA_MAX=1", "jemalloc", "jemalloc narenas:1"], rows.map { |r| r["setting"] }
      assert(rows.all? { |r| r["peak_rss_bytes"] > 100_000 && r["mean_rss_bytes"] <= r["peak_rss_bytes"] }, rows.inspect)
      json = json_of("replay", path, "--malloc", "glibc", "--arena-max", "1")
      assert_equal rows.first(3).map { |r| r.values_at("setting", "peak_rss_bytes", "mean_rss_bytes") }, json.map { |r| r.values_at("setting", "peak_rss_bytes", "mean_rss_bytes") },
                   "glibc has no chance in it"
      assert_equal [{}, {}, { "MALLOC_ARENA_MAX" => "1" }], json.map { |r| r["environment"] }
      assert(json.all? { |r| r["malloc"].start_with?("glibc ") && r["cpu_seconds"].positive? && r["failed_allocations"].zero? })
      assert_equal 30, json[0]["curve"].size
      assert_equal json[0]["peak_rss_bytes"], json[0]["curve"].map(&:last).max
      assert_equal 300_000, json[0]["recorded_peak_bytes"]
      assert_in_delta json[0]["peak_rss_bytes"] / 300_000.0 - 1, json[0]["peak_error"], 0.0001
      assert(json.drop(1).none? { |r| r.key?("peak_error") })
    end
  end

  # Two lines, of which one holds the most at the end, and the other one at the peak
  def test_what_lived_at_the_peak
    calls = script do |s|
      refs = Array.new(50) { |n| s.malloc(0, 1000).tap { s.later(1000) } }
      refs.each { |r| s.call(0, "free", r) }
      s.later(100_000)
      20.times { s.malloc(1, 2000) }
      s.sample(heap: 60_000, live: 50_000)
    end
    calls.define_singleton_method(:text) do |*given|
      stream = 0
      names = ["location 3 app.rb:3", "location 4 app.rb:4"].map { |l| "#{l}\n" }.join
      super(*given).lines.map { |l| stream = l[/\d+/].to_i if l.start_with?("stream"); l.sub(/\A(malloc \d+ \d+) 0/) { "#{$1} #{3 + stream}" } }.insert(1, names).join
    end
    in_tmp do |dir|
      path = record("#{dir}/a", calls)
      json = json_of("replay", path, "--malloc", "glibc")
      assert_equal({ "seconds" => 0.049, "bytes" => 50_000, "blocks" => 50, "locations" => [{ "location" => "app.rb:3", "bytes" => 50_000, "blocks" => 50 }] },
                   json[0]["live_peak"].tap { |peak| peak["seconds"] = peak["seconds"].round(3) })
      assert(json.drop(1).none? { |s| s.key?("live_peak") })
      one = record("#{dir}/b", calls, ended: { "reason" => "stop" })
      two = record("#{dir}/c", calls, meta: { "started" => Traces::META["started"] + 0.16 })
      sums = json_of("replay", one, two, "--malloc", "glibc")[0]["live_peak"]
      assert_equal [[["app.rb:3", 50_000], ["app.rb:4", 40_000]], 90_000], [sums["locations"].map { |l| l.values_at("location", "bytes") }, sums["bytes"]],
                   "the first one's second line lives while the second one is at its peak"
      assert_in_delta 0.209, sums["seconds"], 0.002
      html = "#{dir}/a.html"
      assert_written ctl("replay", path, "--malloc", "glibc", "-o", html)
      assert_match(%r{Live blocks were most .* after the beginning, call by call: 48\.8 KB in 50 blocks\..*<td class="location">app\.rb:3</td>}m, File.read(html))
    end
  end

  # The recorded variables are those of the first row, and of the one that others are compared with.
  def test_recorded_variables
    in_tmp do |dir|
      path = pack("#{dir}/a", churn, meta: { "environment" => { "MALLOC_ARENA_MAX" => "1" } })
      json = json_of("replay", path, "--malloc", "glibc")
      assert_equal ["as recorded", "glibc MALLOC_ARENA_MAX=1", "glibc"], json.map { |r| r["setting"] }
      assert_equal [{ "MALLOC_ARENA_MAX" => "1" }] * 2 + [{}], json.map { |r| r["environment"] }
      assert_equal ["", "", ], rows_of("replay", path, "--malloc", "glibc").first(2).map { |r| r["peak_change"] }
    end
  end

  def test_allocators_that_are_not_what_they_seem
    in_tmp do |dir|
      path = pack("#{dir}/a", churn, meta: { "allocator" => "" })
      run = ctl("replay", path, "--malloc", "glibc", "--text")
      assert_equal 1, run.status.exitstatus
      assert_match(/\AThe recorded setting could not be played \(its allocator is unknown/, run.stdout)
      assert_match(/\nWith glibc|\nglibc +\d/, run.stdout)
      assert_equal "mwrapctl: as recorded: its allocator is unknown: name it by --malloc\n", run.stderr
      run = ctl("replay", path, "--malloc", preload("hooks"), "--json")
      assert_equal 1, run.status.exitstatus
      assert_match(/^mwrapctl: hooks\.so: .*hooks\.so: isn't what serves: glibc/, run.stderr)
      assert_nil JSON.parse(run.stdout)[1]["peak_rss_bytes"]
      assert_match(/isn't what serves/, JSON.parse(run.stdout)[1]["error"])
    end
  end

  def test_several_processes_add_up
    in_tmp do |dir|
      start = Traces::META["started"]
      one = record("#{dir}/1", churn)
      two = record("#{dir}/2", churn, meta: { "started" => start + 100 })
      together = record("#{dir}/3", churn, meta: { "started" => start })
      alone, apart, at_once = [[one], [one, two], [one, together]].map { |files| json_of("replay", *files, "--malloc", "glibc")[1] }
      assert_equal alone["peak_rss_bytes"], apart["peak_rss_bytes"], "one after the other"
      assert_operator apart["mean_rss_bytes"], :<, alone["mean_rss_bytes"] / 10
      assert_in_delta 2 * alone["peak_rss_bytes"], at_once["peak_rss_bytes"], 8192
      assert_in_delta 2 * alone["mean_rss_bytes"], at_once["mean_rss_bytes"], 8192
      assert_match(/\n2 processes of ruby app\.rb:\n1\d,\d{3} events of 4 threads/, ctl("replay", one, two, "--malloc", "glibc", "--text").stdout)
    end
  end

  def test_what_a_recording_lacks
    in_tmp do |dir|
      path = record("#{dir}/a", churn, ended: nil)
      assert_match(/^The recording has no end: the process was killed, or the file was cut\.$/, ctl("replay", path, "--malloc", "glibc", "--text").stdout)
      lost = churn.tap { |s| s.call(0, "trim", 0) }
      text = lost.text.sub("stream 1\n", "lost 17\nstream 1\n")
      lost.define_singleton_method(:text) { |*| text }
      assert_match(/^17 events were lost while it was recorded\.$/, ctl("replay", record("#{dir}/b", lost), "--malloc", "glibc", "--text").stdout)
      bytes = File.binread(record("#{dir}/c", churn(300)))
      File.binwrite("#{dir}/c", bytes[0...-40])
      run = ctl("replay", "#{dir}/c", "--malloc", "glibc", "--text")
      assert_success run
      assert_match(/aren't a whole frame: they are left out\.$/, run.stdout)
    end
  end

  def test_refusals
    in_tmp do |dir|
      path = pack("#{dir}/a", churn)
      assert_refused ctl("replay"), /FILE\.\.\.: missing: see mwrapctl help replay|FILE: missing: see mwrapctl help replay/, 2
      assert_refused ctl("replay", path, "--malloc", "foo"), /--malloc: "foo" is unknown: .*/, 2
      assert_refused ctl("replay", "#{dir}/none"), "#{dir}/none: No such file or directory"
      assert_refused ctl("replay", dir), "#{dir}: is a directory: name a recording"
      assert_refused ctl("replay", __FILE__), /.*: not a recording/
      bytes = File.binread(path)
      File.binwrite("#{dir}/cut", bytes[0, bytes.size / 2])
      run = ctl("replay", "#{dir}/cut", "--malloc", "glibc")
      assert_equal 1, run.status.exitstatus
      assert_match(/\Amwrapctl: .*cut: .+\n/, run.stderr)
    end
  end

  # Ctrl-C ends the players, too, and leaves nothing behind.
  def test_interrupted
    in_tmp do |dir|
      path = record("#{dir}/a", churn.tap { |s| s.later(100_000_000) && s.malloc(0, 1) })
      Dir.mkdir("#{dir}/tmp")
      pid = Process.spawn({ "TMPDIR" => "#{dir}/tmp" }, RUBY, CTL, "replay", path, "--pace", out: "#{dir}/out", err: "#{dir}/err", in: File::NULL)
      children = eventually("two players") do
        found = File.read("/proc/#{pid}/task/#{pid}/children").split.select { |c| File.binread("/proc/#{c}/cmdline").include?("\0play\0") rescue false }
        found if found.size >= [2, Etc.nprocessors].min
      end
      refute_empty Dir.children("#{dir}/tmp")
      Process.kill(:INT, pid)
      assert_equal 130, Process.wait2(pid)[1].exitstatus
      assert_equal [[], ""], [children.select { |c| File.exist?("/proc/#{c}") }, File.read("#{dir}/err")]
      assert_empty Dir.children("#{dir}/tmp")
    end
  end

  def test_trace
    in_tmp do |dir|
      path = record("#{dir}/a", churn)
      text = ctl("trace", "text", path)
      assert_written text
      run = ctl("trace", "text", path, "-o", "#{dir}/text")
      assert_written run
      assert_equal [text.stdout, ""], [File.read("#{dir}/text"), run.stdout]
      assert_written ctl("trace", "pack", path, "-o", "#{dir}/packed")
      assert_equal true, JSON.parse(ctl("trace", "info", "#{dir}/packed").stdout)["packed"]
      assert_written ctl("trace", "heaptrack", path, "--output", "#{dir}/heaptrack")
      assert_refused ctl("trace", "pack", path), "--output: missing: name the file that pack makes", 2
      assert_refused ctl("trace", "svg", path), 'FORM: "svg" is unknown: use text, heaptrack, pack or info', 2
      assert_refused ctl("trace", "text", "#{dir}/none"), "#{dir}/none: No such file or directory"
      assert_refused ctl("trace", "text", __FILE__, "-o", "#{dir}/wrong"), /.*: not a recording/
      assert_refused ctl("trace", "text", path, "-o", "#{dir}/none/text"), "#{dir}/none/text: No such file or directory"
      assert_equal %w[a heaptrack packed text], Dir.children(dir).sort, "nothing else is left"
    end
  end

  # The options that it gives the tracker; COMMAND's options are its own.
  def test_record
    show = ["record", "-o", "a,%p.mwtrace", "--max-size", "2m", "--seconds=5", "--full", "drop", "--clock", "fine", RUBY, "-e", "print ENV['MWRAP']", "--", "-h"]
    in_tmp do |dir|
      run = ctl(*show, env: { "MWRAP" => "stacks:off,trace_path:/elsewhere" }, chdir: dir)
      assert_success run
      assert_equal "stacks:off,trace_path:#{dir}/a\\,%p.mwtrace,trace_max:2m,trace_seconds:5,trace_full:drop,trace_clock:fine", run.stdout
      assert_equal 1, Dir.glob("#{dir}/a,*.mwtrace").size
    end
    assert_refused ctl("record", "true"), "--output: missing: name the file, such as -o app.%p.mwtrace", 2
    assert_refused ctl("record", "-o", "x"), "COMMAND: missing: see mwrapctl help record", 2
    assert_match(/\Ausage: mwrapctl record COMMAND \[ARG\.\.\.\]/, ctl("record", "--help").stdout)
  end
end
