#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The Ruby API without a tracker, and with it. See ruby_api_calls.t for each
# call by itself.

require_relative "lib/in_ruby"

class TestWithoutTracker < Minitest::Test
  include InRuby

  def test_every_call_answers
    assert_equal false, value_of("Mwrap.tracking?")
    assert_equal [], value_of("Mwrap.each.to_a")
    assert_equal [], value_of("a = []; Mwrap.each { |*row| a << row }; a")
    assert_equal [], value_of("a = []; Mwrap.each(1000) { |*row| a << row }; a")
    assert_equal [0, 0], value_of("[Mwrap.each.size, Mwrap.each(5).size]")
    assert_equal [[], [], []], value_of("[Mwrap.stacks, Mwrap.stacks('/a.rb:1'), Mwrap.stacks(by: :total)]")
    assert_equal [nil, nil], value_of("[Mwrap['/a.rb:1'], Mwrap[__FILE__ + ':1']]")
    assert_equal false, value_of("Mwrap.mark('deploy')")
    assert_equal [nil, nil], value_of("[Mwrap.clear, Mwrap.reset]")
    assert_equal [[], 0, 0], value_of("[Mwrap::HeapPageBody.each.to_a, Mwrap::HeapPageBody.each.size, Mwrap::HeapPageBody.each {}]")
    assert_equal [0] * 9, value_of("Mwrap::HeapPageBody.stat.values")
    assert_equal [0, 0], value_of("[Mwrap.total_bytes_allocated, Mwrap.total_bytes_freed]")
    assert_equal [nil, "", nil], value_of("s = StringIO.new; [Mwrap.dump(s), s.string, Mwrap.dump]")
    assert_equal "", @run.stderr
    assert_equal [1, 2, 1, 1], value_of("a = []; Mwrap.quiet { |d| a << d; Mwrap.quiet { |e| a << e }; " \
                                        "Thread.new { Mwrap.quiet { |f| a << f } }.join }; Mwrap.quiet { |d| a << d }; a")
  end

  def test_wrong_arguments_are_wrong_without_it_too
    assert_equal "TypeError", value_of(raised("Mwrap[1]"))[0]
    assert_equal "RangeError", value_of(raised("Mwrap.each(-1) {}"))[0]
    assert_equal "TypeError", value_of(raised("Mwrap.dump(Object.new)"))[0]
    assert_equal "TypeError", value_of(raised("Mwrap.stacks(1)"))[0]
    assert_equal "ArgumentError", value_of(raised("Mwrap.stacks(by: :growth)"))[0]
  end

  def test_requiring_it_costs_nothing
    features, threads, maps = value_of(<<~'RUBY')
      [$LOADED_FEATURES.grep(/mwrap/).map { |f| File.basename(f) }.sort, Thread.list.size,
       File.read("/proc/self/maps").scan(%r{/[^/\n]*(?:mwrap|urcu|microhttpd)[^/\n]*$}).uniq.sort]
    RUBY
    assert_equal %w[mwrap.rb mwrap_ext.so version.rb], features
    assert_equal 1, threads
    assert_equal ["/memfd:mwrap-sleeps (deleted)", "/mwrap_ext.so"], maps # the first has no memory: src/extension/asked.c
    tasks = run_command(RUBY, "-I#{LIB}", "-e", <<~'RUBY').stdout
      count = -> { [Dir["/proc/self/task/*"], Dir["/proc/self/fd/*"]].map(&:size) }
      count.call
      before = count.call
      require "mwrap"
      print before == count.call
    RUBY
    assert_equal "true", tasks
  end

  def test_requiring_it_says_nothing
    run = run_command(RUBY, "-w", "-I#{LIB}", "-e", "require 'mwrap'; require 'mwrap'")
    assert_success run
    assert_equal ["", ""], [run.stdout, run.stderr]
  end

  def test_the_version_is_that_of_the_c_code
    header = File.read("#{ROOT}/src/api/version.h")[/^#define MWRAP_VERSION "(.*)"$/, 1]
    assert_match(/\A\d+\.\d+\.\d+/, header)
    assert_equal [header, true], value_of("[Mwrap::VERSION, Mwrap::VERSION.frozen?]")
  end

  def test_the_extension_exports_its_init_function_only
    run = run_command("nm", "-D", "--defined-only", "#{LIB}/mwrap/mwrap_ext.so")
    assert_success run
    # a Ruby that is not released yet asks for the second
    assert_equal ["Init_mwrap_ext", *("ruby_abi_version" if RUBY_PATCHLEVEL == -1)], run.stdout.lines.map { |line| line.split.last }.sort
  end

  def test_all_of_it_is_documented
    run = run_command(RUBY, "-rrdoc/rdoc", "-e", "RDoc::RDoc.new.document(ARGV)", "--", "-C", "lib", "src/extension",
                      chdir: ROOT)
    skip "no rdoc" if run.stderr.include?("LoadError")
    assert_match(/100\.00% documented/, run.stdout)
    methods = run.stdout[/Methods: +(\d+)/, 1].to_i
    assert_operator methods, :>=, 21
  end
end

class TestWithTracker < Minitest::Test
  def ruby(script, **rest)
    run = mwrap_ruby(script, env: WITHOUT_JIT.merge(rest.delete(:env) || {}), **rest)
    assert_success run
    assert_equal "", run.stderr
    run
  end

  # Ruby itself may allocate a little at any line, for its GC and caches: blocks
  # of 10,000 bytes are the script's own.
  SCRIPT = <<~'RUBY'
    require "mwrap"
    def make(n) = Array.new(n) {
      "x" * 10_000
    }
    $kept = make(1)
    $location = Mwrap["#{__FILE__}:3"]
    def blocks = $location.each.count { |size, generation| size.between?(10_000, 10_100) && generation <= GC.count }
  RUBY

  # A mark is there for /diff; a child's are its own.
  def test_marks
    run = ruby(SCRIPT + <<~'RUBY')
      names = -> { MwrapRack.new.call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/marks.tsv")[2].to_enum.to_a.join.force_encoding("UTF-8").lines.drop(1).map { |l| l.split("\t")[0] } }
      p Mwrap.mark("ünïcode & more"), Mwrap.mark(:again), Mwrap.mark("again")
      p names.call
      Process.wait(fork { p Mwrap.mark("child"), names.call })
      begin
        Mwrap.mark("")
      rescue RuntimeError => e
        puts e.message
      end
    RUBY
    *said, refused = run.stdout.lines(chomp: true)
    assert_equal ["true", "true", "true", '["ünïcode & more", "again"]', "true", '["child"]'], said
    assert_match(/\Aname: a line of 1 to 80 bytes/, refused)
  end

  # The line's callers, in the numbers of the table.
  def test_stacks
    run = ruby(<<~'RUBY', options: "stacks:64k")
      require "mwrap"
      def keep = $kept << ("x" * 20_000)
      def from_one(n) = n.times { keep }
      def from_two(n) = n.times { keep }
      $kept = []
      from_one(400)
      from_two(100)
      l = Mwrap["#{__FILE__}:2"]
      all = Mwrap.stacks(l.name)
      p [all.sum { |s| s[1] } == l.live_bytes, all.sum { |s| s[2] } == l.live]
      by = ->(name) { all.sum { |frames, bytes,| frames.any? { |f| f.match?(/:\d+:in `(\w+#)?#{name}'\z/) } ? bytes : 0 } }
      one, two = by["from_one"], by["from_two"]
      p [one.between?(5_000_000, 9_500_000), two.between?(500_000, 5_000_000)]
      p all.sum { |s| s[3] } > 50
      total = Mwrap.stacks(l.name, by: :total)
      p [total.sum { |s| s[1] } == l.total, total.sum { |s| s[2] } == l.allocations]
      p Mwrap.stacks.size > all.size
      s = Mwrap.stats
      p [s[:stacks_rate], s[:stacks_samples] > 100, s[:stacks_dropped], s[:stacks_ns] > 0]
      before = Mwrap.total_bytes_allocated
      kept = Mwrap.stacks
      p Mwrap.total_bytes_allocated - before < 10_000
    RUBY
    assert_equal ["[true, true]", "[true, true]", "true", "[true, true]", "true", "[65536, true, 0, true]", "true"], run.stdout.lines(chomp: true)
  end

  def test_stacks_without_the_option
    run = ruby(SCRIPT + <<~'RUBY', options: "stacks:off")
      all = Mwrap.stacks
      p all.map { |frames, _, _, samples| [frames.size, samples] }.uniq
      p Mwrap.stacks($location.name) == [[[$location.name], $location.live_bytes, $location.live, 0]]
      p Mwrap.stats.values_at(:stacks_rate, :stacks_samples, :stacks_dropped, :stacks_ns)
    RUBY
    assert_equal ["[[1, 0]]", "true", "[0, 0, 0, 0]"], run.stdout.lines(chomp: true)
  end

  def test_counts_of_a_line_are_right
    run = ruby(SCRIPT + <<~'RUBY')
      $kept += make(999)
      l = $location
      p Mwrap.tracking?, l.name == "#{__FILE__}:3", blocks
      p [l.allocations, l.live, l.total, l.live_bytes, l.frees]
      row = Mwrap.each.find { |name,| name == l.name }
      p row[1, 3] == [l.total, l.allocations, l.frees]
      h = l.to_h
      $more = make(10)
      p l.allocations - h[:allocations] >= 10, l.live_bytes - h[:live_bytes] >= 100_000
      Mwrap.reset
      p [l.allocations, l.total, l.growth], blocks
      p Mwrap.total_bytes_allocated < 5_000_000
    RUBY
    out = run.stdout.lines(chomp: true)
    assert_equal %w[true true 1000], out[0, 3]
    allocations, live, total, live_bytes, frees = out[3].scan(/\d+/).map(&:to_i)
    assert_includes 1000..1100, allocations
    assert_equal allocations, live + frees
    assert_operator total, :>=, 10_000_000
    assert_operator live_bytes, :>=, 10_000_000
    assert_operator total, :>=, live_bytes
    assert_equal ["true", "true", "true", "[0, 0, 0]", "1010", "true"], out[4..]
    assert_operator run.row("/script.rb:3").live, :>=, 1010
  end

  def test_nothing_is_counted_in_quiet
    run = ruby(SCRIPT + <<~'RUBY')
      $a = make(100)
      p blocks
      Mwrap.quiet { $b = make(100); Mwrap.quiet { $c = make(100) }; $d = make(100) }
      p blocks
      Mwrap.quiet { Thread.new { $e = make(50) }.join }
      p blocks
      begin
        Mwrap.quiet { raise "x" }
      rescue
        $f = make(7)
      end
      p blocks
    RUBY
    assert_equal %w[101 101 151 158], run.stdout.lines(chomp: true)
  end

  def test_reading_is_not_counted
    run = ruby(<<~'RUBY')
      require "mwrap"
      read = -> { Mwrap.total_bytes_allocated; Mwrap["/none"] }
      5.times { read.call }
      a = Mwrap.total_bytes_allocated
      1000.times { read.call }
      b = Mwrap.total_bytes_allocated
      p [b - a, Mwrap.each.size]
    RUBY
    bytes, locations = run.stdout.scan(/\d+/).map(&:to_i)
    # a snapshot of so many would be more than this, a thousand times
    assert_operator locations, :>, 100
    assert_operator bytes, :<, 1000 * 500
  end

  def test_totals_are_the_sums
    run = ruby(<<~'RUBY')
      require "mwrap"
      $kept = Array.new(1000) { "x" * 5000 }
      sum = 0
      before = Mwrap.total_bytes_allocated
      Mwrap.each { |_, total| sum += total }
      after = Mwrap.total_bytes_allocated
      p sum.between?(before, after)
      p Mwrap.total_bytes_freed.between?(1, after)
    RUBY
    assert_equal "true\ntrue\n", run.stdout
  end

  def test_dump_and_each_and_the_dump_at_exit_agree
    run = ruby(<<~'RUBY')
      require "mwrap"
      $kept = Array.new(1234) {
        "x" * 5000
      }
      Mwrap.dump($stdout, 1_000_000)
      Mwrap.each(1_000_000) { |location, total, allocations| puts format("%16d %12d %s", total, allocations, location) }
    RUBY
    mine = run.stdout.lines.grep(%r{/script\.rb:3$})
    assert_equal 2, mine.size
    assert_equal mine[0], mine[1]
    row = run.row("/script.rb:3")
    assert_equal [row.total, row.allocations], mine[0].split[0, 2].map(&:to_i)
    assert_includes 1234..1334, row.allocations
  end

  # Every address that each lists is found by it alone.
  def test_an_address_finds_its_location
    run = ruby(<<~'RUBY')
      require "mwrap"
      native = Mwrap.each.filter_map { |l, total| l if total > 0 && l.end_with?("]") }
      p native.size > 3
      wrong = native.reject { |l| found = Mwrap["anything\t#{l[/\[0x\h+\]\z/]}"] and found.name == l }
      p wrong
      p Mwrap["anything\t[0x1]"]
    RUBY
    assert_equal "true\n[]\nnil\n", run.stdout
  end

  def test_threads_and_forks_may_read
    run = ruby(<<~'RUBY')
      require "mwrap"
      threads = Array.new(4) { Thread.new { 10.times { Mwrap.each(100_000) { |l,| Mwrap[l]&.live }; "x" * 10_000 } } }
      10.times { Process.wait(fork { exit!(Mwrap.each.any?) }); p $?.success? }
      threads.each(&:join)
    RUBY
    assert_equal "true\n" * 10, run.stdout
  end
end
