# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "output"
require_relative "text"

module Mwrap
  module Ctl
    # Reports that processes wrote by themselves (option report_dir), in their directory or a copy of it.
    class Written # :nodoc: all
      Column = Listing::Column
      NAME = /\A(.+)-(\d+)-(\d{8}T\d{6}Z)(\.first)?\z/ # as src/server/reports/folder.c has it
      COLUMNS = [Column.new("time", "TIME", :text), Column.new("app", "APP", :text), Column.new("pid", "PID", :plain), Column.new("bytes", "BYTES", :bytes),
                 Column.new("whole", "WHOLE", :text), Column.new("report", "REPORT", :text), Column.new("sentence", "VERDICT", :text)].freeze

      class << self
        # Is it one of them?
        def report?(path) = File.file?(table(path))
        # Another directory, but that of the option socket_dir
        def folder?(path) = File.directory?(path) && !report?(path) && Dir.children(path).none?(/\.sock\z/)
        def table(path) = File.join(path, "each.tsv")

        # The page of a report, or of the newest one in its directory; nil: there is none
        def page(path)
          return unless File.directory?(path)
          names = report?(path) ? [""] : Dir.children(path).grep(NAME).sort_by { |name| [name[NAME, 3], name] }.reverse
          names.map { |name| File.join(path, name, "report.html") }.find { |file| File.file?(file) }
        rescue SystemCallError
          nil
        end

        # As /verdict.json has them: the sentence, and what to do next
        def verdict(path)
          lines = File.read(File.join(path, "verdict.txt"), 1 << 16).to_s.lines(chomp: true).take_while { |line| !line.empty? }
          { "sentence" => lines[0], "next" => lines[1] }
        rescue SystemCallError
          nil
        end
      end

      def initialize(path, given)
        @path = path
        @given = given
      end

      def run
        Listing.new(COLUMNS, rows, limit: @given["count"], empty: "No report is here.").print(@given)
        nil
      end

      private

      # The newest first
      def rows
        names = Dir.children(@path).grep(NAME).select { |name| self.class.report?(File.join(@path, name)) }
        names.sort_by { |name| [name[NAME, 3], name] }.reverse.map { |name| row(name) }
      rescue SystemCallError => e
        raise Failure, "#{@path}: #{Executable.reason(e)}"
      end

      def row(name)
        app, pid, time, first = name.match(NAME).captures
        path = File.join(@path, name)
        bytes = Dir.children(path).sum { |f| File.lstat(File.join(path, f)).size }
        [time.sub(/\A(....)(..)(..T..)(..)/, "\\1-\\2-\\3:\\4:"), app, pid.to_i, bytes, first ? "no" : "yes", name, self.class.verdict(path)&.fetch("sentence")]
      end
    end
  end
end
