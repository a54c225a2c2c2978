#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Processes in other namespaces than mwrapctl, as in containers: another number, other files, other networks, another
# user and other clocks. Then two of them that share a directory.

require "socket"
require_relative "lib/served"
require_relative "lib/runs_ctl"

module NamespacesTest
  include HttpdTest
  include Served
  include RunsCtl

  # Their root is that of the mount namespace: /tmp there is its own.
  ALL = %w[--pid --fork --kill-child --mount-proc --mount --net --time --boottime 5000 --monotonic 5000].freeze
  # (this checkout may lie there, and stays)
  IN_TMP = "mount --bind #{MwrapTest::ROOT} /mnt && mount -t tmpfs none /tmp && mkdir -p #{MwrapTest::ROOT} && " \
           "mount --bind /mnt #{MwrapTest::ROOT} && ip link set lo up 2>/dev/null; exec \"$@\"".freeze
  SCRIPT = "$stdout.sync = true\nKEPT = Array.new(ARGV[0].to_i) { 'x' * 1_000_000 }\nputs Process.pid\n$stdin.each_line { KEPT << 'x' * 1_000_000; puts 'here' }\n"

  def setup
    super
    skip "no namespaces may be made here" unless system("unshare", *ALL, "true", out: File::NULL, err: File::NULL)
  end

  # [the App of unshare, the number of its Ruby here]
  def contained(*flags, options: nil, tmp: true, keeps: 3)
    env = { "RUBYOPT" => nil, "RUBYLIB" => nil, "MWRAP" => nil, "LD_PRELOAD" => nil }
    tracked = options ? ["env", "MWRAP=#{options}", "LD_PRELOAD=#{MwrapTest::TRACKER}"] : []
    shell = tmp ? ["sh", "-c", IN_TMP, "sh"] : []
    # the script's text: its own /tmp may not have the file
    app = Served::App.new("unshare", *flags, *shell, *tracked, MwrapTest::RUBY, "--disable=gems", "-e", SCRIPT, keeps.to_s,
                          env: env, err: path("err#{@fakes.size}"), dump_path: nil)
    @fakes << app
    pid = app.hear or flunk app.stderr
    [app, flags.include?("--pid") ? in_it(app.pid, pid.to_i) : pid.to_i]
  end

  # The number here of the descendant that has this one there
  def in_it(pid, inner)
    found = [pid]
    found.concat(File.read("/proc/#{found.last}/task/#{found.last}/children").split.map(&:to_i)) until found.last == found[-2] || numbers(found.last)[1] == inner
    found.last
  end

  def numbers(pid) = File.read("/proc/#{pid}/status")[/^NSpid:(.*)/, 1].split.map(&:to_i)

  # Each of mwrapctl's commands finds it by the number that it has here.
  def assert_each_command(pid, inner)
    report = nil
    eventually("its server") { (report = ctl("report", pid.to_s, "--json")).status.success? || report.stderr.include?("404") }
    assert_written report
    assert_equal inner, JSON.parse(report.stdout)["pid"]
    file = path("snap#{pid}")
    assert_written ctl("snap", pid.to_s, file)
    assert_written ctl("diff", file, pid.to_s)
    assert_written ctl("flame", pid.to_s, "--format", "json")
    assert_match(/^pid #{inner}, up /, ctl("top", pid.to_s, "--once", "--interval", "0.1").stdout)
    row = rows_of("ps").find { |r| r["pid"] == pid }
    assert_equal "answers", row["state"]
    assert_operator row["live_bytes"], :>, 0
  end
end

class OtherNamespacesTest < Minitest::Test
  include NamespacesTest

  def test_every_command
    _, pid = contained(*ALL, options: "socket:/tmp/s-%p.sock")
    refute_equal pid, numbers(pid).last
    assert_each_command(pid, numbers(pid).last)
  end

  def test_a_shared_directory
    _, pid = contained(*ALL, options: "socket_dir:#{path("dir")}", tmp: false)
    assert_each_command(pid, numbers(pid).last)
  end

  # Here another process has this port.
  def test_a_port_of_another_network
    TCPServer.open("127.0.0.1", 0) do |here|
      _, pid = contained(*ALL, options: "listen:127.0.0.1:#{here.addr[1]}")
      assert_each_command(pid, numbers(pid).last)
    end
  end

  def test_attach
    [[], %w[--user --map-root-user]].each do |more|
      app, pid = contained(*more, *ALL)
      inner = numbers(pid).last
      run = ctl("attach", pid.to_s)
      assert_equal ["", 0], [run.stderr, run.status.exitstatus]
      assert_equal "here", app.ask("")
      assert_each_command(pid, inner)
      stats = JSON.parse(ctl_get(pid))
      assert_operator stats["since"], :<, 300, "its clocks are 5000 seconds ahead"
      assert_written ctl("detach", pid.to_s)
      assert_equal "here", app.ask("")
    end
  end

  # A command that enters a time namespace by exec is still the one that was named.
  def test_the_named_command
    words = %w[unshare --time --boottime 5000 --monotonic 5000]
    run = run_command(MwrapTest::LAUNCHER, *words, "ls", "/proc/self/task", env: { "MWRAP" => "socket:#{path}" })
    assert_equal 2, run.stdout.lines.size, "it has the server's thread: #{run.stderr}"
  end

  # A user namespace shows each user that it has no number for as 65534.
  def test_a_user_without_a_number
    skip "only root can become other users" unless Process.euid.zero?
    File.chmod(0o755, @dir)
    shared = path("shared")
    Dir.mkdir(shared)
    File.chmod(0o1777, shared)
    words = %w[setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-user=65534 --map-group=65534 --keep-caps]
    # a folder that this user may read: the checkout may be closed to it
    Dir[File.join(MwrapTest::LIB, "*.so")].each { |so| FileUtils.cp(so, @dir) }
    tracked = ["env", "MWRAP=socket:#{shared}/s", "LD_PRELOAD=#{path("libmwrap.so")}"]
    skip "no user namespaces may be made here" unless system(*words, "true", out: File::NULL, err: File::NULL)
    app = Served::App.new(*words, *tracked, MwrapTest::RUBY, "--disable=gems", "-e", SCRIPT, "1",
                          env: { "RUBYOPT" => nil }, err: path("err"), dump_path: nil)
    @fakes << app
    assert_equal app.pid.to_s, app.hear, app.stderr
    wait_for_server("#{shared}/s")
    r, w = IO.pipe
    impostor = fork do
      r.close
      Process::Sys.setuid(1234)
      server = UNIXServer.new("#{shared}/s.99")
      File.chmod(0o777, "#{shared}/s.99")
      w.puts("ready")
      w.write(server.accept.read)
      exit!
    end
    w.close
    assert_equal "ready\n", r.gets
    assert_equal [app.pid], JSON.parse(body("/family.json", at: "#{shared}/s"))["processes"].map { |p| p["pid"] }
    Process.kill(:KILL, impostor)
    assert_equal "", r.read, "nothing was sent to it"
  ensure
    if impostor
      Process.kill(:KILL, impostor)
      Process.wait(impostor)
    end
  end

  private

  def ctl_get(pid)
    at = Dir["/proc/#{pid}/root/tmp/mwrap-*/*.sock"].fetch(0)
    get("/stats.json", at: at).body
  end
end

# Two containers share a directory, and a process of neither does, too.
class SharedDirectoryTest < Minitest::Test
  include NamespacesTest

  def test_a_path
    assert_told_apart("socket:#{path("s")}") { |all| all }
  end

  def test_a_directory
    Dir.mkdir(path("d"), 0o700)
    assert_told_apart("socket_dir:#{path("d")}") { |_| Dir[path("d/*.sock")].min }
  end

  private

  # Yields with the path that they share.
  def assert_told_apart(options)
    # each keeps another number of megabytes
    apps = Array.new(3) { |i| contained(*ALL, options: options, tmp: false, keeps: 10 * i + 10) }
    apps << contained("--fork", "--kill-child", options: options, tmp: false, keeps: 40)
    pids = apps.map(&:last)
    namespaces = pids.map { |pid| File.readlink("/proc/#{pid}/ns/pid")[/\d+/] }
    inner = numbers(pids[0]).last
    assert_equal [inner], pids[0, 3].map { |pid| numbers(pid).last }.uniq, "the containers' have one number"
    here = nil
    family = nil
    eventually("all of them to answer") do
      here = yield path("s")
      family = JSON.parse(body("/family.json", at: here))["processes"]
      family.size == 4 && family.all? { |p| p["rss_bytes"].to_i.positive? }
    rescue SystemCallError, Minitest::Assertion
      false
    end
    ids = [*namespaces[0, 3].map { |ns| "#{inner}-#{ns}" }, pids[3]]
    assert_equal ids.map(&:to_s).sort, family.map { |p| p["pid"].to_s }.sort
    assert_each_address(here, inner, ids)
    samples = body("/all/metrics", at: here).scan(/^mwrap_live_bytes\{process="([^"]+)"/).flatten
    assert_equal ids.map(&:to_s).sort, samples.sort
    assert_equal [10, 20, 30, 40], tens(pids.map { |pid| json_of("report", pid.to_s)["live_bytes"] })
    assert_swept(apps, here)
  end

  # Any of them answers for each, by its number alone only if that says which.
  # Beside Ruby's own, the same for each, the first has 10 megabytes.
  def tens(bytes) = bytes.map { |n| ((n - bytes[0]) / 10_000_000.0).round * 10 + 10 }

  def assert_each_address(here, inner, ids)
    sockets = Dir[here.end_with?(".sock") ? "#{File.dirname(here)}/*.sock" : "#{here}*"].reject { |f| f.end_with?(".lock") }
    assert_equal 4, sockets.size
    sockets.each do |at|
      own = stats(at: at)["pid"]
      found = ids.map { |id| JSON.parse(body("/#{id}/stats.json", at: at)) }
      assert_equal [[inner, 10], [inner, 20], [inner, 30], [ids.last, 40]], found.map { |s| s["pid"] }.zip(tens(found.map { |s| s["live_bytes"] }))
      next if own == inner
      reply = get("/#{inner}/stats.json", at: at)
      assert_equal [404, true], [reply.status, reply.body.include?("several processes of this family have this number")]
    end
  end

  # One that was killed is gone from the directory, whatever its number.
  def assert_swept(apps, here)
    count = -> { Dir["#{File.dirname(here)}/*"].count { |f| File.socket?(f) } }
    before = count.call
    apps[2][0].kill
    eventually("its files to go") { count.call == before - 1 }
  end
end
