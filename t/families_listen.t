#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# Families that were given a port and no socket: one port, one token, all processes, on every
# address; another one has the port when its owner ends; who isn't of the family keeps apart.

require_relative "lib/access"
require_relative "lib/clusters"
require_relative "lib/prometheus"

class FamiliesListenTest < Minitest::Test
  include Served

  BEARER = { "Authorization" => "Bearer #{AccessTest::TOKEN}" }.freeze
  # Two workers that were forked, and a Ruby that was exec'ed; all sleep.
  APP = <<~'RUBY'
    require "rbconfig"
    $stdout.sync = true
    KEEP = Array.new(300) { "p" * 1000 }
    pids = Array.new(2) { fork { sleep } }
    pids << spawn(RbConfig.ruby, "--disable=gems", "-e", "sleep")
    puts pids.join(" ")
    $stdin.gets
    pids.each { |pid| Process.kill(:KILL, pid) rescue nil }
  RUBY

  def teardown
    super
  ensure
    (@started || []).each { |pid| Process.kill(:KILL, pid) rescue nil }
  end

  def own = path("mwrap-#{Process.uid}")

  # An app, its children's PIDs, its port.
  def app(options, script: APP, port: nil, **rest)
    app = served_ruby(script, env: { "MWRAP" => options, "TMPDIR" => @dir }, wait: false, **rest)
    pids = app.hear.split.map(&:to_i)
    (@started ||= []).concat(pids)
    [app, pids, port || port_of(app)]
  end

  # Until exactly these answer.
  def answer(pids, at:, headers: {})
    becomes(pids.sort) do
      r = get("/family.json", headers, at: at)
      r.status == 200 ? JSON.parse(r.body)["processes"].filter_map { |p| p["pid"] if p["state"] == "answers" }.sort : r.body
    rescue SystemCallError, RuntimeError => e
      e.class # nobody has the port just now
    end
  end

  # --- every way to ask, on an address that isn't loopback ----------------------------------

  def check_every_route(app, pids, at)
    answer([app.pid, *pids], at: at, headers: BEARER)
    gets = %w[/ /stats.json /metrics /family /family.tsv /family.csv /family.json /all/ /all/each/0 /all/each/0.tsv /all/each/0.csv
              /all/each/0.json /all/overruns /all/overruns.json /all/metrics] +
           ["/all/at?location=#{escape(path("app.rb:3"))}", "/all/at/#{escape(path("app.rb:3"))}.tsv"] +
           [app.pid, *pids].flat_map { |pid| ["/#{pid}/", "/#{pid}/each/0.tsv", "/#{pid}/stats.json", "/#{pid}/metrics"] }
    posts = %w[/reset /all/reset /all/trim /all/pause /all/resume] + pids.map { |pid| "/#{pid}/reset" }
    others = ["Bearer wrong-horse-battery-staple", "Bearer ", "Basic #{AccessTest::TOKEN}"]
    [["GET", gets], ["HEAD", gets], ["POST", posts]].each do |method, targets|
      targets.each do |target|
        assert_equal 401, request(method, target, at: at).status, "#{method} #{target}"
        # as Prometheus and a service of Kubernetes name it, and as a stranger's page would
        ["localhost", "10.1.2.3:9180", "app.svc.cluster.local", nil].each do |host|
          assert_equal 200, request(method, target, BEARER.merge("Host" => host || "h"), at: at).status, "#{method} #{target}"
        end
      end
    end
    ["/family.json", "/all/each/0.tsv", "/#{pids[0]}/each/0.tsv"].product(others).each do |target, word|
      becomes(401, "#{target} #{word}") { sleep 0.1; get(target, { "Authorization" => word }, at: at).status }
    end
    assert_equal 403, post("/all/reset", BEARER.merge("Origin" => "http://evil.example"), at: at).status
    assert_equal 404, get("/4194303/", BEARER, at: at).status
    assert_equal 405, post("/family", BEARER, at: at).status
  end

  def check_a_stream(pid, at)
    s = connect(at)
    s.write("GET /#{pid}/live HTTP/1.1\r\nHost: x\r\nAuthorization: #{BEARER["Authorization"]}\r\n\r\n")
    text = +""
    eventually("events") { text << s.readpartial(65_536); text.scan(/^event: point/).size >= 2 }
    assert_includes text, %("pid":#{pid})
    assert_equal 401, get("/#{pid}/live", at: at).status
  ensure
    s&.close
  end

  # With nothing but the port, and with a socket of the family's.
  def test_every_route_on_any_address
    [[], ["socket:#{path}"]].each do |more|
      app, pids, port = app(["listen:0.0.0.0:0", "token_file:#{token_file}", *more].join(","))
      check_every_route(app, pids, port)
      pids.each { |pid| check_a_stream(pid, port) }
      assert_equal 1, app.stderr.lines.size, app.stderr
      app.finish
    end
  end

  # --- doc/prometheus.md's example -------------------------------------------------------------

  def test_prometheus_scrapes_a_cluster_by_one_port_and_one_token
    env = { "TMPDIR" => @dir }
    app = launched(*server_command(check: 3000), options: "listen:0.0.0.0:0,token_file:#{token_file}", env: env)
    port = port_of(app)
    workers = booted(app, 2)
    answer([app.pid, *workers], at: port, headers: BEARER)
    open = BEARER.merge("Accept" => "application/openmetrics-text;version=1.0.0", "Host" => "host:#{port}")
    all = nil
    becomes([app.pid, *workers].sort) do
      r = get("/all/metrics", open, at: port)
      assert_equal 200, r.status
      all = families(r.body, "open")
      all.fetch("mwrap_process_answers").samples.filter_map { |s| s.labels["process"].to_i if Float(s.value) == 1 }.sort
    end
    assert_equal [app.pid, *workers].map(&:to_s).sort, all["mwrap_live_bytes"].samples.map { |s| s.labels["process"] }.sort
    assert_equal 401, get("/all/metrics", at: port).status
    # a worker's own memory is in the sum: a leak in it can be seen
    mine = eventually("all three in the sum") do
      rows = get("/all/each/0.tsv?q=family_server.rb", BEARER, at: port).body.lines.map { |l| l.chomp.split("\t") }
      at = rows[0].index("processes")
      rows.find { |r| r[at] == "2" } if rows.any? { |r| r[at] == "3" }
    end
    assert_operator mine[rows_index("allocations")].to_i, :>=, 120
    assert_equal 1, app.stderr.lines.grep(/mwrap/).size, app.stderr
    app.finish
    refute File.exist?(own)
  end

  def rows_index(name) = %w[total allocations frees].index(name)

  # --- the port's owner ends ---------------------------------------------------------------------

  # A port that no client is given: it must be nobody else's while one process hands it on to the next.
  def own_port
    range = 20_000...File.read("/proc/sys/net/ipv4/ip_local_port_range").to_i
    begin
      TCPServer.open("127.0.0.1", rand(range)) { |server| server.addr[1] }
    rescue Errno::EADDRINUSE
      retry
    end
  end

  def test_another_one_has_the_port_then
    port = own_port
    app, pids, = app("listen:127.0.0.1:#{port}", port: port)
    all = [app.pid, *pids]
    answer(all, at: port)
    while all.size > 1
      owner = JSON.parse(get("/stats.json", at: port).body)["pid"]
      assert_includes all, owner
      owner == app.pid ? app.kill : Process.kill(:KILL, owner)
      all -= [owner]
      answer(all, at: port)
      eventually("no file of #{owner}") { Dir.children(own).grep(/[.]#{owner}(\.lock)?\z/).empty? }
    end
    assert_equal "", app.stderr
  end

  # By exec, with the same PID: another program, the same family, the same port.
  def test_exec_keeps_the_port
    inner = path("inner.rb")
    File.write(inner, "$stdout.sync = true\nputs :inner\n$stdin.gets\n")
    app, pids, port = app("listen:127.0.0.1:0", script: <<~RUBY)
      $stdout.sync = true
      puts fork { sleep }
      $stdin.gets
      exec(#{MwrapTest::RUBY.dump}, "--disable=gems", #{inner.dump})
    RUBY
    answer([app.pid, *pids], at: port)
    app.tell("go")
    assert_equal "inner", app.hear
    answer([app.pid, *pids], at: port)
    assert_equal 1, app.stderr.lines.size, app.stderr
  end

  # The shell of an entrypoint, whose port it is at first.
  def test_a_shell_gives_the_port_to_ruby
    File.write(path("inner.rb"), "$stdout.sync = true\nputs Process.pid\n$stdin.gets\n")
    app = served("sh", "-c", "read x; #{MwrapTest::RUBY} --disable=gems #{path("inner.rb")}; exit 3",
                 env: { "MWRAP" => "listen:127.0.0.1:0", "TMPDIR" => @dir }, wait: false)
    port = port_of(app)
    answer([app.pid], at: port)
    app.tell("go on")
    ruby = Integer(app.hear)
    becomes(ruby) { JSON.parse(get("/stats.json", at: port).body)["pid"] rescue nil }
    answer([app.pid, ruby], at: port)
    assert_equal 3, app.finish.exitstatus
    assert_equal 1, app.stderr.lines.size, app.stderr
  end

  # --- who isn't of the family ----------------------------------------------------------------------

  def test_a_stranger_with_the_same_port_keeps_apart
    one, pids, port = app("listen:127.0.0.1:0")
    answer([one.pid, *pids], at: port)
    first, first_pids, = app("listen:127.0.0.1:#{port}", port: port)
    eventually("its word") { first.stderr.end_with?("\n") }
    assert_equal "mwrap: 127.0.0.1:#{port}: can't listen: Address already in use\n", first.stderr
    answer([one.pid, *pids], at: port)
    first.finish
    assert_equal 1, first.stderr.lines.size, first.stderr
    answer([one.pid, *pids], at: port)
    one.finish
    assert_equal 3, first_pids.size
  end

  def test_two_families_with_free_ports
    a, a_pids, a_port = app("listen:127.0.0.1:0")
    b, b_pids, b_port = app("listen:127.0.0.1:0")
    answer([a.pid, *a_pids], at: a_port)
    answer([b.pid, *b_pids], at: b_port)
    [a, b].each(&:finish)
  end

  # A directory that isn't this user's alone isn't used: the next place is.
  def test_a_directory_that_is_not_ours_alone
    Dir.mkdir(own)
    File.chmod(0o777, own)
    app, pids, port = app("listen:127.0.0.1:0")
    answer([app.pid, *pids], at: port)
    assert_empty Dir.children(own)
    app.finish
    assert_equal 1, app.stderr.lines.size, app.stderr
    Dir.rmdir(own)
    File.symlink(@dir, own)
    app, pids, port = app("listen:127.0.0.1:0")
    answer([app.pid, *pids], at: port)
    app.finish
    assert File.symlink?(own)
  end
end
