#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# A process with a server and MwrapRack has one history, whichever way it is asked. Of MwrapRack
# alone: rack_live.t.
require_relative "lib/racked"
require_relative "lib/watcher"

class RackHistoryTest < Minitest::Test
  include Watching

  ALL = '->(env) { env["HTTP_X_READER"].nil? }' # readers may not POST
  STALE = "the server of this process, which has the history, doesn't answer: try again\n"

  def both(options: "", **rest)
    racked(options: ["socket:#{path}", options].reject(&:empty?).join(","), authorize: ALL, **rest).tap { wait_for_server(path) }
  end

  def by_rack(r, target) = JSON.parse(r.get(target).body)
  def by_socket(target, headers = {}) = JSON.parse(get(target, headers).body)
  def events(history) = history["events"].map { |e| e.values_at("kind", "text") }

  # Threads of the tracker's, by name.
  def own_threads(r) = Dir["/proc/#{r.pid}/task/*/comm"].count { |f| File.read(f) == "mwrap\n" rescue false }

  def test_one_history
    r = both(options: "objects:off")
    h = eventually("two points") { by_rack(r, "/history.json").then { |x| x if x["fine"]["t"].size > 1 } }
    now = by_socket("/history.json")
    assert_equal h["start"], now["start"]
    n = h["fine"]["t"].size
    %w[t rss live].each { |k| assert_equal h["fine"][k], now["fine"][k].first(n), k }
    # an event told to either is known to both
    assert_equal 200, r.post("/annotate?text=by-rack").status
    assert_equal 200, post("/annotate?text=by-socket").status
    assert_equal 200, r.post("/mark").status
    assert_equal [200, 200], [post("/reset").status, r.post("/trim").status]
    [by_rack(r, "/history.json"), by_socket("/history.json")].each do |known|
      assert_equal [%w[annotation by-rack], %w[annotation by-socket], ["mark", ""], ["reset", ""], "trim"], events(known).then { |e| [*e.first(4), e[4][0]] }
    end
    locations = [by_rack(r, "/history/locations.json?from=0&to=1&points=2"), by_socket("/history/locations.json?from=0&to=1&points=2")]
    assert_equal [h["start"]], locations.map { |l| l["start"] }.uniq
    assert_equal(*locations.map { |l| l["rows"] })
    assert_equal(*[by_rack(r, "/verdict.json"), by_socket("/verdict.json")].map { |v| v.values_at("start", "kind", "sentence") })
    assert_equal 1, own_threads(r), "the server's alone"
    assert_equal 1, r.eval("Thread.list.size")
    assert_equal "", r.stderr
  end

  def test_one_stream
    r = both
    w = Watcher.new(connect)
    start = w.upto("hello").last.data["start"]
    code = <<~'RUBY'
      require "socket"
      a, b = UNIXSocket.pair
      status, headers, = APP.call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/live", "rack.hijack?" => true)
      headers["rack.hijack"].call(b)
      $text = +""
      def upto(io, points) = ($text << io.readpartial(65_536) until $text.scan(/^event: point$/).size >= points)
      $io = a
      upto(a, 2)
      [status, $text[/"start":"([^"]*)"/, 1]]
    RUBY
    assert_equal [200, start], r.eval(code)
    # both get each tick, whoever makes it
    w.table(3)
    r.eval("$kept = eval('Array.new(500) { %(k) * 5000 }', nil, '/srv/kept.rb', 3); $text.clear; upto($io, 3); 0")
    assert_includes r.eval("upto($io, 5); $text"), "/srv/kept.rb:3"
    eventually("the same row") { w.table.values.find { |row| row[10] == "/srv/kept.rb:3" && row[5] >= 2_500_000 } }
    # one who polls goes on where the stream is
    first = r.get("/live").body
    assert_equal start, first[/"start":"([^"]*)"/, 1]
    since = first[/"since":"([^"]+)"/, 1]
    refute_includes eventually("the next tick") { r.get("/live?since=#{since}").body.then { |b| b if b.include?("event: point") } }, "hello"
    # all watchers of the process together are eight
    watchers = Array.new(6) { Watcher.new(connect) }
    assert_equal [200] * 6, watchers.map(&:status)
    assert_equal [503, 503], [r.eval("APP.call('REQUEST_METHOD' => 'GET', 'PATH_INFO' => '/live', 'rack.hijack?' => true)[0]"), get("/live").status]
    r.eval("$io.close; 0")
    w.close
    watchers.each(&:close)
    eventually("a place") { Watcher.new(connect).tap(&:close).status == 200 }
    eventually("the end of Ruby's thread") { r.eval("Thread.list.size") == 1 }
    assert_equal "", r.stderr
  end

  # Also right after the fork, when its server isn't there yet.
  def test_a_forked_child
    r = both
    parents = by_rack(r, "/history.json")["start"]
    code = <<~RUBY
      ask = lambda do |target|
        parts = +""
        APP.call("REQUEST_METHOD" => "GET", "PATH_INFO" => target)[2].each { |s| parts << s }
        JSON.parse(parts)
      end
      rd, wr = IO.pipe
      down, up = IO.pipe
      $child = fork do
        up.close
        wr.puts(JSON.generate(ask["/history.json"].merge("pid" => Process.pid)))
        down.read
        exit!
      end
      [wr, down].each(&:close)
      $up = up
      JSON.parse(rd.gets)
    RUBY
    3.times do
      h = r.eval(code)
      assert_equal [["fork", "from process #{r.pid}"]], events(h)
      refute_equal parents, h["start"]
      at = path("s.#{h["pid"]}")
      wait_for_server(at)
      assert_equal h["start"], JSON.parse(get("/history.json", at: at).body)["start"]
      r.eval("$up.close; Process.wait($child); 0")
    end
    assert_equal parents, by_rack(r, "/history.json")["start"]
  end

  # The socket's token isn't asked of clients of the application, nor the reverse.
  def test_access_is_each_ones_own
    File.write(path("token"), "0123456789abcdefX\n", perm: 0o600)
    r = both(options: "token_file:#{path("token")}")
    bearer = { "Authorization" => "Bearer 0123456789abcdefX" }
    assert_equal [401, 401], [get("/verdict").status, post("/annotate?text=no").status]
    assert_equal 200, r.get("/verdict").status
    assert_equal 403, r.get("/verdict", "X-Reader" => "1").status
    assert_equal 200, r.post("/annotate?text=by-rack").status
    assert_equal 200, post("/annotate?text=by-socket", bearer).status
    assert_equal [%w[annotation by-rack], %w[annotation by-socket]], events(by_socket("/history.json", bearer))
    r.finish
    r = racked(options: "socket:#{path("o")}", new: { read_only: true })
    wait_for_server(path("o"))
    assert_equal 403, r.post("/annotate?text=no").status
    assert_equal 200, post("/annotate?text=by-socket", at: path("o")).status
    assert_equal [%w[annotation by-socket]], events(by_rack(r, "/history.json"))
    r = racked(options: "socket:#{path("p")},read_only:1,history:0", authorize: ALL)
    wait_for_server(path("p"))
    assert_equal [403, 403], [r.post("/annotate?text=no").status, post("/annotate?text=no", at: path("p")).status]
    assert_equal [], by_rack(r, "/history/locations.json")["rows"]
  end

  # A machine that doesn't run the server's thread: then only what rests on the history is refused.
  def test_a_server_that_stands_still
    env = { "LD_PRELOAD" => "#{MwrapTest::TRACKER} #{preload("stall")}", "STALL_AT" => "mmap", "STALL_WHILE" => path("stall"), "STALL_SAYS" => path("says") }
    r = both(env: env)
    r.eval(%q(120_000.times { |i| eval("'x' * 700", binding, "/made/up/#{i / 50}.rb", i % 50 + 1) }; 0))
    File.write(path("stall"), "")
    asker = Thread.new { get("/each/0.tsv") }
    eventually("it can't go on") { File.exist?(path("says")) }
    %w[/verdict /history.json /live].each { |target| assert_equal [503, STALE], r.get(target).then { |a| [a.status, a.body] }, target }
    assert_equal 503, r.post("/annotate?text=no").status
    assert_equal [200, 200], [r.get("/each/0.tsv").status, r.get("/").status]
    # a thread that waits has given Ruby's lock away
    eventually("other threads to run meanwhile") do
      status, turns = r.eval("n = 0; t = Thread.new { APP.call('REQUEST_METHOD' => 'GET', 'PATH_INFO' => '/verdict')[0] }; n += 1 while t.alive? && sleep(0.01); [t.value, n]")
      status == 503 && turns > 5
    end
    File.delete(path("stall"))
    assert_equal 200, asker.value.status
    eventually("the history") { r.get("/verdict").status == 200 }
    assert_equal by_socket("/history.json")["start"], by_rack(r, "/history.json")["start"]
    assert_equal "", r.stderr
  end

  def test_after_the_end_of_the_server
    r = both
    start = by_rack(r, "/history.json")["start"]
    since = r.get("/live").body[/"since":"([^"]+)"/, 1]
    # as a daemon closes all that it doesn't know
    r.eval("Dir.children('/proc/self/fd').map(&:to_i).select { |fd| fd >= 1024 }.each { |fd| IO.for_fd(fd).close rescue nil }; 0")
    eventually("its end") { r.stderr.include?("the server is off: the application closed its descriptors") }
    h = eventually("a history of its own") { r.get("/history.json").then { |a| JSON.parse(a.body) if a.status == 200 } }
    refute_equal start, h["start"]
    assert_equal 200, r.post("/annotate?text=alone").status
    last = h["fine"]["t"].last
    eventually("points without requests") do
      sleep 2.5
      by_rack(r, "/history.json")["fine"]["t"].then { |t| t[...-1].any? { |s| s > last } || !(last = t.last) }
    end
    assert_equal "hello", r.get("/live?since=#{since}").body[/\Aevent: (\w+)/, 1]
    assert_equal [%w[annotation alone]], events(by_rack(r, "/history.json"))
  end
end
