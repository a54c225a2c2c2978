# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "client"

module Mwrap
  module Ctl
    # mwrapctl exact: counts every block from now on.
    class Exact # :nodoc: all
      PATH = "/exact"

      def initialize(socket, given)
        @socket = socket
        @given = given
      end

      def run
        $stdout.write(Client.of(@socket, @given).post(self.class::PATH))
        nil
      end
    end
  end
end
