# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "../mwrap"
require_relative "check/annotations"
require_relative "check/growth"
require_relative "check/holders"
require_relative "check/leak"
require_relative "check/objects"
require_relative "check/peak"
require_relative "check/rounds"
require_relative "check/suppressions"

module Mwrap
  # Tells whether code leaks: whether a line keeps memory of each call. It calls the code in rounds of
  # different lengths, and reads the exact live blocks of each location after each round.
  #
  #   require "mwrap/check"
  #   result = Mwrap::Check.run { Redcarpet::Render::HTML.new }
  #   puts result.leaks if result.leak?
  #
  # A leak grows with the number of calls: by 0.1 blocks a call at least, by four standard errors above
  # 0, and in each round by half of that or more. It has to do so in two series of rounds in a row. What
  # grows in the first calls only, for each thread, or with time isn't a leak of the calls.
  #
  # Tracking begins by itself, as by Mwrap.start, and goes on afterwards. Code that fills a cache
  # larger than all the rounds can't be told from a leak: call it more often before (+warmup+).
  #
  # One check runs at a time in a process; others wait. Other threads' allocations meanwhile count, too.
  class Check
    # Calls before the first round.
    WARMUP = 20
    # Calls in each round of a series.
    ROUNDS = [10, 30, 10, 30, 20].freeze

    SERIES_MAX = 4           # until the growth of all lines is decided; a JIT compiles the step in one of them
    IDLE_SECONDS = 0.02..2.0 # how long a leak may show, twice, that it grows without a call
    LOCK = Mutex.new
    JIT = "(ruby, JIT compiler)" # where the blocks of Ruby's compilers count
    private_constant :SERIES_MAX, :IDLE_SECONDS, :LOCK, :JIT

    # A check's result. +outcome+ is <tt>:clean</tt>, <tt>:leak</tt> or <tt>:unknown</tt>; +leaks+ has
    # a Leak for each location, the most bytes first; +reason+ is a line of text if the outcome isn't
    # known, and +error+ is the exception, if the code raised one.
    class Result < Struct.new(:outcome, :leaks, :reason, :error)

      # True if nothing leaks.
      def clean?
        outcome == :clean
      end

      # True if a location leaks.
      def leak?
        outcome == :leak
      end

      # True if it can't be told.
      def unknown?
        outcome == :unknown
      end

      # Raises what the code raised, if it did.
      def reraise
        raise error if error
      end

      # A line for each leak, or for the reason.
      def lines
        return ["can't tell: #{reason}"] if unknown?
        leaks.map { |leak| "leak: #{leak}" }
      end
    end

    class << self
      # call-seq: Mwrap::Check.run(warmup: 20, rounds: [10, 30, 10, 30, 20], native: false, suppressions: nil) { ... } -> Result
      #
      # +warmup+:: calls before the first round.
      # +rounds+:: calls in each round: three numbers or more, not all the same.
      # +native+:: only blocks that nothing holds count: what Ruby still reaches doesn't.
      # +suppressions+:: the path of a file of suppressions, as LeakSanitizer has them.
      #
      # The code is called in threads of its own. An exception in it ends the check. Raises ArgumentError
      # for options that are wrong, and SystemCallError if the file can't be read.
      def run(**options, &step)
        new(**options).run(&step)
      end

      # Begins to track, unless that is under way. Raises Unknown.
      def start # :nodoc:
        return if Mwrap.tracking? && !Mwrap.paused?
        raise Unknown, "tracking is paused: call Mwrap.resume" if Mwrap.tracking? && Mwrap.stats[:how] == "preload"
        ENV.key?("MWRAP") || Mwrap.tracking? ? Mwrap.start : Mwrap.start("stacks:off")
      rescue RuntimeError, ArgumentError => e
        raise Unknown, "tracking can't begin: #{e.message}"
      end

      # An exception in a line
      def described(error) # :nodoc:
        text = error.message.to_s.lines.first.to_s.strip
        # a mistake of syntax is where its message says: its backtrace leads to whoever loaded the file
        at, text = text.match(/\A(.+?:\d+): *(.*)/m)&.captures || [nil, text] if error.is_a?(SyntaxError)
        at ||= own_line(error.backtrace.to_a)
        "#{error.class}#{" at #{short(at)}" if at}: #{text}"
      end

      # The first line that is neither Ruby's own nor mwrap's, if there is one
      def own_line(lines) # :nodoc:
        ours = [File.expand_path("..", __dir__), RbConfig::CONFIG["rubylibdir"], "<internal:"]
        (lines.find { |line| ours.none? { |path| line.start_with?(path) } } || lines.first).to_s[/\A.+?:\d+/]
      end

      # A location with a path relative to the current folder, if it is in there.
      def short(location) # :nodoc:
        location.delete_prefix("#{Dir.pwd}/")
      rescue SystemCallError # that folder is gone
        location
      end
    end

    def initialize(warmup: WARMUP, rounds: ROUNDS, native: false, suppressions: nil) # :nodoc:
      raise ArgumentError, "warmup: #{warmup.inspect}: not a number of calls: use 1 or more" unless warmup.is_a?(Integer) && warmup.positive?
      unless rounds.is_a?(Array) && rounds.size >= 3 && rounds.all? { |n| n.is_a?(Integer) && n.positive? } && rounds.uniq.size > 1
        raise ArgumentError, "rounds: #{rounds.inspect}: too few to judge: use three numbers of calls or more, not all the same"
      end
      @warmup = warmup
      @lengths = rounds.dup.freeze
      @native = native
      @suppressions = suppressions && Suppressions.read(suppressions)
    end

    def run(&step) # :nodoc:
      raise ArgumentError, "no block given: nothing to call" unless step
      raise ThreadError, "a check within a check: call it outside" if Rounds.running == Thread.current
      LOCK.synchronize { judge(Rounds.new(step)) }
    rescue Unknown => e
      Result.new(:unknown, [], e.message, e.error)
    end

    private

    def judge(rounds)
      Check.start
      raise Unknown, "blocks are sampled: call Mwrap.exact!" if Mwrap.sampled?
      lost = Mwrap.quiet { Mwrap.stats[:lost] }
      rounds.run(@warmup)
      rounds.read # so that this has been done before
      all = series(rounds)
      require_tracking(lost)
      found = leaks(rounds, all)
      open = all.last.select { |location, growth| growth.rising? || all[-2]&.dig(location)&.uneven? }
      conclude(found, open, found.empty? ? [] : growing_alone(rounds, all.last))
    end

    def require_tracking(lost)
      raise Unknown, "tracking was stopped meanwhile" if Mwrap.paused?
      raise Unknown, "blocks were sampled meanwhile" if Mwrap.sampled?
      raise Unknown, "the tracker has no memory for more blocks: raise memory_max" if Mwrap.quiet { Mwrap.stats[:lost] } > lost
    end

    # Series of {location => Growth} until two in a row agree on each location that rises.
    def series(rounds)
      all = []
      while all.size < SERIES_MAX
        all << rounds.series(@lengths).select { |location, growth| (growth.rising? || growth.uneven?) && !suppressed?(location) }
        lines = all.last.keys - [Rounds::OBJECTS, Rounds::MOVED]
        break if (lines.empty? ? all.last.keys : lines).all? { |location| proven?(all, location) }
      end
      all
    end

    # What Ruby's compiler keeps of the code that it compiled is none of the step's.
    def suppressed?(location)
      location == JIT || @suppressions&.cover?(location)
    end

    def proven?(all, location)
      all.last(2).size == 2 && all.last(2).all? { |grown| grown[location]&.linear? }
    end

    def leaks(rounds, all)
      proven = all.last.select { |location, _| proven?(all, location) }
      found = proven.except(Rounds::OBJECTS, Rounds::MOVED).map do |location, growth|
        Leak.new(location, growth, rounds.bytes_per_block(location), holders: Holders.of(location, rounds.began))
      end
      found.reject! { |leak| leak.freed? && all.last.delete(leak.location) }
      raise Unknown, "native: what holds the blocks of #{found[0].short} isn't known" if @native && found.any? { |leak| leak.held_by_nothing.nil? }
      found.select!(&:native?) if @native
      found.concat(objects(rounds, proven[Rounds::OBJECTS], found)) if !@native && (proven.key?(Rounds::MOVED) || (found.empty? && proven.key?(Rounds::OBJECTS)))
      found.sort_by { |leak| [-leak.blocks_per_call * leak.bytes_per_block, leak.location] }
    end

    # Leaks of objects at lines that have no other. A line may not be known: then they stand for it.
    def objects(rounds, growth, found)
      objects = Objects.new(rounds)
      lines = objects.series(@lengths)
      return [Leak.new(Rounds::OBJECTS, growth, 0, objects: "of unknown lines")] if lines.empty? && found.empty? && growth
      lines.except(*found.map(&:location)).filter_map do |location, kept|
        Leak.new(location, kept, nil, objects: objects.class_name(location) || "Object") unless suppressed?(location)
      end
    end

    # The locations that grow as much in as much time without a call, twice: what is allocated once in idle time, such as
    # for a thread, is none of these.
    def growing_alone(rounds, suspects)
      2.times do
        break if suspects.empty?
        alone = rounds.idle(IDLE_SECONDS.min, IDLE_SECONDS.max)
        suspects = suspects.select { |location, growth| alone.fetch(location, 0) >= Growth::SHARE_MIN * growth.slope * @lengths.max }
      end
      suspects.keys
    end

    # alone: the locations that also grow without a call
    def conclude(found, rising, alone)
      leaks = found.reject { |leak| alone.include?(leak.objects ? Rounds::OBJECTS : leak.location) }
      return Result.new(:leak, leaks) if leaks.any?
      raise Unknown, "#{found[0].short}: grows without a call, too: another thread allocates there" if found.any?
      location, growth = rising.except(Rounds::OBJECTS, Rounds::MOVED).max_by { |_, grown| grown.blocks.sum } unless @native
      return Result.new(:clean, []) unless location
      raise Unknown, "#{Check.short(location)}: grows in some rounds, and not in others: #{growth}: use more or longer rounds" if growth.uneven?
      raise Unknown, "#{Check.short(location)}: grows in every round, but not with the number of calls: #{growth}: use more or longer rounds"
    end
  end
end
