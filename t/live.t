#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# GET /live: what travels, to whom, and what it costs when nobody watches; the history.

require_relative "lib/watcher"

class LiveTest < Minitest::Test
  include Watching

  # --- what travels -----------------------------------------------------------

  def test_hello_rows_point
    app = leaking
    app.ask("leak 7")
    w = hello = rows = point = nil
    # another tick comes between the rows and their point if the server couldn't run for a second
    eventually("rows and a point of one tick") do
      w&.close
      w = watch
      hello, rows, point = Array.new(3) { w.event }
      rows.name == "rows" && point.name == "point" && rows.data["t"] == point.data["t"]
    end
    assert_equal [200, "text/event-stream"], [w.status, w.headers["content-type"]]
    assert_equal "no-store", w.headers["cache-control"]
    assert_equal %w[hello rows point], [hello, rows, point].map(&:name)
    assert_equal [app.pid, RUBY_VERSION, "gc", false, true, 1],
                 hello.data.values_at("pid", "ruby", "life_unit", "read_only", "source", "tick")
    assert_includes hello.data["title"], "app.rb"
    assert_match(/\A#{app.pid}-\d+\z/, hello.data["start"])
    assert_equal [true, false], rows.data.values_at("all", "more")
    assert_in_delta Time.now.to_f, hello.data["unix"], 600
    line = rows.data["rows"].find(&location("/app.rb:5"))
    assert_equal 14, line.size
    assert_operator line[4], :>=, 70_000
    assert_equal [path("app.rb").size, "ruby"], line[11, 2]
    assert_equal line[10][0, line[11]], path("app.rb")
    growth = rows.data["rows"].map { |r| r[4] }
    assert_equal growth.sort.reverse, growth, "most growth first"
    assert_equal [0, false, 0, [], nil, 0], point.data.values_at("bt", "paused", "overruns", "warnings", "mark", "resets")
    assert_heap_pages point.data["heap"]
    assert_operator point.data["rss"], :>, 1_000_000
    assert_operator point.data["live"], :>, 70_000
    assert_equal rows.data["t"], point.data["t"]
  end

  def test_only_changes_travel
    app = leaking
    w = watch
    before = w.table.values.find(&location("/app.rb:5"))
    tables_now(w) # what starting and the first request changed has come
    app.ask("leak 3")
    # the reading of the command changes a few rows, too; a tick may come amid the leak
    changed = w.upto("rows") do |d|
      w.take(d)
      w.table(0).values.find(&location("/app.rb:5")).then { |r| r && r[5] >= 30_000 }
    end.last.data
    assert_equal false, changed["all"]
    assert_operator changed["rows"].size, :<, 60
    changed["rows"].each { |r| assert_includes [11, 14], r.size }
    assert_nil before
  end

  def test_as_the_table_says
    app = leaking
    w = watch
    w.table(2)
    app.ask("leak 50")
    tables_now(w)
    rows = json
    ids = w.table.values.to_h { |r| [r[10], r] }
    row = rows.find { |r| r.location.end_with?("/app.rb:5") }
    got = ids.fetch(row.location)
    assert_equal [row.total, row.allocations, row.frees, row.growth, row.live_bytes, row.live], got[1, 6]
    assert_equal rows.map(&:location).sort, ids.keys.sort
  end

  def test_a_second_watcher_sees_the_same
    app = leaking
    first = watch
    first.table(1)
    app.ask("leak 20")
    first.table(2)
    second = watch
    second.table(2)
    app.ask("leak 20")
    one, two = tables_now(first, second).map { |t| t.values.find(&location("/app.rb:5")) }
    assert_equal one, two
    assert_operator one[5], :>=, 400_000
  end

  def test_many_rows_come_in_pieces
    f = serving("rows=9000")
    w = watch
    seen = w.upto("point").select { |e| e.name == "rows" }.map(&:data)
    assert_equal 5, seen.size
    assert_equal [true] + [false] * 4, seen.map { |d| d["all"] }
    assert_equal [true] * 4 + [false], seen.map { |d| d["more"] }
    assert_equal 9000, seen.flat_map { |d| d["rows"].map(&:first) }.uniq.size
    assert_operator seen[0]["rows"].map { |r| r[4] }.min, :>=, seen[4]["rows"].map { |r| r[4] }.max
    f.ask("grow 8123")
    later = w.upto("rows").last.data
    assert_equal [[8123], []], [later["rows"].map(&:first), later["gone"]]
  end

  def test_hostile_names
    serving("rows=9")
    rows = watch.upto("rows").last.data["rows"]
    names = rows.to_h { |r| [r[0], r[10]] }
    assert_equal "/srv/app/\u{fffd}\u{fffd}.rb:4", names[3]
    assert_equal "/srv/app/<b>&\"'.rb:2", names[1]
    assert_equal "/srv/app/t\tn\nr\rb\\.rb:3", names[2]
  end

  # --- who watches --------------------------------------------------------------

  def test_nothing_is_computed_when_nobody_watches
    f = serving("rows=50")
    before = f.ask("taken")
    sleep 2.5
    assert_equal before, f.ask("taken")
    w = watch
    w.upto("point")
    refute_equal before, f.ask("taken")
    w.close
    @watchers.clear
    eventually("the journal is given back") { f.ask("counts").start_with?("copies 0 ") }
    after = f.ask("taken")
    sleep 2.5
    assert_equal after, f.ask("taken")
  end

  # It gets the table, most growth first; no row looks as if it were born while it watches.
  def test_the_next_watcher_after_the_last_one_left
    f = serving("rows=3000")
    2.times do
      w = watch
      w.upto("point")
      w.close
      @watchers.clear
      eventually("the journal is given back") { f.ask("counts").start_with?("copies 0 ") }
    end
    f.ask("grow 2999")
    seen = watch.upto("point")
    assert_equal %w[hello rows rows point], seen.map(&:name)
    rows = seen[1, 2].map(&:data)
    assert_equal [[true, true, 2000], [false, false, 1000]], rows.map { |d| [d["all"], d["more"], d["rows"].size] }
    growth = rows.flat_map { |d| d["rows"].map { |r| r[4] } }
    assert_equal growth.sort.reverse, growth, "most growth first"
  end

  def test_watchers_share_the_snapshots
    f = serving("rows=50")
    first = watch
    first.upto("point")
    all = [first] + Array.new(5) { watch }
    all.each { |w| w.upto("point") }
    # by our clock: the points may have waited for us
    clock = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
    from, before = clock.call, f.ask("taken")[/\d+/].to_i
    seen = Array.new(5) { all.map { |w| w.upto("point").last.data["t"] } }
    taken, to = f.ask("taken")[/\d+/].to_i - before, clock.call
    assert_operator seen.last[0], :>, seen.first[0]
    assert_operator taken, :<=, (to - from).ceil + 4, "one a tick for all six"
  end

  def test_a_ninth_watcher
    serving
    all = Array.new(8) { watch }
    all.each { |w| assert_equal 200, w.status }
    assert_line get("/live"), 503, /\Atoo many live viewers \(limit 8\)/
    assert_equal 200, get("/stats.json").status
    all.pop.close
    @watchers.pop
    w = eventually("a place") { watch.then { |x| x.status == 200 ? x : (@watchers.pop.close; nil) } }
    assert_equal "hello", w.event.name
    all.each { |x| x.upto("point") }
  end

  def test_few_connections_leave_room_for_others
    serving("nofile=32")
    all = Array.new(3) { watch }
    assert_equal [200, 200, 503], all.map(&:status)
    3.times { assert_equal 200, get("/stats.json").status }
    all[0].upto("point")
  end

  def test_other_clients_never_push_a_watcher_out
    serving
    w = watch
    w.upto("point")
    idle = Array.new(200) { connect }
    20.times { assert_equal 200, get("/stats.json").status }
    3.times { w.upto("point") }
  ensure
    idle&.each(&:close)
  end

  # It misses ticks, costs no more memory, and then gets what changed since.
  def test_a_watcher_that_does_not_read
    f = serving("rows=40000")
    lazy, keen = watch, watch
    keen.table
    before = rss(f.pid)
    20.times do |i|
      40.times { |k| f.tell("grow #{100 + k}") } # not one by one: who doesn't read at all is dropped after a minute
      40.times { f.hear }
      keen.table if i % 4 == 0
    end
    assert_operator rss(f.pid) - before, :<, 40_000, "KiB more"
    f.ask("grow 39999")
    lazy.table
    lazy.table(2)
    tables_now(lazy, keen)
    assert_equal keen.table(0).values.sort, lazy.table(0).values.sort
    assert_equal 40_000, lazy.table(0).size
  end

  def rss(pid) = File.read("/proc/#{pid}/status")[/VmRSS:\s+(\d+)/, 1].to_i

  def test_a_watcher_is_not_cut_off_for_its_age
    swift
    serving
    w = watch
    points = Array.new(7) { w.upto("point").last.data["t"] } # longer than a request may take
    assert_equal points.sort.uniq, points
  end

  def test_head_and_post
    serving
    r = request("HEAD", "/live")
    assert_equal [200, "text/event-stream"], [r.status, r.headers["content-type"]]
    assert_line post("/live"), 405
    s = connect
    s.write("GET /live HTTP/1.0\r\n\r\n")
    got = +""
    got << s.readpartial(1000) until got.include?("event: point")
    assert_match(/\AHTTP\/1\.\d 200/, got)
    s.close
  end

  # --- the process --------------------------------------------------------------

  def test_the_end_of_the_process_ends_the_stream
    app = leaking
    w = watch
    w.upto("point")
    app.tell("end")
    nil while w.event
    assert app.finish.success?
    refute File.exist?(path)
  end

  def test_a_restarted_process_is_another
    app = leaking
    start = watch.event.data["start"]
    app.finish
    leaking
    refute_equal start, watch.event.data["start"]
  end

  def test_fork_while_watched
    app = leaking
    w = watch
    w.table
    child = app.ask("fork")[/\d+/].to_i
    beside = "#{path}.#{child}"
    wait_for_server(beside)
    app.ask("leak 5")
    w.table(2)
    theirs = watch(at: beside)
    assert_equal child, theirs.event.data["pid"]
    theirs.table
    assert_a_point_a_minute JSON.parse(body("/history.json", at: beside))
    app.finish # closes the pipe that the child reads
    nil while w.event
    nil while theirs.event
  end

  def test_exec_while_watched
    app = leaking
    w = watch
    w.upto("point")
    app.tell("exec")
    nil while w.event
    stats = eventually("a server of the new program") { get("/stats.json") rescue nil }
    assert_equal [app.pid, "none"], JSON.parse(stats.body).values_at("pid", "ruby_lookup")
    app.kill
  end

  def test_stopped_and_continued
    app = leaking
    w = watch
    w.upto("point")
    Process.kill(:STOP, app.pid)
    # a thread goes on until it sees the signal
    eventually("it is stopped") { Dir["/proc/#{app.pid}/task/*/stat"].all? { |f| File.read(f)[/.*\) (\S)/, 1] == "T" } }
    sleep 2.2
    Process.kill(:CONT, app.pid)
    2.times { w.upto("point") }
    t = JSON.parse(body("/history.json"))["fine"]["t"]
    assert_equal t.sort.uniq, t
    assert_operator t.each_cons(2).map { |a, b| b - a }.max, :>=, 2, "nobody counted meanwhile"
  end

  def test_children_keep_no_descriptor_of_a_watched_server
    f = serving("rows=500")
    stop = false
    all = Array.new(3) { watch }
    threads = all.map { |w| Thread.new { w.event until stop } }
    more = Thread.new { watch.tap { |w| w.upto("point") }.close until stop }
    assert_equal "forks 200 bad 0", f.ask("forks 200")
    stop = true
    [*threads, more].each(&:join)
    assert_equal 200, get("/").status
  ensure
    stop = true
  end

  def test_stop_while_watched
    f = serving("rows=20000")
    all = Array.new(4) { watch }
    all[0].upto("point")
    assert_equal "stopped 1", f.ask("stop")
    assert_match(/\Acopies 0 /, f.ask("counts"))
    nil while all[0].event
    assert_equal "", f.said
  end

  # Nothing of libmicrohttpd's for this, and nothing that a script's numbers could meet.
  def test_descriptors
    f = serving
    w = watch
    w.upto("point")
    w.upto("point") # a second later: whoever asked before is gone
    fds = Dir.children("/proc/#{f.pid}/fd").to_h { |n| [n.to_i, (File.readlink("/proc/#{f.pid}/fd/#{n}") rescue "")] }
    assert_equal 1, fds.count { |_, to| to.include?("eventfd") }
    assert(fds.select { |_, to| to.match?(/eventfd|statm|socket/) }.keys.all? { |n| n >= 512 }, fds.inspect)
    w.close
    eventually("all but the watcher's are there") { Dir.children("/proc/#{f.pid}/fd").size == fds.size - 1 }
  end

  # --- history ---------------------------------------------------------------------

  # Pages that Ruby's objects live in: 16 KiB each up to 3.1, 64 since.
  def assert_heap_pages(bytes)
    assert_operator bytes, :>, 20 * 16_384
    assert_equal 0, bytes % 16_384
  end

  # The first of each minute, once; a test takes less than one unless it is kept from running.
  def assert_a_point_a_minute(history)
    fine, coarse = history.values_at("fine", "coarse").map { |ring| ring["t"] }
    assert_equal fine.uniq { |t| t / 60 }, coarse
  end

  def test_history
    leaking
    h = eventually("three points") { JSON.parse(body("/history.json")).then { |x| x if x["fine"]["t"].size >= 3 } }
    assert_equal [1, 60], [h["fine"]["step"], h["coarse"]["step"]]
    %w[fine coarse].each do |ring|
      columns = h[ring].values_at("t", "rss", "live", "heap")
      assert_equal 1, columns.map(&:size).uniq.size
      assert_equal h[ring]["t"].sort.uniq, h[ring]["t"]
    end
    assert_a_point_a_minute h
    assert(h["fine"]["rss"].all? { |v| v > 1_000_000 && (v % 1024).zero? })
    assert(h["fine"]["live"].all? { |v| v > 1000 })
    h["fine"]["heap"].each { |bytes| assert_heap_pages bytes }
    assert_operator h["now"], :>=, h["fine"]["t"].last
    assert_equal [], h["marks"]
  end
end
