# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "uri"
require_relative "client"
require_relative "snapshot"

module Mwrap
  module Ctl
    # Asks a server again and again for the figures that `top` shows. It changes nothing there.
    class Watch # :nodoc: all
      # growth: since `since`; rate: allocations a second, nil until two answers are there; curve: live
      # bytes, oldest first. object_bytes: of Ruby's objects that stay; nil: the server doesn't know them
      Line = Struct.new(:location, :live_bytes, :live, :growth, :rate, :curve, :object_bytes)
      # rss, live: now, in bytes; curves of both; since: what growth counts from.
      View = Struct.new(:sentence, :advice, :growing, :who, :rss, :live, :blocks, :curves, :since, :lines) do
        def objects? = lines.any? { |l| l.object_bytes.to_i.positive? }
      end

      LIMIT = 1000 # rows for each answer: these have the most live bytes, or allocations
      POINTS = 24
      CURVE = 240
      RANGE = "15m"
      SORTS = %w[growth live rate objects].freeze
      KEYS = { "rate" => "allocations", "objects" => "object_bytes" }.freeze # of the server's rows; else by live bytes

      attr_reader :pid

      def initialize(client)
        @client = client
        @all = client.at.member == "/all"
        @seen = {}                     # location => [allocations, at]
        @own = Hash.new { |h, k| h[k] = [] } # curves of what the server has none of
        @base = nil                    # live bytes by location at the mark
      end

      # From now on growth counts from this moment, in this view alone.
      def mark = @mark_wanted = true

      # sort: one of SORTS; filter: a part of the locations' names. Raises Failure.
      def look(sort, filter)
        now = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
        totals = totals_now
        verdict = @client.optional { @client.json("/verdict.json") } || {}
        restarted(verdict["start"])
        take_mark(now) if @mark_wanted
        curves, past = history
        rows = table("sort=#{KEYS.fetch(sort, "live_bytes")}&limit=#{LIMIT}&#{URI.encode_www_form("q" => filter)}")
        lines = rows.map { |location, row| line(location, row, past[location], now) }
        @seen = rows.to_h { |location, row| [location, [row.allocations, now]] }
        @own.keep_if { |location, _| rows.key?(location) || location.is_a?(Symbol) }
        View.new(*verdict.values_at("sentence", "next", "growing"), *totals, own_curves(curves, totals), since(now), sorted(lines, sort))
      end

      private

      # [who, RSS, live bytes, blocks]
      def totals_now
        return family if @all
        s = @client.json("/stats.json")
        @pid, *numbers = s.values_at("pid", "rss_bytes", "live_bytes", "live").map { |n| n if n.is_a?(Integer) }
        @pid && s["uptime"].is_a?(Numeric) or @client.strange
        ["pid #{@pid}, up #{Text.duration(s["uptime"])}#{", figures are estimates" if s["estimated"]}", *numbers]
      end

      def family
        up = @client.family.select { |p| p["state"] == "answers" }
        ["#{up.size} processes#{", figures are estimates" if up.any? { |p| p["live_error"].to_i.positive? }}", *%w[rss_bytes live_bytes].map { |name| up.filter_map { |p| p[name] if p[name].is_a?(Integer) }.sum }, nil]
      end

      # Another process has the path now: nothing of the old one counts.
      def restarted(start)
        [@seen, @own].each(&:clear) && @base = nil if @start && start && start != @start
        @start = start || @start
      end

      def take_mark(now)
        @base = table("").transform_values(&:live_bytes)
        @marked_at = now
        @mark_wanted = false
      end

      def since(now)
        return "for #{Text.duration(now - @marked_at)}" if @base
        @past_seconds ? "for #{Text.duration(@past_seconds)}" : "since the reset"
      end

      def table(query) = Snapshot.of(@client, @client.get("/each/0.tsv?#{query}")).rows

      # [RSS and live bytes over time, live bytes over time by location]
      def history
        return [nil, {}] if @all
        whole = @client.optional { @client.json("/history.json?range=#{RANGE}&points=#{CURVE}") }
        curves = whole && %w[rss live].map { |name| numbers(whole[name]) }
        places = @client.optional { @client.json("/history/locations.json?range=#{RANGE}&points=#{POINTS}") } || {}
        t = numbers(places["t"]).compact
        @past_seconds = t[-1] - t[0] if t.size > 1
        @whole = t[0]&.zero? # the history has the whole life of the process
        past = Array(places["rows"]).filter_map { |row| past_of(row, t.size) }.to_h
        [curves, past]
      end

      # nil for what isn't a number
      def numbers(list) = list.is_a?(Array) ? list.map { |v| v if v.is_a?(Numeric) } : []

      # The last value holds for all times after it.
      def past_of(row, size)
        _, location, _, _, values = row
        return unless location.is_a?(String) && values.is_a?(Array) && values.any?(Integer)
        values = numbers(values)
        [location.b.sub(Snapshot::ADDRESS, ""), values + [values[-1]] * [size - values.size, 0].max]
      end

      def line(location, row, past, now)
        own = @own[location]
        own << row.live_bytes
        own.shift if own.size > POINTS
        before, at = @seen[location]
        rate = (row.allocations - before) / (now - at) if before && row.allocations && row.allocations >= before && now > at
        Line.new(location, row.live_bytes, row.live, growth(location, row, past), rate, past ? [*past, row.live_bytes] : own.dup, row.object_bytes)
      end

      # nil if it isn't known
      def growth(location, row, past)
        return row.live_bytes - @base.fetch(location, 0) if @base
        first = past&.find(&:itself)
        return row.live_bytes - first if first
        row.growth if @whole || !@past_seconds
      end

      def own_curves(curves, totals)
        return curves if curves&.all? { |c| c.any?(Numeric) }
        %i[rss live].zip(totals[1, 2]).map { |name, value| (@own[name] << value).shift(@own[name].size > CURVE ? 1 : 0) && @own[name].dup }
      end

      def sorted(lines, sort)
        key = { "growth" => ->(l) { l.growth || -Float::INFINITY }, "live" => ->(l) { l.live_bytes }, "rate" => ->(l) { l.rate || -1 }, "objects" => ->(l) { l.object_bytes.to_i } }.fetch(sort)
        lines.sort_by { |l| [-key.call(l), -l.live_bytes, l.location] }
      end
    end
  end
end
