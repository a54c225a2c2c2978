# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "page"
require_relative "text"

module Mwrap
  module Ctl
    # The base of pages that are one file with the data of a process in it.
    class LonePage # :nodoc: all
      def initialize(client, endpoint)
        @client = client
        @at = endpoint
      end

      private

      # template: below web/; json: a text for its script; more: its other slots
      def fill(template, json, more = {})
        title, process = who
        Page.fill(template, { "title" => Page.html(title), "process" => Page.html(process), "json" => Page.json(json) }.merge(more))
      end

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
