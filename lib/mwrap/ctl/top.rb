# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "output"
require_relative "screen"
require_relative "top_view"
require_relative "watch"

module Mwrap
  module Ctl
    # mwrapctl top: the growth of a process, again and again, until a key or a signal ends it.
    class Top # :nodoc: all
      INTERVAL = 2.0
      LEAST = 0.1
      SHARE = 10    # it sleeps so many times as long as the server took to answer
      PATIENCE = 3  # seconds, in which another process of a family takes over a path
      SECONDS = 10  # for an answer

      def initialize(socket, given)
        @socket = socket
        @given = given
        @interval = [given.fetch("interval", INTERVAL), LEAST].max
        @state = TopView::State.new(sort: given.fetch("sort", "growth"), filter: +"", chosen: 0, from: 0)
      end

      def run
        @watch = Watch.new(Client.of(@socket, @given, seconds: SECONDS))
        @view = look
        return once if @given["once"] || !Screen.usable?
        Screen.open { |screen| live(screen) }
        raise @ended if @ended
        nil
      end

      private

      def look = @watch.look(@state.sort, @state.filter)

      # Rates need two answers.
      def once
        sleep @interval
        @view = look
        columns = Output.terminal? ? Output.size[1] : nil
        Output.write(TopView.new(@view, @state, columns).plain(@given.fetch("count", TopView::ROWS)).map { |line| "#{line}\n" }.join)
        nil
      end

      # --- the terminal --------------------------------------------------------------------

      def live(screen)
        @screen = screen
        answers = ask
        @due = now + @interval
        until @done
          draw
          screen.wait(1).each { |event| handle(event) }
          answered(answers.pop(true)) until answers.empty? || @done
          next if @asking || now < @due
          @asking = true
          @wanted << :look
        end
      ensure
        @asker&.kill
      end

      # A thread asks, so that keys work while a server is slow.
      def ask
        @wanted = Queue.new
        answers = Queue.new
        @asker = Thread.new do
          while @wanted.pop
            from = now
            result = begin
              look
            rescue StandardError => e # any of them ends the view
              e
            end
            answers << [result, now - from]
            @screen.wake
          end
        end
        answers
      end

      def answered((result, took))
        @asking = false
        @due = now + [@interval, SHARE * took].max
        case result
        when Watch::View
          @view = result
          @failed = @state.note = nil
        when Failure then failed(result)
        else raise result
        end
      end

      # One that is stopped may go on; one that has ended has not.
      def failed(error)
        @failed ||= now
        @due = now + 0.5
        @state.note = "no answer for #{Text.duration(now - @failed)}"
        return if error.code == 408 || now - @failed < PATIENCE
        @done = true
        @ended = @watch.pid && error.code.nil? ? Failure.new("#{@socket}: process #{@watch.pid} has ended: start top again for another one") : error
      end

      def now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)

      def draw
        rows, columns = @screen.size
        @screen.draw(TopView.new(@view, @state, columns).frame(rows, @given["count"]))
      end

      # --- keys ----------------------------------------------------------------------------

      def handle(event)
        return if %i[resize wake].include?(event)
        raise Interrupt if event == :interrupt
        @state.typing ? type(event) : press(event)
      end

      def press(key)
        case key
        when "q", "Q" then @done = true
        when "s" then again { @state.sort = next_sort }
        when "r" then again { @watch.mark }
        when "/" then @state.typing, @filter_before = @state.filter.dup, @state.filter
        when :escape then again { @state.filter = +"" } unless @state.filter.empty?
        when " ", :enter then again
        else move(key)
        end
      end

      # By objects only if there are any
      def next_sort
        sorts = @view.objects? || @state.sort == "objects" ? Watch::SORTS : Watch::SORTS - ["objects"]
        sorts[(sorts.index(@state.sort) + 1) % sorts.size]
      end

      def move(key)
        step = { up: -1, "k" => -1, down: 1, "j" => 1, page_up: -10, page_down: 10, home: -@view.lines.size, end: @view.lines.size }[key] or return
        @state.chosen = (@state.chosen + step).clamp(0, [@view.lines.size - 1, 0].max)
      end

      # The view is renewed at once.
      def again
        yield if block_given?
        @due = now
      end

      def type(key)
        case key
        when :enter then @state.typing = nil
        when :escape then filter(@filter_before) && @state.typing = nil
        when :erase then filter(@state.typing = @state.typing.chop)
        when String then filter(@state.typing += key) if key.match?(/\A[[:print:]]\z/)
        end
      end

      # Each letter counts at once, in the rows that are there. The next answer has all of them.
      def filter(text)
        again { @state.filter, @state.chosen = text, 0 }
        @view.lines = @view.lines.select { |l| Text.utf8(l.location).downcase.include?(text.downcase) }
      end
    end
  end
end
