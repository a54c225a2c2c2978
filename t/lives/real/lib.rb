# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# lib.rb - what each script of a life loads: its clock, its load, and the ledger of what its parts keep.

module Life
  START = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  TENTH = 0.1
  PARTS = [] # modules with tick(seconds) and kept, in bytes or as a count

  # Times that something is due: `size` bytes of each `rate` bytes a minute, while `from` <= seconds < `till`.
  class Pace
    def initialize(rate, size, from: 0, till: Float::INFINITY)
      @a_second = rate / 60.0 / size
      @from = from
      @till = till
      @done = 0
    end

    def active?(t) = t.between?(@from, @till)

    def due(t)
      all = ((t.clamp(@from, @till) - @from) * @a_second).to_i
      (all - @done).tap { @done = all }
    end
  end

  def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC) - START

  # Ten times a second, until stdin ends. Each second a line of the ledger: the clock's time, and what each part keeps.
  def self.run(ledger)
    noted = 0
    (0..).each do |i|
      wait = i * TENTH - now
      exit!(true) if $stdin.wait_readable([wait, 0].max)
      t = now
      PARTS.each { |part| part.tick(t) }
      yield i
      next if t < noted

      noted = t.to_i + 1
      ledger.syswrite("#{Process.clock_gettime(Process::CLOCK_MONOTONIC)} #{PARTS.map { |part| part.kept.to_i }.join(" ")}\n")
    end
  end
end
