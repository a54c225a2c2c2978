#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The gate: mwrapctl check, assert_no_leak, leak_memory and Mwrap::CheckTask; what they say, how they
# end, and what they don't take for a leak. t/leak_programs.t has many programs, t/leak_gems.t real gems.
require_relative "lib/tap"
$LOAD_PATH.unshift(MwrapTest::LIB)
require "mwrap/check"
require_relative "leaks/gems"

module LeakCheckTest
  include MwrapTest

  CTL = File.join(MwrapTest::ROOT, "lib/exe/mwrapctl")
  LEAKS = <<~RUBY
    KEPT = []
    def step = KEPT << "x" * 1500
  RUBY
  HELD = /; held by String: vm → Object::KEPT → Array → String/
  LINE = /\Aleak: step.rb:2: loses 1 block \(1501 bytes\) of each call#{HELD}    rounds 10 30 10 30 20\n\z/
  QUIET = { "GITHUB_ACTIONS" => nil, "GITHUB_WORKSPACE" => nil }.freeze

  def setup = @dir = Dir.mktmpdir("mwrap-t")
  def teardown = FileUtils.rm_rf(@dir)

  def write(name, text) = File.join(@dir, name).tap { |path| File.write(path, text) }

  # mwrapctl check of a script, in its folder
  def check(script, *options, name: "step.rb", env: {}, **rest)
    write(name, script)
    run_command(RUBY, CTL, "check", *options, name, chdir: @dir, env: QUIET.merge(env), **rest)
  end

  def assert_ends(status, run, stdout: "", stderr: "")
    assert_operator stdout, :===, run.stdout, run.stderr
    assert_operator stderr, :===, run.stderr
    assert_equal status, run.status.exitstatus, run.stderr
  end

  # ruby's output for a script, with gems
  def ruby(name, text, *args, flags: [], env: {})
    run_command(RUBY, "-I#{LIB}", *flags, write(name, text), *args, chdir: @dir,
                env: QUIET.merge(LeakGems.env(LeakGems.home(ROOT)), env))
  end
end

