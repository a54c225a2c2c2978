#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Callers, through MwrapRack: the pages and profiles of stacks_http.t, for a process's own
# memory, below a mount point, and for other processes of the family.
require_relative "lib/racked"
require_relative "lib/go_pprof"
require "zlib"

class RackStacksTest < Minitest::Test
  include GoPprof

  PAGES = { "/flame" => "text/html; charset=utf-8", "/flame.json" => "application/json; charset=utf-8",
            "/stacks.collapsed" => "text/plain; charset=utf-8", "/stacks.speedscope.json" => "application/json; charset=utf-8",
            "/debug/pprof/heap" => "application/octet-stream", "/debug/pprof/allocs" => "application/octet-stream" }.freeze
  # Two methods call its line 3, one four times as often as the other.
  KEEP = <<~'RUBY'
    module Kept; ALL = []; end
    def keep
      Kept::ALL << ("x" * 20_000)
    end
    def from_one(n) = n.times { keep }
    def from_two(n) = n.times { keep }
  RUBY
  LINE = "/srv/keep.rb:3"

  def start(**how)
    r = racked(options: "stacks:64k", **how)
    r.eval("eval(#{KEEP.dump}, TOPLEVEL_BINDING, '/srv/keep.rb', 1); GC.start; GC.disable; from_one(400); from_two(100); 0")
    r
  end

  RACKS.each do |version|
    define_method("test_every_page_under_#{version.tr(".", "_")}") do
      r = start(rack: version, mount: "/MWRAP")
      PAGES.each do |target, type|
        a = r.get("/MWRAP#{target}")
        assert_equal [200, type, "no-store", nil], [a.status, *a.headers.values_at("content-type", "cache-control", "content-disposition")], target
        assert_operator a.body.bytesize, :>, 100, target
        head = r.request("HEAD", "/MWRAP#{target}")
        assert_equal [200, type, ""], [head.status, head.headers["content-type"], head.body], target
        ways = target.start_with?("/flame") ? "live, total, objects or growth" : "live, total or objects: only /flame has growth"
        assert_equal [400, "by: #{ways}\n"], r.get("/MWRAP#{target}?by=x").then { |x| [x.status, x.body] }
        assert_equal [404, "location: no such location\n"], r.get("/MWRAP#{target}?location=/no/such.rb:1").then { |x| [x.status, x.body] }
        assert_equal [405, "GET, HEAD"], r.post("/MWRAP#{target}").then { |x| [x.status, x.headers["allow"]] }
      end
      page = r.get("/MWRAP/flame").body
      %w[/MWRAP/debug/pprof/heap /MWRAP/stacks.collapsed].each { |link| assert_includes page, "href=\"#{link}\"" }
    end
  end

  def test_called_by
    r = start(mount: "/m")
    at = JSON.parse(r.get("/m/at/#{CGI.escape(LINE)}.json").body)
    own, *below = at["called_by"]["rows"]
    assert_equal [0, at["live_bytes"]], own.values_at("depth", "live_bytes")
    assert_equal ["block in from_one", "block in from_two"], below.select { |c| c["depth"] == 1 }.map { |c| bare(c["frames"][0]["name"]) }
    page = r.get("/m/at/#{CGI.escape(LINE)}").body
    assert_includes page, '<table class="called">'
    assert_includes page, "<a href=\"/m/flame?location=#{escape(LINE)}&amp;invert=1\">the flame graph</a>"
  end

  # It has a history of its own.
  def test_growth_of_a_range
    r = racked(options: "stacks:64k", mount: "/m")
    ask = ->(query) { r.get("/m/flame.json?by=growth&location=#{CGI.escape(LINE)}&#{query}").then { |a| JSON.parse(a.body) if a.status == 200 } }
    later = lambda do
      done = JSON.parse(r.get("/m/stats.json").body)["uptime"].floor
      eventually("a later moment of the history") { JSON.parse(r.get("/m/flame.json?by=growth&range=all").body).then { |t| t["range"]["to"].to_i if t["range"]["to"] > done } }
    end
    r.get("/m/flame.json") # the history begins with the first request
    r.eval("eval(#{KEEP.dump}, TOPLEVEL_BINDING, '/srv/keep.rb', 1); GC.disable; from_one(1); 0")
    eventually("the history to begin") { r.get("/m/flame.json?by=growth&range=all").status == 200 }
    start = later.call
    r.eval("from_one(200); 0")
    one = later.call
    r.eval("from_two(300); 0")
    two = later.call
    first, second = [[start, one], [one, two]].map { |from, to| ask.call("from=#{from}&to=#{to}") }
    names = ->(t) { t["names"].grep(/from_/).map { |n| bare(n) }.sort }
    assert_equal [["block in from_one", "from_one"], ["block in from_two", "from_two"]], [first, second].map(&names)
    assert_in_delta 4_000_000, first["total"], 100_000
    assert_in_delta 6_000_000, second["total"], 100_000
    assert_equal 400, r.get("/m/flame.json?by=growth&from=9&to=1").status
    assert_equal 400, r.get("/m/flame.json?by=growth&since=mark").status
  end

  # The bytes are the server's: a gzip file, with its own length, whatever the client accepts.
  def test_profiles_are_gzip_files
    r = start
    [{}, { "Accept-Encoding" => "identity" }].each do |headers|
      a = r.get("/debug/pprof/heap", headers)
      assert_equal [nil, a.body.bytesize.to_s, "\x1f\x8b".b], [a.headers["content-encoding"], a.headers["content-length"], a.body.b[0, 2]]
      assert_operator Zlib.gunzip(a.body).bytesize, :>, 2 * a.body.bytesize
    end
  end

  # Row and profile are of two moments, but the line isn't executed meanwhile.
  def test_the_line_has_what_the_table_has
    r = start
    row = rows(r.get("/each/0.tsv")).find { |l| l.location == LINE }
    in_tmp do |dir|
      File.binwrite("#{dir}/heap", r.get("/debug/pprof/heap").body)
      of_line = raw_samples(pprof("-raw", "#{dir}/heap")).filter_map { |values, _, location| values.first(4) if location == LINE }
      assert_equal [row.allocations, row.total, row.live, row.live_bytes], of_line.transpose.map(&:sum)
      assert_operator of_line.size, :>, 1
      names = top("-cum", "#{dir}/heap").to_h { |_, cum, name| [name[/\w+\z/], cum] }
      assert_operator names.fetch("from_one"), :>, names.fetch("from_two")
    end
    tree = JSON.parse(r.get("/flame.json?location=#{CGI.escape(LINE)}").body)
    assert_equal row.live_bytes, tree["total"]
  end

  # The line's kinds of memory; the kinds together are the table.
  def test_kinds
    r = start
    json = ->(target) { JSON.parse(r.get(target).body) }
    row = json["/each/0.json"].find { |h| h["location"] == LINE }
    assert_match(/\Astring \d+ %\z/, row["kind"])
    assert_operator row["kind_samples"], :>, 50
    part = json["/each/0.json?kind=string"].find { |h| h["location"] == LINE }
    assert_in_delta row["live_bytes"], part["live_bytes"], row["live_bytes"] / 10
    kinds = json["/each/0.json?group=kind&sort=live_bytes"].reject { |h| MwrapTest::STARTING && h["location"] == "(no stack)" } # of its start
    assert_equal "string", kinds[0]["location"]
    assert_operator kinds[0]["live_bytes"], :>=, part["live_bytes"]
    assert_equal MwrapTest::COLUMNS + %w[kind kind_samples], r.get("/each/0.tsv").body.lines[0].chomp.split("\t")
    assert_operator json["/kinds.json"]["rows"].size, :>, 10
  end

  def test_without_the_option
    r = racked(options: "stacks:off")
    refute_includes r.get("/each/0.tsv").body.lines[0], "kind"
    assert_includes r.get("/flame").body.force_encoding("UTF-8"), "No stacks are kept: the option stacks is off."
    assert_equal [0, 0], JSON.parse(r.get("/flame.json").body).values_at("samples", "rate")
  end

  # A profile may take long to make: meanwhile other threads of Ruby run, and theirs is tracked. The garbage of
  # one that runs for seconds is gigabytes if nothing collects it.
  def test_others_run_and_are_tracked_meanwhile
    r = start(rack: nil)
    code = <<~'RUBY'
      GC.enable
      before = Mwrap.total_bytes_allocated
      done = false
      rounds = 0
      t = Thread.new { until done do 'z' * 10_000; rounds += 1; end }
      statuses = Array.new(4) do
        Thread.new do
          Array.new(20) do
            status, _, body = APP.call('REQUEST_METHOD' => 'GET', 'PATH_INFO' => '/debug/pprof/heap')
            body.close if body.respond_to?(:close)
            status
          end
        end
      end.flat_map(&:value)
      done = true
      t.join
      [statuses.tally.to_a, Mwrap.total_bytes_allocated - before >= rounds * 10_000, rounds > 0, Mwrap.quiet { |depth| depth }]
    RUBY
    assert_equal [[[200, 80]], true, true, 1], r.eval(code)
  end

  OURS = %r{/lib/mwrap_rack\.rb|/lib/mwrap/|mwrap_ext\.so|libmwrap_httpd\.so}

  def test_nothing_of_its_own_is_in_the_table
    r = start(rack: nil)
    r.eval("Mwrap.reset; 0")
    PAGES.each_key { |target| r.times(20, target) }
    table = rows(r.get("/each/0.tsv"))
    assert(table.any? { |row| row.location.include?("rack_driver.rb:") }, "its caller is there")
    assert_empty table.select { |row| row.location.match?(OURS) && row.allocations.positive? }
    frames = JSON.parse(r.get("/flame.json?by=total").body).then { |t| t["frames"].map { |f| t["files"][f[1]] if f[1] >= 0 } }
    assert_empty frames.compact.grep(OURS)
  end

  # By its number a process answers as its own server does.
  def test_another_process
    r = racked(mount: "/m", options: "socket:#{path("s")},stacks:64k")
    r.eval("eval(#{KEEP.dump}, TOPLEVEL_BINDING, '/srv/keep.rb', 1); $ready = IO.pipe; 0")
    @worker = r.eval("fork { STDIN.reopen(IO.pipe[0]); from_one(200); $ready[1].syswrite('.'); sleep }.tap { $ready[0].read(1) }")
    eventually("the worker answers") { r.get("/m/#{@worker}/stats.json").status == 200 }
    PAGES.each do |target, type|
      a = r.get("/m/#{@worker}#{target}")
      assert_equal [200, type, nil], [a.status, *a.headers.values_at("content-type", "content-encoding")], target
    end
    tree = JSON.parse(r.get("/m/#{@worker}/flame.json?location=#{CGI.escape(LINE)}").body)
    assert_operator tree["total"], :>=, 4_000_000
    assert_equal 404, r.get("/m/flame.json?location=#{CGI.escape(LINE)}").status, "the line of another process"
    assert_equal tree["total"], rows(r.get("/m/#{@worker}/each/0.tsv")).find { |l| l.location == LINE }.live_bytes
    assert_equal "\x1f\x8b".b, r.get("/m/#{@worker}/debug/pprof/heap").body.b[0, 2]
    assert_equal "\x1f\x8b".b, r.get("/m/#{r.pid}/debug/pprof/heap").body.b[0, 2]
  ensure
    ::Process.kill(:KILL, @worker) if @worker
  end
end
