#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# The requests of the page at / beside the stream (live.t): the mark and the other POSTs,
# the source around a location, its newest and oldest blocks, groups, and its own files.

require_relative "lib/watcher"
require "zlib"

class PageNeedsTest < Minitest::Test
  include Watching

  # --- mark ------------------------------------------------------------------------

  def test_mark
    app = leaking
    app.ask("leak 10")
    w = watch
    w.table
    assert_equal 200, post("/mark").status
    app.ask("leak 4")
    seen = w.upto("point") { |d| d["mark"] }
    point = seen.last.data
    seen.each { |e| w.take(e.data) if e.name == "rows" }
    # that may have been a tick between the mark and the leak; who comes then is told of it, too
    eventually("growth since the mark") { w.table.values.find(&location("/app.rb:5"))[9] >= 40_000 }
    fresh = watch
    row = fresh.table.values.find(&location("/app.rb:5"))
    assert_operator row[9], :>=, 40_000
    assert_operator row[9], :<, 100_000
    assert_operator row[5], :>=, 140_000
    assert_equal [point["mark"].round(1)], JSON.parse(body("/history.json"))["marks"].map { |m| m.round(1) }
    assert_equal 200, post("/mark/clear").status
    fresh.upto("point") { |d| d["mark"].nil? }
    fresh.table
    again = watch
    assert(again.table.values.all? { |r| r[9].zero? })
  end

  def test_who_may_mark
    f = serving
    %w[/mark /mark/clear].each do |target|
      assert_line post(target, { "Origin" => "http://evil.example" }), 403
      assert_line post(target, { "Sec-Fetch-Site" => "cross-site" }), 403
      assert_line get(target), 405
      r = post(target, { "Accept" => "text/html", "Referer" => "http://localhost/each/0" })
      assert_equal [303, "/each/0"], [r.status, r.headers["location"]]
    end
    f.finish
    serving("read_only=1")
    %w[/mark /mark/clear].each { |target| assert_line post(target), 403, /read_only/ }
    hello = watch.event.data
    assert_equal true, hello["read_only"]
  end

  def test_posts_answer_json_to_those_who_ask
    serving
    %w[/reset /clear /trim /trim /pause /resume /mark /mark/clear].each do |target|
      r = post(target, { "Accept" => "application/json" })
      assert_equal [200, "application/json; charset=utf-8"], [r.status, r.headers["content-type"]]
      said = JSON.parse(r.body)
      assert_equal [%w[ok said pid], true], [said.keys, said["ok"]]
      assert_match(/\A[A-Z].*\.\z/, said["said"])
    end
    # a browser's form
    r = post("/pause", { "Accept" => "text/html,application/xhtml+xml,application/xml;q=0.9" })
    assert_equal 303, r.status
    point = watch.upto("point").last.data
    assert_equal true, point["paused"]
    assert_equal 1, point["warnings"].size
    assert_includes get("/").body.force_encoding("UTF-8"), point["warnings"][0]
  end

  # --- source ------------------------------------------------------------------------

  # A process in which each of these is, by Ruby's word, a file that it read code from.
  def running(*files, options: nil)
    names = files.map do |f, line|
      "name = #{f.b.inspect}.force_encoding('UTF-8')\nkeep << RubyVM::InstructionSequence.compile('\"x\" * 9000', name, name, #{line}).eval\n"
    end
    served_ruby("keep = []\n#{names.join}$stdout.sync = true\nputs :there\ngets\n", options: options)
      .tap { |app| assert_equal "there", app.hear }
  end

  def source(location, at: path) = get("/source?location=#{escape(location)}", at: at)

  def test_source
    leaking.ask("leak 1")
    r = source("#{path("app.rb")}:5")
    assert_equal [200, "application/json; charset=utf-8"], [r.status, r.headers["content-type"]]
    s = JSON.parse(r.body)
    lines = File.readlines(path("app.rb"), chomp: true)
    assert_equal ["#{path("app.rb")}:5", path("app.rb"), 5, 1, lines[0, 15], false],
                 s.values_at("location", "file", "line", "first", "lines", "truncated")
  end

  def test_source_in_the_middle_and_at_the_end
    File.write(path("long.rb"), (1..100).map { |i| "line #{i}\r\n" }.join + "last")
    running([path("long.rb"), 50], [path("long.rb"), 101], [path("long.rb"), 102])
    s = JSON.parse(source("#{path("long.rb")}:50").body)
    assert_equal [40, (40..60).map { |i| "line #{i}" }], s.values_at("first", "lines")
    s = JSON.parse(source("#{path("long.rb")}:101").body)
    assert_equal [91, [*(91..100).map { |i| "line #{i}" }, "last"]], s.values_at("first", "lines")
    s = JSON.parse(source("#{path("long.rb")}:102").body)
    assert_equal [["last"], "the file has no such line"], [s["lines"].last(1), s["why"]]
  end

  def test_source_of_files_in_the_table_only
    leaking.ask("leak 1")
    File.write(path("other.rb"), "secret\n" * 20)
    assert_line get("/source"), 400
    assert_line get("/source?location="), 400
    assert_line get("/source?location=%zz"), 400
    ["#{path("other.rb")}:5", "/etc/passwd:1", path("app.rb"), "#{path("app.rb")}:7777", "#{path("./app.rb")}:5",
     "#{path("x/../app.rb")}:5", "#{path("app.rb")}\0:5".delete("\0") + "\n", "../#{File.basename(@dir)}/app.rb:5",
     "file://#{path("app.rb")}:5", "#{path("app.rb")}:5:5", ":5", "a" * 20_000].each do |location|
      assert_line source(location), 404
    end
    native = json.find { |r| r.location.match?(/\[0x\h+\]\z/) }
    assert_line source(native.location), 404, /Ruby code/
  end

  def test_source_of_what_is_no_plain_file
    File.mkfifo(path("fifo.rb"))
    Dir.mkdir(path("dir.rb"))
    File.write(path("empty.rb"), "")
    File.write(path("gone.rb"), "x\n")
    File.write(path("big.rb"), "#{"x" * 1023}\n" * 4097)
    File.write(path("full.rb"), "#{"y" * 1023}\n" * 4096)
    UNIXServer.new(path("socket.rb")).close
    File.symlink(path("full.rb"), path("link.rb"))
    refused = %w[fifo.rb dir.rb empty.rb gone.rb big.rb socket.rb].map { |f| path(f) } +
              ["/proc/self/environ", "/proc/self/mem", "/dev/zero", "/dev/tty", "(eval at /x:3)", "relative.rb"]
    running(*[*refused, path("full.rb"), path("link.rb")].map { |f| [f, 2] })
    File.unlink(path("gone.rb"))
    refused.each do |f|
      s = JSON.parse(source("#{f}:2").tap { |r| assert_equal 200, r.status, f }.body)
      assert_equal [f, []], s.values_at("file", "lines")
      assert_match(f.start_with?("/") ? /\Athe file / : /\ARuby read no such file: /, s["why"])
    end
    s = JSON.parse(source("#{path("full.rb")}:2").body)
    assert_equal [true, 12, ["y" * 400]], [s["truncated"], s["lines"].size, s["lines"].uniq]
    assert_equal [[], "the file is a symbolic link now"], JSON.parse(source("#{path("link.rb")}:2").body).values_at("lines", "why")
  end

  def test_source_with_any_bytes
    name = "h\u00fc\u20ac<b>&\"'\\ x.rb"
    File.binwrite(path(name), "ok\n\xff\xfe <script>\0\t\x1b\n#{"\u20ac" * 200}\n#{"a" * 400}\n#{"b" * 401}")
    running([path(name), 2])
    r = source("#{path(name)}:2")
    assert r.body.force_encoding("UTF-8").valid_encoding?
    s = JSON.parse(r.body)
    assert_equal ["ok", "\u{fffd}\u{fffd} <script>\0\t\e", "\u20ac" * 133, "a" * 400, "b" * 400], s["lines"]
    assert_equal [path(name), true], s.values_at("file", "truncated")
  end

  def test_source_off
    app = leaking(options: ["source:0"])
    app.ask("leak 1")
    assert_line source("#{path("app.rb")}:5"), 403, /\Asource is off/
    assert_equal false, watch.event.data["source"]
    assert_equal false, stats["options"]["source"]
  end

  # --- what else the page needs -----------------------------------------------------------

  def test_at_newest_and_oldest
    serving("lives=50")
    all = JSON.parse(body("/at//srv/app/a.rb:1.json"))
    part = JSON.parse(body("/at//srv/app/a.rb:1.json?limit=7&oldest=3"))
    assert_equal all["lives"].first(7), part["lives"]
    assert_equal all["lives"].last(3).reverse, part["oldest"]
    assert_equal all.except("lives"), part.except("lives", "oldest")
    refute all.key?("oldest")
    more = JSON.parse(body("/at//srv/app/a.rb:1.json?limit=700&oldest=300"))
    assert_equal [50, 50], [more["lives"].size, more["oldest"].size]
    assert_line get("/at//srv/app/a.rb:1.json?oldest=x"), 400, /\Aoldest: /
    assert_line get("/at//srv/app/a.rb:1.json?limit=-1"), 400, /\Alimit: /
  end

  def test_group_dir
    serving("rows=9")
    rows = json("/each/0.json?group=dir")
    assert_equal ["/srv/app", "/usr/lib"], rows.map(&:location).sort
    assert_includes get("/each/0?group=dir").body, "href=\"/each/0?group=file&amp;q=%2Fsrv%2Fapp\""
  end

  def test_assets
    serving
    page = get("/").body
    url = page[/href="([^"]*mwrap\.css[^"]*)"/, 1]
    plain = get(url)
    assert_equal "max-age=31536000, immutable", plain.headers["cache-control"]
    assert_equal "no-cache", get("/mwrap.css").headers["cache-control"]
    assert_equal "no-cache", get("/mwrap.css?v=0").headers["cache-control"]
    etag = plain.headers["etag"]
    assert_match(/\A"\h{16}"\z/, etag)
    assert_equal File.binread("#{MwrapTest::ROOT}/web/mwrap.css"), plain.body.b
    small = get(url, { "Accept-Encoding" => "br, gzip;q=0.8" })
    assert_equal ["gzip", "Accept-Encoding", etag], small.headers.values_at("content-encoding", "vary", "etag")
    assert_equal plain.body.b, Zlib.gunzip(small.body)
    assert_operator small.body.bytesize, :<, plain.body.bytesize / 2
    ["", "identity", "gzip;q=0", "gzip;q=0.0", "xgzip", "br"].each do |accept|
      r = get(url, { "Accept-Encoding" => accept })
      assert_equal [nil, plain.body], [r.headers["content-encoding"], r.body], accept
    end
    [etag, "W/#{etag}", "\"x\", #{etag}"].each do |have|
      s = connect
      s.write("GET /mwrap.css HTTP/1.1\r\nHost: x\r\nConnection: close\r\nIf-None-Match: #{have}\r\n\r\n")
      top = drain(s).split("\r\n")
      assert_match(/\AHTTP\/1\.1 304/, top[0])
      assert(top.any? { |l| l.casecmp?("etag: #{etag}") })
    end
    assert_equal 200, get("/mwrap.css", { "If-None-Match" => "\"x\"" }).status
  end

  # The page's script loads the rest by a name that it was built with.
  def test_the_script_names_what_it_loads_by_its_version
    serving
    first = get("/").body[/src="([^"]*mwrap\.js[^"]*)"/, 1]
    rest = get(first).body[/import\("\.([^"]+)"\)/, 1]
    r = get("/dist#{rest}")
    assert_equal [200, "max-age=31536000, immutable"], [r.status, r.headers["cache-control"]]
    assert_equal File.binread("#{MwrapTest::ROOT}/web/dist/app.js"), r.body.b
  end
end
