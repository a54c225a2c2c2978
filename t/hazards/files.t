#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Hazards of the tracker's own files: no room for the dump or the socket, directories
# that go away. The program behaves as it does natively; one line says what is missing.

require_relative "../lib/hazard"
require_relative "../lib/served"

class FileHazards < Minitest::Test
  SCRIPT = "$kept = Array.new(200) { 'k' * 5000 }\nputs 'fine'\nexit 3\n"

  # Runs it with these options: it ends as natively, and one line is as it should be.
  def assert_said(line, options, **rest)
    twice_ruby(SCRIPT, counts: false, dump: nil, options: options, said: line, ends: "exit 3", **rest)
  end

  def test_disk_full_while_dumping
    skip "no /dev/full" unless File.chardev?("/dev/full")
    %w[text tsv csv json].each do |format|
      assert_said(/\Amwrap: dump_path \/dev\/full: No space left on device$/, "dump_path:/dev/full,dump_format:#{format}")
    end
    File.open("/dev/full", "w") do |full|
      assert_said(/\Amwrap: dump_fd \d+: No space left on device$/, "dump_fd:#{full.fileno}", full => full)
    end
    # the application's own output, too
    native = once(MwrapTest::RUBY, "-e", SCRIPT, tracked: false, out: "/dev/full")
    tracked = once(MwrapTest::RUBY, "-e", SCRIPT, tracked: true, out: "/dev/full")
    assert_equal native.visible, tracked.visible
    assert_equal 1, tracked.dumps.size
  end

  # A file system of that many KiB, unmounted when the block ends.
  def tmpfs(kib)
    dir = path("tmpfs")
    FileUtils.mkdir_p(dir)
    system("mount", "-t", "tmpfs", "-o", "size=#{kib}k", "tmpfs", dir, err: File::NULL) or skip "mount is refused here"
    begin
      yield dir
    ensure
      system("umount", dir)
    end
  end

  def test_tiny_file_system_while_dumping
    of_exact_counts
    tmpfs(8) do |dir|
      assert_said(/\Amwrap: dump_path .*: No space left on device$/, "dump_path:#{dir}/dump")
      assert_operator File.size("#{dir}/dump"), :<=, 8192
      # files that are there already stay
      File.write("#{dir}/dump", "precious\n")
      File.write("#{dir}/rest", "x" * 4096)
      assert_said(/No space left on device$/, "dump_path:#{dir}/dump")
      assert File.read("#{dir}/dump").start_with?("precious\n")
    end
  end

  # A socket needs no room for data; if it can be made it works.
  def test_full_file_system_for_the_socket
    tmpfs(8) do |dir|
      File.open("#{dir}/all", "w") { |f| f.syswrite("x" * 4096) while true } rescue Errno::ENOSPC
      app = served_ruby("puts 'up'; $stdout.flush; gets\n", at: "#{dir}/s", wait: false)
      assert_equal "up", app.hear
      eventually("a server, or a word") { File.socket?("#{dir}/s") && connects?("#{dir}/s") || !app.stderr.empty? }
      assert_equal 200, get("/", at: "#{dir}/s").status if app.stderr.empty?
      assert_operator app.stderr.lines.size, :<=, 1
      assert app.finish.success?
      assert_equal ["all"], Dir.children(dir)
    end
  end

  def test_socket_directory_removed
    sub = path("sub")
    Dir.mkdir(sub)
    app = served_ruby(<<~'RUBY', at: "#{sub}/s")
      $stdout.sync = true
      $kept = Array.new(200) { "k" * 5000 }
      while gets
        pid = fork { sleep 1; puts :up; $stdin.gets; exit 4 } # until its server would be there
        Process.wait(pid)
        puts $?.exitstatus
      end
    RUBY
    open = connect("#{sub}/s") # who is in stays in
    FileUtils.rm_rf(sub)
    open.write("GET /stats.json HTTP/1.0\r\n\r\n")
    assert_equal 200, parse(drain(open)).status
    assert_equal "up", app.ask("fork")
    assert_equal "4", app.ask("end")
    assert_equal "", app.stderr, "a child has nothing to say of what its parent had"
    Dir.mkdir(sub)
    File.write("#{sub}/s", "precious")
    assert app.finish.success?
    assert_equal "precious", File.read("#{sub}/s")
    assert_equal "", app.stderr
    assert_equal 2, app.dumps.size
  end

  def test_dump_directory_removed
    script = "Dir.rmdir(File.dirname(ENV['DUMP'])) if ENV['DUMP']\n#{SCRIPT}"
    dump = path("gone/dump")
    Dir.mkdir(path("gone"))
    native = once(MwrapTest::RUBY, "%DIR%/s.rb", files: { "s.rb" => script }, tracked: false)
    tracked = once(MwrapTest::RUBY, "%DIR%/s.rb", files: { "s.rb" => script }, tracked: true, dump: nil,
                   env: { "DUMP" => dump }, options: "dump_path:#{dump}")
    assert_equal native.visible, tracked.visible
    assert_equal ["mwrap: dump_path #{dump}: No such file or directory\n"], tracked.said
    refute File.exist?(path("gone"))
  end

  def test_dump_file_removed_or_renamed_meanwhile
    app = served_ruby("$kept = Array.new(200) { 'k' * 5000 }\nputs 'up'; $stdout.flush; gets\n")
    assert_equal "up", app.hear
    File.write(app.dump_path, "old\n")
    File.rename(app.dump_path, path("rotated"))
    assert app.finish.success?
    assert_equal "old\n", File.read(path("rotated"))
    assert_equal 1, app.dumps.size
  end

  # Whatever fs.protected_symlinks is: another user's link in a directory like /tmp isn't followed;
  # root's and one's own are, and so is any link in a directory that isn't shared.
  def test_a_link_that_another_user_planted
    skip "only root can give a link to another user" unless Process.uid.zero?
    { [0o1777, 65_534] => false, [0o1777, 0] => true, [0o755, 65_534] => true }.each do |(mode, owner), follows|
      shared = path("shared-#{mode}-#{owner}")
      Dir.mkdir(shared)
      File.chmod(mode, shared)
      File.write("#{shared}.file", "precious\n")
      File.symlink("#{shared}.file", "#{shared}/dump")
      File.lchown(owner, owner, "#{shared}/dump")
      twice_ruby(SCRIPT, counts: false, dump: nil, options: "dump_path:#{shared}/dump", ends: "exit 3",
                 said: follows ? nil : /\Amwrap: dump_path .*: Permission denied$/)
      assert_equal follows, File.read("#{shared}.file") != "precious\n", "mode #{mode.to_s(8)}, link of #{owner}"
      assert File.symlink?("#{shared}/dump")
    end
  end

  def test_a_token_that_another_user_planted
    skip "only root can give a file to another user" unless Process.uid.zero?
    { [0o1777, 65_534] => "another user's file", [0o1777, 0] => nil, [0o755, 65_534] => nil }.each do |(mode, owner), wrong|
      shared = path("tokens-#{mode}-#{owner}")
      Dir.mkdir(shared)
      File.chmod(mode, shared)
      File.write("#{shared}/token", "0123456789abcdef\n", perm: 0o600)
      File.chown(owner, owner, "#{shared}/token")
      run = run_command(MwrapTest::LAUNCHER, MwrapTest::RUBY, "-e", "sleep 0.01 until $stderr.stat.size > 0",
                        env: { "MWRAP" => "listen:127.0.0.1:0,token_file:#{shared}/token" }, timeout: 60)
      wrong ? assert_includes(run.stderr, wrong) : assert_match(/\Amwrap: listening on/, run.stderr)
    end
  end

  # --- descriptors that nobody reads ------------------------------------------------------------------

  def write_all(to)
    loop { to.write_nonblock("x" * 4096) }
  rescue IO::WaitWritable
    begin
      loop { to.write_nonblock("x") }
    rescue IO::WaitWritable
      nil
    end
  end

  # The pipe is full at the end, or fills up in the middle, and several processes write to it.
  def test_a_dump_to_a_pipe_that_nobody_reads
    script = "fork { 300.times { |i| eval(%(def m\#{i} = 'x' * 99), nil, %(/\#{'y' * 200}\#{i}.rb)); send(%(m\#{i})) } } \nfork { 'a' * 999 }\nProcess.waitall\nputs 'fine'\nexit 3"
    [true, false].each do |full|
      r, w = IO.pipe
      write_all(w) if full
      run = run_command(MwrapTest::LAUNCHER, MwrapTest::RUBY, "-e", script, env: { "MWRAP" => "dump_fd:#{w.fileno}" }, w => w, timeout: 60)
      assert_equal [3, "fine\n"], [run.status.exitstatus, run.stdout], run.stderr
      assert(run.stderr.lines.all? { |l| l.match?(/\Amwrap: dump_fd \d+: nobody reads it: the dump was cut off$/) }, run.stderr)
      refute_empty run.stderr if full
      [r, w].each(&:close)
    end
  end

  # Each way to a line on stderr, which is a full pipe, one without a reader, or closed.
  SAYS = ["no_such:1", "dump_path:/nonexistent/d", "trace_path:/nonexistent/r", "socket:/nonexistent/s", "dump_every:1,dump_path:/nonexistent/d",
          "listen:127.0.0.1:0,token_file:/nonexistent/t"].freeze

  def test_lines_on_a_stderr_that_takes_none
    SAYS.each do |options|
      { "full" => ->(r, w) { write_all(w) }, "without a reader" => ->(r, _w) { r.close } }.each do |what, prepare|
        r, w = IO.pipe
        prepare.call(r, w)
        env = { "MWRAP" => options, "LD_PRELOAD" => MwrapTest::TRACKER }
        cmd = [MwrapTest::RUBY, "-e", "sleep 0.4; $stdout.syswrite('fine'); exit!(3) if ARGV[0]; exit 3"]
        out, to = IO.pipe
        pid = Process.spawn(env, *cmd, out: to, err: w)
        to.close
        status = wait_for(pid, 30) or flunk "#{options}, stderr #{what}: still running"
        assert_equal [3, "fine"], [status.exitstatus, out.read], "#{options}, stderr #{what}: #{status}"
        [r, w, out].each { |io| io.close unless io.closed? }
      end
      assert_equal 3, run_command(MwrapTest::RUBY, "-e", "exit 3", env: { "MWRAP" => options, "LD_PRELOAD" => MwrapTest::TRACKER }, timeout: 30).status.exitstatus
    end
  end

  def test_the_working_directory_removed
    twice_ruby(<<~'RUBY')
      $kept = Array.new(200) {
        "k" * 5000 # keeps 200 of 5000
      }
      Dir.mkdir("#{ENV["DIR"]}/here")
      Dir.chdir("#{ENV["DIR"]}/here")
      Dir.rmdir("#{ENV["DIR"]}/here")
      begin
        Dir.pwd
      rescue SystemCallError => e
        puts e.class
      end
      Process.wait(fork { exit 4 })
      puts $?.exitstatus
    RUBY
  end
end
