# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "io/console"
require "json"
require_relative "../executable"
require_relative "text"

module Mwrap
  module Ctl
    # Where what a command says goes, and in which form.
    module Output # :nodoc: all
      COLOURS = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36, inverse: 7 }.freeze
      SOON = 0.5 # seconds after which work says what it does
      AGAIN = 0.2 # seconds until it says how far it is
      WIDTH = 80

      class << self
        def terminal? = $stdout.tty?
        def colour? = terminal? && ENV["NO_COLOR"].to_s.empty? && !dumb?
        def dumb? = ["dumb", "", nil].include?(ENV["TERM"])

        # Bars of a curve that this terminal can show
        def bars = Text.utf8? ? Text::BARS : Text::PLAIN_BARS

        def paint(text, *colours)
          return text if !colour? || colours.empty?
          "\e[#{colours.map { |c| COLOURS.fetch(c) }.join(";")}m#{text}\e[m"
        end

        # Rows and columns
        def size
          rows, columns = $stdout.tty? ? $stdout.winsize : [0, 0]
          [rows.positive? ? rows : 24, columns.positive? ? columns : WIDTH]
        rescue SystemCallError
          [24, WIDTH]
        end

        # to: a path, or "-" for stdout. A file appears whole or not at all, and replaces an old one.
        def write(bytes, to = "-")
          return put(bytes) if to == "-"
          return File.binwrite(to, bytes) if File.exist?(to) && !File.file?(to) # a device, a pipe
          replace(bytes, File.symlink?(to) ? File.realpath(to) : to)
        rescue SystemCallError => e
          raise if to == "-" && e.is_a?(Errno::EPIPE)
          raise Failure, "#{to == "-" ? "stdout" : to}: #{Executable.reason(e)}"
        end

        # Says on stderr what takes long, if that is a terminal, and takes it back. The block gets a Proc: what it
        # is called with is said from then on.
        def busy(what)
          return yield(->(_) {}) if !$stderr.tty? || dumb?
          teller = Thread.new do
            sleep SOON
            loop do
              $stderr << "\r\e[K#{Text.head(Text.clean(what), WIDTH - 4)} ..."
              Thread.current[:told] = true
              sleep AGAIN
            end
          end
          yield(->(more) { what = more })
        ensure
          teller&.kill&.join
          $stderr << "\r\e[K" if teller&.[](:told)
        end

        # The block gets the path of a file that it makes. That becomes `to` if the block returns, and else nothing is left.
        def whole(to)
          limit = trap("XFSZ", "IGNORE") # a limit of files' sizes is an error then, and nothing is left behind
          temporary = File.join(File.dirname(to), ".#{File.basename(to)[0, 200]}.#{::Process.pid}")
          yield temporary
          File.rename(temporary, to)
          temporary = nil
        rescue Errno::EEXIST
          temporary = nil # somebody else's
          raise
        ensure
          File.unlink(temporary) if temporary && File.file?(temporary)
          trap("XFSZ", limit || "DEFAULT")
        end

        private

        def put(bytes)
          $stdout.binmode
          $stdout.write(bytes)
          $stdout.flush
        end

        def replace(bytes, to)
          whole(to) { |path| File.open(path, File::WRONLY | File::CREAT | File::EXCL | File::BINARY) { |f| fill(f, bytes) } }
        end

        def fill(file, bytes)
          file.write(bytes)
          file.fsync
        end
      end
    end

    # A table: aligned for a terminal, TSV for a pipe, or JSON.
    #
    # facts: lines above it on a terminal, which are painted already. extra: what the JSON object has
    # besides "rows". rows: Arrays of the columns' values, nil where there is none.
    class Listing # :nodoc: all
      # type: :bytes, :growth (bytes with a sign), :count, :change (a count with a sign), :score, :share (of 1), :relative (a change as a part of 1),
      # :series (an Array of numbers), :text. title: nil for one that only programs get.
      Column = Struct.new(:name, :title, :type) do
        def text? = type == :text

        def show(value)
          case type
          when :bytes then Text.bytes(value)
          when :growth then Text.bytes(value, sign: true)
          when :count then Text.count(value)
          when :change then Text.count(value, sign: true)
          when :series then Text.spark(Text.thin(value, 24), Output.bars)
          when :share then "#{(value * 100).round} %"
          when :relative then value.nil? ? "-" : format("%+d %%", (value * 100).round)
          when :score then value.nil? ? "-" : format("%.2f", value)
          else value.nil? ? "-" : Text.clean(value.to_s)
          end
        end
      end

      # limit: of rows, if somebody gave one; empty: what a terminal shows if there are none
      def initialize(columns, rows, facts: [], extra: {}, limit: nil, empty: nil)
        @columns = columns
        @rows = rows
        @facts = facts
        @extra = extra
        @limit = limit
        @empty = empty
      end

      SHOWN = 30 # rows on a terminal, if nothing says how many

      def print(given)
        Output.write(if given["json"] then json
                     elsif given["text"] || Output.terminal? then text
                     else tsv
                     end)
      end

      def json
        rows = limited(@rows.size).map { |row| @columns.zip(row).to_h { |c, v| [c.name, c.text? && v ? Text.utf8(v.to_s) : v] } }
        "#{JSON.generate({ **@extra, "rows" => rows })}\n"
      end

      def tsv
        lines = limited(@rows.size).map { |row| @columns.zip(row).map { |c, v| c.text? ? Text.escape(v.to_s) : [*v].map { |n| plain(n) }.join(",") }.join("\t") }
        [@columns.map(&:name).join("\t"), *lines].map { |line| "#{line}\n" }.join
      end

      def text
        rows = limited(SHOWN)
        lines = [*@facts, *("" unless @facts.empty?)]
        return (lines << @empty).map { |l| "#{l}\n" }.join if @rows.empty? && @empty
        lines.concat(table(rows))
        more = @rows.size - rows.size
        lines << Output.paint("#{Text.count(more)} more: -n #{@rows.size}", :dim) if more.positive?
        lines.map { |l| "#{l}\n" }.join
      end

      # Aligned lines, with the titles on top
      def table(rows)
        shown = @columns.each_index.select { |i| @columns[i].title }.partition { |i| @columns[i].name != "location" }.flatten # which may be long
        columns = @columns.values_at(*shown)
        rows = rows.map { |row| row.values_at(*shown) }
        cells = rows.map { |row| columns.zip(row).map { |c, v| c.show(v) } }
        widths = columns.each_index.map { |i| [columns[i].title, *cells.map { |line| line[i] }].map { |s| Text.width(s) }.max }
        head = Output.paint(line(columns, columns.map(&:title), widths), :bold)
        [head, *cells.zip(rows).map { |texts, row| line(columns, texts, widths, row) }]
      end

      private

      def limited(size) = @rows.first(@limit || size)

      def plain(value) = value.is_a?(Float) ? format("%.4f", value).sub(/\.?0+\z/, "") : value.to_s

      def line(columns, texts, widths, row = nil)
        texts.each_with_index.map do |text, i|
          pad = " " * [widths[i] - Text.width(text), 0].max
          column = columns[i]
          shown = row && %i[growth change].include?(column.type) && row[i]&.positive? ? Output.paint(text, :red) : text
          column.text? || column.type == :series ? (i == texts.size - 1 ? shown : shown + pad) : pad + shown
        end.join("  ").rstrip
      end
    end
  end
end
