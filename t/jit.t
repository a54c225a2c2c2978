#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Under YJIT and ZJIT lines and their callers are those of the interpreter, in programs made at random,
# and a program ends as it does without the tracker. ZJIT allocates while a frame has no pc yet: the
# tracker, which asked Ruby for that frame's line, crashed in most starts.
#
# SEED=7 PROGRAMS=20 ruby t/jit.t: other programs, and more of them. Each one's seed is printed.

require_relative "lib/tap"
require_relative "jit/programs"

class JitTest < Minitest::Test
  SEED = Integer(ENV.fetch("SEED", "1"))
  PROGRAMS = Integer(ENV.fetch("PROGRAMS", "1"))
  JITS = { "YJIT" => "--yjit", "ZJIT" => "--zjit" }.freeze
  HAS = JITS.to_h { |name, flag| [name, system(RUBY, flag, "-e", "exit RubyVM::#{name}.enabled?", out: File::NULL, err: File::NULL)] }

  def need(jit)
    skip "this Ruby has no #{jit}" unless HAS[jit]
  end

  # A program's output, and the way its lines were found.
  def run_made(path, *flags, env: {}, options: "")
    report = "at_exit { $stderr.puts Mwrap.stats.values_at(:ruby_lookup, :mode).to_s }"
    r = mwrap_run(RUBY, "-W0", "-I#{LIB}", "-rmwrap", *flags, "-e", "#{report}; load ARGV[0]", path, env: WITHOUT_JIT.merge(env), options: options)
    assert_success r
    [JSON.parse(r.stdout), r.stderr.lines.last.to_s.chomp]
  end

  WAYS = { "fast" => [{}, ""], "with callers" => [{}, "bt:3"], "public" => [{ "MWRAP_RUBY_PUBLIC" => "1" }, ""] }.freeze

  def each_program
    PROGRAMS.times do |i|
      in_tmp do |dir|
        seed = SEED * 1000 + i
        warn "# seed #{seed}"
        path = "#{dir}/#{JitProgram::FILE}"
        made = JitProgram.new(seed)
        File.write(path, made.source)
        yield path, "seed #{seed}", made
      end
    end
  end

  # Code that was evaluated counts at the file and line that it was given, whatever method evaluated it.
  def assert_own_files(found, made, what)
    evaluated = found.select { |size, | made.evaluated[size.to_i] }
    assert_operator evaluated.size, :>=, 2, what
    evaluated.each { |size, at| assert_equal [made.evaluated[size.to_i]], at.keys.map { |l| l.split(" < ")[0] }.uniq, "#{what}, #{size} bytes" }
  end

  def test_files_of_code_that_is_evaluated
    each_program do |path, seed, made|
      WAYS.reject { |way, | way == "public" }.each do |way, (env, options)|
        assert_own_files(run_made(path, env: env, options: options)[0], made, "#{seed}, #{way}")
      end
    end
  end

  def lines_of_programs_under(jit)
    need jit
    flag = JITS.fetch(jit)
    each_program do |path, seed, made|
      WAYS.each do |way, (env, options)|
        plain, = run_made(path, env: env, options: options)
        assert_operator plain.size, :>=, 10
        assert_own_files(plain, made, "#{seed}, #{way}") unless way == "public"
        (way == "fast" ? [1, 30] : [2]).each do |threshold|
          found, lookup = run_made(path, flag, "#{flag}-call-threshold=#{threshold}", env: env, options: options)
          [plain, found].each { |all| all.reject! { |size, | made.evaluated[size.to_i] } } if way == "public" # the method's file
          assert_equal plain, found, "#{seed}, #{way}, threshold #{threshold}: #{lookup}"
          assert_equal way == "public" ? "public" : "fast", JSON.parse(lookup)[0], "#{seed} #{way}: #{lookup}"
        end
      end
    end
  end

  def test_lines_of_programs_made_at_random_under_yjit
    lines_of_programs_under("YJIT")
  end

  def test_lines_of_programs_made_at_random_under_zjit
    lines_of_programs_under("ZJIT")
  end

  SHORT = <<~'RUBY'
    class Short
      def initialize(n) = @kept = "x" * n
      def more(x) = @kept + x.to_s
    end
    def list(n) = [n, n + 1].map { |x| "#{x}" * 30 }
    def joined(n) = list(n).join(",").split(",").each_with_object({}) { |x, h| h[x] = x * 2 }
    def keywords(n, a: 3, **) = Short.new(n).more(a)
    300.times { |i| joined(i); keywords(50, a: i); keywords(40, b: 1) }
    puts "ended"
  RUBY

  def test_starts_under_zjit
    need "ZJIT"
    20.times do |i|
      r = mwrap_run(RUBY, "--zjit", "-e", SHORT, options: i.odd? ? "bt:2" : "")
      assert_equal [true, "ended\n", ""], [r.status.success?, r.stdout, r.stderr], "start #{i}: #{r.status}"
    end
  end

  LOST = <<~'RUBY'
    require "fiddle"
    def passed(x, n) = n.zero? ? x : passed(x, n - 1)
    def lose(i) = passed([i, passed(Fiddle.malloc(528), 3)], 3).size
    def work(k) = [k, k.to_s, [k] * 3].map { |x| x.hash ^ k }.sum
    60.times { |k| 50.times { |i| lose(i) }; eval("def m#{k}(x) = x.map { |y| work(y) + #{k} }.max; 40.times { m#{k}([1, 2, 3]) }") }
    puts JSON.generate(Mwrap.holders("#{__FILE__}:3").to_h { |row| [row[:holder], row[:blocks]] })
  RUBY

  # A compiler's vectors have room that isn't written, with old addresses in it: they hold no blocks of others.
  def test_a_compiler_holds_nothing_of_others
    skip "this Ruby has no JIT" unless HAS.value?(true)
    in_tmp do |dir|
      File.write("#{dir}/lost.rb", LOST)
      JITS.slice(*HAS.select { |_, has| has }.keys).each do |jit, flag|
        r = mwrap_run(RUBY, "-W0", "-I#{LIB}", "-rjson", "-rmwrap", flag, "#{dir}/lost.rb", env: WITHOUT_JIT)
        assert_success r
        rows = JSON.parse(r.stdout)
        assert_operator rows["(nothing)"], :>=, 2950, "#{jit}: #{rows}"
      end
    end
  end

  WORK = <<~'RUBY'
    def one(x) = x.to_s * 40
    def many(n) = n.times.map { |i| one(i) }
    def more(list) = list.map { |x| x + "b" * 900 }
    300.times { more(many(20)).join }
    30.times { |k| eval("def m#{k}(x) = x.map { |y| y.to_s * 40 }.sort.first; 60.times { m#{k}([1, 2, 3]) }", binding, "made.rb", 1) }
    lines = Hash.new(0)
    Mwrap.each(0) { |where, _total, allocations| lines[where[/\(ruby, JIT.*|\w+\.rb/]] += allocations }
    puts JSON.generate([Mwrap.stats[:ruby_jit], lines.slice("work.rb", "made.rb", "(ruby, JIT compiler)")])
  RUBY

  # "apart" or not, and the allocations of WORK's lines and of the compiler.
  def work_under(jit, dir, env: {}, options: "")
    File.write("#{dir}/work.rb", WORK)
    r = mwrap_run(RUBY, "-W0", "-I#{LIB}", "-rjson", "-rmwrap", *jit, "#{dir}/work.rb", env: WITHOUT_JIT.merge(env), options: options)
    assert_success r
    JSON.parse(r.stdout)
  end

  # The file that has Ruby's functions: libruby, or a Ruby without one.
  def file_of_ruby
    maps = run_command(RUBY, "-e", "puts File.read('/proc/self/maps')").stdout
    maps[%r{/\S*libruby\S*}] || File.realpath(maps[%r{/\S*}])
  end

  def rust_symbols?(file)
    run_command("nm", file).stdout.lines.grep(/ t _(R|ZN\S+17h\h{16}E$)/).size > 100
  end

  OPTIONS = { "exact" => "", "with callers" => "bt:3" }.freeze
  NEAR = 0.02 # lines have so much of chance: seeds of Hash, tables that Ruby keeps

  def test_the_compilers_blocks_are_in_no_line
    skip "Ruby's file has no symbols" unless rust_symbols?(file_of_ruby)
    in_tmp do |dir|
      OPTIONS.each_value do |options|
        how, plain = work_under([], dir, options: options)
        assert_equal ["none", %w[made.rb work.rb]], [how, plain.keys.sort]
        JITS.slice(*HAS.select { |_, has| has }.keys).each do |jit, flag|
          how, found = work_under([flag], dir, options: options)
          assert_equal "apart", how, jit
          assert_operator found["(ruby, JIT compiler)"], :>, 10_000, jit
          assert_in_delta plain["work.rb"], found["work.rb"], plain["work.rb"] * NEAR, "#{jit} #{options}"
          assert_operator found["made.rb"], :<=, plain["made.rb"] + 20, "#{jit} #{options}"
        end
      end
    end
  end

  # A file without symbols tells nothing of the compiler: it is said, and its blocks are in the lines.
  def test_of_a_ruby_without_symbols
    need "YJIT"
    skip "YJIT isn't noticed in Ruby 3.1" if RUBY_VERSION < "3.2"
    in_tmp do |dir|
      file = file_of_ruby
      bare = "#{dir}/#{run_command("readelf", "-d", file).stdout[/SONAME.*\[(.*)\]/, 1] || "ruby"}"
      assert_success run_command("strip", "-o", bare, file)
      if file.include?("libruby")
        how, found = work_under(["--yjit"], dir, env: { "LD_LIBRARY_PATH" => dir })
        assert_equal ["lines", %w[made.rb work.rb]], [how, found.keys.sort]
      else
        r = mwrap_run(bare, "--yjit", "-I#{LIB}", "-rmwrap", "-e", "print Mwrap.stats[:ruby_jit]", env: WITHOUT_JIT)
        assert_equal ["lines", ""], [r.stdout, r.stderr]
      end
    end
  end

  HELD = <<~'RUBY'
    module Sessions
      ALL = {}
      def self.keep(i) = ALL["k#{i}"] = "x" * 1000
      def self.size_of(i) = ALL["k#{i}"].size
    end
    500.times { |i| Sessions.keep(i); Sessions.size_of(i) }
    puts JSON.generate(Mwrap.holders("#{__FILE__}:3").map { |row| row.slice(:path, :by) })
  RUBY

  # Compiled code has a constant's value at hand; the constant explains better why the value lives.
  def test_a_constant_holds_more_than_compiled_code
    in_tmp do |dir|
      File.write("#{dir}/held.rb", HELD)
      rows = { nil => nil, **JITS.slice(*HAS.select { |_, has| has }.keys) }.map do |jit, flag|
        flags = jit ? [flag, "#{flag}-call-threshold=1"] : []
        r = mwrap_run(RUBY, "-W0", "-I#{LIB}", "-rjson", "-rmwrap", *flags, "#{dir}/held.rb", env: WITHOUT_JIT)
        assert_success r
        [jit, JSON.parse(r.stdout)[0]]
      end
      rows.each { |jit, row| assert_equal %w[vm Object::Sessions Sessions::ALL Hash], row["path"].first(4), jit.inspect }
    end
  end

  # The lines of what runs later are ZJIT's: it is noticed before it compiles anything.
  def test_zjit_is_enabled_later
    need "ZJIT"
    skip "this Ruby can't enable ZJIT later" unless run_command(RUBY, "-e", "RubyVM::ZJIT.enable").status.success?
    each_program do |path, seed|
      plain, = run_made(path)
      found, lookup = run_made(path, "-e", "RubyVM::ZJIT.enable")
      assert_equal plain, found, "#{seed}: #{lookup}"
      assert_equal "fast", JSON.parse(lookup)[0]
    end
  end
end
