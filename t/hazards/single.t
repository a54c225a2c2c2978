#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Hazards of our threads in programs that want to have one thread only: user namespaces, sandboxes,
# Chromium, programs that warn at fork. A child of a tracked process has none of our threads, unless
# Ruby is in it or children:all asks for them; the program that the user names has them.

require_relative "../lib/hazard"
require "fileutils"

class SingleThreadHazards < Minitest::Test
  ASKS = ["listen:127.0.0.1:0", "socket:%DIR%/s", "socket_dir:%DIR%/d", "dump_every:1,dump_path:%DIR%/dump"].freeze

  # Under the launcher. Lines of stderr about the server are the user's: where it listens, and that it ends, if
  # a busy machine let it begin before the program closed all descriptors.
  def launched(options, *cmd, dir:, env: {}, **rest)
    run = run_command(MwrapTest::LAUNCHER, *cmd, env: { "MWRAP" => options.gsub("%DIR%", dir) }.merge(env), **rest)
    run.stderr.sub!(/\Amwrap: listening on \S+\n/, "")
    run.stderr.sub!(/^mwrap: the server is off: the application closed its descriptors\n/, "")
    run
  end

  # A tracked Ruby that runs a command, shows what it wrote, and ends as it did.
  RUNS = <<~'RUBY'
    require "open3"
    out, err, status = Open3.capture3(*ARGV)
    $stdout.write(out)
    $stderr.write(err)
    exit(status.exitstatus || 255)
  RUBY

  # As a child of a tracked Ruby the command does what it does natively, whatever is asked for.
  def assert_child_unchanged(*cmd, asks: ASKS, seen: ->(run) { [run.stdout, run.stderr, run.status.exitstatus] })
    native = run_command(*cmd)
    assert_equal 0, native.status.exitstatus, "natively: #{cmd.inspect}: #{native.stderr}"
    asks.each do |options|
      in_tmp do |dir|
        run = launched(options, MwrapTest::RUBY, "-e", RUNS, *cmd, dir: dir)
        assert_equal seen.call(native), seen.call(run), "#{options}: #{cmd.inspect}: #{run.stderr}"
      end
    end
    native
  end

  # --- who has threads of ours --------------------------------------------------------------

  TASKS = %w[ls /proc/self/task].freeze

  def tasks(run)
    assert_equal 0, run.status.exitstatus, run.stderr
    run.stdout.lines.size
  end

  def test_who_has_threads
    ASKS.each do |ask|
      in_tmp do |dir|
        options = ask.gsub("%DIR%", dir)
        count = ->(*cmd, with: options, **rest) { tasks(launched(with, *cmd, dir: dir, **rest)) }
        assert_equal 1, count.call(*TASKS, with: "dump_path:#{dir}/none"), "nobody asks"
        assert_equal 2, count.call(*TASKS), "the program that the user names"
        assert_equal 2, count.call("sh", "-c", "exec ls /proc/self/task"), "what it execs"
        assert_equal 1, count.call("sh", "-c", "ls /proc/self/task; :"), "what it starts"
        assert_equal 2, count.call("sh", "-c", "ls /proc/self/task; :", with: "#{options},children:all"), "if all are to"
        assert_equal 1, count.call(MwrapTest::RUBY, "-e", "print `ls /proc/self/task`"), "what Ruby starts"
        assert_equal 2, count.call(MwrapTest::RUBY, "-e", "exec 'ls /proc/self/task'"), "what the named Ruby execs"
        assert_equal 2, count.call("sh", "-c", "#{MwrapTest::LAUNCHER} ls /proc/self/task; :"), "who is named by a child"
        ruby = "print Dir.children('/proc/self/task').size"
        assert_operator launched(options, "sh", "-c", "#{MwrapTest::RUBY} -e \"#{ruby}\"; :", dir: dir).stdout.to_i, :>=, 2, "Ruby"
      end
    end
  end

  def test_who_has_threads_without_the_launcher
    in_tmp do |dir|
      env = { "LD_PRELOAD" => MwrapTest::TRACKER, "MWRAP" => "socket:#{dir}/s" }
      count = ->(*cmd, **more) { tasks(run_command(*cmd, env: env.merge(more.transform_keys(&:to_s)))) }
      assert_equal 2, count.call(*TASKS)
      assert_equal 1, count.call("sh", "-c", "ls /proc/self/task; :"), "its parent is tracked"
      assert_equal 2, count.call("sh", "-c", "MWRAP_PID=$$ exec ls /proc/self/task"), "its number alone"
      assert_equal 1, count.call("sh", "-c", "MWRAP_PID=$$.1 exec ls /proc/self/task"), "another process had its number"
      assert_equal 1, count.call(*TASKS, MWRAP_PID: "1"), "another process"
      ["", "x", ".", "1.", "99999999999999999999999", "-1"].each do |wrong|
        run = run_command(*TASKS, env: env.merge("MWRAP_PID" => wrong))
        assert_includes [1, 2], tasks(run), wrong
        assert_equal "", run.stderr
      end
    end
  end

  # The variable is there only where it matters.
  def test_the_variable
    in_tmp do |dir|
      show = ->(options, **env) { launched(options, "sh", "-c", "echo $$ $MWRAP_PID", dir: dir, env: env).stdout.split }
      pid, said = show.call("socket:#{dir}/s")
      assert_match(/\A#{pid}\.\d+\z/, said)
      pid, said = show.call("socket:#{dir}/s", "MWRAP_PID" => "1.1")
      assert_match(/\A#{pid}\.\d+\z/, said)
      assert_equal 1, show.call("dump_path:#{dir}/x").size
      assert_equal 1, show.call("dump_path:#{dir}/x", "MWRAP_PID" => "1.1").size, "it is an outer one's"
    end
  end

  # --- who wants one ---------------------------------------------------------------------------

  def namespaces?
    run_command("unshare", "-U", "true").status.success?
  end

  def test_user_namespaces
    skip "no user namespaces here" unless namespaces?
    assert_child_unchanged("unshare", "-U", "id", "-u")
    assert_child_unchanged("unshare", "-Ur", "sh", "-c", "id -u; unshare -U true")
    assert_child_unchanged("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "echo", "in all")
  end

  # After unshare(2) the kernel refuses threads to a process whose children begin a PID namespace, and ours had left for the
  # call. Their namespace's first process has a server.
  def test_a_pid_namespace_for_children
    skip "no user namespaces here" unless namespaces?
    in_tmp do |dir|
      script = "$stdout.sync = true; sleep 0.01 until File.socket?('#{dir}/s'); puts 'served'; $stdin.read"
      run = launched("socket:%DIR%/s", "unshare", "-r", "--pid", "--fork", MwrapTest::RUBY, "-e", script, dir: dir)
      assert_equal ["served\n", true], [run.stdout, run.status.success?]
      assert_match(/\A(mwrap: the server's thread: can't be created: this process makes a PID namespace for its children\n)?\z/, run.stderr)
    end
  end

  def test_bubblewrap
    skip "no user namespaces here" unless namespaces?
    box = %w[bwrap --bind / / --unshare-all --uid 1000 --gid 1000 id -u]
    assert_equal "1000\n", assert_child_unchanged(*box).stdout
    ASKS.each do |options| # named, too: it makes its namespaces as it clones
      in_tmp { |dir| assert_equal ["1000\n", "", 0], launched(options, *box, dir: dir).then { |r| [r.stdout, r.stderr, r.status.exitstatus] } }
    end
  end

  # From 3.12 on Python warns if /proc/self/stat says that there are threads when it forks.
  PYTHON = <<~'PYTHON'
    import os, sys
    threads = int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[17])
    sys.stdout.write("%d\n" % threads)
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
  PYTHON

  def test_python_forks
    assert_equal "1\n", assert_child_unchanged("python3", "-W", "error", "-c", PYTHON).stdout
  end

  def test_ruby_forks_without_a_warning
    ASKS.each do |options|
      in_tmp do |dir|
        run = launched(options, MwrapTest::RUBY, "-w", "-W:deprecated", "-W:experimental", "-e", <<~'RUBY', dir: dir)
          Process.wait(fork { Process.wait(fork { puts "inner" }); puts "outer" })
          Process.daemon(true, true)
          puts "end"
        RUBY
        assert_equal ["", 0], [run.stderr, run.status.exitstatus], options
      end
    end
  end

  # --- Chromium ---------------------------------------------------------------------------------

  CHROMIUM = [ENV["CHROMIUM"] || "/usr/bin/chromium", "--headless", *%w[disable-gpu disable-quic no-first-run disable-background-networking
              disable-component-update disable-sync disable-dev-shm-usage].map { |f| "--#{f}" }].freeze
  PAGE = "data:text/html,<p id=x></p><script>document.getElementById('x').append(6 * 7)</script>"

  def chromium(dir, *flags)
    [*CHROMIUM, *flags, "--user-data-dir=#{Dir.mktmpdir("profile", dir)}", "--dump-dom", PAGE]
  end

  # The page as it is natively, named and as a child of Ruby.
  def assert_chromium(run, what)
    assert_includes run.stdout, '<p id="x">42</p>', "#{what}: #{run.status} #{run.stderr[-2000..] || run.stderr}"
    assert_equal [@native.stdout, @native.status.exitstatus], [run.stdout, run.status.exitstatus], what
  end

  def test_chromium
    in_tmp do |dir|
      @native = run_command(*chromium(dir, "--no-sandbox"))
      assert_chromium @native, "natively"
      ASKS.each do |options|
        assert_chromium launched(options, *chromium(dir, "--no-sandbox"), dir: dir), options
        assert_chromium launched(options, MwrapTest::RUBY, "-e", RUNS, *chromium(dir, "--no-sandbox"), dir: dir), "#{options}, in Ruby"
      end
    end
  end

  # By a user who isn't root; with copies of ours, since that one may have no way to them.
  def test_chromium_with_its_sandbox
    skip "not root" unless Process.euid.zero?
    skip "no user namespaces here" unless namespaces?
    in_tmp do |dir|
      File.chmod(0o711, dir)
      FileUtils.cp_r([MwrapTest::LIB, "#{MwrapTest::ROOT}/bin"], dir)
      Dir.mkdir("#{dir}/own")
      File.chown(65_534, 65_534, "#{dir}/own")
      as = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=#{dir}/own"]
      profile = -> { ["--user-data-dir=#{dir}/own/#{rand(1 << 40)}", "--dump-dom", PAGE] }
      @native = run_command(*as, *CHROMIUM, *profile.call, chdir: "/")
      skip "Chromium's sandbox doesn't work here: #{@native.stderr.lines.last}" unless @native.status.success?
      assert_chromium @native, "natively"
      ASKS.values_at(0, 3).each do |ask|
        env = { "MWRAP" => ask.gsub("%DIR%", "#{dir}/own") }
        assert_chromium run_command(*as, "#{dir}/bin/mwrap", *CHROMIUM, *profile.call, env: env, chdir: "/"), ask
        inner = [MwrapTest::RUBY, "-e", RUNS, *CHROMIUM, *profile.call]
        assert_chromium run_command(*as, "#{dir}/bin/mwrap", *inner, env: env, chdir: "/"), "#{ask}, in Ruby"
      end
    end
  end
end
