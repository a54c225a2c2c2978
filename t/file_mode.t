#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The mode of every file that the tracker writes: file_mode, 0600 unless it is given, less the umask. A file that is
# there keeps its mode and its owner, and another user's file in a directory like /tmp isn't written to.
require_relative "lib/served"

class FileModeTest < Minitest::Test
  NOBODY = 65_534
  UMASKS = [0, 0o022, 0o077].freeze
  MODES = { nil => 0o600, "0640" => 0o640, "0666" => 0o666 }.freeze

  # A process, its child, and what another child executes; each says the modes of its periodic dumps, which
  # are gone at its end.
  SCRIPT = <<~'RUBY'
    $stdout.sync = true
    def wait_for(name) = (sleep 0.02 until (found = Dir[name.sub("%p", Process.pid.to_s)]).any?; found)
    def periodic = wait_for("#{ENV["IN"]}/dump.%p.*").map { |file| File.stat(file).mode.to_s(8) }.join(" ")
    if ARGV == ["leaf"]
      puts "#{Process.pid} #{periodic}"
    else
      Process.wait(fork { exec("/proc/self/exe", "--disable=gems", __FILE__, "leaf") })
      Process.wait(fork { wait_for("#{ENV["IN"]}/trace.%p") && puts("#{Process.pid} #{periodic}") })
      puts "#{Process.pid} #{periodic}"
      $stdin.gets
    end
  RUBY

  # Starts one for each umask and mode; all run at once.
  def start(umask, mode)
    dir = path("#{umask.to_s(8)}-#{mode}")
    Dir.mkdir(dir)
    options = ["dump_every:1", "dump_heap:1", "children:all", "trace_path:#{dir}/trace.%p", *("file_mode:#{mode}" if mode)]
    was = File.umask(umask)
    app = served(MwrapTest::RUBY, "--disable=gems", "-I#{MwrapTest::LIB}", path("app.rb"), at: "#{dir}/s", wait: false, format: "text",
                 env: { "MWRAP" => "socket:#{dir}/s,dump_path:#{dir}/dump.%p,#{options.join(",")}", "IN" => dir, "TMPDIR" => dir })
    [dir, app]
  ensure
    File.umask(was)
  end

  def mode_of(file) = File.lstat(file).mode & 0o7777

  def test_each_file
    File.write(path("app.rb"), SCRIPT)
    all = UMASKS.product(MODES.to_a).to_h { |umask, (mode, bits)| [start(umask, mode), bits & ~umask] }
    all.each do |(dir, app), mode|
      wait_for_server("#{dir}/s")
      pids = Array.new(3) do
        pid, *every = app.hear.split
        assert_equal [(0o100000 | mode).to_s(8)], every.uniq, "#{dir}: dump_every of #{pid}"
        pid
      end
      assert_equal app.pid, pids.last.to_i
      # the recording of the option goes on: stop it first
      post("/trace/stop", at: "#{dir}/s")
      assert_equal 200, post("/trace/start?path=#{dir}/asked", at: "#{dir}/s").status
      assert_equal 200, post("/trace/stop", at: "#{dir}/s").status
      assert app.finish.success?, app.stderr
      assert_empty app.stderr
      made = Dir.children(dir) - %w[s s.lock]
      made.each { |name| assert_equal mode.to_s(8), mode_of("#{dir}/#{name}").to_s(8), "#{dir}: #{name}" }
      assert_empty pids.flat_map { |pid| %W[dump.#{pid} trace.#{pid}] } + ["asked"] - made, dir
    end
  end

  # A file that is there keeps mode and owner; a recording gets another name.
  def test_a_file_that_is_there
    { 0o644 => nil, 0o600 => "0666", 0o400 => "0640" }.each do |mode, option|
      dump, trace = path("dump#{mode}"), path("trace#{mode}")
      [dump, trace].each { |file| File.write(file, "there\n", perm: mode).then { File.chmod(mode, file) } }
      run = dump_and_record(dump, trace, option)
      written = File.writable?(dump)
      assert_equal written ? "" : "mwrap: dump_path #{dump}: Permission denied\n", run.stderr
      assert_equal [mode, mode, option ? Integer(option, 8) : 0o600], [mode_of(dump), mode_of(trace), mode_of("#{trace}.2")]
      assert_equal [true, written, "there\n"], [File.read(dump).start_with?("there\n"), File.size(dump) > 100, File.read(trace)]
    end
  end

  # Another user's file is never written to or followed in a directory like /tmp.
  def test_of_another_user
    skip "only root can give a file to another user" unless Process.uid.zero?
    file = ->(to) { File.write(to, "theirs\n", perm: 0o666).then { File.chown(NOBODY, NOBODY, to) && File.chmod(0o666, to) } }
    link = ->(to) { File.symlink("#{@dir}/precious", to).then { File.lchown(NOBODY, NOBODY, to) } }
    fifo = ->(to) { File.mkfifo(to, 0o666).then { File.chown(NOBODY, NOBODY, to) } }
    File.write(path("precious"), "precious\n")
    { "file" => file, "link" => link, "fifo" => fifo }.each do |what, put|
      dir = path("shared-#{what}")
      Dir.mkdir(dir)
      File.chmod(0o1777, dir)
      dump, trace = "#{dir}/dump", "#{dir}/trace"
      [dump, trace].each(&put)
      reader = File.open(dump, File::RDONLY | File::NONBLOCK) if what == "fifo"
      assert_equal "mwrap: dump_path #{dump}: Permission denied\n", dump_and_record(dump, trace).stderr, what
      assert_equal "precious\n", File.read(path("precious"))
      assert_equal ["theirs\n"] * 2, [dump, trace].map { |f| File.read(f) } if what == "file"
      assert_nil reader.read_nonblock(1, exception: false) if reader
      assert_equal [0o600, 0], File.stat("#{trace}.2").then { |s| [s.mode & 0o7777, s.uid] }, what
    ensure
      reader&.close
    end
    # the same file in a directory of one's own
    file.call(path("dump"))
    assert_equal "", dump_and_record(path("dump"), path("trace")).stderr
    assert_equal [0o666, NOBODY], File.stat(path("dump")).then { |s| [s.mode & 0o7777, s.uid] }
    assert_operator File.size(path("dump")), :>, 100
    # one's own link in a shared one
    File.symlink(path("new"), "#{path("shared-file")}/own")
    assert_equal "", dump_and_record("#{path("shared-file")}/own", path("trace2")).stderr
    assert_equal 0o600, mode_of(path("new"))
  end

  def test_a_mode_that_is_none
    ["0", "888", "0700", "640x", "1640", "-60", "", "rw"].each do |mode|
      [{ "LD_PRELOAD" => MwrapTest::TRACKER }, {}].each do |env|
        command = [*(File.join(MwrapTest::ROOT, "bin/mwrap") if env.empty?), MwrapTest::RUBY, "--disable=gems", "-e", "puts 1"]
        run = run_command(*command, env: { "MWRAP" => "dump_path:#{path("none")},file_mode:#{mode}", **env })
        assert_match(/\Amwrap: file_mode: [^\n]+\n\z/, run.stderr, mode)
        assert_match(/\Amwrap: file_mode: "#{mode}" is not a mode for a file: write three octal digits/, run.stderr) unless mode.empty?
        assert_equal env.empty? ? [2, ""] : [0, "1\n"], [run.status.exitstatus, run.stdout], mode
        # the other options stand
        assert_equal env.empty? ? [] : ["600"], Dir[path("none")].map { |file| File.delete(file) && "600" if mode_of(file) == 0o600 }, mode
      end
    end
  end

  def dump_and_record(dump, trace, mode = nil)
    was = File.umask(0)
    options = "dump_path:#{dump},trace_path:#{trace}#{",file_mode:#{mode}" if mode}"
    run_command(MwrapTest::RUBY, "--disable=gems", "-e", "'x' * 1000", env: { "LD_PRELOAD" => MwrapTest::TRACKER, "MWRAP" => options }).tap { |run| assert_success run }
  ensure
    File.umask(was)
  end
end
