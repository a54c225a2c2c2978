#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The option stacks: who called the locations. Each location's sums are the table's, with samples of
# all allocations they are divided exactly among its callers, and with few samples nearly so. Frames
# have their names, and none of another method's, whatever is freed, closed, forked or ended meanwhile.

require "zlib"
require_relative "lib/served"
require_relative "lib/allocators"

class StacksTest < Minitest::Test
  # A thing that the app does for each line it reads, then says so.
  LOOP = <<~'RUBY'
    $stdout.sync = true
    puts "ready"
    while (line = $stdin.gets)
      send(*line.split)
      puts "done"
    end
  RUBY

  # --- what is read ----------------------------------------------------------------------

  Stack = Struct.new(:values, :frames, :location)
  Frame = Struct.new(:name, :file, :line)
  ALLOCATIONS, TOTAL, LIVE, LIVE_BYTES = 0, 1, 2, 3

  # A message's fields: [number, an Integer or bytes] each.
  def fields(bytes)
    io = StringIO.new(bytes)
    found = []
    until io.eof?
      key = varint(io)
      found << [key >> 3, (key & 7).zero? ? varint(io) : io.read(varint(io))]
    end
    found
  end

  def varint(io)
    n = shift = 0
    loop do
      b = io.getbyte
      n |= (b & 127) << shift
      shift += 7
      return n if b < 128
    end
  end

  def packed(bytes)
    io = StringIO.new(bytes)
    found = []
    found << varint(io) until io.eof?
    found
  end

  # Stacks, innermost frame first.
  def pprof(target = "/debug/pprof/heap", at: path)
    all = fields(Zlib.gunzip(body(target, at: at).b)).group_by(&:first).transform_values { |v| v.map(&:last) }
    strings = all[6].map { |s| s.dup.force_encoding("UTF-8") }
    functions = all.fetch(5, []).to_h { |f| fields(f).to_h.then { |h| [h[1], [bare(strings[h[2]]), strings[h[4] || 0]]] } }
    locations = all.fetch(4, []).to_h do |l|
      h = fields(l).to_h
      line = fields(h[4]).to_h
      [h[1], Frame.new(*functions[line[1]], line[2] || 0)]
    end
    all.fetch(2, []).map do |s|
      h = fields(s).to_h
      Stack.new(packed(h[2]), packed(h[1]).map { |id| locations.fetch(id) }, strings[fields(h[3]).to_h[2]])
    end
  end

  # [[names, outermost first], bytes] of each line
  def collapsed(query = "", at: path)
    body("/stacks.collapsed#{query}", at: at).force_encoding("UTF-8").lines.map { |l| l =~ /\A(.*) (\d+)\n\z/ and [$1.split(";"), $2.to_i] }
  end

  # At rest all answers are of one moment, but for what the server itself may have freed.
  def assert_adds_up(app, at: path)
    rows = stacks = total = live = nil
    eventually("answers of one moment") do
      at_rest(app)
      rows = tsv(at: at)
      stacks = pprof(at: at)
      total = collapsed("?by=total", at: at)
      live = collapsed("?by=live", at: at)
      rows.map(&:to_a) == tsv(at: at).map(&:to_a)
    end
    by = stacks.group_by { |s| s.location.b }
    { allocations: ALLOCATIONS, total: TOTAL, live: LIVE, live_bytes: LIVE_BYTES }.each do |column, i|
      want = rows.to_h { |r| [r.location.b, r[column]] }.reject { |_, n| n.zero? }
      assert_equal want, by.transform_values { |v| v.sum { |s| s.values[i] } }.reject { |_, n| n.zero? }, "#{column} of each location"
    end
    assert_equal rows.sum(&:total), total.sum(&:last), "collapsed, in total"
    assert_equal rows.sum(&:live_bytes), live.sum(&:last), "collapsed, live"
    stacks
  end

  def frames(stacks) = stacks.flat_map(&:frames).uniq
  # At a line of the app: by the names from its own frame outwards.
  def callers(stacks, line, value, name: "app.rb")
    stacks.select { |s| s.location.end_with?("/#{name}:#{line}") }
          .group_by { |s| s.frames.drop_while { |f| f.line != line || !f.file.end_with?("/#{name}") }.map(&:name) }
          .transform_values { |v| v.sum { |s| s.values[value] } }
  end

  def stacked(script, *flags, rate: "64k", **rest)
    app = served_ruby(script + LOOP, *flags, options: ["stacks:#{rate}", *rest.delete(:options)], **rest)
    assert_equal "ready", app.hear
    app
  end

  def done(app, order) = assert_equal("done", app.ask(order), app.stderr)

  # --- sums ------------------------------------------------------------------------------

  MIXED = <<~'RUBY'
    KEEP = []
    def small(n) = KEEP.concat(Array.new(n.to_i) { |i| "s" * (i % 900) })
    def large(n) = n.to_i.times { KEEP << ("l" * 300_000) }
    def thread(n) = Array.new(n.to_i) { Thread.new { small(300) } }.each(&:join)
    def gc(_) = 3.times { KEEP.clear; GC.start }
    def nothing(_) = nil
    def work(n) = %i[small large thread gc small].each { |m| send(m, n) }
    def reset(_) = Mwrap.reset
    def child(_)
      pid = fork { work(7); puts "child #{Process.pid}"; $stdin.gets; exit! }
      Process.wait(pid)
    end
  RUBY

  def test_sums_on_each_allocator
    found = 0
    each_below do |name, below|
      app = stacked(MIXED, at: path(name), env: { "LD_PRELOAD" => [TRACKER, *below].join(":") })
      done(app, "work 40")
      stacks = assert_adds_up(app, at: path(name))
      assert_operator stats(at: path(name))["stacks_samples"], :>, 50, name
      found += 1 if frames(stacks).any? { |f| f.name == "large" }
      assert_equal 200, post("/reset", at: path(name)).status
      assert_adds_up(app, at: path(name))
      done(app, "work 20")
      assert_adds_up(app, at: path(name))
      assert_equal 0, app.finish&.exitstatus, app.stderr
    end
    assert_equal 4, found
  end

  def each_below
    yield "glibc", []
    Allocators.each { |name, file, package| yield name, [file || flunk("#{name}: install #{package}")] }
  end

  # On allocators with size classes a block that fills one has no tail.
  FILLS = <<~'RUBY'
    KEEP = []
    def line(n) = "x" * n
    def fills(_) = [1023, 2047, 4095, 8191, 16_383].each { |n| 100.times { KEEP << line(n) } }
  RUBY

  def test_a_block_that_fills_its_size_class_has_its_stack
    each_below do |name, below|
      app = stacked(FILLS, rate: "1", at: path(name), env: { **WITHOUT_JIT, "LD_PRELOAD" => [TRACKER, *below].join(":") })
      done(app, "fills 1")
      stacks = assert_adds_up(app, at: path(name))
      dropped = stats(at: path(name))["stacks_dropped"]
      by_fills = callers(stacks, 2, LIVE).sum { |names, n| names.any? { |s| s.end_with?("fills") } ? n : 0 }
      assert_operator by_fills, :>=, 500 - dropped, "on #{name}: #{callers(stacks, 2, LIVE)}"
      assert_operator dropped, :<, 100, name
      assert_equal 0, app.finish&.exitstatus, app.stderr
    end
  end

  # Each `a = 1` takes three words of instructions: so some of these methods fill a size class, whatever the classes are.
  SIZES = <<~'RUBY'
    KEEP = []
    200.times { |k| eval("def m#{k}\n#{"a = 1;" * k}\nKEEP << ('y' * 3000)\nend", nil, "sizes.rb") }
    def all(_) = 200.times { |k| send("m#{k}") }
  RUBY

  def test_names_of_methods_of_each_size
    each_below do |name, below|
      app = stacked(SIZES, rate: "1", at: path(name), env: { **WITHOUT_JIT, "LD_PRELOAD" => [TRACKER, *below].join(":") })
      10.times { done(app, "all 1") } # a stack now and then is dropped, or has no names yet
      named = frames(assert_adds_up(app, at: path(name))).map(&:name)
      missing = Array.new(200) { |k| "m#{k}" }.reject { |m| named.any? { |n| n.end_with?(m) } }
      assert_empty missing, "on #{name}"
      assert_equal 0, app.finish&.exitstatus, app.stderr
    end
  end

  def test_sums_in_a_forked_child
    app = stacked(MIXED, options: ["socket_dir:#{path}"])
    done(app, "work 40")
    app.tell("child 1")
    pid = app.hear[/\d+/].to_i
    at = eventually("the child's server") { Dir[path("**/*#{pid}*")].find { |f| File.socket?(f) && connects?(f) } }
    stacks = assert_adds_up(Struct.new(:pid).new(pid), at: at)
    assert(frames(stacks).any? { |f| f.name == "child" }, "what only the child called")
    assert_operator stats(at: at)["stacks_samples"], :>, stats["stacks_samples"]
    assert_equal "done", app.ask("")
    refute(frames(assert_adds_up(app)).any? { |f| f.name == "block in child" }, "nothing of the child's is here")
  end

  # --- truth -----------------------------------------------------------------------------

  # Ruby's heap has room for the strings: it neither grows nor is collected while they are made.
  THREE = <<~'RUBY'
    KEEP = Array.new(20_000) { "" + "" }.clear; GC.start; GC.disable
    def line(n) = "x" * n
    def one = 1000.times { KEEP << line(2000) }
    def two = 1000.times { KEEP << line(5000) }
    class Three
      def self.three = [1].each { 1000.times { KEEP << line(1700) } }
    end
    def all = [one, two, Three.three]
  RUBY

  # With a sample of each byte nothing is left to chance. Blocks of a string: its bytes and a NUL.
  def test_each_caller_of_a_line_is_exact_if_each_allocation_is_a_sample
    app = eventually("a run in which none is dropped, as while the server reads the stacks") do
      app = stacked(THREE, rate: "1", env: WITHOUT_JIT)
      done(app, "all")
      next app if stats["stacks_dropped"].zero?
      app.finish && nil
    end
    stacks = assert_adds_up(app)
    want = { "one" => 2001, "two" => 5001, "three" => 1701 }.transform_values { |size| [1000 * size, 1000] }
    [[TOTAL, ALLOCATIONS], [LIVE_BYTES, LIVE]].each do |bytes, blocks|
      of = [bytes, blocks].map { |v| callers(stacks, 2, v).group_by { |names, _| names.filter_map { |n| n[/(?:\A|[ .#])(one|two|three)\z/, 1] }[0] } }
      want.each do |name, figures|
        got = of.map { |by| by[name].sum(&:last) }
        # Ruby itself allocates a little at the line: caches of calls
        figures.zip(got, [4000, 20]) { |w, g, more| assert_includes w..w + more, g, name }
      end
      assert_equal [["<main>"]], of[0].fetch(nil, []).map(&:first) | [["<main>"]], "all have a caller, but for the definition"
    end
  end

  # As estimated: a caller has three quarters of a line's blocks, all of one size, n samples or so.
  # P(|share - 3/4| > 0.1) is at most 2 exp(-2 n 0.01), Hoeffding's bound for n samples, each of the
  # one caller or the other. n = 100 MB / 16 KiB is 6,100 on average, and below 5,000 in one run of
  # 10^40 (Chernoff's bound for Poisson's law): so 2 exp(-100) in all.
  def test_shares_are_near_the_truth
    app = stacked(<<~'RUBY', rate: "16k")
      def line = "x" * 1999
      def three = 3.times { line }
      def one = line
      def run = 12_500.times { three; one }
    RUBY
    done(app, "run")
    stacks = assert_adds_up(app)
    by = callers(stacks, 1, TOTAL).group_by { |k, _| %w[three one] & k }.transform_values { |v| v.sum(&:last) }
    assert_in_delta 0.75, by.fetch(["three"]).fdiv(by.values_at(["three"], ["one"]).sum), 0.1, by.inspect
    assert_operator by.fetch(nil, 0) + by.fetch([], 0), :<, by.values.sum / 50, "what has no caller"
  end

  # Without Ruby a step of the clock ends at the thread's next sample. A loop whose blocks add up to a step must not have
  # the same block there each time.
  def test_callers_in_c
    app = served(program("callers"), "2000", options: ["stacks:1"])
    assert_equal "done", app.hear
    stacks = assert_adds_up(app)
    by = stacks.select { |s| s.frames.any? { |f| f.name == "takes" } }
    sums = %w[thrice once].to_h { |n| [n, by.select { |s| s.frames.any? { |f| f.name == n } }.sum { |s| s.values[TOTAL] }] }
    assert_equal by.sum { |s| s.values[TOTAL] }, sums.values.sum, "each is of one of the two"
    assert_equal 4 * 2000 * 16_384, sums.values.sum
    assert_in_delta 0.75, sums["thrice"].fdiv(sums.values.sum), 0.12, sums.inspect
    names = by.map { |s| s.frames.map(&:name).take_while { |n| n != "main" } }.uniq.sort
    assert_equal [%w[takes once], %w[takes thrice]], names
  end

  # --- names -----------------------------------------------------------------------------

  NAMES = <<~'RUBY'
    require "mwrap"
    KEEP = []
    class A
      BODY = "c" * 90_001
      def instance = [1].each { KEEP << ("i" * 90_002) }
      def self.singleton = KEEP << ("s" * 90_003)
      define_method(:defined) { KEEP << ("d" * 90_004) }
    end
    MAIN = "m" * 90_005
    require_relative "other"
    eval("def evaled\n KEEP << ('e' * 90_006)\nend", nil, "made.rb", 7)
    def all = [A.new.instance, A.singleton, A.new.defined, evaled, A.new.then { |a| a.instance_exec { KEEP << ("x" * 90_008) } }]
  RUBY

  def test_names
    app = stacked(NAMES, rate: "1", files: { "other.rb" => "OTHER = 'o' * 90_007\n" })
    5.times { done(app, "all") }
    stacks = assert_adds_up(app)
    named = ->(file, line) { stacks.select { |s| s.location.end_with?("#{file}:#{line}") && s.values[LIVE_BYTES] > 90_000 }.map { |s| s.frames.reverse.select { |f| f.file.end_with?(".rb") || f.file.empty? || f.line > 0 }.map(&:name) } }
    assert_includes named["app.rb", 4].map { |n| n.first(2) }, %w[<main> <class:A>]
    assert(named["app.rb", 5].any? { |n| n.each_cons(3).include?(["instance", "each", "block in instance"]) || n.each_cons(3).any? { |x| x[1] == "each" && x[2].start_with?("block in ") } }, named["app.rb", 5].inspect)
    assert(named["app.rb", 6].any? { |n| n.include?("singleton") })
    assert(named["app.rb", 9].any? { |n| n.first == "<main>" })
    assert(named["other.rb", 1].any? { |n| n.include?("<top (required)>") && n.include?("require_relative") }, named["other.rb", 1].inspect)
    assert(named["made.rb", 8].any? { |n| n.include?("all") && n.include?("evaled") })
    assert(named["app.rb", 12].any? { |n| n.include?("instance_exec") && n.any? { |m| m.start_with?("block ") } }, named["app.rb", 12].inspect)
    # a frame of these files once seen with the GVL has its name
    big = stacks.select { |s| s.values[LIVE_BYTES] > 90_000 && s.location.include?(".rb:") }
    refute_includes frames(big).map(&:name), "(no name)"
  end

  # A block of C has the method around it, in Ruby's list of frames: no other frame may have that name.
  def test_names_around_blocks_of_c
    app = stacked(<<~'RUBY', rate: "1")
      def sorted = 50.times { [2, 1].sort_by { |x| "y" * 3000; x } }
      def slices = 50.times { [1, 2].each_slice(1) { |x| "z" * 3000 } }
      def all = [sorted, slices]
    RUBY
    done(app, "all")
    stacks = assert_adds_up(app)
    { 1 => %w[sort_by each], 2 => ["each_slice"] }.each do |line, names|
      of = stacks.select { |s| s.location.end_with?("/app.rb:#{line}") && s.values[TOTAL] > 50_000 && s.frames.any? { |f| f.name == "*" } }
      refute_empty of
      got = of.map { |s| s.frames.map(&:name).reverse.drop_while { |n| n !~ /times/ }.drop(2).take_while { |n| n !~ /\Ablock/ }.map { |n| n[/\w+\z/] } }.uniq
      assert_equal [names], got.map { |n| n.take(names.size) }.uniq
    end
  end

  # malloc is called by Ruby's extension, which the method in C calls; nothing is between these two.
  def test_native_frames_end_at_ruby
    app = stacked(<<~'RUBY', rate: "4k", env: WITHOUT_JIT)
      require "zlib"
      KEEP = []
      def deflate(n) = n.to_i.times { KEEP << Zlib::Deflate.new.deflate("x" * 100) }
      def run(n) = [1].each { [2].each { deflate(n) } }
    RUBY
    done(app, "run 300")
    stacks = assert_adds_up(app)
    of = stacks.select { |s| s.location.end_with?("/app.rb:3") && s.frames.any? { |f| f.file =~ /libz\.so/ } }
    refute_empty of
    assert_includes frames(of).map(&:name), "deflateInit2_"
    of.each do |s|
      # Ruby's own functions are in its program, if it has no libruby.so
      native = s.frames.take_while { |f| f.file =~ /\.so/ || f.file == RbConfig.ruby }
      assert_operator native.size, :<, 20, s.inspect
      refute(s.frames.drop(native.size).any? { |f| f.file =~ /libruby|\/ruby/ }, "native frames are the innermost: #{s.inspect}")
      refute(native.any? { |f| %w[rb_vm_exec ruby_run_node main].include?(f.name) }, native.inspect)
    end
  end

  # The innermost frame is machine code, of which rb_profile_frames gives no line from Ruby 3.3 on.
  def test_lines_of_compiled_code
    skip "this Ruby has no YJIT" unless system(RUBY, "--yjit", "-e", "exit RubyVM::YJIT.enabled?", out: File::NULL, err: File::NULL)
    app = stacked(<<~'RUBY', "--yjit", "--yjit-call-threshold=2", rate: "1k")
      KEEP = []
      def keep(i) = KEEP << [i, "x", i, i, i, i, i, i, i]
      def many(n) = n.to_i.times { |i| keep(i) }
    RUBY
    done(app, "many 20000")
    of = assert_adds_up(app).flat_map(&:frames).select { |f| bare(f.name) == "keep" }
    refute_empty of
    assert_equal [2], of.map(&:line).uniq
  end

  # --- code that is freed ------------------------------------------------------------------

  # Method m123 calls n123, which allocates 50,000 + 123 bytes at a line 123 of its own file.
  EVALS = <<~'RUBY'
    require "erb"
    KEEP = []
    def round(i)
      eval("def n#{i}; KEEP << ('x' * #{50_000 + i}); end; def m#{i}; n#{i}; end", nil, "/made/#{i}.rb", i)
      send("m#{i}")
      Object.send(:remove_method, "m#{i}", "n#{i}")
      KEEP.clear if KEEP.size > 50
    end
    def erb(n) = n.to_i.times { |i| ERB.new("<% 3.times do |x| %><%= 'y' * #{10_000 + i} %><% end %>").result }
    def evals(from, to)
      (from.to_i...to.to_i).each { |i| round(i); GC.start(full_mark: true) if (i % 50).zero? }
    end
    def both(n)
      t = Array.new(3) { Thread.new { erb(300) } }
      evals(1, n)
      t.each(&:join)
    end
  RUBY

  def test_no_frame_has_the_name_of_code_that_was_freed
    app = stacked(EVALS, rate: "16k")
    done(app, "both 3000")
    seen = 0
    stacks = assert_adds_up(app)
    stacks.each do |s|
      numbers = s.frames.filter_map { |f| [f.name[/\A(?:.*#)?[mn](\d+)\z/, 1], f.file[%r{\A/made/(\d+)\.rb\z}, 1]].compact }.flatten.uniq
      at = s.location[%r{\A/made/(\d+)\.rb:\d+\z}, 1]
      seen += 1 if at && !numbers.empty?
      assert_operator numbers.size, :<=, 1, s.inspect
      assert_equal [at], numbers, s.inspect if at && !numbers.empty?
    end
    assert_operator seen, :>, 100
    assert_equal 0, app.finish&.exitstatus, app.stderr
  end

  # The tables get full of methods that are gone. Those that come later have callers nevertheless.
  def test_room_is_made_for_what_comes_later
    app = stacked(<<~'RUBY', rate: "1k", options: ["memory_max:5m"], env: WITHOUT_JIT) # a JIT's blocks would fill it
      def evals(n) = n.to_i.times { eval("def e = Array.new(3) { 'x' * 1699 }; def f = e; f", nil, "same.rb", 1) }
      def late(_) = eval("def later = Array.new(1765) { 'x' * 1699 }; def late_caller = later; late_caller.size", nil, "late.rb", 1)
    RUBY
    done(app, "evals 10000")
    done(app, "late 1")
    by = assert_adds_up(app).select { |s| s.location.end_with?("late.rb:1") }.group_by { |s| s.frames.any? { |f| f.name.end_with?("late_caller") } }
    got, missed = [true, false].map { |known| by.fetch(known, []).sum { |s| s.values[TOTAL] } }
    assert_operator got, :>, 2_500_000, stats.select { |k, _| k =~ /stack|full|tracker/ }.inspect
    assert_operator missed, :<, 500_000
    assert_operator stats["tracker_bytes"], :<=, 5 << 20
  end

  # --- whatever else happens -----------------------------------------------------------------

  CHAOS = {
    gvl: "t = Array.new(8) { Thread.new { 200.times { Digest::SHA256.digest('x' * 70_000); Zlib.inflate(Zlib.deflate(Random.bytes(30_000))) } } }; 20.times { GC.start }; t.each(&:join)",
    finalizers: "20.times { 300.times { ObjectSpace.define_finalizer(Object.new, FINAL) ; StringIO.new('x' * 500) }; GC.start }",
    # Ruby 3.1 compacts strings that its Zlib reads without the GVL, and crashes untracked, too
    compact: "t = Array.new(4) { Thread.new { 300.times { #{RUBY_VERSION < "3.2" ? "'x' * 50_000; Thread.pass" : "Zlib.deflate('x' * 50_000)"} } } }; 15.times { GC.compact; Array.new(3000) { 'y' * 60 } }; t.each(&:join)",
    fibers: "2000.times { |i| f = Fiber.new { Fiber.yield('f' * 2000); 'g' * 3000 }; f.resume; f.resume if i.odd? }",
    ractors: "Array.new(3) { Ractor.new { 300.times { 'r' * 5000 }; 1 } }.each { |r| r.respond_to?(:value) ? r.value : r.take }",
    kills: "200.times { t = Thread.new { loop { 'k' * 3000 } }; Thread.pass; t.kill.join }",
    traps: "trap(:USR1) { KEEP << ('t' * 3000) }; 300.times { Process.kill(:USR1, Process.pid); 'u' * 3000 }; KEEP.clear",
    forks: "40.times.map { |i| fork { 300.times { 'c' * 3000 }; exit!(0) } }.each { |p| Process.wait(p); raise unless $?.success? }",
    busy_forks: "t = Array.new(4) { Thread.new { 3000.times { 'b' * 2000 } } }; 30.times { Process.wait(fork { 100.times { 'c' * 3000 }; exit!(0) }); raise unless $?.success? }; t.each(&:join)",
    threads: "10.times { Array.new(1000) { Thread.new { 'h' * 200 } }.each(&:join) }",
    quiet: "100.times { Mwrap.quiet { 'q' * 100_000 }; 'q' * 3000 }",
    overflow: "def deep(n) = ('d' * 200).then { deep(n + 1) }; 5.times { begin; deep(0); rescue SystemStackError; end }",
    raises: "3000.times { begin; raise 'e' * 500; rescue RuntimeError; end }"
  }.freeze

  PREPARE = <<~'RUBY'
    require "mwrap"
    require "zlib"
    require "digest/sha2" # two threads that load it at once may fail
    require "stringio"
    KEEP = []
    FINAL = proc { KEEP << ("z" * 700); KEEP.clear if KEEP.size > 100 }
  RUBY

  def chaos = PREPARE + CHAOS.map { |name, code| "def #{name}(_ = 0)\n#{code}\nend\n" }.join

  { "4k" => nil, "1" => nil, "auto" => "memory_max:2m" }.each do |rate, more|
    define_method(:"test_whatever_happens_at_#{rate}") do
      app = stacked(chaos, "-W0", rate: rate, options: [*more], env: { "RUBY_GC_HEAP_GROWTH_FACTOR" => "1.1" })
      CHAOS.each_key { |name| done(app, name.to_s) }
      assert_adds_up(app)
      before = stats["stacks_samples"]
      assert_operator before, :>, 100
      # at a low rate a sample may take some time
      eventually("samples are still taken") { done(app, "fibers"); stats["stacks_samples"] > before }
      assert_operator stats["tracker_bytes"], :<=, 2 << 20 if more
      assert_equal 0, app.finish&.exitstatus, app.stderr
    end
  end

  def test_the_end_in_the_middle
    ["exit!(3)", "exit(3)", "Process.kill(:KILL, $$)", "exec('true')", "Process.daemon(true, true); exit!"].each do |how|
      app = stacked("def finish\n4.times { Thread.new { loop { 'x' * 3000 } } }\n sleep 0.01\n #{how}\nend\n", rate: "1", at: path("e"))
      app.tell("finish")
      app.wait or flunk how
      File.delete(path("e")) if File.exist?(path("e"))
    end
  end

  # Two libraries in turns at one place: each frame has the name of its own.
  def test_closed_libraries
    app = served(program("callers"), "close", built("plugins/call_a.so"), built("plugins/call_b.so"), options: ["stacks:1"])
    assert_equal "done", app.hear
    stacks = assert_adds_up(app)
    names = stacks.map { |s| s.frames.map(&:name) & %w[a_takes a_calls b_takes b_calls] }.uniq
    assert_empty names - [[], %w[a_takes a_calls], %w[b_takes b_calls]]
    assert_includes names, %w[a_takes a_calls]
    assert_includes names, %w[b_takes b_calls]
  end

  def test_auto_is_the_default
    options = [[], ["stacks:auto"]].map do |given|
      at = path("auto#{given}")
      app = served_ruby(MIXED + LOOP, options: given, at: at)
      app.hear
      done(app, "work 20")
      s = stats(at: at)
      assert_operator s["stacks_rate"], :>=, 64 << 10
      assert_equal 0, s["stacks_rate"] & (s["stacks_rate"] - 1), "doubled or halved"
      assert_operator s["stacks_samples"], :>, 0
      assert_operator assert_adds_up(app, at: at).count { |x| x.frames.size > 1 }, :>, 0
      s["options"]
    end
    assert_equal ["auto"], options.map { |o| o["stacks"] }.uniq
  end

  def test_off
    [["stacks:off"], ["stacks:0"]].map do |options|
      app = served_ruby(MIXED + LOOP, options: options, at: path("off#{options}"))
      app.hear
      done(app, "work 20")
      s = stats(at: path("off#{options}"))
      assert_equal [0, 0, 0, 0], s.values_at("stacks_rate", "stacks_samples", "stacks_dropped", "stacks_ns")
      stacks = assert_adds_up(app, at: path("off#{options}"))
      assert_equal [1], stacks.map { |x| x.frames.size }.uniq, "each location stands for itself"
    end
  end

  # Tables begin small.
  def test_memory_of_a_small_program
    bytes = ["off", "auto"].map do |rate|
      app = stacked(MIXED, rate: rate, at: path(rate), options: "objects:off") # whose samples come a second later
      done(app, "work 3")
      stats(at: path(rate))["tracker_bytes"]
    end
    assert_in_delta bytes.first, bytes.last, 320_000
    assert_operator bytes.first, :<, bytes.last
  end

  def test_wrong_values
    ["on", "-1", "64q", "64k ", "1.5m", "auto2", "99999999999999999999"].each do |value|
      run = mwrap_run(RUBY, "--disable=gems", "-e", "1", options: "stacks:#{value}")
      assert_match(/\Amwrap: .*stacks.*: write/, run.stderr, value)
    end
  end
end
