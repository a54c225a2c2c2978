# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "output"
require_relative "tracked"

module Mwrap
  module Ctl
    # The process that is meant where none is named: the one that is tracked, or the one family of processes.
    module Choice # :nodoc: all
      # processes: Tracked ones; the first is the eldest
      Family = Struct.new(:processes) do
        def lead = processes[0]
        def line = [lead.pid.to_s, "#{Text.bytes(processes.sum(&:rss))} RSS", *("#{processes.size} processes" if processes.size > 1), Text.head(Text.clean(lead.command), 50)].join("  ")
      end

      NONE = "no process is tracked: start one with mwrap COMMAND, or run mwrapctl attach PID"

      class << self
        # The SOCKET that is meant. adds_up: given gets "all" for a family. pid: any tracked process will do, also one without
        # a server.
        def socket(given, adds_up:, pid: false)
          return given.delete("pid").to_s if given["pid"]
          family = one(Output.busy("reading /proc") { families(Tracked.all.select { |p| p.server || pid }) })
          given["all"] = true if adds_up && family.processes.size > 1
          family.lead.pid.to_s
        end

        # By the eldest of each. A process that a tracked one started belongs to it, and those of one socket to each other.
        def families(processes)
          by_pid = processes.to_h { |p| [p.pid, p] }
          processes.group_by { |p| key(eldest(p, by_pid)) }.values.map { |all| Family.new(all) }
        end

        private

        def eldest(process, by_pid)
          while (parent = by_pid[process.parent])
            process = parent
          end
          process
        end

        def key(process) = process.named || process.pid

        def one(families)
          none if families.empty?
          return families[0] if families.size == 1
          $stdin.tty? && $stderr.tty? ? ask(families) : list(families)
        end

        def none
          alone = Tracked.all.first or raise Failure, NONE
          raise Failure, "process #{alone.pid}: is tracked without a server: run mwrapctl attach #{alone.pid}"
        end

        def list(families)
          $stderr.write(families.map { |f| "  #{f.line}\n" }.join)
          raise Usage, "SOCKET: missing, and #{families.size} processes are tracked: name one by its PID"
        end

        def ask(families)
          families.each_with_index { |f, i| $stderr.write("#{(i + 1).to_s.rjust(3)}  #{f.line}\n") }
          $stderr.write("Which one? [1] ")
          answer = $stdin.gets or raise Interrupt
          at = answer.strip.empty? ? 1 : answer.strip.to_i
          found = families[at - 1] if at.positive?
          found || families.find { |f| f.lead.pid == at } or raise Usage, "\"#{Text.clean(answer.strip)}\": not in the list: write its number"
        end
      end
    end
  end
end
