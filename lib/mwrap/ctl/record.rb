# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "../launcher"

module Mwrap
  module Ctl
    # mwrapctl record: runs a command under mwrap, with a recording of its calls. It is this process that becomes the command.
    class Record # :nodoc: all
      KEYS = { "output" => "trace_path", "max-size" => "trace_max", "seconds" => "trace_seconds", "full" => "trace_full", "clock" => "trace_clock" }.freeze
      LIB = File.expand_path("../..", __dir__)

      def initialize(command, given)
        @command = command
        @given = given
      end

      def run
        @given["output"] or raise Usage, "--output: missing: name the file, such as -o app.%p.mwtrace"
        require_folder
        ENV["MWRAP"] = [*others, *ours].join(",")
        Launcher.new(LIB).run(["--", *@command])
      end

      private

      # Else the command would run without a recording.
      def require_folder
        folder = File.dirname(@given["output"])
        File.directory?(folder) or raise Usage, "#{folder}: no such directory: make it"
        File.writable?(folder) or raise Usage, "#{folder}: can't be written to: name another one"
      end

      def ours = KEYS.filter_map { |name, key| "#{key}:#{@given[name].to_s.gsub(/[,\\]/n) { "\\#{_1}" }}" if @given.key?(name) }

      # MWRAP's other options
      def others
        ENV.fetch("MWRAP", "").b.scan(/(?:\\.|[^,\\]|\\\z)+/mn).map { |item| item.sub(/\A[ \t]+/n, "") }.reject { |item| KEYS.values.any? { |key| item.start_with?("#{key}:") } }
      end
    end
  end
end
