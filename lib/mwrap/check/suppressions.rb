# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

module Mwrap
  class Check
    # Locations that are known to leak, as LeakSanitizer's files name them: lines of
    # <tt>leak:PATTERN</tt>, empty ones, and comments (<tt>#</tt>). A PATTERN is a part of the location;
    # <tt>*</tt> stands for any text, <tt>^</tt> and <tt>$</tt> for its begin and end.
    class Suppressions # :nodoc: all
      # Raises ArgumentError: "NAME:LINE: problem: remedy"
      def initialize(text, name = "suppressions")
        @patterns = text.b.each_line(chomp: true).with_index(1).filter_map do |line, number|
          line = line.strip
          next if line.empty? || line.start_with?("#")
          pattern = line[/\Aleak:(.+)\z/n, 1] or raise ArgumentError, "#{name}:#{number}: not a suppression: write leak:PATTERN"
          regexp(pattern)
        end
      end

      # Raises SystemCallError and ArgumentError.
      def self.read(path) = new(File.binread(path), path)

      def cover?(location) = @patterns.any? { |pattern| pattern.match?(location.b) }

      private

      def regexp(pattern)
        head = '\A' if pattern.delete_prefix!("^")
        tail = '\z' if pattern.delete_suffix!("$")
        Regexp.new("#{head}#{pattern.split("*", -1).map { |part| Regexp.escape(part) }.join(".*")}#{tail}".b, Regexp::MULTILINE | Regexp::NOENCODING)
      end
    end
  end
end
