# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# measure.rb - shared by the work programs in Ruby: work in slices, each when told to.
#
# The other end of t/bench/turns.rb: standard input has a line for each slice, how
# many rounds to do (the first one is the warm-up), and to standard output it says
# after each how much CPU time it has had so far, in seconds (user and system, of the
# whole process, so with its threads). Between slices the program waits in read(2).
# With the rounds as an argument instead (by hand, or under a profiler) there is a
# warm-up of a tenth of them, then one slice that counts.
#
# The work must be the same in every run: no time, no randomness but a seeded one.
module Measure
  # Yields the number of rounds.
  def self.run(&work)
    return by_hand(Integer(ARGV.first), &work) unless ARGV.empty?

    $stdout.sync = true
    warm = false
    while (line = $stdin.gets)
      yield Integer(line)
      GC.start unless warm
      warm = true
      $stdout.write("#{cpu}\n")
    end
  end

  def self.by_hand(rounds)
    yield [rounds / 10, 1].max
    GC.start
    before = cpu
    yield rounds
    puts "cpu #{cpu - before}"
  end

  def self.cpu
    Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  end
end
