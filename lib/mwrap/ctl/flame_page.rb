# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "page"
require_relative "text"

module Mwrap
  module Ctl
    # The flame graph as one file: web/dist/flame_alone.html with its slots filled (web/README).
    class FlamePage # :nodoc: all
      TEMPLATE = "dist/flame_alone.html"
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
        Page.fill(TEMPLATE, "title" => Page.html(title), "process" => Page.html(process), "json" => @json.gsub(/[<\u2028\u2029]/, JSON_TEXT))
      end

      private

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
        ["#{title.empty? ? "process" : title} (#{pid})", "pid #{pid}, up #{Text.duration(stats["uptime"].to_f)}#{": #{title}" unless title.empty?}"]
      end
    end
  end
end
