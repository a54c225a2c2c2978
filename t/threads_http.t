#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# Eight threads allocate and free each other's blocks while the table is read and reset over
# HTTP all the time. Whatever was read meanwhile is sane; afterwards what lives is known to
# the byte, and what is done after the last reset is counted exactly.

require_relative "lib/routes"
require_relative "lib/served"

class ThreadsHttpTest < Minitest::Test
  ROUNDS = 90 # requests of each reader while the threads work
  READERS = 3

  FIGURES = %i[allocations frees total live live_bytes growth].freeze

  def start
    app = served(program("agree_slots"))
    [app, act(app, "count 500")]
  end

  # Tells the program something; its answer, figures by function.
  def act(app, command)
    app.tell(command)
    figures = {}
    while (line = app.hear) != "done"
      line =~ /\Aexpect (\w+)((?: -?\d+){6})\z/ or flunk "#{line.inspect} #{app.stderr}"
      figures[$1] = $2.split.map(&:to_i)
    end
    figures
  end

  def mine(rows, function) = rows.select { |r| r.location.include?("/agree_slots(#{function}+0x") }

  # Of the rows in `columns`; all of them.
  def assert_known(expected, rows, columns = FIGURES)
    assert_equal 16, expected.size
    expected.each do |function, figures|
      want = FIGURES.zip(figures).to_h.slice(*columns).values
      assert_equal want, columns.map { |c| mine(rows, function).sum(&c) }, function
    end
  end

  # One reader's requests, all different from the next one's.
  def targets(location)
    at = "/at/#{escape(location)}"
    [["/each/0.tsv", :tsv], ["/each/0?limit=50&sort=live", :html], ["/stats.json", :stats], ["#{at}.json", :at],
     ["/each/1000.json?group=gem", :json], ["/each/0.csv?q=make&offset=2", :csv], ["/", :html], [at, :html]]
  end

  # Reads and resets; returns how many of each there were. Every answer is checked.
  def poll(location, reader)
    all = targets(location).rotate(reader * 2)
    resets = 0
    ROUNDS.times do |i|
      target, kind = all[i % all.size]
      sane(target, kind, body(target))
      next unless i % 3 == reader
      assert_equal 200, post(i.even? ? "/reset" : "/clear").status
      resets += 1
    end
    resets
  end

  def sane(target, kind, text)
    case kind
    when :tsv then rows = Served::Dump.tsv(text)[0]
    when :csv then rows = Served::Dump.csv(text)[0]
    when :json, :stats then rows = JSON.parse(text)
    when :at
      lives = JSON.parse(text).fetch("lives")
      assert(lives.all? { |l| l["size"].between?(1, 10_000) && l["address"] =~ /\A0x\h+\z/ }, target)
    when :html then assert_includes text, "</html>", target
    end
    numbers = Array(rows).flat_map { |r| r.is_a?(Array) ? r.last : r.to_h.values }.grep(Integer)
    assert(numbers.all? { |n| n.abs < 1 << 50 }, "#{target}: #{numbers.max}") if rows
  end

  def test_exact_while_it_is_read_and_reset
    app, first = start
    rows = tsv
    assert_known first, rows
    location = mine(rows, "make3")[0].location
    assert_empty act(app, "run")
    readers = Array.new(READERS) do |i|
      Thread.new { poll(location, i) }.tap { |t| t.report_on_exception = false }
    end
    resets = readers.sum(&:value)
    moving = stats
    assert_operator resets, :>=, READERS * ROUNDS / 3 - READERS
    assert_equal resets, moving["resets"]
    assert_operator moving["uptime"], :>, 0
    eventually("the threads go on") { stats["frees"] > moving["frees"] }
    parked = act(app, "park")

    # Quiet. Of the counts since some reset nothing is known, but they agree, and so does
    # what lives, with what the program has.
    rows = tsv
    assert_known parked, rows, %i[live live_bytes]
    assert_sound rows
    assert_sums rows, stats
    assert_equal 0, stats["lost"]
    check_blocks parked, rows

    # The last reset.
    assert_equal 200, post("/reset").status
    zero = tsv
    assert_known parked, zero, %i[live live_bytes]
    zero.each { |r| assert_equal [0, 0, 0, 0, 0], [r.total, r.allocations, r.frees, r.growth, r.max_life], r.inspect }

    # All that is done now is known.
    counted = act(app, "count 10000")
    rows = tsv
    assert_known counted, rows
    assert_sound rows
    assert_sums rows, stats
    check_blocks counted, rows
    before = by_location(zero)
    rows.each { |r| assert_equal r.live_bytes - (before[r.location.b]&.live_bytes || 0), r.growth, r.inspect }
    rows.each { |r| assert_equal r.live - (before[r.location.b]&.live || 0), r.allocations - r.frees, r.inspect }
    act(app, "join")
    assert_known counted, tsv
    assert_ends_well app
    assert_known counted, app.dumps[0]
  end

  # Block by block: as many, and as many bytes, as the row says.
  def check_blocks(expected, rows)
    expected.each do |function, (*, live, live_bytes, _growth)|
      blocks = mine(rows, function).flat_map { |r| JSON.parse(body("/at/#{escape(r.location)}.json"))["lives"] }
      assert_equal [live, live_bytes], [blocks.size, blocks.sum { |b| b["size"] }], function
      assert_equal live, blocks.map { |b| b["address"] }.uniq.size
    end
  end

  # Reads alone change nothing.
  def test_exact_since_the_start_while_it_is_read
    app, first = start
    assert_empty act(app, "run")
    location = mine(tsv, "make3")[0].location
    ROUNDS.times { |i| targets(location)[i % 8].then { |t, kind| sane(t, kind, body(t)) } }
    eventually("all of them have worked") do
      now = tsv
      first.keys.grep(/\Amake/).all? { |f| mine(now, f).sum(&:allocations) > 600 }
    end
    parked = act(app, "park")
    parked.each { |f, (allocations, *)| assert_operator allocations, :>, 500, f if f.start_with?("make") }
    rows = tsv
    assert_known parked, rows
    assert_sums rows, stats
    assert_equal 0, stats["resets"]
    # bytes allocated meanwhile
    assert_operator rows.map(&:max_life).max, :<=, rows.sum(&:total)
    act(app, "join")
    assert_known parked, tsv
    assert_ends_well app
    assert_known parked, app.dumps[0]
  end

  # What the C library frees when it gives an ended thread's stack to another: the child of a fork meanwhile frees it
  # once more. Natively nothing.
  def test_nothing_of_malloc_is_left_on_a_stack
    app = served(program("starts_threads"), env: { "LD_PRELOAD" => "#{MwrapTest::TRACKER} #{MwrapTest::BUILT}/preload/stack_again.so" })
    assert_equal "0", app.ask("")
    asked = MwrapTest::ROUTES.reject { |r| r.pattern.match?(/live|reset/) }.flat_map do |r|
      one = r.pattern.sub(/\*\z/, "1")
      [one, "/all#{one}"].map { |at| (r.flags.include?("POST") ? post(at) : get(at)).status }
    end
    assert_operator asked.count(200), :>, 40
    assert_equal "0", app.ask("")
  end
end
