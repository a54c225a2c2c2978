# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "etc"
require_relative "replay_program"
require_relative "snapshot"

module Mwrap
  module Ctl
    # A run of mwrap-replay, and what it has said so far.
    class ReplayJob # :nodoc: all
      attr_reader :label, :progress, :problem

      # weight: how long it takes, beside others
      def initialize(label, words, environment, weight)
        @label = label
        @words = words
        @environment = environment
        @weight = weight
        @progress = 0.0
        @rest = {}
      end

      def work = @weight
      def done = @weight * @progress

      # [pid, [its pipes]]
      def start
        pipes = [IO.pipe, IO.pipe]
        pid = Process.spawn(@environment, *ReplayProgram.words(*@words), in: File::NULL, out: pipes[0][1], err: pipes[1][1])
        pipes.each { |_, write| write.close }
        @out, @err = pipes.map(&:first)
        [pid, [@out, @err]]
      rescue SystemCallError => e
        pipes&.flatten&.each(&:close)
        raise Failure, "#{ReplayProgram::PATH}: #{Executable.reason(e)}"
      end

      # Bytes of one of its pipes
      def take(pipe, bytes)
        text = @rest[pipe].to_s + bytes
        *lines, @rest[pipe] = text.split("\n", -1)
        lines.each { |line| pipe == @out ? said(line) : complained(line) }
      end

      # It has ended. status: a Process::Status
      def end(status)
        @progress = 1.0
        return if status.success?
        @problem ||= status.signaled? ? "was ended by SIG#{Signal.signame(status.termsig)}: is there memory enough?" : "failed"
      end

      # The memory that it needs, in bytes; nil: not known yet
      def need = nil

      private

      def said(_line); end

      # A number is progress; anything else a problem.
      def complained(line)
        line.match?(/\A[\d.]+\z/) ? @progress = line.to_f.clamp(0, 1) : @problem = ReplayProgram.reason(line)
      end
    end

    # Makes a packed file of a recorded one.
    class PackJob < ReplayJob # :nodoc: all
      attr_reader :to
      # The parts that it left out, or nil
      attr_reader :note

      def initialize(file, to)
        super("packing #{file}", ["pack", "--quick", file, "-o", to, "--progress"], ReplayProgram::QUIET, File.size(file))
        @to = to
      end

      # A line of one that was successful is no problem.
      def end(status)
        @note, @problem = @problem, nil if status.success?
        super
      end
    end

    # Plays a packed file under a setting.
    class PlayJob < ReplayJob # :nodoc: all
      attr_reader :recording, :setting, :result, :curve, :live, :recorded

      # recording: the Recording; flags: --pace, --as-recorded
      def initialize(recording, setting, flags)
        super(setting.name, ["play", *flags, recording.packed], setting.variables(recording.meta["processors"]), [recording.events, 1].max)
        @recording = recording
        @setting = setting
        @curve, @live, @recorded = [], [], []
        @problem = setting.problem
      end

      # malloc's memory when it was recorded, and as much again for another allocator
      def need
        @recording.heap_most ||= @recorded.map { |_, heap,| heap }.max.to_i if @begun
        @recording.heap_most && 2 * @recording.heap_most
      end

      def end(status)
        super
        return @problem ||= "ended before its result" unless @result
        @problem ||= "#{@setting.library || "glibc"}: isn't what serves: #{@result[:malloc]} does" unless @setting.served?(@result[:malloc])
      end

      private

      def said(line)
        case JSON.parse(line, symbolize_names: true)
        in { progress: } then @progress = progress.to_f.clamp(0, 1)
        in { at:, rss:, live: }
          @curve << [at, rss]
          @live << [at, live]
        in { recorded: { at:, heap:, live: } } then @recorded << [at, heap, live]
        in { result: Hash => result } then @result = result
        else nil
        end
        @begun ||= !@curve.empty? || @progress.positive?
      rescue JSON::ParserError
        @problem = "says what can't be read: #{Text.clean(line[0, 80])}"
      end
    end

    # Looks what lived where when the live bytes of all these recordings were most.
    class PeakJob < ReplayJob # :nodoc: all
      # recordings: packed ones
      def initialize(recordings)
        super("the peak of what lived", ["peak", "--progress", *recordings.map(&:packed)], ReplayProgram::QUIET, recordings.sum(&:events) / FASTER)
        @locations = Hash.new { |all, name| all[name] = [0, 0] }
      end

      FASTER = 10 # than a PlayJob

      # Next to nothing
      def need = 0

      # "seconds" since the first recording's beginning, "bytes", "blocks"; "locations": [location, bytes, blocks] each, most
      # bytes first. nil: it isn't known
      def peak
        return unless @sums && !@problem && @sums[1].positive?
        rows = @locations.map { |name, amounts| [name, *amounts] }.sort_by { |name, bytes,| [-bytes, name] }
        { "seconds" => @sums[0], "bytes" => @sums[1], "blocks" => @sums[2], "locations" => rows }
      end

      private

      def said(line)
        first, second, third = line.split("\t", 3)
        return @sums = [first.to_f, second.to_i, third.to_i] unless @sums
        name = third.to_s.empty? ? "(no location)" : Text.utf8(third).sub(Snapshot::ADDRESS, "")
        @locations[name].then { |a| a[0] += first.to_i and a[1] += second.to_i }
      end
    end

    # Runs jobs beside each other, as many as processors and memory allow. When it ends, so do those that have begun.
    class ReplayJobs # :nodoc: all
      def initialize(jobs, at_once: nil)
        @waiting = jobs.reject(&:problem)
        @jobs = @waiting.dup
        @at_once = at_once || Etc.nprocessors
        @memory = ReplayJobs.memory
        @running = {} # pid => [job, pipes that are open]
      end

      # Calls the block now and then, with the part that is done and the labels of what runs.
      def run
        before = SIGNALS.to_h { |signal| [signal, trap(signal) { @signal = signal }] }
        until @waiting.empty? && @running.empty?
          start(@waiting.shift) while room?
          read(0.2)
          raise @signal == "INT" ? Interrupt : SignalException.new(@signal) if @signal
          yield done, @running.values.map { |job,| job.label }
        end
      ensure
        stop
        before&.each { |signal, old| trap(signal, old) }
      end

      # They wait until a job that was just begun is known.
      SIGNALS = %w[INT TERM HUP].freeze

      # Bytes that are free; nil: not known
      def self.memory
        free = File.read("/proc/meminfo")[/^MemAvailable: +(\d+) kB/, 1].to_i * 1024
        limit = File.read("/sys/fs/cgroup/memory.max").to_i
        limit.positive? ? [free, limit - File.read("/sys/fs/cgroup/memory.current").to_i].min : free
      rescue SystemCallError
        free
      end

      private

      def done
        work = @jobs.sum(&:work)
        work.zero? ? 1.0 : @jobs.sum(&:done) / work.to_f
      end

      def room?
        return false if @waiting.empty? || @running.size >= @at_once
        return true if @running.empty? || @waiting[0].is_a?(PackJob)
        needs = [*@running.values.map(&:first), @waiting[0]].map(&:need)
        needs.none?(&:nil?) && (@memory.nil? || needs.sum <= @memory)
      end

      def start(job)
        pid, pipes = job.start
        @running[pid] = [job, pipes]
      end

      def read(seconds)
        ready, = IO.select(@running.values.flat_map(&:last), nil, nil, seconds)
        ready&.each do |pipe|
          pid, (job, pipes) = @running.find { |_, (_, all)| all.include?(pipe) }
          bytes = pipe.read_nonblock(1 << 16, exception: false)
          next if bytes == :wait_readable
          next job.take(pipe, bytes) if bytes
          pipe.close
          pipes.delete(pipe)
          finish(pid, job) if pipes.empty?
        end
      end

      def finish(pid, job)
        _, status = Process.wait2(pid)
        @running.delete(pid)
        job.end(status)
      end

      def stop
        @running.each_key { |pid| Process.kill(:KILL, pid) }
        @running.each_key { |pid| Process.wait(pid) }
        @running.each_value { |_, pipes| pipes.each(&:close) }
        @running.clear
      end
    end
  end
end
