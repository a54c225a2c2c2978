#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# Slow, idle, broken and hostile clients: each costs a connection at most, and a client
# that behaves is served meanwhile.

require_relative "lib/httpd"

class HttpdHostileTest < Minitest::Test
  def rss(pid) = File.read("/proc/#{pid}/status")[/VmRSS:\s+(\d+)/, 1].to_i

  def sockets(pid)
    Dir.children("/proc/#{pid}/fd").count { |fd| File.readlink("/proc/#{pid}/fd/#{fd}").start_with?("socket:") rescue false }
  end

  # Writes what can be written; the server may have closed.
  def push(s, text)
    s.write(text)
    true
  rescue Errno::EPIPE, Errno::ECONNRESET, Errno::ENOTCONN
    false
  end

  def assert_serving
    assert_equal 200, get("/stats.json").status
  end

  def test_garbage
    swift
    serving
    random = Random.new(42)
    texts = ["\0" * 100, "\r\n\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET  /  HTTP/1.1\r\n\r\n",
             "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", " / HTTP/1.1\r\n\r\n",
             "GET x HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", "GET * HTTP/1.1\r\nHost: x\r\n\r\n",
             "GET / HTTP/1.1\r\nHost\r\n\r\n", "GET / HTTP/1.1\r\n: x\r\n\r\n", "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
             "GET /\0/each HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
             "POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
             "POST /reset HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
             "POST /reset HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
             "GET /#{"%" * 1000} HTTP/1.1\r\nHost: x\r\n\r\n", "GET /each/#{"9" * 30_000} HTTP/1.1\r\nHost: x\r\n\r\n",
             *Array.new(19) { random.bytes(random.rand(1..4000)) },
             *Array.new(19) { "GET /#{random.bytes(random.rand(1..60)).delete("\r\n ")} HTTP/1.1\r\nHost: x\r\n\r\n" }]
    assert_operator texts.size, :<, 64, "fewer than there are slots"
    # all at once: the server waits for the rest of those that it takes for incomplete
    conns = texts.map { |text| [text, connect.tap { |s| push(s, text) }] }.each do |_, s|
      s.close_write
    rescue Errno::ENOTCONN
      nil
    end
    conns.each do |text, s|
      answer = drain(s)
      assert(answer.empty? || answer.start_with?("HTTP/1."), "#{text[0, 60].inspect}: #{answer[0, 60].inspect}")
      refute_match(/\AHTTP\/1\.. 2/, answer) unless text.b.start_with?("GET /")
      s.close
    end
    assert_operator conns.count { |text, _| text.start_with?("GET /") }, :>, 10
    assert_serving
  end

  def test_a_header_of_ten_megabytes
    f = serving
    assert_serving
    before = rss(f.pid)
    ["GET / HTTP/1.1\r\nHost: x\r\nX: %s", "GET /%s", "%s"].each do |form|
      s = connect
      push(s, format(form, "a" * 1000))
      1000.times { break unless push(s, "a" * 10_000) }
      answer = drain(s)
      assert_match(/\A(HTTP\/1\.. (4\d\d|5\d\d) |\z)/, answer)
      s.close
    end
    assert_operator rss(f.pid) - before, :<, 3000, "KiB more"
    assert_serving
  end

  def test_many_headers
    serving
    s = connect
    push(s, "GET / HTTP/1.1\r\nHost: x\r\n")
    100_000.times { |i| break unless push(s, "X-#{i}: y\r\n") }
    assert_match(/\A(HTTP\/1\.. (4\d\d|5\d\d) |\z)/, drain(s))
    assert_serving
  end

  def test_two_hundred_idle_connections
    f = serving
    idle = Array.new(200) { connect }
    20.times { assert_serving }
    assert_operator sockets(f.pid), :<=, 64 + 1
    half = Array.new(200) { connect.tap { |s| push(s, "GET /each/0 HTTP/1.1\r\nHost: x\r\n") } }
    20.times { assert_serving }
    assert_operator sockets(f.pid), :<=, 64 + 1
    assert_in_time { newest_keeps_its_connection(half) }
  ensure
    [*idle, *half].each(&:close)
  end

  # When others come, those go that came before it.
  def newest_keeps_its_connection(all)
    all << connect.tap { |s| push(s, "GET /each/0 HTTP/1.1\r\nHost: x\r\n") }
    20.times { assert_serving }
    push(all.last, "Connection: close\r\n\r\n")
    drain(all.last).start_with?("HTTP/1.1 200 ")
  end

  # A client's steps must fit in the 15 seconds that it has for a request: they begin anew if
  # this test itself took too long.
  def assert_in_time
    loop do
      from = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      good = yield
      break assert(good) if good || Process.clock_gettime(Process::CLOCK_MONOTONIC) - from < 14
    end
  end

  def test_connections_are_capped_by_the_applications_limit
    f = serving("nofile=64")
    idle = Array.new(100) { connect }
    5.times { assert_serving }
    assert_operator sockets(f.pid), :<=, 8 + 1
  ensure
    idle&.each(&:close)
  end

  # A byte a second, for ever: dropped, though it never is silent for long.
  def test_trickled_bytes_and_silence
    swift
    f = serving
    trickle, idle, body = connect, connect, connect
    push(trickle, "GET /")
    push(body, "POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
    gone = [trickle, body].to_h { |s| [s, false] }
    eventually("the trickling clients are dropped") do
      gone.each_key { |s| gone[s] ||= !push(s, "x") }
      sleep 0.1
      assert_serving
      gone.values.all?
    end
    assert_equal "", drain(idle)
    eventually("all are closed") { sockets(f.pid) <= 1 }
    assert_equal "copies 0 resets 0 trims 0", f.ask("counts")
  ensure
    [trickle, idle, body].each { |s| s&.close }
  end

  def test_clients_that_close_in_the_middle_of_an_answer
    f = serving("rows=20000")
    40.times do |i|
      s = connect
      push(s, "GET /each/0.tsv HTTP/1.1\r\nHost: x\r\n\r\n")
      s.readpartial(100) if i.odd?
      i % 3 == 0 ? s.setsockopt(:SOCKET, :LINGER, [1, 0].pack("ii")) : nil
      s.close
    end
    assert_serving
    eventually("all are closed") { sockets(f.pid) <= 1 }
    assert_equal "copies 0 resets 0 trims 0", f.ask("counts") # before, it may be about to answer one
  end

  # Answers that nobody reads are bounded: beyond, 503 until the slow ones are dropped.
  def test_readers_that_do_not_read
    f = serving("rows=50000")
    slow = Array.new(40) do
      connect.tap { |s| push(s, "GET /each/0.json HTTP/1.1\r\nHost: x\r\n\r\n") }
    end
    s = eventually("503") do
      r = get("/stats.json")
      assert_includes [200, 503], r.status
      # an early one may have been dropped already for a late one: then there is room for another
      slow << connect.tap { |c| push(c, "GET /each/0.json HTTP/1.1\r\nHost: x\r\n\r\n") } if r.status == 200
      r.status == 503 && r
    end
    assert_line s, 503, /try again/
    assert_equal "1", s.headers["retry-after"]
    assert_operator rss(f.pid), :<, 200_000, "KiB"
    eventually("slow readers are dropped") { get("/stats.json").status == 200 }
  ensure
    slow&.each(&:close)
  end

  def test_pipelining
    serving
    s = connect
    push(s, "GET /each/0.tsv?limit=1 HTTP/1.1\r\nHost: x\r\n\r\n" * 50 +
            "POST /trim HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc" +
            "HEAD /each/0 HTTP/1.1\r\nHost: x\r\n\r\n" \
            "GET /none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" +
            "GET /each/0.tsv HTTP/1.1\r\nHost: x\r\n\r\n")
    assert_equal ["200"] * 52 + ["404"], drain(s).scan(/^HTTP\/1\.1 (\d+)/).flatten
  end

  def test_keep_alive
    serving
    s = connect
    3.times do
      s.write("GET /stats.json HTTP/1.1\r\nHost: x\r\n\r\n")
      head = +""
      head << s.readpartial(1) until head.end_with?("\r\n\r\n")
      assert_match(/\AHTTP\/1.1 200/, head)
      assert JSON.parse(s.read(head[/content-length: (\d+)/i, 1].to_i))
    end
  end

  def test_expect_continue
    f = serving
    s = connect
    s.write("POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n")
    assert_match(/\AHTTP\/1.1 100/, s.readpartial(1000))
    s.write("hello")
    assert_equal 200, parse(drain(s)).status
    assert_equal "copies 0 resets 1 trims 0", f.ask("counts")
  end

  def test_stop_while_clients_are_busy
    f = serving("rows=30000")
    clients = Array.new(20) { connect.tap { |s| push(s, "GET /each/0 HTTP/1.1\r\nHost: x\r\n\r\n") } }
    assert_equal "stopped 1", f.ask("stop")
    assert_empty Dir.children(@dir).grep_v(/log/)
    assert f.finish.success?
    clients.each { |s| drain(s) }
    assert_equal "", f.said
  ensure
    clients&.each(&:close)
  end
end
