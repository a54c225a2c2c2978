# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "io/console"

module Mwrap
  module Ctl
    # The whole terminal, until the block of `open` ends, however it does: the keys that are pressed, and
    # the signals that come meanwhile. The terminal is then as it was.
    class Screen # :nodoc: all
      ENTER = "\e[?1049h\e[?25l\e[2J"
      LEAVE = "\e[m\e[?25h\e[?1049l"
      ENDS = %w[INT TERM HUP QUIT].freeze
      KEYS = { "\e[A" => :up, "\eOA" => :up, "\e[B" => :down, "\eOB" => :down, "\e[5~" => :page_up, "\e[6~" => :page_down, "\e[H" => :home, "\e[F" => :end,
               "\e[C" => :right, "\e[D" => :left, "\r" => :enter, "\n" => :enter, "\x7f" => :erase, "\b" => :erase, "\x03" => :interrupt, "\e" => :escape }.freeze
      KEY = /\A(?:\e\[[0-9;]*[A-Za-z~]|\eO[A-Z]|\e|[\x20-\x7f\x00-\x1f]|[\xc2-\xf4][\x80-\xbf]{1,3})/n

      # The terminal that both stdin and stdout are, nil if they aren't one that can be drawn on.
      def self.usable? = $stdin.tty? && $stdout.tty? && !Output.dumb?

      def self.open
        screen = new
        yield screen
      ensure
        screen&.close
      end

      def initialize
        @mode = $stdin.console_mode
        @told, @tell = IO.pipe
        @typed = +"".b
        @handlers = [*ENDS, "WINCH", "TSTP", "CONT"].to_h { |name| [name, trap(name) { @tell.write_nonblock("#{name}\n") rescue nil }] }
        enter
      end

      def close
        leave
      ensure
        @handlers.each { |name, handler| trap(name, handler || "DEFAULT") }
      end

      # A thread says that something is there: `wait` returns.
      def wake = @tell.write_nonblock("WAKE\n")

      # Keys (characters or names of KEYS), :resize, :wake, for so many seconds at most. A signal that
      # ends a process raises here.
      def wait(seconds)
        ready, = IO.select([$stdin, @told], nil, nil, [seconds, 0].max)
        return [] unless ready
        events = ready.include?(@told) ? signals : []
        events.concat(keys) if ready.include?($stdin)
        events
      end

      # lines: painted, and cut to `columns` already
      def draw(lines)
        rows, = size
        text = lines.first(rows).each_with_index.map { |line, i| "\e[#{i + 1};1H#{line}\e[m\e[K" }.join
        $stdout.write("#{text}#{"\e[J" if lines.size < rows}")
        $stdout.flush
      end

      def size = Output.size

      private

      def enter
        $stdin.raw!(intr: true)
        $stdout.write(ENTER)
        $stdout.flush
      end

      def leave
        $stdin.console_mode = @mode
        $stdout.write(LEAVE)
        $stdout.flush
      rescue SystemCallError
        nil # the terminal is gone
      end

      def signals
        @told.read_nonblock(4096).split("\n").uniq.filter_map do |name|
          case name
          when "INT" then raise Interrupt
          when *ENDS then raise SignalException, name
          when "TSTP" then suspend
          when "WAKE" then :wake
          else :resize # also behind a stop: the terminal may be another size, and shows something else
          end
        end
      end

      # Ctrl-Z: the shell gets its terminal back.
      def suspend
        leave
        trap("TSTP", "DEFAULT")
        ::Process.kill(:TSTP, ::Process.pid)
        trap("TSTP") { @tell.write_nonblock("TSTP\n") rescue nil }
        enter
        :resize
      end

      def keys
        @typed << $stdin.read_nonblock(4096)
        # the rest of a key may be on its way
        @typed << $stdin.read_nonblock(4096) if @typed.match?(/\e[\[O]?[0-9;]*\z|[\xc2-\xf4][\x80-\xbf]{0,2}\z/n) && $stdin.wait_readable(0.05)
        found = []
        found << (KEYS[$&] || Text.utf8($&)) while @typed.slice!(KEY)
        @typed.clear
        found
      rescue IO::WaitReadable
        []
      rescue EOFError, Errno::EIO
        raise SignalException, "HUP" # nobody is at the terminal any more
      end
    end
  end
end
