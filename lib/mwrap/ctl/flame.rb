# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "uri"
require_relative "client"
require_relative "flame_page"
require_relative "moment"
require_relative "output"

module Mwrap
  module Ctl
    # mwrapctl flame: the callers of lines that allocate, as one page or in a form for another viewer.
    class Flame # :nodoc: all
      # The route for each form. :tree asks for the tree as JSON, which can be one location's.
      FORMATS = { "html" => :tree, "json" => :tree, "collapsed" => "/stacks.collapsed",
                  "speedscope" => "/stacks.speedscope.json", "pprof" => "/debug/pprof/heap" }.freeze

      # Of --output, where no --format is given
      ENDINGS = { ".speedscope.json" => "speedscope", ".json" => "json", ".collapsed" => "collapsed", ".txt" => "collapsed", ".pb.gz" => "pprof", ".pprof" => "pprof" }.freeze

      # socket: SOCKET, or SOCKET@peak
      def initialize(socket, given)
        @socket, @moment = Moment.split(socket)
        @given = given
        @format = given["format"] || ENDINGS.find { |ending, _| given["output"].to_s.downcase.end_with?(ending) }&.last || "html"
        @by = given.fetch("by", @moment ? "growth" : "live")
      end

      def run
        check
        @client = Client.of(@socket, @given)
        @at = @client.at
        Output.write(content, @given.fetch("output", "-"))
      end

      private

      def check
        if @moment
          raise Usage, "#{@socket}@#{@moment}: a flame graph is of now or of the peak: leave the @ out, or write @#{Snapshot::PEAK}" unless @moment == Snapshot::PEAK
          raise Usage, "--by: not for the peak, of which live bytes alone are known: leave it out" if @given["by"]
        end
        unless tree?
          (%w[location invert] & @given.keys).each { |name| raise Usage, "--#{name}: not for --format #{@format}: use html or json" }
          raise Usage, "#{@moment ? "@#{@moment}" : "--by growth"}: not for --format #{@format}: use html or json" if @by == "growth"
        end
        raise Usage, "stdout: is a terminal: give -o FILE" if @given["output"].nil? && $stdout.tty?
      end

      def tree? = FORMATS.fetch(@format) == :tree

      def content
        text = +""
        tree = @client.json("/flame.json?#{query(tree? ? {} : { "limit" => 1 })}", text)
        require_stacks(tree)
        return @client.get("#{FORMATS.fetch(@format)}?#{query}") unless tree?
        return text if @format == "json"
        FlamePage.new(text, @client, @at).to_s
      end

      def query(more = {})
        asked = { "by" => @by, "to" => @moment, "location" => @given["location"], "invert" => ("1" if @given["invert"]),
                  "frames" => @given["frames"], "startup" => @given["startup"], **more }.compact
        URI.encode_www_form(asked)
      end

      def require_stacks(tree)
        names, samples, rate = tree.values_at("names", "samples", "rate")
        names.is_a?(Array) && samples.is_a?(Integer) or @client.strange
        return if samples.positive?
        raise Failure, "#{@at.name}: no object of Ruby's was sampled: start the process with MWRAP=...,objects:on" if @by == "objects"
        return if rate.to_i.positive?
        raise Failure, "#{@at.name}: no stacks are kept: start the process with MWRAP=...,stacks:auto"
      end
    end
  end
end
