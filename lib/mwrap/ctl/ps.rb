# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "client"
require_relative "output"
require_relative "tracked"

module Mwrap
  module Ctl
    # mwrapctl ps: the tracked processes that this user may see, and what their servers say.
    class Ps # :nodoc: all
      SECONDS = 2 # for an answer: one that is stopped holds nobody up
      AT_ONCE = 16
      Column = Listing::Column
      COLUMNS = [Column.new("pid", "PID", :number), Column.new("how", "HOW", :text), Column.new("rss_bytes", "RSS", :bytes), Column.new("live_bytes", "LIVE", :bytes),
                 Column.new("before_bytes", nil, :bytes),
                 Column.new("state", nil, :text), Column.new("socket", "SOCKET", :text), Column.new("command", "COMMAND", :text)].freeze

      def initialize(given)
        @given = given
      end

      def run
        processes = Output.busy("reading /proc") { Tracked.all }
        rows = Output.busy("asking #{processes.size} processes") { asked(processes) }
        Listing.new(columns(rows), rows, limit: @given["count"], empty: "No process runs under mwrap: start one with MWRAP=socket:/tmp/mw.sock mwrap COMMAND").print(@given)
        nil
      end

      private

      # BEFORE, for memory from before tracking began, is a column if a process has some.
      def columns(rows)
        COLUMNS.map.with_index { |c, i| c.name == "before_bytes" && rows.any? { |r| r[i]&.positive? } ? Column.new(c.name, "BEFORE", c.type) : c }
      end

      # In their order, several at once
      def asked(processes)
        waiting = Queue.new
        processes.each_with_index { |p, i| waiting << [p, i] }
        waiting.close
        rows = Array.new(processes.size)
        Array.new([AT_ONCE, processes.size].min) do
          Thread.new { (p, i = waiting.pop) ? rows[i] = row(p) : break while true }
        end.each(&:join)
        rows
      end

      def row(process)
        stats, at, state = process.server ? answer(process) : [{}, nil, "no server"]
        how = stats["how"].is_a?(String) ? stats["how"] : process.how
        live, before = stats.values_at("live_bytes", "before_bytes").map { |n| n if n.is_a?(Integer) }
        shown = [*at, *("(sampled)" if stats["estimated"]), *("(#{state})" unless %w[answers].include?(state))].join(" ")
        [process.pid, how, process.rss, live, before, state, Output.terminal? || @given["text"] ? shown : at, process.command]
      end

      # [stats.json, the server's name, what became of the question]
      def answer(process)
        at = process.server
        stats = Client.open(at, @given["token-file"], seconds: SECONDS).json("/stats.json")
        # a path may be another process's by now
        stats["pid"] == process.inner_pid ? [stats, at.name, "answers"] : [{}, nil, "no server"]
      rescue Failure => e
        [{}, at.name, e.code == 401 ? "needs a token" : e.code == 408 ? "no answer" : "refused"]
      end
    end
  end
end
