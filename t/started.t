#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Mwrap.start and Mwrap.stop in a process that began without the tracker: from then on the counts are
# exact, and cost what they cost with the preload; what was there before is in no count.

require_relative "lib/served"
require_relative "lib/allocators"
require_relative "lib/callgrind"

class StartedTest < Minitest::Test
  include HttpdTest
  include Served
  include Callgrind

  PLUGIN = File.join(MwrapTest::BUILT, "plugins/table.so")

  # A script in a process without the tracker; what it prints by `p`, as values.
  def ruby(script, *args, env: {}, flags: [], ok: true)
    File.write(path("app.rb"), "require 'mwrap'\n#{script}")
    run = run_command(MwrapTest::RUBY, "--disable=gems", *flags, "-I#{MwrapTest::LIB}", path("app.rb"), *args, env: env)
    assert run.status.success?, "#{run.status} #{run.stderr}#{run.stdout}" if ok
    assert_equal "", run.stderr if ok
    run
  end

  def values(...) = ruby(...).stdout.lines.map { |line| eval(line) } # rubocop:disable Security/Eval

  # Live blocks of the script's line, which is the file's next one, with exactly so many bytes: Ruby
  # itself allocates a little at a line, such as what describes a page of its heap. A string of 1,500 bytes
  # never fits into its object.
  AT = <<~'RUBY'
    def location(line) = Mwrap["#{__FILE__}:#{line + 1}"]
    def live(line, bytes) = location(line)&.each&.count { |size, _| size == bytes } || 0
  RUBY

  def test_counts_begin_with_the_start
    counts = values(<<~RUBY)
      def make(n) = Array.new(n) { "x" * 1500 }
      #{AT}
      before = make(500)
      p Mwrap.tracking?, Mwrap.stats[:how], location(1)
      p Mwrap.start
      GC.disable
      kept = make(1000)
      make(250)
      p Mwrap.tracking?, Mwrap.stats.values_at(:how, :ruby_lookup, :mode), live(1, 1501)
      p Mwrap.stats[:since].between?(0.001, 60), Mwrap.stats[:uptime].between?(0, 60)
      kept.first(600).each(&:clear)
      p live(1, 1501), location(1).frees.between?(600, 620)
    RUBY
    assert_equal [false, "none", nil, nil, true, %w[started fast ruby], 1250, true, true, 650, true], counts
  end

  # 20,000 strings from before, of all sizes: in no count, neither when they are freed nor when they grow.
  def test_blocks_from_before
    stats = values(<<~RUBY).last
      old = Array.new(20_000) { |i| "o" * (30 + i % 5000) }
      big = Array.new(50) { |i| "b" * (300_000 + i) }
      Mwrap.start
      old.first(1000).each { |s| s << "grows" * 200 }
      old = big = nil
      GC.start
      p Mwrap.stats
    RUBY
    assert_equal [0, 0, 0], stats.values_at(:double_frees, :unknown_frees, :overruns)
    assert_operator stats[:allocations], :>, 900
    assert_equal stats[:allocations], stats[:frees] + stats[:live]
  end

  def test_four_threads_allocate_while_it_starts_and_stops
    last = values(<<~RUBY).last
      def make = Array.new(50) { |i| "t" * (1500 + i) }
      #{AT}
      stop = false
      threads = Array.new(4) { Thread.new { kept = []; until stop; kept = [make, kept[0]]; eval("'e' * 900"); end } }
      200.times { |i| Mwrap.start; sleep 0.001 if i % 10 == 0; Mwrap.stop; make }
      Mwrap.start
      stop = true
      threads.each(&:join)
      threads = nil
      Mwrap.stop
      Mwrap.start
      GC.disable
      kept = make
      p [(0...50).map { |i| live(1, 1501 + i) }.uniq, Mwrap.stats[:lost], Mwrap.stats[:paused]]
    RUBY
    assert_equal [[1], 0, false], last
  end

  # The same by native threads, which need no Ruby lock, while one loads and closes a library, and
  # while the process forks.
  def test_native_threads_allocate_and_load_while_it_starts_and_stops
    out = values(<<~RUBY)
      require "fiddle"
      threads = Fiddle::Function.new(Fiddle.dlopen(#{PLUGIN.inspect})["table_threads"], [Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT)
      library = #{File.join(MwrapTest::BUILT, "plugins/swap_a.so").inspect}
      threads.call(5, library)
      pids = []
      100.times do |i|
        Mwrap.start
        sleep 0.0005
        pids << fork { exit!(0) } if i % 10 == 0
        Mwrap.stop
      end
      turns = threads.call(0, nil)
      p turns > 10_000, pids.all? { |pid| Process.wait2(pid)[1].success? }
      p Mwrap.stats.values_at(:lost, :overruns, :double_frees, :unknown_frees)
    RUBY
    assert_equal [true, true, [0, 0, 0, 0]], out
  end

  # A start takes a while beside threads that allocate in one library, and free in another.
  def test_no_block_is_left_of_those_that_began_beside_a_start
    8.times do
      left = values(<<~RUBY)
        require "fiddle"
        threads = Fiddle::Function.new(Fiddle.dlopen(#{PLUGIN.inspect})["table_threads"], [Fiddle::TYPE_INT, Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT)
        library = #{File.join(MwrapTest::BUILT, "plugins/swap_a.so").inspect}
        threads.call(12, library)
        sleep 0.01
        ours = lambda do
          [].tap do |all|
            Mwrap.each(0) { |location, _, allocations, frees, *| all << [location.to_s, allocations, frees] if location.to_s.match?(/libc\\.so|table\\.so/) }
          end
        end
        Mwrap.start
        sleep 0.02
        6000.times { ours.call.sum { |_, allocations, _| allocations } > 100 ? break : sleep(0.01) } # threads may not run yet
        threads.call(0, nil)
        p ours.call.sum { |_, allocations, _| allocations } > 100, ours.call.reject { |_, allocations, frees| allocations == frees }
      RUBY
      assert_equal [true, []], left
    end
  end

  def test_stop_leaves_the_counts_and_start_goes_on
    counts = values(<<~RUBY)
      def make(n) = n.times { ($kept ||= []) << "x" * 1500 }
      #{AT}
      GC.disable
      Mwrap.start
      make(100)
      Mwrap.stop
      make(1000)
      p live(1, 1501), Mwrap.paused?
      $kept.clear
      GC.enable
      GC.start
      GC.disable
      Mwrap.start
      p live(1, 1501), location(1).then { |l| l.allocations == l.frees }, Mwrap.paused?
      make(10)
      p live(1, 1501), Mwrap.stats.values_at(:double_frees, :unknown_frees)
    RUBY
    assert_equal [100, true, 0, true, false, 10, [0, 0]], counts
  end

  def test_a_thread_that_began_after_the_stop_goes_on
    counts = values(<<~RUBY)
      def make(n) = Array.new(n) { "x" * 1500 }
      #{AT}
      GC.disable
      Thread.new { Mwrap.start }.join
      Mwrap.stop
      kept = Thread.new { Mwrap.start; make(100) }.value
      p live(1, 1501)
    RUBY
    assert_equal [100], counts
  end

  TABLE = <<~RUBY
    require "fiddle"
    def function(name, *types) = Fiddle::Function.new(LIBRARY[name], types, Fiddle::TYPE_VOID)
    INT, SIZE = Fiddle::TYPE_INT, Fiddle::TYPE_SIZE_T
    def stats = Mwrap.stats.slice(:allocations, :frees, :total)
  RUBY

  def test_a_table_of_functions_in_a_library_from_before
    counts = values(<<~RUBY)
      #{TABLE}
      LIBRARY = Fiddle.dlopen(#{PLUGIN.inspect})
      keep, fill, drop = function("table_keep", INT, SIZE), function("table_fill", SIZE), function("table_drop")
      copy, turn = function("table_copy"), function("table_turn", INT, SIZE)
      copy.call
      turn.call(1, 10)
      fill.call(5000)
      Mwrap.start
      line = __LINE__ + 1
      keep.call(1000, 777)
      p Mwrap["\#{__FILE__}:\#{line}"].then { |l| [l.live, l.live_bytes] }
      drop.call
      turn.call(1000, 333) # taken by the copy from before, so not seen; grown and freed by the table
      p Mwrap["\#{__FILE__}:\#{line + 3}"].then { |l| [l.allocations, l.total] }
      Mwrap.stop
      turn.call(1000, 333)
      copy.call
      turn.call(1000, 333)
      Mwrap.start
      copy.call
      Mwrap.stop
      turn.call(1000, 333) # by the hooks' addresses, while nothing is tracked
      Mwrap.start
      p Mwrap.stats.values_at(:double_frees, :unknown_frees, :lost)
    RUBY
    assert_equal 1000, counts[0][0] / 1000 * 1000
    assert_in_delta 777_000, counts[0][1], 2000
    assert_in_delta 1000, counts[1][0], 20
    assert_in_delta 666_000, counts[1][1], 5000
    assert_equal [0, 0, 0], counts[2]
  end

  def test_a_library_loaded_later
    [["lazily", {}], ["at once", { "LD_BIND_NOW" => "1" }]].each do |how, env|
      counts = values(<<~RUBY, env: env)
        require "fiddle"
        Mwrap.start
        #{TABLE}
        LIBRARY = Fiddle.dlopen(#{PLUGIN.inspect})
        keep = function("table_keep", INT, SIZE)
        line = __LINE__ + 1
        keep.call(1000, 777)
        p Mwrap["\#{__FILE__}:\#{line}"].then { |l| [l.live, l.live_bytes] }
      RUBY
      assert_equal 1000, counts[0][0] / 1000 * 1000, how
      assert_in_delta 777_000, counts[0][1], 2000, how
    end
  end

  # C++, with its standard library in a private scope: loaded before the start, and after it.
  def test_operator_new
    %w[before after].each do |at|
      counts = values(<<~RUBY, at)
        require "fiddle"
        P = Fiddle::TYPE_VOIDP
        load = lambda do
          lib = Fiddle.dlopen(#{File.join(MwrapTest::BUILT, "plugins/cxxplug.so").inspect})
          @take = Fiddle::Function.new(lib["plug_new"], [Fiddle::TYPE_SIZE_T], P)
          @give = Fiddle::Function.new(lib["plug_delete"], [P], Fiddle::TYPE_VOID)
        end
        load.call if ARGV[0] == "before"
        old = @take&.call(5000)
        Mwrap.start
        load.call if ARGV[0] == "after"
        @give.call(old) if old
        line = __LINE__ + 1
        kept = Array.new(1000) { @take.call(5000) }
        live = -> { Mwrap["\#{__FILE__}:\#{line}"].each.count { |size, _| size == 5000 } }
        p live.call
        kept.each { |block| @give.call(block) }
        p live.call, Mwrap.stats.values_at(:lost, :overruns)
      RUBY
      assert_equal [1000, 0, [0, 0]], counts, at
    end
  end

  # With an exit dump; the process ends by a signal, as Puma does.
  def test_a_dump_at_the_end
    run = ruby(<<~RUBY, path("dump"), env: MwrapTest::WITHOUT_JIT, ok: false)
      Mwrap.start("bt:1,dump_format:tsv,dump_path:\#{ARGV[0]}")
      def make = "x" * 5000
      KEPT = Array.new(100) { make }
      Process.kill(:TERM, $$)
      sleep
    RUBY
    assert_equal [Signal.list["TERM"], ""], [run.status.termsig, run.stderr]
    rows = Dump.tsv(File.binread(path("dump"))).flatten
    row = rows.find { |r| r.location.end_with?("app.rb:3 < #{path("app.rb")}:4") } or flunk rows.join("\n")
    assert_includes 100..110, row.live
    assert_includes 500_100..501_000, row.live_bytes
  end

  # An instance from before the start answers, too.
  def test_in_rack
    answers = values(<<~RUBY, env: MwrapTest::WITHOUT_JIT)
      require "mwrap_rack"
      APP = MwrapRack.new
      def get(path)
        env = { "REQUEST_METHOD" => "GET", "PATH_INFO" => path, "QUERY_STRING" => "", "SCRIPT_NAME" => "" }
        status, _, body = APP.call(env)
        text = +""
        body.each { |part| text << part }
        [status, text]
      end
      p get("/stats.json")[0]
      Mwrap.start
      KEPT = Array.new(100) { "r" * 9000 }
      row = -> { get("/each/0.tsv").then { |status, text| [status, text[/^(\\d+)\\t.*app.rb:13\\t/, 1].to_i / 9001] } }
      p row.call, get("/stats.json")[1].include?('"how":"started"'), get("/verdict")[0]
      Mwrap.stop
      p row.call
    RUBY
    assert_equal [503, [200, 100], true, 200, [200, 100]], answers
  end

  def test_a_forked_child_goes_on
    counts = values(<<~RUBY)
      def make(n) = Array.new(n) { "x" * 1500 }
      #{AT}
      GC.disable
      Mwrap.start
      kept = make(100)
      r, w = IO.pipe
      pid = fork do
        more = make(50)
        w.puts live(1, 1501)
        Mwrap.stop
        make(1000)
        Mwrap.start
        last = make(10)
        w.puts live(1, 1501)
      end
      w.close
      Process.wait(pid)
      p r.read.split.map(&:to_i), $?.success?, live(1, 1501)
    RUBY
    assert_equal [[150, 10], true, 100], counts
  end

  def test_forks_while_it_starts_and_stops
    counts = values(<<~RUBY)
      busy = Thread.new { loop { Mwrap.start; Mwrap.stop } }
      pids = Array.new(100) { fork { 'x' * 5000; Fiddle rescue 0; exit!(0) } }
      p pids.all? { |pid| Process.wait2(pid)[1].success? }
    RUBY
    assert_equal [true], counts
  end

  # Code from before the start is freed, and other code comes to its addresses. It has two lengths, since
  # a block is larger by a tail from the start on. Each line allocates 40 strings, and a little more at
  # its first call.
  def test_lines_of_old_code
    counts = values(<<~RUBY)
      def compile(name, i) = eval("proc { \#{"a = " if i.odd?}1; " + "'x' * 1500; " * 40 + "}", nil, "\#{name}.rb", 7)
      def counted(name) = Mwrap["\#{name}.rb:7"]&.allocations.to_i
      old = Array.new(20) { |i| compile("old\#{i}", i) }
      old.each(&:call)
      Mwrap.start
      old.each(&:call)
      were = (0...20).map { |i| counted("old\#{i}") }
      p were.min, were.max
      old = nil
      5.times do |turn|
        GC.start
        (0...60).each { |i| compile("new\#{turn}.\#{i}", i).call }
      end
      p (0...20).map { |i| counted("old\#{i}") } == were
      p 5.times.flat_map { |turn| (0...60).map { |i| counted("new\#{turn}.\#{i}") } }.minmax
      p Mwrap.stats[:ruby_lookup]
    RUBY
    least, most, same, new, lookup = counts
    assert_equal [true, "fast"], [same, lookup]
    assert_operator 40..50, :cover?, least..most
    assert_operator 40..50, :cover?, new[0]..new[1]
  end

  found = []
  Allocators.each { |*one| found << one }
  found.each do |name, allocator, package|
    define_method("test_on_#{name}") do
      assert allocator, "#{package} is not installed"
      counts = values(<<~RUBY, env: { "LD_PRELOAD" => allocator })
        def make(n) = Array.new(n) { |i| "x" * (1500 + i % 350 * 2) } # of odd sizes, with a NUL: Ruby's own blocks of that line have others
        #{AT}
        old = Array.new(20_000) { |i| "o" * (30 + i % 5000) }
        Mwrap.start
        kept = make(1000)
        old = nil
        GC.start
        p (0...350).sum { |i| live(1, 1501 + i * 2) }, Mwrap.stats.values_at(:double_frees, :unknown_frees, :overruns, :lost), Mwrap.stats[:mode]
        5.times { Mwrap.stop; make(100); Mwrap.start; make(100) }
      RUBY
      assert_equal [1000, [0, 0, 0, 0], "ruby"], counts
    end
  end

  # Its code takes addresses of the program's own for those of malloc and free.
  HOST = <<~C
    #include <ruby.h>
    #include <stdlib.h>

    static void *(*volatile take)(size_t);
    static void (*volatile give)(void *);

    int main(int argc, char **argv)
    {
    	take = malloc;
    	give = free;
    	ruby_sysinit(&argc, &argv);
    	RUBY_INIT_STACK;
    	ruby_init();
    	give(take(10));
    	return ruby_run_node(ruby_options(argc, argv));
    }
  C

  def test_a_program_that_is_not_position_independent
    config = RbConfig::CONFIG
    skip "this Ruby has no shared library" if config["ENABLE_SHARED"] != "yes"
    File.write(path("host.c"), HOST)
    made = run_command("cc", "-no-pie", "-fno-pic", "-O1", *%w[rubyhdrdir rubyarchhdrdir].map { |key| "-I#{config[key]}" }, "-o", path("host"),
                       path("host.c"), "-L#{config["libdir"]}", "-Wl,-rpath,#{config["libdir"]}", "-l#{config["RUBY_SO_NAME"]}")
    assert made.status.success?, made.stderr
    File.write(path("app.rb"), "require 'mwrap'\nMwrap.start\nkept = Array.new(1000) { 'x' * 1500 }\n" \
                               "p Mwrap[\"\#{__FILE__}:3\"].each.count { |size, _| size == 1501 }\nMwrap.stop\nGC.start\n")
    run = run_command(path("host"), "--disable=gems", "-I#{MwrapTest::LIB}", path("app.rb"))
    assert_equal ["1000\n", "", true], [run.stdout, run.stderr, run.status.success?]
  end

  def test_the_server_says_how
    File.write(path("app.rb"), "require 'mwrap'\nMwrap.start(ARGV[0])\n$stdout.sync = true\nputs 'on'\n$stdin.gets\nMwrap.stop\nputs 'off'\n$stdin.gets")
    app = Served::App.new(MwrapTest::RUBY, "--disable=gems", "-I#{MwrapTest::LIB}", path("app.rb"),
                          "socket:#{path}", env: { "MWRAP" => nil, "LD_PRELOAD" => nil }, err: path("err"), dump_path: path("dump"))
    @fakes << app
    wait_for_server(path)
    assert_equal "on", app.hear
    stats = JSON.parse(body("/stats.json"))
    assert_equal "started", stats["how"]
    assert_operator stats["since"], :>, 0.001
    assert_equal "off", app.ask("")
    assert_equal true, JSON.parse(body("/stats.json"))["paused"]
    assert_ends_well app
  end

  STRINGS = "GC.start; i = 0; while i < ARGV[0].to_i; 'x' * (#{MwrapTest::NO_SLOT} + (i & 63)); i += 1; end; GC.start"

  # malloc_usable_size looks if a block has a tail: one from before the start has none, and no less room than was asked
  # for. Ruby asks it up to twice for a string, from 4.0 on once.
  CHECKS = RUBY_VERSION >= "4.0" ? 12 : 24

  # In code from before the start, and in code that began with the tracker. Within the loop the GC may
  # free some blocks from before. The last collection frees all strings: else chance decides how many are left.
  def test_a_string_costs_what_it_costs_with_the_preload
    started, preload = [{}, { "LD_PRELOAD" => TRACKER }].map do |env|
      start = env.empty? ? "Mwrap.start; " : ""
      each_round(2_000, 42_000) do |n|
        callgrind("env", *env.map { |pair| pair.join("=") }, MwrapTest::RUBY, "--disable=gems", "-I#{MwrapTest::LIB}", "-rmwrap",
                  "-e", start + STRINGS, n.to_s, env: { "MWRAP" => "stacks:off" }) { |lines| in_object(lines, "/libmwrap.so") }
      end
    end
    assert_operator preload, :>, 100
    assert_includes preload * 0.99..preload * 1.01 + CHECKS, started
  end

  def refused(script, **rest)
    run = ruby(script, ok: false, **rest)
    refute run.status.success?
    run.stderr[/: ([^\n]*\))$/, 1] || run.stderr
  end

  def test_refusals
    assert_match(/the tracker is running already, since the process's start \(RuntimeError\)/, refused("Mwrap.start", env: { "LD_PRELOAD" => TRACKER }))
    assert_match(/the tracker is preloaded, so it can't be stopped: use Mwrap.pause \(RuntimeError\)/, refused("Mwrap.stop", env: { "LD_PRELOAD" => TRACKER }))
    assert_match(/the tracker is running already \(RuntimeError\)/, refused("Mwrap.start; Mwrap.start"))
    assert_match(/the tracker isn't running: call Mwrap.start first \(RuntimeError\)/, refused("Mwrap.stop"))
    assert_match(/the tracker isn't running: call Mwrap.start first \(RuntimeError\)/, refused("Mwrap.start; Mwrap.stop; Mwrap.stop"))
    assert_match(/socket: the value is missing \(ArgumentError\)/, refused("Mwrap.start('socket:')"))
    assert_match(/"nonsense": unknown option: .* \(ArgumentError\)/, refused("Mwrap.start('nonsense:1')"))
    assert_match(/malloc: not for a running process: .* \(ArgumentError\)/, refused("Mwrap.start('malloc:jemalloc')"))
    assert_match(/options: given after the first start: leave them out \(RuntimeError\)/, refused("Mwrap.start; Mwrap.stop; Mwrap.start('bt:1')"))
    assert_match(/\(TypeError\)/, refused("Mwrap.start(1)"))
  end

  def test_a_refusal_leaves_the_process_as_it_was
    counts = values(<<~RUBY)
      begin
        Mwrap.start("bt:99")
      rescue ArgumentError
        p Mwrap.tracking?
      end
      Mwrap.start("bt:2")
      p Mwrap.bt, Mwrap.stats[:how]
    RUBY
    assert_equal [false, 2, "started"], counts
  end

  def test_without_the_tracker_s_file
    copy = path("lib")
    FileUtils.mkdir_p("#{copy}/mwrap")
    FileUtils.cp([*Dir["#{MwrapTest::LIB}/*.rb"]], copy)
    FileUtils.cp([*Dir["#{MwrapTest::LIB}/mwrap/*.{rb,so}"]], "#{copy}/mwrap")
    assert_match(%r{/libmwrap.so: not there: run make, or install mwrap again \(RuntimeError\)}, refused("Mwrap.start", flags: ["-I#{copy}"]))
    File.write("#{copy}/libmwrap.so", "nothing")
    assert_match(%r{/libmwrap.so: can't be loaded: .* \(RuntimeError\)}, refused("Mwrap.start", flags: ["-I#{copy}"]))
  end

  # A Ruby::Box loads a copy, which it puts into a folder for temporary files: what lies around there is nobody's we know.
  def test_from_a_copy_of_the_extension
    copy = path("temporary")
    FileUtils.mkdir_p(copy)
    FileUtils.cp("#{MwrapTest::LIB}/mwrap/mwrap_ext.so", "#{copy}/_ruby_box_p1_2_mwrap+mwrap_ext.so")
    File.write("#{File.dirname(copy)}/libmwrap.so", "planted")
    run = run_command(RUBY, "-rfiddle", "-I#{MwrapTest::LIB}", "-e", <<~'RUBY', "#{copy}/_ruby_box_p1_2_mwrap+mwrap_ext.so")
      module Mwrap; end
      Fiddle::Function.new(Fiddle.dlopen(ARGV[0])["Init_mwrap_ext"], [], Fiddle::TYPE_VOID, need_gvl: true).call
      Mwrap.start
      p Mwrap.tracking?, Mwrap.stats[:how]
    RUBY
    assert_success run
    assert_equal "true\n\"started\"\n", run.stdout
  end

  # Ruby's own boxes, where it has them.
  def test_in_a_box
    run = run_command(RUBY, "-W0", "-I#{MwrapTest::LIB}", "-e", <<~'RUBY', env: { "RUBY_BOX" => "1" })
      require "mwrap"
      Mwrap.start
      require "mwrap_rack"
      p MwrapRack.new.call("REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => "/stats.json")[0]
    RUBY
    assert_success run
    assert_equal "200\n", run.stdout
  end

  # Results from before the start are given back to the place from which they came.
  def test_results_from_before
    counts = values(<<~RUBY)
      each = Mwrap.each
      Mwrap.each { raise "none" }
      Mwrap::HeapPageBody.each { raise "none" }
      Mwrap.start
      a = Array.new(10) { "x" * 5000 }
      p Mwrap.each.to_a.size > 0, each.to_a.size > 0
      Mwrap.quiet { Mwrap.stop; Mwrap.start; a = "q" * 1500 }
      p Mwrap["\#{__FILE__}:8"]
    RUBY
    assert_equal [true, true, nil], counts
  end
end
