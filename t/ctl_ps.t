#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# ctl_ps.t - mwrapctl ps: which processes it lists, how they were started, and what it says of those that have no
# server, don't answer, or want a token; top for a cluster.
require_relative "lib/access"
require_relative "lib/clusters"
require_relative "lib/runs_ctl"

class CtlPsTest < Minitest::Test
  include RunsCtl
  include AccessTest

  # Rows of these processes, by PID. Others may run on this machine.
  def ps(*pids, **rest) = rows_of("ps", **rest).select { |r| pids.include?(r["pid"]) }.to_h { |r| [r["pid"], r] }

  APP = "$stdout.sync = true\nKEPT = 'x' * 3_000_000\nputs 'ready'\n$stdin.gets\n"

  def started(**rest) = served_ruby(APP, **rest).tap { |app| assert_equal "ready", app.hear }

  def under(options, *script, env: {})
    env = { "RUBYOPT" => nil, "RUBYLIB" => nil, "MWRAP" => options, "LD_PRELOAD" => TRACKER, **env }
    Served::App.new(RUBY, "--disable=gems", "-I#{LIB}", *script, env: env, err: path("err"), dump_path: nil).tap { |app| @fakes << app }
  end

  def test_a_process
    app = started
    row = ps(app.pid)[app.pid]
    assert_equal ["preload", "answers", path], row.values_at("how", "state", "socket")
    assert_operator row["live_bytes"], :>, 3_000_000
    assert_operator row["rss_bytes"], :>, row["live_bytes"] - starting(tsv)
    assert_match(/ruby.* #{path("app.rb")}\z/, row["command"])
    refute_includes ps(::Process.pid), ::Process.pid
    object = json_of("ps")["rows"].find { |r| r["pid"] == app.pid }
    assert_equal row["socket"], object["socket"]
    # (BEFORE is there if any process was attached to)
    text = ctl("ps", "--text", "-n", "10000").stdout
    assert_match(/\A *PID  HOW +RSS +LIVE(?: +BEFORE)?  SOCKET +COMMAND$/, text)
    assert_match(/^ *#{app.pid}  preload +[\d.]+ MB +[\d.]+ MB(?: +-)?  #{path} +\S*ruby/, text)
  end

  def test_without_a_server
    File.write(path("app.rb"), APP)
    app = under("", path("app.rb"))
    assert_equal "ready", app.hear
    row = ps(app.pid)[app.pid]
    assert_equal ["preload", "no server", "", ""], row.values_at("how", "state", "socket", "live_bytes")
    assert_match(/^ *#{app.pid}  preload +[\d.]+ MB +-(?: +-)?  \(no server\)  /, ctl("ps", "--text", "-n", "10000").stdout)
  end

  def test_one_that_is_stopped
    app = started
    stop(app.pid)
    assert_equal ["no answer", path, ""], ps(app.pid)[app.pid].values_at("state", "socket", "live_bytes")
  ensure
    ::Process.kill(:CONT, app.pid)
  end

  # Mwrap.start in a process that wasn't preloaded. Its options aren't in its environment: its socket is found by its lock.
  def test_one_that_started_tracking
    File.write(path("app.rb"), "$stdout.sync = true\nrequire 'mwrap'\nMwrap.start(#{"socket:#{path}".dump})\nputs 'ready'\n$stdin.gets\n")
    app = under(nil, path("app.rb"), env: { "LD_PRELOAD" => nil })
    assert_equal "ready", app.hear
    wait_for_server(path)
    assert_equal ["started", "answers", path], ps(app.pid)[app.pid].values_at("how", "state", "socket")
    assert_equal app.pid, json_of("report", app.pid.to_s)["pid"], "it is found by its PID, too"
  end

  def test_other_servers
    File.write(path("app.rb"), APP)
    dir = path("sockets")
    apps = [["socket_dir:#{dir}", "#{dir}/%p.sock"], ["listen:127.0.0.1:0", nil], ["socket:rel.sock", "#{@dir}/rel.sock"],
            ["socket:#{path("t.sock")},token_file:#{token_file}", path("t.sock")]].map do |options, socket|
      # where a relative path begins
      app = Dir.chdir(@dir) { under(options, path("app.rb")) }
      assert_equal "ready", app.hear
      [app, socket&.sub("%p", app.pid.to_s)]
    end
    rows = nil
    eventually("all of them to answer") { rows = ps(*apps.map { |app,| app.pid }); rows.values.all? { |r| r["state"] == "answers" } }
    apps.each { |app, socket| assert_equal socket, rows[app.pid]["socket"].sub("/proc/#{app.pid}/cwd", @dir) if socket }
    File.chmod(0o644, token_file) # no token counts then
    assert_equal 4, rows.size
  end

  def test_a_token_that_it_does_not_have
    File.write(path("app.rb"), APP)
    app = under("socket:#{path("t.sock")},token_file:#{token_file}", path("app.rb"))
    assert_equal "ready", app.hear
    wait_for_server(path("t.sock"))
    other = token_file(OTHER, name: "other")
    assert_equal "needs a token", ps_with("--token-file", other)[app.pid]["state"]
  end

  def ps_with(*options) = rows_of("ps", *options).to_h { |r| [r["pid"], r] }

  def test_a_cluster
    app, workers = puma
    list([app.pid, *workers].uniq)
    pids = family.map { |p| p["pid"] }
    rows = ps(*pids)
    assert_equal pids.sort, rows.keys.sort
    rows.each_value { |r| assert_equal ["answers", "preload"], r.values_at("state", "how") }
    assert_equal pids.size, rows.values.map { |r| r["socket"] }.uniq.size, "each its own socket"
    once = ctl("top", path, "--all", "--once", "--interval", "0.2", "-n", "5")
    assert_written once
    assert_match(/^#{pids.size} processes, growth since the reset$/, once.stdout)
    assert_match(/^RSS +[\d.]+ MB/, once.stdout)
    one = ctl("top", "#{path}/#{workers[0]}", "--once", "--interval", "0.2", "-n", "5")
    assert_match(/^pid #{workers[0]}, up /, one.stdout)
  end

  def test_of_another_user
    skip "not as root" unless root?
    app = started
    code = "Process::GID.change_privilege(#{NOBODY}); Process::UID.change_privilege(#{NOBODY}); exec(*ARGV)"
    Dir.mktmpdir("mwrap-c") do |dir|
      File.chmod(0o755, dir)
      Dir.chdir(ROOT) { ["lib/exe/mwrapctl", *Dir["lib/**/*.rb"]].each { |f| FileUtils.mkdir_p(File.dirname("#{dir}/#{f}")); FileUtils.cp(f, "#{dir}/#{f}") } }
      run = run_command(RUBY, "-e", code, RUBY, "--disable=gems", "#{dir}/lib/exe/mwrapctl", "ps")
      assert_written run
      refute_match(/^#{app.pid}\t/, run.stdout)
    end
  end
end
