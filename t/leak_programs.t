#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The programs of t/leaks/programs.rb, each in a process of its own that begins to track itself: what
# keeps nothing of each call is found clean, and what leaks is found at its line.
require_relative "lib/tap"
$LOAD_PATH.unshift(MwrapTest::LIB)
require "mwrap/check"
require_relative "leaks/gems"
require_relative "leaks/programs"

class LeakProgramsTest < Minitest::Test
  AT_ONCE = 2
  GEMS = LeakGems.home(ROOT)
  Found = Struct.new(:outcome, :lines, :leaks) # leaks: {location => blocks of each call}

  # {program => Found}, of all at once
  def self.found
    @found ||= begin
      work = LeakPrograms::ALL.shuffle(random: Random.new(Minitest.seed || 1)).each_with_object(Queue.new) { |one, queue| queue << one }.close
      done = Queue.new
      Array.new(AT_ONCE) { Thread.new { while (one = work.pop) do done << [one, run_alone(one)] end } }.each(&:join)
      Array.new(done.size) { done.pop }.to_h
    end
  end

  # Judges a program in a child.
  def self.run_alone(program)
    Tempfile.create("mwrap-t", binmode: true) do |file|
      pid = fork do
        file.write(Marshal.dump(judged(program)))
        file.flush
      ensure
        exit!
      end
      status = Process.wait2(pid)[1]
      file.rewind
      bytes = file.read
      bytes.empty? ? Found.new(:died, [status.to_s], {}) : Marshal.load(bytes)
    end
  end

  def self.judged(program)
    $VERBOSE = nil # ractors are said to be experimental
    Gem.use_paths(GEMS, [*Gem.path, GEMS])
    Mwrap::Check.start
    result = Mwrap::Check.run(&program.block.call)
    Found.new(result.outcome, result.lines, result.leaks.to_h { |leak| [leak.location, leak.blocks_per_call] })
  rescue Exception => e
    Found.new(:raised, [e.full_message(highlight: false)], {})
  end

  LeakPrograms::ALL.each do |program|
    define_method("test_#{program.line ? "leaks" : "clean"}: #{program.name}") do
      found = self.class.found.fetch(program)
      next assert_equal [:clean, []], found.to_a.first(2) unless program.line
      at = found.leaks.keys.find { |location| location == "#{LeakPrograms::PATH}:#{program.line}" }
      assert_equal :leak, found.outcome, found.lines.join("\n")
      assert at, "line #{program.line}: #{found.lines.join("\n")}"
      assert_equal program.blocks, found.leaks[at] if program.blocks
    end
  end

  def test_there_are_enough_of_them
    leaking, clean = LeakPrograms::ALL.partition(&:line)
    assert_operator leaking.size, :>=, 7
    assert_operator clean.size, :>=, 40
    assert_equal LeakPrograms::ALL.size, LeakPrograms::ALL.map(&:name).uniq.size
  end
end
