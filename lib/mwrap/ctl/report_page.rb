# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "digest"
require_relative "page"

module Mwrap
  module Ctl
    # A Report as one page without scripts: web/report_alone.html with the style of the server's plain pages.
    class ReportPage # :nodoc: all
      ROWS = 500
      FILES = 50
      SIZE = [720, 120].freeze # of the chart
      TITLES = { "live_bytes" => "Live bytes", "share" => "Share", "live" => "Live", "growth" => "Growth", "total" => "Total", "allocations" => "Allocations", "frees" => "Frees", "objects" => "Objects", "object_bytes" => "Object bytes", "objects_error" => "Object error" }.freeze
      LOCATION = Report::LINES.index(&:text?)
      SHOWN = 40 # rows of a table that nobody has to unfold
      # In words; any other part by its own name
      PARTS = { "rss" => "RSS", "live" => "live blocks", "heap" => "Ruby heap", "free" => "free in heap", "anon" => "anonymous maps", "files" => "files", "stacks" => "thread stacks", "tracker" => "mwrap" }.freeze
      CURVES = { "rss" => "RSS", "live" => "live blocks" }.freeze

      def initialize(report, rows)
        @report = report
        @rows = rows || ROWS
        @snapshot = report.snapshot
      end

      def to_s
        style = Page.file("mwrap.css").split("/* --- the live page", 2)[0] + STYLE
        Page.fill("report_alone.html", "hash" => Digest::SHA256.base64digest(style), "style" => style, "title" => h(title), "process" => h(Text.clean(@snapshot.name)),
                                       "heading" => h(heading), "verdict" => verdict, "facts" => facts, "chart" => chart, "parts" => parts, "version" => VERSION,
                                       "tables" => table("Files and libraries", "File", @report.files, FILES) + table("Locations", "Location", @report.lines, @rows))
      end

      STYLE = <<~CSS
        .verdict { margin: 0.6rem 0 0.1rem; font-size: 1.15rem; font-weight: 600; overflow-wrap: anywhere; }
        figure { margin: 1rem 0; }
        .axis { display: flex; justify-content: space-between; margin: 0; color: var(--dim); font-size: 0.75rem; }
        figcaption { color: var(--dim); font-size: 0.8125rem; }
        .chart { display: block; width: 100%; height: 9rem; border-bottom: 1px solid var(--line); }
        .chart path { fill: none; stroke: var(--line-1); stroke-width: 1.5; vector-effect: non-scaling-stroke; }
        .chart .live { stroke: var(--line-2); stroke-dasharray: 5 3; }
        .share { display: inline-block; width: 5rem; height: 0.6rem; margin-right: 0.4rem; }
        .share rect { fill: var(--area-live); }
      CSS

      private

      def h(text) = Page.html(text)
      def title = @snapshot.pid ? "report of process #{@snapshot.pid}" : "report"
      def heading = @snapshot.pid ? "Process #{@snapshot.pid}" : "Report"
      def facts = @report.facts.map { |name, text| "<li>#{h(name)} <b>#{h(text.to_s)}</b></li>\n" }.join

      def verdict
        said, advice = @report.verdict&.values_at("sentence", "next")&.map { |s| h(Text.clean(s.to_s)) }
        [*("<p class=\"verdict\">#{said}</p>\n" if said), *("<p class=\"note\">#{advice}</p>\n" unless advice.to_s.empty?)].join
      end

      # RSS and live bytes over the whole time
      def chart
        t, *curves = @report.history&.values_at("t", *CURVES.keys)
        return "" unless t.is_a?(Array) && t.size > 1 && t.all?(Numeric) && t[-1] > t[0]
        curves = CURVES.keys.zip(curves).select { |_, v| v.is_a?(Array) && v.size == t.size && v.any?(Numeric) }
        top = curves.flat_map { |_, v| v.grep(Numeric) }.max
        return "" unless top&.positive?
        paths = curves.map { |name, v| "<path class=\"#{name}\" d=\"#{path(t, v, top)}\"/>" }.join
        said = curves.map { |name, v| "#{CURVES[name]} #{Text.bytes(v.grep(Numeric)[-1].to_i)}" }.join(", ")
        <<~SVG
          <figure>
          <p class="axis"><span>#{h(Text.bytes(top.to_i))}</span></p>
          <svg class="chart" viewBox="0 0 #{SIZE[0]} #{SIZE[1]}" preserveAspectRatio="none" role="img" aria-label="RSS and live bytes over time">#{paths}</svg>
          <p class="axis"><span>#{h(Text.duration(t[-1] - t[0]))} before</span><span>the report</span></p>
          <figcaption>#{h(said)} (dashed)</figcaption>
          </figure>
        SVG
      end

      def path(t, values, top)
        pen = "M"
        t.zip(values).filter_map do |at, v|
          next (pen = "M") && nil unless v.is_a?(Numeric)
          point = format("%s%.1f %.1f", pen, (at - t[0]) * SIZE[0] / (t[-1] - t[0]).to_f, SIZE[1] - v * (SIZE[1] - 2) / top.to_f)
          pen = "L"
          point
        end.join
      end

      # The parts of RSS, as /verdict.json has them
      def parts
        parts = @report.verdict&.fetch("parts", nil)
        return "" unless parts.is_a?(Hash)
        rows = parts.filter_map do |name, part|
          now, change = part.values_at("now", "change") if part.is_a?(Hash)
          "<tr><th scope=\"row\">#{h(PARTS.fetch(name, name))}</th>#{bytes(now)}#{bytes(change, sign: true)}</tr>\n" if now.is_a?(Integer)
        end
        "<table>\n<caption>RSS and its parts</caption>\n<thead><tr><th scope=\"col\">Part</th><th scope=\"col\" class=\"num\">Now</th><th scope=\"col\" class=\"num\">Change</th></tr></thead>\n<tbody>\n#{rows.join}</tbody>\n</table>\n"
      end

      def bytes(value, sign: false)
        return "<td class=\"num\">–</td>" unless value.is_a?(Integer)
        "<td class=\"num\"><span class=\"amount\" title=\"#{Text.count(value)} bytes\">#{Text.bytes(value, sign: sign)}</span></td>"
      end

      def table(caption, name, rows, limit)
        columns = Report::LINES.reject { |c| c.text? || (Report::OBJECTS.include?(c) && !@report.objects?) }
        at = columns.map { |c| Report::LINES.index(c) }
        head = columns.map { |c| "<th scope=\"col\" class=\"num\">#{TITLES.fetch(c.name)}</th>" }.join
        body = rows.first(limit).map { |row| "<tr>#{columns.zip(row.values_at(*at)).map { |c, v| cell(c, v) }.join}<td class=\"location\">#{h(Text.clean(row[LOCATION]))}</td></tr>\n" }
        head = "<thead>\n<tr>#{head}<th scope=\"col\">#{name}</th></tr>\n</thead>\n"
        more = body.drop(SHOWN)
        rows_of("#{caption}: #{Text.count(body.size)} of #{Text.count(rows.size)}, by live bytes", caption, head, body.first(SHOWN)) +
          (more.empty? ? "" : "<details>\n<summary>#{Text.count(more.size)} more</summary>\n#{rows_of("#{caption}, from row #{SHOWN + 1} on", "More: #{caption}", head, more)}</details>\n")
      end

      def rows_of(caption, label, head, body)
        "<div class=\"scroll\" role=\"region\" aria-label=\"#{label}\" tabindex=\"0\">\n<table class=\"rows\">\n<caption>#{caption}</caption>\n#{head}<tbody>\n#{body.join}</tbody>\n</table>\n</div>\n"
      end

      def cell(column, value)
        case column.name
        when "share" then "<td class=\"num\"><svg class=\"share\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect width=\"#{(value * 100).round(1)}\" height=\"10\"/></svg>#{(value * 100).round(1)} %</td>"
        when "live_bytes", "growth", "total", "object_bytes" then bytes(value, sign: column.name == "growth")
        else "<td class=\"num\">#{value ? Text.count(value) : "–"}</td>"
        end
      end
    end
  end
end
