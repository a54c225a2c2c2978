#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Ruby's objects by line: of programs that keep a known number of objects of all kinds, each line's estimate is right
# within its stated error, and lines whose objects die have none.

require_relative "lib/comes_first"
require_relative "lib/served"

class ObjectLinesTest < Minitest::Test
  include HttpdTest
  include Served

  # Kept objects: expressions. The program finds out itself how many objects each of them makes and keeps at its line.
  KINDS = ["[i]", "Array.new(10, i)", "[i, [i]]", "{ i => i }", "'s%d' % i", "('t%d' % i).ljust(300)", "Pair.new(i, i)", "Record.new(i)",
           "Model.new({ id: i, name: 'n' + i.to_s })", "Object.new", "-> { i }", "(1 << 70) + i", "i.to_f / 3 * 1e300", "Range.new(i, i + 1)",
           "('sym_%d' % i).to_sym", "Thread::Mutex.new", "RubyVM::InstructionSequence.compile('1 + %d' % i)"].freeze

  # Garbage of many kinds, and KEEP's lines by turns, for so many seconds of CPU time.
  def keeping(kinds, seconds, more = "")
    keep = kinds.each_with_index.map { |kind, k| "def keep#{k}(i) = KEPT << (#{kind})\n" }.join
    <<~RUBY
      Pair = Struct.new(:a, :b)
      class Record; def initialize(i) = (@a = i; @b = i); end
      class Model; def initialize(h) = @attributes = h; end
      KEPT = []
      #{keep}def drop(i) = [i, [i], { i => [i] }, "g" + i.to_s, Object.new]
      live = -> { 2.times { GC.start }; GC.stat(:heap_live_slots) }
      each = (0...#{kinds.size}).map { |k| n = live.(); 1000.times { |j| send("keep\#{k}", -1 - j) }; n = (live.() - n) / 1000.0; KEPT.clear; n }
      i = 0
      from = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      until Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - from > #{seconds}
        #{(0...kinds.size).map { |k| "keep#{k}(i)" }.join("; ")}
        #{more}
        6.times { drop(i) }
        i += 1
      end
      4.times { GC.start }
      puts [i, *each].join(" ")
      $stdout.flush
      gets
    RUBY
  end

  FIRST = 5 # the line of keep0

  def run_program(kinds, seconds, more = "", options: ["objects:on"])
    app = served_ruby(keeping(kinds, seconds, more), options: options)
    rounds, *each = app.hear.split.map(&:to_f)
    noted = sampled["noted"]
    seen = seconds_now
    eventually("sums of the last second") { seconds_now > seen + 2 }
    yield rounds.to_i, tsv.to_h { |r| [r.location[/app\.rb:(\d+)\z/, 1].to_i, r] }, noted, each
  end

  def sampled = stats["sampled_objects"]
  def seconds_now = stats["uptime"]

  def test_each_kind_of_object
    run_program(KINDS, 5) do |rounds, rows, _, each|
      assert_equal "on", sampled["state"], sampled.inspect
      found = KINDS.each_index.map { |k| rows[FIRST + k] || flunk("#{KINDS[k]}: no row") }
      truths = each.map { |n| (n * rounds).round }
      objects_a_sample = found.sum(&:objects).fdiv(found.sum(&:object_samples))
      found.zip(KINDS, truths) do |row, kind, truth|
        off = (row.objects - truth).abs * 100.0 / [row.objects, 1].max
        puts format("# %-55s %8d of %8d: off %5.1f %%, stated %3d %%, %4d samples", kind, row.objects, truth, off, row.object_error, row.object_samples)
        # Samples are Poisson's, so the root of their number has a deviation of a half: 4.5 times that, and 5 % for
        # what Ruby's counter of objects leaves out.
        expected = Math.sqrt(truth / objects_a_sample)
        assert_in_delta expected, Math.sqrt(row.object_samples), 2.25 + 0.05 * expected, "#{kind}: #{row.objects} of #{truth}: #{row.inspect}"
      end
      # of all together, four standard deviations
      within = truths.sum * (4 / Math.sqrt(found.sum(&:object_samples)) + 0.1)
      assert_in_delta truths.sum, found.sum(&:objects), within
      dropped = rows[FIRST + KINDS.size]
      assert_operator dropped&.objects.to_i, :<, rounds * 30 * 0.01, "what died"
    end
  end

  # A class's Array, a constant's Hash, and garbage that was old: who refers to the objects of each line, in every form.
  def test_holders
    app = served_ruby(<<~RUBY, options: "objects:on")
      class Registry; @records = []; class << self; attr_reader :records; end; end
      CACHE = {}
      LATER = []
      def record = Object.new
      def entry = [1]
      def dropped = [2]
      def keep(i) = (Registry.records << record; CACHE[i] = entry; LATER << dropped)
      i = 0
      # no more than is needed, however long the test takes to look
      100.times { keep(i += 1); Object.new } until i == 3_000_000 || IO.select([$stdin], nil, nil, 0)
      gets
      4.times { GC.start }
      GC.disable
      LATER.clear
      puts i; $stdout.flush
      gets
      $LOAD_PATH.unshift(#{"#{ROOT}/lib".dump})
      require "mwrap/objects"
      require "json"
      at = "#{path("app.rb").dump[1..-2]}:4"
      # a line for each answer: on a busy machine one takes its time
      say = ->(answer) { puts JSON.generate(answer); $stdout.flush }
      say.(Mwrap.holders(at, of: :objects))
      say.(Mwrap.holders(at, of: :both).partition { |r| r.key?(:blocks) }.reverse)
      say.(Mwrap.holders(at))
      say.(Mwrap.holders(of: :objects))
      say.([(Mwrap.holders(at, of: :all) rescue $!.message)])
      %w[json tsv].each { |form| say.([Mwrap::Objects.answer("/objects/holders.\#{form}", "location=\#{at}", "")[2].join]) }
      gets
    RUBY
    # so many that each estimate is right within some 35 %
    eventually("samples at the lines") { tsv.count { |r| r.location[/app\.rb:[456]\z/] && r.object_samples >= 50 } == 3 }
    n = app.ask("enough").to_i
    seen = seconds_now
    eventually("sums of the last second") { seconds_now > seen + 2 }
    eventually("objects at the lines") { tsv.count { |r| r.location[/app\.rb:[456]\z/] && r.objects > n / 2 } == 3 }
    { 4 => ["Array", "ruby", %w[vm Object::Registry Registry.@records Array]], 5 => ["Hash", "ruby", %w[vm Object::CACHE Hash]], 6 => ["Array", "garbage", []] }.each do |line, (holder, by, path)|
      location = tsv.find { |r| r.location.end_with?("app.rb:#{line}") }
      answer = JSON.parse(body("/holders.json?location=#{escape(location.location)}"))
      row, *others = answer["object_rows"]
      assert_equal [holder, by, path], row.values_at("holder", "by", "path"), answer.inspect
      assert_in_delta location.objects, row["objects"] + others.sum { |o| o["objects"] }, location.object_samples + 1
      refute(answer["rows"].any? { |r| r.key?("objects") })
      table = body("/holders.tsv?location=#{escape(location.location)}").lines.map { |l| l.chomp.split("\t", -1) }
      of = table.shift.index("of")
      assert_equal answer["object_rows"].size, table.count { |l| l[of] == "objects" }
      page = body("/holders?look=1&location=#{escape(location.location)}")
      assert_includes page, "Referrers of the Ruby objects made here, estimated from #{answer["object_samples"]} samples"
    end
    run = run_command(RbConfig.ruby, "-I#{ROOT}/lib", "#{ROOT}/lib/exe/mwrapctl", "who", path, "app.rb:4")
    in_ruby(app, JSON.parse(body("/holders.json?location=#{escape(tsv.find { |r| r.location.end_with?("app.rb:4") }.location)}")))
    assert_match(/^Ruby objects made there that stay, estimated from \d+ samples:\n +\d+ held by Array: vm → Object::Registry → Registry.@records → Array$/, run.stdout.force_encoding("UTF-8"))
  end

  # Mwrap.holders and MwrapRack say the same as the server: line 4.
  def in_ruby(app, server)
    app.tell("")
    rows, (objects, blocks), alone, everywhere, (wrong, ), (json, ), (tsv, ) = Array.new(7) { JSON.parse(app.hear) }
    assert_equal %w[holder by objects object_bytes path paths], rows[0].keys
    assert_equal server["object_rows"].map { |r| r.values_at("holder", "by", "path", "objects") }, rows.map { |r| r.values_at("holder", "by", "path", "objects") }
    assert_equal [rows, []], [objects, everywhere]
    assert_equal "of: :all isn't known: give :blocks, :objects or :both", wrong
    assert((blocks + alone).all? { |r| r.key?("blocks") && !r.key?("objects") })
    rack = JSON.parse(json)
    assert_equal [rows, server["object_samples"]], rack.values_at("object_rows", "object_samples")
    refute(rack["rows"].any? { |r| r.key?("of") || r.key?("objects") })
    head, *lines = tsv.lines(chomp: true).map { |l| l.split("\t", -1) }
    assert_equal %w[holder by blocks bytes paths path of], head
    assert_equal [rows[0].values_at("holder", "objects", "object_bytes").map(&:to_s)], lines.filter_map { |l| l.values_at(0, 2, 3) if l[6] == "objects" }.first(1)
  end

  # A line's bytes over time. Other lines have none.
  def test_history
    run_program(["[i]", "Array.new(10, i)"], 1.5) do |_, rows|
      want = rows.values_at(FIRST, FIRST + 1).to_h { |r| [r.location, r.object_bytes / 64 * 64] }
      all = eventually("the steps of the history") do
        got = JSON.parse(body("/history/locations.json?by=objects"))["rows"].to_h { |_, location, _, _, bytes| [location, bytes[-1]] }
        got if (want.keys - got.keys).empty?
      end
      assert_equal want, all.slice(*want.keys)
      assert_empty all.keys.grep(/rack|libruby/)
      row, = JSON.parse(body("/history/locations.json?by=objects&location=#{escape(want.keys[0])}"))["rows"]
      assert_equal want.first, [row[1], row[4][-1]]
      refused = get("/history/locations.json?by=total")
      assert_equal [400, "by: live or objects"], [refused.status, refused.body.chomp]
    end
  end

  # From one mark to the next, in /diff, in the mark's table, and in mwrapctl's difference of both.
  def test_what_came_between_two_marks
    app = served_ruby(<<~RUBY, options: "objects:on")
      $kept = []
      def keep = $kept << [1]
      def some(n) = (n.times { keep; [2] }; 4.times { GC.start }; puts; $stdout.flush; gets)
      def begin! = 100_000.times { Object.new }
      begin! until Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) > 0.5
      some(1_500_000)
      some(4_000_000)
      $kept.clear
      some(0)
    RUBY
    rows = nil
    marks = %w[less more none].map do |name|
      app.hear
      eventually("the objects of #{name}") do
        rows = tsv
        n = rows.find { |r| r.location.end_with?("app.rb:2") }&.objects.to_i
        name == "none" ? n.zero? : n > (name == "less" ? 300_000 : 2_000_000)
      end
      assert_equal 200, post("/mark?name=#{name}").status
      app.tell("") unless name == "none"
      snapshot_row("/snapshot.tsv?mark=#{name}")
    end
    n = marks.map { |m| m["objects"].to_i }
    n.zip(marks) { |k, m| assert_in_delta 40 * k, m["object_bytes"].to_i, 40 }
    [%w[less more], %w[more none], %w[less none]].each do |from, to|
      a, b = [from, to].map { |name| marks[%w[less more none].index(name)] }
      row = JSON.parse(body("/diff.json?from=#{from}&to=#{to}"))["rows"].find { |r| r["location"].end_with?("app.rb:2") }
      assert_equal %w[objects object_bytes].map { |c| b[c].to_i - a[c].to_i }, row.values_at("growth_objects", "growth_object_bytes")
      assert_equal [a, b].map { |m| m["objects"].to_i }, row.values_at("from_objects", "to_objects")
      assert_operator row["growth_objects_error"], :>, 0
      page = body("/diff?from=#{from}&to=#{to}&limit=500")
      heads = page[%r{<thead>.*?</thead>}m].scan(/<th[^>]*>(.*?)<\/th>/m).map { |(s)| s.gsub(/<[^>]*>/, "").strip[/\A[A-Z][a-z ]+/] }
      cells = page[%r{<tr>((?:(?!</tr>).)*?app\.rb:2.*?)</tr>}m, 1].scan(/<td[^>]*>(.*?)<\/td>/m).map { |(s)| s.gsub(/<[^>]*>/, "") }
      assert_equal [*row.values_at("from_objects", "to_objects").map(&:to_s), true],
                   [*cells.values_at(heads.index("Objects before"), heads.index("Objects after")).map { |s| s.delete(",") }, cells[heads.index("Location")].end_with?("app.rb:2")]
    end
  end

  # The lines' sums, in each form that has stacks; those who called a line have its sum together.
  def test_profiles
    app = served_ruby(<<~RUBY, options: "objects:on")
      KEPT = []
      def made = Object.new
      def often = 15.times { KEPT << made }
      def seldom = 5.times { KEPT << made }
      def drops = 60.times { made }
      def alone = KEPT << [1]
      (often; seldom; drops; alone) until Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) > 2.5
      4.times { GC.start }
      puts; $stdout.flush; gets
    RUBY
    app.hear
    seen = seconds_now
    eventually("sums of the last second") { seconds_now > seen + 2 }
    row = tsv.find { |r| r.location.end_with?("app.rb:2") }
    tree = JSON.parse(body("/flame.json?by=objects&location=#{escape(row.location)}"))
    assert_equal ["objects", row.object_bytes], tree.values_at("by", "total")
    assert_includes 1..row.object_samples, tree["samples"]
    collapsed = body("/stacks.collapsed?by=objects").lines.map { |l| l.chomp.rpartition(" ").values_at(0, 2) }
    by = collapsed.group_by { |stack, _| stack[/often|seldom|drops|alone/] }.transform_values { |v| v.sum { |_, n| n.to_i } }
    puts "# #{by.inspect}, #{tree["samples"]} of #{row.object_samples} samples have stacks"
    assert_equal row.object_bytes, by.values_at("often", "seldom").sum
    # a share of n samples, which come twenty at a time from one loop or the other
    assert_in_delta 0.75, by["often"].fdiv(row.object_bytes), 4 * Math.sqrt(0.75 * 0.25 * 20 / [tree["samples"], 20].max)
    assert_nil by["drops"], "what died"
    assert_match(/;(Object#)?often;.*;(Object#)?made(;(Class#)?new)?\z/, collapsed.find { |stack, _| stack.include?("often") }[0])
    profiles = JSON.parse(body("/stacks.speedscope.json"))["profiles"]
    assert_equal tsv.sum(&:object_bytes), profiles.find { |p| p["name"] == "bytes of Ruby's objects" }["weights"].sum
    assert_includes body("/flame?by=objects"), "objects that stay, by the lines that made them, and who called these"
  end

  # With stacks:off each line stands alone.
  def test_profiles_without_stacks
    run_program(["[i]", "Object.new"], 1, options: ["objects:on", "stacks:off"]) do |_, rows|
      want = rows.values_at(FIRST, FIRST + 1).to_h { |r| [r.location, r.object_bytes.to_s] }
      collapsed = body("/stacks.collapsed?by=objects").lines.to_h { |l| l.chomp.rpartition(" ").values_at(0, 2) }
      assert_equal want, collapsed.slice(*want.keys)
    end
  end

  def test_slots
    run_program(["[i]", "Array.new(10, i)"], 2) do |_, rows|
      one, ten = rows.values_at(FIRST, FIRST + 1)
      assert_in_delta 40, one.object_bytes.fdiv(one.objects), 0.1
      assert_in_delta(RUBY_VERSION < "3.2" ? 40 : GC.stat_heap.values.map { |heap| heap[:slot_size] }.find { |bytes| bytes >= 16 + 10 * 8 }, ten.object_bytes.fdiv(ten.objects), 0.1)
    end
  end

  def test_compaction_moves_samples_along
    run_program(["[i]"], 2, "GC.compact if i % 20_000 == 19_999") do |rounds, rows|
      row = rows[FIRST]
      # from 3.4 on what a compaction didn't move may be another object, and is forgotten
      off = ((row&.objects || 0) - rounds) * 100.0 / rounds
      assert_operator off, :<=, 2 * row.object_error + 10, "#{row.objects} of #{rounds}: #{row.inspect}" if row&.object_error
      assert_operator off, :>=, -2 * row.object_error - 10, "#{row.objects} of #{rounds}: #{row.inspect}" if RUBY_VERSION < "3.4"
      assert_operator rows[FIRST + 1]&.objects.to_i, :<, rounds
    end
  end

  # A Ruby frees its heap, with forks and compactions, while others look at samples.
  def test_rubies_that_end
    seed = Integer(ENV.fetch("SEED", Random.new_seed % 10_000)).tap { |s| puts "# SEED=#{s}" }
    script = <<~'RUBY'
      require "objspace"
      random = Random.new(Integer(ARGV[0]))
      GC.auto_compact = random.rand < 0.5 if GC.respond_to?(:auto_compact=)
      ObjectSpace.trace_object_allocations_start if random.rand < 0.5
      kept = []
      run = lambda do |seconds|
        n = 0
        while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < seconds
          made = Array.new(random.rand(30)) { |k| [k, k.to_s, { k => Class.new.new }] }
          kept << made if (n += 1) % 50 == 0
          kept.shift if kept.size > 500
          next unless GC.respond_to?(:compact) && n % 1500 == 0
          kept.clear # a compaction of a heap that has lost pages since
          2.times { GC.start }
          GC.compact
        end
      end
      threads = Array.new(2) { Thread.new { run.(1.2) } }
      3.times do
        _, status = Process.wait2(fork { run.(random.rand / 4) })
        abort status.inspect unless status.success?
      end
      threads.each(&:join)
      puts "ends"
    RUBY
    File.write(path("ends.rb"), script)
    runs = Array.new(4) do |i|
      Thread.new { run_command(RUBY, "--disable=gems", "-W0", path("ends.rb"), (seed + i).to_s, env: { "LD_PRELOAD" => TRACKER, "MWRAP" => "socket:#{path("ends#{i}")},objects:on" }) }
    end
    runs.each { |r| assert_equal ["ends\n", "", true], [r.value.stdout, r.value.stderr, r.value.status.success?] }
  end

  def test_what_is_dropped_later_goes
    app = served_ruby(<<~RUBY, options: "objects:on")
      KEPT = []
      def keep = KEPT << [1]
      100_000.times { keep } until Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) > 1.5
      4.times { GC.start }
      puts; $stdout.flush; gets
      KEPT.clear
      4.times { GC.start }
      puts; $stdout.flush; gets
    RUBY
    app.hear
    objects = -> { tsv.find { |r| r.location.end_with?("app.rb:2") }&.objects.to_i }
    eventually("objects at the line") { objects.call > 100_000 }
    app.tell("")
    app.hear
    eventually("none") { objects.call.zero? }
  end

  # Keeps objects at line 2, and so does its child, for so many seconds of CPU time; it prints the child's PID.
  def forking(seconds)
    served_ruby(<<~RUBY, options: "objects:on")
      KEPT = []
      def keep = KEPT << [1]
      def some(seconds) = (1000.times { keep } until Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) > seconds)
      some(1)
      4.times { GC.start }
      pid = fork { some(#{seconds}); 4.times { GC.start }; puts Process.pid; $stdout.flush; sleep }
      gets
      Process.kill(:KILL, pid)
    RUBY
  end

  # The row of line 2 in a snapshot.
  def snapshot_row(target)
    head, *rows = body(target).lines.drop(1).map { |l| l.chomp.split("\t", -1) }
    rows.map { |l| head.zip(l).to_h }.find { |r| r["location"].end_with?("app.rb:2") }
  end

  def test_a_forked_child_goes_on
    app = forking(1)
    child = app.hear.to_i
    at = "#{path}.#{child}"
    n = nil
    eventually("objects of both") do
      n = [path, at].map { |a| tsv(at: a).find { |r| r.location.end_with?("app.rb:2") }&.objects.to_i }
      n[0].positive? && n[1] > n[0] * 1.3
    end
    puts "# #{n.inspect}"
  end

  # The sum of a family has the objects of all processes, in its table, flame graph, metrics, differences and snapshots.
  def test_a_family
    app = forking(3)
    child = app.hear.to_i
    of_line = ->(target) { tsv(target).find { |r| r.location.end_with?("app.rb:2") } }
    of_all = ->(target, rows = JSON.parse(body(target))) { (rows.is_a?(Hash) ? rows["rows"] : rows).find { |r| r["location"].end_with?("app.rb:2") } }
    tries = 0
    # a window that was open when the app came to rest ends when something wakes it
    eventually("a moment in which all agree") do
      parts = ["/#{app.pid}", "/#{child}"].map { |p| of_line.("#{p}/each/0.tsv") }
      next unless parts.all? && parts[1].objects > parts[0].objects
      want = parts.sum(&:object_bytes)
      tree = JSON.parse(body("/all/flame.json?by=objects&location=#{escape(parts[0].location)}"))
      metrics = body("/all/metrics").scan(/^mwrap_location_ruby_object_bytes\{process="(\d+)",location="[^"]*app\.rb:2"\} (\d+)/).to_h { |pid, n| [pid.to_i, n.to_i] }
      name = "a#{tries += 1}"
      [app.pid, child].each { |pid| assert_equal 200, post("/#{pid}/mark?name=#{name}").status }
      run = run_command(RbConfig.ruby, "-I#{ROOT}/lib", "#{ROOT}/lib/exe/mwrapctl", "report", path, "--all", "--json")
      got = [of_all.("/all/each/0.json")["object_bytes"], tree["by"], tree["total"], metrics,
             snapshot_row("/all/snapshot.tsv")["object_bytes"].to_i,
             of_all.("/all/diff.json?from=start&to=#{name}")["growth_object_bytes"],
             JSON.parse(run.stdout)["rows"].find { |r| r["location"].end_with?("app.rb:2") }["object_bytes"]]
      got == [want, "objects", want, { app.pid => parts[0].object_bytes, child => parts[1].object_bytes }, want, want, want]
    end
  ensure
    Process.kill(:KILL, child) if child
  end

  # Ruby 3.1 crashes if a Ractor starts while new objects are traced.
  def test_auto
    run_program(["[i]"], 1, options: nil) do |_, rows|
      if RUBY_VERSION < "3.2"
        assert_equal "unavailable", sampled["state"]
        assert_includes sampled["why"], "objects:on"
        assert_equal 0, rows[FIRST]&.objects.to_i
      else
        assert_equal ["on", ""], sampled.values_at("state", "why")
      end
    end
  end

  def test_off
    run_program(["[i]"], 0.5, options: ["objects:off"]) do |_, rows, noted|
      assert_equal ["off", 0], [sampled["state"], noted]
      assert_equal [0, 0, 0, nil], rows[FIRST].to_a.values_at(*Row.members.each_index.select { |i| Row.members[i].start_with?("object") }) if rows[FIRST]
    end
  end

  def test_without_ruby
    served("sh", "-c", "read _")
    assert_equal ["unavailable", "no Ruby runs in this process"], sampled.values_at("state", "why")
  end
end
