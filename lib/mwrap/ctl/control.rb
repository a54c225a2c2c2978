# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "uri"
require_relative "client"

module Mwrap
  module Ctl
    # The commands of control_commands.rb.
    class Control # :nodoc: all
      PATHS = { "note" => "/annotate" }.freeze # else the command's name

      # query: a Hash
      def initialize(socket, name, query, given)
        @socket = socket
        @path = PATHS.fetch(name, "/#{name}")
        @path += "?#{URI.encode_www_form(query)}" unless query.empty?
        @given = given
      end

      def run
        $stdout.write(Client.of(@socket, @given).post(@path))
        $stdout.flush
      end
    end
  end
end
