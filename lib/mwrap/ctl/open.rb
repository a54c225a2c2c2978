# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "shellwords"
require_relative "client"
require_relative "relay"
require_relative "written"

module Mwrap
  module Ctl
    # mwrapctl open: the live page in a browser, or that of a report.
    class Open # :nodoc: all
      def initialize(socket, given)
        @socket = socket
        @given = given
      end

      def run
        page = Written.page(@socket) and return tell("file://#{URI::DEFAULT_PARSER.escape(File.absolute_path(page), %r{[^A-Za-z0-9\-._~/]})}")
        client = Client.of(@socket, @given)
        client.get("/verdict.json") # a failure shows here, not in the browser
        at = client.at
        return show(at) unless at.path
        Relay.open(at.path, @given.fetch("port", 0)) do |relay|
          show(at, "http://127.0.0.1:#{relay.port}")
          relay.run
        end
      end

      private

      # origin: of the relay; nil: the server's own
      def show(at, origin = nil)
        url = "#{origin || (at.name.include?("://") ? at.name[%r{\Ahttps?://[^/]+}] : "http://#{at.name[/\A[^\/]+/]}")}#{at.base}#{at.member}/"
        tell(url)
        $stderr.write("mwrapctl: the page works until Ctrl-C\n") if origin && !@given["print"]
        nil
      end

      # Prints the address, and starts a browser there.
      def tell(url)
        $stdout.write("#{url}\n")
        $stdout.flush
        $stderr.write("mwrapctl: browser: can't be started: open the address yourself\n") unless @given["print"] || browse(url)
        nil
      end

      # BROWSER has commands with colons between them, with %s for the address.
      def browse(url)
        [*ENV["BROWSER"].to_s.split(":"), "xdg-open"].any? do |command|
          words = command.shellsplit
          next if words.empty?
          words = words.any? { |w| w.include?("%s") } ? words.map { |w| w.gsub("%s", url) } : [*words, url]
          started?(words)
        rescue ArgumentError # quotes that don't end
          false
        end
      end

      def started?(words)
        ::Process.detach(::Process.spawn(*[[words[0], words[0]], *words.drop(1)], in: File::NULL, [:out, :err] => File::NULL, pgroup: true))
        true
      rescue SystemCallError
        false
      end
    end
  end
end
