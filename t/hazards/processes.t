#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Hazards of a process's life: its title, its becoming a daemon, another root, another
# user, stopped and continued, forked with many threads.

require_relative "../lib/hazard"
require_relative "../lib/served"

class ProcessHazards < Minitest::Test
  KEEP = <<~'RUBY'
    def keep(n) = Array.new(n) {
      "k" * 5000 # keeps 200 of 5000
    }
  RUBY

  # --- libmicrohttpd's panics -------------------------------------------------------

  # Each way to have them, before the server is there and beside it: ends as natively.
  def test_an_application_with_libmicrohttpd_of_its_own
    { "default" => "signal 6", "early" => "exit 7", "late" => "exit 7" }.each do |how, ends|
      native = once(program("own_mhd"), how, tracked: false)
      assert_equal [ends, how == "default" ? "asked\n" : "asked\npanic: its own word, daemon.c, a reason\n"], native.visible[0, 2]
      assert_match(/\AFatal error in GNU libmicrohttpd \S+:\d+: [^\n]+\n+\z/, native.stderr) if how == "default"
      served = once(program("own_mhd"), how, "%DIR%/own/s", tracked: true, options: ->(dir) { "socket:#{dir}/s" }, timeout: 60)
      assert_equal native.visible, served.visible, how
      assert_empty served.said
      assert_equal native.visible, once(program("own_mhd"), how, tracked: true).visible, "#{how}, no server"
    end
  end

  # --- the title ------------------------------------------------------------------

  def test_setproctitle_overwrites_the_environment
    %w[copy none].each do |how|
      tracked = twice(program("title"), how, "x" * 1000)
      assert_equal 2, tracked.dumps.size
      assert_adds_up tracked
    end
  end

  def test_setproctitle_and_env_in_ruby
    tracked = twice_ruby(<<~RUBY)
      #{KEEP}
      $0 = "a title " * 1000
      Process.setproctitle("another" * 2000)
      $kept = keep(200)
      ENV["MWRAP"] = "dump_path:/nonexistent/dump"
      ENV.each_key { |k| ENV[k] = "x" * 3000 unless k =~ /MWRAP|DIR/ }
      Process.wait(fork { "c" * 5000 })
      ENV.clear
      puts $0.size, File.read("/proc/self/cmdline")[0, 7]
    RUBY
    assert_equal 2, tracked.dumps.size
    assert_kept "#{KEEP}", tracked.dumps.fetch((tracked.dumps.keys - [tracked.pid])[0])
  end

  # --- daemons --------------------------------------------------------------------

  # The pipe's end comes with the daemon's own.
  DAEMON = <<~RUBY
    #{KEEP}
    r, w = IO.pipe
    pid = fork do
      r.close
      w.autoclose = false
      Process.setsid
      exit!(0) if fork
      Dir.chdir("/")
      File.umask(0)
      [$stdin, $stdout, $stderr].each { |io| io.reopen(File::NULL, "r+") }
      $kept = keep(200)
      w.syswrite("\#{Process.getpgrp != Process.pid} \#{Dir.pwd}\\n# daemon \#{Process.pid}\\n")
      Signal.trap("HUP", "IGNORE")
      Process.kill(:HUP, Process.pid)
      GC.start
    end
    w.close
    Process.wait(pid)
    puts $?.exitstatus, r.read
  RUBY

  def test_daemonising_by_hand
    tracked = twice_ruby(DAEMON, counts: false)
    daemon = Integer(tracked.stdout[/# daemon (\d+)/, 1])
    assert_equal [tracked.pid, daemon].sort, tracked.dumps.keys.sort
    assert_kept DAEMON, tracked.dumps[daemon]
  end

  def test_process_daemon
    script = <<~RUBY
      #{KEEP}
      r, w = IO.pipe
      if fork
        w.close
        puts r.read
      else
        r.close
        w.autoclose = false
        Process.daemon
        $kept = keep(200)
        w.syswrite("daemon at \#{Dir.pwd}\\n# daemon \#{Process.pid}\\n")
      end
    RUBY
    tracked = twice_ruby(script, counts: false)
    assert_kept script, tracked.dumps.fetch(Integer(tracked.stdout[/# daemon (\d+)/, 1]))
  end

  # --- all descriptors closed --------------------------------------------------------

  def test_all_descriptors_from_3_up_closed
    %w[loop range over].each do |how|
      assert_adds_up twice(program("closer"), how, "0")
      tracked = once(program("closer"), how, "0", "%DIR%/own/s", tracked: true, options: ->(d) { "socket:#{d}/s" })
      assert_equal ["exit 0", "", 4], [tracked.ending, *other_words(tracked), tracked.stdout.scan(/^ok /).size], tracked.stdout
      assert_expected tracked
      assert_adds_up tracked
    end
  end

  def test_all_descriptors_closed_in_a_forked_child_of_a_server
    tracked = once(program("closer"), "fork", "0", "%DIR%/own/s", tracked: true, options: ->(d) { "socket:#{d}/s" })
    assert_equal ["exit 0", ""], [tracked.ending, *other_words(tracked)], tracked.stdout
    refute_includes tracked.stdout, "NOT OK"
    assert_equal 2, tracked.dumps.size
    assert_expected tracked
  end

  # Linux says EBUSY while another thread opens a file at the number: the server's does for microseconds.
  def test_dup2_to_a_number_that_is_being_opened
    native = once(program("busy_number"), "%DIR%/fifo", tracked: false)
    assert_equal ["NOT OK dup2 gives Device or resource busy", "NOT OK dup3 gives Device or resource busy"], native.stdout.scan(/^NOT OK .*/)
    tracked = once(program("busy_number"), "%DIR%/fifo", tracked: true)
    assert_equal ["exit 0", "", 9], [tracked.ending, *other_words(tracked), tracked.stdout.scan(/^ok /).size], tracked.stdout
  end

  # The server's thread is just then loading, binding, or asleep.
  def test_all_descriptors_closed_while_the_server_starts
    (90..125).step(5) do |ms|
      tracked = nil
      # a number that the server has for a moment may be read or closed, if it is stopped just then (t/README); not three times
      3.times do
        tracked = once(program("closer"), "few", ms.to_s, tracked: true, options: ->(d) { "socket:#{d}/s" })
        wrong = tracked.stdout.scan(/^NOT OK .*/)
        break if wrong.empty? || (wrong - ["NOT OK none was closed: 1", "NOT OK nobody read or wrote there"]).any?
      end
      assert_equal ["exit 0", ""], [tracked.ending, *other_words(tracked)], tracked.stdout
      refute_includes tracked.stdout, "NOT OK", "#{ms} ms: #{tracked.stderr}"
      assert_operator tracked.said.size, :<=, 1
      assert_expected tracked
    end
  end

  # Its own words on stderr.
  def other_words(tracked) = [(tracked.stderr.lines - tracked.said).join]

  # --- another root, another user --------------------------------------------------------

  def as_root
    Process.uid.zero? or skip "needs root"
  end

  CHROOT = <<~RUBY
    #{KEEP}
    $before = keep(100)
    begin
      Dir.chroot(ENV["DIR"])
      Dir.chdir("/")
    rescue SystemCallError
      puts "# refused"
    end
    $kept = keep(100)
    puts Dir.children("/").size < 5
  RUBY

  def test_chroot
    as_root
    tracked = twice_ruby(CHROOT, counts: false, dump: nil, options: ->(d) { "dump_path:#{d}/dump" },
                         said: /dump_path .*: No such file/, open_files: false)
    skip "chroot is refused here" if tracked.stdout.include?("# refused")
    # a descriptor that was open before still takes the dump
    reader, writer = IO.pipe
    dump = Thread.new { reader.read }
    tracked = once(MwrapTest::RUBY, "--disable=gems", "%DIR%/script.rb", files: { "script.rb" => CHROOT }, tracked: true,
                   dump: nil, options: "dump_fd:#{writer.fileno},dump_format:tsv", writer => writer, close_others: true)
    writer.close
    assert_equal ["exit 0", []], [tracked.ending, tracked.said]
    assert_kept CHROOT, MwrapTest::Dump.tsv(dump.value).flatten
  end

  def test_chroot_of_a_server
    as_root
    app = served_ruby(<<~RUBY)
      #{KEEP}
      $kept = keep(200)
      puts "up"; $stdout.flush
      gets
      begin
        Dir.chroot(#{@dir.dump}); Dir.chdir("/"); puts "in"
      rescue SystemCallError
        puts "refused"
      end
      $stdout.flush
      gets
      Process.wait(fork { sleep 0.3; exit 4 })
      puts $?.exitstatus; $stdout.flush
      gets
    RUBY
    assert_equal "up", app.hear
    inside = app.ask("chroot")
    assert_includes 200..300, kept_over_http
    assert_equal "4", app.ask("fork")
    assert_includes 200..300, kept_over_http
    assert app.finish.success?
    skip "chroot is refused here" if inside == "refused"
    # nothing else than: the child's socket and the dumps can't be made where that path isn't
    assert(app.stderr.lines.all? { |l| l =~ /\Amwrap: .*No such file or directory$/ } && app.stderr.lines.size <= 3, app.stderr)
  end

  def kept_over_http
    row = tsv.find { |r| r.location.end_with?("/app.rb:2") } or flunk "no row"
    row.live
  end

  NOBODY = 65_534

  def test_dropped_privileges
    as_root
    script = <<~RUBY
      #{KEEP}
      begin
        Process::Sys.setgid(#{NOBODY}); Process::Sys.setuid(#{NOBODY})
      rescue SystemCallError
        puts "# refused"
      end
      $kept = keep(200)
      Process.wait(fork { exit 3 })
      puts Process.uid, $?.exitstatus
    RUBY
    tracked = twice_ruby(script)
    skip "setuid is refused here" if tracked.stdout.include?("# refused")
    assert_equal 2, tracked.dumps.size
    # where nobody may write there is no dump, and a line for each process
    native = once(MwrapTest::RUBY, "--disable=gems", "%DIR%/script.rb", files: { "script.rb" => script }, tracked: false)
    refused = once(MwrapTest::RUBY, "--disable=gems", "%DIR%/script.rb", files: { "script.rb" => script }, tracked: true, dump: nil,
                   options: ->(d) { "dump_path:#{File.dirname(d)}/x" })
    assert_equal native.visible, refused.visible
    assert_equal 2, refused.said.grep(/dump_path .*: Permission denied/).size, refused.stderr
  end

  def test_dropped_privileges_of_a_server
    as_root
    File.chmod(0o777, @dir)
    app = served_ruby(<<~RUBY)
      #{KEEP}
      gets
      begin
        Process::Sys.setgid(#{NOBODY}); Process::Sys.setuid(#{NOBODY}); puts "dropped"
      rescue SystemCallError
        puts "refused"
      end
      $stdout.flush
      gets
      $kept = keep(200)
      $pid = fork { gets2 = $stdin.gets; exit 4 }
      puts $pid; $stdout.flush
      Process.wait($pid)
      puts $?.exitstatus; $stdout.flush
      gets
    RUBY
    dropped = app.ask("drop")
    skip "setuid is refused here" if dropped == "refused"
    child = "#{path}.#{app.ask("fork")}"
    wait_for_server(child)
    assert_equal [200, 200], [get("/").status, get("/", at: child).status]
    assert_equal NOBODY, File.stat(child).uid
    assert_includes 200..300, kept_over_http
    assert_equal "4", app.ask("end")
    assert_equal 200, get("/").status
    assert app.finish.success?
    assert_empty Dir.children(@dir).grep(/\As(\.|\z)/)
    # its dump's file belongs to whoever made it; here there was none before
    assert_equal 2, app.dumps.size, app.stderr
  end

  # --- stopped, continued ------------------------------------------------------------------

  def state(pid) = File.read("/proc/#{pid}/stat")[/\) (\w)/, 1]

  def test_stopped_and_continued
    app = served_ruby(<<~RUBY)
      #{KEEP}
      $kept = []
      until $kept.size == 200
        $kept.concat(keep(10))
        $stdout.syswrite("round\\n")
        gets
      end
      $stdout.syswrite("all\\n")
      gets
    RUBY
    20.times do |i|
      assert_equal "round", app.hear
      signal = i.even? ? :STOP : :TSTP
      Process.kill(signal, app.pid)
      eventually("stopped by #{signal}") { state(app.pid) == "T" }
      client = connect
      client.write("GET /each/0.tsv HTTP/1.0\r\n\r\n") # waits, as long as it takes
      app.tell("go on")
      Process.kill(:CONT, app.pid)
      assert_equal 200, parse(drain(client)).status
    end
    assert_equal "all", app.hear
    assert_includes 200..300, kept_over_http
    assert_ends_well app
    app.dumps[0].each { |r| assert_equal r.allocations, r.frees + r.live, r.inspect }
  end

  # --- fork -----------------------------------------------------------------------------------

  def tasks(pid) = Dir.children("/proc/#{pid}/task").sort

  # The one that blocks every signal. 32 and 33 are libc's own.
  ALL_SIGNALS = (1..64).reject { |n| [9, 19, 32, 33].include?(n) }.sum { |n| 1 << (n - 1) }

  def server_threads(pid)
    tasks(pid).select { |t| File.read("/proc/#{pid}/task/#{t}/status")[/^SigBlk:\s*(\h+)/, 1].hex & ALL_SIGNALS == ALL_SIGNALS }
  rescue Errno::ENOENT, Errno::ESRCH # a thread ended meanwhile
    retry
  end

  # A thread that libc just starts has its signals blocked, too, for a moment: Ruby's timer, say.
  def server_thread(pid)
    eventually("one thread that blocks all signals") { (all = server_threads(pid)).size == 1 && all.first }
  end

  # The server's isn't joined or started anew in the parent (Ruby's timer may be), and the child has its own only.
  def test_a_fork_costs_the_parent_no_thread
    app = served_ruby(<<~'RUBY', options: "objects:off") # the only other thread of ours that stays
      $stdout.sync = true
      threads = Array.new(20) { Thread.new { sleep } }
      GC.start # so that all have begun
      gets
      50.times { Process.wait(fork { exit!(Dir.children("/proc/self/task").size) }); $most = [$most.to_i, $?.exitstatus].max }
      puts $most
      gets
    RUBY
    eventually("21 threads, the server's and Ruby's own") { tasks(app.pid).size >= 22 }
    body("/each/0") # the server is up
    before = server_thread(app.pid)
    count = tasks(app.pid).size
    most = Integer(app.ask("fork"))
    assert_equal before, server_thread(app.pid)
    assert_includes count - 1..count + 1, tasks(app.pid).size # Ruby's timer comes and goes
    assert_operator most, :<=, 3 # itself, the server's thread, Ruby's timer
    assert app.finish.success?
  end

  # --- names ----------------------------------------------------------------------------------

  def comm(pid, task) = File.read("/proc/#{pid}/task/#{task}/comm").chomp

  def comms(pid)
    tasks(pid).to_h { |t| [t, comm(pid, t)] }
  rescue Errno::ENOENT, Errno::ESRCH # a thread ended meanwhile
    retry
  end

  # Threads of ours are "mwrap", those that they start as well; the app's and its children's keep their names.
  def test_threads_of_ours_have_our_name
    app = served_ruby(<<~'RUBY', options: "dump_every:1")
      $stdout.sync = true
      Thread.new { Thread.current.name = "mine"; sleep }
      $stdout.puts "up"
      while gets
        pid = fork { $stdout.puts [$$, File.read("/proc/self/comm").chomp].join(" "); gets; exit!(0) }
        Process.wait(pid)
      end
    RUBY
    assert_equal "up", app.hear
    body("/each/0")
    live = connect # which is relayed by a thread that the server's makes
    live.write("GET /#{app.pid}/live HTTP/1.1\r\nHost: x\r\n\r\n")
    ours = eventually("the server's and the dumper's names") do
      named = comms(app.pid).select { |_, name| name == "mwrap" }.keys
      named.size >= 2 && (server_threads(app.pid) - named).empty? && named
    end
    refute_includes ours, app.pid.to_s
    names = comms(app.pid)
    assert_equal File.basename(MwrapTest::RUBY)[0, 15], names.fetch(app.pid.to_s)
    eventually("the app's own name") { comms(app.pid).value?("mine") }
    child, name = app.ask("fork").split
    assert_equal names.fetch(app.pid.to_s), name
    assert_equal name, comms(child).fetch(child)
    eventually("the child's server has our name, too") { comms(child).value?("mwrap") }
    live.close
    app.tell("end")
    assert_ends_well app
  end

  # --- signals ------------------------------------------------------------------------------------

  # The application's signals are its own: all are blocked where the server runs, none is taken.
  def test_signals_are_the_applications
    app = served_ruby(<<~'RUBY', options: "objects:off")
      $stdout.sync = true
      Thread.main.name = "main"
      %w[USR1 USR2 HUP TERM INT CHLD WINCH PIPE ALRM IO URG CONT TTIN].each { |s| trap(s) { $stdout.syswrite("#{s}\n"); "t" * 5000 } }
      $stdout.syswrite("up\n")
      sleep 0.01 until $stdin.closed? || IO.select([$stdin], nil, nil, 0)
    RUBY
    assert_equal "up", app.hear
    body("/each/0")
    %w[USR1 USR2 HUP TERM INT CHLD WINCH PIPE ALRM IO URG CONT TTIN].each do |s|
      Process.kill(s, app.pid)
      assert_equal s, app.hear
    end
    server_thread(app.pid) # one blocks all
    assert_ends_well app
  end
end
