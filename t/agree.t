#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# All that is said of one quiet process says the same: TSV, CSV, JSON, the page's table,
# Mwrap.each, Mwrap.dump and the exit dump, row by row, also after a reset; /at/LOCATION
# and Mwrap[LOCATION]; sums over locations, groups and pages, and the process's totals.

require_relative "lib/served"

# Both tests' questions to a process.
module Agreement
  Row = Served::Row
  FORMS = %w[tsv csv json].freeze
  SUMS = MwrapTest::SUM_COLUMNS.map(&:to_sym).freeze

  # Reads all forms, and says that they are the same; returns the rows.
  def forms_agree(sums: true, columns: %w[total allocations frees live_bytes live])
    rows = tsv
    assert_sound rows
    assert_same_rows rows, csv, "CSV"
    assert_same_rows rows, json, "JSON"
    page, sum = html
    assert_same_rows rows, page, "HTML"
    assert_equal "Sum of #{page.size.to_s.reverse.scan(/\d{1,3}/).join(",").reverse} rows", sum.location
    SUMS.each { |c| assert_equal rows.sum { |r| r[c] }, sum[c], "#{c} below the table" }
    assert_equal rows.map(&:max_life).max, sum.max_life
    assert_sums rows, stats, columns if sums
    assert_same_rows rows, tsv, "the same again"
    rows
  end

  def groups_agree(rows)
    %w[file gem].each do |group|
      FORMS.each do |form|
        groups = public_send(form, "/each/0.#{form}?group=#{group}")
        by_location(groups)
        assert_operator groups.size, :<, rows.size
        SUMS.each { |c| assert_equal rows.sum(&c), groups.sum(&c), "#{c} by #{group}, #{form}" }
        assert_equal rows.map(&:max_life).max, groups.map(&:max_life).max
      end
      page, = html("/each/0?group=#{group}&limit=500")
      assert_same_rows tsv("/each/0.tsv?group=#{group}"), page, "HTML by #{group}", least: 2
    end
    # a file's row is the sum of its lines'; "(ruby, starting)" is none
    files = by_location(tsv("/each/0.tsv?group=file"))
    file, = files.reject { |name, _| name.start_with?("(") }.max_by { |_, r| r.allocations }
    lines = rows.select { |r| r.location.b.start_with?(file) && r.location.b[file.size] =~ /[:(]/ }
    assert_operator lines.size, :>, 1, file
    SUMS.each { |c| assert_equal files[file][c], lines.sum(&c), "#{c} of #{file}" }
  end

  # Pages put together are the whole, in every order.
  def pages_agree(rows)
    Row.members.each do |c|
      %w[asc desc].each do |order|
        query = "sort=#{c}&order=#{order}"
        whole = tsv("/each/0.tsv?#{query}").map(&:to_a)
        assert_equal rows.map(&:to_a).sort_by(&:last), whole.sort_by(&:last), query
        assert_ordered whole, Row.members.index(c), order, query
        step = rows.size / 3 + 1
        pages = (0..rows.size).step(step).flat_map { |o| tsv("/each/0.tsv?#{query}&limit=#{step}&offset=#{o}") }
        assert_equal whole, pages.map(&:to_a), query
      end
    end
    assert_empty tsv("/each/0.tsv?limit=10&offset=#{rows.size}")
    step = rows.size / 5 + 1
    assert_equal html("/each/0?limit=500&sort=live")[0], html("/each/0?limit=#{step}&sort=live")[0], "pages of #{step} rows"
  end

  # No mean comes last; ties are in the order of the location's bytes.
  def assert_ordered(rows, column, order, what)
    with, without = rows.partition { |r| r[column] }
    assert_equal with + without, rows, what
    sign = order == "asc" ? 1 : -1
    (with.each_cons(2).to_a + without.each_cons(2).to_a).each do |a, b|
      x, y = [a, b].map { |r| column == Row.members.size - 1 ? r[column].b : r[column] }
      # means are rounded: two that look the same may differ
      next assert(x && Served::MEANS.include?(Row.members[column]) || a.last.b < b.last.b, "#{what}: a tie: #{a}, #{b}") if x == y
      assert_equal sign, y <=> x, "#{what}: #{a} before #{b}"
    end
  end

  # A location by itself says what its row says. Returns [size, generation] of each block.
  def at_agrees(row)
    at = "/at/#{escape(row.location)}"
    one = JSON.parse(body("#{at}.json"))
    assert_same_row row, Row.new(*Row.members.map { |m| one.fetch(m.to_s) })
    lives = one.fetch("lives")
    assert_equal [row.live, row.live_bytes], [lives.size, lives.sum { |l| l["size"] }], row.location
    assert_equal lives.size, lives.map { |l| l["address"] }.uniq.size
    %w[by_size by_age].each { |b| assert_equal [row.live, row.live_bytes], [one[b].sum { |k| k["count"] }, one[b].sum { |k| k["bytes"] }], b }
    # a thread's own clock may be ahead of the process's
    lives.each { |l| assert_equal [one["generation"] - l["generation"], 0].max, l["age"] }
    table = lives.map { |l| l.values_at("size", "generation", "age", "address").map(&:to_s) }
    header = %w[size generation age address]
    assert_equal [header, *table], body("#{at}.tsv").lines(chomp: true).map { |l| l.split("\t") }
    assert_equal [header, *table], Served::Dump.csv_records(body("/at.csv?location=#{escape(row.location)}"))
    # the page's last table; a page shows the first of many
    page = cells(body(at).dup.force_encoding("UTF-8").scan(%r{<tbody>(.*?)</tbody>}m).last[0]).map { |r| r.map { |c| c.delete(",") } }
    page = [] if row.live.zero?
    assert_equal table.first(page.size), page
    assert_operator page.size, :>=, [table.size, 10].min
    table.map { |r| r.first(2).map(&:to_i) }
  end

  def assert_same_row(want, got)
    columns = Row.members - Served::MEANS
    assert_equal columns.map { |c| want[c] }, columns.map { |c| got[c] }, want.location
    Served::MEANS.each { |c| assert same_mean?(want[c], got[c]), [c, want, got].inspect }
  end

  # The dump is written after the destructors of all libraries, the server's among them; one
  # of those touches its thread-local storage, for which ld.so allocates. Nothing else.
  def assert_same_dump(rows, dump, what = "exit dump", only: nil, **rest)
    assert_same_rows rows, dump, what, only: ->(r) { !ld_so?(r) && (!only || only.call(r)) }, **rest
    before, after = [rows, dump].map { |all| all.select { |r| ld_so?(r) }.sum(&:allocations) }
    assert_includes before..before + 5, after, "#{what}: ld.so"
  end

  def ld_so?(row) = row.location.include?("/ld-linux")

  def reset = assert_equal(200, post("/reset").status)

  # Just after a reset, with nothing done since.
  def reset_agrees(before)
    after = by_location(tsv)
    lasting = before.select { |r| r.live.positive? }
    assert_operator lasting.size, :>=, 3
    lasting.each do |r|
      a = after[r.location.b]
      want = { total: 0, allocations: 0, frees: 0, growth: 0, live_bytes: r.live_bytes, live: r.live, mean_life: nil, max_life: 0 }
      assert_equal want, a.to_h.slice(*want.keys), r.location
    end
  end
end

# A program without Ruby, its threads waiting or gone.
class AgreeInC < Minitest::Test
  include Agreement

  def start(format = "tsv") = served(program("agree_slots"), format: format)

  # Tells it to do something; what its functions' rows must be then: [[name, six figures], ...].
  def act(app, command)
    app.tell(command)
    lines = []
    lines << app.hear until lines.last == "done" || (lines.any? && lines.last.nil?)
    assert_equal "done", lines.pop, app.stderr
    lines.map { |l| l =~ /\Aexpect (\w+)((?: -?\d+){6})\z/ or flunk(l); [$1, $2.split.map(&:to_i)] }
  end

  def assert_known(expected, rows)
    assert_equal 16, expected.size
    expected.each do |function, figures|
      mine = rows.select { |r| r.location.include?("(#{function}+0x") }
      assert_equal figures, %i[allocations frees total live live_bytes growth].map { |c| mine.sum(&c) }, function
    end
  end

  def test_every_form_of_a_program_with_threads
    app = start
    expected = act(app, "count 20000")
    rows = forms_agree # the threads are there, and wait
    # lifespans are bytes allocated meanwhile
    assert_operator rows.map(&:max_life).max, :<=, rows.sum(&:total)
    assert_known expected, rows
    act(app, "join")
    rows = forms_agree
    assert_known expected, rows
    rows.each { |r| assert_equal [r.allocations, r.live_bytes], [r.frees + r.live, r.growth], r.inspect }
    groups_agree rows
    pages_agree rows
    rows.each { |r| at_agrees(r) }
    assert_ends_well app
    dumps = app.dumps
    assert_equal 1, dumps.size
    assert_same_dump rows, dumps[0]
  end

  def test_every_form_after_a_reset
    app = start
    act(app, "count 20000")
    rows = forms_agree
    reset
    reset_agrees rows
    assert_equal 1, stats["resets"]
    forms_agree
    expected = act(app, "count 500")
    rows = forms_agree
    assert_known expected, rows
    assert(rows.any? { |r| r.growth.negative? }, "something was there before")
    groups_agree rows
    pages_agree rows
    rows.each { |r| at_agrees(r) }
    expected = act(app, "join")
    reading = forms_agree
    assert_known expected, reading
    assert app.finish.success?, app.stderr
    assert_same_dump reading, app.dumps[0]
  end

  # TSV's are compared above.
  def test_every_form_of_the_exit_dump
    { "csv" => Row.members, "json" => Row.members, "text" => %i[total allocations location] }.each do |format, columns|
      app = start(format)
      act(app, "count 200")
      act(app, "join")
      rows = tsv
      assert app.finish.success?, app.stderr
      dump = app.dumps(format)
      assert_equal 1, dump.size
      assert_same_dump rows, dump[0], "exit dump as #{format}", columns: columns
      assert_equal dump[0].map(&:total).sort.reverse, dump[0].map(&:total), "#{format}: largest first"
    end
  end
end

# A Ruby process whose threads wait. It is asked from outside, over the socket, and then
# inside, by lines on stdin.
class AgreeInRuby < Minitest::Test
  include Agreement

  # Everything that asks is in this file. With "quiet" it counts nowhere, and without it at
  # lines of this file only.
  ASK = <<~'RUBY'
    require "fiddle"
    module Ask
      LEAVE = Fiddle::Function.new(Fiddle.dlopen(nil)["exit"], [Fiddle::TYPE_INT], Fiddle::TYPE_VOID)
      def self.answer(command, argument)
        case command
        when "work" then $todo << argument.to_i; $done.pop
        when "each" then Mwrap.each.to_a
        when "dump" then File.open(argument, "wb") { |f| Mwrap.dump(f) }
        when "totals"
          [Mwrap.stats, Mwrap.total_bytes_allocated, Mwrap.total_bytes_freed, Mwrap.each.to_a, Mwrap.stats, GC.count]
        when "at" then Mwrap[argument]&.then { |l| [l.each.to_a, l.to_h] }
        when "leave" then LEAVE.call(0) # as exit(3) in C: the VM frees nothing on its way
        end
      end

      def self.serve(out)
        while (line = $stdin.gets)
          command, argument = line.chomp.split(" ", 2)
          argument = argument.undump if argument&.start_with?('"')
          File.binwrite(out, Marshal.dump(answer(command, argument)))
          $stdout.syswrite("ok\n")
        end
      end
    end
  RUBY

  APP = <<~'RUBY'
    require "mwrap"
    require_relative "ask"
    GC.disable
    ODD = "odd\t\\na \"me\", <i>&amp; \u00e9\u20ac.rb"
    $kept = {}
    def work(round)
      $kept[round] = Array.new(200) { |i| "x" * (1000 + i) }
      passing = Array.new(300) { |i| "y" * (2000 + i) }
      passing.each_slice(3) { |a| a[0].clear }
      grown = +""
      100.times { |i| grown << "z" * 1000 }
      $kept["grown#{round}"] = grown
      $kept["hash#{round}"] = (0..999).to_h { |i| [i, i.to_s * 100] }
      $kept["odd#{round}"] = eval('Array.new(50) { "o" * 5000 }', nil, ODD, 7)
      10.times { |i| eval("$kept[['e', round, i]] = 's' * 3000", binding, "/evals/#{i}.rb", i) }
      passing = nil
      GC.start
    end
    # Ruby's list of its heap's pages is made anew when it gets long
    Array.new(1_000_000) { Object.new }.clear
    GC.start
    $todo, $done = Queue.new, Queue.new
    threads = [Thread.new { while (n = $todo.pop); work(n); $done << true; end }]
    threads += Array.new(3) { Thread.new { "w" * 10_000; Queue.new.pop } }
    sleep 0.001 until threads.all? { |t| t.status == "sleep" }
    if ARGV[1] == "quiet"
      Mwrap.quiet { Ask.serve(ARGV[0]) }
    else
      Ask.serve(ARGV[0])
    end
  RUBY

  def start(*args)
    @out = path("out")
    @app = served_ruby(APP, args: [@out, *args], files: { "ask.rb" => ASK }, options: "objects:off") # they may change within a second
    2.times { |i| ask("work #{i}") }
    # Ruby's own tables grow when something is done for the first time, and what is freed
    # then is counted where it was made.
    2.times { ask("totals"); dump; [*tsv.map(&:location), "/nowhere.rb:1"].each { |l| ask("at #{l.b.dump}") } }
  end

  def ask(line)
    assert_equal "ok", @app.ask(line), @app.stderr
    Marshal.load(File.binread(@out))
  end

  def dump
    ask("dump #{path("text")}")
    rows = Served::Dump.text(File.binread(path("text"))).flatten
    rows.each { |r| r.location = Served::Dump.utf8(Served::Dump.unescape(r.location.b)) }
  end

  def as_rows(list)
    list.map do |location, total, allocations, frees, age_total, max|
      mean = frees.zero? ? nil : (age_total.to_f / frees).round(3)
      values = { total: total, allocations: allocations, frees: frees, mean_life: mean, max_life: max, location: location }
      Row.new(*values.values_at(*Row.members))
    end
  end

  EACH = %i[total allocations frees mean_life max_life].freeze

  def assert_inside_agrees(rows, only: nil)
    each = as_rows(ask("each"))
    assert_equal each.map(&:total).sort.reverse, each.map(&:total)
    assert_same_rows rows, each, "Mwrap.each", columns: EACH, only: only
    assert_same_rows rows, dump, "Mwrap.dump", columns: %i[total allocations], only: only
    mine = rows.select { |r| r.location.include?("/app.rb:") || r.location.include?("/evals/") || r.location.include?("odd") }
    assert_operator mine.size, :>=, 20
    mine.each { |r| assert_at_inside(r) }
    assert_nil ask("at #{"/nowhere.rb:2".dump}")
  end

  def assert_at_inside(row)
    outside = at_agrees(row)
    inside, h = ask("at #{row.location.b.dump}")
    assert_equal outside.sort, inside.sort, row.location
    %i[total allocations frees growth live_bytes live].each { |c| assert_equal row[c], h.fetch(c), "#{c} at #{row.location}" }
  end

  # Sums of what it sees itself; nothing moves while it looks.
  def assert_totals
    before, allocated, freed, each, after, = ask("totals")
    rows = as_rows(each)
    timeless = ->(s) { s.except(:uptime, :tracker_bytes) }
    assert_equal timeless[before], timeless[after]
    assert_equal [before[:total], before[:allocations], before[:frees]], %i[total allocations frees].map { |c| rows.sum(&c) }
    assert_equal [before[:total], before[:freed]], [allocated, freed]
    outside = stats
    assert_equal timeless[before].transform_keys(&:to_s), outside.slice(*timeless[before].keys.map(&:to_s))
    # the history takes memory as time goes on
    last, = ask("totals")
    assert_operator before[:tracker_bytes], :<=, after[:tracker_bytes]
    assert_includes after[:tracker_bytes]..last[:tracker_bytes], outside["tracker_bytes"]
  end

  def leave
    @app.tell("leave")
    assert @app.wait&.success?, @app.stderr
    assert_equal "", @app.stderr
    dumps = @app.dumps
    assert_equal 1, dumps.size
    dumps[0]
  end

  # Without any exception: asking counts nothing.
  def test_every_form_of_a_ruby_process
    start("quiet")
    rows = forms_agree
    rows.each { |r| assert_equal [r.allocations, r.live_bytes], [r.frees + r.live, r.growth], r.inspect }
    mine = rows.select { |r| r.location =~ %r{/app\.rb:\d+\z} }
    assert_operator mine.size, :>=, 10
    assert_equal 1, rows.count { |r| r.location =~ /\Aodd\t\\na "me", <i>&amp; \u00e9\u20ac\.rb:7\z/ }
    assert_equal 9, rows.count { |r| r.location =~ %r{\A/evals/([1-9])\.rb:\1\z} && r.live >= 2 }
    kept = rows.find { |r| r.location.end_with?("/app.rb:7") }
    assert_operator kept.live, :>=, 400
    groups_agree rows
    pages_agree rows
    assert_inside_agrees rows
    assert_totals
    assert_same_rows rows, tsv, "after all that"
    assert_same_dump rows, leave
  end

  def test_every_form_of_a_ruby_process_after_a_reset
    start("quiet")
    rows = forms_agree
    reset
    reset_agrees rows
    forms_agree
    assert_totals
    ask("work 0") # what the first round 0 kept goes
    rows = forms_agree
    kept = rows.find { |r| r.location.end_with?("/app.rb:7") }
    assert_operator kept.frees, :>, 150
    assert_operator kept.live, :>=, 400
    groups_agree rows
    pages_agree rows
    assert_inside_agrees rows
    assert_totals
    assert_same_dump rows, leave
  end

  # As an app asks. Exactly the lines of ask.rb are left out, where that allocates, and what compiles them.
  def test_every_form_of_a_ruby_process_that_asks_aloud
    start
    rows = forms_agree
    others = ->(r) { !r.location.include?("/ask.rb:") && !(JIT && r.location == "(ruby, JIT compiler)") }
    assert_operator rows.count { |r| !others.call(r) }, :>, 3
    assert_inside_agrees rows, only: others
    assert_same_dump rows, leave, only: others
  end
end
