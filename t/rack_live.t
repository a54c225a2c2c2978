#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# /live, the history and the thread of MwrapRack: where no connection can be taken over, as
# Rack's own test servers have none. With real servers: rack_servers.t.
require_relative "lib/racked"

class RackLiveTest < Minitest::Test
  LEAK = "module Kept; ALL = []; end; eval('def keep(n) = n.times { Kept::ALL << (%(x) * 5000) }', TOPLEVEL_BINDING, '/srv/leak.rb', 7); keep(100)"

  def events(a) = a.body.force_encoding("UTF-8").split("\n\n").map { |e| e.match(/\Aevent: (\w+)\ndata: (.*)\z/m).then { |m| [m[1], JSON.parse(m[2])] } }

  def test_live_ends_and_goes_on
    r = racked(mount: "/m")
    r.eval(LEAK)
    a = r.get("/m/live")
    assert_equal "no-store, no-transform", a.headers["cache-control"]
    assert_nil a.headers["content-length"] if a.headers.key?("rack.hijack")
    first = events(a)
    assert_equal %w[hello rows point next], first.map(&:first).chunk_while { |x, y| x == y }.map(&:first)
    assert_equal [2000, r.pid, 0], [first[0][1]["poll"], first[0][1]["pid"], first[0][1]["start"] =~ /\A#{r.pid}-\d+\z/]
    table = first.select { |n,| n == "rows" }.flat_map { |_, d| d["rows"] }
    leak = table.find { |row| row[10] == "/srv/leak.rb:7" } or flunk
    r.eval("keep(50)")
    since = first.last[1]["since"]
    # ticks come while somebody asks
    more = eventually("the next tick") { e = events(r.get("/m/live?since=#{since}")); e if e.any? { |n, d| n == "rows" && d["rows"].any? { |row| row[0] == leak[0] } } }
    refute_includes more.map(&:first), "hello"
    assert_equal %w[point next], more.map(&:first).last(2)
    again = more.select { |n,| n == "rows" }.flat_map { |_, d| d["rows"] }.find { |row| row[0] == leak[0] }
    assert_equal 11, again.size, "what is known isn't sent again"
    assert_operator again[5], :>=, leak[5] + 250_000
    # a place that isn't of this journal begins anew
    ["", "x", "1-1:1", since.sub(/\d+\z/, "0"), since.sub(/\d+\z/, "99999"), "#{since}0000000000000000000000"].each do |bad|
      assert_equal "hello", events(r.get("/m/live?since=#{bad}"))[0][0], bad
    end
  end

  # A connection that a server gives away may be no socket, as with TLS, or be wrapped, as Lint does.
  RACKS.each do |version|
    define_method("test_live_on_a_connection_that_is_no_socket_under_#{version.tr(".", "_")}") do
      code = <<~'RUBY'
        require "stringio"
        env = Rack::MockRequest.env_for("/live").merge("rack.hijack?" => true, "rack.hijack" => proc {}, "rack.logger" => nil).compact
        status, headers, body = STACK.call(env)
        body.each { }
        body.close if body.respond_to?(:close)
        io = StringIO.new
        headers["rack.hijack"].call(io)
        [status, headers["connection"], headers["content-length"], io.closed?, io.string]
      RUBY
      r = racked(rack: version)
      9.times do # and its seat is given back
        status, connection, length, closed, text = r.eval(code)
        assert_equal [200, "close", nil, true], [status, connection, length, closed]
        assert_match(/\Aevent: hello\n.*"poll":2000.*event: rows\n.*event: point\n.*event: next\n[^\n]*\n\n\z/m, text)
      end
      assert_equal "", r.stderr
    end
  end

  # A server that drops an answer keeps no seat for ever, and who hijacks and fails harms nobody.
  def test_seats_that_nobody_takes
    r = racked(rack: nil)
    code = "Array.new(10) { APP.call('REQUEST_METHOD' => 'GET', 'PATH_INFO' => '/live', 'rack.hijack?' => true)[0] }"
    r.eval("Mwrap::Pages::Live.send(:remove_const, :PATIENCE); Mwrap::Pages::Live.const_set(:PATIENCE, 2); 0")
    2.times do |again|
      # all are free together only if nobody takes some of them meanwhile, to see
      sleep 2.5 if again == 1
      assert_equal [200] * 8 + [503] * 2, r.eval(code)
    end
    assert_equal "IOError", r.eval("io = Object.new; def io.write(_) = raise(IOError); def io.close = nil; seat = Mwrap::Pages::Live.const_get(:Seat).new('x') { APP.send(:answer, { 'REQUEST_METHOD' => 'GET', 'PATH_INFO' => '/live' }, nil)[2] }; seat.call(io); 'IOError'")
  end

  # An exception of the application's may come before a Seat is kept: then the GC gives its place back.
  def test_a_watcher_that_was_lost
    r = racked(rack: nil)
    assert_equal [true] * 8 + [false], r.eval("Array.new(9) { Mwrap::Pages::Watcher.new.join('x') }")
    eventually("a place") { r.eval("GC.start; w = Mwrap::Pages::Watcher.new; w.join('x').tap { w.end }") }
    assert_equal ["xy", "y", nil], r.eval("w = Mwrap::Pages::Watcher.new; w.join('xy'); [w.bytes, (w.took(1); w.bytes), (w.took(1000); w.bytes)]")
  end

  def test_history_goes_on_from_the_mount_without_requests
    r = racked(rack: nil)
    assert_equal 1, r.eval("Thread.list.size")
    # the thread is the tracker's: Ruby knows nothing of it
    t = eventually("seconds between two requests") do
      last = JSON.parse(r.get("/history.json").body)["fine"]["t"].last
      sleep 2.5 # no request
      JSON.parse(r.get("/history.json").body)["fine"].then { |f| f if f["t"][...-1].any? { |s| s > last } }
    end
    assert_equal t["t"], t["t"].sort.uniq
    assert(t["rss"].all? { |v| v && v > 1_000_000 })
    assert(t["live"].all? { |v| v && v > 100_000 })
  end

  def test_history_of_locations
    r = racked(rack: nil)
    r.eval("$kept = Array.new(100) { 'x' * 10_000 }; 0")
    answer = eventually("a curve") { JSON.parse(r.get("/history/locations.json?points=10").body).then { |a| a if a["rows"].size > 50 } }
    assert_equal 10, answer["t"].size if answer["to"] >= 9
    assert_operator answer["rows"].sum { |row| row[4].last || 0 }, :>, 500_000
    assert_equal 403, r.post("/annotate?text=x").status
  end

  def test_history_in_a_forked_child
    r = racked(rack: nil)
    eventually("a point") { JSON.parse(r.get("/history.json").body)["fine"]["t"].any? }
    child = <<~RUBY
      rd, wr = IO.pipe
      pid = fork do
        history = lambda do
          parts = +""
          APP.call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/history.json")[2].each { |s| parts << s }
          JSON.parse(parts)
        end
        last = history.call["fine"]["t"].last
        20.times do # no request meanwhile: its own thread goes on
          sleep 2.5
          break if history.call["fine"]["t"][...-1].any? { |s| s > last }
          last = history.call["fine"]["t"].last
        end
        wr.write(JSON.generate(history.call.merge("after" => last)))
        exit!
      end
      wr.close
      rd.read.tap { Process.wait(pid) }
    RUBY
    h = JSON.parse(r.eval(child))
    assert(h["fine"]["t"][...-1].any? { |s| s > h["after"] }, h["fine"]["t"].inspect)
    assert_equal [["fork", "from process #{r.pid}"]], h["events"].map { |e| e.values_at("kind", "text") }
    refute_equal JSON.parse(r.get("/history.json").body)["start"], h["start"]
  end

  def test_the_thread_ends_when_nobody_asks
    r = racked(rack: nil)
    assert_equal 1, r.eval("Thread.list.size")
    # in one go: it stays for ten seconds only
    live = "APP.call('REQUEST_METHOD' => 'GET', 'PATH_INFO' => '/live')[2].close"
    eventually("its name, which it gives itself") { r.eval("#{live}; (Thread.list - [Thread.main]).map(&:name)") == ["mwrap"] }
    eventually("its end") { r.eval("Thread.list.size") == 1 }
    assert_equal 2, r.eval("#{live}; Thread.list.size")
    assert_equal "hello", events(r.get("/live"))[0][0]
    r.eval("(Thread.list - [Thread.main]).each(&:kill).each(&:join); 0")
    assert_equal %w[hello next], events(r.get("/live")).map(&:first).values_at(0, -1)
    assert_equal 2, r.eval("#{live}; Thread.list.size"), "a killed one is made anew"
    assert_equal "", r.stderr
  end

  # Once the last place to go on from is forgotten, the next one gets the table in its first event.
  def test_the_next_one_who_asks_after_the_last_one_left
    r = racked(rack: nil)
    r.eval(LEAK)
    since = events(r.get("/live")).last[1]["since"]
    eventually("the end of the thread") { r.eval("Thread.list.size") == 1 }
    seen = events(r.get("/live?since=#{since}"))
    hello, *parts, point, after = seen.map(&:first)
    assert_equal [%w[hello rows], %w[point next]], [[hello, *parts.uniq], [point, after]]
    # the first 2,000 rows, and more if Ruby has them
    parts = seen[1...-2].map(&:last)
    assert_equal [true] + [false] * (parts.size - 1), parts.map { |part| part["all"] }
    assert_equal [true] * (parts.size - 1) + [false], parts.map { |part| part["more"] }
    rows = parts.flat_map { |part| part["rows"] }
    growth = rows.map { |row| row[4] }
    assert_equal growth.sort.reverse, growth, "most growth first"
    assert(rows.any? { |row| row[10] == "/srv/leak.rb:7" })
    refute_equal since, seen.last[1]["since"]
  end

  # In a forked child all begins anew, whatever the parent's thread was in the middle of.
  def test_a_forked_child_has_its_own
    r = racked(rack: nil)
    r.eval('3000.times { |i| eval("def m#{i} = nil", nil, "/srv/file#{i}.rb", i + 1) }; 0')
    start = events(r.get("/live"))[0][1]["start"]
    code = <<~'RUBY'
      busy = Array.new(3) { |n| Thread.new { loop { APP.call('REQUEST_METHOD' => 'GET', 'PATH_INFO' => %w[/live /history.json /stats.json][n])[2].each { } } } }
      sleep 0.01 * (CHILD % 5)
      rd, wr = IO.pipe
      pid = fork do
        got = Array.new(2) { s = +''; APP.call('REQUEST_METHOD' => 'GET', 'PATH_INFO' => '/live')[2].each { |t| s << t }; s[/"start":"([^"]*)"/, 1] }
        rss = []; APP.call('REQUEST_METHOD' => 'GET', 'PATH_INFO' => '/stats.json')[2].each { |t| rss << t }
        statm = Dir['/proc/self/fd/*'].filter_map { |f| File.readlink(f) rescue nil }.grep(/statm/)
        wr.write(JSON.generate([Process.pid, got, JSON.parse(rss.join)['pid'], Thread.list.size, statm]))
        exit!
      end
      wr.close
      busy.each(&:kill).each(&:join)
      JSON.parse(rd.read).tap { Process.wait(pid) }
    RUBY
    # one at a time: an answer is waited for so long only
    children = Array.new(20) { |i| r.eval(code.sub("CHILD", i.to_s)) }
    children.each do |pid, starts, stats_pid, threads, statm|
      assert_equal 1, starts.uniq.size
      assert_match(/\A#{pid}-\d+\z/, starts[0])
      assert_equal [pid, 2, ["/proc/#{pid}/statm"]], [stats_pid, threads, statm]
    end
    assert_equal [start], [events(r.get("/live"))[0][1]["start"]]
  end
end
