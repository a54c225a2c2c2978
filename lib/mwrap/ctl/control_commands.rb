# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "command"

module Mwrap
  module Ctl # :nodoc: all
    # A command that sends one POST, and prints the server's line.
    # query: the parameter that its second argument becomes
    def self.control(name, summary, about, arguments: "[SOCKET]", forms: {}, query: nil, example: "mwrapctl #{name} 4711")
      Command.new(
        name: name, arguments: arguments, summary: summary, about: about, forms: { **forms, "SOCKET" => SOCKET }, options: OF_A_SERVER, example: example,
        action: lambda do |(socket, text), given|
          require_relative "control"
          Control.new(socket, name, { query => text }.compact, given).run
        end
      )
    end

    # Of commands.rb
    def self.control_commands
      [
        control("reset", "count from zero from now on", <<~TEXT),
          The counters start again from zero. Blocks that are live stay known.
        TEXT
        control("mark", "keep this moment, to compare another one with it", <<~TEXT, arguments: "[SOCKET] NAME", forms: { "NAME" => "the mark's name: SOCKET@NAME is this moment in diff and report" }, query: "name", example: "mwrapctl mark 4711 before-deploy"),
          The process keeps what is live at this moment under NAME. A mark of that name is
          replaced.
        TEXT
        control("note", "write an event into the history, such as a deploy", <<~TEXT, arguments: "[SOCKET] TEXT", forms: { "TEXT" => "a line of 80 bytes at most" }, query: "text", example: "mwrapctl note 4711 'deploy 17'"),
          The history has TEXT at this moment. Curves show it.
        TEXT
        control("trim", "make malloc give free memory back to the system", <<~TEXT),
          Calls malloc_trim, or what the allocator has instead. RSS then shows what is still
          needed. The process waits for it.
        TEXT
        control("pause", "count nothing new, at no cost", <<~TEXT),
          New blocks are not counted. Blocks that are known stay so, and their frees count.
          resume goes on.
        TEXT
        control("resume", "count again, after pause", <<~TEXT),
          Counts new blocks again. Those of the meantime stay unknown.
        TEXT
        control("exact", "count every block from now on, in a process that samples allocations", <<~TEXT),
          Ends the sampling of the option counts:sampled in the running process. Live
          memory stays in the table as an estimate. Every block from now on is counted.
        TEXT
        control("sampled", "sample allocations from now on, in a process that counts every block", <<~TEXT)
          Makes tracking cheaper in the running process: a few blocks stand for all from now
          on, and all figures are estimates.
        TEXT
      ]
    end
  end
end
