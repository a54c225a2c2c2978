#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# The HTTP server's answers: every route and form, statuses, headers, permission to POST.

require_relative "lib/httpd"
require "cgi/escape"

class HttpdRoutesTest < Minitest::Test
  NAMES = MwrapTest::COLUMNS
  POLICY = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

  # Of a page that carries the dashboard's script, which is served by the process itself.
  SCRIPT = %r{<script type="module" src="/dist/mwrap\.js\?v=\h+"></script>}
  SCRIPT_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " \
                  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

  def tsv(target) = get(target).body.force_encoding("UTF-8").lines(chomp: true).map { |l| l.split("\t", -1) }

  # A row's number in that column.
  def number(row, name) = row[NAMES.index(name)].to_i

  def locations(target) = tsv(target).drop(1).map { |r| r[NAMES.index("location")] }

  # Cells of the HTML table, numbers without commas.
  def html_rows(body)
    tbody = body.dup.force_encoding("UTF-8")[%r{<tbody>(.*?)</tbody>}m, 1]
    tbody.scan(%r{<tr>(.*?)</tr>}m).map do |(row)|
      row.scan(%r{<td[^>]*>(.*?)</td>}m).map { |(c)| CGI.unescapeHTML(exact(c).gsub(/<[^>]*>/, "")) }
    end
  end

  def test_each_in_every_form_has_the_same_rows
    serving("rows=60")
    table = tsv("/each/0.tsv")
    assert_equal NAMES, table.shift
    assert_equal 60, table.size
    assert_equal table.map { |r| number(r, "total") }.sort.reverse, table.map { |r| number(r, "total") }

    json = JSON.parse(get("/each/0.json").body)
    assert_equal NAMES, json[0].keys
    unescaped = table.map { |r| MwrapTest::Dump.unescape(r[NAMES.index("location")]) }
    assert_equal unescaped, json.map { |r| r["location"] }
    assert_equal table.map { |r| number(r, "growth") }, json.map { |r| r["growth"] }

    csv = MwrapTest::Dump.csv_records(get("/each/0.csv").body)
    assert_equal NAMES, csv.shift
    assert_equal unescaped, csv.map { |r| r[NAMES.index("location")].force_encoding("UTF-8") }

    rows = html_rows(get("/each/0").body)
    assert_equal unescaped.map { |s| s.gsub("\r", "\n") }, rows.map { |r| r.last.gsub("\r", "\n") }
    shown = NAMES - ["location"]
    MwrapTest::SUM_COLUMNS.each { |name| assert_equal table.map { |r| r[NAMES.index(name)] }, rows.map { |r| r[shown.index(name)].delete(",") }, name }
    assert(rows.any? { |r| r[NAMES.index("total")].match?(/\A\d{1,3}(,\d{3})+\z/) })
  end

  def test_overruns_in_every_form_are_the_same_rows
    serving("rows=60")
    table = tsv("/overruns.tsv")
    columns = MwrapTest::OVERRUN_COLUMNS
    assert_equal columns, table.shift
    assert_equal 20, table.size
    assert_equal table.map { |r| r[0].to_i }.sort.reverse, table.map { |r| r[0].to_i }
    unescaped = table.map { |*numbers, name| [*numbers.map(&:to_i), MwrapTest::Dump.unescape(name)] }
    json = JSON.parse(get("/overruns.json").body)
    assert_equal unescaped, json["rows"].map { |r| r.values_at(*columns) }
    totals = [unescaped.sum(&:first), 7, 1_234_567, unescaped.sum { |r| r[2] }]
    names = %w[overruns double_frees unknown_frees wrong_sizes]
    assert_equal totals, json.values_at(*names)
    assert_operator totals.last, :>, 0
    assert_equal totals, JSON.parse(get("/stats.json").body).values_at(*names)
    csv = MwrapTest::Dump.csv_records(get("/overruns?format=csv").body)
    assert_equal columns, csv.shift
    assert_equal unescaped, csv.map { |*numbers, name| [*numbers.map(&:to_i), name.force_encoding("UTF-8")] }
    page = get("/overruns").body
    rows = html_rows(page).map { |*numbers, name| [*numbers.map { |n| n.delete(",").to_i }, name] }
    assert_equal unescaped.map { |*n, name| [*n, name.gsub("\r", "\n")] }, rows.map { |*n, name| [*n, name.gsub("\r", "\n")] }
    assert_includes page, "1,234,567 of one that the tracker never saw"
  end

  def test_content_types_and_headers
    serving
    { "/" => "text/html; charset=utf-8", "/each/0" => "text/html; charset=utf-8",
      "/each/0.tsv" => "text/tab-separated-values; charset=utf-8",
      "/each/0.csv" => "text/csv; charset=utf-8; header=present",
      "/each/0.json" => "application/json; charset=utf-8",
      "/stats.json" => "application/json; charset=utf-8",
      "/overruns" => "text/html; charset=utf-8",
      "/overruns.tsv" => "text/tab-separated-values; charset=utf-8",
      "/overruns.json" => "application/json; charset=utf-8",
      "/heap_pages" => "text/html; charset=utf-8",
      "/heap_pages.csv" => "text/csv; charset=utf-8; header=present",
      "/heap_pages.json" => "application/json; charset=utf-8",
      "/mwrap.css" => "text/css; charset=utf-8",
      "/at/%2Fsrv%2Fapp%2Fa.rb%3A1" => "text/html; charset=utf-8",
      "/none" => "text/plain; charset=utf-8" }.each do |target, type|
      r = get(target)
      assert_equal type, r.headers["content-type"], target
      assert_equal target == "/mwrap.css" ? "no-cache" : "no-store", r.headers["cache-control"]
      assert_equal "nosniff", r.headers["x-content-type-options"]
      assert_equal "same-origin", r.headers["referrer-policy"]
      policy = r.body.match?(SCRIPT) ? SCRIPT_POLICY : POLICY
      assert_equal [*(policy if type.start_with?("text/html"))], [*r.headers["content-security-policy"]], target
      assert r.body.dup.force_encoding("UTF-8").valid_encoding?
      refute_includes r.body.gsub("{{q}}", ""), "{{", target # but for the location of that name
    end
  end

  def test_query
    serving("rows=60")
    sorted = tsv("/each/0.tsv?sort=live&order=asc").drop(1).map { |r| number(r, "live") }
    assert_equal sorted.sort, sorted
    assert_equal locations("/each/0.tsv?sort=total"), locations("/each/0.tsv?sort=bytes")
    names = locations("/each/0.tsv?sort=location")
    assert_equal names.map(&:b).sort, names.map(&:b)
    assert_equal locations("/each/0.tsv").slice(5, 10), locations("/each/0.tsv?offset=5&limit=10")
    assert_equal [], locations("/each/0.tsv?offset=60")
    assert_equal 60, locations("/each/0.tsv?limit=0").size
    assert_equal ["/srv/app/100% + {{q}}.rb:9"], locations("/each/0.tsv?q=100%25+%2B")
    assert_equal ["/srv/app/<b>&\"'.rb:2"], locations("/each/0.tsv?q=%3Cb%3E")
    assert_equal [], locations("/each/0.tsv?q=nowhere")
    files = locations("/each/0.tsv?group=file&limit=3&sort=location")
    assert_equal 3, files.size
    assert(files.none? { |f| f.match?(/:\d+\z/) }, files.inspect)
    assert_includes locations("/each/0.tsv?group=gem"), "thing-1.20"
    min = tsv("/each/0.tsv").drop(1).map { |r| number(r, "total") }.sort[30]
    want = tsv("/each/0.tsv").drop(1).count { |r| %w[total live_bytes object_bytes].map { |c| number(r, c) }.max > min }
    assert_operator want, :<, 60
    assert_equal want, locations("/each/#{min}.tsv").size
    assert_equal want, locations("/each?format=tsv&min=#{min}").size
    assert_equal want, locations("/each/0?format=tsv&min=#{min}&unknown=key&&x").size
    assert_equal 60, locations("/each/0?format=tsv&min=&limit=&q=&sort=").size # an empty form
    assert_equal [], locations("/each/#{2**64 - 1}.tsv")
  end

  def test_bad_parameters_are_one_line
    serving
    { "sort=nothing" => /\Asort: one of total, .*not "nothing"/, "order=up" => /\Aorder: /,
      "limit=-1" => /\Alimit: a whole number/, "limit=1e3" => /\Alimit: /,
      "offset=#{2**64}" => /\Aoffset: /, "group=class" => /\Agroup: line, file, dir, gem or kind/, "min=2k" => /\Amin: /,
      "format=xml" => /\Aformat: /, "q=%" => /percent/, "q=%zz" => /percent/, "q=%0" => /percent/,
      "q=a%00b" => /NUL/, "sort=%0a%0d%1b" => /\Asort: /, "order=#{"x" * 5000}" => /\Aorder: .{1,200}$/ }
      .each { |query, why| assert_line get("/each/0?#{query}"), 400, why }
    %w[/each/x /each/-1 /each/1.5 /each/1.xml /each/18446744073709551616 /each/1/2 /each/.tsv.tsv].each do |target|
      assert_line get(target), 400, /MIN/
    end
  end

  def test_unknown_pages
    serving
    %w[/x /each.tsv /EACH/0 /%65ach/0 /at.xml?location=x /controls.html /layout.html /mwrap.css/ /../etc/passwd
       /%2e%2e/%2e%2e/etc/passwd //each/0 /statsx /help.html /favicon.ico /reset/].each { |t| assert_line get(t), 404 }
    assert_line get("/at/nowhere"), 404, /no such location/
    assert_line request("POST", "/x"), 404
  end

  # A person gets a page with the way on, a program a line.
  def test_unknown_pages_in_a_browser
    serving
    browser = { "Accept" => "text/html,application/xhtml+xml,*/*;q=0.8" }
    { "/x" => "no such page.", "/at/%3Cnowhere%3E" => "no such location: nothing was allocated there." }.each do |target, why|
      r = get(target, browser)
      assert_equal [404, "text/html; charset=utf-8"], [r.status, r.headers["content-type"]]
      ["<h1>Not found</h1>", why, 'href="/each/2000"', "</html>"].each { |text| assert_includes r.body, text }
      assert_equal ["", 404], request("HEAD", target, browser).then { |h| [h.body, h.status] }
    end
    assert_line request("POST", "/x", browser), 404
    assert_line get("/each/0?sort=x", browser), 400
  end

  def test_stats_and_help_are_pages
    serving
    stats = get("/stats").body.force_encoding("UTF-8")
    json = JSON.parse(get("/stats.json").body)
    assert_includes stats, %(<a href="/stats" aria-current="page">Stats</a>)
    { "live_bytes" => "Live", "total" => "Allocated", "tracker_bytes" => "Tracker" }.each do |key, name|
      assert_equal json[key], exact(stats)[%r{<th scope="row">#{name}</th><td class="num">([\d,]+)</td>}, 1].delete(",").to_i, key
    end
    help = get("/help").body
    assert_includes help, %(href="/help" aria-current="page">?</a>)
    assert_includes help, "<dt>RSS</dt>"
    each = get("/each/5?q=srv").body
    assert_equal ["/each/2000"], each.scan(/href="([^"]*)" aria-current="page"/).flatten
    assert_equal ["/"], get("/").body.scan(/href="([^"]*)" aria-current="page"/).flatten
  end

  def test_methods
    serving
    %w[/ /each/0 /at?location=x /overruns /overruns.tsv /heap_pages /stats.json /mwrap.css].each do |target|
      %w[POST PUT DELETE OPTIONS TRACE PROPFIND].each do |method|
        r = request(method, target)
        assert_line r, 405
        assert_equal "GET, HEAD", r.headers["allow"]
      end
    end
    %w[/reset /clear /trim].each do |target|
      %w[GET HEAD PUT].each do |method|
        r = request(method, target)
        assert_equal 405, r.status
        assert_equal "POST", r.headers["allow"]
      end
    end
  end

  def test_head_is_get_without_a_body
    serving
    %w[/ /each/0 /each/0.tsv /each/0.csv /each/0.json /overruns /overruns.json /heap_pages /heap_pages.tsv /stats.json /mwrap.css /at?location=/srv/app/a.rb:1
       /none /each/x].each do |target|
      got, head = get(target), request("HEAD", target)
      assert_equal "", head.body
      assert_equal got.status, head.status
      assert_equal got.headers["content-length"], head.headers["content-length"]
      assert_equal got.headers["content-type"], head.headers["content-type"]
    end
  end

  def test_get_changes_nothing
    f = serving
    %w[/ /reset /clear /trim /each/0 /overruns /heap_pages /heap_pages.json /stats.json].each { |t| get(t) }
    assert_equal "copies 0 resets 0 trims 0", f.ask("counts")
  end

  def test_post
    f = serving
    assert_line post("/reset"), 200, /reset/
    assert_line post("/clear"), 200, /reset/
    assert_line post("/trim"), 200, /given back to the system/
    assert_line post("/trim"), 200, /no memory to give back/
    assert_line post("/reset", {}, "x" * 100_000), 200
    chunked = { "Transfer-Encoding" => "chunked" }
    assert_line request("POST", "/reset", chunked.merge("Connection" => "close\r\n\r\n5\r\nhello\r\n0"), nil), 200
    assert_equal "copies 0 resets 4 trims 2", f.ask("counts")
  end

  def test_post_from_a_form_goes_back_to_a_page
    f = serving
    form = { "Accept" => "text/html,application/xhtml+xml", "Host" => "localhost:8080" }
    back = lambda do |headers|
      r = post("/reset", form.merge(headers))
      assert_equal 303, r.status
      r.headers["location"]
    end
    assert_equal "/", back.({})
    assert_equal "/each/0?sort=live", back.({ "Referer" => "http://localhost:8080/each/0?sort=live" })
    ["http://evil.example/each/0", "http://localhost:8080.evil.example/", "http://localhost:8080//evil.example/",
     "http://localhost:8080/\\evil", "http://localhost:8080", "javascript:alert(1)", "http://localhost:8080/a b"]
      .each { |referer| assert_equal "/", back.({ "Referer" => referer }), referer }
    assert_equal "copies 0 resets 9 trims 0", f.ask("counts")
  end

  def test_post_from_another_origin_is_refused
    f = serving
    host = { "Host" => "localhost:8080" }
    [{ "Origin" => "http://evil.example" }, { "Origin" => "null" }, { "Origin" => "http://localhost:8081" },
     { "Origin" => "http://localhost" }, { "Origin" => "http://localhost:8080.evil.example" },
     { "Origin" => "file://" }, { "Origin" => "" }, { "Sec-Fetch-Site" => "cross-site" },
     { "Sec-Fetch-Site" => "same-site" }, { "Sec-Fetch-Site" => "new-word" },
     { "Origin" => "http://localhost:8080", "Sec-Fetch-Site" => "cross-site" }].each do |headers|
      %w[/reset /clear /trim].each { |target| assert_line post(target, host.merge(headers)), 403, /origin/ }
    end
    assert_equal "copies 0 resets 0 trims 0", f.ask("counts")
    [{ "Origin" => "http://localhost:8080" }, { "Origin" => "https://LOCALHOST:8080" },
     { "Sec-Fetch-Site" => "same-origin" }, { "Sec-Fetch-Site" => "none" }]
      .each { |headers| assert_equal 200, post("/reset", host.merge(headers)).status, headers.inspect }
    assert_equal "copies 0 resets 4 trims 0", f.ask("counts")
  end

  def test_read_only
    f = serving("read_only=1")
    %w[/reset /clear /trim].each { |t| assert_line post(t), 403, /read_only/ }
    assert_equal "copies 0 resets 0 trims 0", f.ask("counts")
    body = get("/").body
    refute_includes body, "/reset"
    assert_includes body, "Read-only"
  end

  def test_at
    serving("lives=2500")
    name = "/srv/app/a.rb:1"
    encoded = name.gsub("/", "%2F").gsub(":", "%3A")
    whole = get("/at/#{encoded}.tsv").body
    assert_equal "size\tgeneration\tage\taddress\n", whole.lines[0]
    assert_equal 2501, whole.lines.size
    ["/at/#{name}.tsv", "/at/#{name}?format=tsv", "/at?location=#{encoded}&format=tsv",
     "/at.tsv?location=#{encoded}", "/at?location=#{name}&format=tsv", "/at#{name}.tsv"].each do |target|
      assert_equal whole, get(target).body, target
    end
    json = JSON.parse(get("/at/#{encoded}.json").body)
    assert_equal [name, 2500], [json["location"], json["lives"].size]
    assert_equal 2500, json["by_size"].sum { |b| b["count"] }
    assert_equal 2500, json["by_age"].sum { |b| b["count"] }
    assert_equal 2501, get("/at/#{encoded}.csv").body.lines.size

    page = get("/at/#{encoded}").body.force_encoding("UTF-8")
    assert_includes exact(page), "2,500 blocks are live here, 250,000:"
    assert_includes page, %(<span class="amount" title="250,000 bytes">244\u00a0KB</span>)
    assert_includes page, "<summary>The newest 100 of 2,500 live blocks, with their addresses</summary>"
    assert_includes page, "href=\"/at/#{encoded}.tsv\""
    assert_equal 100, page.scan("address\">0x").size
    assert_includes page, %(<th scope="row" class="num"><span class="amount" title="64–127 bytes">64–128\u00a0B</span></th>)
  end

  def test_at_every_link_of_the_table_is_a_page
    serving("rows=40")
    body = get("/each/0").body.force_encoding("UTF-8")
    links = body.scan(%r{<td class="location"><a href="([^"]*)">(.*?)</a>}m)
    assert_equal 40, links.size
    links.each do |href, text|
      assert_match(%r{\A/at/[A-Za-z0-9\-._~%]+\z}, href)
      r = get(href)
      assert_equal 200, r.status, href
      assert_includes r.body.force_encoding("UTF-8"), "<h1 class=\"location\">#{text}</h1>"
    end
  end

  def test_at_suffix_belongs_to_the_location_if_there_is_one
    serving
    assert_match(/<h1 class="location">.srv.app.data.tsv</, get("/at//srv/app/data.tsv").body.gsub("<wbr>", ""))
    assert_equal "size\tgeneration\tage\taddress\n", get("/at//srv/app/data.tsv.tsv").body
    assert_equal "size\tgeneration\tage\taddress\n", get("/at//srv/app/data.tsv?format=tsv").body
    assert_equal "size,generation,age,address\r\n", get("/at//srv/app/data.csv").body
    assert_equal "/srv/app/data", JSON.parse(get("/at//srv/app/data.json").body)["location"]
    assert_line get("/at//srv/app/data.csv?format=tsv"), 404
  end

  def test_at_other_names
    serving
    ["/usr/lib/libfoo.so(fn+0x1f) [0x7f0012345678]", "/usr/lib/libfoo.so(fn+0x1f)",
     "/usr/lib/libfoo.so(fn+0x1f)\t[0x7f0012345678]", "anything\t[0x7f0012345678]"].each do |name|
      assert_equal 200, get("/at/#{CGI.escape(name).gsub("+", "%20")}").status, name
      assert_equal 200, get("/at?location=#{CGI.escape(name)}").status, name
    end
  end

  def test_at_bad
    serving
    ["/at", "/at/", "/at?format=tsv", "/at/%", "/at/%4", "/at/%zz", "/at/a%00b", "/at?location=%00", "/at?location="]
      .each { |target| assert_line get(target), 400 }
    assert_line get("/at/#{"a" * 20_000}"), 404
    assert_line get("/at/#{"%41" * 8000}"), 404
    ["/at/..", "/at/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/at/#{"../" * 50}etc/passwd"]
      .each { |target| assert_line get(target), 404 }
  end

  def test_stats
    serving
    stats = JSON.parse(get("/stats.json").body)
    assert_equal [1000, 4711.0, "gc"], stats.values_at("generation", "uptime", "life_unit")
    assert_equal path, stats["options"]["socket"]
  end

  # --- the page -------------------------------------------------------------

  def test_home_is_the_fifty_that_grow_most
    serving("rows=120")
    rows = html_rows(get("/").body)
    want = tsv("/each/0.tsv?sort=growth&limit=50").drop(1)
    assert_equal want.map { |r| number(r, "growth") }, rows.map { |r| number(r.map { |c| c.delete(",") }, "growth") }
    body = get("/").body
    assert_includes body, "action=\"/reset\""
    assert_includes body, "action=\"/trim\""
  end

  def test_headers_sort
    serving
    body = get("/each/5?q=srv&group=line&sort=live").body
    assert_equal NAMES.size, body.scan("<th scope=\"col\"").size
    assert_equal 1, body.scan("aria-sort").size
    assert_includes body, "aria-sort=\"descending\"><a href=\"/each/5?sort=live&amp;order=asc&amp;q=srv\""
    body = get("/each/5?q=srv&sort=live&order=asc").body
    assert_includes body, "aria-sort=\"ascending\"><a href=\"/each/5?sort=live&amp;q=srv\""
    assert_includes body, "<a href=\"/each/5?sort=location&amp;q=srv\""
    assert_includes get("/each/0?sort=location").body, "aria-sort=\"ascending\"><a href=\"/each/0?sort=location&amp;order=desc\""
  end

  def test_pager
    serving("rows=25")
    seen = []
    target = "/each/0?limit=10&sort=location"
    while target
      body = get(target).body.force_encoding("UTF-8")
      seen.concat(html_rows(body).map(&:last))
      target = body[/rel="next" href="([^"]*)"/, 1]&.gsub("&amp;", "&")
    end
    assert_equal 25, seen.size
    assert_equal 25, seen.uniq.size
    assert_match(/rel="prev" href="\/each\/0\?sort=location&amp;limit=10&amp;offset=10"/, body)
    refute_match(/rel="next"/, get("/each/0?limit=0").body)
    assert_match(/rel="next" href="\/each\/0\?sort=location&amp;group=file&amp;q=s&amp;limit=2&amp;offset=2"/, get("/each/0?group=file&q=s&limit=2&sort=location").body)
    assert_includes get("/each/0?offset=25").body, "No row is left"
    assert_includes get("/each/0?q=nowhere").body, "No location matches"
    assert_includes get("/each/#{2**60}").body, "No location has that much"
  end

  # A page is never endless, whatever limit is asked for; other forms have all rows.
  def test_a_page_has_some_rows
    serving("rows=700")
    { "" => 100, "?limit=3" => 3, "?limit=500" => 500, "?limit=10000" => 500, "?limit=0" => 500 }.each do |query, rows|
      assert_equal rows, html_rows(get("/each/0#{query}").body).size, query
    end
    assert_equal 701, get("/each/0.tsv").body.lines.size
    page = get("/each/0?limit=10000&q=s").body
    assert_match(/rel="next" href="\/each\/0\?q=s&amp;limit=500&amp;offset=500"/, page)
    assert_includes page.force_encoding("UTF-8"), "Locations 1\u2013500 of 700"
  end

  def test_sum
    serving("rows=30")
    foot = get("/each/0?limit=3").body[%r{<tfoot>(.*?)</tfoot>}m, 1]
    totals = exact(foot).scan(%r{<td class="num(?: r\d)?(?: by)?">([^<]*)</td>}).map { |(c)| c.delete(",").to_i }
    all = tsv("/each/0.tsv").drop(1)
    (0..5).each { |i| assert_equal all.sum { |r| r[i].to_i }, totals[i] }
    assert_includes foot, "Sum of 30 rows"
  end

  def test_groups_link_to_their_lines
    serving("rows=40")
    body = get("/each/0?group=file&q=/srv/app/a.rb").body
    link = body[/<td class="location"><a href="([^"]*)"/, 1]
    assert_equal "/each/0?q=%2Fsrv%2Fapp%2Fa.rb", link
    assert_includes get(link).body, "a.rb:1</a>"
    refute_match(/<td class="location"><a/, get("/each/0?group=gem").body)
  end

  def test_nothing_is_unescaped
    serving
    ["/each/0?q=%3Cscript%3E%22%27", "/at/%3Cscript%3E", "/", "/each/0", "/at//srv/app/%3Cb%3E%26%22'.rb%3A2"].each do |target|
      body = get(target).body
      next unless body.start_with?("<!DOCTYPE") # text/plain, nosniff
      assert_equal target.match?(%r{\A/(at/.*)?\z}) ? 1 : 0, body.scan(SCRIPT).size, target
      refute_match(/<script|<b>&/, body.sub(SCRIPT, ""))
      refute_match(/\s(style|on[a-z]+)=/, body)
    end
  end

  def test_html_is_valid
    tidy = ENV["PATH"].split(":").map { |d| File.join(d, "tidy") }.find { |f| File.executable?(f) }
    tidy or flunk "tidy isn't installed: bin/check does that"
    serving("rows=30", "lives=20")
    ["/", "/each/0", "/each/0?group=gem", "/each/0?limit=5&offset=5&q=s", "/each/0?q=nowhere",
     "/at//srv/app/a.rb:1", "/at//srv/app/data", "/stats", "/help", "/overruns", "/heap_pages"].each do |target|
      run = run_command(tidy, "-e", "-q", "--char-encoding", "utf8", "--show-body-only", "no", stdin: get(target).body)
      # tidy knows ARIA 1.0 only
      assert_empty run.stderr.lines.grep_v(/proprietary attribute "aria-current"/), target
    end
  end

  # --- TCP ------------------------------------------------------------------

  def tcp(*options, listen: "127.0.0.1:0")
    f = fake("listen=#{listen}", *options)
    eventually("a port on stderr") { f.said[%r{\Amwrap: listening on http://\S+:(\d+)/$}, 1] }.to_i
  end

  def test_tcp
    port = tcp
    assert_equal 200, get("/each/0.tsv", at: port).status
    ["localhost", "LocalHost:1", "localhost:#{port}", "127.0.0.1", "127.0.0.1:80", "127.1.2.3", "[::1]", "[::1]:99"]
      .each { |host| assert_equal 200, get("/stats.json", { "Host" => host }, at: port).status, host }
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1:80x", "127.0.0", "127.0.0.1.",
     "127.0.0.999", "[::2]", "[::1", "[::1]x", "0.0.0.0", "10.0.0.1", "localhostx", "x:localhost", "127.0.0.1:80:80",
     "user@localhost"].each do |host|
      assert_line get("/stats.json", { "Host" => host }, at: port), 403, /Host/
    end
    assert_line get("/", { "Host" => "" }, at: port), 403
    s = connect(port)
    s.write("GET /stats.json HTTP/1.0\r\n\r\n")
    assert_equal 403, parse(drain(s)).status
    assert_equal 200, post("/reset", { "Host" => "localhost:#{port}" }, at: port).status
    assert_line post("/reset", { "Host" => "localhost:#{port}", "Origin" => "http://localhost" }, at: port), 403
  end

  def test_tcp_on_ipv6
    Addrinfo.tcp("::1", 0).bind(&:close) rescue skip("no IPv6 here")
    port = tcp(listen: "[::1]:0")
    s = TCPSocket.new("::1", port)
    s.write("GET /stats.json HTTP/1.1\r\nHost: [::1]:#{port}\r\nConnection: close\r\n\r\n")
    assert_equal 200, parse(drain(s)).status
  ensure
    s&.close
  end

  def test_any_host_on_a_unix_socket
    serving
    ["0", "mwrap", "evil.example", "app.internal:80"].each do |host|
      assert_equal 200, get("/stats.json", { "Host" => host }).status
    end
  end

  def test_a_port_that_is_taken_is_one_line
    taken = TCPServer.new("127.0.0.1", 0)
    f = fake("listen=127.0.0.1:#{taken.addr[1]}")
    eventually("a word on stderr") { f.said.end_with?("\n") }
    assert_equal "mwrap: 127.0.0.1:#{taken.addr[1]}: can't listen: Address already in use\n", f.said
    assert_equal "stopped 1", f.ask("stop")
    f = fake("listen=127.0.0.1:#{taken.addr[1]}", "socket=#{path}", at: path)
    assert_equal 200, get("/").status
    assert_equal 1, f.said.lines.size
  ensure
    taken&.close
  end
end
