#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# The history that a server keeps from its start, watched or not: RSS's parts, live bytes of
# locations, and events. MwrapRack's: rack.t.

require_relative "lib/watcher"

class HistoryTest < Minitest::Test
  include Watching

  # A process whose memory is of a kind that the command says. 64 MB each.
  KINDS = <<~'RUBY'
    require "fiddle"
    $stdout.sync = true
    SIZE = 64 << 20
    types = [Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_INT, Fiddle::TYPE_INT, Fiddle::TYPE_INT, Fiddle::TYPE_LONG]
    MMAP = Fiddle::Function.new(Fiddle::Handle::DEFAULT["mmap"], types, Fiddle::TYPE_VOIDP)
    MEMSET = Fiddle::Function.new(Fiddle::Handle::DEFAULT["memset"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT, Fiddle::TYPE_SIZE_T], Fiddle::TYPE_VOIDP)
    MALLOC = Fiddle::Function.new(Fiddle::Handle::DEFAULT["malloc"], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_VOIDP)
    FREE = Fiddle::Function.new(Fiddle::Handle::DEFAULT["free"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID)
    FILE = ARGV[0]
    kept = []
    puts "ready"
    while (line = $stdin.gets)
      case line.chomp
      when "anon" then MEMSET.call(MMAP.call(nil, SIZE, 3, 0x22, -1, 0), 1, SIZE)
      when "file"
        File.open(FILE, "w") { |f| f.truncate(SIZE) }
        File.open(FILE, "r+") { |f| MEMSET.call(MMAP.call(nil, SIZE, 3, 1, f.fileno, 0), 1, SIZE) }
      when "free" # each hundredth block keeps the others' memory from being given back
        blocks = Array.new(SIZE / 1024) { MALLOC.call(1000).tap { |p| MEMSET.call(p, 1, 1000) } }
        blocks.each_with_index { |p, i| FREE.call(p) unless (i % 100).zero? }
      when "large" # one block with a mapping of its own
        MEMSET.call(MALLOC.call(SIZE), 1, SIZE)
      when "live"
        kept << Array.new(SIZE / 1024) { "x" * 1000 }
      end
      puts "done"
    end
  RUBY

  MB = 1 << 20
  PARTS = %w[live heap free anon files stacks tracker].freeze

  def history(at: path) = JSON.parse(body("/history.json", at: at))
  def last(at: path) = history(at: at)["fine"].then { |f| ["rss", *PARTS].to_h { |k| [k, f[k].last] } }
  def locations(query = "", at: path) = JSON.parse(body("/history/locations.json?#{query}", at: at))

  # The last point once it shows this.
  def shows(what) = eventually(what) { last.then { |p| p if p.values.all? && yield(p) } }

  def test_each_part_of_rss_is_told_from_the_others
    app = served_ruby(KINDS, args: [path("mapped")])
    app.hear
    before = shows("a first reading of smaps") { |p| p["stacks"].positive? }
    { "anon" => "anon", "file" => "files", "live" => "live", "large" => "live", "free" => "free" }.each do |command, part|
      was = last
      app.ask(command)
      now = shows("#{command} as #{part}") do |p|
        p[part] - was[part] > 48 * MB && p[part] - was[part] < 90 * MB &&
          (PARTS - [part, "heap", "tracker"]).all? { |other| (p[other] - was[other]).abs < 20 * MB }
      end
      assert_operator now["rss"] - was["rss"], :>, 48 * MB
    end
    # all of them together are RSS
    after = last
    sum = PARTS.sum { |k| after[k] }
    assert_in_delta after["rss"], sum, after["rss"] * 0.1, after.inspect
    assert_operator after["rss"] - before["rss"], :>, 5 * 48 * MB
    assert_in_delta after["rss"], File.read("/proc/#{app.pid}/status")[/VmRSS:\s*(\d+)/, 1].to_i * 1024, 20 * MB
  end

  def test_columns_and_the_long_grid
    leaking
    h = eventually("three points") { history.then { |x| x if x["fine"]["t"].size >= 3 } }
    %w[fine coarse long].each do |grid|
      assert_equal %w[step t rss live heap files tracker free anon stacks threads fds gcs], h[grid].keys
      assert_equal 1, h[grid].except("step").values.map(&:size).uniq.size
    end
    assert_equal 120, h["long"]["step"]
    assert_equal h["fine"]["t"].first, h["long"]["t"].first
    assert_equal [], h["events"]
  end

  def test_a_part_of_the_time
    leaking
    eventually("six points") { history["fine"]["t"].size >= 6 }
    post("/annotate?text=here")
    part = JSON.parse(body("/history.json?range=15m&points=3"))
    columns = %w[t rss live heap files tracker free anon stacks threads fds gcs]
    assert_equal %w[start now unix from to first] + columns + %w[events], part.keys.grep_v(/\A(limit|group)_/)
    assert_equal %w[limit_bytes limit_of], part.keys.grep(/\Alimit_/).first(2)
    assert_operator part["t"].size, :<=, 3
    assert_equal [part["t"].size], part.values_at(*columns).map(&:size).uniq
    assert_equal [history["start"], history["fine"]["t"].first, ["here"]], [part["start"], part["first"], part["events"].map { |e| e["text"] }]
    fine = history["fine"]
    assert_operator fine["t"].size, :>=, 6
    whole = JSON.parse(body("/history.json?from=0&to=5"))
    at = whole["t"].map { |t| fine["t"].index(t) }
    refute_empty at
    columns.each { |k| assert_equal fine[k].values_at(*at), whole[k], k }
    assert_equal part.keys, JSON.parse(body("/history.json?points=300")).keys
    # a part costs no more than it shows
    assert_operator body("/history.json?range=all&points=300").bytesize, :<, 40_000
    { "range=2h" => /range: 15m, 1h, 6h, 24h or all expected/, "points=1" => /points: 2 to 1440/, "from=x" => /from: seconds of uptime/,
      "from=9&to=1" => /from: must not be later than to/ }.each { |q, like| assert_line get("/history.json?#{q}"), 400, like }
  end

  # --- locations -----------------------------------------------------------------------

  def row(app, answer = locations) = answer["rows"].find { |r| r[1].end_with?("/app.rb:#{app}") }

  # A row's value at each time: its last value holds.
  def at_each_time(answer, values) = answer["t"].each_index.map { |i| values[[i, values.size - 1].min] }

  def test_a_curve_exists_without_any_viewer
    app = leaking
    app.ask("leak 50")
    # no request is made meanwhile; the curve began before the first one
    sleep 6.5
    app.ask("leak 100")
    answer = eventually("the second leak in a curve") do
      locations("points=20").then { |a| a if (row(5, a)&.at(4)&.last || 0) >= 1_500_000 }
    end
    at = answer["t"].zip(at_each_time(answer, row(5, answer)[4]))
    assert(at.any? { |_, v| v && v >= 500_000 && v < 600_000 }, at.inspect)
    assert_equal [path("app.rb").size, "ruby"], row(5, answer).values_at(2, 3)
    # a location alone
    alone = locations("location=#{escape(path("app.rb:5"))}&points=500")
    assert_equal [path("app.rb:5")], alone["rows"].map { |r| r[1] }
    assert_equal [], locations("location=none")["rows"]
    # kept ones and the rest are all that is live
    sum = locations("points=2").then { |a| a["rows"].sum { |r| r[4].last || 0 } + a["rest"].last }
    assert_in_delta stats["live_bytes"], sum, 200_000
    assert_equal history["start"], answer["start"]
    assert_operator answer["to"], :<=, answer["now"]
  end

  def test_parameters
    leaking
    eventually("a step") { locations["rows"].any? }
    %w[range=15m range=1h range=6h range=24h range=all from=0 from=0.5&to=1 to=9999999 points=2 points=300
       location=x&points=500].each { |q| assert_equal 200, get("/history/locations.json?#{q}").status, q }
    { "range=2h" => /range: 15m, 1h, 6h, 24h or all expected/, "from=x" => /from: seconds of uptime expected/,
      "to=-1" => /to: seconds/, "from=1e3" => /from/, "points=1" => /points: 2 to 300/, "points=301" => /points/,
      "location=x&points=501" => /points: 2 to 500/, "from=99999" => /from: must not be later/, "from=1&range=1h" => /range: from or to/,
      "from=1.12345678901" => /from/, "from=." => /from/ }.each do |q, like|
      assert_line get("/history/locations.json?#{q}"), 400, like
    end
    assert_line post("/history/locations.json"), 405
    assert_line get("/all/history/locations.json"), 404
  end

  # --- events --------------------------------------------------------------------------

  def test_events
    leaking
    { "/reset" => "reset", "/mark" => "mark", "/trim" => "trim", "/pause" => "pause", "/resume" => "resume" }.each_key do |target|
      assert_equal 200, post(target).status
    end
    assert_line post("/annotate?text=deploy-17"), 200
    assert_line post("/annotate?text=#{"%E2%82%AC" * 26}zz"), 200
    events = history["events"]
    assert_equal %w[reset mark trim pause resume annotation annotation], events.map { |e| e["kind"] }
    assert_equal ["deploy-17", "#{"€" * 26}zz"], events.last(2).map { |e| e["text"] }
    assert_equal events.map { |e| e["t"] }.sort, events.map { |e| e["t"] }
    assert_equal [events[1]["t"]], history["marks"]
    refused = ["", "?text=", "?text=%ff", "?text=a%0ab", "?text=%7f", "?text=#{"x" * 81}", "?text=#{"%E2%82%AC" * 27}"]
    refused.each { |q| assert_line post("/annotate#{q}"), 400 }
    assert_equal 7, history["events"].size
    assert_line get("/annotate?text=x"), 405
  end

  def test_read_only
    served_ruby(LEAK, options: "read_only:1").hear
    assert_line post("/annotate?text=x"), 403
    assert_equal [], history["events"]
  end

  # --- processes -----------------------------------------------------------------------

  def test_a_forked_child_begins_anew
    app = leaking
    app.ask("leak 200")
    eventually("the leak in the parent's curves") { (row(5)&.at(4)&.last || 0) >= 2_000_000 }
    post("/annotate?text=before")
    child = app.ask("fork")[/\d+/].to_i
    beside = "#{path}.#{child}"
    wait_for_server(beside)
    answer = eventually("the child's own curves") { locations("range=all", at: beside).then { |a| a if row(5, a)&.at(4)&.last } }
    # unknown before the fork: the child was not there
    from = history(at: beside)["fine"]["t"].first
    assert(answer["t"].zip(at_each_time(answer, row(5, answer)[4])).all? { |t, v| row(5, answer)[4].size == 1 || v.nil? || t >= from }, answer.inspect)
    assert_operator row(5, answer)[4].last, :>=, 2_000_000
    assert_equal [["fork", "from process #{app.pid}"]], history(at: beside)["events"].map { |e| e.values_at("kind", "text") }
    assert_equal ["before"], history["events"].map { |e| e["text"] }
    # descriptors of the parent's own memory aren't among the child's
    open = Dir.children("/proc/#{child}/fd").filter_map { |fd| File.readlink("/proc/#{child}/fd/#{fd}")[%r{\A/proc/(\d+)/sm?a}, 1] rescue nil }
    assert_equal [child.to_s], open.uniq
  end

  def test_descriptors_have_high_numbers
    app = leaking
    eventually("a point") { history["fine"]["t"].any? }
    fds = Dir.children("/proc/#{app.pid}/fd").select do |fd|
      File.readlink("/proc/#{app.pid}/fd/#{fd}").match?(%r{/s(maps|tatm)\z})
    rescue Errno::ENOENT # closed meanwhile
      false
    end
    assert_equal 2, fds.size
    assert(fds.all? { |fd| fd.to_i >= 512 }, fds.inspect)
  end

  def test_little_memory
    app = served_ruby(LEAK, options: "memory_max:2m")
    app.hear
    app.ask("leak 50")
    assert_operator stats["tracker_bytes"], :<=, 2 * MB
    # an eighth of the ceiling is too little for all grids; what there is of them is right
    eventually("seconds of history") { history["fine"]["t"].size > 6 }
    assert_operator stats["tracker_bytes"], :<=, 2 * MB
    curve = row(5)
    assert_operator curve[4].last, :>=, 500_000 if curve
    assert_equal 200, get("/each/0").status
  end

  def test_it_counts_as_the_trackers_memory
    app = leaking
    app.ask("leak 50")
    eventually("curves") { locations["rows"].any? }
    eventually("a point") { history["fine"]["t"].size > 6 }
    with = stats["tracker_bytes"]
    app.finish
    served_ruby(LEAK, options: "history:0").hear
    eventually("a point") { history["fine"]["t"].size > 6 }
    assert_equal [[], []], locations.values_at("rows", "rest").then { |rows, rest| [rows, rest.compact] }
    assert_operator with - stats["tracker_bytes"], :>, 200_000
    assert_operator with - stats["tracker_bytes"], :<, 3 * MB
  end

  # A snapshot of so many lines is megabytes, and the history takes some. If they came from malloc, their
  # free would change from which size the app's own blocks have mappings, and the memory would stay.
  def test_the_history_leaves_mallocs_settings_alone
    app = served_ruby(<<~'RUBY')
      require "fiddle"
      $stdout.sync = true
      MALLOC = Fiddle::Function.new(Fiddle::Handle::DEFAULT["malloc"], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_VOIDP)
      KEPT = Array.new(30_000) { |i| eval("'x' * 1000", nil, "/srv/file#{i / 100}.rb", i % 100 + 1) }
      # the C library's flag for a block with a mapping of its own
      puts MALLOC.call(5 << 20)[-8, 8].unpack1("Q") & 2 while $stdin.gets
    RUBY
    assert_equal "2", app.ask("before")
    eventually("curves") { locations("points=2")["rows"].size > 200 }
    assert_equal "2", app.ask("after")
  end
end