class MwrapctlCheckTest < Minitest::Test
  include LeakCheckTest

  def test_a_leak = assert_ends(1, check(LEAKS), stdout: LINE)

  def test_nothing_leaks
    assert_ends 0, check("puts 'hello'\ndef step = 'x' * 1500\n"), stdout: "clean: step.rb\n", stderr: "hello\n"
  end

  def test_as_json
    leak = JSON.parse(check(LEAKS, "--json").stdout).fetch(0)
    assert_equal [1, 1501, nil, [10, 30, 10, 30, 20], [10, 30, 10, 30, 20]],
                 leak.values_at("blocks_per_call", "bytes_per_block", "objects", "rounds", "blocks")
    assert_equal "#{File.realpath(@dir)}/step.rb:2", leak["location"]
    assert_equal "String", leak.dig("held", "by")
    assert_operator leak.dig("held", "by_nothing"), :<, 20
    assert_ends 0, check("puts 'hello'\ndef step = nil", "--json"), stdout: "[]\n", stderr: "hello\n"
    assert_ends 2, check("def step = raise('no')", "--json"), stdout: "[]\n", stderr: "can't tell: step raised RuntimeError at step.rb:1: no\n"
  end

  def test_rounds_and_warmup
    run = check("#{LEAKS}at_exit { warn KEPT.size }", "--warmup", "7", "--rounds", "5,11,5")
    # two series, or up to four if a JIT compiles the step meanwhile; Ruby's C functions allocate for it, too
    assert_ends 1, run, stdout: /    rounds #{JIT ? "[5-7]" : 5} 11 5\n\z/, stderr: /\A(49|70|91)\n\z/
  end

  def test_it_can_not_be_told
    { "def step = raise('hm')" => "step raised RuntimeError at step.rb:1: hm",
      "def step = Thread.exit" => "step ended its thread",
      "def step = exit(0)" => "step raised SystemExit at step.rb:1: exit",
      "def step = exit!(0)" => "step.rb: ended before the rounds did (status 0)",
      "def step = Process.kill(:KILL, $$)" => "step.rb: ended before the rounds did (signal KILL)",
      "def other = 1" => "step.rb: defines no step: write def step",
      "raise 'early'" => "step.rb: raised RuntimeError at step.rb:1: early",
      "require 'mwrap'; def step = Mwrap.pause" => "tracking was stopped meanwhile" }.each do |script, reason|
      assert_ends 2, check(script), stderr: "can't tell: #{reason}\n"
    end
    assert_ends 2, check("x = ("), stderr: /\Acan't tell: step.rb: raised SyntaxError/
  end

  def test_wrong_use
    assert_ends 2, run_command(RUBY, CTL, "check", "none.rb", chdir: @dir), stderr: "mwrapctl: none.rb: No such file or directory\n"
    assert_ends 2, run_command(RUBY, CTL, "check", @dir), stderr: "mwrapctl: #{@dir}: is not a file: name one\n"
    assert_ends 2, check(LEAKS, "--rounds", "10,10,10"),
                stderr: "mwrapctl: rounds: [10, 10, 10]: too few to judge: use three numbers of calls or more, not all the same\n"
    assert_ends 2, check(LEAKS, "--suppressions", "none"), stderr: "mwrapctl: none: No such file or directory\n"
    write("known", "# known\n\nlaek:x\n")
    assert_ends 2, check(LEAKS, "--suppressions", "known"), stderr: "mwrapctl: known:3: not a suppression: write leak:PATTERN\n"
  end

  # Variables of objects that have no room for them, in tables of Ruby's own; buffers of an IO. A slot has room for a few
  # variables of a String from Ruby 4.0 on.
  OWNERS = <<~RUBY
    KEPT = []
    def step
      KEPT << "abc".dup.tap { |s| #{NO_SLOT / 8 + 10}.times { |i| s.instance_variable_set("@v\#{i}", i) } }
      KEPT << proc { 1 }.tap { |p| 3.times { |i| p.instance_variable_set("@v\#{i}", i) } }
      KEPT << Fiber.new { 1 }.tap { |f| 3.times { |i| f.instance_variable_set("@v\#{i}", i) } }
      KEPT << IO.pipe.tap { |r, w| w << "q"; w.close; r.getc }[0]
    end
  RUBY

  def test_owners_in_tables_of_rubys_own
    assert_ends 0, check(OWNERS, "--native"), stdout: "clean: step.rb\n"
    run = check(OWNERS)
    assert_ends 1, run, stdout: /held by IO: vm → Object::KEPT → Array → IO/
    refute_match(/held by nothing|held by lib/, run.stdout)
    assert_match(/step.rb:3: .*held by String: vm → Object::KEPT → Array → String/, run.stdout)
  end

  # The line has more blocks from before, and another owner has them.
  def test_the_owner_of_what_the_calls_left
    run = check("def text = 'x' * 1500\nOLD = Array.new(2000) { text }\nNEW = {}\ndef step = NEW[NEW.size] = text\n")
    assert_ends 1, run, stdout: /\Aleak: step.rb:1: loses 1 block \(1501 bytes\) of each call; held by String: vm → Object::NEW → Hash → String/
  end

  # A finalizer that takes a Mutex fails in a collection that an allocation begins, as an app's do.
  def test_collections_as_an_app_has_them
    assert_ends 1, check(<<~'RUBY', "--native"), stdout: /\Aleak: step.rb:4: loses (about )?\S+ blocks? \(2000 bytes\) of each call; \d+ held by nothing/
      require "fiddle"
      LOCK = Mutex.new
      class Handle
        def initialize = ObjectSpace.define_finalizer(self, Handle.release(Fiddle.malloc(2000)))
        def self.release(p) = proc { LOCK.synchronize { Fiddle.free(p) } rescue 0 }
      end
      def step = (Handle.new; Array.new(20) { "x" * 100 }; nil)
    RUBY
  end

  # The script's own json, in place of one that mwrapctl needs.
  def test_the_script_has_its_own_libraries
    write("json.rb", "JSON = :mine\n")
    assert_ends 0, check("$LOAD_PATH.unshift(__dir__); require 'json'; raise unless JSON == :mine\ndef step = nil\n"), stdout: "clean: step.rb\n"
  end

  def test_suppressions
    write("known", "# known\n\nleak:^/*/step.rb:2$\n")
    assert_ends 0, check(LEAKS, "--suppressions", "known"), stdout: "clean: step.rb\n"
    write("known", "leak:step.rb:3\n")
    assert_ends 1, check(LEAKS, "--suppressions", "known"), stdout: LINE
  end

  def test_annotations_for_github
    there = { "GITHUB_ACTIONS" => "true", "GITHUB_WORKSPACE" => File.realpath(@dir) }
    run = check(LEAKS, name: "a,b 50%.rb", env: there)
    assert_equal "::error file=a%2Cb 50%25.rb,line=2::loses 1 block (1501 bytes) of each call\n", run.stdout.lines.last
    assert_equal "::error::can't tell: step raised RuntimeError at step.rb:1: 1%25\n", check("def step = raise('1%')", env: there).stdout
    assert_equal 1, JSON.parse(check(LEAKS, "--json", env: there).stdout).size
  end

  # Blocks that a Ruby object holds are no leak of native code; blocks that an extension loses are.
  def test_native
    assert_ends 0, check(LEAKS, "--native"), stdout: "clean: step.rb\n"
    lost = check(<<~RUBY, "--native")
      require "fiddle"
      COPY = Fiddle::Function.new(Fiddle::Handle::DEFAULT["strdup"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOIDP)
      TEXT = "x" * 499
      def step
        COPY.call(TEXT)
        nil
      end
    RUBY
    assert_ends 1, lost, stdout: /\Aleak: step.rb:5: loses 1 block \(500 bytes\) of each call; [2-4]\d\d held by nothing    rounds 10 30 10 30 20\n\z/
  end

  # The C library's own handle leads past any preload, and strdup's malloc doesn't: the tracker sees no free. A real leak
  # beside it is found.
  def test_blocks_that_are_freed_past_the_tracker
    freed = <<~RUBY
      require "fiddle"
      C = Fiddle.dlopen("libc.so.6")
      COPY = Fiddle::Function.new(C["strdup"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOIDP)
      FREE = Fiddle::Function.new(C["free"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID)
      TEXTS = [20, 300, 5_000, 300_000].map { |n| "x" * n }
      def step
        TEXTS.map { |text| COPY.call(text) }.each { |p| FREE.call(p) }
        nil
      end
    RUBY
    assert_ends 0, check(freed), stdout: "clean: step.rb\n"
    assert_ends 0, check(freed, "--native"), stdout: "clean: step.rb\n"
    lost = check(freed.sub("nil\n", "COPY.call(TEXTS[1])\n"))
    assert_ends 1, lost, stdout: /\Aleak: step.rb:8: loses 1 block \(301 bytes\) of each call; [12]\d\d held by nothing    rounds 10 30 10 30 20\n\z/
  end

  # A tracker from the process's start finds the same.
  def test_under_mwrap
    write("step.rb", LEAKS)
    run = mwrap_run(RUBY, CTL, "check", "step.rb", chdir: @dir, env: QUIET)
    assert_ends 1, run, stdout: LINE
  end

  # Of sampled blocks few are known: a block that each call loses may be none. A child of ours counts each.
  def test_sampled_counts
    write("step.rb", LEAKS)
    run = mwrap_run(RUBY, CTL, "check", "step.rb", chdir: @dir, env: QUIET, options: "counts:sampled")
    assert_ends 1, run, stdout: LINE
    in_process = lambda do |step, options, before = ""|
      script = "require 'mwrap/check'\nK = []; #{before}\nputs Mwrap::Check.run { #{step} }.lines"
      mwrap_run(RUBY, "-I#{LIB}", "-e", script, env: QUIET, options: options).stdout
    end
    keeps = "K << 'x' * 1000"
    assert_equal "can't tell: blocks are sampled: call Mwrap.exact!\n", in_process[keeps, "counts:sampled"]
    assert_match(/\Aleak: -e:3: loses 1 block \(1001 bytes\)/, in_process[keeps, "counts:sampled", "Mwrap.exact!"])
    assert_equal "can't tell: blocks were sampled meanwhile\n", in_process["#{keeps}; Mwrap.sampled!", ""]
  end

  # A cache larger than all rounds can't be told from a leak, unless it is full before.
  def test_a_cache_that_is_larger_than_the_rounds
    cache = "CACHE = {}\nN = [0]\ndef step = CACHE[(N[0] += 1) % 500] = 'x' * 1500\n"
    assert_equal 1, check(cache).status.exitstatus
    assert_ends 0, check(cache, "--warmup", "600"), stdout: "clean: step.rb\n"
  end

  # Whatever grows for each thread or in time isn't kept of the calls.
  def test_growth_that_is_not_of_the_calls
    assert_ends 0, check("KEPT = {}\ndef step = KEPT[Thread.current] ||= Array.new(30) { 'x' * 1500 }"), stdout: "clean: step.rb\n"
    busy = check(<<~RUBY)
      KEPT = []
      Thread.new { loop { KEPT << 'x' * 1500; sleep 0.0005 } }
      def step = sleep(0.002)
    RUBY
    assert_includes [0, 2], busy.status.exitstatus, busy.stdout
  end

  def test_children_of_the_step
    assert_ends 0, check("def step = Process.wait(fork { exit })"), stdout: "clean: step.rb\n"
    assert_ends 1, check("#{LEAKS.sub("step", "one")}def step\n  pid = fork\n  Process.wait(pid) if pid\n  one\nend"), stdout: LINE
  end
end

class LeakMatchersTest < Minitest::Test
  include LeakCheckTest

  def test_minitest
    run = ruby("some_test.rb", <<~RUBY, "--seed", "1")
      require "minitest/autorun"
      require "mwrap/minitest"
      KEPT = []
      class SomeTest < Minitest::Test
        parallelize_me!
        def test_clean = assert_no_leak { "x" * 50 }
        def test_leaks = assert_no_leak("sessions") { KEPT << "x" * 1500 }
        def test_raises = assert_no_leak { raise "oops" }
        def test_within = assert_no_leak { assert_no_leak { nil } }
        def test_short = assert_no_leak(rounds: [1, 2]) { nil }
        20.times { |i| define_method("test_clean_\#{i}") { assert_no_leak { Array.new(10) { "x" * 50 } } } }
      end
    RUBY
    assert_match(/^25 runs, \d+ assertions, 1 failures, 3 errors, 0 skips$/, run.stdout)
    assert_match(/sessions\nleak: some_test.rb:7: loses 1 block \(1501 bytes\) of each call#{HELD}    rounds 10 30 10 30 20\n/, run.stdout)
    ["RuntimeError: oops", "ThreadError: a check within a check: call it outside", "ArgumentError: rounds: [1, 2]: too few"].each do |text|
      assert_includes run.stdout, text
    end
  end

  def test_minitest_can_not_tell
    run = ruby("some_test.rb", <<~RUBY)
      require "minitest/autorun"
      require "mwrap/minitest"
      class SomeTest < Minitest::Test
        def test_stops = assert_no_leak { Mwrap.pause }
      end
    RUBY
    assert_includes run.stdout, "can't tell: tracking was stopped meanwhile\n"
    assert_includes run.stdout, "1 failures, 0 errors"
  end

  def test_rspec
    text = <<~RUBY
      require "mwrap/rspec"
      KEPT = []
      RSpec.describe "the matcher" do
        it("finds it clean") { expect { "a" * 50 }.not_to leak_memory }
        it("finds a leak") { expect { KEPT << "a" * 1500 }.to leak_memory.at("some_spec.rb:5") }
        it("finds no leak there") { expect { KEPT << "a" * 1500 }.not_to leak_memory.at("other.rb:5") }
        it("fails for a leak") { expect { KEPT << "a" * 1500 }.not_to leak_memory(warmup: 10) }
        it("fails for none") { expect { "a" * 50 }.to leak_memory }
        it("raises") { expect { raise "oops" }.not_to leak_memory }
      end
    RUBY
    run = ruby("some_spec.rb", "require 'rspec/core'\nexit RSpec::Core::Runner.run(['spec.rb'])".tap { write("spec.rb", text.gsub("some_spec", "spec")) })
    assert_includes run.stdout, "6 examples, 3 failures"
    assert_match(/expected the block not to leak memory\n\s+leak: spec.rb:7: loses 1 block \(1501 bytes\) of each call#{HELD}    rounds 10 30 10 30 20$/, run.stdout)
    assert_includes run.stdout, "expected the block to leak memory: it keeps nothing of each call\n"
    assert_includes run.stdout, "RuntimeError:\n       oops\n"
  end

  def test_rake
    write("good.rb", "def step = 'x' * 50")
    write("bad.rb", LeakCheckTest::LEAKS)
    write("Rakefile", <<~RUBY)
      require "mwrap/check_task"
      Mwrap::CheckTask.new { |t| t.scripts = ["good.rb"] }
      Mwrap::CheckTask.new(:all) { |t| t.scripts = ["good.rb", "bad.rb"]; t.rounds = [4, 8, 4] }
      Mwrap::CheckTask.new(:none) { |t| t.scripts = [] }
    RUBY
    runner = "require 'rake'\nRake.application.run(ARGV)"
    good = ruby("rake.rb", runner, "leaks")
    assert_equal [0, "clean: good.rb\n"], [good.status.exitstatus, good.stdout], good.stderr
    bad = ruby("rake.rb", runner, "all")
    assert_equal 1, bad.status.exitstatus
    assert_match(/\Aclean: good.rb\nleak: bad.rb:2: loses 1 block \(1501 bytes\) of each call#{HELD}    rounds 4 8 4\n\z/, bad.stdout)
    assert_includes bad.stderr, "all: bad.rb: not clean"
    assert_includes ruby("rake.rb", runner, "none").stderr, "none: no scripts: set scripts"
  end
end

class LeakJudgementTest < Minitest::Test
  LENGTHS = [10, 30, 10, 30, 20].freeze

  def growth(*blocks) = Mwrap::Check::Growth.new(LENGTHS, blocks, blocks.map { |n| n * 10 })

  def test_growth_with_the_calls
    [[10, 30, 10, 30, 20], [20, 60, 20, 60, 40], [11, 30, 9, 31, 20], [15, 35, 15, 35, 25], [1, 3, 1, 3, 2]].each do |blocks|
      assert growth(*blocks).linear?, blocks.inspect
    end
    assert_equal [1, 2, 1, 1, 0.1], [[10, 30, 10, 30, 20], [20, 60, 20, 60, 40], [11, 30, 9, 31, 20], [12, 30, 10, 30, 20], [1, 3, 1, 3, 2]].map { |b| growth(*b).blocks_per_call }
  end

  def test_other_growth
    [[20, 20, 20, 20, 20], [100, 0, 0, 0, 0], [0, 100, 0, 0, 0], [30, 10, 30, 10, 20], [10, 30, 0, 30, 20], [9, 20, 3, 5, 2],
     [0, 1, 0, 1, 1], [1, 1, 1, 1, 1], [-10, -30, -10, -30, -20], [4, 30, 10, 29, 3]].each do |blocks|
      refute growth(*blocks).linear?, blocks.inspect
    end
  end

  def test_suppressions
    known = Mwrap::Check::Suppressions.new("# x\n\nleak:libfoo.so\nleak:^/srv/*.rb:3$\n leak:a.b+c \n")
    ["/usr/lib/libfoo.so(f+0x1) [0x7f]", "/srv/app/x.rb:3", "/a.b+c.rb:1", "/srv/\xff.rb:3"].each { |location| assert known.cover?(location), location }
    ["/usr/lib/libfooxso(f)", "/srv/app/x.rb:33", "/x/srv/app/x.rb:3", "/aXb+c", "# x", ""].each { |location| refute known.cover?(location), location }
  end
end
