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

        # The form that the ending of --output asks for, one of `forms`; nil: none is asked for.
        def form(given, forms)
          to = given["output"]
          return if to.nil? || to == "-"
          ending = File.extname(to).delete_prefix(".").downcase.b
          return ending if forms.include?(ending)
          raise Usage, "--output: \"#{to}\" has no ending that says its form: end it in #{forms.map { |f| ".#{f}" }.then { |l| l.size == 1 ? l[0] : "#{l[..-2].join(", ")} or #{l[-1]}" }}"
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

      # limit: of rows, if somebody gave one; empty: what a terminal shows if there are none; below: lines below the table there
      def initialize(columns, rows, facts: [], extra: {}, limit: nil, empty: nil, below: [])
        @columns = columns
        @rows = rows
        @facts = facts
        @extra = extra
        @limit = limit
        @empty = empty
        @below = below
      end

      SHOWN = 30 # rows on a terminal, if nothing says how many

      FORMS = %w[tsv json txt].freeze # of --output

      def print(given)
        form = Output.form(given, FORMS)
        Output.write(if given["json"] || form == "json" then json
                     elsif form == "tsv" then tsv
                     elsif form || given["text"] || Output.terminal? then text
                     else tsv
                     end, given.fetch("output", "-"))
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
        lines.concat(@below)
        lines.map { |l| "#{l}\n" }.join
      end

      LAST = 24  # columns of the terminal that the last column gets at least
      TEXT = 18  # what another text gets then

      # Aligned lines, with the titles on top. On a terminal they fit: texts are cut, and numbers for which there is no
      # room even so are left out, the last ones first. Programs get them.
      def table(rows)
        shown = @columns.each_index.select { |i| @columns[i].title }.partition { |i| @columns[i].name != "location" }.flatten # which may be long
        all = rows
        room = Output.terminal? ? Output.size[1] : nil
        columns, cells, widths = laid_out(shown, all)
        if room
          columns, cells, widths = laid_out(shown, all, TEXT) unless fits?(widths, room)
          while !fits?(widths, room) && (spare = shown[..-2].rindex { |i| !@columns[i].text? })
            shown.delete_at(spare)
            columns, cells, widths = laid_out(shown, all, TEXT)
          end
        end
        rows = all.map { |row| row.values_at(*shown) }
        fit(columns, cells, widths, room) if room
        head = Output.paint(line(columns, columns.map(&:title), widths), :bold)
        [head, *cells.zip(rows).map { |texts, row| line(columns, texts, widths, row) }]
      end

      private

      def fits?(widths, room) = widths[..-2].sum { |w| w + 2 } + [widths[-1], LAST].min <= room

      # [columns, their texts in each row, their widths]. most: of a text that isn't the last column
      def laid_out(shown, rows, most = nil)
        columns = @columns.values_at(*shown)
        cells = rows.map { |row| columns.zip(row.values_at(*shown)).map { |c, v| c.show(v) } }
        cells.each { |line| (0...line.size - 1).each { |i| line[i] = Text.tail(line[i], most) if columns[i].text? } } if most
        [columns, cells, columns.each_index.map { |i| [columns[i].title, *cells.map { |line| line[i] }].map { |s| Text.width(s) }.max }]
      end

      # A location's end says more, and a command's beginning.
      def fit(columns, cells, widths, room)
        left = [room - widths[..-2].sum { |w| w + 2 }, 1].max
        return unless columns[-1].text?
        cells.each { |line| line[-1] = columns[-1].name == "command" ? Text.head(line[-1], left) : Text.tail(line[-1], left) }
        widths[-1] = [widths[-1], left].min
      end

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
