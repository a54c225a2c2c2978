#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Requests that can be read in two ways, or are too large: each gets one answer, which
# the client can read whatever it still sends, and the next client is served. Over a Unix socket
# and TCP, byte by byte, from a real process.

require_relative "../lib/racked"

class RequestHazards < Minitest::Test
  HEAD = "Host: localhost\r\nConnection: close\r\n"
  # libmicrohttpd 1.0 itself ends the connection at a NUL in the request line
  RAW_NUL = `pkg-config --modversion libmicrohttpd`.start_with?("0.") ? /\AHTTP\/1\.1 400 / : /\A(HTTP\/1\.1 400 |\z)/
  SCRIPT = <<~'RUBY'
    $stdout.sync = true
    puts :there
    while (line = gets)
      r, w = IO.pipe
      pid = fork { w.write("x") && sleep }
      r.read(1) # it has let go of what it inherited
      puts Dir.children("/proc/#{pid}/fd").filter_map { |fd| File.readlink("/proc/#{pid}/fd/#{fd}") rescue nil }.grep(/socket/).join(" ")
      Process.kill(:KILL, pid)
      Process.wait(pid)
    end
  RUBY

  # A process that serves at both; the block gets each of the two in turn.
  def each_address
    @app = served_ruby(SCRIPT, options: ["listen:127.0.0.1:0"])
    assert_equal "there", @app.hear
    eventually("its port is known") { @app.stderr[/127\.0\.0\.1:\d+/] }
    [path, @app.stderr[/127\.0\.0\.1:(\d+)/, 1].to_i].each do |at|
      yield at
      assert_equal 200, get("/stats.json", at: at).status
      assert_equal 0, stats["resets"], "nothing was done by any of these"
    end
  end

  # Writes all, as far as it goes, and then reads to the end.
  def ask(at, text)
    s = connect(at)
    begin
      s.write(text)
    rescue Errno::EPIPE, Errno::ECONNRESET
      nil
    end
    read_all(s)
  ensure
    s&.close
  end

  # All that comes, up to an end that isn't a reset.
  def read_all(s)
    out = +"".b
    Timeout.timeout(HttpdTest::PATIENCE) { out << s.readpartial(65_536) while true }
  rescue EOFError
    out
  end

  def assert_refused(status, at, text, like = nil)
    said = ask(at, text)
    assert_equal 1, said.scan(%r{^HTTP/1\.1 }).size, "#{text[0, 200].inspect}: #{said[0, 600]}"
    r = parse(said)
    assert_includes [*status], r.status, text[0, 200].inspect
    like ? assert_line(r, status, like) : assert_equal(r.headers["content-length"].to_i, r.body.bytesize)
    assert_equal "close", r.headers["connection"], text[0, 200].inspect
  end

  # --- NULs -----------------------------------------------------------------------------

  def test_nul_bytes_in_the_address
    each_address do |at|
      ["\0", "%00"].each do |nul|
        ["GET /each#{nul}/2000", "POST /mark#{nul}/evil", "POST /reset#{nul}", "GET /#{nul}", "GET #{nul}/each/2000", "HEAD /each#{nul}/2000",
         "GET /at/x#{nul}.rb:1", "GET /at/x.rb:1#{nul}.tsv", "GET /each/0?q=a#{nul}b", "GET /each/0?q#{nul}=b", "GET /each/0?#{nul}", "GET /stats.json?#{nul}",
         "GET /source?location=#{nul}x:1", "GET /mwrap.css#{nul}", "GET /all/each#{nul}/0", "POST /all/reset#{nul}", "GET /family#{nul}",
         "GET /#{@app.pid}/each#{nul}/0", "GET /#{@app.pid}#{nul}/each/0", "GET /each\0HTTP/1.1\0/0", "GET /each#{nul}?#{"a&" * 9000}"].each do |line|
          next if nul == "%00" && line.start_with?("GET %00") # no path at all
          r = ask(at, "#{line} HTTP/1.1\r\n#{HEAD}Content-Length: 0\r\n\r\n")[0, 300]
          assert_match(line.include?("\0") ? RAW_NUL : /\AHTTP\/1\.1 400 /, r, line.inspect[0, 200])
        end
      end
    end
  end

  def test_nul_bytes_in_a_header
    each_address do |at|
      ["Host: localhost\0.evil.example\r\n", "Host: localhost\r\nOrigin: http://localhost\0.evil.example\r\n", "Host: localhost\r\nX: a\0\r\n",
       "Host: localhost\r\nX: \0\r\n", "Host: localhost\r\nX\0Y: a\r\n", "Host: localhost\r\n\0: a\r\n", "Host: localhost\r\nX: \0\0\0\0\r\nY: z\r\n"].each do |headers|
        ["GET /stats.json", "POST /reset"].each { |line| assert_refused 400, at, "#{line} HTTP/1.1\r\n#{headers}Connection: close\r\n\r\n" }
      end
    end
  end

  # --- two readings -----------------------------------------------------------------------

  SMUGGLED = "POST /reset HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"

  def test_heads_that_can_be_read_in_two_ways
    length = "Content-Length: #{SMUGGLED.bytesize}\r\n"
    doubled = ["Content-Length: 0\r\n#{length}", "#{length}Content-Length: 0\r\n", "Content-Length: 0\r\ncontent-length: 0\r\n",
               "#{length}Transfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\n#{length}",
               "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "Transfer-Encoding: gzip, chunked\r\n",
               "Transfer-Encoding: identity\r\n", "Transfer-Encoding: \r\n", "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding : chunked\r\n",
               "Transfer-Encoding:\r\n chunked\r\n", "Content-Length :5\r\n", "X: a\r\n b\r\n", "X: a\rb\r\n", "X: a\x01\r\n", "X: a\x7f\r\n",
               "Origin: http://localhost\r\nOrigin: http://evil.example\r\n",
               "Origin: http://localhost\r\nOrigin: http://localhost\r\n", "Host: localhost\r\n", "HOST: evil.example\r\n",
               "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site\r\n", "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n",
               "Cookie: a=b\r\nCookie: c=d\r\n", "Referer: http://localhost/\r\nReferer: http://localhost/x\r\n", "X-Mwrap-Relayed: /a/\r\nX-Mwrap-Relayed: /b/\r\n"]
    each_address do |at|
      doubled.each do |headers|
        # a body that would be a request of its own to who sees another length; 501 is libmicrohttpd 1.0.10's
        status = headers.match?(/Transfer-Encoding:/) ? [400, 501] : 400
        assert_refused status, at, "POST /trim HTTP/1.1\r\nHost: localhost\r\n#{headers}\r\n#{SMUGGLED}"
        assert_refused status, at, "GET /stats.json HTTP/1.1\r\nHost: localhost\r\n#{headers}\r\n0\r\n\r\n#{SMUGGLED}"
      end
      # a LF alone ends a line for some
      ["GET /stats.json HTTP/1.1\nHost: localhost\r\n\r\n", "GET /stats.json HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n",
       "GET /stats.json HTTP/1.1\r\nHost: localhost\r\n\n", "GET /stats.json HTTP/1.1\nHost: localhost\n\n"].each do |text|
        assert_match(/\AHTTP\/1\.1 400 /, ask(at, text))
      end
      ["/each/0 x", "/each/0\t", "/each/0\x7f", "/each/0?q=\x01"].each do |target|
        assert_match(/\AHTTP\/1\.1 400 /, ask(at, "GET #{target} HTTP/1.1\r\n#{HEAD}\r\n")[0, 300], target.inspect)
      end
      assert_refused 400, at, "POST /trim HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n#{SMUGGLED}"
      ["+5", "-0", "0x5", "5 5", "5, 5", "", "a", "0\rX: y"].each do |n| # libmicrohttpd's own answer
        assert_match(/\AHTTP\/1\.1 400 /, ask(at, "POST /trim HTTP/1.1\r\nHost: localhost\r\nContent-Length: #{n}\r\n\r\n#{SMUGGLED}"))
      end
      assert_match(/\AHTTP\/1\.1 400 /, ask(at, "POST /reset HTTP/1.1\r\n#{HEAD}Origin: http://localhost, http://evil.example\r\n\r\n"))
      # requests that can be read in one way only
      body = "5\r\nhello\r\n0\r\nX: y\r\n\r\n"
      r = ask(at, "POST /trim HTTP/1.1\r\n#{HEAD}Transfer-Encoding: Chunked\r\nX:\r\nAccept: a, b\r\nAccept: c\r\n\r\n#{body}")
      assert_match(/\AHTTP\/1\.1 200 /, r)
      assert_match(/\AHTTP\/1\.1 200 /, ask(at, "POST /trim HTTP/1.1\r\n#{HEAD}Content-Length:  \t5\r\nX: \u00fc\t!\r\n\r\nhello"))
    end
  end

  # --- too much ------------------------------------------------------------------------------

  def test_thousands_of_query_arguments
    each_address do |at|
      [4000, 1000, 101].each do |n|
        query = Array.new(n) { |i| "a#{i}=1" }.join("&")
        ["GET /each/0", "GET /", "POST /reset", "GET /family", "GET /all/each/0", "GET /#{@app.pid}/each/0"].each do |line|
          r = parse(ask(at, "#{line}?#{query} HTTP/1.1\r\n#{HEAD}Content-Length: 0\r\n\r\n"))
          assert_line r, 414, /too many parameters/
        end
      end
      assert_line parse(ask(at, "GET /each/0?#{"&" * 60_000} HTTP/1.1\r\n#{HEAD}\r\n")), 414
      assert_line parse(ask(at, "GET /each/0?#{"=&" * 30_000} HTTP/1.1\r\n#{HEAD}\r\n")), 414
      # one that is long, and as many as there may be
      assert_equal 200, parse(ask(at, "GET /each/0.tsv?q=#{"a" * 60_000} HTTP/1.1\r\n#{HEAD}\r\n")).status
      few = "#{Array.new(98) { |i| "a#{i}=1" }.join("&")}&limit=1&sort=live"
      r = parse(ask(at, "GET /each/0.tsv?#{few} HTTP/1.1\r\n#{HEAD}\r\n"))
      assert_equal [200, 2], [r.status, r.body.lines.size]
    end
  end

  TOO_LARGE = /larger than 1 MiB/

  # A client that writes all of it before it reads, one that waits for 100, and one that does chunks.
  def test_a_body_of_three_megabytes
    body = "x" * 3_000_000
    each_address do |at|
      ["POST /reset", "POST /nothing", "GET /stats.json", "POST /login"].each do |line|
        assert_refused 413, at, "#{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n#{body}", TOO_LARGE
      end
      chunks = "#{"186a0\r\n#{"x" * 100_000}\r\n" * 30}0\r\n\r\n"
      assert_refused 413, at, "POST /reset HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n#{chunks}", TOO_LARGE
      assert_refused 413, at, "POST /reset HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 3000000\r\n\r\n", TOO_LARGE
      assert_refused 413, at, "POST /reset HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999\r\n\r\n#{body}", TOO_LARGE
      # in time for who looks up from writing
      slow = connect(at)
      slow.write("POST /reset HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n")
      assert_line parse(read_all(slow)), 413, TOO_LARGE
      slow.close
      # allowed requests
      assert_equal 200, parse(ask(at, "POST /trim HTTP/1.1\r\n#{HEAD}Content-Length: 1000000\r\n\r\n#{"x" * 1_000_000}")).status
    end
  end

  def test_a_body_of_three_megabytes_by_curl
    File.write(path("body"), "x" * 3_000_000)
    each_address do |at|
      where = at.is_a?(Integer) ? ["http://127.0.0.1:#{at}/reset"] : ["--unix-socket", at, "http://localhost/reset"]
      [[], ["-H", "Expect:"], ["-H", "Transfer-Encoding: chunked"], ["-T", path("body"), "-X", "POST"]].each do |how|
        data = how[0] == "-T" ? [] : ["--data-binary", "@#{path("body")}"]
        r = run_command("curl", "-sS", "--http1.1", "-w", "%{http_code}", *how, *data, *where, env: { "LD_PRELOAD" => nil })
        assert_match(/\A#{TOO_LARGE.source}|\Athe request's body is larger than 1 MiB\n413\z/, r.stdout, how.inspect)
        assert_operator r.stdout, :end_with?, "413"
      end
    end
  end

  def test_heads_that_are_too_large
    each_address do |at|
      assert_refused 431, at, "GET / HTTP/1.1\r\nHost: localhost\r\nX: #{"a" * 300_000}\r\n\r\n"
      assert_refused 431, at, "GET / HTTP/1.1\r\nHost: localhost\r\n#{"a: b\r\n" * 90_000}\r\n"
      assert_refused 414, at, "GET /#{"a" * 300_000} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    end
  end

  def sockets(pid = @app.pid)
    Dir.children("/proc/#{pid}/fd").filter_map { |fd| File.readlink("/proc/#{pid}/fd/#{fd}") rescue nil }.grep(/socket/)
  end

  # It sends for ever: it is cut off, whatever it sends, and a forked child has nothing of it.
  def test_a_client_that_never_ends
    each_address do |at|
      idle = sockets
      clients = Array.new(8) do
        connect(at).tap { |s| s.write("POST /reset HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n") }
      end
      assert_match(/\AHTTP\/1\.1 413 /, clients.last.readpartial(65_536))
      late = sockets - idle
      kept = @app.ask("fork").split
      assert_empty kept & late
      assert_equal 200, get("/stats.json", at: at).status
      eventually("they are cut off") do
        clients.each do |s|
          s.write_nonblock("x" * 100_000, exception: false)
        rescue SystemCallError
          nil
        end
        (sockets - idle).empty?
      end
      clients.each(&:close)
    end
  end

  # --- through Rack ----------------------------------------------------------------------------

  def test_through_rack
    app = racked(mount: "/m", new: { token: "t" })
    ["/m/each%00/2000", "/m/each/0?q=%00", "/m/source?location=a%00:1", "/m/objects%00", "/m/objects/classes?x=%00", "/m/#{app.pid}/each%00/0"].each do |target|
      assert_equal 400, app.get(target).status, target
    end
    assert_equal 400, app.post("/m/mark%00/evil", { "Authorization" => "Bearer t" }).status
    assert_equal 400, app.request("GET", "/m/x", {}, { "PATH_INFO" => "/m/each\0/2000" }).status
    assert_equal 414, app.get("/m/each/0?#{Array.new(4000) { |i| "a#{i}=1" }.join("&")}").status
    token = { "Authorization" => "Bearer t", "Host" => "localhost" }
    assert_equal 400, app.post("/m/reset", { **token, "Origin" => "http://localhost, http://evil.example" }).status
    assert_equal 413, app.post("/m/reset", token, { "CONTENT_LENGTH" => "3000000" }).status
    assert_equal 0, JSON.parse(app.get("/m/stats.json").body)["resets"]
    assert_equal 200, app.post("/m/reset", token, { "CONTENT_LENGTH" => "30" }).status
  end
end
