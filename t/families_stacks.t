#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Callers, for the processes of a family: each by its number, and all of them as one, whose
# frames are put together by their texts. A broken answer of one: t/unit/test_wire_stacks.c.
require_relative "lib/served"
require_relative "lib/go_pprof"
require_relative "lib/two_callers"

class FamiliesStacksTest < Minitest::Test
  include GoPprof

  # Each worker has a caller of its own for the same line.
  APP = TwoCallers::KEEP + <<~RUBY
    def in_first(n) = n.times { keep }
    def in_second(n) = n.times { keep }
    def in_parent(n) = n.times { keep }
    GC.start
    GC.disable
    in_parent(100)
    workers = { first: 300, second: 200 }.map do |name, n|
      fork do
        send(:"in_\#{name}", n)
        puts "\#{name} \#{Process.pid}"
        sleep
      end
    end
    trap(:TERM) { exit! 0 }
    $stdin.gets
    workers.each { |w| Process.kill(:KILL, w) rescue nil }
  RUBY
  LINE = APP.lines.index { |l| l.include?("# the line") } + 1
  PAGES = %w[/flame /flame.json /stacks.collapsed /stacks.speedscope.json /debug/pprof/heap /debug/pprof/allocs].freeze

  def line = "#{path("app.rb")}:#{LINE}"

  # The parent's and the workers' numbers.
  def family(*options)
    app = served_ruby(APP, options: options)
    workers = Array.new(2) { app.hear.split }.to_h
    pids = [app.pid, *workers.values_at("first", "second").map { |pid| Integer(pid) }]
    eventually("three processes that answer") do
      JSON.parse(body("/family.json"))["processes"].count { |p| p["state"] == "answers" } == 3
    end
    pids
  end

  # The row of the line in a table.
  def row(target)
    names, *rows = body(target).lines(chomp: true).map { |l| l.split("\t", -1) }
    rows.map { |r| names.zip(r).to_h }.find { |r| r["location"] == line }
  end

  # Of all three: one that couldn't run for a second and a half is left out.
  def all_at_once(pids)
    eventually("the sum of all") do
      before = row("/all/each/0.tsv")
      value = yield
      value if before && before["processes"] == pids.size.to_s && before == row("/all/each/0.tsv")
    end
  end

  def names_of(tree, name)
    tree["frame"].each_index.select { |i| tree["frame"][i] >= 0 && tree["names"][tree["frames"][tree["frame"][i]][0]].match?(/\A(?:[^ ]*#)?#{Regexp.escape(name)}\z/) }
  end

  def value_of(tree, name) = names_of(tree, name).then { |i| i.empty? ? 0 : tree["value"][i[0]] }

  def test_each_by_its_number
    pids = family("stacks:64k")
    pids.each do |pid|
      PAGES.each { |target| assert_equal 200, get("/#{pid}#{target}").status, target }
      tree = JSON.parse(body("/#{pid}/flame.json?location=#{escape(line)}"))
      assert_equal row("/#{pid}/each/0.tsv")["live_bytes"].to_i, tree["total"]
      r = get("/#{pid}/debug/pprof/heap")
      assert_equal [nil, "\x1f\x8b".b], [r.headers["content-encoding"], r.body.b[0, 2]]
    end
    first = JSON.parse(body("/#{pids[1]}/flame.json?location=#{escape(line)}"))
    assert_operator value_of(first, "in_first"), :>, 3_000_000
    assert_equal 0, value_of(first, "in_second")
  end

  def test_all_as_one
    pids = family("stacks:64k")
    tree = all_at_once(pids) { JSON.parse(body("/all/flame.json?location=#{escape(line)}")).then { |t| t if value_of(t, "in_first") > 0 && value_of(t, "in_second") > 0 } }
    all = row("/all/each/0.tsv")
    assert_equal all["live_bytes"].to_i, tree["total"]
    assert_equal 65_536, tree["rate"]
    # 6 MB by the first, 4 MB by the second, and the parent's 2 MB in each of three
    assert_in_delta 6_000_000, value_of(tree, "in_first"), 2_000_000
    assert_in_delta 4_000_000, value_of(tree, "in_second"), 2_000_000
    assert_in_delta 6_000_000, value_of(tree, "in_parent"), 2_500_000
    assert_equal 1, names_of(tree, "in_parent").size, "the processes' frames are one"

    profile = all_at_once(pids) { body("/all/debug/pprof/heap") }
    in_tmp do |dir|
      File.binwrite("#{dir}/heap", profile)
      values = raw_samples(pprof("-raw", "#{dir}/heap")).filter_map { |v, _, location| v.first(4) if location == line }.transpose.map(&:sum)
      assert_equal all.values_at("allocations", "total", "live", "live_bytes").map(&:to_i), values
    end
    PAGES.each do |target|
      assert_equal 200, get("/all#{target}").status, target
      assert_equal 400, get("/all#{target}?by=x").status, target
      assert_equal 404, get("/all#{target}?location=/no/such.rb:1").status, target
      assert_equal 404, get("/all#{target}x").status, target
    end
    page = body("/all/flame")
    ["data-base=\"/all\"", 'href="/all/debug/pprof/heap"', 'href="/all/flame" aria-current="page">Flame graph</a>'].each { |s| assert_includes page, s }
    assert_includes body("/all/at/#{escape(line)}"), "<a href=\"/all/flame?location=#{escape(line)}&amp;invert=1\">the flame graph</a>"
  end

  # The callers of all three, and the bytes of all three.
  def test_called_by
    pids = family("stacks:64k")
    at = all_at_once(pids) { JSON.parse(body("/all/at/#{escape(line)}.json")) }
    own, *below = at["called_by"]["rows"]
    assert_equal [0, row("/all/each/0.tsv")["live_bytes"].to_i], own.values_at("depth", "live_bytes")
    shares = below.select { |r| r["depth"] == 1 }.to_h { |r| [bare(r["frames"][0]["name"]), r["live_bytes"]] }
    assert_equal ["block in in_first", "block in in_parent", "block in in_second"], shares.keys.sort
    assert_equal at["live_bytes"], shares.values.sum
    assert_in_delta 6_000_000, shares["block in in_first"], 2_000_000
  end

  # The worker and its parent make the same line grow when they are told.
  GROWING = TwoCallers::KEEP + <<~RUBY
    def in_worker(n) = n.times { keep }
    def in_parent(n) = n.times { keep }
    GC.disable
    worker_in, to_worker = IO.pipe
    from_worker, worker_out = IO.pipe
    worker = fork do
      while (n = worker_in.gets)
        in_worker(n.to_i)
        worker_out.puts("done")
      end
    end
    puts worker
    while (line = $stdin.gets)
      who, n = line.split
      if who == "worker"
        to_worker.puts(n)
        from_worker.gets
      else
        in_parent(n.to_i)
      end
      puts "done"
    end
    Process.kill(:KILL, worker)
  RUBY

  # The times are the uptime of the process that answers; each has a history of its own.
  def test_growth_of_a_range
    app = served_ruby(GROWING, options: ["stacks:64k"])
    pids = [app.pid, Integer(app.hear)]
    eventually("two processes that answer") { JSON.parse(body("/family.json"))["processes"].count { |p| p["state"] == "answers" } == 2 }
    here = "location=#{escape(line)}" # the same line of the file
    moment = lambda do
      done = stats["uptime"].floor
      eventually("a later moment of both histories") do
        seen = pids.map { |pid| get("/#{pid}/flame.json?by=growth&range=all") }
        next unless seen.all? { |r| r.status == 200 }
        t = seen.map { |r| JSON.parse(r.body) }
        to = t.map { |x| x["range"]["to"] }
        to.max.to_i if to.min > done
      end
    end
    start = moment.call
    app.ask("worker 200")
    app.ask("parent 100")
    grown = moment.call
    app.ask("worker 300")
    app.ask("parent 300")
    moment.call
    tree = eventually("both") do
      t = JSON.parse(body("/all/flame.json?by=growth&from=#{start}&to=#{grown}&#{here}"))
      t if t["total"] > 5_000_000
    end
    own = pids.sum { |pid| JSON.parse(body("/#{pid}/flame.json?by=growth&from=#{start}&to=#{grown}&#{here}"))["total"] }
    assert_equal own, tree["total"]
    assert_in_delta 6_000_000, tree["total"], 300_000
    assert_equal tree["total"], value_of(tree, "in_worker") + value_of(tree, "in_parent")
    assert_in_delta 4_000_000, value_of(tree, "in_worker"), 1_500_000
    assert_operator tree["samples"], :>, 20
    assert_equal [start, grown], tree["range"].values_at("from", "to")
    now = JSON.parse(body("/flame.json"))
    assert_in_delta now["unix"] - now["now"] + start, tree["range"]["unix_from"], 1
    page = body("/all/flame?by=growth&from=#{start}&to=#{grown}&#{here}")
    assert_includes page, "in_worker"
    assert_match(/<a href="\/all\/flame\?by=growth&amp;location=[^"]*">Since the last reset</, page)
    { "from=x" => /from: seconds/, "from=9&to=2" => /from: must not be later than to/, "since=mark" => %r{since: a mark belongs to one process: use /PID/flame} }.each do |query, like|
      assert_line get("/all/flame.json?by=growth&#{query}"), 400, like
    end
    assert_nil JSON.parse(body("/all/flame.json?by=growth"))["range"]
  end

  # 2 MB of the parent's in each of three, and 10 MB of the workers': one line, one kind.
  def test_kinds_of_all
    pids = family("stacks:64k")
    sums = ->(rows) { %w[live_bytes live total allocations growth].to_h { |c| [c, rows.sum { |h| h[c] }] } }
    all, kinds = all_at_once(pids) do
      found = %w[/all/each/0.json /all/each/0.json?group=kind].map { |target| JSON.parse(body(target)) }
      found if sums[found[0]] == sums[found[1]] # each asks all processes anew
    end
    mine = all.find { |h| h["location"] == line }
    assert_match(/\Astring \d+ %\z/, mine["kind"])
    assert_operator mine["kind_samples"], :>, 100
    assert_equal 3, mine["processes"]
    string = kinds.find { |h| h["location"] == "string" }
    assert_operator string["live_bytes"], :>, 14_000_000
    assert_equal MwrapTest::COLUMNS + %w[processes kind kind_samples], body("/all/each/0.tsv").lines[0].chomp.split("\t")
    part = JSON.parse(body("/all/each/0.json?kind=string")).find { |h| h["location"] == line }
    assert_operator part["live_bytes"], :>, 14_000_000
    assert_includes body("/all/each/0").force_encoding("UTF-8"), '<td class="kind r1">string'
    one = JSON.parse(body("/#{pids[1]}/each/0.json?kind=string")).find { |h| h["location"] == line }
    assert_in_delta 8_000_000, one["live_bytes"], 500_000
  end

  def test_all_without_stacks
    pids = family("stacks:off")
    refute_includes body("/all/each/0.tsv").lines[0], "kind"
    tree = all_at_once(pids) { JSON.parse(body("/all/flame.json?location=#{escape(line)}")) }
    assert_equal [row("/all/each/0.tsv")["live_bytes"].to_i, 0, 0, 1], [tree["total"], tree["samples"], tree["rate"], tree["depth"].max]
    refute_includes body("/all/each/0"), ">Flame graph</a>"
  end
end
