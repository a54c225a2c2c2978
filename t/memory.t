#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# When memory runs out: dumps that outlive their process (dump_every, dump_keep), and a ceiling
# for the tracker's own memory (memory_max). The traces of a real OOM kill are tried in a
# memory cgroup of its own.

require_relative "lib/allocators"
require_relative "lib/cgroup"
require_relative "lib/served"

module Snapshots
  # The periodic dumps there are, in the order of their names, without the hidden one.
  def snapshots(of = "dump0", pid: nil)
    Dir[path("#{of}#{".#{pid}" if pid}.*Z")].sort
  end

  # The dump in a file: the only part that it has. Anything but a whole one raises.
  def whole(file, format = "tsv")
    text = File.binread(file)
    assert_equal "\n", text[-1], "#{file} ends with its last line"
    parts = MwrapTest::Dump.public_send(format, text)
    assert_equal 1, parts.size, file
    parts[0]
  end

  # Waits until the newest dump has such a row.
  def eventually_dumped(what, of: "dump0", pid: nil, format: "tsv")
    eventually(what) do
      newest = snapshots(of, pid: pid).last
      rows = newest && begin
        whole(newest, format)
      rescue Errno::ENOENT # an old one, gone by now
        nil
      end
      rows if rows&.any? { |r| yield r }
    end
  end

  # LEAK's line keeps more than its garbage ever is: 16 MB between two collections.
  MOST = 20_000_000

  def hidden = Dir.children(@dir).grep(/\A\..*\.tmp\z/)
end

# line 2 leaks; line 3 allocates more, and lets it go
LEAK = <<~'RUBY'
  $kept = []
  def leak = $kept << ("l" * 20_000)
  def garbage = 20.times { "g" * 4_000 }
  $stdout.syswrite("ready\n")
  loop { leak; garbage; GC.start if $kept.size % 200 == 0; sleep 0.0005 }
RUBY

class TestOfDumpEvery < Minitest::Test
  include Snapshots

  def test_a_killed_leaking_program_leaves_a_whole_dump_that_names_the_line
    { "tsv" => 9, "json" => 9, "csv" => 9, "text" => nil }.each do |format, columns|
      @fakes.each { |f| f.kill }
      FileUtils.rm_f(Dir[path("dump*")])
      n = @fakes.size
      app = served_ruby(LEAK, options: ["dump_every:1"], format: format)
      assert_equal "ready", app.hear
      eventually_dumped(format, of: "dump#{n}", format: format) { |r| r.location.end_with?("/app.rb:2") && r.total >= MOST }
      app.kill(:KILL)
      rows = whole(snapshots("dump#{n}").last, format)
      # up to 3.2 Ruby may begin with 32 MB of malloc for young arrays
      most = rows.find { |row| row.location != "(ruby, starting)" }
      assert most.location.end_with?("/app.rb:2"), rows.first(3).inspect
      assert_operator rows.size, :>, 50
      assert_operator rows[0].live_bytes, :>=, 20_000 if columns
      assert_exact rows.select { |r| r.location.end_with?("/app.rb:2") } if columns
    end
  end

  def test_as_many_stay_as_were_asked_for_and_none_after_a_normal_exit
    app = served_ruby(LEAK, options: ["dump_every:1", "dump_keep:2"])
    seen = []
    eventually("five dumps") { (seen |= snapshots).size >= 5 }
    # one more for the moment between the new and the old
    10.times { assert_includes 1..3, snapshots.size }
    assert_equal seen.sort, seen, "each has a later name"
    # none is being written then: an exit doesn't wait for ever
    eventually("another one") { (snapshots - seen).any? }
    Process.kill(:TERM, app.pid)
    refute app.wait.success?
    assert_equal [], snapshots, "the exit dump says all of that"
    assert_equal 1, app.dumps.size
    assert_equal [], hidden
    assert_equal "", app.stderr.lines.grep(/mwrap/).join
  end

  def test_every_process_of_a_family_keeps_its_own
    script = <<~'RUBY'
      $kept = []
      pids = 2.times.map do |i|
        fork do
          (500 - 200 * i).times { $kept << "a" * 5000 }
          sleep
        end
      end
      100.times { $kept << "p" * 5002 }
      $stdout.syswrite("#{pids.join(" ")}\n")
      sleep
    RUBY
    app = served_ruby(script, options: ["dump_every:1"])
    a, b = app.hear.split.map(&:to_i)
    { a => [4, 500, 5000], b => [4, 300, 5000], app.pid => [8, 100, 5002] }.each do |pid, (line, n, size)|
      rows = eventually_dumped("#{pid} at line #{line}", pid: pid) do |r|
        r.location.end_with?("/app.rb:#{line}") && r.live_bytes >= n * size
      end
      row = rows.find { |r| r.location.end_with?("/app.rb:#{line}") }
      assert_operator row.live_bytes, :<, (n + 50) * size, "nobody else's"
    end
    [a, b, app.pid].each { |pid| Process.kill(:KILL, pid) }
    app.wait
    [a, b, app.pid].each { |pid| assert_includes 1..4, snapshots(pid: pid).size, pid }
  end

  def test_exit_bang_leaves_them
    app = served_ruby("$stdin.gets; exit!(3)\n", options: ["dump_every:1"])
    eventually("a dump") { snapshots.any? }
    app.tell("go")
    assert_equal 3, app.wait.exitstatus
    assert_includes 1..4, snapshots.size
    whole(snapshots.last)
  end

  # It is said once, the program goes on as it would, and so do the dumps when they can.
  def test_a_directory_that_is_gone_and_back
    Dir.mkdir(path("gone"))
    script = "$stdout.sync = true\nputs 'ready'\n(puts $_.upcase while $stdin.gets)\n"
    app = served_ruby(script, options: ["dump_every:1"], env: { "MWRAP" => [
      "socket:#{option_value(path)}", "dump_path:#{option_value(path("gone/d"))}", "dump_format:tsv", "dump_every:1"
    ].join(",") })
    assert_equal "ready", app.hear
    eventually("a dump") { Dir[path("gone/d.*Z")].any? }
    # a dump that comes meanwhile keeps it from going
    eventually("it is gone") { FileUtils.rm_rf(path("gone")) && !File.exist?(path("gone")) }
    eventually("a word on it") { app.stderr.include?("No such file") }
    assert_equal "HELLO", app.ask("hello")
    seen = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 2.5
    sleep 0.1 until Process.clock_gettime(Process::CLOCK_MONOTONIC) > seen
    Dir.mkdir(path("gone"))
    eventually("a dump again") { Dir[path("gone/d.*Z")].any? }
    whole(Dir[path("gone/d.*Z")].max)
    assert app.finish.success?
    assert_equal "mwrap: dump_every #{path("gone/d")}: No such file or directory\n", app.stderr
    assert_equal [], Dir[path("gone/d.*Z")]
    assert_equal 1, MwrapTest::Dump.tsv(File.binread(path("gone/d"))).size
  end

  def test_a_full_disk_in_the_middle
    in_tmp do |disk|
      system("mount", "-t", "tmpfs", "-o", "size=64k", "none", disk, err: File::NULL) or
        skip "no file system can be mounted here"
      File.write("#{disk}/filler", "x" * 49_152) # an early dump, of a few rows, doesn't fit either
      script = "$kept = 800.times.map { |i| eval(%(\#{'\n' * i}'x' * 5000)) }\nputs 'ready'\n$stdout.flush\n$stdin.gets\n"
      app = served_ruby(script, env: { "MWRAP" =>
        "socket:#{option_value(path)},dump_path:#{option_value("#{disk}/d")},dump_format:json,dump_every:1" })
      assert_equal "ready", app.hear
      eventually("a word on it") { app.stderr.include?("No space left") }
      assert_operator body("/each/0.json").bytesize, :>, 65_536
      assert_equal [], Dir.glob("#{disk}/*Z"), "no part of one"
      assert_equal 0, app.finish.exitstatus
      lines = app.stderr.lines.grep(/dump_every/)
      assert_equal ["mwrap: dump_every #{disk}/d: No space left on device\n"], lines
    ensure
      system("umount", "-l", disk, err: File::NULL)
    end
  end

  # Neither the program, nor its forks, nor its end wait for it; no child has the file open.
  def test_a_stuck_disk = stuck_disk(nil)

  # The same where the thread can't have descriptors of its own.
  def test_a_stuck_disk_with_an_old_kernel = stuck_disk("1")

  def stuck_disk(shared)
    File.write(path("stuck"), "")
    script = <<~'RUBY'
      $stdout.sync = true
      puts "ready"
      while (line = $stdin.gets&.chomp)
        case line
        when "fork"
          r, w = IO.pipe
          theirs = /\.#{$$}\..*tmp\z/ # a child that is slow has one of its own
          pid = fork { w.puts(Dir["/proc/self/fd/*"].filter_map { |f| File.readlink(f) rescue nil }.grep(theirs).size); exit!(0) }
          w.close
          puts r.read
          Process.wait(pid)
        when "child"
          $child = fork { sleep }
          puts $child
        when "open" then puts Dir["/proc/self/fd/*"].filter_map { |f| File.readlink(f) rescue nil }.grep(/\.#{$$}\..*tmp\z/).size
        else puts line.upcase
        end
      end
    RUBY
    app = served_ruby(script, options: ["dump_every:1"], env: {
      "LD_PRELOAD" => "#{MwrapTest::TRACKER} #{preload("stuck")}", "STUCK_WHILE" => path("stuck"), "STUCK_SAYS" => path("says"),
      "STUCK_SHARED" => shared
    })
    assert_equal "ready", app.hear
    eventually("it hangs") { File.exist?(path("says")) }
    assert_equal 1, hidden.size
    assert_equal "HELLO", app.ask("hello")
    3.times { assert_equal "0", app.ask("fork") }
    assert_equal shared ? "1" : "0", app.ask("open"), "nor has the program itself, if that can be"
    child = app.ask("child").to_i
    eventually("the child's hangs, too") { File.readlines(path("says")).size >= 2 }
    Process.kill(:KILL, child)
    assert_equal "WORLD", app.ask("world")
    assert app.finish.success?, "it ends while the disk still hangs"
    assert_equal "", app.stderr
    assert_equal [], snapshots
    assert_equal 1, app.dumps.size
  end

  def test_wrong_options_are_said_and_the_program_runs
    r = mwrap_run("echo", "x", options: "dump_every:5,dump_fd:1,dump_format:tsv")
    assert_equal "mwrap: dump_every: dump_path is missing: add dump_path:PATH\n", r.stderr
    assert r.stdout.start_with?("x\n")
    launched = run_command(MwrapTest::LAUNCHER, "echo", "x", env: { "MWRAP" => "dump_every:0,dump_path:/nowhere" })
    assert_equal ["mwrap: dump_every: \"0\" is not a number of seconds: write digits only, from 1 to 31536000\n", "", 2],
                 [launched.stderr, launched.stdout, launched.status.exitstatus]
  end
end

# A kill by the kernel, for want of memory, in a cgroup that allows 96 MiB.
class TestOfOom < Minitest::Test
  include Snapshots
  include MakesCgroups

  LIMIT = 96 << 20

  def test_a_real_oom_kill
    group = made = make_cgroup(LIMIT)
    skip "no memory cgroup can be made here: #{made}" if made.is_a?(String)
    # goes on to its end when a dump of much was seen
    script = LEAK.sub("$stdout.syswrite", "$stdin.gets; $stdout.syswrite")
                 .sub("leak; garbage;", "leak; garbage; $stdin.gets if $kept.size == #{MOST / 20_000 + 1};")
    app = served_ruby(script, options: ["dump_every:1", "dump_keep:3"])
    File.write(group.procs, app.pid.to_s)
    app.tell("go")
    assert_equal "ready", app.hear
    eventually_dumped("much") { |r| r.location.end_with?("/app.rb:2") && r.total >= MOST }
    app.tell("on")
    status = app.wait
    assert_equal 9, status&.termsig, "the kernel killed it"
    assert_operator group.kills, :>=, 1, "for want of memory"
    rows = whole(snapshots.last)
    assert rows[0].location.end_with?("/app.rb:2"), rows.first(3).inspect
    assert_operator rows[0].live_bytes, :>, 1 << 20
    assert_includes 1..4, snapshots.size
    assert_equal [], app.dumps, "there was no exit"
  ensure
    app&.kill
    remove_cgroup(group)
  end
end

class TestOfMemoryMax < Minitest::Test
  include Snapshots

  LEAST = 2 << 20 # a smaller ceiling is this one

  # 100,000 lines, each of which keeps a block; then a million blocks at one line.
  # malloc has the kept strings on every Ruby: from 4.1 on, strings of up to a kilobyte are in Ruby's heap.
  APP = <<~'RUBY'
    require "mwrap"
    require "fiddle"
    $stdout.sync = true
    kept = []
    sum = 0
    200.times do |f|
      code = Array.new(500) { |i| "kept << 'x' * (1500 + #{i % 7})\n" }.join
      eval(code, binding, "/made/up/file#{f}.rb")
    end
    blocks = Array.new(1_000_000) { |i| Fiddle.malloc(50) }
    sum = kept.sum(&:size)
    puts "sum #{sum} #{kept.size} #{blocks.size}"
    while (line = $stdin.gets)
      case line.chomp
      when "drop" then kept.clear; blocks.each { |b| Fiddle.free(b) }; GC.start; puts "dropped"
      when "more" then blocks = Array.new(1000) { |i| Fiddle.malloc(60) }; puts "more"
      else puts line
      end
    end
  RUBY

  def ceilings(given, effective)
    app = served_ruby(APP, options: ["memory_max:#{given}"], format: "json")
    native = run_command(MwrapTest::RUBY, "--disable=gems", "-I#{MwrapTest::LIB}", path("app.rb"))
    assert_equal native.stdout, "#{app.hear}\n", "the program computes the same"
    s = stats
    assert_equal effective, s["memory_max"]
    assert_operator s["tracker_bytes"], :<=, effective
    yield app, s
    # every page works
    rows = tsv
    assert_operator rows.size, :>, 100
    assert_sound rows
    rows.each { |r| assert_equal r.allocations, r.frees + r.live, r.inspect }
    assert_equal s["total"], s["freed"] + s["live_bytes"]
    assert_equal s["allocations"], s["frees"] + s["live"]
    page = body("/each/0?limit=5").dup.force_encoding("UTF-8")
    assert_includes page, "The tracker’s memory is at the ceiling that memory_max sets."
    assert_equal 200, get("/at/#{escape(rows.max_by(&:live).location)}.tsv").status
    # frees of what is recorded are counted, and their records used again
    live = stats["live"]
    assert_equal "dropped", app.ask("drop")
    assert_operator stats["live"], :<, live / 2
    assert_equal "more", app.ask("more")
    assert_operator stats["tracker_bytes"], :<=, effective
    assert_equal 200, post("/reset").status
    assert_equal 0, stats["total"] if stats["allocations"].zero?
    assert_operator tsv.sum(&:allocations), :<, 10_000, "a reset reaches every location"
    assert_ends_well app
    assert_equal 1, app.dumps("json").size
  end

  def test_a_small_one
    ceilings("4m", 4 << 20) do |_, s|
      assert s["locations_full"], s.inspect
      assert s["records_full"], s.inspect
      assert_operator s["lost"], :>, 500_000
      assert_operator s["live"], :>, 60_000
      other = tsv.find { |r| r.location == "(other)" }
      assert_operator other.allocations, :>, 1000
      assert_includes body("/").force_encoding("UTF-8"), "no room for some locations"
    end
  end

  def test_one_that_is_smaller_than_can_be
    ceilings("100k", LEAST) do |_, s|
      assert s["records_full"], s.inspect
      assert_operator s["lost"], :>, 800_000
    end
  end

  # On allocators with size classes these blocks have no tail, and no memory is left for what would lead to them.
  FILLING = <<~'RUBY'
    require "fiddle"
    room = Fiddle::Function.new(Fiddle::Handle::DEFAULT["malloc_usable_size"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_SIZE_T)
    short = [512, 1024, 4096].sum do |n|
      blocks = Array.new(1000) { Fiddle.malloc(n) }
      blocks.count { |b| room.call(b) < n }.tap { blocks.each { |b| Fiddle.free(b) } }
    end
    $stdout.syswrite("#{short}\n")
    $stdin.gets
  RUBY

  def test_none_for_blocks_without_a_tail
    Allocators.each do |name, file, package|
      assert file, "#{package} is not installed"
      app = served_ruby(FILLING, options: ["memory_max:1m"], env: { "LD_PRELOAD" => [TRACKER, file].join(":") })
      assert_equal "0", app.hear, "on #{name}: blocks with less room than was asked for"
      s = stats
      assert_operator s["lost"], :>, 3000, name
      assert_equal [0, 0], s.values_at("double_frees", "unknown_frees"), name
      assert app.finish.success?
    end
  end

  def test_one_that_suffices_takes_nothing_away
    app = served_ruby(APP.sub("200.times", "10.times").sub("1_000_000", "10_000"), options: ["memory_max:64m"])
    assert_match(/\Asum \d+ 5000 10000\z/, app.hear)
    s = stats
    assert_equal [false, false, false, 0], s.values_at("locations_full", "records_full", "threads_full", "lost")
    assert_operator tsv.count { |r| r.location.start_with?("/made/up/") }, :>=, 5000
    refute_includes body("/").force_encoding("UTF-8"), "ceiling"
    assert app.finish.success?
  end

  # Lines that nothing is left of make room for new ones, long before the table itself is full:
  # 3 MB end before half of its 131,072 locations have come, where a sweep would begin anyway.
  def old_lines_make_room(path, least)
    script = <<~RUBY
      $stdout.sync = true
      require "mwrap"
      i = 0
      # a full table is swept five times a second at most: however fast this is
      until Mwrap.stats.fetch(:retired) > #{least} || i == 4_000_000
        1000.times { eval("'x' * 1500\n", binding, #{path}, i % 50 + 1); i += 1 }
      end
      puts "ready"
      $stdin.gets
    RUBY
    app = served_ruby(script, options: ["memory_max:3m"])
    assert_equal "ready", app.hear
    s = stats
    assert_operator s["tracker_bytes"], :<=, 3 << 20
    assert app.finish.success?
    assert_operator s["retired"], :>, least
    s["locations"]
  end

  # Memory ends at a chunk of locations, or at a text: which of them comes first is by chance.
  def test_old_lines_make_room
    assert_operator old_lines_make_room(%q("/gone/#{i / 50}.rb"), 5000), :<, 65_536
  end

  # Each in a file of its own: memory ends at the paths, with few locations.
  def test_old_files_make_room = old_lines_make_room(%q("/gone/#{"x" * 300}#{i}.rb"), 1000)

  # A thread without memory for its own counters counts all the same. None keeps its strings: else
  # there is no memory for their records, where Ruby itself has many blocks.
  def test_more_threads_than_there_is_room_for
    script = <<~'RUBY'
      require "mwrap"
      $stdout.sync = true
      before = Mwrap.stats
      done = Queue.new
      go = Queue.new # none ends before all have allocated: another would take over what it had
      threads = 600.times.map { Thread.new { 50.times { ("t" * 1500).clear }; done << 1; go.pop } }
      600.times { done.pop }
      600.times { go << 1 }
      threads.each(&:join)
      s = Mwrap.stats
      puts [s[:threads_full], s[:tracker_bytes] <= s[:memory_max], s[:memory_max],
            s[:allocations] - before[:allocations] >= 30_000].inspect
      $stdin.gets
    RUBY
    app = served_ruby(script, options: ["memory_max:1"])
    assert_equal [true, true, LEAST, true].inspect, app.hear
    rows = tsv
    assert_sound rows
    assert_includes body("/").force_encoding("UTF-8"), "no room for some threads"
    assert app.finish.success?
  end
end
