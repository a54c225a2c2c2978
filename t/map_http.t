#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The memory map against the truth, on four allocators: the resident memory that the kernel says, what a
# real clear and a real trim give back. And its pieces, refusals, relatives and the Rack endpoint.
# Its parts in detail: t/unit/test_map.c.
require_relative "lib/allocators"
require_relative "lib/racked"

class MapHttpTest < Minitest::Test
  include HttpdTest
  include Racked

  # 24 MB on line 4, or 34, of which line 5 keeps a part; line 9 has what shares its pages.
  APP = <<~'RUBY'.gsub("NO_SLOT", NO_SLOT.to_s)
    $stdout.sync = true
    KEPT = []
    def fill
      all = Array.new(24_000) { |i| "a" * (NO_SLOT + 60 + i % 700) }
      KEPT.concat(all.each_slice(50).map(&:first))
    end
    fill
    MORE = Array.new(4000) { |i|
      "m" * (NO_SLOT + 260 + i % 300)
    }
    4.times { GC.start }
    puts "ready"
    while (line = $stdin.gets)
      puts eval(line).inspect
    end
  RUBY

  def start(**rest)
    app = served_ruby(APP, **rest)
    assert_equal "ready", app.hear
    at_rest(app)
    app
  end

  def map(at: path) = JSON.parse(body("/map.json", at: at))
  def part(map, name) = map["parts"].find { |p| p["name"] == name }.fetch("bytes")
  def here(line) = "#{path("app.rb")}:#{line}"
  def whatif(*lines) = JSON.parse(body("/map/whatif?#{lines.map { |l| "at=#{escape(here(l))}" }.join("&")}"))
  def rss(app) = File.read("/proc/#{app.pid}/smaps_rollup")[/^Rss: +(\d+)/, 1].to_i * 1024
  def line(map, number) = map["lines"].find { |l| l["location"] == here(number) }

  # Is a within so many thousandths of b?
  def assert_near(b, a, thousandths, what) = assert_in_delta(b, a, b * thousandths / 1000.0, what)

  def each_allocator
    yield "glibc", nil
    Allocators.each { |name, library, package| library ? yield(name, library) : flunk("#{name} isn't installed: #{package}") }
  end

  # printf's decimals have a comma there. bash takes its locale from the environment, as many an application does.
  def test_decimals_in_another_locale
    FileUtils.mkdir(path("locales"))
    assert_success run_command("localedef", "-i", "de_DE", "-f", "UTF-8", path("locales/de_DE.UTF-8"))
    app = served("bash", "-c", "printf '%.1f\\n' 1,5; read -r line", env: { "LOCPATH" => path("locales"), "LC_ALL" => "de_DE.UTF-8" })
    assert_equal "1,5", app.hear, "the locale is there"
    whatif = "/map/whatif?at=#{CGI.escape(json.first["location"])}"
    ["/map.json", whatif, "/stats.json", "/history.json", "/history/locations.json", "/verdict.json", "/flame.json", "/kinds.json", "/marks.json", "/diff.json?from=start",
     "/overruns.json", "/each/0.json"].each do |page|
      r = get(page)
      assert_equal 200, r.status, page
      assert_kind_of Enumerable, JSON.parse(r.body), page
    end
    assert_kind_of Float, JSON.parse(get("/map.json").body)["milliseconds"]
    page = get("/map").body
    assert_match(/<rect [^>]* x="\d+\.\d{3}" width="\d+\.\d{3}"/, page)
    assert_match(%r{<td class="num">\d+\.\d %</td>}, page)
    refute_match(/<rect[^>]*"\d+,\d|\d,\d %/, page)
  end

  def test_truth_on_each_allocator
    each_allocator do |name, library|
      app = start(env: { "LD_PRELOAD" => [MwrapTest::TRACKER, library].compact.join(":") }, at: path(name))
      m = map(at: path(name))
      assert_equal name, m["allocator"]
      assert_near rss(app), m["rss_bytes"], 10, name
      assert_near rss(app), m["seen_bytes"], 10, name
      assert_equal m["seen_bytes"], m["parts"].sum { |p| p["bytes"] }, name
      assert_equal 0, m["outside_bytes"], name
      assert_operator part(m, "empty"), :>, 10 << 20, name
      kept = line(m, 4)
      assert_operator kept["holds_bytes"], :>, 2 * kept["live_bytes"], name
      # each panel's memory is in its cells
      fill, = planes(m, at: path(name))
      m["panels"].each do |p|
        cells = fill.slice(p["cell"], p["cells"])
        in_memory = cells.count { |c| c & 63 != 0 && c & 63 != 4 } * m["page_bytes"]
        assert_equal p["resident_bytes"], in_memory, "#{name}: #{p["name"]}"
        assert_equal p["cells"], p["spans"].sum { |s| s[2] }, name
      end
      app.finish
    end
  end

  # All tiles of level 0: the fill and line bytes of each cell.
  def planes(map, at: path)
    tiles = (map["cells"] + 65_535) / 65_536
    bytes = Array.new(tiles) { |n| body("/map/#{map["id"]}/0/#{n}.bin", at: at).bytes }
    [bytes.flat_map { |b| b.first(b.size / 2) }, bytes.flat_map { |b| b.drop(b.size / 2) }]
  end

  # Pages that would be empty without a line's blocks are empty once these are gone, and a trim gives them back.
  def test_a_real_clear_and_a_real_trim
    app = start
    app.ask("GC.disable")
    before = map
    said = whatif(4)
    assert_equal before["trim"]["bytes"], said["empty_now_bytes"]
    assert_equal line(before, 4).values_at("blocks", "live_bytes"), said.values_at("blocks", "bytes")
    app.ask("KEPT.each(&:clear).clear; 4.times { GC.start }; 0")
    at_rest(app)
    after = map
    assert_near after["trim"]["bytes"], said["empty_then_bytes"], 20, "what if"
    was = rss(app)
    answer = post("/map/trim", { "Accept" => "application/json" })
    assert_match(/resident memory fell by [\d.]+ MB/, JSON.parse(answer.body)["said"])
    fell = was - rss(app)
    assert_operator fell, :<=, after["trim"]["bytes"] * 1.02, "at most"
    assert_near fell, after["trim"]["least_bytes"], 20, "the least"
    assert_operator after["trim"]["least_bytes"], :<=, after["trim"]["bytes"]
    # now there is nothing to give back: no lock is taken
    assert_match(/\Atrim: not done: it would give back [\d.]+ KB at most\n\z/, post("/map/trim").body)
    assert_operator map["trim"]["bytes"], :<, 1 << 20
  end

  # How blocks came to be missing in the table: what is said of the rest of the allocator's memory must not count on them.
  MISSING = {
    "allocations are sampled" => [{ options: "counts:sampled" }, nil],
    "allocations were sampled for a while" => [{ options: "counts:sampled" }, "/exact"],
    "tracking was paused for a while" => [{}, "/pause", "/resume"]
  }.freeze

  def test_where_blocks_are_missing
    MISSING.each.with_index do |(why, (how, *controls)), i|
      app = start(**how, at: at = path("#{i}.sock"))
      controls.compact.each { |c| assert_equal 200, request("POST", c, at: at).status, c }
      m = map(at: at)
      assert_equal [why.include?("pause") ? "paused" : "sampled", false], m.values_at("missing", "late")
      assert_equal [0, 0, nil, nil], [part(m, "empty"), part(m, "ends"), *m["trim"].values_at("bytes", "least_bytes")], why
      assert_operator part(m, "unknown") + part(m, "holes") + part(m, "live"), :>, 1 << 20, why
      refute_match(/empty|malloc_trim|ARENA_MAX/, [m["sentence"], *m["advice"]].join, why)
      assert_includes m["sentence"], "blocks aren\u2019t known, since #{why}: " if why == "allocations are sampled"
      answer = get("/map/whatif?at=#{escape(here(4))}", at: at)
      assert_equal [409, "map: not all blocks are known, since #{why}\n"], [answer.status, answer.body]
      assert_includes body("/map", at: at).force_encoding("UTF-8"), "gives back what is free: how much isn\u2019t known.</form>"
      # though it isn't known how much, it is given back
      assert_match(/\Atrim: resident memory fell by /, request("POST", "/map/trim", at: at).body)
      app.finish
    end
  end

  # Threads keep freed blocks in caches, which keep their pages: the least that a trim gives back counts these out.
  def test_what_caches_keep
    app = served(File.join(ROOT, ".build/t/programs/fragment"), "8", "200000", "700", "10", options: ["children:all"])
    assert_equal "ready", app.hear
    at_rest(app)
    said = JSON.parse(body("/map/trim"))
    before = rss(app)
    app.ask("trim")
    gave = before - rss(app)
    assert_near gave, said["least_bytes"], 10, "the least"
    assert_operator said["least_bytes"], :<=, gave + (64 << 10)
    assert_operator said["least_bytes"], :<, said["bytes"]
    assert_operator said["bytes"], :>=, gave - (256 << 10)
  end

  def test_any_set_of_lines
    start
    one, other, both = whatif(4), whatif(9), whatif(4, 9)
    assert_equal one["blocks"] + other["blocks"], both["blocks"]
    assert_equal 2, both["locations"]
    gain = [one, other, both].map { |w| w["empty_then_bytes"] - w["empty_now_bytes"] }
    # pages that both have are free only without both
    assert_operator gain[2], :>=, gain[0] + gain[1]
    assert_operator gain[0], :>, 1 << 20
  end

  def test_pieces
    start
    m = map
    at = m["id"]
    lit = body("/map/#{at}/at.bin?at=#{escape(here(4))}").bytes
    assert_equal (m["cells"] + 7) / 8, lit.size
    fill, lines = planes(m)
    cells = (0...m["cells"]).select { |i| lit[i / 8][i % 8] == 1 }
    assert_operator cells.size, :>, 300
    assert cells.all? { |c| [0].include?(fill[c] & 63) || fill[c] & 63 >= 8 }
    mine = line(m, 4)["colour"]
    assert_operator mine, :>, 0
    assert_operator lines.count(mine), :>, cells.size / 2
    assert_empty lines.each_index.select { |c| lines[c] == mine } - cells
    # one of these pages: a block of line 4's is there
    span = m["panels"].flat_map { |p| p["spans"] }.find { |_, cell, n| cells.any? { |c| c.between?(cell, cell + n - 1) } }
    cell = cells.find { |c| c.between?(span[1], span[1] + span[2] - 1) }
    page = JSON.parse(body("/map/page/0x#{(Integer(span[0]) + (cell - span[1]) * m["page_bytes"]).to_s(16)}"))
    assert_includes page["blocks"].map { |b| b["location"] }, here(4)
    assert_equal page["blocks"].map { |b| Integer(b["address"]) }.sort, page["blocks"].map { |b| Integer(b["address"]) }
    assert_equal %w[start now unix bytes least_bytes milliseconds], JSON.parse(body("/map/trim")).keys
    html = body("/map").dup.force_encoding("UTF-8")
    assert_match(/<p class="sentence">[\d.]+ MB is in memory\./, html)
    assert html.include?("/at/#{escape(here(4))}\""), "the page has no link to line 4"
    assert body("/").include?('href="/map"'), "home has no link to it"
  end

  def test_refusals
    start(options: ["read_only:1"])
    at = map["id"]
    { "/map/#{at}/9/0.bin" => 404, "/map/#{at}/0/99.bin" => 404, "/map/77/0/0.bin" => 404, "/map/1-1/0/0.bin" => 404, "/map/#{at}9/0/0.bin" => 404, "/map/x/0/0.bin" => 404,
      "/map/#{at}/0/0" => 404, "/map/#{at}/at.bin" => 400, "/map/#{at}/at.bin?at=no.rb:1" => 404, "/map/" => 404, "/map.tsv" => 404,
      "/map/whatif" => 400, "/map/whatif?at=no.rb:1" => 404, "/map/whatif?at=%zz" => 400, "/map/page/12" => 400,
      "/map/page/0xzz" => 400, "/map/page/" => 400 }.each { |target, status| assert_line get(target), status }
    assert_line post("/map/trim"), 403
    assert_line post("/map"), 405
    refute body("/map").include?("<button>Trim"), "a button that does nothing"
    page = JSON.parse(body("/map/page/0x1000"))
    assert_equal [[], 0], page.values_at("blocks", "more")
    # four maps are kept
    4.times { map }
    assert_line get("/map/#{at}/0/0.bin"), 404
  end

  def test_a_relative_after_a_fork
    app = start
    child = app.ask("fork { sleep }").to_i
    m = eventually("the child's map") { (r = get("/#{child}/map.json")).status == 200 && JSON.parse(r.body) }
    assert_equal child, m["pid"]
    # the fork left most pages shared
    assert_operator m["shared_bytes"], :>, m["seen_bytes"] / 4
    assert_match(/shared with another process since a fork/, m["advice"].join)
    assert_equal 200, get("/#{child}/map/#{m["id"]}/0/0.bin").status
    all = JSON.parse(body("/all/map.json"))
    assert_equal [2, 2], all.values_at("processes", "answered")
    assert_equal [app.pid, child].sort, all["each"].map { |e| e["pid"] }.sort
    %w[rss_bytes seen_bytes shared_bytes live_bytes trim_bytes].each { |n| assert_equal all["each"].sum { |e| e[n] }, all[n], n }
    assert_equal all["seen_bytes"], all["parts"].sum { |p| p["bytes"] }
    assert_near rss(app), all["each"].find { |e| e["pid"] == app.pid }["rss_bytes"], 20, "rss"
    assert_line get("/all/map"), 404
  ensure
    ::Process.kill(:KILL, child) if child
  end

  # Pages that neither process wrote to since the fork, on another allocator too
  def test_shared_on_each_allocator
    each_allocator do |name, library|
      app = start(env: { "LD_PRELOAD" => [MwrapTest::TRACKER, library].compact.join(":") }, at: path(name))
      assert_equal 0, map(at: path(name))["shared_bytes"], name
      child = app.ask("fork { sleep }").to_i
      m = eventually("the child's map") { (r = get("/#{child}/map.json", at: path(name))).status == 200 && JSON.parse(r.body) }
      assert_operator m["shared_bytes"], :>, m["seen_bytes"] / 4, name
      ::Process.kill(:KILL, child)
      app.finish
    end
  end

  # Memory that the application maps past malloc is at the line that did, until it is unmapped.
  # Does an area begin there, and none end?
  def alone?(pid, at)
    areas = File.readlines("/proc/#{pid}/maps").map { |l| l[/\A(\h+)-(\h+)/] && [$1.hex, $2.hex] }
    areas.any? { |from, _| from == at } && areas.none? { |_, to| to == at }
  end

  def test_mappings
    each_allocator do |name, library|
      app = start(env: { "LD_PRELOAD" => [MwrapTest::TRACKER, library].compact.join(":") }, at: path(name))
      app.ask("require 'fiddle'; CALL = ->(n, types, result) { Fiddle::Function.new(Fiddle::Handle::DEFAULT[n], types, result) }; 0")
      app.ask("MAP = CALL.('mmap', [1, 5, 4, 4, 4, 5], 1); UNMAP = CALL.('munmap', [1, 5], 4); 0")
      app.ask("eval('def take(n) = MAP.call(nil, n, 3, 0x22, -1, 0).to_i', nil, '/srv/maps.rb', 1); 0")
      at = eventually("a mapping beside which the allocator puts none of its own") do
        at = app.ask("A = take(8 << 20).tap { |a| Fiddle::Pointer.new(a, 8 << 20)[0, 5 << 20] = 'x' * (5 << 20) }").to_i
        mine = map(at: path(name))["mappings"].select { |m| m["location"] == "/srv/maps.rb:1" }
        assert_equal [[8 << 20, 5 << 20]], mine.map { |m| m.values_at("bytes", "resident_bytes") }, name
        assert_equal "0x#{at.to_s(16)}", mine[0]["from"]
        app.ask("UNMAP.call(A, 4 << 20)") # the first half; the kernel makes one area of the rest and what comes there
        next at if alone?(app.pid, at + (4 << 20))
        app.ask("UNMAP.call(A + (4 << 20), 4 << 20); Object.send(:remove_const, :A)")
        nil
      end
      mine = map(at: path(name))["mappings"].select { |m| m["location"] == "/srv/maps.rb:1" }
      assert_equal [[4 << 20, 1 << 20]], mine.map { |m| m.values_at("bytes", "resident_bytes") }, "#{name}: #{at.to_s(16)}"
      app.ask("UNMAP.call(A + (4 << 20), 4 << 20)") # by now others may have memory in the first half
      assert_empty map(at: path(name))["mappings"].select { |m| m["location"] == "/srv/maps.rb:1" }, name
      app.finish
    end
  end

  # An own mapping of huge pages: one byte in each puts all of it in memory.
  def test_huge_pages
    enabled = File.read("/sys/kernel/mm/transparent_hugepage/enabled") rescue "[never]"
    skip "the kernel makes no huge pages" if enabled.include?("[never]")
    app = start
    assert_equal 0, map["huge_bytes"]
    app.ask("require 'fiddle'; CALL = ->(n, types) { Fiddle::Function.new(Fiddle::Handle::DEFAULT[n], types, 5) }; 0")
    app.ask("CALL.('prctl', [4, 5, 5, 5, 5]).call(41, 0, 0, 0, 0)") # PR_SET_THP_DISABLE: Ruby sets it
    app.ask("eval('def take(n) = CALL.(%q(mmap), [1, 5, 4, 4, 4, 5]).call(nil, n, 3, 0x22, -1, 0)', nil, '/srv/huge.rb', 1); 0")
    app.ask("A = (take(16 << 20) + (2 << 20) - 1) & -(2 << 20); CALL.('madvise', [5, 5, 4]).call(A, 12 << 20, 14)")
    app.ask("6.times { |i| Fiddle::Pointer.new(A + (i << 21))[7] = 1 }")
    skip "the kernel has no huge pages left" if File.read("/proc/#{app.pid}/smaps_rollup")[/^AnonHugePages: +(\d+)/, 1].to_i < 12 << 10
    m = map
    skip "PAGEMAP_SCAN isn't there to tell" if m["huge_bytes"].zero? && (Etc.uname[:release].split(".").map(&:to_i) <=> [6, 7]).negative?
    assert_equal 12 << 20, m["huge_bytes"]
    assert_near rss(app), m["seen_bytes"], 10, "RSS"
    assert_equal [["/srv/huge.rb:1", 12 << 20]], m["mappings"].select { |x| x["location"].include?("huge") }.map { |x| x.values_at("location", "resident_bytes") }
    fill, = planes(m)
    assert_equal [128 | 6], fill.select { |c| c & 128 != 0 }.uniq
    assert_equal (12 << 20) / m["page_bytes"], fill.count { |c| c & 128 != 0 }
  end

  # The tables are at their ceiling: the map still is there, and says how many blocks it knows.
  def test_with_the_tables_at_their_ceiling
    # (strings for which there are slots would be in Ruby's own heap)
    app = served_ruby(APP.sub("24_000", "240_000").sub("60 + i % 700", "10 + i % 70"), options: ["memory_max:2m"])
    assert_equal "ready", app.hear
    stats = JSON.parse(body("/stats.json"))
    assert stats["records_full"]
    m = map
    assert_near m["rss_bytes"], m["seen_bytes"], 10, "all parts"
    assert_in_delta stats["live"], m["live"], 10
    assert_equal 0, m["outside_bytes"]
    assert_equal 200, get("/map/trim").status
  end

  def test_rack
    [nil, "/in/app"].each do |mount|
      p = racked(mount: mount, options: "history:1")
      answer = p.get("#{mount}/map.json")
      assert_equal 200, answer.status, answer.body
      m = JSON.parse(answer.body)
      assert_equal p.pid, m["pid"]
      # here Ruby itself says how full its pages are
      assert_operator m["ruby_used_bytes"], :<, m["ruby_slots_bytes"]
      assert_operator m["ruby_used_bytes"], :>, m["ruby_slots_bytes"] / 4
      fill = p.get("#{mount}/map/#{m["id"]}/0/0.bin").body.bytes
      panel = m["panels"].find { |x| x["kind"] == "ruby" }
      cells = fill.slice(panel["cell"], panel["cells"]).map { |c| c & 63 }
      assert_operator cells.count { |c| c >= 8 }, :>, cells.size / 2
      assert_equal 200, p.get("#{mount}/map/#{m["id"]}/0/0.bin").status
      assert_equal 200, p.get("#{mount}/map").status
      p.finish
    end
  end

  def test_a_process_without_ruby
    app = served("sleep", "60", options: ["children:all"], at: path("plain"))
    m = map(at: path("plain"))
    assert_equal m["seen_bytes"], m["parts"].sum { |p| p["bytes"] }
    assert_equal 0, part(m, "ruby")
  ensure
    app&.kill
  end
end
