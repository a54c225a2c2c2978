#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Two moments of a process compared: snapshots as files, named marks, and what lies between them. The
# table at both moments says what is right.
require_relative "lib/served"
require_relative "lib/racked"
require "time"
require "uri"

class CompareTest < Minitest::Test
  include Racked

  APP = <<~'RUBY'
    $stdout.sync = true
    $kept, $children = [], []
    puts "ready"
    while (line = $stdin.gets)
      case line.chomp
      when "grow" then 100.times { $kept << "g" * 5000 }
      when "shrink" then $kept.clear; 3.times { GC.start }
      when "fork" then $children << fork { sleep }
      end
      puts "done #{$children.last}"
    end
    $children.each { |c| Process.kill(:KILL, c); Process.wait(c) }
  RUBY
  GROWS = "/app.rb:6"
  COLUMNS = %w[growth growth_blocks from_bytes to_bytes from_blocks to_blocks allocations frees location growth_objects growth_object_bytes growth_objects_error from_objects to_objects].freeze
  HOSTILE = ["deploy-17", "Ünïcödé 💎", "a&b=c#d%20", %q(<script>"'`), "=1+1", "../../etc", "x,y;z", "{{q}}", "n" * 80].freeze

  def text(target) = body(target).dup.force_encoding("UTF-8")
  def app(**rest) = served_ruby(APP, **rest).tap(&:hear)

  def tell(app, what)
    app.ask(what)
    at_rest(app)
  end

  def mark(name, at: "") = assert_equal(200, post("#{at}/mark?name=#{escape(name)}").then { |r| r.status == 200 ? 200 : r.body })

  # The fields of a head line
  def fields(line) = line.delete_prefix("# ").chomp.split.to_h { |f| f.split("=", 2).then { |k, v| [k, URI.decode_www_form_component(v)] } }

  # [fields of the head, rows by location] of a TSV with a head
  def headed(text)
    head, names, *lines = text.lines
    assert head.start_with?("# mwrap="), head
    keys = names.chomp.split("\t")
    rows = lines.map { |l| keys.zip(l.chomp.split("\t", -1)).to_h }
    [fields(head), rows.to_h { |r| [r["location"], r] }]
  end

  def between(query, at: "") = headed(body("#{at}/diff.tsv?#{query}"))

  # The table now: [live_bytes, live, allocations, frees] by location without its address
  def table(target = "/each/0.tsv")
    tsv(target).to_h { |r| [r.location.sub(/ \[0x\h+\]\z/, ""), [r.live_bytes, r.live, r.allocations, r.frees]] }
  end

  def assert_between(before, after, rows, calls: true)
    (before.keys | after.keys).each do |location|
      b, a = before.fetch(location, [0] * 4), after.fetch(location, [0] * 4)
      next if b[0].zero? && a[0].zero?
      want = [a[0] - b[0], a[1] - b[1], b[0], a[0], b[1], a[1], *(calls ? [a[2] - b[2], a[3] - b[3]] : [nil, nil])].map(&:to_s)
      n = after.key?(location) ? 8 : 6 # the table leaves out what has neither a total nor live blocks: its calls aren't known here
      assert_equal want.first(n), rows.fetch(location).values_at(*COLUMNS.first(n)), location
    end
    assert_empty rows.keys - before.keys - after.keys
  end

  # --- snapshots ---------------------------------------------------------------------------

  def test_a_snapshot_is_the_table_below_its_head
    at_rest(a = app)
    eventually("a first look for the peak") { body("/snapshot.tsv").lines[0].include?("peak_uptime") }
    head, rest = body("/snapshot.tsv").split("\n", 2)
    assert_equal body("/each/0.tsv"), rest
    f = fields(head)
    assert_equal %w[mwrap mark time unix uptime pid start gc rss live_bytes live resets peak_uptime], f.keys
    s = stats
    assert_equal [a.pid, s["resets"], s["live_bytes"], s["live"]].map(&:to_s), f.values_at("pid", "resets", "live_bytes", "live")
    assert_equal ["", JSON.parse(body("/history.json"))["start"]], f.values_at("mark", "start")
    assert_in_delta Time.now.to_f, f["unix"].to_f, HttpdTest::PATIENCE
    assert_equal f["unix"], format("%.3f", Time.iso8601(f["time"]).to_r)
    assert_includes 0..f["uptime"].to_f, f["peak_uptime"].to_f
    part = body("/snapshot.tsv?sort=live_bytes&limit=3&q=app.rb").lines
    assert_equal body("/each/0.tsv?sort=live_bytes&limit=3&q=app.rb"), part.drop(1).join
    assert_line get("/snapshot.tsv?sort=x"), 400, /\Asort: one of total/
    assert_equal 405, post("/snapshot.tsv").status
  end

  def test_a_snapshot_of_a_mark_is_the_table_of_then
    a = app
    at_rest(a)
    mark("then")
    before = table
    tell(a, "grow")
    f, rows = headed(body("/snapshot.tsv?mark=then"))
    assert_equal %w[then] + JSON.parse(body("/marks.json"))["marks"][0].values_at("time", "rss", "live_bytes").map(&:to_s), f.values_at("mark", "time", "rss", "live_bytes")
    assert_equal before.reject { |_, v| v[0].zero? }, rows.transform_values { |r| r.values_at("live_bytes", "live", "allocations", "frees").map(&:to_i) }
    assert_equal 2, headed(body("/snapshot.tsv?mark=then&limit=2"))[1].size
    assert_line get("/snapshot.tsv?mark=x"), 404, %r{\Amark: no mark has the name "x": /marks lists them$}
    assert_line get("/snapshot.tsv?mark=then&sort=total"), 400, /\Asort: one of allocations, frees/
  end

  # --- between marks -----------------------------------------------------------------------

  def test_every_location_between_two_marks_and_now
    a = app
    tables = [nil, "grow", "shrink"].each_with_index.map do |order, i|
      tell(a, order) if order
      at_rest(a)
      mark("m#{i}")
      table
    end
    [[0, 1], [1, 2], [0, 2]].each do |from, to|
      f, rows = between("from=m#{from}&to=m#{to}")
      assert_between(tables[from], tables[to], rows)
      assert_equal ["m#{from}", "m#{to}", "1"], f.values_at("from", "to", "exact")
      assert_equal rows.values.sum { |r| r["growth"].to_i }, f["growth"].to_i
      assert_equal rows.values.sum { |r| r["growth_blocks"].to_i }, f["growth_blocks"].to_i
      assert_in_delta f["to_uptime"].to_f - f["from_uptime"].to_f, f["seconds"].to_f, 0.002
    end
    f, rows = between("from=m0&to=m1")
    grown = rows.values.first # most first
    assert_operator grown["location"], :end_with?, GROWS
    assert_operator grown["growth"].to_i, :>=, 100 * 5001
    assert_between(tables[0], table, between("from=m0")[1])
    assert_between({}, table, between("")[1])
    assert_between({}, tables[1], between("to=m1")[1])
    assert_equal a.pid.to_s, f["pid"]
  end

  # A page has some of the rows; its links to the others keep the question.
  def test_pages_of_rows
    a = app
    at_rest(a)
    mark("m")
    query = "from=start&to=m&q=r&group=file&sort=location"
    want = between(query)[1].keys
    assert_operator want.size, :>, 15
    seen, target = [], "/diff?#{query}&limit=7"
    while target
      page = text(target)
      rows = page[%r{<tbody>(.*?)</tbody>}m, 1].scan(%r{<td class="location">(.*?)</td>}).flatten.map { |cell| CGI.unescapeHTML(cell.gsub("<wbr>", "")) }
      assert_match(/<caption>Differences #{seen.size + 1}\u2013#{seen.size + rows.size} of #{want.size}, by location, least first</, page)
      seen.concat(rows)
      target = page[/rel="next" href="([^"]*)"/, 1]&.then { |href| CGI.unescapeHTML(href) }
    end
    assert_equal want, seen
    assert_equal "/diff?from=start&to=m&sort=location&group=file&q=r&limit=7&offset=#{(want.size - 1) / 7 * 7 - 7}", CGI.unescapeHTML(page[/rel="prev" href="([^"]*)"/, 1])
    assert_operator between("from=start&to=m")[1].size, :>, 100
    assert_equal 100, text("/diff?from=start&to=m")[%r{<tbody>(.*?)</tbody>}m, 1].scan("<tr>").size
  end

  def test_a_reset_between_changes_nothing_that_is_live
    a = app
    at_rest(a)
    mark("before")
    tables = [table]
    post("/reset")
    tell(a, "grow")
    mark("after")
    tables << table
    assert_between(*tables, between("from=before&to=after")[1], calls: false)
    assert_between(*tables, between("from=before")[1], calls: false)
    tell(a, "shrink")
    assert_between(tables[1], table, between("from=after")[1])
    row = JSON.parse(body("/diff.json?from=before&to=after&limit=1"))["rows"][0]
    assert_equal [nil, nil], row.values_at("allocations", "frees")
  end

  def test_the_forms_have_the_same_rows
    a = app
    at_rest(a)
    mark("x")
    tell(a, "grow")
    mark("y")
    query = "from=x&to=y&sort=location"
    lines = body("/diff.tsv?#{query}").lines.drop(1).map { |l| l.chomp.split("\t", -1) }
    assert_equal COLUMNS, lines.shift
    assert_equal [COLUMNS, *lines], MwrapTest::Dump.csv_records(body("/diff.csv?#{query}")).map { |l| l.map { |s| s.force_encoding("UTF-8") } }.reject { |l| l == [""] }
    j = JSON.parse(body("/diff.json?#{query}"))
    assert_equal %w[from to seconds pid start exact growth growth_blocks matched rows], j.keys
    assert_equal lines, j["rows"].map { |r| r.values.map(&:to_s) }
    assert_equal [lines.size, lines.sum { |l| l[0].to_i }, "x", "y"], [j["matched"], j["growth"], j["from"]["name"], j["to"]["name"]]
    html = cells(body("/diff?#{query}&limit=500")[%r{<tbody>(.*?)</tbody>}m, 1])
    # without objects the page has none of their columns
    assert_equal lines.map { |l| l.first(9) }, html.map { |c| c.map.with_index { |t, i| i < 8 ? t.delete(",") : t } }
  end

  def test_queries
    a = app
    at_rest(a)
    mark("x")
    tell(a, "grow")
    by = ->(query, column) { between("from=x&#{query}")[1].values.map { |r| r[column] } }
    sizes = by["sort=to_bytes", "to_bytes"].map(&:to_i)
    assert_equal sizes.sort.reverse, sizes
    assert_equal sizes.sort, by["sort=to_bytes&order=asc", "to_bytes"].map(&:to_i)
    assert_equal sizes.first(3), by["sort=to_bytes&limit=3", "to_bytes"].map(&:to_i)
    assert_equal sizes[1, 3], by["sort=to_bytes&limit=3&offset=1", "to_bytes"].map(&:to_i)
    assert_operator by["min=100000", "to_bytes"].map(&:to_i).min, :>, 100_000
    lines = by["q=app.rb&sort=location", "location"]
    assert(lines.all? { |l| l.include?("app.rb:") })
    files = between("from=x&group=file")[1]
    assert_equal between("from=x&q=app.rb")[0]["growth"], files.fetch(path("app.rb"))["growth"]
    { "from=y" => [404, /\Afrom: no mark has the name "y"/], "from=x&to=y" => [404, /\Ato: no mark/], "from=now" => [404, /\Afrom: no mark has the name "now"/],
      "sort=total" => [400, /\Asort: one of growth, growth_blocks, from_bytes/], "group=kind" => [400, /\Agroup: line, file, dir or gem expected/],
      "limit=x" => [400, /\Alimit/], "from=999999" => [400, /\Afrom: must not be later than to or now/], "from=x&to=0" => [400, /\Afrom: must not be later/],
      "format=x" => [400, /\Aformat/], "from=%zz" => [400, /percent/] }.each do |query, (status, like)|
      assert_line get("/diff.tsv?#{query}"), status, like
    end
    assert_line get("/diff.txt"), 404
    assert_equal 405, post("/diff").status
  end

  # --- marks ---------------------------------------------------------------------------------

  def test_names
    at_rest(app)
    HOSTILE.each { |n| mark(n) }
    json = JSON.parse(body("/marks.json"))
    assert_equal [HOSTILE, 64, 0], [json["marks"].map { |m| m["name"] }, json["max"], json["gone"]]
    assert_operator json["bytes"], :>, 0
    assert_equal HOSTILE.map(&:b), body("/marks.tsv").lines.drop(1).map { |l| l.split("\t")[0].b }
    page = text("/marks")
    HOSTILE.each do |n|
      assert_includes page, ">#{CGI.escapeHTML(n)}</a>"
      f, rows = between("from=#{escape(n)}")
      assert_equal [n, "0"], [f["from"].dup.force_encoding("UTF-8"), f["growth"]]
      refute_empty rows
      assert_equal n, JSON.parse(body("/diff.json?from=#{escape(n)}&limit=1"))["from"]["name"]
    end
    refute_match(/<script>"/, page + text("/diff?from=#{escape(HOSTILE[3])}"))
    ["", " a", "a ", "a\nb", "a\tb", "\xff", "n" * 81, "now", "start", "17", "1.5", "."].each do |bad|
      %w[/mark /mark/clear].each { |to| assert_line post("#{to}?name=#{escape(bad)}"), 400, /\Aname: / }
    end
    assert_line post("/mark?name=a%00b"), 400
    assert_line post("/mark/clear?name=x"), 404, /\Aname: no mark has the name "x"/
    HOSTILE.each { |n| assert_equal 200, post("/mark/clear?name=#{escape(n)}").status }
    assert_equal [[], 0], JSON.parse(body("/marks.json")).values_at("marks", "bytes")
  end

  def test_a_mark_is_listed_replaced_and_cleared
    a = app
    at_rest(a)
    assert_equal "mark: set: x\n", post("/mark?name=x").body
    first = JSON.parse(body("/marks.json"))["marks"][0]
    assert_equal [a.pid, stats["live_bytes"], stats["live"], 0], first.values_at("pid", "live_bytes", "live", "resets")
    assert_equal %w[name time unix uptime pid gc rss live_bytes live resets], first.keys
    mark("y")
    tell(a, "grow")
    assert_equal "mark: replaced: x\n", post("/mark?name=x").body
    marks = JSON.parse(body("/marks.json"))["marks"]
    assert_equal %w[y x], marks.map { |m| m["name"] }
    assert_operator marks[1]["uptime"], :>, first["uptime"]
    assert_equal stats["live_bytes"] - first["live_bytes"], between("from=y")[0]["growth"].to_i
    # events of the history, and lines of the chart
    assert_equal [%w[mark x], %w[mark y], %w[mark x]], JSON.parse(body("/history.json"))["events"].map { |e| e.values_at("kind", "text") }
    assert_equal "mark: cleared: y\n", post("/mark/clear?name=y").body
    assert_line get("/diff.tsv?from=y"), 404
    # a form's fields, as a browser without scripts sends them
    r = post("/mark", { "Content-Type" => "application/x-www-form-urlencoded", "Accept" => "text/html", "Referer" => "http://localhost/marks" }, "name=by+form")
    assert_equal [303, "/marks"], [r.status, r.headers["location"]]
    assert_equal %w[x by\ form], JSON.parse(body("/marks.json"))["marks"].map { |m| m["name"] }
    assert_equal({ "ok" => true, "said" => "mark: set: j", "pid" => a.pid }, JSON.parse(post("/mark?name=j", { "Accept" => "application/json" }).body))
    assert_line post("/mark?name=z", { "Origin" => "http://evil.example" }), 403
  end

  def test_the_unnamed_mark_is_another_one
    at_rest(app)
    assert_equal "mark: growth is also counted from here\n", post("/mark").body
    assert_equal [], JSON.parse(body("/marks.json"))["marks"]
    mark("x")
    assert_equal 1, JSON.parse(body("/history.json"))["marks"].size
    assert_equal 200, post("/mark/clear").status
    assert_equal %w[x], JSON.parse(body("/marks.json"))["marks"].map { |m| m["name"] }
  end

  def test_read_only
    app(options: ["read_only:1"])
    assert_line post("/mark?name=x"), 403, /read_only/
    %w[/marks /diff].each { |page| refute_match(%r{action="/mark}, body(page)) }
  end

  def test_the_ceiling_of_memory_holds
    a = app(options: ["memory_max:8M"])
    at_rest(a)
    100.times { |i| mark("m#{i}") }
    json = JSON.parse(body("/marks.json"))
    assert_equal [64, 36], [json["marks"].size, json["gone"]]
    assert_operator json["bytes"], :<=, 1 << 20
    assert_operator stats["tracker_bytes"], :<=, 8 << 20
    assert_equal "0", between("from=m36&to=m99")[0]["growth"]
  end

  # --- of times ---------------------------------------------------------------------------------

  def test_moments_of_the_history
    a = app
    first = eventually("a second moment") { between("from=0")[0]["to_uptime"].to_f.then { |t| t if t.positive? } }
    tell(a, "grow")
    mark("after")
    line = path("app.rb:6")
    f, rows = eventually("the history to keep #{line}") { between("from=#{first}").then { |x| x if x[1].key?(line) } }
    assert_equal ["0", first.to_s], [f["exact"], f["from"]]
    refute f.key?("growth_blocks")
    row = rows.fetch(line)
    assert_operator row["growth"].to_i, :>=, 100 * 5000
    assert_equal [""] * 5, row.values_at("growth_blocks", "from_blocks", "to_blocks", "allocations", "frees")
    assert_equal [0], rows.values.reject { |r| r["location"] == "(rest)" }.map { |r| r["to_bytes"].to_i % 64 }.uniq
    assert_includes rows.keys, "(rest)"
    j = JSON.parse(body("/diff.json?from=#{first}&to=after"))
    assert_equal [false, nil], j.values_at("exact", "growth_blocks")
    page = body("/diff?from=#{first}")
    assert_match(/locations that it doesn’t keep are \(rest\)/, page.force_encoding("UTF-8"))
    assert_match(%r{<option selected value="#{first}">}, page)
    refute_match(/Blocks before/, page)
    tell(a, "shrink")
    assert_operator between("from=after")[1].fetch(line)["growth"].to_i, :<=, -100 * 4000
  end

  def test_without_the_history
    at_rest(app(options: ["history:0"]))
    assert_line get("/diff.tsv?from=0"), 400, /\Afrom, to: the option history is off: name a mark$/
    mark("x")
    assert_equal "0", between("from=x")[0]["growth"]
  end

  # --- processes ----------------------------------------------------------------------------------

  def test_each_process_has_its_own
    a = app
    mark("parents")
    child = a.ask("fork").split[1]
    eventually("the child's server") { get("/#{child}/marks.tsv").status == 200 }
    assert_equal 1, body("/#{child}/marks.tsv").lines.size
    assert_line get("/#{child}/diff.tsv?from=parents"), 404
    mark("childs", at: "/#{child}")
    assert_equal child, between("from=childs", at: "/#{child}")[0]["pid"]
    assert_match(%r{href="/#{child}/diff\?from=childs"}, body("/#{child}/marks"))
    assert_equal %w[parents], body("/marks.tsv").lines.drop(1).map { |l| l.split("\t")[0] }
    sum, rows = headed(body("/all/snapshot.tsv"))
    assert_equal ["2", nil, nil], sum.values_at("processes", "pid", "start")
    assert_equal "2", rows.values.map { |r| r["processes"] }.max
    assert_line get("/all/marks"), 404
  end

  def test_all_processes_are_marked
    a = app
    child = a.ask("fork").split[1]
    at = ["", "/#{child}"]
    eventually("the child's server") { get("/#{child}/marks.tsv").status == 200 }
    becomes([200, "2 of 2 processes: mark: set: both\n"]) { post("/all/mark?name=both").then { |r| [r.status, r.body.sub("replaced", "set")] } }
    assert_equal [%w[both]] * 2, at.map { |t| JSON.parse(body("#{t}/marks.json"))["marks"].map { |m| m["name"] } }
    at.each { |t| mark("first", at: t) }
    tell(a, "grow")
    each = at.map { |t| between("from=first", at: t) }
    f, rows = eventually("both") { headed(body("/all/diff.tsv?from=first")).then { |x| x if x[0]["processes"] == "2" } }
    assert_equal %w[mwrap from to processes of exact growth growth_blocks], f.keys
    assert_equal [%w[first now 2 2], each.sum { |e| e[0]["growth"].to_i }], [f.values_at("from", "to", "processes", "of"), f["growth"].to_i]
    grown = rows.fetch(path("app.rb:6"))
    assert_equal each[0][1].fetch(path("app.rb:6")), grown
    each[0][1].each_key { |l| COLUMNS.first(6).each { |c| assert_equal each.sum { |e| e[1].dig(l, c).to_i }, rows.fetch(l)[c].to_i, "#{l} #{c}" } }
    j = JSON.parse(body("/all/diff.json?from=first&q=app.rb&group=file"))
    assert_equal [2, 2, 1, "#{grown["growth"]}"], [j["processes"], j["of"], j["matched"], j["rows"][0]["growth"].to_s]
    assert_equal rows.size + 1, body("/all/diff.csv?from=first").lines.size
    # one that only one of them has
    mark("parents")
    assert_equal %w[1 2], between("from=parents", at: "/all")[0].values_at("processes", "of")
    assert_line get("/all/diff.tsv?from=x"), 404, /\Afrom, to: no process has these two moments/
    assert_line get("/all/diff.tsv?from=5"), 400, %r{use /PID/diff}
    assert_line get("/all/diff"), 404, /use .all.diff.tsv/
    %w[first parents].each { |n| post("/all/mark/clear?name=#{n}") }
    assert_line post("/all/mark?name=now"), 400, /\Aname: start, peak and now/
    assert_line post("/all/mark?name=x", { "Origin" => "http://evil.example" }), 403
    assert_equal [1, 1], at.map { |t| JSON.parse(body("#{t}/marks.json"))["marks"].size }
    becomes([200, "2 of 2 processes: mark: cleared: both\n"]) { post("/all/mark/clear?name=both").then { |r| [r.status, r.body] } }
    assert_line post("/all/mark/clear?name=both"), 404
    assert_line post("/all/mark"), 503, %r{use /PID/mark}
  end

  def test_through_rack
    r = racked(mount: "/m", authorize: "->(env) { true }")
    assert_equal 200, r.post("/m/mark?name=a%26b").status
    r.eval("$kept = Array.new(200) { 'r' * 3000 }; 1")
    f, rows = headed(r.get("/m/diff.tsv?from=a%26b").body)
    assert_equal ["a&b", r.pid.to_s], f.values_at("from", "pid")
    assert_operator rows.values.first["growth"].to_i, :>=, 200 * 3000
    assert_match(%r{href="/m/diff\?from=a%26b"}, r.get("/m/marks").body)
    assert_match(%r{action="/m/diff"}, r.get("/m/diff?from=a%26b").body)
    assert_equal 200, r.get("/m/snapshot.tsv?mark=a%26b").status
    form = 'APP.call("REQUEST_METHOD" => "POST", "PATH_INFO" => "/mark", "CONTENT_TYPE" => "application/x-www-form-urlencoded",
      "rack.input" => StringIO.new("name=by+form"))[0]'
    assert_equal 200, r.eval("require 'stringio'; #{form}")
    assert_equal ["a&b", "by form"], JSON.parse(r.get("/m/marks.json").body)["marks"].map { |m| m["name"] }
  end
end
