#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Every allocation is counted at the Ruby line that was executing: in blocks,
# evals, methods redefined in a loop, callbacks from C, exceptions, Fibers,
# threads, Ractors and blocking calls, and after compaction. Both ways of finding
# the line are tried, with and without YJIT, where this Ruby has it.

require_relative "lib/tap"

class TestLines < Minitest::Test
  CASES = File.expand_path("lines/cases.rb", __dir__)
  SOURCE = File.readlines(CASES)

  def line_of(name)
    n = SOURCE.index { |l| l.end_with?("# LINE #{name}\n") } or flunk "no line for #{name}"
    "#{CASES}:#{n + 1}"
  end

  RUNS = {} # rubocop:disable Style/MutableConstant

  # Runs the cases, once for each environment; returns their sizes and where each size was counted:
  # { size => { location => blocks live } }.
  def where_by_size(env)
    RUNS[env] ||= begin
      code = <<~RUBY
        require "json"
        load #{CASES.dump}
        require "mwrap"
        found = Hash.new { |h, k| h[k] = Hash.new(0) }
        wanted = SIZES.values.to_h { |s| [s + 1, s] }
        Mwrap.each do |location, |
          # native ones take long to look up one by one, and only one is wanted
          next if location.end_with?("]") && !location.include?("ffi")
          line = location.split(" < ")[0] # without the callers of the option bt
          Mwrap[location]&.each { |size, _| found[wanted[size]][line] += 1 if wanted[size] }
        end
        puts found.to_json
      RUBY
      r = mwrap_run(RUBY, "-W:no-experimental", "-I", LIB, "-e", code, env: env)
      assert r.status.success?, r.stderr
      sizes, found = r.stdout.lines
      [Marshal.load([sizes.chomp].pack("H*")), JSON.parse(found).transform_keys(&:to_i)]
    end
  end

  def check(name, location, env = {}, n: 40)
    sizes, found = where_by_size(env)
    assert_equal({ location => n }, found[sizes.fetch(name)], "#{name} #{env}")
  end

  PLAIN = %i[grab block nested_block callback before_raise ensure rescue fiber fibers enumerator thread
             no_gvl no_gvl_thread array_each kernel_tap integer_times define_method proc fiber_of_thread
             compacted fiber_compacted auto_compact ractor ractor_fiber main_of_ractors].freeze

  # Compiled from the first call on; the environment reaches Ruby through every exec.
  YJIT = { "RUBYOPT" => "--yjit --yjit-call-threshold=1" }.freeze
  HAS_YJIT = system(RUBY, "--yjit", "-e", "exit RubyVM::YJIT.enabled?", out: File::NULL, err: File::NULL)

  def test_yjit_is_tried
    skip "this Ruby has no YJIT" unless HAS_YJIT
    r = mwrap_run(RUBY, "-e", "p RubyVM::YJIT.enabled?", env: YJIT)
    assert_equal "true\n", r.stdout, r.stderr
  end

  WAYS = [[{}, "fast"], [{ "MWRAP_RUBY_PUBLIC" => "1" }, "public"], [{ "MWRAP" => "bt:4" }, "with_callers"]]
  WAYS << [YJIT, "yjit"] << [YJIT.merge("MWRAP_RUBY_PUBLIC" => "1"), "yjit_public"] if HAS_YJIT

  WAYS.each do |env, way|
    PLAIN.each do |name|
      next if way.end_with?("public") && name.start_with?("no_gvl") # needs the GVL: see below
      define_method(:"test_#{name}_#{way}") { check(name, line_of(name), env) }
    end

    define_method(:"test_eval_#{way}") { check(:eval, "evaluated.rb:77", env) }

    define_method(:"test_eval_with_moved_line_#{way}") do
      n = SOURCE.index { |l| l.include?("size_of(:eval_moved)") } + 1
      check(:eval_moved, "#{CASES}:#{n + 102}", env)
    end

    define_method(:"test_methods_redefined_#{way}") do
      10.times { |i| check(:"redefined#{i}", "redefined.rb:#{i + 1}", env, n: 30) }
    end

    define_method(:"test_line_above_65535_#{way}") { check(:far, "far.rb:70001", env) }

    define_method(:"test_#{way}_way_is_in_use") do
      r = mwrap_run(RUBY, "-I", LIB, "-rjson", "-e", <<~RUBY, env: env)
        require "mwrap"
        1000.times { "x" * 1000 }
        p Mwrap.stats.fetch(:ruby_lookup)
        p Mwrap.stats.fetch(:mode), Mwrap.stats.fetch(:mode_why), Mwrap.stats.fetch(:gc_count)
        Mwrap.pause
        p Mwrap.stats.fetch(:mode), Mwrap.stats.fetch(:mode_why)
      RUBY
      lookup, mode, why, count, *paused = r.stdout.lines(chomp: true).map { |l| JSON.parse(l) }
      assert_equal way.end_with?("public") ? "public" : "fast", lookup, r.stderr
      # the code of Ruby's own function is read for that, on this CPU alone. On others some collections tell where it is
      expected = if RbConfig::CONFIG["host_cpu"] != "x86_64" && count != "memory"
                   ["none", "GC.count can't be read where it is", "call"]
                 elsif lookup == "fast"
                   ["ruby", "", "memory"]
                 else
                   ["none", "Ruby's lines are asked for by its public calls", "memory"]
                 end
      assert_equal expected, [mode, why, count]
      assert_equal ["none", "tracking is off"], paused
    end
  end

  def test_gc_count_of_a_ruby_with_frame_pointers
    script = 'require "mwrap"; p Mwrap.stats.values_at(:gc_count, :generation)'
    r = mwrap_run(RUBY, "-I", LIB, "-e", script, env: { "LD_PRELOAD" => "#{TRACKER}:#{BUILT}/preload/gc_count.so" })
    count, generation = JSON.parse(r.stdout)
    shared = RbConfig::CONFIG["ENABLE_SHARED"] == "yes"
    assert_equal "memory", count, r.stderr if RbConfig::CONFIG["host_cpu"] == "x86_64"
    assert_equal 7, generation if shared
  end

  # Collections of both kinds, until the count is read where it is, or for good.
  COUNTS = <<~'RUBY'
    require "mwrap"
    600.times do |i|
      20_000.times { "k" * 2000 } # no slot of Ruby's heap has room for it: the tracker looks after so many bytes of malloc
      GC.start if i % 5 == 0
      break if Mwrap.stats[:gc_count] == "memory"
    end
    GC.disable
    before = GC.count
    generation = Mwrap.stats[:generation]
    GC.start
    p Mwrap.stats.values_at(:gc_count, :mode, :mode_why), generation - before, Mwrap.stats[:generation] - GC.count
  RUBY

  def counts(times)
    r = mwrap_run(RUBY, "-I", LIB, "-e", COUNTS,
                  env: { "LD_PRELOAD" => "#{TRACKER}:#{BUILT}/preload/gc_count_asked.so", "GC_COUNT_TIMES" => times.to_s })
    assert_success r
    r.stdout.lines.map { |l| JSON.parse(l) }
  end

  if RbConfig::CONFIG["ENABLE_SHARED"] == "yes" # else nothing can stand in for Ruby's function
    def test_gc_count_is_found_by_its_values_where_its_code_says_nothing
      assert_equal [["memory", "ruby", ""], 0, 0], counts(1)
    end

    def test_no_word_stands_in_for_a_count_that_is_nowhere
      assert_equal ["call", "none", "GC.count can't be read where it is"], counts(3)[0]
    end
  end

  # Code that was given no line counts where it was called: each caller's own, whoever came first.
  UNLINED = <<~'RUBY'
    require "mwrap"
    require "json"
    eval("def none(n) = Array.new(n) { 'n' * 1701 }", nil, "none.rb", 0)
    eval("def below(n)\n  none(n)\nend", nil, "below.rb", -1)
    eval("def inside(n) = none(n).tap { |a| a.map! { |s| s + 'i' } }", nil, "inside.rb", 1)
    $kept = []
    20.times do |i|
      $kept << none(100)
      $kept << below(100)
      $kept << [100].map { |n| none(n) }[0] << 1.then { below(50) }
      $kept << inside(10)
      Thread.new { $kept << none(30) }.join
    end
    found = Hash.new { |h, k| h[k] = Hash.new(0) }
    Mwrap.each { |l, | Mwrap[l]&.each { |size, _| found[size][l.split(" < ")[0]] += 1 if [1702, 1703].include?(size) } }
    puts JSON.generate(found)
  RUBY

  WAYS.each do |env, way|
    define_method(:"test_code_without_a_line_#{way}") do
      r = mwrap_run(RUBY, "-W0", "-I", LIB, "-e", UNLINED, env: env)
      assert r.status.success?, r.stderr
      found = JSON.parse(r.stdout)
      assert_equal({ "-e:8" => 2000, "-e:9" => 2000, "-e:10" => 3000, "-e:12" => 600 }, found["1702"].reject { |l, _| l == "inside.rb:1" })
      assert_equal({ "inside.rb:1" => 200 }, found["1703"])
    end
  end

  # The self-checks and the doubts find nothing wrong in what programs do.
  BUSY = <<~'RUBY'
    require "mwrap"
    %w[json erb set ripper optparse socket psych open3 digest openssl zlib stringio strscan date tempfile].each do |l|
      require l
    rescue LoadError
      # not in this Ruby
    end
    Gem::Specification.each(&:name)
    files = $LOADED_FEATURES.grep(/\.rb\z/).select { |f| File.exist?(f) }.first(120)
    6.times.map do |k|
      Thread.new do
        files.each_with_index do |f, i|
          next unless i % 6 == k
          text = File.read(f).scrub
          RubyVM::InstructionSequence.compile(text) rescue SyntaxError
          JSON.parse(JSON.generate(text.lines))
          Psych.load(Psych.dump(text.lines.first(30)))
          ERB.new("<% 10.times { |n| %><%= n %><% } %>").result
        end
      end
    end.each(&:join)
    300.times { Thread.new { "s" * 3000 }.join }
    50.times { Thread.new { loop { "k" * 900 } }.tap { Thread.pass }.kill.join }
    20.times { Ractor.new { "s" * 3000 }.public_send(Ractor.method_defined?(:value) ? :value : :take) }
    20.times { Open3.capture2e("true") }
    TracePoint.new(:line, :call, :c_call) { |t| t.path.dup }.enable { 200.times { [1, 2].sort_by { |x| -x }.map(&:to_s) } }
    def deep(n) = [n].each { |x| deep(x + 1) }
    begin
      deep(0)
    rescue SystemStackError
      puts "deep"
    end
    500.times do |i|
      c = Class.new do
        define_method(:a) { |*x, **k, &b| "#{i}" * 900 }
        def method_missing(*) = "m" * 900
        def respond_to_missing?(*) = true
      end
      c.new.then { |o| o.a(1, b: 2); o.foo; o.instance_eval { a } }
    end
    eval("1000.times { 'e' * 900 }", binding, "zero.rb", 0)
    eval("1000.times { 'e' * 900 }", binding, "below.rb", -7)
    puts Mwrap.stats.values_at(:ruby_lookup, :ruby_why).inspect
  RUBY

  [[{}, ""], [{ "MWRAP" => "bt:6" }, "_with_callers"], *([[YJIT, "_yjit"]] if HAS_YJIT)].each do |env, name|
    define_method(:"test_the_fast_way_stays_in_use#{name}") do
      r = mwrap_run(RUBY, "-W0", "-I", LIB, "-e", BUSY, env: env)
      assert r.status.success?, "#{r.status} #{r.stderr[0, 2000]}"
      assert_equal ["deep", '["fast", ""]'], r.stdout.lines(chomp: true), r.stderr[0, 2000]
    end
  end

  # Without the GVL the public calls may not be made: the native caller then.
  def test_no_gvl_public
    sizes, found = where_by_size({ "MWRAP_RUBY_PUBLIC" => "1" })
    where = found[sizes.fetch(:no_gvl)]
    assert_equal 40, where.values.sum
    assert_match(/libffi/, where.keys.join)
  end

  # Ruby's own memory is one row, and not the addresses in libruby that asked for it.
  def test_rubys_start_is_a_row_of_its_own
    [{}, { "MWRAP_RUBY_PUBLIC" => "1" }].each do |env|
      rows = mwrap_run(RUBY, "--disable=gems", "-e", "$kept = 'k' * 5000", env: env).rows
      start = rows.find { |r| r.location == "(ruby, starting)" }
      refute_nil start
      assert_operator start.allocations, :>, 1000
      assert_operator start.total, :>, rows.select { |r| r.location.match?(%r{libruby|/ruby[^/]*\(}) }.sum(&:total)
      assert(rows.any? { |r| r.location == "-e:1" })
    end
    refute(mwrap_run("/bin/sh", "-c", "true").rows.any? { |r| r.location.start_with?("(ruby") })
  end
end
