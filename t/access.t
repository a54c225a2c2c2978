#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# Access: the token and its file, logging in and out, listening on other addresses, and
# sockets that are opened up to a group. Attempts that must fail are access_attacks.t's.

require_relative "lib/access"

class AccessTokenTest < Minitest::Test
  HTML = { "Accept" => "text/html" }.freeze

  def test_a_token_on_every_socket
    f = tcp("socket=#{path}", "rows=30")
    [path, f.port].each do |at|
      %w[/ /each/0 /each/0.tsv /stats.json /at/x /none /history.json].each do |target|
        assert_line get(target, at: at), 401, /\Arefused: log in, or send Authorization: Bearer TOKEN/
        r = get(target, bearer, at: at)
        refute_equal 401, r.status, target
        assert_equal r.status, request("HEAD", target, bearer, at: at).status
        assert_equal 401, request("HEAD", target, at: at).status
      end
      assert_equal 31, get("/each/0.tsv", bearer, at: at).body.lines.size
      assert_equal 'Bearer realm="mwrap"', get("/", at: at).headers["www-authenticate"]
      assert_equal 200, get("/mwrap.css", at: at).status
      assert_line post("/reset", at: at), 401
      assert_equal 200, post("/reset", bearer, at: at).status
    end
    assert_equal "copies 0 resets 2 trims 0", f.ask("counts")
    assert_equal 1, f.said.lines.size
  end

  def test_read_only_and_a_token
    f = tcp("read_only=1")
    assert_line post("/reset", bearer, at: f.port), 403, /read_only/
    assert_equal 200, get("/stats.json", with_cookie(login(at: f.port), at: f.port), at: f.port).status
  end

  def test_logging_in_and_out
    f = tcp("socket=#{path}")
    [f.port, path].each do |at|
      host = { "Host" => "localhost:#{at.is_a?(Integer) ? at : 8080}" }
      form = get("/each/0?sort=live&q=%22", host.merge(HTML), at: at)
      assert_equal 401, form.status
      assert_equal "text/html; charset=utf-8", form.headers["content-type"]
      to = form.body[/name="to" value="([^"]*)"/, 1].gsub("&amp;", "&")
      assert_equal "/each/0?sort=live&q=%22", to
      refute_includes form.body, f.pid.to_s
      origin = { "Origin" => "http://#{host["Host"]}", "Sec-Fetch-Site" => "same-origin" }
      body = "to=#{to.gsub(/[^a-z]/) { |c| format("%%%02X", c.ord) }}&token=#{TOKEN}"
      wrong = post("/login", host.merge(FORM, origin), body.sub("token=c", "token=C"), at: at)
      assert_equal 401, wrong.status
      assert_includes wrong.body, "That is not the token."
      assert_nil wrong.headers["set-cookie"]
      r = post("/login", host.merge(FORM, origin), body, at: at)
      assert_equal [303, to], [r.status, r.headers["location"]]
      port = host["Host"][/\d+/]
      assert_match(/\Amwrap_#{port}=\h{32}; Path=\/; HttpOnly; SameSite=Strict\z/, r.headers["set-cookie"])
      cookie = host.merge("Cookie" => r.headers["set-cookie"][/\A[^;]+/])
      page = get(to, cookie.merge(HTML), at: at)
      assert_equal 200, page.status
      assert_includes page.body, "action=\"/logout\""
      assert_equal 200, post("/reset", cookie.merge(origin), at: at).status
      assert_line post("/reset", cookie.merge("Origin" => "http://localhost:1"), at: at), 403, /another origin/
      r = post("/logout", cookie.merge(origin, HTML, "Referer" => "http://#{host["Host"]}/each/0"), at: at)
      assert_equal [303, "/each/0"], [r.status, r.headers["location"]]
      assert_match(/\Amwrap_#{port}=; Path=\/; .*; Max-Age=0\z/, r.headers["set-cookie"])
      assert_line get("/stats.json", cookie, at: at), 401
    end
    assert_equal "copies 0 resets 2 trims 0", f.ask("counts")
  end

  # Not a word on paper: nowhere is there a login without a token.
  def test_without_a_token_all_is_as_ever
    f = tcp(token: nil)
    assert_equal 200, get("/stats.json", at: f.port).status
    assert_equal 200, get("/stats.json", bearer("whatever"), at: f.port).status
    assert_line get("/login", at: f.port), 404
    assert_line post("/login", FORM, "token=x", at: f.port), 404
    assert_line post("/logout", at: f.port), 404
    refute_includes get("/", at: f.port).body, "logout"
  end

  # /live, whose answer has no end.
  def test_watching
    f = tcp
    assert_line get("/live", at: f.port), 401
    [bearer, with_cookie(login(at: f.port), at: f.port)].each do |headers|
      s = watch(f.port, headers)
      assert_match(/\AHTTP\/1.1 200 .*event: hello/m, read_until(s, "event: hello"))
      s.close
    end
  end

  def watch(port, headers)
    s = connect(port)
    s.write("GET /live HTTP/1.1\r\n#{{ "Host" => "localhost" }.merge(headers).map { |k, v| "#{k}: #{v}\r\n" }.join}\r\n")
    s
  end

  def read_until(s, text)
    got = +"".b
    Timeout.timeout(HttpdTest::PATIENCE) { got << s.readpartial(65_536) until got.include?(text) }
    got
  end

  # --- the file -----------------------------------------------------------------

  WRONG = {
    "isn't there" => [->(t) { File.unlink(t.path("token")) }, /can't be read: No such file or directory/],
    "group may read" => [->(t) { File.chmod(0o640, t.path("token")) }, /is open to others \(mode 0640\): chmod 600 it/],
    "all may read" => [->(t) { File.chmod(0o604, t.path("token")) }, /mode 0604/],
    "group may write" => [->(t) { File.chmod(0o620, t.path("token")) }, /mode 0620/],
    "a directory" => [->(t) { File.unlink(t.path("token")); Dir.mkdir(t.path("token"), 0o700) }, /isn't a regular file/],
    "a pipe" => [->(t) { File.unlink(t.path("token")); File.mkfifo(t.path("token"), 0o600) }, /isn't a regular file/],
    "a device" => [->(t) { File.unlink(t.path("token")); File.symlink("/dev/zero", t.path("token")) }, /isn't a regular file/],
    "empty" => [->(t) { File.write(t.path("token"), "") }, /has no token: the first line must be 16 to 512/],
    "too short" => [->(t) { File.write(t.path("token"), "123456789012345\n") }, /has no token/],
    "too long" => [->(t) { File.write(t.path("token"), "#{"x" * 513}\n") }, /has no token/],
    "endless" => [->(t) { File.write(t.path("token"), "x" * 1_000_000) }, /has no token/],
    "with a space" => [->(t) { File.write(t.path("token"), "correct horse battery\n") }, /has no token/],
    "with a CR" => [->(t) { File.write(t.path("token"), "#{TOKEN}\r\n") }, /has no token/],
    "with a NUL" => [->(t) { File.binwrite(t.path("token"), "#{TOKEN}\0\n") }, /has no token/],
    "not ASCII" => [->(t) { File.write(t.path("token"), "#{TOKEN}\u00e9\n") }, /has no token/],
    "on the second line" => [->(t) { File.write(t.path("token"), "\n#{TOKEN}\n") }, /has no token/]
  }.freeze

  WRONG.each do |name, (spoil, why)|
    # One line, no port; the Unix socket lets nobody in until the file is right.
    define_method("test_a_file_that_is_wrong: #{name}") do
      token_file
      spoil.call(self)
      f = fake("listen=127.0.0.1:0", "token_file=#{path("token")}")
      eventually("a line") { f.said.end_with?("\n") }
      assert_equal "stopped 1", f.ask("stop")
      assert_match(/\Amwrap: token_file: #{path("token")} [^\n]+\. The server doesn't listen on 127\.0\.0\.1:0\n\z/, f.said)
      assert_match why, f.said
      f.finish

      f = fake("listen=127.0.0.1:0", "socket=#{path}", "token_file=#{path("token")}", at: path)
      [{}, bearer, bearer(""), bearer("123456789012345")].each { |h| assert_line get("/stats.json", h), 401 }
      assert_equal 401, post("/login", FORM, "token=").status
      assert_match(/\Amwrap: token_file: [^\n]+\. The server doesn't listen on [^\n]+\n\z/, f.said)
      FileUtils.rm_rf(path("token"))
      rotate("#{TOKEN}\n")
      assert_equal 200, get("/stats.json", bearer).status
      assert_equal 0, listening(f.pid)
    end
  end

  # TCP sockets on which a process listens.
  def listening(pid)
    inodes = Dir.children("/proc/#{pid}/fd").filter_map { |fd| File.readlink("/proc/#{pid}/fd/#{fd}")[/\Asocket:\[(\d+)\]/, 1] rescue nil }
    %w[tcp tcp6].sum do |name|
      File.readlines("/proc/#{pid}/net/#{name}").drop(1).map(&:split).count { |l| l[3] == "0A" && inodes.include?(l[9]) }
    end
  end

  def test_listening_is_seen
    assert_equal 1, listening(tcp.pid)
  end

  def test_files_that_are_right
    { "without an end" => TOKEN, "the shortest" => "#{"x" * 16}\n", "the longest" => "#{"~" * 512}\n",
      "more lines" => "#{TOKEN}\n\u00e9 more\n\0" }.each do |name, text|
      f = tcp(token: token_file(text))
      assert_equal 200, get("/stats.json", bearer(text.lines[0].chomp), at: f.port).status, name
      assert_equal 401, get("/stats.json", bearer("#{text.lines[0].chomp}x"), at: f.port).status, name
      assert_equal 401, get("/stats.json", bearer(text.lines[0].chomp[0..-2]), at: f.port).status, name
    end
    token_file(mode: 0o400)
    File.symlink(path("token"), path("link"))
    assert_equal 200, get("/stats.json", bearer, at: tcp(token: path("link")).port).status
  end

  def test_a_path_of_its_own_for_each_process
    f = fake("socket=#{path}", "token_file=#{path("token.%p")}", at: path)
    assert_line get("/stats.json", bearer), 401
    token_file(name: "token.#{f.pid}")
    assert_equal 200, get("/stats.json", bearer).status
  end

  # --- another token ------------------------------------------------------------------

  def test_rotation
    f = tcp
    cookie = with_cookie(login(at: f.port), at: f.port)
    watcher = watch(f.port, cookie)
    read_until(watcher, "event: rows")
    ask = ->(headers) { get("/stats.json", headers, at: f.port).status }
    rotate("#{TOKEN}\n") # the same one in another file: nothing ends
    assert_equal [200, 200, 401], [bearer, cookie, bearer(OTHER)].map(&ask)
    rotate("#{OTHER}\n")
    assert_equal [401, 401, 200], [bearer, cookie, bearer(OTHER)].map(&ask)
    read_until(watcher, "0\r\n\r\n") # whoever was let in by the old one is out
    assert_equal 200, ask.(with_cookie(login(at: f.port, token: OTHER), at: f.port))
    # in place, in the same moment, of the same length; never empty meanwhile
    rotate("token-of-some-length-xx")
    20.times do |i|
      token = format("token-of-some-length-%02d", i)
      File.write(path("token"), token, mode: "r+")
      assert_equal 200, ask.(bearer(token))
    end
    assert_equal 1, f.said.lines.size, f.said
  end

  def test_a_file_that_goes_locks_everybody_out
    f = tcp
    ask = ->(headers) { get("/stats.json", headers, at: f.port).status }
    cookie = with_cookie(login(at: f.port), at: f.port)
    File.unlink(path("token"))
    assert_equal [401, 401], [bearer, cookie].map(&ask)
    5.times { ask.(bearer) }
    File.write(path("token"), "#{TOKEN}\n", perm: 0o600)
    assert_equal [200, 401], [bearer, cookie].map(&ask)
    File.chmod(0o644, path("token"))
    assert_equal [401], [bearer].map(&ask)
    File.chmod(0o600, path("token"))
    assert_equal [200], [bearer].map(&ask)
    lines = f.said.lines.drop(1)
    assert_equal 2, lines.size, f.said
    assert_match(/\Amwrap: token_file: .* can't be read: No such file or directory\. Every request is refused until this is right\n\z/, lines[0])
    assert_match(/\Amwrap: token_file: .* \(mode 0644\): chmod 600 it\. Every request is refused until this is right\n\z/, lines[1])
  end

  # --- forks ------------------------------------------------------------------------------

  def test_a_forked_child_has_sessions_of_its_own
    f = tcp("socket=#{path}")
    cookie = with_cookie(login(at: path), at: path)
    assert_equal 200, get("/stats.json", cookie).status
    child = f.ask("fork serving")[/child (\d+) has 0\z/, 1]
    wait_for_server("#{path}.#{child}")
    assert_line get("/stats.json", cookie, at: "#{path}.#{child}"), 401
    assert_equal 200, get("/stats.json", bearer, at: "#{path}.#{child}").status
    File.unlink(path("token"))
    assert_line get("/stats.json", bearer, at: "#{path}.#{child}"), 401
  end

  # A token file that is read anew for each request, and 300 forks meanwhile.
  def test_forks_keep_nothing_of_the_file_nor_of_connections_on_any_address
    f = tcp(listen: "0.0.0.0:0")
    idle = Array.new(5) { connect(f.port) }
    assert_equal 200, get("/stats.json", bearer, at: f.port).status
    done = false
    asked = 0
    client = Thread.new do
      until done
        rotate("#{TOKEN}\n")
        asked += 1 if get("/stats.json", bearer, at: f.port).status == 200
      end
    end
    eventually("a first answer") { asked.positive? || !client.alive? }
    assert_equal "forks 300 bad 0", f.ask("forks 300")
    done = true
    client.join
    assert_operator asked, :>, 0
    assert_equal 200, get("/stats.json", bearer, at: f.port).status
  ensure
    done = true
    idle&.each(&:close)
  end

  # --- other addresses ----------------------------------------------------------------------

  def test_any_address
    f = tcp(listen: "0.0.0.0:0")
    ["localhost", "app.internal", "app.internal:80", "10.1.2.3:99", ""].each do |host|
      assert_equal 200, get("/stats.json", bearer.merge("Host" => host), at: f.port).status, host
      assert_line get("/stats.json", { "Host" => host }, at: f.port), 401
    end
    host = { "Host" => "app.internal:9000", "Origin" => "http://app.internal:9000" }
    r = post("/login", FORM.merge(host), "token=#{TOKEN}", at: f.port)
    assert_match(/\Amwrap_9000=/, r.headers["set-cookie"])
    refute_includes r.headers["set-cookie"], "Secure"
    host["Cookie"] = r.headers["set-cookie"][/\A[^;]+/]
    assert_equal 200, post("/reset", host, at: f.port).status
    assert_line post("/reset", host.merge("Origin" => "http://localhost"), at: f.port), 403, /another origin/
    # behind a proxy that speaks TLS
    host = { "Host" => "mwrap.example.org", "Origin" => "https://mwrap.example.org" }
    r = post("/login", FORM.merge(host), "token=#{TOKEN}", at: f.port)
    assert_match(/\Amwrap=\h{32}; .*; Secure\z/, r.headers["set-cookie"])
  end

  def test_any_ipv6_address
    Addrinfo.tcp("::1", 0).bind(&:close) rescue skip("no IPv6 here")
    f = tcp(listen: "[::]:0")
    s = TCPSocket.new("::1", f.port)
    s.write("GET /stats.json HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer #{TOKEN}\r\n\r\n")
    assert_match(/\AHTTP\/1.1 200/, read_until(s, "\r\n\r\n"))
    assert_equal "forks 20 bad 0", f.ask("forks 20") # with that connection open
  ensure
    s&.close
  end
end

class AccessSocketTest < Minitest::Test
  def mode(file) = File.lstat(file).mode & 0o7777

  # Others get as far as to the socket itself.
  def setup
    super
    File.chmod(0o755, @dir)
  end

  def test_modes_and_groups
    own = Process.egid
    { [] => 0o600, ["socket_mode=0660"] => 0o660, ["socket_mode=0666"] => 0o666, ["socket_mode=0602"] => 0o602,
      ["socket_mode=0660", "socket_group=#{own}"] => 0o660 }.each_with_index do |(options, want), i|
      %w[000 077 0777].each do |umask|
        at = path("s#{i}.#{umask}")
        fake("umask=#{umask}", "socket=#{at}", *options, at: at)
        assert_equal want, mode(at), "#{options} #{umask}"
        assert_equal 0o600, mode("#{at}.lock")
        assert_equal own, File.stat(at).gid
        assert_equal 200, get("/", at: at).status
      end
    end
  end

  def test_directories
    { [] => [0o700, 0o600], ["socket_mode=0660"] => [0o750, 0o660], ["socket_mode=0666"] => [0o755, 0o666] }
      .each_with_index do |(options, want), i|
      f = fake("socket_dir=#{path("d#{i}")}", *options)
      wait_for_server(path("d#{i}/#{f.pid}.sock"))
      assert_equal want, [path("d#{i}"), path("d#{i}/#{f.pid}.sock")].map { |p| mode(p) }
      f.finish
      # one that was there before stays as it was
      Dir.mkdir(path("e#{i}"))
      File.chmod(0o711, path("e#{i}"))
      f = fake("socket_dir=#{path("e#{i}")}", *options)
      wait_for_server(path("e#{i}/#{f.pid}.sock"))
      assert_equal [0o711, want[1]], [path("e#{i}"), path("e#{i}/#{f.pid}.sock")].map { |p| mode(p) }
    end
  end

  # Whatever the mode would be: a group that isn't there, or isn't ours to give, opens nothing.
  def test_a_group_that_cannot_be_had
    f = fake("socket=#{path}", "socket_mode=0666", "socket_group=no-such-group-here", at: path)
    assert_equal "mwrap: #{path}: stays closed to others: no group no-such-group-here\n", f.said
    assert_equal 0o600, mode(path)
    assert_equal 200, get("/").status
    f.finish
    return assert(root? || foreign_group) unless root?
    # root without the right to give files away, since nobody may have no way to the program
    at = path("n")
    f = HttpdTest::Fake.new("setpriv", path("nlog"), "--bounding-set=-chown", program("fake_server"),
                            "socket=#{at}", "socket_mode=0666", "socket_group=1")
    wait_for_server(at)
    assert_equal "600 mwrap: #{at}: stays closed to others: can't give it to the group 1 (Operation not permitted)\n",
                 "#{mode(at).to_s(8)} #{f.said}"
  end

  # The same, for who isn't root: root's group is nobody's to give.
  def foreign_group
    f = fake("socket=#{path("g")}", "socket_mode=0666", "socket_group=0", at: path("g"))
    assert_match(/stays closed to others: can't give it to the group 0 \(Operation not permitted\)\n\z/, f.said)
    assert_equal 0o600, mode(path("g"))
  end

  def test_forked_children_open_theirs_up_too
    f = fake("socket=#{path}", "socket_mode=0660", at: path)
    child = f.ask("fork serving")[/child (\d+)/, 1]
    wait_for_server("#{path}.#{child}")
    assert_equal [0o660, 0o600], [mode("#{path}.#{child}"), mode("#{path}.#{child}.lock")]
  end

  # By name, looked up in /etc/group in the process itself.
  def test_a_group_by_its_name
    group = File.readlines("/etc/group").map { |l| l.split(":") }.find { |g| Process.groups.include?(g[2].to_i) || g[2].to_i == Process.egid }
    fake("socket=#{path}", "socket_mode=0660", "socket_group=#{group[0]}", at: path)
    assert_equal [0o660, group[2].to_i], [mode(path), File.stat(path).gid]
  end

  # Only root can try it as somebody else: for other users the modes above must do.
  def test_who_is_in_the_group_is_let_in
    return assert(!root?, "see test_modes_and_groups") unless root?
    group, user = 54_321, 54_322
    sockets = { path => %W[socket=#{path} socket_mode=0660 socket_group=#{group}] }
    fake(*sockets[path], at: path)
    d = fake("socket_dir=#{path("d")}", "socket_mode=0660", "socket_group=#{group}")
    wait_for_server(path("d/#{d.pid}.sock"))
    [path, path("d/#{d.pid}.sock")].each do |at|
      assert_equal "200", as_user(user, group) { status_at(at) }
      assert_equal "200", as_user(user, user, [user, group]) { status_at(at) }
      assert_equal "Errno::EACCES", as_user(user, user) { status_at(at) }
      assert_equal "Errno::EACCES", as_user(AccessTest::NOBODY, AccessTest::NOBODY) { status_at(at) }
    end
    fake("socket=#{path("all")}", "socket_mode=0666", at: path("all"))
    assert_equal "200", as_user(user, user) { status_at(path("all")) }
    fake("socket=#{path("t")}", "socket_mode=0666", "token_file=#{token_file}", at: path("t"))
    assert_equal "401", as_user(user, user) { status_at(path("t")) }
  end
end
