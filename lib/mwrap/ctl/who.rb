# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "uri"
require_relative "client"
require_relative "text"

module Mwrap
  module Ctl
    # mwrapctl who: the holders of a location's live blocks, or of all live blocks.
    class Who # :nodoc: all
      ROWS = 10
      ARROW = " \u2192 "

      def initialize(socket, location, given)
        @socket = socket
        @location = location
        @given = given
        @rows = given.fetch("count", ROWS)
      end

      def run
        @client = Client.of(@socket, @given)
        text = +""
        found = near { @client.json("/holders.json#{query(@location && whole(@location))}", text) }
        found["rows"].is_a?(Array) && found["rows"].all?(Hash) or @client.strange
        $stdout.write(@given["json"] ? text : shown(found))
        $stdout.puts("Allocations are sampled: only the blocks that are samples are known.") if found["estimated"] && !@given["json"]
        $stdout.flush
      rescue SystemCallError => e
        raise Failure, "stdout: #{Executable.reason(e)}"
      end

      private

      def query(location) = location ? "?#{URI.encode_www_form("location" => location)}" : ""

      # A location by its end, such as app.rb:7, if one alone ends so; any other text as it is.
      def whole(text)
        return text unless text.match?(/\A[^\/ ].*:\d+\z/)
        ends = locations(text).select { |l| l.end_with?("/#{text}") }
        raise Failure, "#{text}: #{ends.size} locations end so: name one, such as #{ends[0]}" if ends.size > 1
        ends[0] || text
      end

      # Of a line that isn't there, says which one is.
      def near
        yield
      rescue Failure => e
        raise unless e.code == 404 && @location && (meant = nearest(@location))
        raise Failure.new("#{@location}: no such location: did you mean #{Text.clean(meant)}?", code: 404)
      end

      # The nearest line of that file, else the line whose file's name is nearest
      def nearest(text)
        file, line = text.split(/:(?=\d+\z)/)
        lines = locations("").filter_map { |l| [l, *l.split(/:(?=\d+\z)/)] if l.match?(/:\d+\z/) }
        same = lines.select { |_, name,| name == file || name.end_with?("/#{File.basename(file)}") }
        same = lines_of(Nearest.of(File.basename(file), lines.map { |_, name,| File.basename(name) }.uniq), lines) if same.empty?
        same.min_by { |_, _, at| (at.to_i - line.to_i).abs }&.first
      end

      def lines_of(base, lines) = lines.select { |_, name,| File.basename(name) == base }

      def locations(part)
        rows = JSON.parse(@client.get("/each/0.json?#{URI.encode_www_form("q" => part)}"))
        Array(rows).grep(Hash).filter_map { |r| r["location"] }
      rescue JSON::ParserError
        @client.strange
      end

      def shown(found)
        rows = found["rows"].first(@rows)
        return summary(rows) + lost(found) unless @location
        head = "#{found["location"]}   #{count(found["blocks"])}"
        width = rows.map { |r| r["blocks"].to_s.size }.max
        lines = rows.each_with_index.map do |r, i|
          "#{i.zero? ? head : " " * head.size}   #{r["blocks"].to_s.rjust(width)} held by #{holder(r)}"
        end
        lines = [head] if lines.empty?
        lines += objects(found)
        [*lines, *rest(found["rows"])].map { |l| "#{l}\n" }.join
      end

      # The referrers of the Ruby objects that were made there, estimated from samples
      def objects(found)
        rows = Array(found["object_rows"]).grep(Hash).first(@rows)
        return [] if rows.empty?
        width = rows.map { |r| r["objects"].to_s.size }.max
        samples = found["object_samples"].to_i
        ["Ruby objects made there that stay, estimated from #{samples} #{samples == 1 ? "sample" : "samples"}:", *rows.map { |r| "  #{r["objects"].to_s.rjust(width)} held by #{holder(r)}" }]
      end

      def count(n) = "#{n} #{n == 1 ? "block" : "blocks"}"

      def holder(row)
        name = row["holder"].to_s
        case row["by"]
        when "nothing" then name == "(nothing)" ? "nothing: a native leak" : name[1..-2]
        when "garbage" then "#{name}, which the next collection frees"
        else Array(row["path"]).empty? ? name : "#{name}: #{row["path"].join(ARROW)}"
        end
      end

      def summary(rows)
        lines = [%w[bytes blocks by held\ by]] + rows.map { |r| [*r.values_at("bytes", "blocks").map(&:to_s), r["by"].to_s, r["holder"].to_s] }
        widths = lines.transpose.first(3).map { |c| c.map(&:size).max }
        lines.map { |bytes, blocks, by, holder| "#{bytes.rjust(widths[0])}  #{blocks.rjust(widths[1])}  #{by.ljust(widths[2])}  #{holder}\n" }.join
      end

      # The lines whose blocks nothing holds, most bytes first
      def lost(found)
        lines = Array(found["held_by_nothing"]).grep(Hash).first(@rows)
        return "" if lines.empty?
        width = lines.map { |l| l["bytes"].to_s.size }.max
        rows = lines.map { |l| "#{l["bytes"].to_s.rjust(width)}  #{l["blocks"]}  #{Text.clean(l["location"].to_s)}" }
        ["", "Held by nothing, by line (bytes, blocks):", *rows, ""].join("\n")
      end

      def rest(rows)
        left = rows.drop(@rows)
        "and #{count(left.sum { |r| r["blocks"].to_i })} held by #{left.size} others: --count shows more" unless left.empty?
      end
    end
  end
end
