# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "growth"

module Mwrap
  class Check
    # Nothing can be said of the step.
    class Unknown < StandardError # :nodoc: all
      attr_reader :error # what the step raised, or nil

      def initialize(message, error = nil)
        super(message)
        @error = error
      end
    end

    # Calls the step, and reads what is live after each round.
    #
    # A round runs in a thread of its own: no stack that is scanned later has its addresses. Three full
    # collections follow it: objects that others' finalizers or free functions let go need one more. What
    # is done here is quiet, in short pieces that don't wait, since quiet belongs to a native thread.
    class Rounds # :nodoc: all
      COLLECTIONS = 3
      BY_ALLOCATION = 2
      OBJECTS_MOST = 500_000
      OBJECTS = "(Ruby objects)" # stands for a location: their number, also of those without a block

      @running = nil
      class << self
        attr_accessor :running # the thread in which a step is called
      end

      attr_reader :seconds # of the longest round
      attr_reader :began # the generation in which the first series did

      def initialize(step)
        @step = step
        @seconds = 0.0
      end

      # Collections as an allocation begins them. In these Ruby runs finalizers as in a trap: what they can't do there,
      # such as to lock a Mutex, works after GC.start. An app loses what they leave.
      def collect_by_allocation
        BY_ALLOCATION.times do
          count = GC.count
          made = 0
          (Object.new; made += 1) while GC.count == count && made < OBJECTS_MOST # GC may be disabled
        end
      end
      MOVED_BY_ALLOCATION = "#{__FILE__}:#{__LINE__ - 3}".freeze # as MOVED

      # Makes the calls of one round.
      def run(calls)
        from = now
        work { call(calls) }
        @seconds = [@seconds, now - from].max
      end

      # Lets as much time pass without a call. Returns {location => blocks} that grew meanwhile, for as
      # much time as the longest round took.
      def idle(least, most)
        before = read
        wanted = @seconds.clamp(least, most)
        work { sleep(wanted) }
        after = read
        share = wanted / @seconds
        apart { growths([1], [before, after]).transform_values { |growth| growth.blocks[0] / share } }
      end

      # {location => Growth} of those that grew, in rounds of so many calls. With a block, what that
      # reads counts instead of live blocks.
      def series(lengths, &reading)
        reading ||= -> { read }
        @since = Mwrap.quiet { Mwrap.stats[:generation] }
        @began ||= @since
        readings = [reading.call]
        lengths.each do |calls|
          run(calls)
          readings << reading.call
        end
        apart { growths(lengths, readings) }
      end

      # Once the garbage is gone: [location, blocks, bytes, location, ...]. Flat, and with names that all
      # readings share, so that readings themselves are few objects.
      def read
        collect
        Mwrap.quiet { Mwrap.__send__(:live_counts).push(OBJECTS, GC.stat(:heap_live_slots), 0) }
      end

      # Not quiet: up to Ruby 3.2 it moves what is kept of arrays and hashes to malloc, at this line.
      def collect = COLLECTIONS.times { GC.start }
      MOVED = "#{__FILE__}:#{__LINE__ - 1}".freeze

      # The mean size of the blocks that this location keeps of the last series. A line may also hold a
      # table that grows: so the largest and the smallest few don't count. nil: not known
      def bytes_per_block(location)
        sizes = Mwrap.quiet { Mwrap[location]&.each&.filter_map { |size, generation| size if generation >= @since } } || []
        few = Growth::EXACT_WITHIN
        typical = sizes.sort[few...-few]
        (typical.sum.to_f / typical.size).round if typical&.any?
      end

      private

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      def by_location(flat)
        all = flat.each_slice(3).to_h { |location, blocks, bytes| [location, [blocks, bytes]] }
        moved = all.values_at(MOVED, MOVED_BY_ALLOCATION).compact
        all.delete(MOVED_BY_ALLOCATION)
        all[MOVED] = moved.transpose.map(&:sum) if moved.any?
        all
      end

      # In a thread of its own, so that no stack keeps the thousands of objects that come and go here:
      # they would be in the next reading.
      def apart(&block) = Thread.new { Mwrap.quiet(&block) }.value

      def work(&block)
        thread = Mwrap.quiet { Thread.new(&block) }
        Rounds.running = thread
        case found = thread.value
        when Exception then raise Unknown.new("step raised #{Check.described(found)}", found)
        when nil then raise Unknown, "step ended its thread"
        end
      ensure
        Rounds.running = nil
        thread&.kill&.join
      end

      # Returns true, or what the step raised. Allocates nothing by itself.
      def call(calls)
        step = @step
        pid = Process.pid
        made = 0
        while made < calls
          step.call
          Process.exit!(0) if Process.pid != pid # a child that the step forked, and that came back
          made += 1
        end
        collect_by_allocation
        true
      rescue Exception => e # rubocop:disable Lint/RescueException
        raise if Process.pid != pid # in such a child: exit, for example
        e
      end

      def growths(lengths, readings)
        readings = readings.map { |flat| by_location(flat) }
        none = [0, 0]
        grown = readings.last.select { |location, (blocks, _)| blocks > readings.first.fetch(location, none)[0] }
        grown.to_h do |location, _|
          blocks, bytes = readings.map { |reading| reading.fetch(location, none) }.transpose
          [location, Growth.new(lengths, steps(blocks), steps(bytes))]
        end
      end

      def steps(list) = list.each_cons(2).map { |a, b| b - a }
    end
  end
end
