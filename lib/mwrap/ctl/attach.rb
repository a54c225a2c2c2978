# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "endpoint"
require_relative "injection"

module Mwrap
  module Ctl
    # mwrapctl attach, detach: a process that runs begins to track itself, and stops. A process that has
    # the gem is asked by SIGURG; another one is made to load the tracker.
    class Attach # :nodoc: all
      WAIT = 10        # seconds for a process to begin, and for its server to answer
      TAKEN_WAIT = 60  # more, for one that is just doing it: on a busy machine that may take long
      UNSEEN_WAIT = 2  # for a server that may be out of sight, on TCP in another namespace
      AGAIN = 0.5      # the signal is sent again after so many seconds
      SERVER = /(?:\A|,)[ \t]*(?:socket|socket_dir|listen):/n
      TOO_LATE = /\Aoptions: given after the first start/n

      def initialize(pid, given = {})
        @wait = given.fetch("wait", WAIT)
        pid.match?(/\A[1-9]\d{0,9}\z/) or raise Usage, "PID: \"#{pid}\" is not a PID: write digits only"
        @target = Target.new(pid)
        @request = Request.new(@target)
      end

      attr_reader :injection

      def start(options)
        given = options.to_s
        require_folders(given)
        prepare
        require_late_server(given) if @target.preloaded?
        path = File.join(@request.inside, "#{@target.inner_pid}.sock")
        asked = given.match?(SERVER) ? given : [*given.then { |s| s unless s.empty? }, "socket:#{path}"].join(",")
        answer = ask("start\n#{asked}")
        # it goes on as it began
        again = given.empty? && answer.match?(TOO_LATE)
        answer = ask("start\n") if again
        refuse(answer) unless answer == "ok"
        @request.record = asked unless again
        at = server(again ? @request.record : asked)
        late = ", which doesn't answer yet: the process's stderr may say why" unless answers?(at)
        say("#{@target.preloaded? ? "has a server" : "tracked"} from now on#{stopped}: #{at}#{late}")
      end

      def stop
        raise Failure, "#{@target.name}: runs under mwrap from its start: use mwrapctl pause" if @target.preloaded?
        prepare
        answer = ask("stop\n")
        refuse(answer) unless answer == "ok"
        say("not tracked any more: what it counted can still be read")
      end

      private

      def say(text) = $stdout.write("#{@target.name}: #{text}\n")

      def stopped
        return unless @injection
        " (its main thread stood still #{@injection.stops == 1 ? "once" : "#{@injection.stops} times"}, for #{@injection.microseconds} µs at most)".b
      end

      def server(options)
        options.to_s[/(?:\A|,)((?:socket|socket_dir|listen):(?:\\.|[^,\\])*)/mn, 1] || "as when it began"
      end

      def refuse(line)
        raise Failure, "#{@target.name}: #{line}"
      end

      def prepare
        @target.require_own
        @target.require_running
        @injection = Injection.new(@target, @request) unless @target.sleeps?
        while_it_lives { @request.prepare }
      end

      # A file whose folder isn't there would fail only in the process, which has begun then.
      def require_folders(options)
        Endpoint.apart(options, @target.inner_pid).slice("socket", "dump_path", "trace_path").each do |key, path|
          folder = File.dirname(path)
          File.directory?(Endpoint.inside(@target.pid, folder)) or raise Usage, "#{key}: #{folder} is no directory of the process's: make it"
        end
      end

      # Options of other groups took effect when it began.
      def require_late_server(options)
        require_relative "tracked"
        at = Tracked.new(@target.pid).server
        raise Failure, "#{@target.name}: has a server already: #{at.name}" if at
        late = Endpoint.apart(options, 0).keys.find { |key| Options::ALL.any? { |o| o.key == key && o.group != "HTTP server" } }
        raise Usage, "#{late}: not for a process that is tracked since its start: leave it out" if late
      end

      # Its root and its memory go with it: what fails then is no fault of theirs.
      def while_it_lives
        yield
      rescue SystemCallError, Failure => e
        @target.alive? or raise Failure, "#{@target.name}: has ended: nothing was done"
        raise e.is_a?(Failure) ? e : Failure.new("#{@request.inside}: #{Executable.reason(e)}")
      end

      # A thread of the process starts its server. Where that can't be seen from here, it is believed to answer.
      def answers?(at)
        seen = at.start_with?("socket")
        ending = now + (seen ? @wait : UNSEEN_WAIT)
        until (there = listens?)
          return !seen if now > ending || !@target.alive?
          sleep 0.005
        end
        there
      end

      def listens?
        at = Endpoint.find(@target.pid.to_s, nil).path
        at.nil? || Endpoint.listens?(at)
      rescue Failure # no socket yet, or none that can be known
        false
      end

      # The process's answer
      def ask(text)
        while_it_lives do
          @request.alone do
            @request.ask(text)
            @injection&.run(@wait)
            wait_for_answer
          ensure
            @request.withdraw
          end
        end
      end

      def wait_for_answer
        ending = now + @wait
        knock_at = now
        until (answer = @request.answer)
          @target.alive? or raise Errno::ESRCH
          if now >= ending
            return wait_for_late_answer unless @request.withdraw
            @target.require_running
            raise Failure, "#{@target.name}: no answer in #{@wait} seconds, withdrawn: its main thread doesn't return to Ruby, or it is suspended"
          end
          if @injection.nil? && now >= knock_at && !@request.taken?
            knock
            knock_at = now + AGAIN
          end
          sleep 0.005
        end
        answer
      end

      # It took the request at the last moment.
      def wait_for_late_answer
        ending = now + TAKEN_WAIT
        until (answer = @request.answer)
          @target.require_running
          now < ending or
            raise Failure, "#{@target.name}: no answer, but it has taken the request: ask again later"
          sleep 0.01
        end
        answer
      end

      # The app may have taken the signal meanwhile.
      def knock
        Process.kill(:URG, @target.pid) if @target.sleeps?
      rescue Errno::ESRCH
        nil
      rescue Errno::EPERM
        raise Failure, "#{@target.name}: permission denied: run mwrapctl as its user"
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
