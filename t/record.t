#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Recordings: every call is in the file, once, under each allocator; whatever ends the process, the disk, or the
# recording; by option, over HTTP, and in a Rack app. Files that are made up: t/replay.t.
require_relative "lib/allocators"
require_relative "lib/ptrace"
require_relative "lib/racked"

class RecordTest < Minitest::Test
  include HttpdTest
  include Racked

  REPLAY = File.join(MwrapTest::ROOT, "lib/mwrap/mwrap-replay")
  Event = Struct.new(:seconds, :call, :block, :size, :extra, :location)

  def replay(*args)
    run = run_command(REPLAY, *args)
    assert_success run
    assert_empty run.stderr
    run.stdout
  end

  def info(file) = JSON.parse(replay("info", file))

  def events(file)
    header, *lines = replay("text", file).lines(chomp: true)
    names = header.delete_prefix("# ").split("\t").map(&:to_sym)
    lines.map do |l|
      h = names.zip(l.split("\t")).to_h
      Event.new(h[:seconds].to_f, h[:call], h[:block], h[:size].to_i, h[:extra], h[:location])
    end
  end

  # The file that the command recorded.
  def record(*cmd, options: "", env: {}, file: path("a.mwtrace"), **rest)
    run = run_command(*cmd, env: { "LD_PRELOAD" => MwrapTest::TRACKER, "MWRAP" => "trace_path:#{file}#{options}" }.merge(env), **rest)
    assert_success run
    assert_empty run.stderr
    file
  end

  # In packed form nothing is left to be guessed: the order of all calls was known.
  def packed(file)
    to = "#{file}.packed"
    replay("pack", file, "-o", to)
    what = info(to)
    sums = what.dig("meta", "packed") || what.fetch("packed")
    assert_equal [0, 0, 0], %w[lost unknown ended].map { |k| sums.fetch(k) }, file
    to
  end

  def each_allocator
    yield "glibc", nil
    Allocators.each { |name, library, package| library ? yield(name, library) : flunk("#{name} isn't installed: #{package}") }
  end

  # 8 threads hand blocks on; the dump is the witness of how many each function allocated.
  def test_every_call_of_threads_is_there
    each_allocator do |name, library|
      %w[coarse fine].each do |clock|
        file, dump = path("#{name}.#{clock}"), path("#{name}.#{clock}.tsv")
        record(program("ring"), "4000", file: file, options: ",trace_clock:#{clock},dump_path:#{dump},dump_format:tsv",
                                        env: { "LD_PRELOAD" => [MwrapTest::TRACKER, library].compact.join(":") })
        assert_equal [name, clock, true], info(file)["meta"].values_at("allocator", "clock", "from_start")
        births = events(clock == "fine" ? packed(file) : file).select { |e| %w[malloc calloc realloc].include?(e.call) }.group_by(&:location)
        rows = MwrapTest::Dump.tsv(File.binread(dump)).flatten.select { |r| r.location.match?(/\((make|regrow)\d/) }
        assert_equal 16, rows.size
        rows.each do |r|
          assert_equal [r.allocations, r.total], [births.fetch(r.location).size, births[r.location].sum(&:size)], "#{name}, #{clock}: #{r.location}"
        end
      end
    end
  end

  # Each function, by sizes that nobody else asks for.
  FUNCTIONS = <<~'RUBY'
    require "fiddle"
    def function(name, *types, ret) = Fiddle::Function.new(Fiddle::Handle::DEFAULT[name], types, ret)
    P, N, I = Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_INT
    free = function("free", P, Fiddle::TYPE_VOID)
    realloc = function("realloc", P, N, P)
    a = function("malloc", N, P).call(70_001)
    a = realloc.call(a, 70_002)
    a = realloc.call(a, 900_003)
    b = function("calloc", N, N, P).call(1, 70_004)
    c = function("aligned_alloc", N, N, P).call(8192, 81_920)
    function("malloc_trim", N, I).call(12_345)
    [b, c].each { |p| free.call(p) }
    d = function("malloc", N, P).call(3_000_006)
    Fiddle::Pointer.new(d.to_i)[0, 100_000] = "x" * 100_000
    free.call(a)
    free.call(d)
    e = function("malloc", N, P).call(5_000_007)
  RUBY

  def test_each_function_is_told_apart
    File.write(path("f.rb"), FUNCTIONS)
    all = events(record(MwrapTest::RUBY, "--disable=gems", path("f.rb")))
    births = [70_001, 70_002, 900_003, 70_004, 81_920, 3_000_006, 5_000_007].to_h { |size| [size, all.select { |e| e.size == size }] }
    assert_equal %w[malloc realloc realloc calloc aligned malloc malloc], births.map { |size, found| found.size == 1 ? found[0].call : "#{size}: #{found}" }
    a, moved, large, b, c, d, last = births.values.map(&:first)
    assert_equal a.block, moved.extra
    assert_equal moved.block, large.extra
    assert_equal "8192", c.extra
    assert(births.values.all? { |(e)| e.location.start_with?("#{path("f.rb")}:") }, births.inspect)
    assert_equal ["12345"], all.select { |e| e.call == "trim" }.map(&:extra)
    gone = ->(e) { all.drop(all.index(e) + 1).find { |x| x.block == e.block && x.call.start_with?("free", "resident") } }
    assert_equal %w[free free], [b, c].map { |e| gone.call(e).call }
    assert_equal "free_large", gone.call(d).call
    assert_includes 25..27, gone.call(d).extra.to_i # 100,000 of its 3,000,006 bytes were written to, and the tail
    assert_equal "resident", gone.call(last).call # it lives as the recording ends
    assert_operator gone.call(last).extra.to_i, :<=, 2
  end

  def test_a_killed_process_leaves_a_readable_file
    6.times do |i|
      app = ::Process.spawn({ "LD_PRELOAD" => MwrapTest::TRACKER, "MWRAP" => "trace_path:#{path("k#{i}")}" }, MwrapTest::RUBY, "--disable=gems",
                          "-e", "Array.new(3) { Thread.new { loop { 'x' * (100 + rand(5000)) } } }.each(&:join)", err: File::NULL)
      eventually("events in the file") { File.exist?(path("k#{i}")) && File.size(path("k#{i}")) > 100_000 }
      sleep rand * 0.3
      ::Process.kill(:KILL, app)
      ::Process.wait(app)
      run = run_command(REPLAY, "info", path("k#{i}"))
      assert_success run
      what = JSON.parse(run.stdout)
      assert_nil what["end"]
      assert_operator what["events"], :>, 10_000
      assert_success run_command(REPLAY, "pack", path("k#{i}"), "-o", path("p#{i}"))
    end
  end

  # The file's size limit stands for a full disk: write(2) fails, and the app goes on.
  def test_a_full_disk
    run = run_command(MwrapTest::RUBY, "--disable=gems", "-e", "200_000.times { |i| 'x' * (100 + i * 7919 % 5000) }; sleep 0.4; puts :done",
                      env: { "LD_PRELOAD" => MwrapTest::TRACKER, "MWRAP" => "trace_path:#{path("full")}" }, rlimit_fsize: 100_000)
    assert_success run
    assert_equal "done\n", run.stdout
    assert_equal "mwrap: trace_path: #{path("full")}: the file ends here: File too large\n", run.stderr
    assert_operator File.size(path("full")), :<=, 100_000
    what = info(path("full"))
    assert_equal [nil, 0], what.values_at("end", "bytes_cut")
    assert_operator what["events"], :>, 1000
  end

  # A disk that doesn't answer: the recorder's thread is stopped in its place. The app goes on, and calls are
  # dropped and counted.
  def stand_still(full)
    app = served_ruby(LOOP, at: path(full), options: ["objects:off"]) # else a thread more may come
    assert_equal "ready", app.hear
    before = Dir.children("/proc/#{app.pid}/task")
    assert_equal 200, post("/trace/start?path=#{path("#{full}.mwtrace")}&full=#{full}", at: path(full)).status
    # the server has a thread of its own for the answer, which ends
    recorder = eventually("one thread more") { thread_besides(before, app.pid) }
    assert_equal 0, Ptrace.seize(recorder)
    assert Ptrace.stop(recorder)
    begin
      assert_equal "done", app.ask('1_500_000.times { "x" * 1_000 }; GC.start')
      assert_operator state(at: path(full))["lost"], :>, 100_000
      yield app
    ensure
      Ptrace.detach(recorder)
    end
    app
  end

  def assert_lost(file, lost)
    run = run_command(REPLAY, "info", file)
    what = JSON.parse(run.stdout)
    assert_equal [lost, lost], [what["lost"], what.dig("end", "lost")]
    assert_operator what["events"] + lost, :>=, 3_000_000
    run = run_command(REPLAY, "text", file)
    assert_equal "mwrap-replay: #{file}: #{lost} events were lost as they were recorded\n", run.stderr
    run.stdout
  end

  def test_a_disk_that_stands_still
    %w[wait drop].each do |full|
      app = stand_still(full) { nil }
      eventually("free buffers") do
        lost = state(at: path(full))["lost"]
        app.ask('100.times { "x" * 70_030 }') == "done" && state(at: path(full))["lost"] == lost
      end
      # later calls are recorded, to the last one
      assert_equal "done", app.ask('200.times { "x" * 70_023 }')
      stopped = JSON.parse(post("/trace/stop", { "Accept" => "application/json" }, at: path(full)).body)
      text = assert_lost(path("#{full}.mwtrace"), stopped["lost"])
      assert_equal 200, text.scan(/\tmalloc\t\d+\t70024\t/).size, full
      app.finish
    end
  end

  def test_an_end_on_a_disk_that_stands_still
    stand_still("drop") do
      res = post("/trace/stop", at: path("drop"))
      assert_equal [503, "the recording ends, but its file isn't complete yet: ask /trace.json\n"], [res.status, res.body]
      assert state(at: path("drop"))["recording"]
    end
    ended = eventually("the end") { state(at: path("drop")).then { |s| s unless s["recording"] } }
    assert_equal ["stop", nil], ended.values_at("reason", "why")
    assert_lost(path("drop.mwtrace"), ended["lost"])
  end

  def test_limits_end_a_recording
    busy = "80.times { 4000.times { |i| 'x' * (100 + i * 7919 % 5000) }; sleep 0.02 }"
    what = info(record(MwrapTest::RUBY, "--disable=gems", "-e", busy, options: ",trace_max:200k"))
    assert_equal "size", what.dig("end", "reason")
    assert_operator what["bytes"], :<, 500 << 10
    what = info(record(MwrapTest::RUBY, "--disable=gems", "-e", busy, options: ",trace_seconds:1", file: path("b.mwtrace")))
    assert_equal "seconds", what.dig("end", "reason")
    assert_in_delta 1, what["seconds"], 0.9
  end

  # --- processes ------------------------------------------------------------------------

  def test_forked_children_have_files_of_their_own
    script = <<~'RUBY'
      kept = Array.new(500) { "k" * 70_011 }
      pids = Array.new(12) do |n|
        fork do
          sleep(n.even? ? 0.01 : 0.6)
          300.times { "c" * 70_012 }
          sleep 0.4 if n.odd?
        end
      end
      300.times { "p" * 70_013 }
      p pids
      pids.each { |pid| Process.wait(pid) }
    RUBY
    run = run_command(MwrapTest::RUBY, "--disable=gems", "-e", script, env: { "LD_PRELOAD" => MwrapTest::TRACKER, "MWRAP" => "trace_path:#{path("f.%p")}" })
    assert_success run
    assert_empty run.stderr
    pids = JSON.parse(run.stdout)
    count = ->(file, call, size) { events(file).count { |e| e.call == call && e.size == size + 1 } }
    assert_equal [500, 0, 300], [70_011, 70_012, 70_013].map { |n| count.call(path("f.#{run.status.pid}"), "malloc", n) }
    pids.each_with_index do |pid, n|
      next if n.even? # some of these ended before there was a file
      assert_equal [500, 300], [count.call(path("f.#{pid}"), "live", 70_011), count.call(path("f.#{pid}"), "malloc", 70_012)]
      assert_equal [false, "exit"], [info(path("f.#{pid}")).dig("meta", "from_start"), info(path("f.#{pid}")).dig("end", "reason")]
    end
  end

  def test_nothing_is_overwritten
    file = path("there")
    File.write(file, "mine")
    record("sh", "-c", "exec #{MwrapTest::RUBY} --disable=gems -e '300.times { \"x\" * 70_014 }; sleep 0.3'", file: file)
    assert_equal "mine", File.read(file)
    assert_operator events("#{file}.#{Dir["#{file}.*"].size + 1}").count { |e| e.size == 70_015 }, :>=, 300
  end

  # --- over HTTP --------------------------------------------------------------------------

  LOOP = <<~'RUBY'
    $stdout.sync = true
    KEPT = Array.new(100) { "k" * 70_021 }
    puts "ready"
    while (line = $stdin.gets)
      eval(line)
      puts "done"
    end
  RUBY

  def state(at: path) = JSON.parse(body("/trace.json", at: at))

  def test_over_http
    each_allocator do |name, library|
      socket = path(name)
      app = served_ruby(LOOP, env: { "LD_PRELOAD" => [MwrapTest::TRACKER, library].compact.join(":") }, at: socket)
      assert_equal "ready", app.hear
      assert_equal [false, nil, 0], state(at: socket).values_at("recording", "path", "events")
      assert_equal 409, post("/trace/stop", at: socket).status
      file = path("#{name}.1")
      assert_equal "trace/start: recording into #{file}\n", post("/trace/start?path=#{file}", at: socket).body
      assert_equal "a recording is under way already: stop it first\n", post("/trace/start", at: socket).body
      assert_equal "done", app.ask('200.times { "x" * 70_022 }')
      assert state(at: socket)["recording"]
      stopped = JSON.parse(post("/trace/stop", { "Accept" => "application/json" }, at: socket).body)
      assert_equal [false, file, "stop", nil], stopped.values_at("recording", "path", "reason", "why")
      assert_equal "done", app.ask('200.times { "x" * 70_023 }')
      sizes = events(file).group_by(&:call).transform_values { |all| all.map(&:size).tally }
      assert_equal [100, 200], [sizes["live"][70_022], sizes["malloc"][70_023]], name
      assert_nil sizes["malloc"][70_024], "#{name}: nothing is recorded after the end"
      packed(file)
      # and once more
      assert_equal 200, post("/trace/start?path=#{file}&seconds=100&max=1g&full=drop&clock=fine", at: socket).status
      assert_equal "done", app.ask('50.times { "x" * 70_024 }')
      assert_equal 200, post("/trace/stop", at: socket).status
      assert_equal 50, events("#{file}.2").count { |e| e.size == 70_025 && e.call == "malloc" }
      app.finish
    end
  end

  def test_what_is_refused
    app = served_ruby(LOOP, options: "listen:127.0.0.1:0")
    assert_equal "ready", app.hear
    res = post("/trace/start", at: port_of(app).to_i)
    assert_equal [403, "trace/start: it can fill a disk, so over TCP it needs token_file: ask the Unix socket\n"], [res.status, res.body]
    { "path=relative" => "path: must begin with /", "seconds=0" => "trace_seconds: \"0\" is not a number of seconds: write digits only, from 1 to 31536000",
      "max=x" => "trace_max: \"x\" is not a number of bytes: write digits, then k, m, g or nothing", "full=stop" => "trace_full: \"stop\" is unknown: use wait or drop",
      "clock=now" => "trace_clock: \"now\" is unknown: use coarse or fine" }.each do |query, why|
      res = post("/trace/start?#{query}")
      assert_equal [400, "#{why}\n"], [res.status, res.body]
    end
    res = post("/trace/start?path=#{path}/none/x")
    assert_equal [409, "#{path}/none/x: can't be made: Not a directory\n"], [res.status, res.body]
    refute state["recording"]
  end

  # By TCP with a token: no path, and a limit unless one is given.
  def test_over_tcp_with_a_token
    File.write(path("token"), "0123456789abcdef\n", perm: 0o600)
    app = served_ruby(LOOP, options: "listen:127.0.0.1:0,token_file:#{path("token")}", env: { "TMPDIR" => @dir })
    assert_equal "ready", app.hear
    bearer = { "Authorization" => "Bearer 0123456789abcdef" }
    ask = ->(target) { request("POST", target, bearer, at: port_of(app).to_i) }
    assert_equal [403, "path: not over TCP: leave it out, and the tracker names the file\n"], ask.call("/trace/start?path=/tmp/x").then { |r| [r.status, r.body] }
    res = ask.call("/trace/start")
    assert_equal 200, res.status, res.body
    made = res.body[/into (.*)/, 1]
    assert_equal 0o600, File.stat(made).mode & 0o777
    assert_equal 200, ask.call("/trace/stop").status
    File.delete(made)
  end

  def test_in_a_rack_app
    [true, false].each do |server|
      app = racked(authorize: "->(_) { true }", options: server ? "socket:#{path}" : "")
      file = path("rack.#{server}")
      # posts need the header of a form of ours, or none of a browser's
      res = app.post("/trace/start?path=#{file}")
      assert_equal [200, "trace/start: recording into #{file}\n"], [res.status, res.body]
      app.eval('200.times { "x" * 70_031 }; nil')
      assert JSON.parse(app.get("/trace.json").body)["recording"]
      assert_equal 200, app.post("/trace/stop").status
      assert_equal 200, events(file).count { |e| e.size == 70_032 && e.call == "malloc" }
      app.finish
    end
    res = racked(authorize: "->(_) { true }", tracker: false).post("/trace/start")
    assert_equal 503, res.status, res.body
  end

  def test_read_only
    app = served_ruby(LOOP, options: "read_only:1")
    assert_equal "ready", app.hear
    assert_equal [403, 200], [post("/trace/start").status, get("/trace.json").status]
  end
end
