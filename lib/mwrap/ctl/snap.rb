# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "moment"

module Mwrap
  module Ctl
    # mwrapctl snap: the table of this moment as a file.
    class Snap # :nodoc: all
      def initialize(socket, file, given)
        @socket = socket
        @file = file
        @given = given
      end

      def run
        require_own_file
        client = Client.of(@socket, @given)
        text = Output.busy("reading #{@socket}") do
          client.post("/mark?#{URI.encode_www_form("name" => @given["mark"])}") if @given["mark"]
          Snapshot.text(client)
        end
        Output.write(with_fields(text, client), @file)
        nil
      end

      private

      # What isn't a snapshot is somebody else's file.
      def require_own_file
        return if @given["force"] || @file == "-" || !File.file?(@file) || File.zero?(@file)
        head = File.open(@file, "rb") { |f| f.gets("\n", Snapshot::LINE_MAX) }
        raise Failure, "#{@file}: is there, and no snapshot: give -f to replace it" unless head.match?(/\A(?:# mwrap=|[a-z_]+\t.*\blocation\b)/n)
      rescue SystemCallError => e
        raise Failure, "#{@file}: #{Executable.reason(e)}"
      end

      # The head also has the number of rows: a reader sees by it that a file is cut off.
      def with_fields(text, client)
        snapshot = Snapshot.of(client, text)
        rows = text.count("\n") - text.lines.take_while { |l| l.start_with?("# ") }.size - 1
        head = { **snapshot.head, "rows" => rows }
        head["mark"] = @given["mark"] if @given["mark"]
        Snapshot.head_line(head) + text.sub(/\A(# [^\n]*\n)*/, "")
      end
    end
  end
end
