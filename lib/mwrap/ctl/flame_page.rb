# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

module Mwrap
  module Ctl
    # The flame graph as one file: web/dist/flame_alone.html with its slots filled (web/README).
    class FlamePage # :nodoc: all
      TEMPLATE = File.expand_path("../../../web/dist/flame_alone.html", __dir__)
      HTML = { "&" => "&amp;", "<" => "&lt;", ">" => "&gt;", '"' => "&quot;", "'" => "&#39;" }.freeze
      # "<" could end the script or begin a comment; the other two end lines in older scripts.
      JSON_TEXT = { "<" => "\\u003c", "\u2028" => "\\u2028", "\u2029" => "\\u2029" }.freeze

      # json: the text of /flame.json
      def initialize(json, client, endpoint)
        @json = json
        @client = client
        @at = endpoint
      end

      def to_s
        title, process = who
        slots = { "title" => html(title), "process" => html(process), "json" => @json.gsub(/[<\u2028\u2029]/, JSON_TEXT) }
        # all at once: what is filled in may have the text of a slot in it
        template.gsub(/\{\{(\w+)\}\}/) { slots.fetch($1) }
      end

      private

      def template
        File.read(TEMPLATE, encoding: "UTF-8")
      rescue SystemCallError => e
        raise Failure, "#{TEMPLATE}: #{Executable.reason(e)}: install mwrap again"
      end

      def html(text) = text.gsub(/[&<>"']/, HTML)

      # The page's title, and a line about the process.
      def who
        family = @client.family
        if @at.member == "/all"
          n = family.count { |p| p["state"] == "answers" }
          return ["all processes", "sum of #{n} processes"]
        end
        stats = @client.json("/stats.json")
        pid = stats["pid"].to_i
        title = family.find { |p| p["pid"] == pid }&.fetch("title", nil).to_s
        ["#{title.empty? ? "process" : title} (#{pid})", "pid #{pid}, up #{duration(stats["uptime"].to_f)}#{": #{title}" unless title.empty?}"]
      end

      # As the pages have it: "12 s", "3 m 5 s", "3 h 12 m", "2 d 3 h"
      def duration(seconds)
        seconds = seconds.to_i
        big, small, from = [["d", "h", 86_400], ["h", "m", 3600], ["m", "s", 60]].find { |*, n| seconds >= n }
        return "#{seconds} s" unless big
        "#{seconds / from} #{big} #{seconds % from / { "h" => 3600, "m" => 60, "s" => 1 }[small]} #{small}"
      end
    end
  end
end
