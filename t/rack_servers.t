#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# MwrapRack under real servers: each serves the pages, their own links to locations of
# any bytes, POST, large answers, and /live, whose watchers keep no thread of the server's.
require_relative "lib/racked"

module ServerTests
  include MwrapTest
  HOSTILE = ["/srv/plain.rb", "/srv/a b.rb", "/srv/%2e%2f%zz.rb", "/srv/two\nlines\ttab.rb", "/srv/\xff\xfe\xc3.rb", "/srv/\u00e9\u{1f600}.rb",
             "/srv/<script>\"'&amp;.rb", "//evil.example//x.rb", "/srv/x?q=1#f;a=b&c+d.tsv", "(eval at /srv/x.rb:3)"].freeze
  SERVERS = {}
  Minitest.after_run { SERVERS.each_value(&:kill) }

  Stream = Struct.new(:status, :headers, :socket, :text)

  # The server's process and its port; one for all tests of a class.
  def server = SERVERS[self.class] ||= start(self.class::SERVER)

  def start(name)
    # bound here, too, but not listening, for as long as the tests run: nobody else is given this port
    ours = Socket.new(:INET, :STREAM)
    ours.setsockopt(:SOCKET, :REUSEADDR, true)
    ours.bind(Addrinfo.tcp("127.0.0.1", 0))
    port = ours.local_address.ip_port
    env = { "RUBYOPT" => nil, "RUBYLIB" => nil, "MWRAP" => "", "LD_PRELOAD" => TRACKER, "RACK_GEMS" => Racked::GEMS }
    log = Tempfile.new("mwrap-rack")
    app = Served::App.new(RUBY, "-I#{LIB}", File.join(ROOT, "t/lib/rack_serve.rb"), name, port.to_s, env: env, err: log.path, dump_path: nil)
    app.instance_variable_set(:@log, log)
    app.define_singleton_method(:port) { port }
    app.define_singleton_method(:kill) { |signal = :KILL| super(signal); log.close!; ours.close }
    eventually("a server on #{port}: #{app.stderr}") { TCPSocket.open("127.0.0.1", port, &:close) || true rescue nil }
    app
  end

  def ask(method, target, headers = {})
    headers = { "Host" => "localhost:#{server.port}", "Connection" => "close" }.merge(headers)
    headers["Content-Length"] = "0" if method == "POST"
    s = TCPSocket.new("127.0.0.1", server.port)
    s.write("#{method} #{target} HTTP/1.1\r\n#{headers.map { |k, v| "#{k}: #{v}\r\n" }.join}\r\n")
    top, body = drain(s).split("\r\n\r\n", 2)
    flunk "no answer to #{method} #{target}\n#{server.stderr}" unless top
    head = head_of(top)
    body = dechunk(body) if head.headers["transfer-encoding"] == "chunked"
    assert_equal head.headers["content-length"].to_i, body.bytesize, target if head.headers["content-length"] && method != "HEAD"
    HttpdTest::Response.new(head.status, head.headers, body)
  ensure
    s&.close
  end

  def head_of(top)
    lines = top.split("\r\n")
    Stream.new(lines[0].split[1].to_i, lines.drop(1).to_h { |l| l.split(/: */, 2).then { |k, v| [k.downcase, v] } })
  end

  def dechunk(text)
    out = +"".b
    while (m = /\A(\h+)\r\n/n.match(text)) && (n = m[1].hex).positive?
      out << m.post_match[0, n]
      text = m.post_match[n + 2..]
    end
    assert_equal "0", m && m[1], "the last chunk"
    out
  end

  def keep(n, name = "/srv/leak.rb") = ask("GET", "/keep?#{n}&#{name.b.unpack1("H*")}").body

  # GET /live; its text up to a match
  def live(headers = {})
    s = TCPSocket.new("127.0.0.1", server.port)
    s.write("GET /m/live HTTP/1.1\r\nHost: localhost\r\n#{headers.map { |k, v| "#{k}: #{v}\r\n" }.join}\r\n")
    (@streams ||= []) << s
    top = read(s, +"".b, /\r\n\r\n/)
    head, rest = top.split("\r\n\r\n", 2)
    head_of(head).tap { |w| w.socket, w.text = s, rest.b }
  end

  def read(socket, text, match)
    Timeout.timeout(HttpdTest::PATIENCE) { text << socket.readpartial(65_536) until text.match?(match) }
    text
  rescue EOFError, Timeout::Error
    flunk "the stream ended without #{match.inspect}: #{text[0, 300]} ... #{text[-300..]}"
  end

  def teardown
    @streams&.each(&:close)
    super
  end

  # --- for all servers ----------------------------------------------------------------------

  def test_pages
    { "/m/" => "text/html", "/m/each/0" => "text/html", "/m/each/0.json" => "application/json", "/m/stats.json" => "application/json",
      "/m/mwrap.css" => "text/css", "/m/dist/app.js" => "text/javascript", "/m/overruns.tsv" => "text/tab-separated-values" }.each do |target, type|
      r = ask("GET", target)
      assert_equal [200, type], [r.status, r.headers["content-type"][/\A[^;]+/]], target
      head = ask("HEAD", target)
      assert_equal [200, ""], [head.status, head.body], target
    end
    assert_equal [404, 405, 400], ["/m/nope", "/m/reset", "/m/each/x"].map { |t| ask("GET", t).status }
    r = ask("GET", "/m?sort=live")
    assert_equal [302, "/m/?sort=live"], [r.status, r.headers["location"].delete_prefix("http://localhost:#{server.port}")]
    assert_includes ask("GET", "/m/").body, 'data-base="/m"'
  end

  def test_locations_of_any_bytes_by_the_pages_links
    HOSTILE.each { |name| keep(1, name) }
    body = pages("/m/each/0?limit=500") { |target| ask("GET", target).body.b }
    HOSTILE.each do |name|
      link = "/m/at/#{escape("#{name}:7")}"
      assert_includes body, "<a href=\"#{link}\">", name.inspect
      assert_equal 200, ask("GET", link).status, link
      %w[json tsv csv].each { |form| assert_equal 200, ask("GET", "#{link}.#{form}").status, "#{link}.#{form}" }
      shown = "#{name}:7".b.force_encoding("UTF-8").scrub("\ufffd")
      assert_equal shown, JSON.parse(ask("GET", "#{link}.json").body)["location"]
      assert_equal shown, JSON.parse(ask("GET", "/m/at.json?location=#{escape("#{name}:7")}").body)["location"]
    end
    assert_equal 200, ask("GET", "/m/at//srv/plain.rb:7").status, "typed by hand"
  end

  def test_posts
    assert_equal 401, ask("POST", "/m/reset").status
    assert_equal 403, ask("POST", "/m/reset", { "Authorization" => "Bearer t", "Origin" => "http://evil.example" }).status
    r = ask("POST", "/m/trim", { "Authorization" => "Bearer t", "Accept" => "application/json" })
    assert_equal [200, true], [r.status, JSON.parse(r.body)["ok"]]
    origin = "http://localhost:#{server.port}"
    r = ask("POST", "/m/mark", { "Authorization" => "Basic #{["x:t"].pack("m0")}", "Origin" => origin, "Referer" => "#{origin}/m/each/0", "Accept" => "text/html" })
    assert_equal [303, "/m/each/0"], [r.status, r.headers["location"].delete_prefix(origin)]
  end

  def test_a_large_answer
    3000.times.each_slice(1000) { |slice| slice.each { |i| keep(1, "/srv/many/#{"long" * 10}/#{i}.rb") if (i % 10).zero? } }
    r = ask("GET", "/m/each/0.json")
    assert_operator r.body.bytesize, :>, 500_000
    assert_operator JSON.parse(r.body).count { |row| row["location"].start_with?("/srv/many/") }, :>=, 300
  end

  def test_its_own_work_is_not_in_the_table
    200.times { ask("GET", "/m/each/0.tsv") }
    ask("GET", "/m/live") unless self.class::KEEPS
    w = self.class::KEEPS ? live : nil
    read(w.socket, w.text, /event: point/) if w
    assert_equal 200, ask("POST", "/m/reset", { "Authorization" => "Bearer t" }).status
    50.times { ask("GET", "/m/"); ask("GET", "/m/live") unless w }
    w.text.clear if w
    read(w.socket, w.text, /event: point.*event: point/m) if w
    rows = MwrapTest::Dump.tsv(ask("GET", "/m/each/0.tsv").body)[0]
    ours = rows.select { |row| row.location.match?(%r{/lib/mwrap_rack\.rb|/lib/mwrap/|mwrap_ext\.so}) }
    assert_equal [], ours.reject { |row| row.allocations.zero? }
    assert_equal [], ours.map(&:location).grep(%r{/lib/mwrap/rack/})
    assert_operator rows.size, :>, 50
  end
end

# Servers that give connections away
module KeptStreams
  def test_live
    w = live
    assert_equal [200, "text/event-stream", nil], [w.status, w.headers["content-type"], w.headers["content-length"]]
    assert_includes w.headers["cache-control"], "no-transform"
    read(w.socket, w.text, /event: rows.*event: point/m)
    assert w.text.start_with?("event: hello\n")
    refute_includes w.text, '"poll"'
    assert_equal "", server.stderr
    assert_equal JSON.parse(ask("GET", "/m/stats.json").body)["pid"], w.text[/"pid":(\d+)/, 1].to_i
    w.text.clear
    keep(100)
    read(w.socket, w.text, %r{/srv/leak\.rb:7})
  end

  # Eight may watch; the server's threads, fewer than that, are there for others.
  def test_watchers_keep_no_thread
    # of a test before this one somebody may still be about to leave
    streams = Array.new(8) { eventually("a seat") { live.then { |w| w if w.status == 200 } } }
    20.times { assert_equal 200, ask("GET", "/m/stats.json").status }
    r = ask("GET", "/m/live")
    assert_equal [503, "5"], [r.status, r.headers["retry-after"]]
    streams.each { |w| read(w.socket, w.text, /event: point/) }
    threads = -> { keep(0)[/(\d+) threads for watchers/, 1].to_i }
    eventually("one thread for all") { threads.call == 1 }
    # one that doesn't read holds up nobody
    30.times { |i| keep(30, "/srv/slow#{i}.rb") }
    streams.drop(1).each { |w| w.text.clear; read(w.socket, w.text, /event: point.*event: point/m) }
    streams.each { |w| w.socket.close }
    w = eventually("a free seat") { live.then { |l| l if l.status == 200 } }
    w.socket.close
    eventually("the thread's end") { threads.call.zero? }
  end

  # It gets the table in its first event; no row looks as if it were born while it watches.
  def test_the_next_watcher_after_the_last_one_left
    keep(10, "/srv/before.rb")
    w = live
    read(w.socket, w.text, /event: point/)
    w.socket.close
    eventually("the thread's end") { keep(0)[/(\d+) threads for watchers/, 1] == "0" }
    w = eventually("a seat") { live.then { |l| l if l.status == 200 } }
    read(w.socket, w.text, /event: point/)
    rows = w.text[/event: rows\ndata: (.*)/, 1].then { |data| JSON.parse(data.force_encoding("UTF-8")) }
    assert_equal true, rows["all"]
    assert(rows["rows"].any? { |row| row[10] == "/srv/before.rb:7" })
  end

  def test_a_watcher_that_talks_is_dropped
    w = live
    read(w.socket, w.text, /event: point/)
    w.socket.write("GET / HTTP/1.1\r\n\r\n")
    assert_operator drain(w.socket).bytesize, :<, 5_000_000, "it ends"
  end
end

# The others: each answer of /live ends, and says where the next one goes on
module EndingStreams
  def test_live
    keep(10)
    r = ask("GET", "/m/live")
    assert_equal [200, "text/event-stream"], [r.status, r.headers["content-type"]]
    assert_match(/\Aevent: hello\n.*"poll":2000.*event: rows\n.*event: point\n.*event: next\n/m, r.body)
    leak = eventually("the next tick") { (r = ask("GET", "/m/live")).body[%r{\[(\d+),[^\[\]]*"/srv/leak\.rb:7"}, 1] }
    since = r.body[/"since":"([^"]+)"/, 1]
    keep(100)
    again = eventually("the next tick") { ask("GET", "/m/live?since=#{since}").body.then { |b| b if b.match?(/\[#{leak},/) } }
    refute_includes again, "event: hello"
    refute_includes again, "/srv/leak.rb:7", "what is known isn't sent again"
    12.times { assert_equal 200, ask("GET", "/m/live").status }
  end
end

class PumaTest < Minitest::Test
  include ServerTests, KeptStreams
  SERVER = "puma"
  KEEPS = true
end

class PitchforkTest < Minitest::Test
  include ServerTests, KeptStreams
  SERVER = "pitchfork"
  KEEPS = true
end

class WebrickTest < Minitest::Test
  include ServerTests, EndingStreams
  SERVER = "webrick"
  KEEPS = false
end

class OldWebrickTest < Minitest::Test
  include ServerTests, EndingStreams
  SERVER = "webrick-of-rack-2"
  KEEPS = false
end

class FalconTest < Minitest::Test
  include ServerTests, EndingStreams
  SERVER = "falcon"
  KEEPS = false
end
