# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For tests of families with real servers: a cluster of two workers, started by the launcher as
# a user would (family_server.rb), who is in it, and what its processes say of themselves.

require_relative "served"

module Clusters
  GEMS = File.join(MwrapTest::ROOT, ".build/gems-#{RUBY_ENGINE}-#{RUBY_VERSION}-#{RUBY_PLATFORM}")
  SERVER = File.join(__dir__, "family_server.rb")

  def teardown
    super
  ensure
    (@groups || []).each { |pid| Process.kill(:KILL, -pid) rescue nil }
  end

  # A running command under the launcher, with a process group of its own, of which the
  # test's end leaves nothing.
  def launched(*cmd, options: "socket:#{path}", env: {})
    env = { "RUBYOPT" => nil, "RUBYLIB" => nil, "LD_PRELOAD" => nil, "RACK_GEMS" => GEMS, "MWRAP" => options }.merge(env)
    app = Served::App.new(MwrapTest::RUBY, File.join(MwrapTest::ROOT, "lib/exe/mwrap"), *cmd, env: env, err: path("err#{@fakes.size}"), dump_path: nil)
    @fakes << app
    (@groups ||= []) << app.pid
    app
  end

  def server_command(server = "puma", **settings)
    [MwrapTest::RUBY, SERVER, JSON.generate({ server: server, **settings })]
  end

  # A Puma whose workers serve, and their PIDs.
  def puma(options: "socket:#{path}", env: {}, at: path, **settings)
    app = launched(*server_command(**settings), options: options, env: env)
    at = at.call(app) if at.respond_to?(:call)
    wait_for_server(at)
    [app, booted(app, 2)]
  end

  # The PIDs of so many workers that Puma says to have booted from now on.
  def booted(app, n)
    pids = []
    while pids.size < n
      line = app.hear or flunk "it ended: #{app.stderr}"
      pids << Integer($1) if line =~ /- Worker \d+ \(PID: (\d+)\) booted/
    end
    pids.sort
  end

  # --- what the family says -------------------------------------------------------------

  def family(at: path)
    r = get("/family.json", at: at)
    assert_equal 200, r.status, r.body
    JSON.parse(r.body)["processes"]
  end

  # The list as soon as exactly these answer.
  def list(pids, at: path)
    rows = nil
    eventually("#{pids.inspect} to answer") do
      rows = family(at: at) if connects?(at)
      rows && pids.sort == rows.select { |p| p["state"] == "answers" }.map { |p| p["pid"] }
    end
    rows
  end

  def owners(rows) = rows.select { |p| p["owner"] }.map { |p| p["pid"] }

  # A page's table, a Hash for each row, numbers as Integers.
  def table(target, at: path)
    head, *lines = body(target, at: at).split("\n").map { |l| l.split("\t", -1) }
    lines.map do |l|
      raise "#{l.size} fields for #{head.size}: #{l.inspect}" if l.size != head.size
      head.zip(l).to_h { |k, v| [k, k != "location" && v.match?(/\A-?\d+\z/) ? v.to_i : v] }
    end
  end

  def row(rows, like) = rows.find { |r| like === r["location"] } || flunk("no #{like.inspect}")

  # The part of a process's table that it inherited at its fork, by location:
  # [total, allocations]. Only processes' answers to each other have it.
  def fork_baseline(pid, at: path)
    target = "/family/table"
    r = get(target, { "X-Mwrap-Relayed" => "/" }, at: at)
    assert_equal 200, r.status
    lines = r.body.split("\n").map { |l| l.split("\t", -1) }
    assert_equal [["mwrap table 10"], pid], [lines[0], lines[1][0].to_i]
    rows = lines.drop(2).map { |l| [plain(l[29]), l[22].to_i, l[23].to_i] }
    rows.group_by(&:first).transform_values { |same| same.map { |_, *n| n }.transpose.map(&:sum) }
  end

  # A location as the sum has it: without a native one's address, which differs.
  def plain(location) = location.sub(/ \[0x\h+\]\z/, "")

  def alive?(pid)
    !File.read("/proc/#{pid}/stat").match?(/\) [ZX] /)
  rescue SystemCallError
    false
  end
end

Minitest::Test.include(Clusters)
