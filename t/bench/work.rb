# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# work.rb - the kinds of work that are done under each subject, and how the results
# compare. works.rb lists them.
require "tmpdir"
require_relative "turns"

# One figure of a work.
#   key     its name in what the work's program writes
#   unit    of the native figure; scale: it is multiplied by that to be in that unit
#   mode    :ratio, or :plus, the difference in `unit`
#   most    the budget: the greatest ratio or difference that is all right, of the median, …
#   surely  … or, if true, of the whole interval
#   or_plus with :ratio, a difference that is all right whatever the ratio
Figure = Struct.new(:title, :key, :unit, :scale, :mode, :most, :surely, :or_plus, keyword_init: true) do
  def compare(native, other)
    mode == :ratio ? other / native : (other - native) * scale
  end
end

# The base of all works. A work measures two subjects in new processes:
# pair(native, other, random) returns a hash of figures for each.
class Work
  PROGRAMS = File.expand_path("../../.build/t/bench", __dir__)
  SOURCES = File.join(__dir__, "programs")

  attr_reader :key, :figures

  # Is it also measured with a socket?
  def socket? = false

  # Key of an earlier work, the same with fewer threads, or nil: then the table also
  # says how the cost of a round grew from that one to this one.
  def grows_from = nil

  def self.parse(text)
    text.lines.to_h { |line| line.split.then { |name, number| [name, Float(number)] } }
  end

  private

  # Yields both, in a random order; the block's values, native's first.
  def one_by_one(native, other, random)
    two = [native, other].shuffle(random: random).to_h { |subject| [subject, yield(subject)] }
    two.values_at(native, other)
  end
end

# CPU time of a round: both at once, in turns.
class TurnWork < Work
  WARM_UP = 0.1 # of the rounds that count, when the program has just started

  attr_reader :grows_from

  # slice: rounds of one turn; one_cpu: false where threads shall be at work at the same
  # time. Then a slice must be long enough for all of them to get to it.
  def initialize(key, figure, command, slice:, turns:, one_cpu: true, grows_from: nil)
    super()
    @key = key
    @figures = [figure]
    @command = command
    @slice = slice
    @turns = turns
    @one_cpu = one_cpu
    @grows_from = grows_from
  end

  def pair(native, other, random)
    envs = [native, other].map { |s| ["#{key} under #{s.title}", s.env] }
    Worker.run(envs, @command, @one_cpu ? Pin.any(random) : nil) do |workers|
      workers.each { |w| w.start(@slice * (WARM_UP * @turns).ceil) }
      workers.each(&:answer)
      Turns.take(workers, @turns, random) { |w| w.slice(@slice) }.map { |spent| { "cpu" => spent / @slice } }
    end
  end
end

# Memory of a program that says itself what it took: one after the other.
class MemoryWork < Work
  def initialize(key, figure, command)
    super()
    @key = key
    @figures = [figure]
    @command = command
  end

  def pair(native, other, random)
    one_by_one(native, other, random) { |subject| run(subject) }
  end

  private

  # Runs once; a hash of what the program wrote.
  def run(subject)
    Dir.mktmpdir("mwrap-bench-") do |dir|
      out = File.join(dir, "out")
      ok = system(subject.env.merge("BENCH_OUT" => out), *@command, out: File::NULL, chdir: dir)
      ok or raise "#{key} under #{subject.title} failed (#{$?})"
      Work.parse(File.read(out))
    end
  end
end
