# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "client"
require_relative "output"

module Mwrap
  module Ctl
    # mwrapctl verdict: the server's sentence, and its advice.
    class Verdict # :nodoc: all
      def initialize(socket, given)
        @socket = socket
        @given = given
      end

      def run
        client = Client.of(@socket, @given)
        text = +""
        said, advice = client.json("/verdict.json", text).values_at("sentence", "next").map { |s| Text.clean(s.to_s) }
        said.empty? and client.strange
        Output.write(@given["json"] ? text : [Output.paint(said, :bold), *(advice unless advice.empty?)].map { |line| "#{line}\n" }.join)
        nil
      end
    end
  end
end
