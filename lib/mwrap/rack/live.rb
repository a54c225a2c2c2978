# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# live.rb - /live, without keeping one of the server's threads.
#
# If the server gives connections away ("hijack"), each watcher has a Seat. One thread of ours
# writes the news to all of them each second. It never waits for a watcher: its writes don't block,
# and a watcher that reads nothing for STALL seconds is dropped. Elsewhere /live answers what there
# is, says where its next request can go on (?since=), and ends. The thread ticks while these
# requests come. It ends with the last watcher. A forked child has no thread and no watchers: it
# begins anew.

module Mwrap::Pages # :nodoc: all
  module Live
    SEATS = 8
    STALL = 60     # seconds
    SILENCE = 15   # seconds; then a comment, for proxies
    PATIENCE = 10  # seconds to wait for a repeated request, or for a Seat's connection
    STEP = 0.5     # seconds at most between looks for new watchers
    private_constant :SEATS, :STALL, :SILENCE, :PATIENCE, :STEP

    # One watcher, and the connection that a server gave away for it.
    class Seat < Joiner
      # hello: its first bytes. The block makes a body, for a connection that can't be kept.
      def initialize(hello, &part)
        @watcher = Watcher.new
        @out = hello
        @part = part
        @since = @spoke = Live.clock
        @io = nil
        @gone = @here = false
      end

      # call, in quiet mode: the server's thread brings the connection.
      def join(io)
        return once(io) unless defined?(BasicSocket) && BasicSocket === io
        @since = @spoke = Live.clock
        # Unicorn and Pitchfork would shut io down after this, unless it is closed
        @io = io.dup
        io.close
        write(@since)
        @here = true # belongs to the thread from now on
        Live.join
      end

      def io = (@io if @here)
      def gone? = @gone
      def blocked? = !@out.nil?
      def late?(now) = now - @since > (@io ? STALL : PATIENCE) && (@io.nil? || blocked?)

      # Writes all pending events.
      def pump(now)
        write(now) or return if @out
        until @gone
          @out = @watcher.next || (":\n\n" if now - @spoke >= SILENCE) or return
          @spoke = now
          write(now) or return
        end
      rescue NoMemoryError
        close
      end

      # Closes if the client ended the connection, or sent unexpected bytes.
      def look
        close unless @io.read_nonblock(1, exception: false) == :wait_readable
      rescue IOError, SystemCallError
        close
      end

      def close
        @gone = true
        @io&.shutdown(:RDWR) # a forked child may hold it, too
        @io&.close
      rescue IOError, SystemCallError
        nil
      end

      private

      # True when all is written.
      def write(now)
        while @out
          n = @io.write_nonblock(@out, exception: false)
          return false if n == :wait_writable
          @since = now
          @out = n < @out.bytesize ? @out.byteslice(n..) : nil
        end
        true
      rescue IOError, SystemCallError
        close
        false
      end

      # Serves a connection that isn't a socket, for example one with TLS: Ruby can't write to that
      # without waiting. It gets what there is now, and the end.
      def once(io)
        Live.leave(self)
        Live.part(@part.call, "").each { |s| io.write(s) }
      rescue IOError, SystemCallError
        nil
      ensure
        io.close
      end
    end

    @lock = Mutex.new
    @pid = Process.pid
    @seats = []
    @polled = -PATIENCE
    @thread = nil

    class << self
      def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # Does the server give connections away? WEBrick gives a pipe, and begins to read it only when
      # it is full. Falcon's connection accepts writes only from its own Fibers.
      def hijack?(env)
        return false if env["SERVER_SOFTWARE"].to_s.start_with?("WEBrick") || env.key?("protocol.http.request")
        env["rack.hijack?"] ? true : false
      end

      # Returns a Seat, or nil if all are taken.
      def seat(hello, &part)
        now = clock
        seat = Seat.new(hello, &part)
        locked do
          @seats.reject! { |s| s.gone? || s.late?(now) }
          return if @seats.size >= SEATS
          @seats << seat
        end
        seat
      end

      def join = locked { start }
      def leave(seat) = locked { @seats.delete(seat) }

      # Turns a body that begins a stream into one that ends. query: the request's
      def part(body, query)
        since = query[/(?:\A|&)since=([0-9]+-[0-9]+:[0-9]+)(?:&|\z)/, 1]
        watcher = Watcher.new
        again = since ? watcher.resume(since) : false
        locked do
          @polled = clock
          start
        end
        body.follow(watcher, again)
      end

      # The thread's code; src/ruby/rack_live.c calls it in quiet mode.
      def run
        Thread.current.name = "mwrap"
        Thread.current.report_on_exception = false
        due = clock
        begin
          due = clock + Mwrap::Pages.tick if clock >= due
          seats = locked { @seats.select(&:io) }
          seats.each { |seat| seat.pump(clock) }
          wait(seats, due) unless (over = locked { over? })
        end until over
      end

      private

      # Spins instead of waiting as a Mutex does, which may switch Fibers. It is held for a moment
      # only.
      def locked
        fresh if @pid != Process.pid
        begin # first: an exception from elsewhere, as by Timeout, may come as soon as it is held
          Thread.pass until @lock.try_lock
          yield
        ensure
          @lock.unlock if @lock.owned?
        end
      end

      # In a forked child. The parent's connections close when the GC frees them.
      def fresh
        @lock = Mutex.new
        @seats = []
        @polled = -PATIENCE
        @thread = nil
        @pid = Process.pid
      end

      def start
        @thread = Mwrap::Pages.thread(self) unless @thread&.alive?
      end

      # True if the last watcher has gone. The next one starts another thread.
      def over?
        now = clock
        @seats.each { |seat| seat.close if seat.io && seat.late?(now) }
        @seats.reject! { |seat| seat.gone? || seat.late?(now) }
        return false if @seats.any? || now - @polled < PATIENCE
        Mwrap::Pages.unwatched
        @thread = nil
        true
      end

      def wait(seats, due)
        here = seats.reject(&:gone?)
        by_io = here.to_h { |seat| [seat.io, seat] }
        readable, = IO.select(by_io.keys, here.select(&:blocked?).map(&:io), nil, (due - clock).clamp(0, STEP))
        readable&.each { |io| by_io[io].look }
      rescue IOError, SystemCallError
        here&.each(&:look)
      end
    end
  end
end
