# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "output"

module Mwrap
  module Ctl
    # How far it is, and how long it still takes: a bar on a terminal, else a line now and then.
    class ReplayProgress # :nodoc: all
      BAR = 24 # columns
      EVERY = 30 # seconds from line to line
      KNOWN = 0.02 # the part from which on the time left is said

      # The block gets one.
      def self.show = Output.busy("replay") { |tell| yield new(tell) }

      def initialize(tell)
        @tell = tell
        @started = @said = now
      end

      # done: a part of 1. labels: what runs
      def at(done, labels)
        left = "#{Text.duration((now - @started) * (1 - done) / done)} left" if done > KNOWN
        percent = "#{(done * 100).floor} %"
        @tell.call([bar(done), percent, *left, *labels.uniq.first(2)].join("  "))
        return if $stderr.tty? || now - @said < EVERY
        @said = now
        $stderr.write("mwrapctl: replay: #{[percent, *left].join(", ")}\n")
      end

      private

      def bar(done)
        full = (done * BAR).floor
        "[#{"#" * full}#{"." * (BAR - full)}]"
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
