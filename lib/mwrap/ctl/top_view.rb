# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "output"

module Mwrap
  module Ctl
    # The lines of `top`, painted, for a terminal so wide, or as wide as they need (nil).
    class TopView # :nodoc: all
      # sort, filter: as Watch has them. chosen: the row that is lit, from 0; from: the first one that is
      # shown. typing: the filter while it is typed; note: what is wrong now.
      State = Struct.new(:sort, :filter, :chosen, :from, :typing, :note, keyword_init: true)

      ROWS = 20 # of a plain frame
      HEAD = 6  # lines above the rows
      CURVE = 16
      NARROW = 72 # columns, below which there are no curves
      TITLES = { "growth" => "GROWTH", "live" => "LIVE", "rate" => "ALLOC/S", "objects" => "OBJECTS" }.freeze

      def initialize(view, state, columns)
        @view = view
        @state = state
        @columns = columns
      end

      # For the whole of a terminal of so many rows
      def frame(rows, count)
        room = [rows - HEAD - 1, 1].max
        room = [room, count].min if count
        scroll(room)
        lines = [*head, *@view.lines[@state.from, room].to_a.each_with_index.map { |l, i| line(l, @state.from + i == @state.chosen) }]
        lines.concat([""] * [rows - 1 - lines.size, 0].max)
        lines.first([rows - 1, 0].max) << foot
      end

      # Without a cursor
      def plain(count) = [*head, *@view.lines.first(count).map { |l| line(l, false) }]

      private

      def scroll(room)
        last = [@view.lines.size - 1, 0].max
        @state.chosen = @state.chosen.clamp(0, last)
        @state.from = @state.from.clamp([@state.chosen - room + 1, 0].max, @state.chosen)
      end

      def head
        [paint(cut(Text.clean(@view.sentence.to_s)), :bold, *(:yellow if @view.growing)), paint(cut(Text.clean(@view.advice.to_s)), :dim),
         curve("RSS", @view.rss, @view.curves[0]), curve("live", @view.live, @view.curves[1]), status, paint(cut(titles).ljust(@columns || 0), :inverse)]
      end

      def curve(name, value, values)
        front = "#{name.ljust(5)}#{Text.bytes(value).rjust(8)}  "
        cut("#{front}#{Text.spark(Text.thin(values.map { |v| v if v.is_a?(Numeric) }, [[(@columns || Output::WIDTH) - front.size - 1, 100].min, 1].max), Output.bars)}")
      end

      def status
        parts = [@view.who, *("#{Text.count(@view.blocks)} blocks" if @view.blocks), "growth #{@view.since}", *("with \"#{Text.clean(@state.filter)}\"" unless @state.filter.empty?)]
        text = cut([*@state.note, *parts].join(", "))
        @state.note ? paint(text, :red) : text
      end

      def curves? = @columns.nil? || @columns >= NARROW

      # The bytes of Ruby's objects, if there are any
      def objects? = @has_objects.nil? ? (@has_objects = @view.objects?) : @has_objects

      def titles
        names = TITLES.keys.map { |name| @state.sort == name ? "#{TITLES[name]}↓" : TITLES[name] }
        names = names.map { |s| s.sub("↓", "*") } unless Text.utf8?
        growth, live, rate, objects = names
        format("%8s %9s %9s %9s  %s%s%s", live, "BLOCKS", growth, rate, objects? ? format("%9s  ", objects) : "", curves? ? "#{"CURVE".ljust(CURVE)}  " : "", "LOCATION")
      end

      def line(l, chosen)
        growth = Text.bytes(l.growth, sign: true).rjust(9)
        front = format("%8s %9s ", Text.bytes(l.live_bytes), Text.count(l.live))
        rest = format(" %9s  %s%s", rate(l.rate), objects? ? format("%9s  ", Text.bytes(l.object_bytes.to_i)) : "", curves? ? "#{Text.spark(Text.thin(l.curve, CURVE), Output.bars).ljust(CURVE)}  " : "")
        location = Text.clean(l.location)
        location = Text.tail(location, @columns - front.size - growth.size - rest.size) if @columns
        return paint((front + growth + rest + location).then { |s| s + " " * [@columns.to_i - Text.width(s), 0].max }, :inverse) if chosen
        front + (l.growth&.positive? ? paint(growth, :red) : growth) + rest + location
      end

      def rate(value)
        return "-" if value.nil?
        value >= 10 || value.zero? ? Text.count(value.round) : format("%.1f", value)
      end

      def foot
        return cut("filter: #{Text.clean(@state.typing)}_   Enter: keep, Esc: back") if @state.typing
        paint(cut("q quit   s sort   r growth from now   / filter   up, down"), :dim)
      end

      def cut(text) = @columns ? Text.head(text, @columns) : text
      def paint(text, *colours) = Output.paint(text, *colours)
    end
  end
end
