#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# web/alerts.yml in a real Prometheus: promtool checks the rules and tests them on made-up series, and a server
# scrapes a cluster of workers over TCP with a token. Each alert fires for the faulty worker, and none for the sound one.

require "socket"
require "yaml"
require_relative "lib/served"
require_relative "lib/access"

class PrometheusServerTest < Minitest::Test
  RULES = File.join(MwrapTest::ROOT, "web/alerts.yml")
  ALERTS = YAML.load_file(RULES)["groups"].flat_map { |g| g["rules"] }.filter_map { |r| r["alert"] }

  # A master and a worker of each kind. Each grows its way until the master's stdin ends.
  CLUSTER = <<~'RUBY'
    require "fiddle"
    require "io/wait"
    $stdout.sync = true
    module Native
      POINTER, SIZE, INT = Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_INT
      FUNCTION = ->(name, from, to) { Fiddle::Function.new(Fiddle::Handle::DEFAULT[name], from, to) }
      MALLOC = FUNCTION.("malloc", [SIZE], POINTER)
      REALLOC = FUNCTION.("realloc", [POINTER, SIZE], POINTER)
      FREE = FUNCTION.("free", [POINTER], Fiddle::TYPE_VOID)
      MEMSET = FUNCTION.("memset", [POINTER, INT, SIZE], POINTER)
    end
    KEPT = []
    def sound(i) = 20.times { "y" * 5_000 }
    def leak(i) = KEPT << ("x" * 200_000)
    # blocks that shrink later leave holes which are too small for the next ones
    USED = []
    def fragments(i)
      2.times do
        Native::MEMSET.(block = Native::MALLOC.(40_000), 1, 40_000)
        USED << block
        Native::REALLOC.(USED.shift, 24) while USED.size > 100
      end
    end
    def overrun(i)
      return sound(i) if i != 20
      block = Native::MALLOC.(64)
      Native::MEMSET.(block, 1, 68)
      Native::FREE.(block)
    end
    def full(i) = i < 100 ? 10_000.times { Native::MALLOC.(8) } : sound(i)
    ROLES = %i[sound leak fragments overrun full].freeze
    ends, keep = IO.pipe
    ROLES.each do |role|
      pid = fork do
        keep.close
        start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        (0..).each do |i|
          wait = start + i / 10.0 - Process.clock_gettime(Process::CLOCK_MONOTONIC)
          exit! if ends.wait_readable([wait, 0].max)
          send(role, i)
        end
      end
      puts "#{role} #{pid}"
    end
    $stdin.read
  RUBY

  def promtool(*args, chdir: @dir)
    run_command("promtool", *args, chdir: chdir)
  end

  # --- without a server --------------------------------------------------------------

  def test_promtool_checks_the_rules
    run = promtool("check", "rules", RULES)
    assert run.status.success?, run.stdout + run.stderr
    bad = path("bad.yml")
    File.write(bad, File.read(RULES).sub("mwrap_limit_reached_seconds <", "mwrap_limit_reached_seconds <<"))
    refute promtool("check", "rules", bad).status.success?
  end

  # Series of an hour, a value a minute, and what is to fire at its end.
  CASES = [
    ["MwrapLeak", 30, { 'mwrap_verdict{job="app",kind="grows",location="/a.rb:1"}' => "1x60", 'mwrap_growing{job="app"}' => "1x60" }],
    [nil, 5, { 'mwrap_verdict{job="app",kind="grows",location="/a.rb:1"}' => "1x60", 'mwrap_growing{job="app"}' => "1x60" }],
    [nil, 30, { 'mwrap_verdict{job="app",kind="grows",location="/a.rb:1"}' => "1x60", 'mwrap_growing{job="app"}' => "0x60" }],
    ["MwrapLimitNear", 10, { 'mwrap_limit_reached_seconds{job="app"}' => "7100x60" }],
    [nil, 10, { 'mwrap_limit_reached_seconds{job="app"}' => "7300x60" }],
    ["MwrapFragmentation", 40, { 'mwrap_verdict{job="app",kind="fragmentation",location=""}' => "1x60", 'mwrap_growing{job="app"}' => "1x60" }],
    ["MwrapOverrun", 10, { 'mwrap_overruns_total{job="app"}' => "1x60" }],
    ["MwrapOverrun", 10, { 'mwrap_overruns_total{job="app"}' => "0 0 0 2x60" }],
    [nil, 10, { 'mwrap_overruns_total{job="app"}' => "0x60" }],
    ["MwrapTrackerFull", 10, { 'mwrap_tracker_full{job="app"}' => "1x60" }],
    ["MwrapOomKill", 10, { 'mwrap_group_oom_kills_total{job="app"}' => "3 3 3 4x60" }],
    [nil, 10, { 'mwrap_group_oom_kills_total{job="app"}' => "3x60" }],
    ["MwrapGone", 20, { 'up{job="app"}' => "1 1 1 0x60", 'mwrap_uptime_seconds{job="app"}' => "1 2 3 _x60" }],
    [nil, 20, { 'up{job="other"}' => "1 1 1 0x60" }],
    ["MwrapGone", 20, { 'mwrap_process_answers{job="app",process="7"}' => "0x60" }]
  ].freeze

  def test_promtool_tests_the_rules
    assert_equal ALERTS.sort, CASES.map(&:first).compact.uniq.sort, "each alert has a case"
    ln = path("alerts.yml")
    File.write(ln, File.read(RULES))
    tests = CASES.map do |alert, minute, series|
      { "interval" => "1m", "input_series" => series.map { |s, v| { "series" => s, "values" => v } },
        "promql_expr_test" => [{ "expr" => 'count by (alertname) (ALERTS{alertstate="firing"})', "eval_time" => "#{minute}m",
                                 "exp_samples" => alert ? [{ "labels" => %({alertname="#{alert}"}), "value" => 1 }] : [] }] }
    end
    File.write(path("test.yml"), YAML.dump("rule_files" => ["alerts.yml"], "evaluation_interval" => "1m", "tests" => tests))
    run = promtool("test", "rules", path("test.yml"))
    assert run.status.success?, run.stdout + run.stderr
  end

  # --- a server ------------------------------------------------------------------------

  def free_port = TCPServer.open("127.0.0.1", 0) { |s| s.addr[1] }

  # Its base address. Pauses of the rules are a sixtieth.
  def prometheus(targets, token)
    rules = File.read(RULES).gsub(/^(\s+for: \d+)m$/, '\1s')
    assert_operator rules.scan(/for: \d+s$/).size, :>=, 4, "pauses were found"
    File.write(path("alerts.yml"), rules)
    File.write(path("prometheus.yml"), YAML.dump(
      "global" => { "scrape_interval" => "1s", "scrape_timeout" => "1s", "evaluation_interval" => "1s" },
      "rule_files" => ["alerts.yml"],
      "scrape_configs" => [{ "job_name" => "app", "metrics_path" => "/all/metrics", "authorization" => { "credentials_file" => token },
                             "static_configs" => [{ "targets" => targets }] }]))
    run = promtool("check", "config", path("prometheus.yml"))
    assert run.status.success?, run.stdout + run.stderr
    @port = free_port
    @log = path("prometheus.log")
    @server = spawn("prometheus", "--config.file=#{path("prometheus.yml")}", "--storage.tsdb.path=#{path("data")}",
                    "--web.listen-address=127.0.0.1:#{@port}", %i[out err] => @log)
    eventually("Prometheus to be ready") { get("/-/ready", at: @port).status == 200 rescue false }
  end

  def query(expression)
    r = get("/api/v1/query?query=#{escape(expression)}", at: @port)
    assert_equal 200, r.status, r.body
    JSON.parse(r.body)["data"]["result"]
  end

  def teardown
    Process.kill(:KILL, @server) && Process.wait(@server) if @server
    super
  end

  def least(series) = query("min(min_over_time(#{series}[1h]))").dig(0, "value", 1).to_f

  # [alert, process] of what fires now
  def firing = query('ALERTS{alertstate="firing"}').map { |r| r["metric"].values_at("alertname", "process") }

  def plant_limit(bytes)
    dir = path("limits")
    FileUtils.mkdir_p(["#{dir}/proc/self", "#{dir}/cg"])
    File.write("#{dir}/proc/self/cgroup", "0::/\n")
    File.write("#{dir}/proc/self/mountinfo", "30 22 0:27 / /cg rw - cgroup2 none rw\n")
    File.write("#{dir}/cg/memory.max", "#{bytes}\n")
    File.write("#{dir}/cg/memory.current", "#{bytes / 2}\n")
    dir
  end

  def test_each_alert_fires_for_its_fault
    swift
    app = served_ruby(CLUSTER, options: ["listen:127.0.0.1:0", "token_file:#{token_file}", "memory_max:12m"],
                               env: { "MW_LIMITS_ROOT" => plant_limit(1 << 30) })
    pids = 5.times.to_h { app.hear.split }
    prometheus(["127.0.0.1:#{port_of(app)}"], path("token"))
    want = { "MwrapLeak" => "leak", "MwrapLimitNear" => "leak", "MwrapFragmentation" => "fragments", "MwrapOverrun" => "overrun",
             "MwrapTrackerFull" => "full" }
    all = []
    fired = patiently(240) do
      all |= firing
      want.all? { |alert, role| all.include?([alert, pids[role]]) }
    end
    assert fired, "only #{all.inspect} of #{pids}; #{query("mwrap_verdict").map { |r| r["metric"].values_at("process", "kind", "location") }}; #{query("up")}"
    # a busy machine may keep a process from its answer for the seconds that are minutes in the rules
    gone, others = all.partition { |alert,| alert == "MwrapGone" }
    refute_includes others.map(&:last), pids["sound"], all.inspect
    refute_includes others.map(&:first), "MwrapOomKill"
    gone.each { |_, pid| assert_equal 0, least(pid ? "mwrap_process_answers{process=\"#{pid}\"}" : "up"), pid }
    # a scrape may have come too late for a sample of this moment
    line = eventually("the leak's line") do
      query('mwrap_verdict{kind="grows"}').map { |r| r["metric"] }.find { |m| m["process"] == pids["leak"] }&.fetch("location")
    end
    assert_match(%r{/app\.rb:\d+\z}, line)
    eventually("the same line in the count") { query("mwrap:growing:count").any? { |r| r["metric"]["location"] == line } }
    Process.kill(:STOP, Integer(pids["sound"]))
    eventually("a process that is gone") { firing.include?(["MwrapGone", pids["sound"]]) }
    Process.kill(:CONT, Integer(pids["sound"]))
    app.finish
    eventually("a target that is gone") { firing.any? { |alert, pid| alert == "MwrapGone" && pid.nil? } }
  ensure
    pids&.each_value { |pid| Process.kill(:KILL, Integer(pid)) rescue nil }
  end
end
