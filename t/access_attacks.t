#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# Attempts that must fail, at a server that has what it needs to refuse them; each beside
# one that must not, so that nothing is refused by accident.

require_relative "lib/access"
require_relative "lib/served"

class AccessAttacksTest < Minitest::Test
  # --- Unix sockets -----------------------------------------------------------------

  # As nobody where the tests run as root; elsewhere the file's mode is all that there is to see.
  def test_another_user_on_the_socket
    File.chmod(0o755, @dir)
    serving
    d = fake("socket_dir=#{path("d")}")
    inside = path("d/#{d.pid}.sock")
    wait_for_server(inside)
    assert_equal [0o600, 0o700, 0o600], [path, path("d"), inside].map { |p| File.stat(p).mode & 0o777 }
    assert_equal [200, 200], [path, inside].map { |at| status_at(at) }
    return unless root?
    nobody = ->(&block) { as_user(AccessTest::NOBODY, AccessTest::NOBODY, &block) }
    assert_equal "Errno::EACCES", nobody.() { status_at(path) }
    assert_equal "Errno::EACCES", nobody.() { status_at(inside) }
    assert_equal "Errno::EACCES", nobody.() { File.read("#{path}.lock") }
    assert_equal "Errno::EACCES", nobody.() { Dir.children(path("d")) }
    assert_equal "Errno::EPERM", nobody.() { File.chmod(0o666, path) }
    # by datagram, or by a path that leads there
    assert_equal "Errno::EACCES", nobody.() { status_at(File.join(@dir, "d/../s")) }
    assert_equal "Errno::EACCES", nobody.() { status_at("/proc/#{@fakes[0].pid}/root#{path}") }
    # the control: he can connect where he may
    File.chmod(0o666, path)
    assert_equal "200", nobody.() { status_at(path) }
  end

  # In a directory as /tmp is, where anybody can make files.
  def test_another_user_cannot_take_the_path_away
    return assert_equal(0o600, (serving && File.stat(path).mode & 0o777)) unless root?
    File.chmod(0o1777, @dir)
    serving
    %i[unlink rename].each do |what|
      did = as_user(AccessTest::NOBODY, AccessTest::NOBODY) { what == :unlink ? File.unlink(path) : File.rename(path, path("x")) }
      assert_equal "Errno::EPERM", did
    end
    assert_equal 200, get("/").status
    # a file that he made before is left alone, and told: neither followed nor given away
    File.write(path("precious"), "data", perm: 0o600)
    %w[q.lock r].each { |n| as_user(AccessTest::NOBODY, AccessTest::NOBODY) { File.symlink(path("precious"), path(n)) } }
    { "q" => /q: can't open its lock: /, "r" => /r: not a socket: / }.each do |n, why|
      f = fake("socket=#{path(n)}", "socket_mode=0666")
      eventually("a line") { f.said.end_with?("\n") }
      assert_match why, f.said
      assert_equal ["data", 0o600], [File.read(path("precious")), File.stat(path("precious")).mode & 0o777]
    end
  end

  # In such a directory anybody can also make what looks as a relative's socket: nobody tells him anything.
  def test_another_user_cannot_pose_as_a_relative
    return assert_equal(200, (serving && get("/family").status)) unless root?
    File.chmod(0o1777, @dir)
    f = fake("socket=#{path}", "token_file=#{token_file}")
    wait_for_server(path)
    heard, w = IO.pipe
    pid = fork do
      heard.close
      Process.groups = [AccessTest::NOBODY]
      Process::GID.change_privilege(AccessTest::NOBODY)
      Process::UID.change_privilege(AccessTest::NOBODY)
      server = UNIXServer.new("#{path}.4194000")
      w.puts("there")
      loop { s = server.accept; w.puts("heard #{(s.readpartial(1000) rescue "nothing").inspect}"); s.write("HTTP/1.0 200 OK\r\n\r\nmwrap table 7\n") rescue nil; s.close }
    end
    w.close
    assert_equal "there\n", heard.gets
    # his parents are this process's, not the server's: root itself doesn't take him for a worker
    list = JSON.parse(get("/family.json", bearer).body)["processes"]
    assert_equal [f.pid], list.map { |p| p["pid"] }
    assert_equal 200, get("/all/each/0.tsv", bearer).status
    r = get("/4194000/", bearer)
    assert_equal 404, r.status, r.body
    3.times { assert_equal "heard \"nothing\"\n", heard.gets }
  ensure
    Process.kill(:KILL, pid) && Process.wait(pid) if pid
    heard&.close
  end

  # --- tokens ------------------------------------------------------------------------

  def test_without_and_with_wrong_tokens
    f = tcp
    [{}, bearer("nonsense"), bearer(""), bearer(TOKEN.upcase), bearer(TOKEN[0..-2]), bearer("#{TOKEN} "[1..]), bearer("#{TOKEN}#{TOKEN}"),
     bearer("\"#{TOKEN}\""), { "Authorization" => TOKEN }, { "Authorization" => "Basic #{["x:#{TOKEN}"].pack("m0")}" },
     { "Authorization" => "Digest #{TOKEN}" }, { "X-Authorization" => "Bearer #{TOKEN}" }, { "Cookie" => "mwrap=#{TOKEN}" },
     { "Cookie" => "mwrap_#{f.port}=#{TOKEN}; token=#{TOKEN}" }, { "Proxy-Authorization" => "Bearer #{TOKEN}" }].each do |headers|
      assert_includes [401, 429], get("/each/0.tsv", headers, at: f.port).status, headers
      assert_includes [401, 429], post("/reset", headers, at: f.port).status, headers
    end
    %W[/each/0.tsv?token=#{TOKEN} /each/0.tsv?access_token=#{TOKEN} /?Authorization=Bearer+#{TOKEN} /login/..%2Feach%2F0.tsv
       /mwrap.css/../each/0.tsv /mwrap.css%2F..%2Feach%2F0.tsv /each/0.tsv%00.css /each/0.tsv;.css /LOGIN //login /./login
       /mwrap.css?/../stats.json /live?v=1].each do |target|
      r = get(target, at: f.port)
      assert_includes [200, 401], r.status
      next assert_match(/text\/css/, r.headers["content-type"]) if r.status == 200
      refute_includes r.body, "/srv/"
    end
    assert_line post("/login?token=#{TOKEN}", AccessTest::FORM, "", at: f.port), 400, /field token/
    assert_equal "copies 0 resets 0 trims 0", f.ask("counts")
    assert_equal 200, eventually("an answer") { r = get("/each/0.tsv", bearer, at: f.port).status; r unless r == 429 }
  end

  # Of many tries most have no answer; who logged in before goes on.
  def test_trying_out_tokens
    f = tcp
    cookie = with_cookie(login(at: f.port), at: f.port)
    s = connect(f.port)
    s.write(Array.new(400) { |i| "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer guess-number-#{i}\r\n#{"Connection: close\r\n" if i == 399}\r\n" }.join)
    codes = drain(s).scan(/^HTTP\/1\.1 (\d+)/).flatten.tally
    assert_equal 400, codes.values.sum
    assert_equal %w[401 429], codes.keys.sort
    form = { "Host" => "localhost", **AccessTest::FORM }
    tries = Array.new(60) { post("/login", form, "token=nonsense-of-some-length", at: f.port) }
    assert_empty tries.map(&:status).uniq - [401, 429]
    assert(tries.none? { |r| r.headers["set-cookie"] })
    assert_equal 200, get("/stats.json", cookie, at: f.port).status
    # more at once than are allowed in a second, however long a connection takes here
    late = eventually("too many") do
      s = connect(f.port)
      s.write(Array.new(40) { |i| "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: #{form["Content-Type"]}\r\n#{"Connection: close\r\n" if i == 39}Content-Length: 14\r\n\r\ntoken=nonsense" }.join)
      drain(s)[/^HTTP\/1\.1 429.*?\r\n\r\n/m]
    ensure
      s&.close
    end
    assert_match(/^retry-after: 1\r$/i, late)
    eventually("the right one again") { post("/login", form, "token=#{TOKEN}", at: f.port).status == 303 }
  end

  # One request's token is no good for the next one on the same connection.
  def test_pipelining
    f = tcp
    head = "Host: localhost\r\n"
    good = "Authorization: Bearer #{TOKEN}\r\n"
    s = connect(f.port)
    s.write("GET /stats.json HTTP/1.1\r\n#{head}#{good}\r\n" "GET /stats.json HTTP/1.1\r\n#{head}\r\n" \
            "POST /reset HTTP/1.1\r\n#{head}Content-Length: 0\r\n\r\n" "GET /stats.json HTTP/1.1\r\n#{head}#{good}\r\n" \
            "POST /trim HTTP/1.1\r\n#{head}Content-Length: #{good.bytesize}\r\n\r\n#{good}" \
            "GET /stats.json HTTP/1.1\r\n#{head}Connection: close\r\n\r\n")
    assert_equal %w[200 401 401 200 401 401], drain(s).scan(/^HTTP\/1\.1 (\d+)/).flatten
    assert_equal "copies 0 resets 0 trims 0", f.ask("counts")
  end

  def test_a_body_that_is_too_large
    f = tcp
    form = { "Host" => "localhost", **AccessTest::FORM }
    full = "token=#{TOKEN}&to=/".ljust(4096, "x")
    assert_equal 303, post("/login", form, full, at: f.port).status # a page that long isn't gone to, but it may be said
    assert_line post("/login", form, "#{full}x", at: f.port), 413, /larger than 4096/
    assert_line post("/login", form, "token=#{TOKEN}&x=#{"y" * 900_000}", at: f.port), 413
    chunk = "1000\r\n#{full}\r\n"
    s = connect(f.port)
    s.write("POST /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n" \
            "Content-Type: application/x-www-form-urlencoded\r\n\r\n#{chunk}1\r\nx\r\n0\r\n\r\n")
    assert_equal 413, parse(drain(s)).status
    # more than anybody has a reason to send, to whichever page
    %w[/login /reset /].each do |target|
      s = connect(f.port)
      begin
        s.write("POST #{target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n")
        100.times { s.write("x" * 1_000_000) }
        flunk "#{target} took it all"
      rescue Errno::EPIPE, Errno::ECONNRESET
        assert true
      end
    end
    assert_operator File.read("/proc/#{f.pid}/status")[/VmHWM:\s+(\d+)/, 1].to_i, :<, 50_000, "KiB"
    assert_equal "copies 0 resets 0 trims 0", f.ask("counts")
  end

  # --- browsers ---------------------------------------------------------------------

  CROSS = [{ "Origin" => "http://evil.example" }, { "Origin" => "null" }, { "Origin" => "http://localhost" }, { "Origin" => "http://127.0.0.1" },
           { "Sec-Fetch-Site" => "cross-site" }, { "Sec-Fetch-Site" => "same-site" },
           { "Origin" => "http://evil.example", "Referer" => "http://localhost:8080/" }].freeze

  # Whatever it has to show. The same at 0.0.0.0, where any Host is right.
  def test_posts_from_another_origin
    %w[127.0.0.1:0 0.0.0.0:0].each do |listen|
      f = tcp(listen: listen)
      cookie = with_cookie(login(at: f.port), at: f.port)
      CROSS.each do |headers|
        [cookie, { "Host" => cookie["Host"] }.merge(bearer)].each do |who|
          %w[/reset /clear /trim /pause /resume /mark /mark/clear].each do |target|
            assert_line post(target, who.merge(headers), at: f.port), 403, /another origin/
          end
        end
        assert_line post("/logout", cookie.merge(headers), at: f.port), 403, /another origin/
        # nor does it log anybody in: neither the visitor as the attacker, nor again
        r = post("/login", AccessTest::FORM.merge({ "Host" => cookie["Host"] }, headers), "token=#{TOKEN}", at: f.port)
        assert_line r, 403, /another origin/
        assert_nil r.headers["set-cookie"]
      end
      assert_equal "copies 0 resets 0 trims 0", f.ask("counts")
      assert_equal 200, get("/stats.json", cookie, at: f.port).status
      assert_equal 200, post("/reset", cookie.merge("Origin" => "http://#{cookie["Host"]}"), at: f.port).status
      # a page elsewhere can't read either: there is no CORS header, and no preflight is answered
      r = request("OPTIONS", "/each/0.json", cookie.merge("Origin" => "http://evil.example", "Access-Control-Request-Headers" => "authorization"), at: f.port)
      assert_equal 405, r.status
      assert_empty r.headers.keys.grep(/access-control/)
      assert_empty get("/each/0.json", cookie.merge("Origin" => "http://evil.example"), at: f.port).headers.keys.grep(/access-control/)
    end
  end

  # A name of the attacker's that was made to lead to 127.0.0.1.
  def test_a_wrong_host
    [tcp(token: nil), tcp].each do |f|
      ["evil.example", "evil.example:#{f.port}", "localhost.evil.example", "127.0.0.1.nip.io", "0.0.0.0:#{f.port}", "[::]:#{f.port}", "",
       "localhost@evil.example", "evil.example\tlocalhost"].each do |host|
        assert_line get("/stats.json", bearer.merge("Host" => host), at: f.port), 403, /Host/
        assert_line post("/reset", bearer.merge("Host" => host, "Origin" => "http://#{host}"), at: f.port), 403, /Host/
        assert_equal 403, post("/login", AccessTest::FORM.merge("Host" => host), "token=#{TOKEN}", at: f.port).status
      end
      assert_equal 200, get("/stats.json", bearer, at: f.port).status
      assert_equal "copies 0 resets 0 trims 0", f.ask("counts")
    end
  end

  # Where the name can't tell, neither token nor cookie comes with a page that rebinds its own.
  def test_a_name_that_is_rebound_to_another_address
    f = tcp(listen: "0.0.0.0:0")
    login(at: f.port)
    assert_line get("/stats.json", { "Host" => "evil.example", "Origin" => "http://evil.example" }, at: f.port), 401
  end

  def test_a_cookie_is_good_for_one_process_only
    one, two = tcp, tcp
    cookie = login(at: one.port)
    value = cookie[/=(.*)/, 1]
    assert_equal 200, get("/stats.json", with_cookie(cookie, at: one.port), at: one.port).status
    assert_line get("/stats.json", with_cookie(cookie, at: one.port), at: two.port), 401
    assert_line get("/stats.json", with_cookie("mwrap_#{two.port}=#{value}", at: two.port), at: two.port), 401
  end

  def test_a_session_that_was_planted
    f = tcp
    planted = { "Host" => "localhost:#{f.port}", "Cookie" => "mwrap_#{f.port}=#{"5" * 32}" }
    mine = login(at: f.port, headers: planted)
    refute_includes mine, "5" * 32
    assert_line get("/stats.json", planted, at: f.port), 401
    # one that was made for the attacker stays his own: a login makes another
    refute_equal mine, login(at: f.port, headers: { "Cookie" => mine })
  end

  # --- what can be asked for -----------------------------------------------------------

  EVIL = "/srv/x\r\nSet-Cookie: evil=1\r\nLocation: http://evil.example/\r\n\r\n<script>alert(1)</script>.rb"

  # A real app, one of whose locations tries to be headers; what it prints is on its stdout.
  def app(*options)
    File.write(path("secret.txt"), "the secret\n" * 30)
    File.write(path("sub.rb"), "KEPT << ('s' * 5000) # not to be seen\n")
    served_ruby(<<~RUBY, options: options)
      $stdout.sync = true
      KEPT = []
      file = [#{EVIL.unpack1("H*").dump}].pack("H*")
      eval("40.times { KEPT << ('e' * 9000) }", nil, file, 1)
      require #{path("sub.rb").dump}
      puts "ready"
      while (line = gets)
        case line
        when /open (\\d+)/ then files = Array.new($1.to_i) { File.open("/dev/null") }; puts files.size; files.each(&:close)
        when /work/ then puts Array.new(1000) { |i| i.to_s * 10 }.join.size
        end
      end
    RUBY
  end

  def raw(text)
    s = connect
    s.write(text)
    drain(s)
  ensure
    s&.close
  end

  # Names and values of the headers as they came.
  def heads(text) = text.split("\r\n\r\n", 2)[0].split("\r\n").drop(1).map { |l| l.split(": ", 2) }

  KNOWN = %w[connection content-length content-type cache-control x-content-type-options referrer-policy content-security-policy
             location transfer-encoding allow].freeze

  def test_headers_through_a_location
    assert_equal "ready", app.hear
    rows = tsv
    evil = rows.map(&:location).find { |l| l.include?("evil=1") }
    assert evil, "it is in the table"
    encoded = escape(EVIL + ":1")
    ["/at/#{encoded}", "/at/#{encoded}.tsv", "/at/#{encoded}.csv", "/at/#{encoded}.json", "/at?location=#{encoded}", "/source?location=#{encoded}",
     "/each/0?q=#{encoded}", "/each/0?group=file", "/each/0?group=dir&q=#{escape("Set-Cookie")}", "/", "/live"].each do |target|
      ["GET", "HEAD"].each do |method|
        next if target == "/live" && method == "GET"
        text = raw("#{method} #{target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: text/html\r\n\r\n")
        assert_match(/\AHTTP\/1\.1 (200|404) /, text, target)
        assert_headers text
        refute_match(/<script>alert/, text)
      end
    end
    assert_match(/\AHTTP\/1\.1 200/, raw("GET /at/#{encoded} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
    # a control goes back to the page that it came from
    r = raw("POST /reset HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: text/html\r\nReferer: http://x/at/#{encoded}\r\n\r\n")
    assert_match(/\AHTTP\/1\.1 303/, r)
    assert_headers r
    assert_includes r, "\r\nLocation: /at/#{encoded}\r\n"
    ["http://x/a\tb", "http://x/a\u00e9", "http://x//evil.example", "http://x/\\evil.example"].each do |referer|
      r = raw("POST /reset HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: text/html\r\nReferer: #{referer}\r\n\r\n")
      assert_headers r
      assert_equal "/", heads(r).to_h["Location"], referer
    end
  end

  def assert_headers(text)
    assert_empty heads(text).map { |name, _| name.downcase } - KNOWN, text[0, 600]
    refute_match(/^Set-Cookie|^Location: http/, text.split("\r\n\r\n", 2)[0])
  end

  # Nothing but what is in the table, by whatever way the path is written.
  def test_paths_that_lead_elsewhere
    assert_equal "ready", app.hear
    secret = path("secret.txt")
    tricks = ["#{secret}:1", "#{@dir}/./sub.rb:1", "#{@dir}//sub.rb:1", "#{@dir}/x/../sub.rb:1", "#{@dir}/sub.rb/../secret.txt:1",
              "#{@dir}/sub.rb:1/../secret.txt:1", "#{@dir}/sub.rb\0/../secret.txt:1", "/etc/passwd:1", "../../../../etc/passwd:1", "..", ".", "/",
              "file://#{secret}:1", "/proc/self/environ:1", "/proc/self/mem:1", "/dev/stdin:1", "~/.ssh/id_rsa:1", "#{"../" * 4000}etc/passwd:1",
              "a" * 20_000, "%2e%2e%2fetc%2fpasswd:1", "..%c0%afetc/passwd:1", "#{@dir}/sub.rb:1:2", "#{@dir}/sub.rb:-1", "#{@dir}/sub.rb:+1",
              "#{@dir}/sub.rb:01", "#{@dir}/sub.rb: 1", "#{@dir}/sub.rb:99999999999999999999999"]
    tricks.each do |location|
      raw_path = location.gsub(/[\0 ]/) { |c| format("%%%02x", c.ord) }
      ["/at/#{escape(location)}", "/at/#{raw_path}", "/at#{raw_path}", "/at?location=#{escape(location)}", "/source?location=#{escape(location)}",
       "/source?location=#{raw_path}", "/source?location=#{escape(escape(location))}", "/source/#{raw_path}", "/source#{raw_path}",
       "/#{raw_path}", "/dist/#{raw_path}", "/source?location=#{escape("#{@dir}/sub.rb:1")}&location=#{escape(location)}"].each do |target|
        r = get(target)
        assert_includes [400, 404], r.status, target[0, 200]
        refute_match(/the secret|root:|not to be seen/, r.body, target[0, 200])
      end
    end
    # the control, and the last of equal names counts
    good = escape("#{@dir}/sub.rb:1")
    assert_includes get("/source?location=#{good}").body, "not to be seen"
    assert_includes get("/source?location=#{escape("/etc/passwd:1")}&location=#{good}").body, "not to be seen"
    assert_equal 200, get("/at/#{good}").status
    # the table's locations are all there is: also when the file has become something else
    File.unlink(path("sub.rb"))
    File.symlink("/proc/self/environ", path("sub.rb"))
    r = JSON.parse(get("/source?location=#{good}").body)
    assert_equal [], r["lines"]
    assert r["why"]
  end

  # --- options -------------------------------------------------------------------------

  # Preloaded by hand, where nobody looked at the options before: the app runs, nobody listens.
  def test_other_addresses_without_a_token
    port = TCPServer.open("127.0.0.1", 0) { |s| s.addr[1] }
    { "listen:0.0.0.0:#{port}" => /\Amwrap: listen: "0\.0\.0\.0:#{port}" is not loopback: without token_file /,
      "listen:[::]:#{port}" => /\Amwrap: listen: .* is not loopback/,
      "listen:0.0.0.0:#{port},token_file:" => /\Amwrap: token_file: the value is missing$/,
      "listen:127.0.0.1:#{port},token_file:/x%q" => /\Amwrap: token_file: "\/x%q" has a %/,
      "listen:0.0.0.0:#{port},token_file:/nowhere/token" => /\Amwrap: token_file: \/nowhere\/token can't be read: .*\. The server doesn't listen on/,
      "listen:127.0.0.1:#{port},token_file:#{token_file(mode: 0o644)}" => /\Amwrap: token_file: .*mode 0644.*\. The server doesn't listen on/ }
      .each do |options, line|
      script = <<~RUBY
        require "socket"
        sleep 0.05 until #{options.include?("token_file:/nowhere") || options.include?("0644")} ? !File.zero?(ARGV[0]) : true
        sleep 0.3
        begin
          TCPSocket.new("127.0.0.1", #{port}).close
          puts "open"
        rescue SystemCallError => e
          puts e.class
        end
      RUBY
      File.write(path("err"), "")
      run = mwrap_run(MwrapTest::RUBY, "-e", script, path("err"), options: options, err: [path("err"), "a"])
      assert_success run
      assert_equal "Errno::ECONNREFUSED\n", run.stdout, options
      assert_match line, File.read(path("err"))
      assert_equal 1, File.read(path("err")).lines.size
    end
  end

  # --- too many ---------------------------------------------------------------------------

  def test_slow_and_idle_clients_without_a_token
    f = tcp
    idle = Array.new(200) { connect(f.port) }
    20.times { assert_equal 200, get("/stats.json", bearer, at: f.port).status }
    half = Array.new(200) { connect(f.port).tap { |s| s.write("POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\ntoken=") rescue nil } }
    20.times { assert_equal 200, get("/stats.json", bearer, at: f.port).status }
    s = connect(f.port)
    begin
      s.write("GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ")
      1000.times { s.write("x" * 10_000) }
      flunk "took a header of ten megabytes"
    rescue Errno::EPIPE, Errno::ECONNRESET
      assert_equal 200, get("/stats.json", bearer, at: f.port).status
    end
  ensure
    [*idle, *half, s].compact.each(&:close)
  end

  # From several processes, since no one has that many descriptors. All stay open on that side.
  class Crowd
    # The block makes a connection.
    def initialize(total, &one)
      each = [[Process.getrlimit(:NOFILE)[1] - 200, 1000].min, 100].max
      @parts = Array.new(total.fdiv(each).ceil) { |i| part([each, total - i * each].min, &one) }
    end

    # How many connected; waits for all.
    def size = @size ||= @parts.sum { |p| Integer(Timeout.timeout(HttpdTest::PATIENCE) { p[:said].gets }) }

    def close
      while (p = @parts.pop)
        Process.kill(:KILL, p[:pid])
        p[:said].close
        Process.wait(p[:pid])
      end
    end

    private

    def part(n, &one)
      said, w = IO.pipe
      pid = fork do
        said.close
        Process.setrlimit(:NOFILE, Process.getrlimit(:NOFILE)[1])
        open = Array.new(n) { |i| one.call.tap { |s| half(s) if i.even? } }
        w.puts(open.size)
        sleep
      ensure
        w.puts("#{$!.class}: #{$!.message}")
        exit!(1)
      end
      w.close
      { pid: pid, said: said }
    end

    def half(s)
      s.write("GET /each/0 HTTP/1.1\r\nHost: x\r\n")
    rescue Errno::EPIPE, Errno::ECONNRESET, Errno::ENOTCONN
      nil # it had to go for others
    end
  end

  def test_ten_thousand_connections
    port_file = token_file
    a = app("listen:127.0.0.1:0", "token_file:#{port_file}")
    assert_equal "ready", a.hear
    port = port_of(a)
    assert_equal 200, get("/stats.json", bearer, at: path).status # the server has all that it needs open then
    before = descriptors(a.pid)
    crowd = Crowd.new(10_000) { connect(port) }
    assert_equal 10_000, crowd.size
    10.times do
      assert_equal 200, get("/stats.json", bearer, at: port).status
      assert_equal 200, get("/stats.json", bearer, at: path).status
    end
    assert_operator descriptors(a.pid) - before, :<=, 64, "connections"
    # the app has what it had: its descriptors, and its time
    assert_equal "300", a.ask("open 300")
    assert_equal "28900", a.ask("work")
    crowd.close
    assert_equal 200, get("/stats.json", bearer, at: port).status
    eventually("all are closed") { descriptors(a.pid) <= before + 1 }
    assert a.finish.success?
    assert_equal 1, a.stderr.lines.size, a.stderr
  ensure
    crowd&.close
  end

  def test_ten_thousand_connections_on_a_unix_socket
    f = serving("nofile=256")
    assert_equal 200, get("/stats.json").status # the server has all that it needs open then
    before = descriptors(f.pid)
    crowd = Crowd.new(10_000) { connect }
    assert_equal 10_000, crowd.size
    10.times { assert_equal 200, get("/stats.json").status }
    assert_operator descriptors(f.pid) - before, :<=, 32
    crowd.close
    assert_equal 200, get("/stats.json").status
    eventually("all are closed") { descriptors(f.pid) <= before + 1 }
    assert_equal "", f.said
  ensure
    crowd&.close
  end

  def descriptors(pid) = Dir.children("/proc/#{pid}/fd").size
end
