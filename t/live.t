#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# GET /live and what belongs to it: what travels, to whom, and what it costs when nobody
# watches; the history; the mark; the source around a location.

require_relative "lib/served"
require "zlib"

class LiveTest < Minitest::Test
  Event = Struct.new(:name, :data)

  # An EventSource, as far as tests need one.
  class Watcher
    attr_reader :status, :headers, :socket

    def initialize(socket, headers = {})
      @socket = socket
      @socket.write("GET /live HTTP/1.1\r\nHost: localhost\r\n#{headers.map { |k, v| "#{k}: #{v}\r\n" }.join}\r\n")
      @raw = +"".b
      @text = +"".b
      head = read_until("\r\n\r\n")
      @status = head.split[1].to_i
      @headers = head.split("\r\n").drop(1).to_h { |l| l.split(": ", 2).then { |k, v| [k.downcase, v] } }
    end

    # The next event; nil at the end of the stream. Comments are left out.
    def event
      loop do
        until (at = @text.index("\n\n"))
          return nil unless (chunk = next_chunk)
          @text << chunk
        end
        lines = @text.slice!(0, at + 2).lines(chomp: true).reject { |l| l.empty? || l.start_with?(":") }
        next if lines.empty?
        fields = lines.to_h { |l| l.split(": ", 2) }
        return Event.new(fields.fetch("event"), JSON.parse(fields.fetch("data").force_encoding("UTF-8")))
      end
    end

    # Events up to one of that name (with it) for which the block, if any, is true.
    def upto(name)
      seen = []
      until seen.any? && seen.last.name == name && (!block_given? || yield(seen.last.data))
        e = event or raise "the stream ended after #{seen.map(&:name)}"
        seen << e
      end
      seen
    end

    # The table as a page has it, once `times` points came.
    def table(times = 1)
      @known ||= {}
      times.times { upto("point").each { |e| take(e.data) if e.name == "rows" } }
      @known
    end

    def take(data)
      @known = {} if data["all"]
      data["gone"].each { |id| @known.delete(id) }
      data["rows"].each do |row|
        raise "a short row of an unknown id: #{row}" unless row.size == 13 || @known[row[0]]
        raise "neither 10 nor 13 values: #{row}" unless [10, 13].include?(row.size)
        @known[row[0]] = row + (row.size == 10 ? @known[row[0]].drop(10) : [])
      end
    end

    def close = @socket.close

    private

    def next_chunk
      size = read_until("\r\n").to_i(16)
      return nil if size.zero?
      chunk = read_bytes(size + 2)
      chunk && chunk[0, size]
    end

    def more
      Timeout.timeout(HttpdTest::PATIENCE) { @raw << @socket.readpartial(65_536) }
      true
    rescue EOFError, Errno::ECONNRESET
      false
    end

    def read_until(mark)
      until (at = @raw.index(mark))
        return +"" unless more
      end
      @raw.slice!(0, at + mark.size)
    end

    def read_bytes(n)
      until @raw.size >= n
        return nil unless more
      end
      @raw.slice!(0, n)
    end
  end

  def watch(at: path, **headers) = Watcher.new(connect(at), headers).tap { |w| (@watchers ||= []) << w }

  def teardown
    @watchers&.each(&:close)
    super
  end

  LEAK = <<~RUBY
    $stdout.sync = true
    kept = []
    while (line = gets)
      case line
      when /^leak (\\d+)/ then $1.to_i.times { kept << ("x" * 10_000) }
      when /^fork/ then
        r, w = IO.pipe
        pid = fork { w.close; r.read; exit! }
        r.close
      when /^exec/ then exec("sleep", "1000")
      when /^end/ then exit
      end
      puts "done \#{pid}"
    end
  RUBY

  def leaking(**rest) = served_ruby(LEAK, **rest)

  def location(text) = ->(row) { row[10].end_with?(text) }

  # --- what travels -----------------------------------------------------------

  def test_hello_rows_point
    app = leaking
    app.ask("leak 7")
    w = watch
    assert_equal [200, "text/event-stream"], [w.status, w.headers["content-type"]]
    assert_equal "no-store", w.headers["cache-control"]
    hello, rows, point = Array.new(3) { w.event }
    assert_equal %w[hello rows point], [hello, rows, point].map(&:name)
    assert_equal [app.pid, RUBY_VERSION, "gc", false, true, 1],
                 hello.data.values_at("pid", "ruby", "life_unit", "read_only", "source", "tick")
    assert_includes hello.data["title"], "app.rb"
    assert_match(/\A#{app.pid}-\d+\z/, hello.data["start"])
    assert_equal [true, false], rows.data.values_at("all", "more")
    assert_in_delta Time.now.to_f, hello.data["unix"], 600
    line = rows.data["rows"].find(&location("/app.rb:5"))
    assert_equal 13, line.size
    assert_operator line[4], :>=, 70_000
    assert_equal [path("app.rb").size, "ruby"], line[11, 2]
    assert_equal line[10][0, line[11]], path("app.rb")
    growth = rows.data["rows"].map { |r| r[4] }
    assert_equal growth.sort.reverse, growth, "most growth first"
    assert_equal [false, 0, [], nil, 0], point.data.values_at("paused", "overruns", "warnings", "mark", "resets")
    assert_heap_pages point.data["heap"]
    assert_operator point.data["rss"], :>, 1_000_000
    assert_operator point.data["live"], :>, 70_000
    assert_equal rows.data["t"], point.data["t"]
  end

  def test_only_changes_travel
    app = leaking
    w = watch
    before = w.table.values.find(&location("/app.rb:5"))
    w.table(2) # what starting and the first request changed has come
    app.ask("leak 3")
    # the reading of the command changes a few rows, too
    changed = w.upto("rows") { |d| d["rows"].any? { |r| r[4] >= 30_000 && r[4] < 200_000 } }.last.data
    assert_equal false, changed["all"]
    assert_operator changed["rows"].size, :<, 60
    changed["rows"].each { |r| assert_includes [10, 13], r.size }
    assert_nil before
    w.take(changed)
    assert_operator w.table.values.find(&location("/app.rb:5"))[5], :>=, 30_000
  end

  def test_as_the_table_says
    app = leaking
    w = watch
    w.table(2)
    app.ask("leak 50")
    w.table(3)
    rows = json
    ids = w.table.values.to_h { |r| [r[10], r] }
    row = rows.find { |r| r.location.end_with?("/app.rb:5") }
    got = ids.fetch(row.location)
    assert_equal [row.total, row.allocations, row.frees, row.growth, row.live_bytes, row.live], got[1, 6]
    assert_equal rows.map(&:location).sort, ids.keys.sort
  end

  def test_a_second_watcher_sees_the_same
    app = leaking
    first = watch
    first.table(1)
    app.ask("leak 20")
    first.table(2)
    second = watch
    second.table(2)
    app.ask("leak 20")
    [first, second].each { |w| w.table(3) }
    one, two = [first, second].map { |w| w.table(0).values.find(&location("/app.rb:5")) }
    assert_equal one, two
    assert_operator one[5], :>=, 400_000
  end

  def test_many_rows_come_in_pieces
    f = serving("rows=9000")
    w = watch
    seen = w.upto("point").select { |e| e.name == "rows" }.map(&:data)
    assert_equal 5, seen.size
    assert_equal [true] + [false] * 4, seen.map { |d| d["all"] }
    assert_equal [true] * 4 + [false], seen.map { |d| d["more"] }
    assert_equal 9000, seen.flat_map { |d| d["rows"].map(&:first) }.uniq.size
    assert_operator seen[0]["rows"].map { |r| r[4] }.min, :>=, seen[4]["rows"].map { |r| r[4] }.max
    f.ask("grow 8123")
    later = w.upto("rows").last.data
    assert_equal [[8123], []], [later["rows"].map(&:first), later["gone"]]
  end

  def test_hostile_names
    serving("rows=9")
    rows = watch.upto("rows").last.data["rows"]
    names = rows.to_h { |r| [r[0], r[10]] }
    assert_equal "/srv/app/\u{fffd}\u{fffd}.rb:4", names[3]
    assert_equal "/srv/app/<b>&\"'.rb:2", names[1]
    assert_equal "/srv/app/t\tn\nr\rb\\.rb:3", names[2]
  end

  # --- who watches --------------------------------------------------------------

  def test_nothing_is_computed_when_nobody_watches
    f = serving("rows=50")
    before = f.ask("taken")
    sleep 2.5
    assert_equal before, f.ask("taken")
    w = watch
    w.upto("point")
    refute_equal before, f.ask("taken")
    w.close
    @watchers.clear
    eventually("the journal is given back") { f.ask("counts").start_with?("copies 0 ") }
    after = f.ask("taken")
    sleep 2.5
    assert_equal after, f.ask("taken")
  end

  def test_watchers_share_the_snapshots
    f = serving("rows=50")
    first = watch
    first.upto("point")
    all = [first] + Array.new(5) { watch }
    all.each { |w| w.upto("point") }
    before = f.ask("taken")[/\d+/].to_i
    from = all[0].upto("point").last.data["t"]
    to = from
    4.times { all.each { |w| to = w.upto("point").last.data["t"] } }
    assert_operator to, :>, from
    assert_operator f.ask("taken")[/\d+/].to_i - before, :<=, (to - from).ceil + 4, "one a tick for all six"
  end

  def test_a_ninth_watcher
    serving
    all = Array.new(8) { watch }
    all.each { |w| assert_equal 200, w.status }
    assert_line get("/live"), 503, /watching/
    assert_equal 200, get("/stats.json").status
    all.pop.close
    @watchers.pop
    w = eventually("a place") { watch.then { |x| x.status == 200 ? x : (@watchers.pop.close; nil) } }
    assert_equal "hello", w.event.name
    all.each { |x| x.upto("point") }
  end

  def test_few_connections_leave_room_for_others
    serving("nofile=32")
    all = Array.new(3) { watch }
    assert_equal [200, 200, 503], all.map(&:status)
    3.times { assert_equal 200, get("/stats.json").status }
    all[0].upto("point")
  end

  def test_other_clients_never_push_a_watcher_out
    serving
    w = watch
    w.upto("point")
    idle = Array.new(200) { connect }
    20.times { assert_equal 200, get("/stats.json").status }
    3.times { w.upto("point") }
  ensure
    idle&.each(&:close)
  end

  # It misses ticks, costs no more memory, and then gets what changed since.
  def test_a_watcher_that_does_not_read
    f = serving("rows=40000")
    lazy, keen = watch, watch
    keen.table
    before = rss(f.pid)
    20.times do |i|
      40.times { |k| f.ask("grow #{100 + k}") }
      keen.table if i % 4 == 0
    end
    assert_operator rss(f.pid) - before, :<, 40_000, "KiB more"
    f.ask("grow 39999")
    lazy.table
    lazy.table(2)
    keen.table(2)
    assert_equal keen.table(0).values.sort, lazy.table(0).values.sort
    assert_equal 40_000, lazy.table(0).size
  end

  def rss(pid) = File.read("/proc/#{pid}/status")[/VmRSS:\s+(\d+)/, 1].to_i

  def test_a_watcher_is_not_cut_off_for_its_age
    serving
    w = watch
    points = Array.new(20) { w.upto("point").last.data["t"] } # longer than a request may take
    assert_equal points.sort.uniq, points
  end

  def test_head_and_post
    serving
    r = request("HEAD", "/live")
    assert_equal [200, "text/event-stream"], [r.status, r.headers["content-type"]]
    assert_line post("/live"), 405
    s = connect
    s.write("GET /live HTTP/1.0\r\n\r\n")
    got = +""
    got << s.readpartial(1000) until got.include?("event: point")
    assert_match(/\AHTTP\/1\.\d 200/, got)
    s.close
  end

  # --- the process --------------------------------------------------------------

  def test_the_end_of_the_process_ends_the_stream
    app = leaking
    w = watch
    w.upto("point")
    app.tell("end")
    nil while w.event
    assert app.finish.success?
    refute File.exist?(path)
  end

  def test_a_restarted_process_is_another
    app = leaking
    start = watch.event.data["start"]
    app.finish
    leaking
    refute_equal start, watch.event.data["start"]
  end

  def test_fork_while_watched
    app = leaking
    w = watch
    w.table
    child = app.ask("fork")[/\d+/].to_i
    beside = "#{path}.#{child}"
    wait_for_server(beside)
    app.ask("leak 5")
    w.table(2)
    theirs = watch(at: beside)
    assert_equal child, theirs.event.data["pid"]
    theirs.table
    assert_equal [1], JSON.parse(body("/history.json", at: beside))["coarse"]["t"].size.then { |n| [n] }
    app.finish # closes the pipe that the child reads
    nil while w.event
    nil while theirs.event
  end

  def test_exec_while_watched
    app = leaking
    w = watch
    w.upto("point")
    app.tell("exec")
    nil while w.event
    stats = eventually("a server of the new program") { get("/stats.json") rescue nil }
    assert_equal [app.pid, "none"], JSON.parse(stats.body).values_at("pid", "ruby_lookup")
    app.kill
  end

  def test_stopped_and_continued
    app = leaking
    w = watch
    w.upto("point")
    Process.kill(:STOP, app.pid)
    sleep 2
    Process.kill(:CONT, app.pid)
    2.times { w.upto("point") }
    t = JSON.parse(body("/history.json"))["fine"]["t"]
    assert_equal t.sort.uniq, t
    assert_operator t.each_cons(2).map { |a, b| b - a }.max, :>=, 2, "nobody counted meanwhile"
  end

  def test_children_keep_no_descriptor_of_a_watched_server
    f = serving("rows=500")
    stop = false
    all = Array.new(3) { watch }
    threads = all.map { |w| Thread.new { w.event until stop } }
    more = Thread.new { watch.tap { |w| w.upto("point") }.close until stop }
    assert_equal "forks 200 bad 0", f.ask("forks 200")
    stop = true
    [*threads, more].each(&:join)
    assert_equal 200, get("/").status
  ensure
    stop = true
  end

  def test_stop_while_watched
    f = serving("rows=20000")
    all = Array.new(4) { watch }
    all[0].upto("point")
    assert_equal "stopped 1", f.ask("stop")
    assert_match(/\Acopies 0 /, f.ask("counts"))
    nil while all[0].event
    assert_equal "", f.said
  end

  # Nothing of libmicrohttpd's for this, and nothing that a script's numbers could meet.
  def test_descriptors
    f = serving
    w = watch
    w.upto("point")
    w.upto("point") # a second later: whoever asked before is gone
    fds = Dir.children("/proc/#{f.pid}/fd").to_h { |n| [n.to_i, (File.readlink("/proc/#{f.pid}/fd/#{n}") rescue "")] }
    assert_equal 1, fds.count { |_, to| to.include?("eventfd") }
    assert(fds.select { |_, to| to.match?(/eventfd|statm|socket/) }.keys.all? { |n| n >= 512 }, fds.inspect)
    w.close
    eventually("all but the watcher's are there") { Dir.children("/proc/#{f.pid}/fd").size == fds.size - 1 }
  end

  # --- history ---------------------------------------------------------------------

  # Pages that Ruby's objects live in: 16 KiB each up to 3.1, 64 since.
  def assert_heap_pages(bytes)
    assert_operator bytes, :>, 20 * 16_384
    assert_equal 0, bytes % 16_384
  end

  def test_history
    leaking
    h = eventually("three points") { JSON.parse(body("/history.json")).then { |x| x if x["fine"]["t"].size >= 3 } }
    assert_equal [1, 60], [h["fine"]["step"], h["coarse"]["step"]]
    %w[fine coarse].each do |ring|
      columns = h[ring].values_at("t", "rss", "live", "heap")
      assert_equal 1, columns.map(&:size).uniq.size
      assert_equal h[ring]["t"].sort.uniq, h[ring]["t"]
    end
    assert_equal [1], [h["coarse"]["t"].size]
    assert(h["fine"]["rss"].all? { |v| v > 1_000_000 && (v % 1024).zero? })
    assert(h["fine"]["live"].all? { |v| v > 1000 })
    h["fine"]["heap"].each { |bytes| assert_heap_pages bytes }
    assert_operator h["now"], :>=, h["fine"]["t"].last
    assert_equal [], h["marks"]
  end

  # --- mark ------------------------------------------------------------------------

  def test_mark
    app = leaking
    app.ask("leak 10")
    w = watch
    w.table
    assert_equal 200, post("/mark").status
    app.ask("leak 4")
    point = w.upto("point") { |d| d["mark"] }.last.data
    w.table(0)
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
      assert_equal [%w[ok said], true], [said.keys, said["ok"]]
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

  # A process that has each of these as the file of code that it ran.
  def evaluating(*files, options: nil)
    names = files.map { |f, line| "keep << eval('\"x\" * 9000', nil, #{f.b.inspect}.force_encoding('UTF-8'), #{line})\n" }
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
    evaluating([path("long.rb"), 50], [path("long.rb"), 101], [path("long.rb"), 102])
    s = JSON.parse(source("#{path("long.rb")}:50").body)
    assert_equal [40, (40..60).map { |i| "line #{i}" }], s.values_at("first", "lines")
    s = JSON.parse(source("#{path("long.rb")}:101").body)
    assert_equal [91, [*(91..100).map { |i| "line #{i}" }, "last"]], s.values_at("first", "lines")
    assert_line source("#{path("long.rb")}:102"), 404, /no such line/
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
    native = json.find { |r| r.location.include?("libruby") }
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
    evaluating(*[*refused, path("full.rb"), path("link.rb")].map { |f| [f, 2] })
    File.unlink(path("gone.rb"))
    refused.each { |f| assert_line source("#{f}:2"), 404 }
    s = JSON.parse(source("#{path("full.rb")}:2").body)
    assert_equal [true, 12, ["y" * 400]], [s["truncated"], s["lines"].size, s["lines"].uniq]
    assert_equal s["lines"], JSON.parse(source("#{path("link.rb")}:2").body)["lines"]
  end

  def test_source_with_any_bytes
    name = "h\u00fc\u20ac<b>&\"'\\ x.rb"
    File.binwrite(path(name), "ok\n\xff\xfe <script>\0\t\x1b\n#{"\u20ac" * 200}\n#{"a" * 400}\n#{"b" * 401}")
    evaluating([path(name), 2])
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
