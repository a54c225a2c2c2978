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
        client = Client.of(@socket, @given)
        text = Output.busy("reading #{@socket}") do
          client.post("/mark?#{URI.encode_www_form("name" => @given["mark"])}") if @given["mark"]
          Snapshot.text(client)
        end
        Output.write(with_fields(text, client), @file)
        nil
      end

      private

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
