#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Callers, asked of a real process over its socket: /flame and the five profiles for other
# viewers. The forms themselves are profile_forms.t's.
require_relative "lib/served"
require_relative "lib/go_pprof"
require_relative "lib/two_callers"
require "zlib"

class StacksHttpTest < Minitest::Test
  include GoPprof
  include TwoCallers

  PAGES = { "/flame" => "text/html; charset=utf-8", "/flame.json" => "application/json; charset=utf-8",
            "/stacks.collapsed" => "text/plain; charset=utf-8", "/stacks.speedscope.json" => "application/json; charset=utf-8",
            "/debug/pprof/heap" => "application/octet-stream", "/debug/pprof/allocs" => "application/octet-stream" }.freeze
  PROFILES = %w[/debug/pprof/heap /debug/pprof/allocs].freeze

  # The app: a part of the blocks of the line was asked for by one method, a part by another.
  def start(*options, one: 400, two: 100)
    app = served_ruby(APP, options: options)
    app.ask("one #{one}")
    app.ask("two #{two}")
    at_rest(app)
    app
  end

  # Of a process at rest: [allocations, total, live, live_bytes] by location.
  def figures
    by_location(tsv).transform_values { |r| [r.allocations, r.total, r.live, r.live_bytes] }.reject { |_, v| v.all?(&:zero?) }
  end

  def profile(target = PROFILES[0], at: path) = Zlib.gunzip(body(target, at: at))

  def with_profile(bytes)
    in_tmp do |dir|
      File.binwrite("#{dir}/heap.pb.gz", bytes)
      yield "#{dir}/heap.pb.gz"
    end
  end

  def sums_by_location(raw)
    sums = Hash.new { |h, k| h[k] = [0] * 4 }
    raw_samples(raw).each { |values, _, location| sums[location.b] = sums[location.b].zip(values).map(&:sum) }
    sums
  end

  def collapsed(target = "/stacks.collapsed") = body(target).lines.to_h { |l| l.chomp.rpartition(" ").then { |names, _, n| [names.split(";"), n.to_i] } }

  # --- the answers -------------------------------------------------------------------------

  def test_every_page
    start("stacks:64k", "read_only:1")
    PAGES.each do |target, type|
      r = get(target)
      assert_equal [200, type, nil, "no-store"], [r.status, *r.headers.values_at("content-type", "content-disposition", "cache-control")], target
      assert_operator r.body.bytesize, :>, 100, target
      head = request("HEAD", target)
      assert_equal [200, type, ""], [head.status, head.headers["content-type"], head.body], target
      assert_operator head.headers["content-length"].to_i, :>, 100, target
      refused = post(target)
      assert_equal [405, "GET, HEAD"], [refused.status, refused.headers["allow"]], target
      if target.start_with?("/flame")
        assert_line get("#{target}?by=x"), 400, /\Aby: live, total, objects or growth$/
      else
        %w[x growth].each { |by| assert_line get("#{target}?by=#{by}"), 400, /\Aby: live, total or objects: only \/flame has growth$/ }
      end
      assert_line get("#{target}?limit=x"), 400, /\Alimit: /
      assert_line get("#{target}?location=/no/such.rb:1"), 404, /\Alocation: no such location$/
      assert_equal 404, get("#{target}/x").status
    end
    assert_includes body("/flame"), "samples."
  end

  # A gzip file: nothing says Content-Encoding, which a client would undo.
  def test_profiles_are_gzip_files
    start("stacks:64k")
    [{}, { "Accept-Encoding" => "gzip" }, { "Accept-Encoding" => "identity;q=1, gzip;q=0" }].product(PROFILES) do |headers, target|
      r = get(target, headers)
      assert_equal [200, nil, "\x1f\x8b".b], [r.status, r.headers["content-encoding"], r.body.b[0, 2]], "#{target} #{headers}"
      assert_operator Zlib.gunzip(r.body).bytesize, :>, 2 * r.body.bytesize
    end
    r = get("/stacks.speedscope.json", { "Accept-Encoding" => "gzip" })
    assert_equal "gzip", r.headers["content-encoding"], "the others are compressed if that is accepted"
  end

  # --- what they say -----------------------------------------------------------------------

  def test_the_same_sums_everywhere
    start("stacks:64k")
    want = figures
    raw = with_profile(body("/debug/pprof/heap")) { |file| pprof("-raw", file) }
    assert_includes raw, "\n1: 0x0/0x0/0x0 #{File.readlink("/proc/#{@fakes.last.pid}/exe")} ", "the first mapping names the profile"
    assert_includes raw, "inuse_space/bytes[dflt]"
    assert_includes raw, "PeriodType: space bytes\nPeriod: 65536\n"
    assert_equal want, sums_by_location(raw)
    allocs = with_profile(body("/debug/pprof/allocs")) { |file| pprof("-raw", file) }
    assert_includes allocs, "alloc_space/bytes[dflt]"
    assert_equal want, sums_by_location(allocs)
    live, total = want.values.sum { |v| v[3] }, want.values.sum { |v| v[1] }
    assert_equal [live, total], [collapsed.values.sum, collapsed("/stacks.collapsed?by=total").values.sum]
    { "live" => live, "total" => total }.each do |by, sum|
      tree = JSON.parse(body("/flame.json?by=#{by}"))
      assert_equal [by, sum, sum, 65_536], [tree["by"], tree["total"], tree["value"][0], tree["rate"]]
    end
    speedscope = JSON.parse(body("/stacks.speedscope.json"))
    assert_equal [live, total].sort, speedscope["profiles"].map { |p| p["weights"].sum }.sort
    assert_equal figures, want, "nothing was allocated meanwhile"
  end

  # 8 MB by one and 2 MB by the other are some 122 and 31 samples.
  def test_the_callers_of_a_line
    start("stacks:64k")
    tree = JSON.parse(body("/flame.json?location=#{escape(line)}"))
    assert_equal figures.fetch(line.b)[3], tree["total"]
    assert_operator tree["samples"], :>, 50
    of_line = lambda do |name|
      i = tree["frame"].index { |f| f >= 0 && tree["names"][tree["frames"][f][0]].include?(name) }
      i ? tree["value"][i] : 0
    end
    one, two = of_line["from_one"], of_line["from_two"]
    assert_in_delta 8_000_000, one, 1_500_000
    assert_in_delta 2_000_000, two, 1_500_000
    with_profile(body("/debug/pprof/heap")) do |file|
      names = top("-cum", "-tagfocus=location=^#{Regexp.escape(line)}$", file).to_h { |_, cum, name| [name[/\w+\z/], cum] }
      assert_operator names.fetch("from_one"), :>, names.fetch("from_two")
      assert_equal figures.fetch(line.b)[3], names.fetch("keep")
    end
  end

  # --- which frames are shown ----------------------------------------------------------------

  UNNAMED = /\(\+0x\h+\)\z/

  # Stripped libraries have functions without a name.
  def test_unnamed_frames_of_a_library_are_one
    start("stacks:64k")
    want = figures.values.sum { |v| v[3] }
    all, folded, ruby = ["?frames=all", "", "?frames=ruby"].map { |q| collapsed("/stacks.collapsed#{q}") }
    assert_equal [want], [all, folded, ruby].map { |c| c.values.sum }.uniq
    assert all.keys.flatten.grep(UNNAMED).any?
    assert_empty folded.keys.flatten.grep(UNNAMED)
    internal = folded.keys.flatten.grep(/, internal\z/).uniq
    assert_includes internal, "#{RUBY_FILE}, internal"
    folded.each_key { |names| names.each_cons(2) { |a, b| refute(a == b && internal.include?(a), names.join(";")) } }
    tree = JSON.parse(body("/flame.json"))
    assert_equal [want, 1], [tree["total"], tree["names"].count("#{RUBY_FILE}, internal")]
    speedscope = JSON.parse(body("/stacks.speedscope.json"))
    used = speedscope["profiles"][0]["samples"].flatten.uniq.map { |i| speedscope["shared"]["frames"][i]["name"] }
    assert_equal 1, used.count("#{RUBY_FILE}, internal")
    # pprof has addresses, unless it is asked for Ruby's
    names = ["", "?frames=ruby"].map { |q| with_profile(body("#{PROFILES[0]}#{q}")) { |file| top("-cum", file).map(&:last) } }
    assert_equal [true, false], names.map { |list| list.grep(UNNAMED).any? }, names.inspect
  end

  def test_ruby_frames_only
    start("stacks:64k")
    tree = JSON.parse(body("/flame.json?frames=ruby"))
    native = tree["frames"].select { |f| f[4] == 1 }
    assert_operator native.size, :>, 0, "methods in C are Ruby's, too"
    assert(native.all? { |_, file, line,| file == -1 && line.zero? }, native.inspect)
    assert_equal ["methods in C"], native.map { |f| tree["groups"][f[3]] }.uniq
    assert_includes tree["names"], "(native code alone)"
    leaf = collapsed("/stacks.collapsed?frames=ruby#{"&startup=hide" if STARTING}").max_by(&:last)[0]
    assert_includes leaf, "String#*"
    assert_includes leaf.map { |n| bare(n) }, "keep"
  end

  LOADED = "LOADED = Array.new(200) { |i| 'y' * 20_000 }\n"

  def test_without_start_up
    in_tmp do |dir|
      File.write("#{dir}/loaded.rb", LOADED)
      app = served_ruby("require #{"#{dir}/loaded".inspect}\n#{APP}", options: ["stacks:64k"])
      app.ask("one 300")
      at_rest(app)
      shown, hidden = ["", "?startup=hide"].map { |q| JSON.parse(body("/flame.json#{q}")) }
      assert_nil shown["startup"]
      assert_operator hidden["startup"], :>, 3_900_000
      assert_equal shown["total"], hidden["total"] + hidden["startup"]
      assert_includes shown["files"], "#{dir}/loaded.rb"
      refute_includes hidden["files"], "#{dir}/loaded.rb"
      refute_includes hidden["names"], "Kernel#require"
      assert_includes hidden["names"].map { |n| bare(n) }, "from_one"
      assert_equal hidden["total"], collapsed("/stacks.collapsed?startup=hide").values.sum
      assert_operator profile("#{PROFILES[0]}?startup=hide").bytesize, :<, profile.bytesize
      # of one line: its own part
      of_line = JSON.parse(body("/flame.json?startup=hide&location=#{escape("#{dir}/loaded.rb:1")}"))
      assert_equal [0, shown["value"][0] - hidden["total"] >= of_line["startup"]], [of_line["total"], true]
      page = body("/flame?startup=hide&frames=ruby&by=total").dup.force_encoding("UTF-8")
      assert_match(/Start-up isn’t shown: /, page)
      assert_includes page, '<option value="hide" selected>'
      assert_includes page, 'href="/stacks.collapsed?by=total&amp;frames=ruby&amp;startup=hide"'
    end
  end

  def test_switches_that_are_not_understood
    start("stacks:64k")
    PAGES.each_key do |target|
      assert_line get("#{target}?frames=x"), 400, /\Aframes: folded, ruby or all$/
      assert_line get("#{target}?startup=x"), 400, /\Astartup: show or hide$/
      assert_equal [200, 200], ["frames=folded&startup=show", "frames=all&startup=hide"].map { |q| get("#{target}?#{q}").status }
    end
  end

  # As they were estimated: the sums aren't the table's then.
  def test_raw
    start("stacks:64k")
    raw = with_profile(body("/debug/pprof/heap?raw=1")) { |file| sums_by_location(pprof("-raw", file)) }
    assert_in_delta 10_000_000, raw.fetch(line.b)[3], 4_000_000
    refute_equal figures, raw
  end

  # --- the way there -----------------------------------------------------------------------

  def nav(target) = body(target)[%r{<nav.*?</nav>}m].scan(%r{<a [^>]*href="([^"]*)"([^>]*)>Flame graph</a>})

  def test_links
    start("stacks:64k")
    assert_equal [["/flame", ""]], nav("/each/0")
    assert_equal [["/flame", ' aria-current="page"']], nav("/flame")
    at = body("/at/#{escape(line)}")
    link = "/flame?location=#{escape(line)}&amp;invert=1"
    assert_includes at, "<a href=\"#{link}\">the flame graph</a>"
    assert_includes body(CGI.unescapeHTML(link)), "from_one"
    native = tsv.find { |r| r.location.match?(/\[0x\h+\]\z/) }.location
    link = body("/at/#{escape(native)}")[/<a href="([^"]*)">the flame graph</, 1]
    assert_equal 200, get(CGI.unescapeHTML(link)).status
    assert_includes body("/#{@fakes.last.pid}/at/#{escape(line)}"), "<a href=\"/#{@fakes.last.pid}/flame?location="
    assert_includes body("/help"), "<dt>Flame graph</dt>"
  end

  # --- called by ---------------------------------------------------------------------------

  # The sums of the rows of each depth 0 are the location's, and those of a row's callers its own.
  def test_called_by
    start("stacks:64k")
    at = JSON.parse(body("/at/#{escape(line)}.json"))
    called = at.fetch("called_by")
    own, *below = called["rows"]
    assert_equal ["live", 0], called.values_at("by", "more")
    assert_equal [0, "keep", line], [own["depth"], bare(own["frames"][0]["name"]), own["frames"][0].values_at("file", "line").join(":")]
    %w[live_bytes live total allocations].each { |k| assert_equal at[k], own[k], k }
    assert_operator called["samples"], :>, 50
    assert_equal [called["samples"]], [own["live_samples"], below.select { |r| r["depth"] == 1 }.sum { |r| r["live_samples"] }].uniq
    shares = below.select { |r| r["depth"] == 1 }.to_h { |r| [bare(r["frames"][0]["name"]), r["live_bytes"]] }
    assert_equal ["block in from_one", "block in from_two"], shares.keys, "the larger one first"
    assert_equal at["live_bytes"], shares.values.sum
    assert_in_delta 8_000_000, shares.values[0], 1_500_000
    # as the page has it
    page = body("/at/#{escape(line)}").dup.force_encoding("UTF-8")
    rows = cells(page[%r{<table class="called">.*?<tbody>(.*?)</tbody>}m, 1])
    assert_equal called["rows"].size, rows.size
    assert_equal [at["live_bytes"], "100 %", at["total"], called["samples"]], rows[0].first(4).then { |live, share, total, n| [number(live), share.tr("\u00a0", " "), number(total), number(n)] }
    file, = 1.method(:times).source_location # from Ruby 3.3 on it is written in Ruby
    assert_match(/\A· .*block in .*from_one .*app\.rb:#{LINE + 2} ← Integer#times#{" #{file}:\\d+" if file} ← /, rows[1].last)
    assert_match(/estimated from #{called["samples"]} samples/, page)
    # of the newest blocks only, as the live page asks
    assert_equal called["rows"], JSON.parse(body("/at/#{escape(line)}.json?limit=1&oldest=1"))["called_by"]["rows"]
    refute_includes body("/at/#{escape(line)}.tsv"), "called"
  end

  def number(text) = text[/[\d,]+/].delete(",").to_i

  def test_called_by_of_other_locations
    app = start("stacks:64k")
    tsv.each do |r|
      at = JSON.parse(body("/at/#{escape(r.location)}.json"))
      first = at["called_by"]["rows"].select { |row| row["depth"].zero? }
      by = at["called_by"]["by"] == "live" ? "live_bytes" : "total"
      next if at["called_by"]["more"].positive?
      assert_equal at[by], first.sum { |row| row[by] }, r.location
      assert_operator at["called_by"]["rows"].size, :<=, 10
    end
    at = body("/#{app.pid}/at/#{escape(line)}.json")
    assert_equal JSON.parse(body("/at/#{escape(line)}.json"))["called_by"], JSON.parse(at)["called_by"]
  end

  # --- without stacks ----------------------------------------------------------------------

  def test_without_the_option
    start("stacks:off")
    assert_equal [0, 0, 0], stats.fetch_values("stacks", "stacks_rate", "stacks_samples")
    want = figures
    assert_includes body("/flame").dup.force_encoding("UTF-8"), "No stacks are kept: the option stacks is off. Each location stands for itself."
    raw = with_profile(body("/debug/pprof/heap")) { |file| pprof("-raw", file) }
    assert_equal want, sums_by_location(raw)
    assert_equal([1], raw_samples(raw).map { |_, ids, _| ids.size }.uniq)
    assert_equal 1, collapsed.keys.map(&:size).max
    tree = JSON.parse(body("/flame.json"))
    assert_equal [0, 0, [0, 1]], [tree["samples"], tree["rate"], tree["depth"].uniq.sort]
    assert_equal want.values.sum { |v| v[3] }, tree["total"]
    assert_equal [[], []], %w[/each/0 /flame].map { |target| nav(target) }
    at = body("/at/#{escape(line)}")
    refute_includes at, ">the flame graph</a>"
    assert_includes at, "To see who calls this location, start the process with the option stacks:auto."
    refute_includes JSON.parse(body("/at/#{escape(line)}.json")).keys, "called_by"
  end
end
