# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

module Mwrap
  # The options of $MWRAP, for the launcher: the part that is known without the extension. Their
  # list is src/api/options.def.
  module Options # :nodoc: all
    Option = Struct.new(:key, :value, :group, :help) do
      def path? = %w[PATH DIRECTORY].include?(value)
    end

    LABEL = 24 # columns of KEY:VALUE in the help
    WIDTH = 80

    ALL = [
      # begin: made by `make doc`
      ["socket", "PATH", "HTTP server", "HTTP server on a Unix socket, mode 0600"],
      ["socket_dir", "DIRECTORY", "HTTP server", "HTTP server of each process on DIRECTORY/PID.sock"],
      ["socket_mode", "MODE", "HTTP server", "mode of these sockets, such as 0660"],
      ["socket_group", "GROUP", "HTTP server", "group of these sockets; their mode is 0660 then, unless given"],
      ["listen", "ADDRESS:PORT", "HTTP server", "HTTP server on a TCP port of this machine; port 0: any free one"],
      ["token_file", "PATH", "HTTP server", "requests must present the token in this file (mode 0600); listen may then be any address"],
      ["read_only", "0|1", "HTTP server", "1: the server refuses every POST"],
      ["source", "0|1", "HTTP server", "0: no page shows lines of source code"],
      ["history", "0|1", "HTTP server", "0: the server keeps no history of locations"],
      ["proof", "auto|off", "HTTP server", "off: the verdict asks no forked child what keeps the memory it suspects"],
      ["exact", "asked|growth", "HTTP server", "growth: with counts:sampled, count exactly once something has grown for five minutes"],
      ["objects", "auto|on|off", "HTTP server", "on: sample Ruby's new objects in Ruby 3.1, too; off: never"],
      ["dump_path", "PATH", "Dumps", "at exit, append the table to this file"],
      ["dump_fd", "NUMBER", "Dumps", "at exit, write the table to this open descriptor"],
      ["dump_min", "BYTES", "Dumps", "leave out locations with this many bytes or less"],
      ["dump_format", "text|tsv|csv|json", "Dumps", "form of the table; default text"],
      ["dump_heap", "MASK", "Dumps", "Ruby's heap pages below text: 1 summary, 2 each, 4 only these"],
      ["dump_every", "SECONDS", "Dumps", "also write the table this often, each time into a new file beside dump_path"],
      ["dump_keep", "FILES", "Dumps", "keep the last of these files (default 3)"],
      ["file_mode", "MODE", "Dumps", "mode of new dumps and recordings, such as 0640 (default 0600)"],
      ["report_dir", "DIRECTORY", "Reports", "write reports into this directory, or as lines to stdout or stderr: see report_at"],
      ["report_at", "WHEN...", "Reports", "when: 90%, 1500m, growth, oom, exit; several times (default 90%, growth, oom)"],
      ["report_every", "SECONDS", "Reports", "at most one report for each report_at in SECONDS (default 600)"],
      ["report_keep", "REPORTS", "Reports", "keep the last of these reports (default 5)"],
      ["report_max", "BYTES", "Reports", "bytes of all these reports (k, m, g; default 64m)"],
      ["report_command", "PATH", "Reports", "run this program with the name of each finished report"],
      ["trace_path", "PATH", "Recordings", "record every call of malloc into this file, for `mwrapctl replay` (%p: the PID)"],
      ["trace_max", "BYTES", "Recordings", "end the recording when its file reaches BYTES (k, m, g)"],
      ["trace_seconds", "SECONDS", "Recordings", "end the recording after SECONDS"],
      ["trace_full", "wait|drop", "Recordings", "what threads do when the disk is too slow: wait (default), or drop events"],
      ["trace_clock", "coarse|fine", "Recordings", "times of events: read now and then (default), or at each event"],
      ["memory_max", "BYTES", "Process", "ceiling of the tracker's own memory (k, m, g: 64m)"],
      ["stacks", "auto|off|BYTES", "Process", "stacks of callers: one sample per BYTES allocated (k, m, g)"],
      ["counts", "exact|sampled", "Process", "sampled: count a sample of the allocations, for a third of the cost"],
      ["sample", "BYTES", "Process", "with counts:sampled, one sample per BYTES allocated (k, m, g)"],
      ["bt", "CALLERS", "Process", "Ruby callers kept with each location, 0 to 16"],
      ["malloc", "jemalloc|mimalloc|tcmalloc", "Process", "run COMMAND on this allocator, if it is installed"],
      ["label", "NAME=VALUE...", "Process", "a label of this process for Prometheus, such as version=1.2; several"],
      ["children", "all", "Process", "programs without Ruby that COMMAND starts get a server and periodic dumps, too"],
      # end
    ].map { |fields| Option.new(*fields).freeze }.freeze

    module_function

    # The keys whose values are paths.
    def paths = ALL.select(&:path?).map(&:key)

    # The help: a line or more for each option, below the name of its group.
    def help
      ALL.chunk_while { |a, b| a.group == b.group }.map do |options|
        "#{options[0].group}:\n#{options.map { |o| line("#{o.key}:#{o.value}", o.help) }.join}"
      end.join("\n")
    end

    # A text beside its label. A label too long for its column gets a line of its own.
    def line(label, text)
      label = "  #{label}".ljust(LABEL)
      label = "#{label.rstrip}\n#{" " * LABEL}" unless label.end_with?(" ")
      lines = text.scan(/\S.{0,#{WIDTH - LABEL - 1}}(?=\s|\z)/)
      "#{label}#{lines.join("\n#{" " * LABEL}")}\n"
    end
  end
end
