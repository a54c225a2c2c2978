# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# live.rb - /live, without keeping one of the server's threads. It carries what the stream has for
# each watcher (src/server/history/stream.h).
#
# If the server gives connections away ("hijack"), each watcher has a Seat. One thread of ours
# writes to all of them. It never waits for a watcher: its writes don't block, and a watcher that
# reads nothing for long is dropped. Elsewhere /live answers what there is, says where its next
# request can go on (?since=), and ends. The thread ticks while these requests come. It ends when
# nobody watches. A forked child has no thread and no watchers: it begins anew.

module Mwrap::Pages # :nodoc: all
  module Live
    PATIENCE = 10  # seconds to wait for a Seat's connection
    STEP = 0.5     # seconds at most between looks for new watchers
    private_constant :PATIENCE, :STEP

    # One watcher, and the connection that a server gave away for it.
    class Seat < Joiner
      # hello: its first bytes. The block makes a body, for a connection that can't be kept.
      def initialize(hello, &part)
        @watcher = Watcher.new
        @hello = hello
        @part = part
        @since = Live.clock
        @io = nil
        @here = @gone = @blocked = false
      end

      # False: too many watch.
      def take = @watcher.join(@hello)

      # call, in quiet mode: the server's thread brings the connection.
      def join(io)
        return once(io) unless defined?(BasicSocket) && BasicSocket === io
        # Unicorn and Pitchfork would shut io down after this, unless it is closed
        @io = io.dup
        io.close
        pump
        @here = true # belongs to the thread from now on
        Live.join
      end

      def io = (@io if @here)
      def gone? = @gone
      def blocked? = @blocked
      def lost?(now) = @gone || (@io.nil? && now - @since > PATIENCE)

      # Writes all that there is for it.
      def pump
        while !@gone && (bytes = @watcher.bytes)
          n = @io.write_nonblock(bytes, exception: false)
          return @blocked = true if n == :wait_writable
          @watcher.took(n)
        end
        @blocked = false
        close if bytes == false
      rescue IOError, SystemCallError, NoMemoryError
        close
      end

      # Closes if the client ended the connection, or sent unexpected bytes.
      def look
        close unless @io.read_nonblock(1, exception: false) == :wait_readable
      rescue IOError, SystemCallError
        close
      end

      # Closes if the client reads nothing for too long.
      def check = (close if @watcher.stalled?)

      # Its place is free for another watcher. Any thread; a connection that comes later is closed.
      def leave = @watcher.end

      private

      def close
        @gone = true
        @io&.shutdown(:RDWR) # a forked child may hold it, too
        @io&.close
      rescue IOError, SystemCallError
        nil
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
        drop
        seat = Seat.new(hello, &part)
        return unless seat.take
        locked { @seats << seat }
        seat
      end

      def join = locked { start }

      def leave(seat)
        locked { @seats.delete(seat) }
        seat.leave
      end

      # Turns a body that begins a stream into one that ends. query: the request's
      def part(body, query)
        watcher = Watcher.new
        again = watcher.poll(query[/(?:\A|&)since=([0-9]+-[0-9]+:[0-9]+)(?:&|\z)/, 1])
        locked { start }
        body.follow(watcher, again)
      end

      # The thread's code; src/extension/rack_live.c calls it in quiet mode.
      def run
        Thread.current.name = "mwrap"
        Thread.current.report_on_exception = false
        begin
          due = Mwrap::Pages.tick
          seats = locked { @seats.select(&:io) }
          seats.each(&:pump)
          wait(seats, due) unless (over = over?)
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
        @thread = nil
        @pid = Process.pid
      end

      def start
        @thread = Mwrap::Pages.thread(self) unless @thread&.alive?
      end

      # Forgets Seats whose watcher has gone, or whose connection never came.
      def drop
        now = clock
        lost = locked do
          lost, @seats = @seats.partition { |seat| seat.lost?(now) }
          lost
        end
        lost.each(&:leave)
      end

      # True if the last watcher has gone. The next one starts another thread.
      def over?
        locked { @seats.select(&:io) }.each(&:check)
        drop
        return false unless Mwrap::Pages.idle?
        locked do # somebody may have come meanwhile
          @thread = nil if (over = Mwrap::Pages.idle?)
          over
        end
      end

      # due: seconds until the next tick
      def wait(seats, due)
        here = seats.reject(&:gone?)
        by_io = here.to_h { |seat| [seat.io, seat] }
        readable, = IO.select(by_io.keys, here.select(&:blocked?).map(&:io), nil, due.clamp(0, STEP))
        readable&.each { |io| by_io[io].look }
      rescue IOError, SystemCallError
        here&.each(&:look)
      end
    end
  end
end
