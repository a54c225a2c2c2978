#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Mwrap::Objects: its numbers are those of ObjectSpace.dump_all, which writes a line for every
# object and is asked before and after, without a collection in between; and its answers are
# the same rows in every form, whatever a class or a file is called.
require_relative "lib/in_ruby"
require_relative "lib/served"

class ObjectsTest < Minitest::Test
  include InRuby

  SIZE = GC::INTERNAL_CONSTANTS[:HEAP_PAGE_SIZE] || GC::INTERNAL_CONSTANTS.fetch(:HEAP_PAGE_OBJ_LIMIT) * 40

  # dump_all's figures: used slots by page, and sequences by file.
  ORACLE = <<~'RUBY'
    require "mwrap/objects"
    require "json"
    require "objspace"
    require "tempfile"
    GC.start # 4.1 has a sequence without code for each of its own that it loaded
    GC.disable
    PAGE = GC::INTERNAL_CONSTANTS[:HEAP_PAGE_SIZE]
    def dumped
      Tempfile.create("mwrap-t") do |f|
        ObjectSpace.dump_all(output: f)
        f.flush
        File.foreach(f.path).map { |l| JSON.parse(l) }.select { |o| o["address"] && o["type"] != "SHAPE" }
      end
    end
    def used_slots = dumped.map { |o| o["address"].hex / PAGE * PAGE }.tally
    def files
      all = dumped.to_h { |o| [o["address"], o] }
      of = lambda do |o|
        texts = ->(a) { (o = all[a]) && (o["type"] == "STRING" ? o["value"] : o["type"] == "ARRAY" && o["frozen"] ? texts[o["references"].to_a.last] : nil) }
        triples = (o["references"] || []).each_cons(3).to_a
        triples.each do |label, base, path|
          label, base = [label, base].map { |a| all[a]&.fetch("type", nil) == "STRING" && all[a]["value"] }
          file = texts[path] if label && base && base != "" && label.end_with?(base)
          return file if file && file.match?(%r{\A[/(<]|\A-e\z})
        end
        "(not known)"
      end
      all.values.select { |o| o["imemo_type"] == "iseq" }.map(&of).tally
    end
  RUBY

  def self.each_way(name, &test)
    define_method("test_#{name}_without_the_tracker") { instance_exec(nil, &test) }
    define_method("test_#{name}_with_it") { instance_exec(TRACKER, &test) }
  end

  each_way(:pages) do |preload|
    before, now, after, stat, seen, facts = value_of(<<~RUBY, preload: preload)
      #{ORACLE.gsub(/^(    )?PAGE = .*/) { "Object.const_set(:PAGE, GC::INTERNAL_CONSTANTS[:HEAP_PAGE_SIZE])" }}
      $kept = Array.new(100_000) { |i| i % 3 == 0 ? Object.new : "s" * (i % 700) }
      GC.enable; $kept.select!.with_index { |_, i| i % 20 == 0 }; 4.times { GC.start }; GC.disable
      before = used_slots
      seen = Mwrap::HeapPageBody.each.to_a
      stat = [GC.stat]
      result = Mwrap::Objects.pages
      stat << GC.stat
      [before, result.rows, used_slots, stat, seen, result.facts]
    RUBY
    rows = now.to_h { |r| [r[:address], r] }
    assert_operator rows.size, :>, 5
    used = rows.transform_values { |r| r[:used] }
    before.each { |page, n| assert_operator used.fetch(page), :>=, n }
    used.each { |page, n| assert_operator n, :<=, after.fetch(page, 0), page.to_s(16) unless n.zero? }
    first, last = stat
    # Ruby's number of empty pages isn't ours to know
    total, least = now.sum { |r| r[:total] || 0 }, now.filter_map { |r| r[:slot_size] }.min
    empty = now.count { |r| r[:used].zero? } + last[:heap_allocated_pages] - now.count { |r| r[:total] }
    assert_operator total, :<=, last[:heap_available_slots]
    assert_operator total, :>=, first[:heap_available_slots] - empty * SIZE / least
    now.each do |r|
      assert_equal r[:total] ? (100.0 * r[:used] / r[:total]).round(1) : 0.0, r[:percent]
      assert_operator r[:used], :<=, r[:total] || 0
    end
    assert_equal now.map { |r| r[:percent] }.sort, now.map { |r| r[:percent] }, "emptiest first"
    assert_equal now.count { |r| r[:percent] < 50 }, facts[:below_half]
    assert_equal [now.size, now.sum { |r| r[:used] }], facts.values_at(:pages, :used)
    births = seen.to_h
    assert_equal births.any?, !preload.nil?
    next unless preload
    assert_empty births.keys - rows.keys
    assert_operator rows.size, :<=, last[:heap_allocated_pages]
    births.each { |page, generation| assert_equal generation, rows[page][:generation] }
  end

  each_way(:iseqs) do |preload|
    before, rows, after, counts, facts = value_of(<<~RUBY, preload: preload)
      #{ORACLE.gsub(/^(    )?PAGE = .*/, "")}
      1.upto(50) { |i| eval("def made\#{i}(a) = a.each { |x| x.then { _1 } }", TOPLEVEL_BINDING, "/srv/<b>&\\"'.rb") }
      Mwrap::Objects.iseqs # now all of its own code is there
      n = -> { ObjectSpace.count_imemo_objects[:imemo_iseq] }
      before, first = files, n.call
      result = Mwrap::Objects.iseqs
      last = n.call
      [before, result.rows, files, [first, result.facts[:iseqs], last], result.facts]
    RUBY
    assert_operator counts[0], :>, 200
    assert_equal counts.sort, counts
    assert_operator counts[2] - counts[0], :<, 20
    got = rows.to_h { |r| [r[:file], r[:count]] }
    assert_operator got.fetch("/srv/<b>&\"'.rb"), :>=, 150
    assert_operator got.fetch("(not known)", 0), :<, counts[1] / 10
    # dump_all doesn't say which of a sequence's references is its path: the oracle takes some operands for it
    steady = before.select { |file, n| after[file] == n }
    assert_operator steady.size, :>=, 20
    differ = steady.reject { |file, n| (got.fetch(file, 0) - n).abs <= 2 + n / 20 }
    assert_operator differ.size, :<=, steady.size / 20, differ.map { |f, n| [f, n, got[f]] }.inspect
    same = steady.count { |file, n| got[file] == n }
    assert_operator same, :>=, steady.size * 0.8
    assert_equal [rows.sum { |r| r[:count] }, rows.sum { |r| r[:memsize] }], facts.values_at(:iseqs, :memsize)
    assert_equal rows.sort_by { |r| [-r[:memsize], r[:file]] }, rows
    assert(rows.all? { |r| r[:memsize] >= r[:count] * 40 })
  end

  # Sequences of a failed compilation, of other threads, and after a compaction.
  def test_sequences_that_are_not_whole
    # threads that never rest let it wait for Ruby's lock most of the time; they pass it on after some
    # milliseconds, since Ruby itself would take it from each after 100
    got = value_of(<<~'RUBY', preload: TRACKER, timeout: 600)
      require "mwrap/objects"
      bad = ["break", "redo", "next", "def x; yield = 1; end", "class << self; return", "1 +", "BEGIN { retry }", "def a(b, b); end", "->(_a, _a) { break }",
             "case 1; in [a, a]; end", "def f = super(&1, ...)", "while true; def z; redo; end; end", "proc { |;| retry }", "%w[a b].each { break 1 }; next"]
      stop = false
      others = Array.new(3) { |n| Thread.new { i = 0; until stop; eval("def t#{n}_#{i += 1 } = [1].map { _1 }"); Object.send(:remove_method, "t#{n}_#{i}"); Thread.pass if i % 100 == 0; end } }
      fine = 0
      40.times do |round|
        bad.each { |code| begin; eval(code); rescue ScriptError, StandardError, LocalJumpError; end }
        bad.each { |code| begin; RubyVM::InstructionSequence.compile(code); rescue ScriptError, StandardError; end }
        GC.start if round % 10 == 0
        GC.compact if round % 20 == 5 && GC.respond_to?(:compact)
        r = Mwrap::Objects.iseqs
        fine += 1 if r.rows.all? { |row| row[:file].valid_encoding? && row[:count] > 0 && row[:memsize] > 0 } && r.facts[:iseqs] > 200
        Mwrap::Objects.pages
      end
      stop = true
      others.each(&:join)
      fine
    RUBY
    assert_equal 40, got
  end

  CLASSES = <<~'RUBY'
    require "mwrap/objects"
    require "objspace"
    class Liar; def class = String; def self.name = raise; def self.to_s = raise; def self.hash = raise; def self.==(_) = raise; def self.ancestors = super; end
    class Plain < Liar; end
    class Bare < BasicObject; end
    module Deep; class Été; end; end
    $kept = [Array.new(1234) { Liar.new }, Array.new(77) { Plain.new }, Array.new(55) { Bare.new }, Array.new(44) { Deep::Été.new },
             Array.new(5) { Class.new(Plain).new }, Array.new(6) { Class.new.new }, Plain.new.tap { |o| def o.own = 1 }]
    if Class.method_defined?(:set_temporary_name)
      $odd = Class.new.set_temporary_name("<script>alert(1)</script>\"'&\t\n.tsv")
      $kept << Array.new(9) { $odd.new }
    end
  RUBY

  each_way(:classes) do |preload|
    rows, facts, objects, all = value_of(<<~RUBY, preload: preload)
      #{CLASSES.gsub(/^(class|module) /) { "Object.class_eval <<~'X'\n  #{$&}" }.gsub(/; end(; end)?$/) { "#{$&}\nX" }}
      r = Mwrap::Objects.classes
      [r.rows, r.facts, ObjectSpace.count_objects, ObjectSpace.memsize_of_all]
    RUBY
    got = rows.to_h { |r| [r[:class], r[:count]] }
    assert_equal [1234, 78, 55, 44], got.values_at("Liar", "Plain", "Bare", "Deep::Été")
    assert_equal [5, 6], got.values_at("(anonymous < Plain)", "(anonymous < Object)")
    assert_equal rows.size, got.size, "each name is there once"
    assert_equal rows.sort_by { |r| [-r[:memsize], r[:class]] }, rows
    assert_operator got["String"], :>, 1000
    assert_operator got["(internal)"], :>, 1000
    assert_in_delta objects[:TOTAL] - objects[:FREE], facts[:objects], 5000
    assert_equal rows.sum { |r| r[:memsize] }, facts[:memsize]
    # memsize_of_all leaves out Ruby's own objects; the thread that looked has a stack of 1 MB
    assert_in_delta all, facts[:memsize] - rows.find { |r| r[:class] == "(internal)" }[:memsize], 2_000_000
    assert_equal 1234 * SLOT, rows.find { |r| r[:class] == "Liar" }[:memsize]
  end

  ALLOCATING = <<~'RUBY'
    require "mwrap/objects"
    require "objspace"
    Object.class_eval "class Traced; end; class Under < Traced; end"
    $kept = [Array.new(3) { Traced.new }]
    ObjectSpace.trace_object_allocations_start
    eval("$kept << Array.new(100) { Traced.new }\n$kept << Array.new(20) { Traced.new }\n$kept << Array.new(7) { Under.new }", nil, "/srv/x.rb", 5)
    eval("$kept << Traced.new", nil, "/srv/\xff.rb", 9)
  RUBY

  each_way(:allocations) do |preload|
    got, facts, none, untraced = value_of(<<~RUBY, preload: preload)
      #{ALLOCATING}
      r = Mwrap::Objects.allocations("Traced")
      [r.rows, r.facts, Mwrap::Objects.allocations("Traced::No"), Mwrap::Objects.allocations("Under").rows]
    RUBY
    want = { "/srv/x.rb:5" => 100, "/srv/x.rb:6" => 20, "(not traced)" => 3, "/srv/\ufffd.rb:9" => 1 }
    assert_equal want, got.to_h { |r| [r[:location], r[:count]] }
    assert_equal({ objects: 124, memsize: 124 * SLOT, traced: 121 }, facts)
    assert_nil none
    assert_equal [["/srv/x.rb:7", 7]], untraced.map { |r| r.values_at(:location, :count) }
  end

  def test_the_cost_is_said
    views = value_of("require 'mwrap/objects'; Mwrap::Objects::VIEWS.map { |n, v| [n, v.cost] }")
    assert_equal %w[pages counts classes iseqs stacks find class holders], views.map(&:first)
    views.each { |name, cost| assert_match(/\A[A-Z].* \d+.* ms .*million objects.*\.\z/, cost, name) }
    assert_operator value_of("require 'mwrap/objects'; Mwrap::Objects.classes.seconds"), :>, 0
  end

  # Nobody else's allocations are missing, and none of its own is there.
  def test_it_is_not_tracked
    rows = value_of(<<~'RUBY', preload: TRACKER)
      require "mwrap/objects"
      Mwrap.quiet { Mwrap::Objects.answer("/objects/classes.json", "", "") } # loads what it needs
      io = Object.new.tap { |o| def o.write(s) = s.bytesize }
      GC.start
      GC.disable # it would empty Ruby's method caches: a call fills them before it is quiet
      Mwrap.reset
      3.times do
        %w[pages counts classes iseqs stacks find/Thread class/String].each { |v| Mwrap::Objects.answer("/objects/#{v}", "", "") }
        Mwrap::Objects.mark
        Mwrap::Objects.find("Proc", depth: 3)
      end
      Mwrap::Objects.dump(io)
      Mwrap.each.map { |l, total,| [l, total] }.reject { |_, total| total == 0 }
    RUBY
    # but for what Ruby allocates at the start of each of the 31 threads
    ours = rows.select { |l, _| l.include?("lib/mwrap/objects") || l.include?("/json/") }
    assert_operator ours.sum { |_, total| total }, :<, 40_000, ours.inspect
    refute(rows.any? { |l, _| l.include?("answer.rb") }, rows.inspect)
  end

  # A walk's results are freed with it, also if its memory is given back in another way than by the tracker.
  def test_nothing_is_kept
    first, last = value_of(<<~'RUBY')
      require "mwrap/objects"
      rss = -> { File.read("/proc/self/smaps_rollup")[/^Anonymous: +(\d+)/, 1].to_i }
      ask = -> { Mwrap::Objects.iseqs; Mwrap::Objects.pages; Mwrap::Objects.counts; Mwrap::Objects.find("Thread"); GC.start }
      10.times { ask.call }
      first = rss.call
      200.times { ask.call }
      [first, rss.call]
    RUBY
    assert_operator last - first, :<, 3_000
  end

  def test_one_at_a_time_and_left_in_any_way
    got = value_of(<<~'RUBY')
      require "mwrap/objects"
      $kept = Array.new(300_000) { Object.new }
      answers = Array.new(8) { Thread.new { Mwrap::Objects.answer("/objects/classes.json", nil, "") } }.map(&:value)
      walking = Thread.new { loop { Mwrap::Objects.classes } }
      sleep 0.05
      walking.kill.join
      fiber = Fiber.new { Mwrap::Objects.pages.facts[:pages] }.resume
      [answers.map(&:first).tally, answers.map { |a| a[0] == 503 ? [a[1]["retry-after"], a[2][0]] : nil }.compact.uniq,
       fiber, Process.wait2(fork { exit!(Mwrap::Objects.iseqs.rows.any?) })[1].exitstatus, Mwrap::Objects.pages.rows.size]
    RUBY
    assert_operator got[0][200], :>=, 1
    assert_equal 8, got[0].values_at(200, 503).compact.sum
    assert_includes [[], [["1", "another such walk is under way\n"]]], got[1]
    assert_operator got[2], :>, 10
    assert_equal 0, got[3]
    assert_operator got[4], :>, 10
  end
end

class ObjectsAnswerTest < Minitest::Test
  include InRuby

  # [status, headers, body] of each of [path, query].
  def answers(*asked, base: "/m", setup: "", **rest)
    value_of("require 'mwrap/objects'\n#{setup}\n#{asked.inspect}.map { |path, query| Mwrap::Objects.answer(path, query, #{base.inspect})&.then { |s, h, b| [s, h, b.join] } }", **rest)
  end

  include Served

  SETUP = <<~'RUBY'
    GC.disable
    Object.class_eval "class Planted; end"
    $planted = Array.new(77) { Planted.new }
    $kept = Array.new(3) { |i| Class.new(i == 0 ? StandardError : i == 1 ? Hash : Array).new }
    eval("def odd = 1", TOPLEVEL_BINDING, "/srv/<script>\"'&\t\\.rb")
  RUBY

  def test_paths
    got = answers("/objects", "/objects.json", "/objects/", "/objects/x", "/objects/classes.xml", "/objects/class/", "/objects/class/No::Such",
                  "/objectsx", "/", "/each/0", "/objects/class/%zz", "/objects/class/a%00b", "/objects/class/%ff")
    assert_equal [200, 200, 404, 404, 404, 404, 404, nil, nil, nil, 400, 400, 404], got.map { |a| a&.first }
    got.compact.each do |status, headers, body|
      assert_equal headers.keys.map(&:downcase), headers.keys
      assert_equal %w[no-store nosniff same-origin], headers.values_at("cache-control", "x-content-type-options", "referrer-policy")
      next if status == 200
      assert_equal "text/plain; charset=utf-8", headers["content-type"]
      assert_match(/\A[^\n]+\n\z/, body)
    end
    assert_equal "text/html; charset=utf-8", got[0][1]["content-type"]
    assert_match(/\Adefault-src 'none'; style-src 'self';/, got[0][1]["content-security-policy"])
    assert_equal %w[/objects/pages /objects/counts /objects/classes /objects/iseqs /objects/stacks /objects/find/NAME /objects/class/NAME /objects/holders], JSON.parse(got[1][2])["views"].map { |v| v["path"] }
    %w[/m/objects/pages /m/objects/classes /m/objects/iseqs /m/each/2000].each { |l| assert_includes got[0][2], "href=\"#{l}\"" }
    refute got[0][2].match?(/\{\{|<script|style=/)
  end

  def test_hostile_queries
    queries = ["limit=x", "limit=-1", "offset=1e3", "limit=#{10**30}", "sort=nothing", "order=up", "format=xml", "a=%zz", "a=%00", "format=%0a"]
    answers(*queries.map { |q| ["/objects/pages", q] }).each { |status, _, body| assert_equal [400, true], [status, body.match?(/\A[^\n]+\n\z/)] }
    fine = ["limit=", "limit=0", "limit=3&offset=2&sort=used&order=asc", "offset=999999999", "sort=generation", "=&&x", "limit=5&limit=1", nil]
    got = answers(*fine.map { |q| ["/objects/pages.json", q] }, preload: TRACKER)
    assert_equal [200], got.map(&:first).uniq
    rows = got.map { |_, _, body| JSON.parse(body)["rows"] }
    assert_operator rows[1].size, :>, 5
    assert_equal [3, 0, 1], [rows[2], rows[3], rows[6]].map(&:size)
    assert_equal rows[2].map { |r| r["used"] }.sort, rows[2].map { |r| r["used"] }
    assert_equal rows[4].map { |r| r["generation"] }.sort.reverse, rows[4].map { |r| r["generation"] }
  end

  # Of the same moment they can't be; of what doesn't change they are.
  def test_forms_agree
    %w[iseqs classes].each do |view|
      html, tsv, csv, json, odd = answers(["/objects/#{view}", "limit=0"], "/objects/#{view}.tsv", ["/objects/#{view}", "format=csv"],
                                          "/objects/#{view}.json", "/objects/iseqs", setup: SETUP)
      assert_equal ["text/html; charset=utf-8", "text/tab-separated-values; charset=utf-8", "text/csv; charset=utf-8; header=present",
                    "application/json; charset=utf-8"], [html, tsv, csv, json].map { |a| a[1]["content-type"] }
      json = JSON.parse(json[2])
      name = view == "iseqs" ? "file" : "class"
      assert_equal [name, "count", "growth", "memsize"], json["rows"][0].keys
      assert_equal json["rows"].sum { |r| r["memsize"] }, json["memsize"]
      assert json["seconds"].positive? && json["cost"].size > 50
      tsv = tsv[2].lines(chomp: true).map { |l| l.split("\t").then { |n, *v| [Dump.unescape(n), *v.map(&:to_i)] } }.drop(1)
      csv = Dump.csv_records(csv[2]).drop(1).map { |n, *v| [n.force_encoding("UTF-8"), *v.map(&:to_i)] }
      page = cells(html[2][%r{<tbody>(.*?)</tbody>}m, 1]).map { |n, *v| [n, *v.map { |c| c.delete(",").to_i }] }
      # nobody makes more of these meanwhile
      steady = ->(rows) { rows.reject { |n, *_| n.match?(%r{mwrap/|\AMwrap::Objects|\AObject\z|\A\(|String|Hash|Array|Proc|Thread|Fiber|Match|Enumer|JSON|File|IO|Class|Module|Regexp|json|Struct|Binding|Method|Error|Random|objspace}) }.map { |n, count,| [n, count] }.sort }
      want = steady[json["rows"].map { |r| [r[name], r["count"]] }]
      assert_operator want.size, :>=, 8
      assert_includes want, ["Planted", 77] if view == "classes"
      [tsv, csv, page].each { |rows| assert_equal want, steady[rows] }
      assert_equal page.map(&:last).sort.reverse, page.map(&:last)
      next unless view == "iseqs"
      refute odd[2].include?("<script")
      assert_includes odd[2], "/srv/&lt;script&gt;&quot;&#39;&amp;\t\\.rb</a>"
      assert_includes odd[2], 'href="/m/each/0?q=%2Fsrv%2F%3Cscript%3E%22%27%26%09%5C.rb"'
    end
  end

  def test_a_class
    setup = "#{ObjectsTest::ALLOCATING}\n$odd = Traced.clone.set_temporary_name('<b>&\"\\'.tsv') if Class.method_defined?(:set_temporary_name)\n$kept << $odd&.new"
    html, json, sub, odd = answers("/objects/class/Traced", "/objects/class/Traced.json", "/objects/class/Process%3A%3AStatus", "/objects/class/%3Cb%3E%26%22%27.tsv", setup: setup)
    assert_equal [200, 200, 200], [html, json, sub].map(&:first)
    rows = JSON.parse(json[2])["rows"].map { |r| r.values_at("location", "count") }
    assert_equal ["/srv/x.rb:5", 100], rows[0]
    assert_equal ["Traced", 121], JSON.parse(json[2]).values_at("class", "traced")
    assert_equal rows, cells(html[2][%r{<tbody>(.*?)</tbody>}m, 1]).map { |n, count,| [n, count.to_i] }
    assert_includes html[2], '<a href="/m/at/%2Fsrv%2Fx.rb%3A5">/srv/x.rb:5</a>'
    assert_includes html[2], '<a href="/m/objects/class/Traced.tsv">'
    return unless Class.method_defined?(:set_temporary_name)
    assert_equal ["text/html; charset=utf-8", true], [odd[1]["content-type"], odd[2].include?("&lt;b&gt;&amp;&quot;&#39;.tsv</h1>")]
  end

  def test_pages_say_what_the_tracker_knows
    html, json = answers("/objects/pages", "/objects/pages.json", preload: TRACKER)
    rows = JSON.parse(json[2])["rows"]
    assert(rows.all? { |r| r["generation"].is_a?(Integer) && r["age"].is_a?(Integer) && r["address"].match?(/\A0x\h+\z/) })
    assert_includes html[2], "<td class=\"num address\">0x"
    html, = answers("/objects/pages", base: "")
    assert_includes html[2], "<td class=\"num\">–</td>"
    assert_includes html[2], 'href="/objects/pages?sort=used&amp;order=desc"'
  end

  def test_html_is_valid
    got = answers("/objects", "/objects/pages", ["/objects/classes", "sort=class&limit=3&offset=3"], "/objects/iseqs", "/objects/class/String", "/objects/counts",
                  "/objects/stacks", ["/objects/find/Planted", "depth=4"], "/objects/find/Nothing%3C%3E", setup: "#{SETUP}; Object.class_eval('class Nothing; end')", base: "/a%20b")
    assert_equal 404, got.pop[0]
    got.each do |status, _, body|
      assert_equal 200, status
      run = run_command("tidy", "-q", "-e", "--show-warnings", "yes", "-utf8", stdin: body)
      assert_equal "", run.stderr.lines.reject { |l| l.match?(/trimming empty|proprietary|lacks "summary"/) }.join
      assert body.dup.force_encoding("UTF-8").valid_encoding?
    end
  end

  # The tracker's own thread can't have Ruby's lock.
  def test_the_tracker_server_says_where
    serving
    %w[/objects /objects/classes /objects/class/String.json].each { |t| assert_line get(t), 404, /only through the Rack endpoint/ }
    assert_line get("/objectsx"), 404, /no such page/
  end
end
