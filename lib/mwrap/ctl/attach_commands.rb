# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "command"

module Mwrap
  module Ctl # :nodoc: all
    WAIT_FOR_ANSWER = Option.new(name: "wait", value: "SECONDS", type: :count, help: "for its answer; the default is 10",
                                 manual: "Waits up to SECONDS for the process to do it. Then the request is withdrawn. The default is 10.").freeze

    # Of commands.rb
    ATTACH_COMMANDS = [
      Command.new(
        name: "attach", arguments: "PID [OPTIONS]", example: "mwrapctl attach 4711",
        summary: "track a Ruby process that runs already",
        about: <<~TEXT,
          Begins to track a process that was started without mwrap. Its server then
          answers to the PID in every other command. After detach, attach goes on with
          the options of the first time.
        TEXT
        forms: { "PID" => "the process's number",
                 "OPTIONS" => "as in the variable MWRAP: stacks:off,socket:/tmp/mw.sock. Without a socket, socket_dir or listen it is /tmp/mwrap-UID/PID.sock, for its user only" },
        options: [WAIT_FOR_ANSWER],
        action: lambda do |(pid, options), given|
          require_relative "attach"
          Attach.new(pid, given).start(options)
        end
      ),
      Command.new(
        name: "detach", arguments: "PID", example: "mwrapctl detach 4711",
        summary: "let it run as without mwrap",
        about: <<~TEXT,
          Ends tracking that attach or Mwrap.start began. The process runs on at no
          cost. The table can still be read, and attach goes on.
        TEXT
        forms: { "PID" => "the process's number" },
        options: [WAIT_FOR_ANSWER],
        action: lambda do |(pid), given|
          require_relative "attach"
          Attach.new(pid, given).stop
        end
      )
    ].freeze
  end
end
