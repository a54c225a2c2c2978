# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# measure.rb - what the work programs in Ruby share: runs the work once to warm
# up and once that counts, and writes "cpu SECONDS" (user and system, of the whole
# process, so with its threads) to the file that BENCH_OUT names.
#
# The work must be the same in every run: no time, no randomness but a seeded one.
module Measure
  def self.cpu
    Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  end

  # Yields the number of rounds.
  def self.run(rounds)
    rounds = Integer(ENV["BENCH_ROUNDS"] || rounds)
    yield [rounds / 10, 1].max
    GC.start
    before = cpu
    yield rounds
    spent = cpu - before
    text = "cpu #{spent}\n"
    out = ENV["BENCH_OUT"]
    out ? File.write(out, text) : $stdout.write(text)
  end
end
