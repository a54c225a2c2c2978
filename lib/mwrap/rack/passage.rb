# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# passage.rb - /PID/live of another process, if the server gives connections away: the server calls
# it with the connection. src/extension/rack_passage.c does the rest.

module Mwrap::Pages # :nodoc: all
  class Passage < Joiner
    # request: the arguments of Mwrap::Pages.answer, without the last
    def initialize(request) = @request = request

    # call, in quiet mode: the server's thread brings the connection.
    def join(io)
      if defined?(BasicSocket) && BasicSocket === io
        _, path, query, base, _, no_post, ask_who = @request
        Mwrap::Pages.pass(io.fileno, path, query, base, ask_who ? nil : no_post)
      else # for example TLS: what there is now, and where to go on
        Mwrap::Pages.answer(*@request, 1)[2].each { |s| io.write(s) }
      end
    rescue IOError, SystemCallError
      nil
    ensure
      io.close
    end
  end
end
