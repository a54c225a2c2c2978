#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# A location's kinds of memory, in every form of the table: lines that allocate one kind show it.
# The kinds together are the table, to the byte. The meaning of single frames: t/unit/test_kinds.c.
require_relative "lib/served"
require_relative "lib/go_pprof"

class KindsTest < Minitest::Test
  include GoPprof

  # Each line of the first part keeps one kind of memory, some megabytes of it. Its comment names the kind.
  LINES = <<~'RUBY'
    KEPT = []
    module BigModule; end
    class Many; end
    def strings(n) = n.times { KEPT << ("x" * 20_000) } # string
    def appended(n) = n.times { KEPT << (+"" << "y" * 5_000 << "z" * 5_000) } # string
    def arrays(n) = n.times { KEPT << Array.new(2_500, 1) } # array
    def pushed(n) = n.times { a = []; 2_000.times { |i| a.push(i) }; KEPT << a } # array
    def hashes(n) = n.times { h = {}; 300.times { |i| h[i] = i }; KEPT << h } # hash
    def regexps(n) = n.times { KEPT << Regexp.new("(a|b|c+d)#{"(e|f)" * 60}") } # regexp
    def variables(n) = n.times { o = Many.new; 400.times { |i| o.instance_variable_set(:"@v#{i}", i) }; KEPT << o } # instance variables
    def numbers(n) = n.times { KEPT << (3**40_000) } # number
    def deflaters(n) = n.times { KEPT << Zlib::Deflate.new } # libz.so.1 or zlib.so
    def foreign(n) = n.times { KEPT << Fiddle.malloc(20_000) } # fiddle.so
    def leak_methods(n) = n.times { |i| BigModule.module_eval("def m#{$n = ($n || 0) + 1}; a = [1, 2, i, foo]; b = { x: a }; bar(b, :c); end") } # instruction sequence
    def mixed(n) = n.times { KEPT << ("s" * 9_000) << Array.new(9_000 / 8, 0) } # mixed
  RUBY
  LOOP = <<~'RUBY'
    require "zlib"
    require "fiddle"
    $stdout.sync = true
    # stacks have native frames from the first few dozen on
    400.times { [1].each { [2].each { "w" * 70_000 } } }
    GC.start
    puts "ready"
    while (line = $stdin.gets)
      method, n = line.split
      send(method, n.to_i)
      puts "done"
    end
  RUBY
  KIND = LINES.lines.each_with_index.filter_map { |l, i| [l[/def (\w+)/, 1], [i + 1, l[/# (.*)/, 1]]] if l[/\Adef /] }.to_h

  Row = Struct.new(:location, :live_bytes, :live, :total, :allocations, :frees, :growth, :kind, :share, :samples)

  def start(*options, orders: [])
    app = served_ruby(LINES + LOOP, options: options)
    assert_equal "ready", app.hear, app.stderr
    orders.each { |order| assert_equal "done", app.ask(order), app.stderr }
    at_rest(app)
    app
  end

  def row_of(h)
    kind, share = h["kind"] && h["kind"].match(/\A(.*) (\d+) %\z/)&.captures
    Row.new(*h.values_at("location", "live_bytes", "live", "total", "allocations", "frees", "growth"), kind, share&.to_i, h["kind_samples"])
  end

  def table(query = "", at: path, base: "") = JSON.parse(body("#{base}/each/0.json#{query}", at: at)).map { |h| row_of(h) }
  START = "(ruby, starting)" # Ruby 3.2 itself allocates 32 MB then

  def most_grown = table("?sort=growth&limit=2").find { |r| r.location != START }
  def at_line(rows, name) = rows.find { |r| r.location == "#{path("app.rb")}:#{KIND.fetch(name)[0]}" }

  # --- each line ---------------------------------------------------------------------------

  ORDERS = { "strings" => 200, "appended" => 300, "arrays" => 200, "pushed" => 200, "hashes" => 300, "regexps" => 150, "variables" => 600,
             "numbers" => 300, "deflaters" => 20, "foreign" => 200, "leak_methods" => 1_500 }.freeze

  def test_lines_of_one_kind
    start("stacks:4k", orders: ORDERS.map { |name, n| "#{name} #{n}" })
    rows = table
    ORDERS.each_key do |name|
      row = at_line(rows, name) or flunk "no row of #{name}"
      # zlib.so has a function of its own for libz's memory. It has a frame unless the compiler saved it. A gem's extension
      # has the gem's name before its own
      assert_includes KIND.fetch(name)[1].split(" or "), row.kind.sub(%r{\A[a-z]+-[\d.]+/}, ""), "#{name}: #{row}"
      assert_operator row.share, :>, 50, "#{name}: #{row}"
      assert_operator row.samples, :>, 10, "#{name}: #{row}"
    end
  end

  # An app that defines methods for ever: one look tells which line holds what.
  def test_methods_that_are_defined_for_ever
    start("stacks:16k", orders: ["leak_methods 6000"])
    most = most_grown
    assert_equal ["#{path("app.rb")}:#{KIND.fetch("leak_methods")[0]}", "instruction sequence"], [most.location, most.kind]
    assert_operator most.share, :>, 50
    assert_operator most.samples, :>, 50
    kinds = table("?group=kind&sort=growth").map(&:location) - ["(no stack)"]
    assert_equal "instruction sequence", kinds[0]
  end

  HAS_YJIT = system(RUBY, "--yjit", "-e", "exit RubyVM::YJIT.enabled?", out: File::NULL, err: File::NULL) && RUBY_VERSION >= "3.3"

  # Code that is evaluated anew is compiled anew. What that took is a row of its own if Ruby's file has symbols.
  def test_memory_of_yjit
    skip "this Ruby has no YJIT of 3.3 or later" unless HAS_YJIT
    app = served_ruby(<<~'RUBY', "--yjit", "--yjit-call-threshold=5", options: ["stacks:16k"])
      $stdout.sync = true
      # where native frames begin is learned from code that is run once, and so isn't compiled
      eval("'w' * 70_000\n" * 400)
      1_000.times { |i| eval("def self.m(a, b) = a > b ? [a, b].max : a + b; 9.times { |j| m(j, 4) }") }
      puts "ready"
      gets
    RUBY
    assert_equal "ready", app.hear
    at_rest(app)
    most = table("?sort=total&limit=1").fetch(0)
    where = JSON.parse(body("/stats.json"))["ruby_jit"] == "apart" ? "(ruby, JIT compiler)" : "(eval at #{path("app.rb")}:4):1"
    assert_equal [where, "JIT compiler"], [most.location, most.kind]
    assert_operator most.share, :>, 80
    assert_operator most.samples, :>, 20
    kinds = table("?group=kind").to_h { |k| [k.location, k.live_bytes] }
    assert_operator kinds.fetch("other", 0), :<, kinds.fetch("JIT compiler") / 5
  end

  FOREVER = <<~'RUBY'
    $stdout.sync = true
    module BigModule; end
    def leak_methods
      10_000.times { |i| BigModule.module_eval("def m#{i}; a = [1, 2, i, foo]; b = { x: a }; bar(b, :c); end") } # the line
    end
    def from_there = leak_methods
    from_there
    puts "ready"
    gets
  RUBY
  LINE = FOREVER.lines.index { |l| l.include?("# the line") } + 1
  CALLERS = ["<main>", "from_there", "leak_methods", "times", "block in leak_methods", "module_eval"].freeze
  IN_C = %w[times module_eval].freeze

  # The same by a program that asked for nothing: its line, what that holds, and who called it.
  def test_methods_that_are_defined_for_ever_by_default
    app = served_ruby(FOREVER)
    assert_equal "ready", app.hear
    at_rest(app)
    most = most_grown
    assert_equal ["#{path("app.rb")}:#{LINE}", "instruction sequence"], [most.location, most.kind], stats.inspect
    # from the program on, the heaviest call
    tree = JSON.parse(body("/flame.json"))
    calls = heaviest(tree).first(CALLERS.size)
    assert_equal CALLERS, calls.map { |name| bare(name) }, stats.inspect
    # each byte of the line was called so; in a collection a method in C has no name
    sums = under(tree, calls.zip(CALLERS).map { |name, bare| IN_C.include?(bare) ? [name, "(C function)"] : [name] })
    CALLERS.zip(sums) { |name, bytes| assert_operator bytes, :>=, least(most, name), name }
    assert_operator most.live_bytes, :>, (tree["total"] - under(tree, [[START]])[0]) / 2
    with_file(body("/debug/pprof/heap")) do |file|
      sums = top("-cum", file).to_h { |_, cum, name| [bare(name), cum] }
      unnamed = sums.fetch("(C function)", 0)
      CALLERS.each { |name| assert_operator sums.fetch(name) + (IN_C.include?(name) ? unnamed : 0), :>=, least(most, name), name }
    end
  end

  # The line itself makes the texts that module_eval is given, and a collection may begin there.
  def least(row, name) = name == "module_eval" ? row.live_bytes * 0.7 : row.live_bytes

  def name_of(tree, node) = tree["names"][tree["frames"][tree["frame"][node]][0]]

  def below(tree, node)
    depth = tree["depth"]
    (node + 1...depth.size).take_while { |i| depth[i] > depth[node] }.select { |i| depth[i] == depth[node] + 1 }
  end

  # Bytes of each step of a path from the root: a step is the frames with one of these names.
  def under(tree, path)
    at = [0]
    path.map do |names|
      at = at.flat_map { |node| below(tree, node) }.select { |node| names.include?(name_of(tree, node)) }
      at.sum { |node| tree["value"][node] }
    end
  end

  # Names of the frames from the root on, each the one with the most of its caller's bytes.
  def heaviest(tree)
    at, names = 0, []
    names << name_of(tree, at) while (at = below(tree, at).reject { |node| name_of(tree, node) == START }.max_by { |node| tree["value"][node] })
    names
  end

  # --- sums --------------------------------------------------------------------------------

  SUMMED = %i[live_bytes live total allocations frees growth].freeze
  def sums(rows) = SUMMED.to_h { |c| [c, rows.sum(&c)] }

  def test_kinds_are_the_table
    start("stacks:16k", orders: ["mixed 200", "strings 50", "leak_methods 300", "hashes 50"])
    lines, kinds = table, table("?group=kind")
    assert_equal sums(lines), sums(kinds)
    assert_equal kinds.map(&:location).uniq, kinds.map(&:location)
    assert_operator kinds.sum(&:samples), :>=, lines.select { |r| r.live_bytes > 0 }.sum(&:samples)
    kinds.each do |k|
      parts = table("?kind=#{escape(k.location)}")
      assert_equal sums([k]), sums(parts), k.location
      assert_equal [k], table("?kind=#{escape(k.location.upcase)}&group=kind")
      refute_empty parts
    end
    assert_equal sums(lines), sums(table("?group=file"))
    assert_empty table("?kind=no+such+kind")
  end

  # Half of the line is of one kind, half of another: each is listed with its part.
  def test_a_line_of_two_kinds
    start("stacks:4k", orders: ["mixed 300"])
    row = at_line(table, "mixed")
    parts = %w[string array].to_h { |kind| [kind, at_line(table("?kind=#{kind}"), "mixed")] }
    parts.each_value { |p| assert_in_delta row.live_bytes / 2, p.live_bytes, row.live_bytes / 4 }
    assert_includes %w[string array], row.kind
    assert_operator row.share, :<, 75
    assert_equal [["string", 100]], [parts["string"]].map { |p| [p.kind, p.share] }
    file = table("?group=file").find { |r| r.location == path("app.rb") }
    assert_includes %w[string array], file.kind
  end

  # --- forms -------------------------------------------------------------------------------

  def test_forms
    start("stacks:16k", orders: ["strings 100", "arrays 100"])
    tsv = body("/each/0.tsv?sort=kind").force_encoding("UTF-8").lines(chomp: true).map { |l| l.split("\t", -1) }
    csv = MwrapTest::Dump.csv_records(body("/each/0.csv?sort=kind"))
    json = JSON.parse(body("/each/0.json?sort=kind"))
    assert_equal MwrapTest::COLUMNS + %w[kind kind_samples], tsv[0]
    assert_equal [tsv[0], tsv.map { |f| f.last(2) }], [csv[0], csv.map { |f| f.last(2) }]
    assert_equal tsv.drop(1).map { |f| f.last(2) }, json.map { |h| [h["kind"].to_s, h["kind_samples"].to_s] }
    kinds = tsv.drop(1).map { |f| f[-2] }
    known = kinds.reject(&:empty?)
    assert_equal known + [""] * (kinds.size - known.size), kinds, "what isn't known is last"
    assert_equal known.map { |k| k[/\A.*(?= \d)/] }.sort, known.map { |k| k[/\A.*(?= \d)/] }
    assert_includes known.map { |k| k[/\A.*(?= \d)/] }, "string"
    assert_equal 400, get("/each/0.json?group=class").status
  end

  def test_the_page
    start("stacks:16k", orders: ["strings 100", "arrays 100"])
    page = body("/each/0").force_encoding("UTF-8")
    assert_match(%r{<td class="kind r1">string \d+ %</td>}, page)
    ["<option>kind</option>", '<label>Kind <input name="kind" value=""></label>', ">Kind</a></th>", ">Samples</a></th>"].each { |s| assert_includes page, s }
    assert_match(%r{<tfoot>.*<td class="kind r1">[a-z ]+ \d+ %</td>}m, page)
    kinds = body("/each/0?group=kind").force_encoding("UTF-8")
    link = kinds[%r{<a href="([^"]*)"><[^<]*>?string<}, 1] || kinds[%r{href="([^"]*kind=string[^"]*)"}, 1]
    assert_equal "/each/0?kind=string", link
    of_kind = body(link).force_encoding("UTF-8")
    assert_includes of_kind, "their part of the kind \u201cstring\u201d"
    assert_includes of_kind, '<input name="kind" value="string">'
    assert_includes of_kind, "app.rb:#{KIND.fetch("strings")[0]}".sub(/\A.*:/, ":")
    assert_includes body("/each/0?kind=nothing"), "No location has memory of that kind."
    assert_includes body("/"), 'class="kind r1"'
  end

  # The live page's: shares of each row, by its id there.
  def test_for_the_live_page
    start("stacks:16k", orders: ["strings 100", "mixed 100"])
    answer = JSON.parse(body("/kinds.json"))
    assert_equal 16_384, answer["rate"]
    assert_match(/\A\d+-\d+\z/, answer["start"])
    rows = table
    want = rows.select(&:kind).map(&:live_bytes).sort
    assert_equal(want, answer["rows"].map { |_, _, *parts| parts.each_slice(3).sum { |_, live, _| live } }.sort)
    string = answer["kinds"].index("string")
    line = at_line(rows, "strings")
    mine = answer["rows"].find { |_, _, *parts| parts.each_slice(3).sum { |_, live, _| live } == line.live_bytes }
    assert_equal line.samples, mine[1]
    assert_operator mine.drop(2).each_slice(3).find { |k, _, _| k == string }[1], :>, line.live_bytes / 2
    assert_equal 405, post("/kinds.json").status
  end

  # --- without stacks ----------------------------------------------------------------------

  def test_without_the_option
    start("stacks:off", orders: ["strings 100"])
    assert_equal MwrapTest::COLUMNS, body("/each/0.tsv").lines[0].chomp.split("\t")
    page = body("/each/0")
    ["Kind", "kind", "Samples"].each { |s| refute_includes page, ">#{s}<" }
    refute_includes page, 'class="kind"'
    assert_equal ["(no stack)"], table("?group=kind").map(&:location)
    assert_empty table("?kind=string")
    answer = JSON.parse(body("/kinds.json"))
    assert_equal [0, []], answer.values_at("rate", "rows")
  end
end
