# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "command"

module Mwrap
  module Ctl # :nodoc: all
    # Of commands.rb
    def self.look_commands
      [
        Command.new(
          name: "verdict", arguments: "[SOCKET]",
          summary: "say in a sentence what grows, since when and why",
          about: <<~TEXT,
            Prints the server's sentence, and what to do next. mwrapctl without a command does
            the same for the process that is tracked.
          TEXT
          forms: { "SOCKET" => SOCKET },
          options: [
            Option.new(name: "json", help: "for programs: the lines that grow, and the parts of RSS",
                       manual: "Writes JSON, for programs: the sentence, the lines that grow, and the parts of RSS."),
            *OF_A_SERVER
          ],
          example: "mwrapctl verdict 4711"
        ),
        Command.new(
          name: "open", arguments: "[SOCKET]",
          summary: "show the live page in a browser, or a report's",
          about: <<~TEXT,
            Prints the page's address, and starts a browser: that of the variable BROWSER, else
            xdg-open. A Unix socket gets a port of 127.0.0.1 until Ctrl-C. Only processes of the
            same user reach it there. In place of SOCKET, a report's directory shows its page,
            and the directory of the option report_dir the newest report's.
          TEXT
          forms: { "SOCKET" => SOCKET },
          options: [
            Option.new(name: "print", help: "start no browser",
                       manual: "Starts no browser: only prints the address."),
            Option.new(name: "port", value: "PORT", type: :count, help: "of the relay to a Unix socket; the default is any free one",
                       manual: "The port of the relay to a Unix socket. The default is any free one."),
            *OF_A_SERVER
          ],
          example: "mwrapctl open /tmp/mw.sock"
        ),
        Command.new(
          name: "doctor", arguments: "[PID]",
          summary: "say whether a process is tracked as it should be, and what would help",
          about: <<~TEXT,
            Says whether the tracker is in a process and where its server is, how lines are
            found, which allocator serves malloc, and what would help where something lacks.
            Exits with 1 if something does.
          TEXT
          forms: { "PID" => "the process's number; without it, the process that is tracked" },
          options: [
            Option.new(name: "json", help: "for programs",
                       manual: "Writes JSON, for programs: an array of objects with `about`, `says`, `fine` and `help`."),
            TOKEN_FILE
          ],
          example: "mwrapctl doctor 4711"
        )
      ]
    end
  end
end
