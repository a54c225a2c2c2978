# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# turns.rb - two processes that do the same work, at the same time but never at once:
# each does a slice when told to, and waits in read(2), without using CPU time, while
# the other does one. A machine that others share gets faster and slower within
# seconds, by a factor of two, and within milliseconds by a third; both sides of a pair
# whose turns are short, and on one CPU, see the same of that.
require "tmpdir"

# A process that works in slices: see programs/turns.h and programs/measure.rb.
class Worker
  # Yields one for each of the named environments. All are running then, and will have
  # ended afterwards. cpu: the one that they shall use, nil for any.
  def self.run(envs, command, cpu)
    Dir.mktmpdir("mwrap-bench-") do |dir|
      workers = []
      envs.each { |name, env| workers << new(name, env, command, dir) }
      workers.each { |worker| worker.pin(cpu) } if cpu
      result = yield workers
      workers.each(&:finish)
      result
    ensure
      workers.each(&:stop)
    end
  end

  def initialize(name, env, command, dir)
    @name = name
    input, @to = IO.pipe
    @from, output = IO.pipe
    @pid = spawn(env, *command, in: input, out: output, chdir: dir)
    [input, output].each(&:close)
  end

  def pin(cpu)
    Pin.to(cpu, @pid) or finish
  end

  # So many rounds; seconds of CPU time since the end of the last slice: also what the
  # subject's own threads did after that, if it has any.
  def slice(rounds)
    start(rounds)
    before = @cpu
    answer - before
  end

  def start(rounds)
    @to.write("#{rounds}\n")
  rescue Errno::EPIPE
    finish
  end

  # Seconds of CPU time so far.
  def answer
    @cpu = Float(@from.gets || finish)
  end

  # Raises if it didn't end as it should.
  def finish
    stop
    raise "#{@name} failed (#{@status})" unless @status.success?

    "" # no answer
  end

  def stop
    [@to, @from].each(&:close)
    @status ||= Process.wait2(@pid).last
  end
end

module Turns
  # Turns end after so many seconds of CPU time, for the slow ones among the subjects'
  # sake, but not before LEAST of them.
  ENOUGH = 8
  LEAST = 10
  GROUPS = 20
  LEFT_OUT = 2 # groups at each end

  # Each of two players does a slice in each turn, in a random order: it is yielded, and
  # the block's value is what the slice took. Returns what a slice took of each.
  def self.take(players, turns, random)
    took = []
    spent = 0
    while took.size < turns && (took.size < LEAST || spent < ENOUGH)
      turn = [0, 1].shuffle(random: random).to_h { |i| [i, yield(players[i])] }
      took << turn.values_at(0, 1)
      spent += turn.values.sum
    end
    typical(took)
  end

  # [[a slice of the first, of the second], …] => [what a slice took of the first, of the second]
  #
  # Sums over turns in a row, since the GC's work comes due in some slices only and is
  # part of what is compared: medians of slices would leave it out. Of these sums the few
  # with the least and the greatest ratio are left out: somebody else came or went in the
  # middle. Measured with nothing on both sides, the ratio's standard deviation is 0.4 to
  # 1.3 % with this, 0.5 to 1.8 % with plain sums, and 2 to 4 % with the same time in
  # slices of 30 ms that the system places on CPUs as it likes.
  def self.typical(took)
    groups = took.each_slice((took.size / GROUPS.to_f).ceil).map { |turns| turns.transpose.map(&:sum) + [turns.size] }
    groups = groups.sort_by { |a, b, _| b / a }[LEFT_OUT...-LEFT_OUT] if groups.size > 4 * LEFT_OUT
    first, second, turns = groups.transpose.map(&:sum)
    [first / turns, second / turns]
  end
end

# One CPU for both processes of a pair: another one may well be slower or faster.
module Pin
  # One of those that this process may use.
  def self.any(random)
    list = File.read("/proc/self/status")[/^Cpus_allowed_list:\s*(\S+)/, 1]
    ranges = list.split(",").map { |range| range.split("-").map { |n| Integer(n) } }
    ranges.flat_map { |ends| (ends.first..ends.last).to_a }.sample(random: random)
  end

  # All threads of that process, and those that they will start. Does it exist?
  def self.to(cpu, pid)
    system("taskset", "-a", "-c", "-p", cpu.to_s, pid.to_s, %i[out err] => File::NULL)
  end
end
