# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

module Mwrap
  class Check
    # Lines that GitHub Actions shows beside the code.
    module Annotations # :nodoc: all
      DATA = { "%" => "%25", "\r" => "%0D", "\n" => "%0A" }.freeze
      PROPERTY = { **DATA, ":" => "%3A", "," => "%2C" }.freeze

      module_function

      # Prints them for what isn't clean, if this runs there.
      def print(result, out = $stdout)
        lines(result).each { |line| out.puts(line) } if ENV.fetch("GITHUB_ACTIONS", "") == "true"
      end

      def lines(result)
        return [command({}, result.lines[0])] if result.unknown?
        result.leaks.map do |leak|
          path, line = leak.path_and_line
          path ? command({ file: relative(path), line: line }, leak.sentence) : command({}, "#{leak.location}: #{leak.sentence}")
        end
      end

      def command(properties, text)
        list = properties.map { |name, value| "#{name}=#{escape(value.to_s, PROPERTY)}" }.join(",")
        "::error#{" #{list}" unless list.empty?}::#{escape(text, DATA)}"
      end

      def escape(text, by) = text.dup.force_encoding(Encoding::UTF_8).scrub("?").gsub(/[%\r\n:,]/) { |c| by.fetch(c, c) }

      # A path in the repository, as GitHub wants it.
      def relative(path)
        top = ENV.fetch("GITHUB_WORKSPACE", "").then { |dir| dir.empty? ? Dir.pwd : dir }
        path.delete_prefix("#{top.chomp("/")}/")
      rescue SystemCallError # the working directory is gone
        path
      end
    end
  end
end
