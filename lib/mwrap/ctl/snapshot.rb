# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "stringio"
require "uri"
require_relative "text"

module Mwrap
  module Ctl
    # The table of one moment: of a file, a server or a mark. The form is the TSV of /snapshot.tsv: a
    # comment line with fields NAME=VALUE, a line of columns, and a row for each location. Exit dumps
    # and /each/0.tsv lack the comment. A file that several processes appended to is their sum.
    class Snapshot # :nodoc: all
      # Counts are nil where the form doesn't have them.
      # object_error is per cent in a file, and a number of objects here.
      Row = Struct.new(:live_bytes, :live, :total, :allocations, :frees, :growth, :peak_bytes, :objects, :object_bytes, :object_error) do
        # The sum with another one. Errors are those of estimates of their own.
        def plus(other)
          sum = self.class.new(*to_a.zip(other.to_a).map { |a, b| a && b && a + b })
          sum.object_error = Math.hypot(object_error, other.object_error) if sum.object_error
          sum
        end
      end
      NONE = Row.new(0, 0).freeze
      NONE_AT_PEAK = Row.new(0).freeze # blocks aren't known
      PEAK = "peak" # no mark can have this name
      COLUMNS = Row.members.map(&:to_s).freeze
      LINE_MAX = 1 << 20 # a location may have 70,000 characters
      ADDRESS = / \[0x\h+\]\z/ # of a native location, which differs between processes
      NUMBER = /\A-?\d{1,20}\z/
      SECONDS = /\A\d{1,12}(\.\d{1,9})?\z/

      attr_reader :name, :head, :rows

      class << self
        # A regular file or a pipe; "-" is stdin.
        def read(path)
          return new(path, $stdin.binmode, "stdin") if path == "-"
          File.open(path, "rb") { |f| new(path, f) }
        rescue SystemCallError => e
          raise Failure, "#{path}: #{Executable.reason(e)}"
        end

        # Of a server now, at its mark, or at its peak
        def ask(client, mark = nil)
          peak = mark == PEAK
          found = of(client, text(client, peak ? nil : mark), [client.at.name, *mark].join("@"))
          peak ? found.at_peak : found
        end

        # Of a text that a server answered
        def of(client, text, name = client.at.name)
          new(name, StringIO.new(text))
        rescue Failure
          client.strange
        end

        # The text of one, also from a server that doesn't have the route
        def text(client, mark = nil)
          client.get("/snapshot.tsv#{"?#{URI.encode_www_form("mark" => mark)}" if mark}")
        rescue Failure => e
          raise unless e.code == 404
          raise marks(client, mark, e) if mark
          head(client) + client.get("/each/0.tsv")
        end

        private

        def marks(client, mark, error)
          names = Array(client.json("/marks.json")["marks"]).filter_map { |m| m["name"] if m.is_a?(Hash) }
          known = names.empty? ? "it has none" : "it has #{names.last(5).join(", ")}"
          Failure.new("#{client.at.name}: no mark #{mark}: #{Text.clean(known).b}")
        rescue Failure
          error
        end

        def head(client)
          s = client.json("/stats.json")
          at = Time.now
          fields = { "mwrap" => s["version"], "mark" => "", "time" => at.utc.strftime("%Y-%m-%dT%H:%M:%S.%LZ"), "unix" => format("%.3f", at.to_f),
                     "uptime" => s["uptime"], "pid" => s["pid"], "rss" => s["rss_bytes"], "live_bytes" => s["live_bytes"], "live" => s["live"],
                     "resets" => s["resets"], "start" => client.json("/verdict.json")["start"] }
          Snapshot.head_line(fields)
        rescue Failure => e
          raise unless e.code == 404 # of all processes
          Snapshot.head_line({ "time" => Time.now.utc.strftime("%Y-%m-%dT%H:%M:%S.%LZ"), "unix" => format("%.3f", Time.now.to_f) })
        end
      end

      # A comment line; what isn't known is left out.
      def self.head_line(fields)
        "# #{fields.compact.map { |k, v| "#{k}=#{v.to_s.b.gsub(/[^A-Za-z0-9\-._~:]/n) { |c| format("%%%02X", c.ord) }}" }.join(" ")}\n"
      end

      # io: at the beginning of the text; name: as messages say it
      def initialize(name, io, shown = name)
        @name = name
        @shown = shown
        @head = {}
        @rows = Hash.new(NONE)
        @count = 0
        @line = 0
        read(io)
        raise Failure, "#{@shown}: no snapshot: write one with mwrapctl snap SOCKET FILE" unless @columns
        cut_off if (want = number("rows")) && want != @count
      end

      # Numbers of the head; nil if it doesn't have them
      def number(field) = (@head[field].to_s.match?(/\A\d{1,19}\z/) ? @head[field].to_i : nil)
      def unix = (seconds("unix") if @head["unix"].to_s.match?(SECONDS))
      def pid = number("pid")
      def rss = number("rss")
      def mark = @head["mark"].to_s

      # The same counters count on: neither another process nor a reset lies between.
      def continues?(other) = !@head["start"].to_s.empty? && @head.values_at("start", "resets") == other.head.values_at("start", "resets")

      def live_bytes = @rows.each_value.sum(&:live_bytes)
      # Blocks; nil if they aren't known
      def live = (@rows.each_value.sum(&:live) if @rows.default.live)
      # Has it Ruby's objects? Files of earlier versions haven't.
      def objects? = @at[COLUMNS.index("objects")] && true

      # The same process when all its live memory was highest, or of several processes each one's peak. Of that moment
      # only bytes are known.
      def at_peak
        raise Failure, "#{@shown}: its table has no peak: write it again with this version" unless @at[COLUMNS.index("peak_bytes")]
        rows = @rows.transform_values { |r| r.peak_bytes.to_i }.select { |_, bytes| bytes.positive? }
        raise Failure, "#{@shown}: no peak is known: it takes a server or the option dump_every, and a second" if rows.empty?
        dup.tap { |s| s.take_peak(rows) }
      end

      protected

      def take_peak(bytes)
        @rows = bytes.transform_values { |n| Row.new(n) }
        @rows.default = NONE_AT_PEAK
        @at = @at.dup.fill(nil)
        back = seconds("uptime") - seconds("peak_uptime") if @head["uptime"] && @head["peak_uptime"]
        at = Time.at(unix - back) if back && unix
        @head = { **@head.slice("mwrap", "pid", "processes"), "mark" => PEAK, "uptime" => @head["peak_uptime"],
                  "time" => at&.utc&.strftime("%Y-%m-%dT%H:%M:%S.%LZ"), "unix" => at && format("%.3f", at.to_f) }.compact
      end

      private

      def seconds(field) = @head[field].to_s[SECONDS].to_f

      def read(io)
        while (line = io.gets("\n", LINE_MAX))
          @line += 1
          line.end_with?("\n") or cut_off
          line = line.b.chomp
          if line.start_with?("# ") then take_head(line)
          elsif header?(fields = line.split("\t", -1)) then @columns = fields
          elsif @columns.nil? then return
          else take(fields)
          end
        end
      rescue SystemCallError, IOError => e
        raise Failure, "#{@shown}: #{e.is_a?(SystemCallError) ? Executable.reason(e) : "unreadable"}"
      end

      def take_head(line)
        return unless @head.empty?
        @head = line.delete_prefix("# ").split(" ").filter_map do |field|
          key, value = field.split("=", 2)
          [key, value.gsub(/%(\h\h)/n) { $1.hex.chr }] if value
        end.to_h
      end

      def header?(fields)
        return false unless fields[0].to_s.match?(/\A[a-z_]+\z/) && (%w[live_bytes live location] - fields).empty? && fields.uniq.size == fields.size
        @at = [*COLUMNS.map { |c| fields.index(c) }, fields.index("location")]
        true
      end

      def take(fields)
        fields.size == @columns.size or wrong
        values = @at[0..-2].map { |i| i && value(fields[i]) }
        values[0] && values[1] && values[0] >= 0 && values[1] >= 0 or wrong
        @count += 1
        values[-1] = values[-1].to_i * values[-3] / 100.0 if values[-3]
        add(Text.unescape(fields[@at[-1]]).sub(ADDRESS, ""), values)
      end

      def value(text)
        return if text.empty?
        text.match?(NUMBER) ? text.to_i : wrong
      end

      # Rows of one location are one: native ones by module and offset, and those of several processes.
      def add(location, values)
        row = Row.new(*values)
        @rows[location] = @rows.key?(location) ? @rows[location].plus(row) : row
      end

      def cut_off = raise(Failure, "#{@shown}: cut off behind line #{@line}: write it again")
      def wrong = raise(Failure, "#{@shown}: no snapshot from line #{@line} on: write it again")
    end
  end
end
