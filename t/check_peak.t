#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Mwrap::Check::Peak, assert_memory and peak_within: the most memory that lived in a block. Random programs with a
# ledger (SEED=N repeats them), in one thread and in several, preloaded and started later; blocks, garbage, objects.
require_relative "lib/tap"
require_relative "lib/allocators"
require_relative "leaks/gems"

class CheckPeakTest < Minitest::Test
  include MwrapTest

  SEED = Integer(ENV.fetch("SEED") { Random.new_seed % 1_000_000 })
  puts "# SEED=#{SEED}"
  STEP = 65_536 # bytes a thread
  NOISE = 16_384 # Ruby's own, of the program beside its strings

  def setup = @dir = Dir.mktmpdir("mwrap-t")
  def teardown = FileUtils.rm_rf(@dir)

  def ruby(text, preload: nil, env: {}, **rest)
    path = File.join(@dir, "app.rb")
    File.write(path, text)
    env = { **LeakGems.env(LeakGems.home(ROOT)), **WITHOUT_JIT, "LD_PRELOAD" => preload, **env }
    run_command(RUBY, "-I#{LIB}", "app.rb", chdir: @dir, env: env, **rest)
  end

  # Strings of random sizes that come and go. clear gives a string's buffer back at once, so the ledger is exact. Prints
  # for each block: the peak but for Ruby's heap, the ledger's, the lines' bytes at the peak, and the ledger's at each
  # moment that is no farther from its highest than a look may miss.
  def program(threads, blocks = 6)
    <<~RUBY
      require "mwrap/check"
      require "json"
      LINES = [->(n) { "x" * n },
               ->(n) { "y" * n }]
      def life(random, steps)
        held = []
        bytes = [0, 0]
        moments = []
        steps.times do
          if held.size > 20 || (held.any? && random.rand < 0.45)
            line, s = held.delete_at(random.rand(held.size))
            bytes[line] -= s.bytesize + 1
            s.clear
          else
            line = random.rand(2)
            n = random.rand < 0.1 ? random.rand(5_000_000) : 700 + random.rand(60_000)
            held << [line, LINES[line].(n)]
            bytes[line] += n + 1
          end
          moments << bytes.dup
        end
        held.each { |_, s| s.clear }
        moments
      end
      life(Random.new(1), 300) # what Ruby allocates once
      #{blocks}.times do |i|
        randoms = Array.new(#{threads}) { |k| Random.new(#{SEED} + 100 * i + k) }
        moments = nil
        # threads one after another: so the ledger knows the moments of each
        peak = Mwrap::Check::Peak.of do
          moments = randoms.flat_map { |r| #{threads > 1 ? "Thread.new { life(r, 400) }.value" : "life(r, 400)"} }
        end
        heap = peak.lines.assoc("Ruby's heap")&.last.to_i
        lines = [3, 4].map { |line| peak.lines.find { |l, _| l.end_with?("app.rb:\#{line}") }&.last.to_i }
        most = moments.map(&:sum).max
        puts JSON.generate([peak.bytes - heap, most, lines, moments.select { |m| m.sum >= most - #{missed(threads)} }])
      end
    RUBY
  end

  # In some Rubies, as in 4.0, a thread's own stack is malloc's, and each thread may leave it there for a while.
  def stack
    @stack ||= begin
      peak = ruby("require 'mwrap/check'\nThread.new {}.value\nputs Mwrap::Check::Peak.of { Thread.new {}.value }.bytes", preload: TRACKER).stdout.to_i
      peak > 1 << 19 ? 1 << 20 : 0
    end
  end

  def missed(threads) = STEP * threads + NOISE + (threads > 1 ? stack * threads : 0)

  def assert_peaks(run, threads)
    all = run.stdout.lines.map { |l| JSON.parse(l) }
    assert_equal 6, all.size, run.stderr
    all.each do |peak, ledger, lines, moments|
      assert_in_delta ledger, lines.sum, missed(threads), "SEED=#{SEED}"
      # Ruby itself may free what it had before
      assert_operator peak, :<=, ledger + missed(threads), "SEED=#{SEED}"
      # all of them together, as at one of these moments
      near = moments.min_by { |m| lines.zip(m).map { |is, want| (is - want).abs }.max }
      lines.zip(near).each { |is, want| assert_in_delta want, is, NOISE, "SEED=#{SEED}: #{lines} of #{moments}" }
    end
  end

  def test_random_lives
    assert_peaks(ruby(program(1), preload: TRACKER), 1)
    assert_peaks(ruby(program(1)), 1)
  end

  def test_threads
    assert_peaks(ruby(program(3), preload: TRACKER), 3)
  end

  def test_other_allocators
    Allocators.each do |name, file, package|
      assert file, "#{name} isn't installed: apt-get install #{package}"
      assert_peaks(ruby(program(1), preload: "#{TRACKER}:#{file}"), 1)
    end
  end

  # Between two looks of anybody else: a block of 40 MB, and 2,000 small ones, freed by the time the block ends.
  def test_what_is_short_is_seen
    run = ruby(<<~RUBY, preload: TRACKER)
      require "mwrap/check"
      puts Mwrap::Check::Peak.of { ("x" * 40_000_000).clear }
      puts Mwrap::Check::Peak.of { a = Array.new(2_000) { "x" * 1_000 }; a.each(&:clear) }
      puts Mwrap::Check::Peak.of { Array.new(100_000) { Object.new } }.bytes
      puts Mwrap::Check::Peak.of { nil }.bytes
    RUBY
    large, many, objects, none = run.stdout.lines(chomp: true)
    assert_match(/\A38\.\d MB: app\.rb:2 38\.1 MB/, large, run.stderr)
    assert_match(/\A[12]\.\d+ MB: app\.rb:3 1\.(?:8[5-9]|9\d?) MB/, many) # as of a look, which may miss #{STEP}
    assert_operator objects.to_i, :>, 100_000 * 40
    assert_operator none.to_i, :<, 100_000
  end

  def test_what_can_not_be_told
    run = ruby(<<~'RUBY', preload: TRACKER)
      require "mwrap/check"
      peak = Mwrap::Check::Peak
      said = ->(&b) { b.call rescue puts "#{$!.class}: #{$!.message}" }
      said.() { peak.of }
      said.() { peak.of { raise IOError, "oops" } }
      said.() { peak.of { peak.of { nil } } }
      said.() { peak.of { Mwrap.pause } }
      said.() { peak.of { nil } }
      Mwrap.resume
      Mwrap.sampled!
      said.() { peak.of { nil } }
      Mwrap.exact!
      p peak.of { $kept = "x" * 1_000_000 }.bytes > 900_000
    RUBY
    assert_equal <<~TEXT, run.stdout, run.stderr
      ArgumentError: no block given: nothing to call
      IOError: oops
      ThreadError: a check within a check: call it outside
      RuntimeError: tracking was stopped meanwhile
      RuntimeError: tracking is paused: call Mwrap.resume
      RuntimeError: the peak isn't known while blocks are sampled: call Mwrap.exact!
      true
    TEXT
  end

  # After the block the process is as before: the peak of Mwrap.stats goes on from the block's.
  def test_what_is_left
    run = ruby(<<~'RUBY', preload: TRACKER)
      require "mwrap/check"
      s = "x" * 30_000_000
      Mwrap.stats
      s.clear
      high = Mwrap.stats[:peak_bytes]
      Mwrap::Check::Peak.of { ("y" * 10_000_000).clear }
      low = Mwrap.stats[:peak_bytes]
      s = "z" * 20_000_000
      p high - low > 15_000_000, Mwrap.stats[:peak_bytes] > low + 5_000_000
      pid = fork { Mwrap::Check::Peak.of { "a" * 5_000_000 }.then { |x| exit!(x.bytes.between?(4_900_000, 5_300_000) ? 0 : 1) } }
      p Process.wait2(pid)[1].success?
    RUBY
    assert_equal "true\ntrue\ntrue\n", run.stdout, run.stderr
  end

  def test_minitest
    run = ruby(<<~RUBY)
      require "minitest/autorun"
      require "mwrap/minitest"
      class SomeTest < Minitest::Test
        def test_within = assert_operator(assert_memory(peak: 20_000_000) { "x" * 9_000_000 }.bytes, :>, 8_900_000)
        def test_more
          assert_memory("export", peak: 5_000_000) { "x" * 9_000_000 }
        end
        def test_raises = assert_memory(peak: 5) { raise "oops" }
        def test_none = assert_memory(peak: 0) { nil }
      end
    RUBY
    assert_match(/4 runs, \d+ assertions, 1 failures, 2 errors, 0 skips/, run.stdout, run.stderr)
    assert_match(/export\npeak of 4\.77 MB at most, but it was 8\.\d+ MB: app\.rb:6 8\.58 MB/, run.stdout)
    assert_includes run.stdout, "RuntimeError: oops"
    assert_includes run.stdout, "ArgumentError: peak: 0: not a number of bytes: use 1 or more"
  end

  def test_rspec
    File.write(File.join(@dir, "spec.rb"), <<~RUBY)
      require "mwrap/rspec"
      RSpec.describe "the matcher" do
        it("passes") { expect { "x" * 9_000_000 }.to peak_within(20_000_000) }
        it("passes when negated") { expect { "x" * 9_000_000 }.not_to peak_within(5_000_000) }
        it("fails") { expect { "x" * 9_000_000 }.to peak_within(5_000_000) }
      end
    RUBY
    run = ruby("require 'rspec/core'\nexit RSpec::Core::Runner.run(['spec.rb'])")
    assert_includes run.stdout, "3 examples, 1 failure", run.stderr
    assert_match(/expected the block to have its peak of memory within 4\.77 MB, but it was 8\.\d+ MB: spec\.rb:5 8\.58 MB/, run.stdout)
  end
end
