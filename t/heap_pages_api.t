#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Mwrap::HeapPageBody, /heap_pages in every form and dump_heap, in real processes: they say
# what GC.stat says, also of pages that died and of those that came back.
# t/heap_pages.t: stats.json; t/unit/test_heap_pages.c: figures to the last digit.
require_relative "lib/heap_page_size"
require_relative "lib/served"

class HeapPagesApiTest < Minitest::Test
  include Served
  include HeapPageSize

  APP = <<~'RUBY'
    require "mwrap"
    require "json"
    $stdout.sync = true
    $kept = []
    $seen = []
    # Our answer and Ruby's, of the same moment: neither takes or gives back a page meanwhile.
    def both
      loop do
        before = GC.stat
        pages = Mwrap::HeapPageBody.each.to_a
        stat = Mwrap::HeapPageBody.stat
        returned, size = Mwrap::HeapPageBody.each {}, Mwrap::HeapPageBody.each.size
        next if before.slice(:total_allocated_pages, :total_freed_pages) != GC.stat.slice(:total_allocated_pages, :total_freed_pages)
        $seen << pages.map(&:first)
        return { pages: pages, returned: returned, size: size, stat: stat.transform_values { |v| v == Float::INFINITY ? "never" : v },
                 allocated: before[:heap_allocated_pages], born: before[:total_allocated_pages],
                 freed: before[:total_freed_pages], count: before[:count] }
      end
    end
    # Makes room for Ruby's later objects: free slots of each size.
    def tell
      [10, 50, 120, 280, 600].each { |n| Array.new(3_000) { "x" * n } }
      GC.start
      GC.disable
      $stderr.puts GC.stat.values_at(:heap_allocated_pages, :total_freed_pages).inspect
    end
    at_exit { tell } if ARGV[0] == "tell"
    while (line = $stdin.gets&.chomp)
      case line
      when "more" then 600_000.times { $kept << Object.new }
      when "less" then $kept.clear; 6.times { GC.start }
      when "reset" then Mwrap.reset
      when "compact" then GC.compact
      when "fork"
        Process.wait(fork { puts JSON.generate(both) })
        next
      when "race"
        stop = false
        threads = Array.new(2) { Thread.new { Mwrap::HeapPageBody.each { |a, g| a + g } until stop } }
        10.times { Array.new(30_000) { Object.new }; GC.start }
        stop = true
        threads.each(&:join)
      when "wait" # for somebody who reads; what is done then allocates little
        GC.disable
      end
      puts JSON.generate(both)
    end
  RUBY

  def ask(app, line) = JSON.parse(app.ask(line))

  def assert_as_ruby_says(got)
    pages = got["pages"]
    assert_equal [got["allocated"]] * 3, [pages.size, got["returned"], got["size"]]
    assert_equal pages.map(&:first).uniq.size, pages.size
    pages.each do |addr, generation|
      assert_equal 0, addr % SIZE
      assert_includes 0..got["count"], generation
    end
    assert_equal pages.sort_by { |addr, generation| [generation, addr] }, pages
  end

  def test_as_ruby_says
    app = served_ruby(APP)
    %w[start more more less more compact less].each do |line|
      got = ask(app, line)
      assert_as_ruby_says got
      assert_equal %w[lifespan_max lifespan_min lifespan_mean lifespan_stddev deathspan_max deathspan_min
                      deathspan_mean deathspan_stddev resurrects], got["stat"].keys
    end
    assert app.finish.success?, app.stderr
  end

  def test_a_death_and_a_resurrection
    app = served_ruby(APP)
    start = ask(app, "start")
    assert_equal 0, start["freed"]
    assert_equal ["never"] * 3, start["stat"].values_at("lifespan_max", "lifespan_min", "lifespan_mean")
    assert_equal [0.0, 0.0, 0], start["stat"].values_at("lifespan_stddev", "deathspan_stddev", "resurrects")
    more = ask(app, "more")
    less = ask(app, "less")
    assert_operator less["freed"], :>, 50
    # those that are gone were born after the start, and each death is one
    gone = more["pages"].map(&:first) - less["pages"].map(&:first)
    assert_operator gone.size, :>, 50
    stat = less["stat"]
    assert_equal 0, stat["resurrects"], "none was wanted again"
    assert_includes 1..less["count"], stat["lifespan_max"]
    assert_includes 0..stat["lifespan_max"], stat["lifespan_min"]
    assert_includes stat["lifespan_min"]..stat["lifespan_max"], stat["lifespan_mean"]
    assert_operator stat["lifespan_stddev"], :<=, (stat["lifespan_max"] - stat["lifespan_min"]) / 2.0 + 1e-9
    again = ask(app, "more")
    back = gone & again["pages"].map(&:first)
    assert_operator back.size, :>, 0, "the system gives the same addresses again"
    assert_operator again["stat"]["resurrects"], :>=, back.size
    assert_operator again["stat"]["resurrects"], :<=, again["freed"]
    assert_includes 1..again["count"], again["stat"]["deathspan_max"]
    # a reset leaves all that alone, and so does a fork
    same = ask(app, "reset")
    assert_equal again["stat"], same["stat"]
    child = ask(app, "fork")
    assert_as_ruby_says child
    assert_equal same["freed"], child["freed"]
    # its answer may take a page that was gone
    assert_includes 0..child["born"] - same["born"], child["stat"]["resurrects"] - same["stat"]["resurrects"]
    assert_as_ruby_says ask(app, "race")
    assert app.finish.success?, app.stderr
  end

  # The summary and the rows of each form.
  def forms(query = "")
    json = JSON.parse(body("/heap_pages.json#{query}"))
    rows = json["rows"].map { |r| r.values_at("address", "generation", "age", "bytes") }
    tsv = body("/heap_pages.tsv#{query}").lines(chomp: true).map { |l| l.split("\t") }
    assert_equal %w[address generation age bytes], tsv.shift
    assert_equal rows, tsv.map { |a, *n| [a, *n.map { |v| Integer(v) }] }
    assert_equal tsv, MwrapTest::Dump.csv_records(body("/heap_pages?format=csv#{query.sub("?", "&")}")).drop(1)
    page = body("/heap_pages#{query}").force_encoding("UTF-8")
    tables = page.scan(%r{<tbody>(.*?)</tbody>}m).map { |(t)| cells(t) }
    # without a limit, a page has the first 100; with one, 500 at most
    shown = tables[1].reject { |c| c.size == 1 }
    assert_equal rows.first(query[/limit=0/] ? 500 : 100), shown.map { |a, *n| [a, *n.map { |v| v.delete(",").to_i }] }
    assert_equal json.fetch_values("pages", "bytes", "deaths", "lifespan_max").map { |v| v ? v.to_s : "–" },
                 tables[0].first(4).map { |_, v,| v.delete(",") }
    [json, rows, page]
  end

  def test_forms_agree
    app = served_ruby(APP)
    %w[start more less more wait].each { |line| @last = ask(app, line) }
    json, rows, page = forms
    assert_equal @last["pages"].map { |addr, generation| [format("%#x", addr), generation] }, rows.map { |r| r[0, 2] }
    assert_equal [@last["allocated"], @last["allocated"] * SIZE, @last["freed"], @last["stat"]["resurrects"]],
                 json.values_at("pages", "bytes", "deaths", "resurrects")
    assert_equal json["bytes"], rows.sum(&:last)
    assert_equal @last["stat"].values_at("lifespan_max", "deathspan_min"), json.values_at("lifespan_max", "deathspan_min")
    %w[lifespan_mean lifespan_stddev deathspan_mean deathspan_stddev].each do |name|
      assert_in_delta @last["stat"][name], json[name], 0.0006, name
    end
    rows.each { |_, generation, age,| assert_equal json["generation"], generation + age }
    assert_equal json["bytes"], stats["heap_bytes"]
    assert_includes page, "Live pages 1–#{[rows.size, 100].min} of "
    _, some, page = forms("?limit=7&offset=3")
    assert_equal rows[3, 7], some
    assert_includes page, 'href="/heap_pages?limit=7&amp;offset=10"'
    assert_equal rows, forms("?limit=0&offset=0")[1] if rows.size <= 500
    assert_includes body("/"), '<a href="/heap_pages">'
    %w[limit=x offset=%ff limit=1%00 limit= offset=-1 offset=1.5 format=xml].each do |query|
      next assert_equal(200, get("/heap_pages?#{query}").status) if query == "limit="
      assert_line get("/heap_pages?#{query}"), 400
    end
    assert_line post("/heap_pages"), 405
    assert app.finish.success?, app.stderr
  end

  # The exit dump's lines below the table, by name and by address.
  def dumped(mask, *cmd)
    run = run_command(*cmd, env: { "LD_PRELOAD" => TRACKER, "MWRAP" => "dump_path:#{option_value(path("d#{mask}"))},dump_heap:#{mask}" })
    assert_success run
    text = File.binread(path("d#{mask}"))
    heap, table = text.lines(chomp: true).partition { |l| l.match?(/\A.{16} .{12} \(heap pages?\)\z/) }
    figures, pages = heap.partition { |l| l.end_with?("(heap pages)") }
    assert_equal (table + figures + pages), text.lines(chomp: true), "in this order"
    [Dump.text(table.map { |l| "#{l}\n" }.join)[0], figures.to_h { |l| l.split.first(2) }, pages.map { |l| l.split.first(2) }, run.stderr]
  end

  def test_dump_heap
    File.write(path("app.rb"), APP)
    command = [RUBY, "--disable=gems", "-I#{LIB}", path("app.rb"), "tell"]
    all = 0.upto(7).map { |mask| dumped(mask, *command) }
    all.each_with_index do |(table, figures, pages, said), mask|
      allocated, freed = JSON.parse(said)
      assert_equal [(mask & 4).zero?, mask.anybits?(1), mask.anybits?(2)], [table, figures, pages].map(&:any?)
      if mask.anybits?(1)
        assert_equal %w[pages bytes deaths lifespan_max lifespan_min lifespan_mean lifespan_stddev resurrects
                        deathspan_max deathspan_min deathspan_mean deathspan_stddev lost], figures.keys
        assert_equal [allocated, allocated * SIZE, freed, 0].map(&:to_s), figures.values_at("pages", "bytes", "deaths", "lost")
        assert_equal "-", figures["lifespan_mean"] if freed.zero?
      end
      next unless mask.anybits?(2)
      assert_equal allocated, pages.size
      pages.each { |addr, generation| assert_equal [0, true], [Integer(addr, 16) % SIZE, generation.match?(/\A\d+\z/)] }
    end
  end

  def test_without_ruby
    app = served("sh", "-c", "read x")
    json, rows, page = forms
    assert_equal [0, 0, 0, nil, []], [*json.values_at("pages", "bytes", "deaths", "lifespan_mean"), rows]
    assert_includes page, "No heap page is known"
    refute_includes body("/"), "Ruby’s heap pages".b
    assert app.finish
    _, figures, pages = dumped(3, "true")
    assert_equal ["0", "-", []], [*figures.values_at("pages", "lifespan_max"), pages]
  end
end
