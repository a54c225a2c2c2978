# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "client"
require_relative "output"
require_relative "snapshot"
require_relative "written"

module Mwrap
  module Ctl
    # A moment, as a person names it: FILE, a report's directory, SOCKET for now, or SOCKET@MARK. Behind any of them
    # @peak is the moment when live memory was highest.
    module Moment # :nodoc: all
      FILES = %w[.tsv .csv .json .txt].freeze # endings that no server's name has

      module_function

      # A Snapshot. given: options of OF_A_SERVER, for what isn't a file.
      def read(text, given)
        Output.busy("reading #{text}") do
          file = written(text) and next Snapshot.read(file)
          socket, mark = split(text)
          file = written(socket) and next of_file(text, file, mark)
          raise Failure, "#{text}: no such file: write one with mwrapctl snap" if FILES.include?(File.extname(socket)) && !File.exist?(socket)
          Snapshot.ask(Client.of(socket, given), mark)
        end
      end

      # The file that a name without a mark stands for; nil: it is a server's
      def written(text)
        return text if text == "-" || file?(text)
        Written.table(text) if Written.report?(text)
      end

      def of_file(text, file, mark)
        raise Failure, "#{text}: a file has no marks: leave the @ out, or write @#{Snapshot::PEAK}" if mark && mark != Snapshot::PEAK
        found = Snapshot.read(file)
        mark ? found.at_peak : found
      end

      # Anything that isn't a server's
      def file?(path)
        stat = File.stat(path)
        !stat.socket? && !stat.directory?
      rescue SystemCallError, ArgumentError
        false
      end

      # [SOCKET, MARK or nil]. A path may have an "@" in it, and a mark, too: the first one behind a
      # path that is there divides them, else the first one. In a URL it is the first one of the path.
      def split(text)
        return [text, nil] if !text.include?("@") || File.exist?(text)
        from = text[%r{\Ahttps?://[^/]*}i]&.size || 0
        at = (from...text.size).select { |i| text[i] == "@" }
        cut = (at.find { |i| File.exist?(text[0, i]) } if from.zero?) || at[0] or return [text, nil]
        socket, mark = text[0, cut], text[cut + 1..]
        raise Usage, "#{text}: no mark behind the @: write SOCKET@NAME" if mark.empty?
        [socket, (mark unless mark == "now")]
      end
    end
  end
end
