#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Hazards of a family: what its processes say on stderr, which is the host's, and what they
# leave behind when they end without a word.

require_relative "../lib/hazard"
require_relative "../lib/served"

class FamilyHazards < Minitest::Test
  # --- stderr -----------------------------------------------------------------------

  # Everything that children write, as an app reads it: shells, Rubies, and forks of those. All live
  # long enough to have a server.
  PIPELINES = <<~'RUBY'
    require "open3"
    require "rbconfig"
    def take(*cmd) = $stdout.syswrite(Open3.capture2e(*cmd)[0])
    ruby = [RbConfig.ruby, "--disable=gems"]
    sleep 1 # until the first process has said what it has to say
    [
      -> { take("sh -c 'sleep 0.5; echo one >&2' | (sleep 1; cat; echo two >&2)") },
      -> { take(*ruby, "-e", "pid = fork { sleep 0.7; warn 'three' }; sleep 0.7; Process.wait(pid); warn 'four'") },
      -> { take("sleep 0.3; #{ruby.join(" ")} -e 'sleep 0.7; warn %q(five)' | cat; sleep 0.2; echo six") }
    ].map { |taking| Thread.new(&taking) }.each(&:join)
    r, w = IO.pipe
    pid = fork { $stderr.reopen(w); sleep 0.7; warn "seven" }
    w.close
    $stdout.syswrite(r.read)
    Process.wait(pid)
  RUBY
  WORDS = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"

  def pipelines(**rest)
    once(MwrapTest::RUBY, "--disable=gems", "%DIR%/script.rb", dump: nil, files: { "script.rb" => PIPELINES }, **rest)
  end

  # MWRAP's value => the one line of the whole family, nil: none. All at a time: they wait.
  def assert_one_line(cases)
    native = (@@native ||= pipelines(tracked: false))
    assert_equal [0, WORDS.lines.sort], [native.run.status.exitstatus, native.stdout.lines.sort]
    cases.map { |options, like| [Thread.new { pipelines(tracked: true, options: options) }, like] }.each do |running, like|
      tracked = running.value
      assert_equal native.visible.map { |text| text.lines.sort }, tracked.visible.map { |text| text.lines.sort }
      assert_equal like ? 1 : 0, tracked.said.size, tracked.stderr
      assert_match like, tracked.said[0] if like
    end
  end

  def test_children_of_who_listens_are_silent
    port = TCPServer.open("127.0.0.1", 0) { |s| s.addr[1] }
    assert_one_line(["listen:127.0.0.1:#{port}"] => nil)
    assert_one_line(["listen:127.0.0.1:0"] => %r{\Amwrap: listening on http://127\.0\.0\.1:\d+/$})
  end

  def test_children_with_a_socket_and_a_port_are_silent
    told = /\Amwrap: listening on /
    assert_one_line(->(dir) { "socket:#{dir}/s,listen:127.0.0.1:0" } => told,
                    ->(dir) { "socket:#{dir}/%p.s,listen:127.0.0.1:0" } => told,
                    ->(dir) { "socket_dir:#{dir}/d,listen:127.0.0.1:0" } => told)
  end

  def test_a_port_that_is_a_strangers_is_told_once
    stranger = TCPServer.new("127.0.0.1", 0)
    taken = /\Amwrap: 127\.0\.0\.1:#{stranger.addr[1]}: can't listen: Address already in use$/
    assert_one_line(["listen:127.0.0.1:#{stranger.addr[1]}"] => taken,
                    ->(dir) { "socket:#{dir}/s,listen:127.0.0.1:#{stranger.addr[1]}" } => taken,
                    ->(dir) { "socket_dir:#{dir}/d,listen:127.0.0.1:#{stranger.addr[1]}" } => taken)
  ensure
    stranger&.close
  end

  def test_what_cannot_be_opened_is_told_once
    missing = %r{\Amwrap: /nonexistent: no such directory, so there is no server: make it$}
    assert_one_line(["socket:/nonexistent/s"] => missing,
                    ["socket_dir:/nonexistent/d"] => %r{\Amwrap: /nonexistent/d: can't create the directory: },
                    ["socket:/nonexistent/%p"] => missing)
    assert_one_line(->(dir) { "socket:#{dir}/s,socket_group:no-such-group" } => /\Amwrap: .*: no group no-such-group$/,
                    ->(dir) { "socket:#{dir}/s,token_file:/nonexistent/t" } => /\Amwrap: token_file: .*\. Every request is refused until/,
                    ["listen:127.0.0.1:0,token_file:/nonexistent/t"] => /\Amwrap: token_file: .*\. The server doesn't listen on/)
  end

  def test_forks_of_who_has_no_server_are_silent
    script = "$stdout.sync = true\nsleep 1\n2.times { Process.wait(fork { sleep 0.5; puts Process.ppid == $$ }) }\n"
    in_tmp do |dir|
      FileUtils.cp(MwrapTest::TRACKER, dir) # without the server's library beside it
      run = once(MwrapTest::RUBY, "--disable=gems", "%DIR%/script.rb", tracked: false, dump: nil, files: { "script.rb" => script },
                 env: { "LD_PRELOAD" => File.join(dir, "libmwrap.so"), "MWRAP" => "listen:127.0.0.1:0" })
      assert_equal ["exit 0", "false\nfalse\n"], run.visible[0, 2]
      assert_equal 1, run.said.size, run.stderr
      assert_match(/\Amwrap: libmwrap_httpd\.so: can't be loaded: /, run.said[0])
    end
  end
end

# Leftovers of processes that end by _exit(2), by a signal or by exec, in which nothing of ours is called.
class LeftoverHazards < Minitest::Test
  include Served

  # So many children at a line of stdin, that each have a socket before they end; then, when all have
  # ended, how many there were so far. Daemons aren't waited for by wait(2): the last one to end closes a pipe.
  APP = <<~'RUBY'
    require "rbconfig"
    $stdout.sync = true
    $place = ARGV.fetch(0)
    def served?(pid) = Dir.glob(format($place, pid)).any?
    def wait_served(pid = Process.pid)
      2000.times { return true if served?(pid); sleep 0.01 }
      false
    end
    ruby = [RbConfig.ruby, "--disable=gems", "-e"]
    ENDINGS = [
      -> { fork { wait_served; exit } },
      -> { fork { wait_served; exit! } },
      -> { fork { wait_served; Process.kill(:KILL, Process.pid); sleep } },
      -> { fork { wait_served; $stderr.reopen(File::NULL); Process.setrlimit(:CORE, 0, 0); Process.abort } },
      -> { fork { wait_served; exec("true") } },
      -> { fork { wait_served; exec("sleep", "0.2") } },
      -> { spawn("sleep 0.3; exit 3") },
      -> { spawn("sleep 0.2 | cat; true") },
      -> { spawn(*ruby, "sleep 0.3; exit! 4") },
      -> { fork { $daemons.close; Process.daemon(true, true); wait_served; exit! } }
    ].freeze
    def Process.abort = kill(:ABRT, pid) && sleep
    made = 0
    while (n = $stdin.gets)
      $daemons, $held = IO.pipe
      pids = Array.new(n.to_i) { ENDINGS[(made += 1) % ENDINGS.size].call }
      pids.each { |pid| Process.wait(pid) }
      $held.close
      $daemons.read
      $daemons.close
      puts made
    end
  RUBY

  def left(dir = @dir) = Dir.children(dir).grep(/\As(\.|\z)|\.sock|\A\d+-/).sort

  # place: where a process's socket is, a pattern.
  def endings(n, place: "#{path}.%d", **rest)
    app = served_ruby(APP, args: [place], **rest)
    yield if block_given?
    (n / 25).times { |i| app.tell("25"); assert_equal ((i + 1) * 25).to_s, app.hear, app.stderr }
    app
  end

  # While the family lives, and at its end.
  def test_two_hundred_endings_leave_nothing
    app = endings(200)
    eventually("only the owner's, of #{left.size}") { left == %w[s s.lock] }
    assert_equal [app.pid], JSON.parse(body("/family.json"))["processes"].map { |p| p["pid"] }
    assert app.finish.success?
    assert_empty left
    assert_equal "", app.stderr
  end

  # Nobody sees it in time but who ends: that is, if its thread gets to run within the 200 ms
  # that an exit waits for it.
  def test_the_owners_end_removes_what_the_dead_left
    seen = 0
    eventually("an empty directory at an end") do
      app = endings(25)
      seen = [seen, left.size].max
      app.finish
      left.empty? && seen > 2
    end
  end

  def test_the_next_start_removes_what_a_killed_family_left
    app = endings(25)
    app.kill
    refute_empty left
    app = served_ruby("$stdin.gets")
    eventually("only the owner's") { left == %w[s s.lock] }
    app.finish
    assert_empty left
  end

  # A relative whose program is another one after exec, and has no server: as long as it lives.
  def test_who_became_another_program_leaves_no_socket
    app = served_ruby(<<~'RUBY', args: [path])
      pid = fork { sleep 0.01 until File.socket?("#{ARGV[0]}.#{Process.pid}"); ENV.delete("LD_PRELOAD"); exec("sleep", "600") }
      $stdout.syswrite("#{pid}\n")
      $stdin.gets
      Process.kill(:KILL, pid)
    RUBY
    pid = Integer(app.hear)
    eventually("sleep") { File.read("/proc/#{pid}/comm") == "sleep\n" }
    eventually("only the owner's") { left == %w[s s.lock] }
    assert Process.kill(0, pid)
    app.finish
    assert_empty left
  end

  def test_in_a_directory
    Dir.mkdir(path("d"), 0o700)
    app = endings(50, place: path("d/%d.sock"), env: { "MWRAP" => "socket_dir:#{path("d")}" }, wait: false)
    eventually("only its own") { left(path("d")) == %W[#{app.pid}.sock #{app.pid}.sock.lock] }
    app.finish
    assert_empty left(path("d"))
  end

  # A member of the killed family ends after the next one's first cleanup.
  # It is stopped meanwhile, so that it removes nothing itself; in a session of its own, since the kernel wakes
  # the stopped processes of a group whose last parent ends.
  def test_a_killed_familys_last_member_ends_later
    swift
    env = { "MWRAP" => "listen:127.0.0.1:0", "TMPDIR" => @dir }
    own = path("mwrap-#{Process.uid}")
    app = served_ruby("$stdin.gets\n$stdout.syswrite(\"\#{fork { Process.setsid; sleep }}\\n\")\nsleep", env: env, wait: false)
    eventually("its files") { Dir.exist?(own) && left(own).size == 2 } # one that is forked earlier is no member
    member = Integer(app.ask("fork"))
    eventually("the member's") { left(own).count { |name| name =~ /\.#{member}(\.lock)?\z/ } == 2 && Process.getsid(member) == member }
    stop(member)
    app.kill
    later = served_ruby("$stdin.gets", env: env, wait: false)
    eventually("the killed owner's to go") { left(own).none? { |name| name =~ /-#{app.pid}(\.lock)?\z/ } && left(own).size == 4 }
    Process.kill(:KILL, member)
    member = nil
    eventually("only its own") { left(own).size == 2 && left(own)[0].end_with?("-#{later.pid}") }
    later.finish
    refute File.exist?(own)
  ensure
    Process.kill(:KILL, member) if member
  end

  # The directory of a family that was only given a port goes with the last one.
  def test_where_only_a_port_was_given
    env = { "MWRAP" => "listen:127.0.0.1:0", "TMPDIR" => @dir }
    own = path("mwrap-#{Process.uid}")
    # a child that is forked before the owner listens is no member, and its files are swept later
    listens = -> { eventually("the owner's files") { Dir.exist?(own) && left(own).size == 2 } }
    app = endings(50, place: path("mwrap-*/*.%d"), env: env, wait: false, &listens)
    seen = nil
    patiently { (seen = left(own)).size == 2 }
    assert_equal 2, seen.size, "only the owner's (#{app.pid}): #{seen}, locks:\n#{File.read("/proc/locks")}" \
                               "inodes #{seen.to_h { |f| [f, File.stat("#{own}/#{f}").ino] }}"
    assert_equal 0o700, File.stat(own).mode & 0o7777
    app.finish
    eventually("no directory") { !File.exist?(own) }
    app = endings(25, place: path("mwrap-*/*.%d"), env: env, wait: false, &listens)
    app.kill
    refute_empty left(own)
    app = served_ruby("$stdin.gets", env: env, wait: false)
    eventually("only its own") { left(own).size == 2 && left(own)[0].end_with?("-#{app.pid}") }
    app.finish
    refute File.exist?(own)
  end
end
