#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# MwrapRack as a Rack application, under Rack::Lint of each Rack that t/lib/gems has:
# every route and form, who may POST, mount points, locations of any bytes, and that
# none of its own work is in the table. /live and its thread: rack_live.t; real servers: rack_servers.t.
require_relative "lib/racked"
require "zlib"

class RackTest < Minitest::Test
  PAGES = {
    "/" => "text/html; charset=utf-8", "/each/0" => "text/html; charset=utf-8", "/each" => "text/html; charset=utf-8",
    "/each/0.tsv" => "text/tab-separated-values; charset=utf-8", "/each/0.csv" => "text/csv; charset=utf-8; header=present",
    "/each/0.json" => "application/json; charset=utf-8", "/each?limit=3&sort=live" => "text/html; charset=utf-8",
    "/overruns" => "text/html; charset=utf-8", "/overruns.tsv" => "text/tab-separated-values; charset=utf-8",
    "/overruns.csv" => "text/csv; charset=utf-8; header=present", "/overruns.json" => "application/json; charset=utf-8",
    "/stats.json" => "application/json; charset=utf-8", "/history.json" => "application/json; charset=utf-8",
    "/verdict" => "text/plain; charset=utf-8", "/verdict.json" => "application/json; charset=utf-8",
    "/live" => "text/event-stream", "/mwrap.css" => "text/css; charset=utf-8",
    "/dist/mwrap.js" => "text/javascript; charset=utf-8", "/dist/app.js" => "text/javascript; charset=utf-8",
    "/dist/LICENSES" => "text/plain; charset=utf-8"
  }.freeze
  POSTS = %w[/reset /clear /trim /mark /mark/clear /pause /resume /ctl?bt=1].freeze
  LEAK = "module Kept; ALL = []; end; eval('def keep(n) = n.times { Kept::ALL << (%(x) * 5000) }', TOPLEVEL_BINDING, '/srv/leak.rb', 7); keep(100)"

  def test_the_racks
    assert_equal %w[2.2 3.1 3.2], RACKS.map { |v| v[/\A\d+\.\d+/] }
    RACKS.each { |v| assert_equal v, racked(rack: v).eval("Rack.release") }
  end

  RACKS.each do |version|
    tag = version.tr(".", "_")

    define_method("test_every_page_under_#{tag}") do
      r = racked(rack: version, mount: "/MWRAP")
      PAGES.each do |target, type|
        a = r.get("/MWRAP#{target}")
        assert_equal [200, type], [a.status, a.headers["content-type"]], target
        assert_operator a.body.bytesize, :>, 20, target
        assert_equal "nosniff", a.headers["x-content-type-options"], target
        assert_includes a.headers["cache-control"], a.headers["etag"] ? "no-cache" : "no-store", target
        head = r.request("HEAD", "/MWRAP#{target}")
        assert_equal [200, type, ""], [head.status, head.headers["content-type"], head.body], target
      end
    end

    define_method("test_what_is_refused_under_#{tag}") do
      r = racked(rack: version, mount: "/MWRAP")
      { "/nope" => 404, "/each/x" => 400, "/each/0?sort=nope" => 400, "/each/0?q=%zz" => 400, "/at/nope:1" => 404,
        "/at/%00" => 400, "/reset" => 405, "/live/x" => 404, "/web/layout.html" => 404, "/layout.html" => 404,
        "/../../etc/passwd" => 404, "/dist/../mwrap.css" => 404, "/source?location=/etc/passwd:1" => 404 }.each do |target, status|
        a = r.get("/MWRAP#{target}")
        assert_equal status, a.status, target
        assert_match(/\A[^\n]+\n\z/, a.body.force_encoding("UTF-8"), target) unless target.start_with?("/source")
      end
      assert_equal 400, r.get("/MWRAP/at/%zz", {}, "REQUEST_URI" => "/MWRAP/at/%zz").status, "what was sent can't be decoded"
      assert_equal "POST", r.get("/MWRAP/reset").headers["allow"]
      %w[POST PUT DELETE OPTIONS].each do |method|
        a = r.request(method, "/MWRAP/each/0")
        assert_equal [405, "GET, HEAD"], [a.status, a.headers["allow"]], method
      end
    end

    define_method("test_posts_under_#{tag}") do
      r = racked(rack: version, mount: "/MWRAP", new: { token: "a secret" })
      POSTS.each do |target|
        a = r.post("/MWRAP#{target}")
        assert_equal 401, a.status, target
        assert_match(/Bearer TOKEN/, a.body)
        assert_equal 'Basic realm="mwrap", charset="UTF-8"', a.headers["www-authenticate"]
        a = r.post("/MWRAP#{target}", { "Authorization" => "Bearer a secret" })
        assert_equal [200, "text/plain; charset=utf-8"], [a.status, a.headers["content-type"]], target
        a = r.post("/MWRAP#{target}", { "Authorization" => "Bearer a secret", "Accept" => "application/json" })
        assert_equal true, JSON.parse(a.body)["ok"], target
      end
    end
  end

  def test_ctl
    r = racked(new: { token: "t" }, options: "socket:#{path}")
    wait_for_server(path) # the process has a family then
    bearer = { "Authorization" => "Bearer t" }
    bt = -> { JSON.parse(r.get("/stats.json").body)["bt"] }
    a = r.post("/ctl", bearer)
    assert_equal [400, "ctl: nothing to change: give bt=0 to 16, or stacks=auto, off or BYTES\n"], [a.status, a.body]
    a = r.post("/ctl", bearer.merge("X-Mwrap-BT" => "2"))
    assert_equal [200, "bt is 2\n", 2], [a.status, a.body, bt.()]
    a = r.post("/#{r.pid}/ctl?bt=3", bearer)
    assert_equal [200, "bt is 3\n", 3], [a.status, a.body, bt.()]
    # a form whose server has read it; what isn't in memory is not waited for
    call = <<~'RUBY'
      ->(type, form) do
        APP.call("REQUEST_METHOD" => "POST", "SCRIPT_NAME" => "", "PATH_INFO" => "/ctl", "QUERY_STRING" => "", "CONTENT_TYPE" => type,
                 "HTTP_AUTHORIZATION" => "Bearer t", "rack.input" => form)[0]
      end
    RUBY
    form = "application/x-www-form-urlencoded"
    assert_equal [200, 5], [r.eval("(#{call}).(#{form.dump}, StringIO.new('bt=5'))"), bt.()]
    [%("text/plain", StringIO.new("bt=6")), %(#{form.dump}, StringIO.new("bt=6 ")), %(#{form.dump}, StringIO.new("bt=6&" + "x" * 5000)),
     %(#{form.dump}, IO.pipe[0]), %(#{form.dump}, nil)].each do |wrong|
      assert_equal [400, 5], [r.eval("(#{call}).(#{wrong})"), bt.()], wrong
    end
    assert_equal [200, 0], [r.post("/ctl?bt=0", bearer).status, bt.()]
  end

  # --- without Rack, and without the tracker ---------------------------------------------

  def test_rack_is_not_needed
    r = racked(rack: nil, flags: %w[--disable=gems])
    assert_equal [200, []], [r.get("/each/0.tsv").status, r.eval('$".grep(%r{/rack/(?!endpoint|target|live|passage)|rack\.rb\z}).grep_v(/mwrap_rack/)')]
    assert_equal "", r.stderr
  end

  def test_without_the_tracker
    r = racked(tracker: false, new: { token: "x" }, authorize: "->(env) { raise }")
    ["/", "/each/0", "/live", "/mwrap.css", "/nope"].each do |target|
      %w[GET POST HEAD].each do |method|
        a = r.request(method, target)
        assert_equal [503, "text/plain; charset=utf-8"], [a.status, a.headers["content-type"]]
        assert_equal method == "HEAD" ? "" : "mwrap isn't in this process: start it as `mwrap COMMAND ...`, or with libmwrap.so in LD_PRELOAD\n", a.body
      end
    end
    assert_equal 1, r.eval("Thread.list.size")
  end

  # --- who may --------------------------------------------------------------------------------

  def test_nobody_may_post_unless_somebody_is_named
    r = racked
    r.eval(LEAK)
    POSTS.each do |target|
      a = r.post(target, { "Authorization" => "Bearer x" })
      assert_equal 403, a.status, target
      assert_equal "refused: to let POST change anything, give MwrapRack.new an authorize: or a token:\n", a.body
    end
    refute_includes r.get("/").body, "<form action=\"/reset\""
    assert_includes r.get("/").body, "Read-only"
    assert_includes r.get("/live").body, '"read_only":true'
    assert_equal 0, JSON.parse(r.get("/stats.json").body)["resets"]
  end

  def test_read_only
    r = racked(new: { read_only: true, token: "t" }, authorize: "->(_) { true }")
    POSTS.each do |target|
      a = r.post(target, { "Authorization" => "Bearer t" })
      assert_equal [403, "refused: MwrapRack.new was given read_only: true\n"], [a.status, a.body]
    end
    refute_includes r.get("/").body, "method=\"post\""
    assert_includes r.get("/live").body, '"read_only":true'
    r = racked(options: "read_only:1", authorize: "->(_) { true }")
    assert_equal [403, "refused: the option read_only is set\n"], r.post("/reset").to_a.values_at(0, 2)
    refute_includes r.get("/").body, "method=\"post\""
  end

  def test_authorize_is_asked_each_time
    r = racked(authorize: '->(env) { ($asked ||= []) << env["PATH_INFO"]; env["HTTP_X_USER"] == "root" ? 1 : nil }')
    assert_equal [403, "refused: authorize: of MwrapRack said no\n"], r.get("/each/0").to_a.values_at(0, 2)
    assert_equal 403, r.get("/live").status
    assert_equal 403, r.get("/mwrap.css").status
    assert_equal 403, r.post("/reset").status
    assert_equal 200, r.get("/each/0", { "X-User" => "root" }).status
    assert_equal 200, r.post("/reset", { "X-User" => "root" }).status
    assert_includes r.get("/", { "X-User" => "root" }).body, "<form action=\"/reset\" method=\"post\">"
    assert_includes r.get("/live", { "X-User" => "root" }).body, '"read_only":false'
    assert_equal %w[/each/0 /live /mwrap.css /reset /each/0 /reset / /live], r.eval("$asked")
    assert_equal 1, JSON.parse(r.get("/stats.json", { "X-User" => "root" }).body)["resets"]
  end

  def test_what_authorize_raises_is_the_applications
    assert_equal "KeyError: key not found: \"user\"", racked(authorize: '->(env) { env.fetch("user") }').error("GET", "/")
  end

  # authorize's allocations are the application's, and tracked each time.
  def test_authorize_is_tracked
    r = racked(rack: nil, authorize: "eval('->(_) { $kept = %(y) * 100_000 }', nil, '/srv/authorize.rb', 3)")
    3.times { r.get("/") }
    row = rows(r.get("/each/0.tsv")).find { |row| row.location == "/srv/authorize.rb:3" }
    assert_operator row.total, :>=, 400_000
  end

  def test_a_token_is_as_good_as_authorize
    r = racked(new: { token: "t0ken:with:colons" }, authorize: "->(_) { false }")
    assert_equal 403, r.get("/").status
    ["Bearer t0ken:with:colons", "bearer t0ken:with:colons", "Basic #{["me:t0ken:with:colons"].pack("m0")}"].each do |value|
      assert_equal 200, r.get("/", { "Authorization" => value }).status, value
      assert_equal 200, r.post("/reset", { "Authorization" => value }).status, value
    end
    ["", "Bearer", "Bearer ", "Bearer t0ken:with:colonS", "Bearer t0ken:with:colons ", "Bearer t0ken", "Digest t0ken:with:colons",
     "t0ken:with:colons", "Basic", "Basic t0ken:with:colons", "Basic #{["t0ken:with:colons"].pack("m0")}", "Basic \xff", "Bearer \xff"].each do |value|
      assert_equal 403, r.get("/", { "Authorization" => value }).status, value
    end
  end

  def test_a_token_alone_leaves_reading_open
    r = racked(new: { token: "t" })
    assert_equal 200, r.get("/each/0").status
    assert_includes r.get("/").body, "<form action=\"/reset\" method=\"post\">"
    assert_includes r.get("/live").body, '"read_only":false'
  end

  def test_other_origins
    [{ token: "t" }, {}].each do |new|
      r = racked(new: new, authorize: ("->(_) { true }" if new.empty?))
      right = { "Authorization" => "Bearer t", "Host" => "app.example" }
      [{ "Origin" => "http://evil.example" }, { "Origin" => "null" }, { "Sec-Fetch-Site" => "cross-site" }, { "Sec-Fetch-Site" => "same-site" },
       { "Origin" => "https://app.example", "Host" => nil }, { "Origin" => "https://evil.example", "X-Forwarded-Host" => "evil.example" },
       { "Origin" => "https://app.example.evil.example" }].each do |headers|
        a = r.post("/reset", right.merge(headers).compact)
        assert_equal [403, "refused: this request comes from a page of another origin\n"], [a.status, a.body], headers.inspect
      end
      # nobody is asked for a password because of another page
      assert_equal 403, r.post("/reset", { "Host" => "a", "Origin" => "http://evil.example" }).status
      %w[http://app.example https://app.example].each { |o| assert_equal 200, r.post("/reset", right.merge("Origin" => o, "Sec-Fetch-Site" => "same-origin")).status }
      assert_equal 2, JSON.parse(r.get("/stats.json").body)["resets"]
    end
  end

  def test_wrong_arguments
    r = racked
    { "token: 1" => "TypeError", "token: ''" => "ArgumentError", "authorize: true" => "TypeError", "tokens: 1" => "ArgumentError", "1" => "ArgumentError" }.each do |args, error|
      assert_equal error, r.eval("begin; MwrapRack.new(#{args}); rescue => e; e.class.name; end"), args
    end
    assert_equal "TypeError", r.eval("begin; APP.call(nil); rescue => e; e.class.name; end")
    assert_equal 200, r.eval("MwrapRack.new.freeze.call('REQUEST_METHOD' => 'GET', 'PATH_INFO' => '/')[0]")
    assert_equal %w[call], r.eval("MwrapRack.public_instance_methods(false)")
  end

  # --- where it is mounted -----------------------------------------------------------------------

  # SCRIPT_NAME => what links begin with
  MOUNTS = { "" => "", "/MWRAP" => "/MWRAP", "/a b" => "/a%20b", "/a%20b" => "/a%20b", "/deep/er/x.y~z" => "/deep/er/x.y~z",
             "/\u00e9\"<>'" => "/%C3%A9%22%3C%3E'", "/50%" => "/50%25", "//evil.example" => "/evil.example", "/x/" => "/x", "/a&b" => "/a&b" }.freeze

  def test_mount_points
    r = racked(rack: nil, new: { token: "t" })
    MOUNTS.each do |script, base|
      env = { "SCRIPT_NAME" => script, "REQUEST_METHOD" => "GET" }
      body = r.get("/", {}, env).body.force_encoding("UTF-8")
      escaped = base.gsub("&", "&amp;").gsub("'", "&#39;")
      links = body.scan(/(?:href|src|action)="([^"]*)"/).flatten.reject { |l| l.start_with?("data:") }
      assert_operator links.size, :>, 50
      assert_empty links.reject { |l| l.start_with?("#{escaped}/") && !l.start_with?("//") }, script
      assert_includes body, "data-base=\"#{escaped}\""
      a = r.get("", {}, env.merge("QUERY_STRING" => "a=1&b=%20"))
      if base.empty?
        assert_equal 200, a.status
      else
        assert_equal [302, "#{base}/?a=1&b=%20"], [a.status, a.headers["location"]], script
        assert_equal [302, "#{base}/"], r.get("", {}, env).to_a[0, 2].then { |s, h| [s, h["location"]] }
      end
    end
  end

  def test_no_header_is_made_by_a_request
    r = racked(rack: nil, new: { token: "t" })
    env = { "SCRIPT_NAME" => "/x\r\nSet-Cookie: a=1", "QUERY_STRING" => "a\r\nSet-Cookie: b\0c" }
    assert_equal "/x%0D%0ASet-Cookie:%20a=1/?a%0D%0ASet-Cookie:%20b%00c", r.get("", {}, env).headers["location"]
    a = r.post("/reset", { "Authorization" => "Bearer t", "Accept" => "text/html", "Host" => "h", "Referer" => "http://h/x\r\nSet-Cookie: a=1" })
    assert_equal [303, "/"], [a.status, a.headers["location"]]
  end

  def test_a_form_leads_back_to_a_page_of_ours
    r = racked(mount: "/MWRAP", new: { token: "t" })
    form = { "Authorization" => "Bearer t", "Accept" => "text/html", "Host" => "h" }
    { "http://h/MWRAP/each/0?sort=live" => "/MWRAP/each/0?sort=live", "http://h/MWRAP/" => "/MWRAP/", "http://h/MWRAP" => "/MWRAP",
      "http://h/MWRAPPED" => "/MWRAP/", "http://h/logout" => "/MWRAP/", "http://evil/MWRAP/" => "/MWRAP/", nil => "/MWRAP/" }.each do |from, to|
      a = r.post("/MWRAP/reset", form.merge("Referer" => from).compact)
      assert_equal [303, to], [a.status, a.headers["location"]], from.inspect
    end
  end

  # --- locations -----------------------------------------------------------------------------------

  HOSTILE = ["/srv/app.rb", "/srv/a b.rb", "/srv/%2e%2f.rb", "/srv/50%.rb", "/srv/two\nlines\r\ttab.rb", "/srv/\xff\xfe\xc3.rb", "/srv/\u00e9\u{1f600}.rb",
             "/srv/<script>\"'&amp;.rb", "//evil.example/x.rb", "/srv/a//b/./c.rb", "/srv/x.tsv", "/srv/x?q=1#f;a=b&c+d.rb", "(eval at /srv/x.rb:3)", "/", " "].freeze

  def hostile(mount = nil)
    racked(rack: (RACKS.last if mount), mount: mount).tap do |r| # Lint has an opinion on "#" in PATH_INFO
      HOSTILE.each { |name| r.eval("($kept ||= []) << eval('%(h) * 7000', nil, '#{[name.b].pack("m0")}'.unpack1('m').force_encoding('UTF-8'), 5); 0") }
    end
  end

  # As each kind of server gives a path: as it was sent, decoded, decoded and folded (with the URI, or without)
  KINDS = {
    sent: ->(path) { { "PATH_INFO" => path, "REQUEST_URI" => "/m#{path}?" } },
    alone: ->(path) { { "PATH_INFO" => path } },
    absolute: ->(path) { { "PATH_INFO" => path, "REQUEST_URI" => "http://localhost/m#{path}" } },
    folded: ->(path) { { "PATH_INFO" => File.expand_path(decoded(path)), "REQUEST_URI" => "http://localhost/m#{path}" } },
    decoded: ->(path) { { "PATH_INFO" => decoded(path), "REQUEST_URI" => "/m#{path}" } },
    rewritten: ->(path) { { "PATH_INFO" => path, "REQUEST_URI" => "/en/m#{path}?x=/m#{path}" } }
  }.freeze
  def self.decoded(path) = path.b.gsub(/%(\h\h)/n) { $1.hex.chr }

  def test_locations_of_any_bytes_however_the_path_comes
    r = hostile
    HOSTILE.each do |name|
      location = "#{name}:5"
      KINDS.each do |kind, env|
        path = "/at/#{escape(location)}.json"
        a = r.get("/", {}, env.call(path).merge("SCRIPT_NAME" => "/m"))
        assert_equal 200, a.status, "#{kind} #{location.inspect} #{a.body[0, 100]}"
        assert_equal location.b.dup.force_encoding("UTF-8").scrub("\ufffd"), JSON.parse(a.body)["location"], kind
      end
    end
  end

  # Without the URI, what was decoded can only be taken as that.
  def test_a_decoded_path_alone
    r = hostile
    ["/srv/app.rb", "/srv/a b.rb", "/srv/two\nlines\r\ttab.rb", "/srv/\xff\xfe\xc3.rb", "/srv/<script>\"'&amp;.rb", "/srv/50%.rb"].each do |name|
      a = r.get("/", {}, "SCRIPT_NAME" => "/m", "PATH_INFO" => "/at/#{name}:5")
      assert_equal 200, a.status, name.inspect
    end
    assert_equal 200, r.get("/at//srv/app.rb:5").status, "typed by hand"
  end

  # The links of the page itself, as a browser follows them.
  def test_its_own_links
    r = hostile("/m")
    links = pages("/m/each/0?limit=500") { |target| r.get(target).body.b }.scan(%r{<td class="location"><a href="([^"]*)"}n).flatten
    assert_operator links.size, :>=, HOSTILE.size
    hostile = links.select { |l| HOSTILE.any? { |name| l == "/m/at/#{escape("#{name}:5")}" } }
    assert_equal HOSTILE.size, hostile.size
    (hostile + links.first(20)).each { |l| assert_equal 200, r.get(l.gsub("&amp;", "&")).status, l }
  end

  # --- bodies ------------------------------------------------------------------------------------------

  def test_large_answers_come_in_parts
    r = racked(rack: RACKS.first)
    r.eval('3000.times { |i| eval("def m#{i} = nil", nil, "/srv/#{"long" * 20}/file#{i}.rb", i + 1) }; 0')
    a = r.get("/each/0.json")
    assert_operator a.parts.size, :>, 5
    assert_equal [65_536] * (a.parts.size - 1), a.parts[0..-2]
    assert_operator JSON.parse(a.body).size, :>, 3000
    assert_equal a.body.bytesize.to_s, a.headers["content-length"]
    assert_equal [], r.eval("b = APP.call('REQUEST_METHOD' => 'GET', 'PATH_INFO' => '/each/0.json')[2]; b.close; b.close; a = []; b.each { |s| a << s }; a")
    assert_equal [1], r.eval("b = APP.call('REQUEST_METHOD' => 'GET', 'PATH_INFO' => '/each/0.json')[2]; a = []; b.each { |s| a << 1; b.close }; a")
    assert_equal "stop", r.eval("b = APP.call('REQUEST_METHOD' => 'GET', 'PATH_INFO' => '/each/0.json')[2]; begin; b.each { raise 'stop' }; rescue => e; e.message; end")
  end

  # Readers that take nothing cost something, and not without end.
  def test_answers_that_wait_are_bounded
    r = racked(rack: nil)
    r.eval('3000.times { |i| eval("def m#{i} = nil", nil, "/srv/#{"long" * 200}/file#{i}.rb", i + 1) }; 0')
    statuses = r.eval("$b = Array.new(60) { APP.call('REQUEST_METHOD' => 'GET', 'PATH_INFO' => '/each/0.json') }; $b.map(&:first)")
    assert_equal [200, 503], statuses.uniq
    assert_equal "1", r.eval("$b.last[1]['retry-after']")
    assert_operator statuses.count(200), :>, 3
    assert_equal [200], r.eval("$b.each { |_, _, b| b.close }; $b = nil; Array.new(3) { APP.call('REQUEST_METHOD' => 'GET', 'PATH_INFO' => '/').tap { |r| r[2].close }[0] }.uniq")
  end

  def test_assets
    r = racked(mount: "/m")
    plain = r.get("/m/dist/app.js")
    zipped = r.get("/m/dist/app.js", { "Accept-Encoding" => "br, gzip" })
    assert_equal ["gzip", nil], [zipped, plain].map { |a| a.headers["content-encoding"] }
    assert_equal plain.body, Zlib.gunzip(zipped.body)
    assert_equal File.binread(File.join(ROOT, "web/dist/app.js")), plain.body
    same = r.get("/m/dist/app.js", { "If-None-Match" => plain.headers["etag"] })
    assert_equal [304, "", nil, nil], [same.status, same.body, same.headers["content-type"], same.headers["content-length"]]
    version = plain.headers["etag"].delete('"')
    assert_includes r.get("/m/dist/app.js?v=#{version}").headers["cache-control"], "immutable"
  end

  # --- its own work ----------------------------------------------------------------------------------------

  OURS = %r{/lib/mwrap_rack\.rb|/lib/mwrap/|mwrap_ext\.so|libmwrap_httpd\.so}

  def test_nothing_of_its_own_is_in_the_table
    r = racked(rack: nil, new: { token: "t" })
    r.eval("Mwrap.reset; 0")
    200.times.each_slice(200) { ["/", "/each/0", "/each/0.json", "/live", "/mwrap.css"].each { |target| assert_equal 200, r.times(200, target) } }
    r.post("/reset")
    r.post("/mark", { "Authorization" => "Bearer t" })
    eventually("ticks") { JSON.parse(r.get("/history.json").body)["fine"]["t"].size > 2 }
    table = rows(r.get("/each/0.tsv"))
    assert(table.any? { |row| row.location.include?("rack_driver.rb:") }, "its caller is there")
    assert_empty table.select { |row| row.location.match?(OURS) && row.allocations.positive? }
    # loading it, which the application asked for, is all that there is
    assert_equal [], table.select { |row| row.location.match?(OURS) }.map(&:location).grep_v(%r{/lib/(mwrap|mwrap_rack|mwrap/version)\.rb:\d+\z|mwrap_ext\.so})
  end

  # The application's own threads are tracked all the while.
  def test_others_are_tracked_meanwhile
    r = racked(rack: nil)
    code = <<~'RUBY'
      before = Mwrap.total_bytes_allocated
      t = Thread.new { 2000.times { 'z' * 10_000 } }
      100.times { APP.call('REQUEST_METHOD' => 'GET', 'PATH_INFO' => '/each/0')[2].close }
      t.join
      'q' * 1_000_000
      Mwrap.total_bytes_allocated - before
    RUBY
    assert_operator r.eval(code), :>=, 21_000_000
    assert_equal 1, r.eval("Mwrap.quiet { |depth| depth }")
    assert_equal 1, r.eval("begin; APP.call('REQUEST_METHOD' => 'GET', 'PATH_INFO' => 5); rescue TypeError; end; catch(:x) { APP.call('REQUEST_METHOD' => 'GET', 'PATH_INFO' => '/')[2].each { throw :x } }; Mwrap.quiet { |depth| depth }")
  end
end
