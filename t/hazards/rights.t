#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Hazards of what the kernel keeps for each thread: users, groups, capabilities, namespaces. The C
# library changes users in all threads, and aborts if one of them may not. unshare(2) wants one thread.

require_relative "../lib/hazard"
require_relative "../lib/patience"

class RightsHazards < Minitest::Test
  include Patience

  MODES = {
    "a server" => ->(dir) { ["socket:#{dir}/s", "#{dir}/s"] },
    "periodic dumps" => ->(dir) { ["dump_path:#{dir}/d,dump_every:1", nil] },
    "a recording" => ->(dir) { ["trace_path:#{dir}/r", "#{dir}/r"] },
    "all of them" => ->(dir) { ["socket:#{dir}/s,trace_path:#{dir}/r,dump_path:#{dir}/d,dump_every:1", "#{dir}/r"] }
  }.freeze

  def setup
    flunk "these tests need root" unless Process.uid.zero?
    @seed = (ENV["SEED"] || Random.rand(1_000_000)).to_i
  end

  # A folder that everybody may write to.
  def in_open_tmp
    in_tmp do |dir|
      File.chmod(0o777, dir)
      yield dir
    end
  end

  def outcome(run) = [run.status.to_s.sub(/pid \d+ /, ""), run.stdout, run.stderr.lines.grep_v(/\Amwrap: /)]

  # Natively, and in each mode, with threads that are at work.
  def assert_same(*cmd, modes: MODES, path: false, launcher: MwrapTest::LAUNCHER)
    native = run_command(*cmd)
    modes.each do |mode, options|
      in_open_tmp do |dir|
        given, at_work = options.call(dir)
        run = run_command(launcher, *cmd, *(at_work if path && at_work), env: { "MWRAP" => given })
        assert_equal outcome(native), outcome(run), "#{mode}: #{cmd.join(" ")}\n#{run.stderr}"
      end
    end
  end

  # Random lives: half of them begin at once, half when the tracker's threads are there.
  def test_random_lives
    puts "# SEED=#{@seed}"
    24.times do |i|
      name, mode = MODES.to_a[i % MODES.size]
      assert_same program("rights"), (@seed + i).to_s, modes: { name => mode }, path: i.even?
    end
  end

  ENTRYPOINT = 'exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"'
  SAY = 'puts "#{Process.uid} #{Process.gid} #{Process.groups}"'

  # Programs that change a user, or want to be alone, and then become the app.
  def test_programs_of_others
    app = [MwrapTest::RUBY, "-e", SAY]
    shell = "#{app[0]} -e '#{SAY}'"
    commands = {
      "setpriv" => ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *app],
      "an entrypoint" => ["sh", "-c", ENTRYPOINT, "sh", *app],
      "capabilities" => ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+net_bind_service",
                         "--ambient-caps=+net_bind_service", "--bounding-set=-sys_admin", "--no-new-privs", *app],
      "runuser" => ["runuser", "-u", "nobody", "--", *app],
      "su" => ["su", "-s", "/bin/sh", "nobody", "-c", shell],
      "start-stop-daemon" => ["start-stop-daemon", "--start", "--chuid", "nobody:nogroup", "--startas", app[0], "--", *app.drop(1)],
      "unshare" => ["unshare", "--user", "--map-root-user", "--mount", *app],
      "nsenter" => ["nsenter", "-t", Process.pid.to_s, "-u", "-i", *app],
      "capsh" => ["capsh", "--keep=1", "--gid=65534", "--uid=65534", "--shell=/bin/sh", "--", "-c", shell]
    }
    in_open_copy do |launcher|
      commands.each do |what, cmd|
        flunk what if system(*cmd, out: File::NULL, err: File::NULL).nil?
        assert_same(*cmd, modes: MODES.reject { |m, _| m == "all of them" }, launcher: launcher)
      end
    end
  end

  # The same users and groups as the app, whatever it did; and it answers.
  def test_the_server_is_the_apps
    in_open_tmp do |dir|
      script = <<~'RUBY'
        sleep 0.01 until File.exist?("#{ENV["DIR"]}/s")
        Process.initgroups("nobody", 65534)
        Process::Sys.setresgid(65534, 65534, 65534)
        Process::Sys.setresuid(65534, 65534, 0)
        10.times { Process::Sys.seteuid(0); Process::Sys.seteuid(65534) }
        Process::Sys.setresuid(65534, 65534, 65534)
        tasks = []
        until tasks.any? { |s| s.match?(/^Name:\tmwrap$/) } # it names itself
          tasks = Dir["/proc/self/task/*/status"].map { |f| File.read(f) }
        end
        p tasks.map { |s| [s[/^Uid:.*/], s[/^Gid:.*/], s[/^Groups:.*/].strip, s[/^CapPrm:.*/]] }.uniq.size
        $stdout.flush
        gets
      RUBY
      r, w = IO.pipe
      IO.popen({ "MWRAP" => "socket:#{dir}/s", "DIR" => dir }, [MwrapTest::LAUNCHER, MwrapTest::RUBY, "-e", script, in: r]) do |app|
        same = app.gets
        code = `curl -s -o /dev/null -w %{http_code} --unix-socket #{dir}/s http://0/stats.json`
        w.puts
        assert_equal ["1\n", "200"], [same, code]
      end
      assert $?.success?
    end
  end

  # An answer waits for a relative that stands. Its thread leaves when the app changes its user: the app doesn't wait for
  # the answer, and its C library finds no thread that it can't change.
  def test_an_answer_that_waits_for_another_process
    script = <<~'RUBY'
      child = fork { sleep }
      puts child
      $stdout.flush
      gets
      Process::Sys.seteuid(65534)
      Process::Sys.seteuid(0)
      gets
      Process.kill(:KILL, child)
    RUBY
    in_open_tmp do |dir|
      r, w = IO.pipe
      IO.popen({ "MWRAP" => "socket:#{dir}/s" }, [MwrapTest::LAUNCHER, MwrapTest::RUBY, "--disable=gems", "-e", script, in: r]) do |app|
        child = app.gets.to_i
        ask = -> { `curl -s -w ' %{http_code}' --unix-socket #{dir}/s http://0/#{child}/stats.json` }
        eventually("both answer") { ask.call.end_with?(" 200") }
        Process.kill(:STOP, child)
        eventually("it stands") { File.read("/proc/#{child}/stat")[/\) (\w)/, 1] == "T" }
        threads = -> { Dir.children("/proc/#{app.pid}/task").size }
        before = threads.call
        asker = Thread.new(&ask)
        eventually("a thread for the answer") { threads.call > before }
        w.puts
        assert_match(/can’t be asked: Operation canceled\n 502\z/, asker.value)
        Process.kill(:CONT, child)
        eventually("an answer afterwards") { ask.call.end_with?(" 200") }
      ensure
        w.close
      end
      assert $?.success?
    end
  end

  # A recording goes on: what the new user allocates is in it.
  def test_a_recording_goes_on
    in_open_tmp do |dir|
      script = <<~'RUBY'
        sleep 0.01 until File.size?("#{ENV["DIR"]}/r")
        Process::Sys.setresgid(65534, 65534, 65534)
        Process::Sys.setresuid(65534, 65534, 65534)
        $kept = Array.new(200) { "k" * 5000 }
      RUBY
      run = run_command(MwrapTest::LAUNCHER, MwrapTest::RUBY, "-e", script, env: { "MWRAP" => "trace_path:#{dir}/r", "DIR" => dir })
      assert run.status.success?, run.stderr
      assert_empty run.stderr
      text = run_command("#{MwrapTest::ROOT}/bin/mwrapctl", "trace", "text", "#{dir}/r").stdout
      assert_operator text.lines.grep(/\b50\d\d\b/).size, :>=, 200, text.lines.last(5).join
    end
  end
end
