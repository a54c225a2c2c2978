# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "command"
require_relative "attach_commands"
require_relative "record_commands"

module Mwrap
  module Ctl # :nodoc: all
    # The forms of SOCKET, in every command
    SOCKET = [
      ["PATH", "a Unix socket, or the directory of socket_dir"],
      ["PID", "a process, whose MWRAP names its server"],
      ["HOST:PORT", "a port of listen"],
      ["http://HOST/PATH", "where a Rack app has mounted MwrapRack; https, too"],
      [".../PID, .../all", "behind any of these: a process of its family, or all of them"]
    ].freeze

    # The options of a command that asks a server: Client.of reads them.
    ONE_OF_FAMILY = Option.new(name: "pid", value: "PID", type: :pid, help: "this process of the family",
                               manual: "Asks for this process of the family.").freeze
    ALL_OF_FAMILY = Option.new(name: "all", help: "all processes of the family, added up",
                               manual: "Asks for all processes of the family, added up.").freeze
    TOKEN_FILE = Option.new(name: "token-file", value: "FILE", help: "its first line is the token that the server wants",
                            manual: "The first line of FILE is the token that the server wants. For a process that is named by its PID the default is the file in its MWRAP.").freeze
    OF_A_SERVER = [ONE_OF_FAMILY, ALL_OF_FAMILY, TOKEN_FILE].freeze

    AS_JSON = Option.new(name: "json", help: "for programs",
                         manual: "Writes JSON, for programs.").freeze
    AS_TEXT = Option.new(name: "text", help: "aligned columns, also into a pipe, which gets TSV else",
                         manual: "Writes aligned columns, also into a pipe. Without this option a terminal gets them, and a pipe gets TSV with exact numbers.").freeze
    ROWS = Option.new(name: "count", letter: "n", value: "N", type: :count, help: "the first N rows; 30 on a terminal, else all",
                      manual: "Writes the first N rows. The default is 30 on a terminal, else all of them.").freeze
    FAIL_ABOVE = Option.new(name: "fail-above", value: "SCORE", type: :number, help: "exit 1 if a location has a higher score",
                            manual: "Exits with 1 if a location has a score above SCORE.").freeze
    A_MOMENT = "FILE of snap, SOCKET for now, or SOCKET@MARK; - is stdin"

    # The one list of commands: the help, doc/mwrapctl.1 and the completions are made from it.
    COMMANDS = [
      Command.new(
        name: "flame", arguments: "SOCKET",
        summary: "write who called the lines that allocate: a flame graph as one file",
        about: <<~TEXT,
          Writes a flame graph of what a process holds, as one page that needs no server
          and no network, or in a form for another viewer. A process started with the
          option stacks:off has none.
        TEXT
        forms: { "SOCKET" => SOCKET },
        options: [
          Option.new(name: "output", letter: "o", value: "FILE", help: "where to; - is stdout, also if that is a terminal",
                     manual: "Writes to FILE, and replaces it if it is there. `-` is stdout, also if that is a terminal. Without this option the output goes to stdout, unless that is a terminal."),
          Option.new(name: "by", value: "live|total|growth|objects", help: "bytes live now (the default), all allocated ones, growth, or Ruby's objects",
                     manual: "Chooses what counts: bytes that are live now, all that were allocated since the start or the last reset, growth since then, or the slots of Ruby's objects that stay, by the lines that made them. The default is `live`."),
          Option.new(name: "location", value: "LOCATION", help: "only the stacks of this line, such as /srv/app.rb:45",
                     manual: "Only the stacks of this location, as the table has it, or by its short id. For `html` and `json`."),
          Option.new(name: "invert", help: "lines that allocate first, then their callers",
                     manual: "Lines that allocate come first, then their callers. For `html` and `json`."),
          Option.new(name: "format", value: "html|json|collapsed|speedscope|pprof", help: "the default is html",
                     manual: "`html` is the page, `json` is its data, `collapsed` is a text for flamegraph.pl. `speedscope` and `pprof` are files for these programs. The default is `html`."),
          *OF_A_SERVER
        ]
      ),
      Command.new(
        name: "map", arguments: "SOCKET",
        summary: "say why a process takes more memory than it holds: empty pages, holes, arenas",
        about: <<~TEXT,
          Says where the memory of a process is: live blocks, holes beside them, empty pages
          that the allocator keeps, and the rest. Lists the lines by the memory that they
          hold: their own bytes and their share of the holes. With -o it draws every page of
          the heap. With --all it adds up all processes, and lists each. It changes nothing in
          the process.
        TEXT
        forms: { "SOCKET" => SOCKET },
        options: [
          Option.new(name: "output", letter: "o", value: "FILE", help: "draw the map as one page: FILE ends in .html",
                     manual: "Draws the map as FILE, and replaces it if it is there. Its name ends in `.html`: it is one page that needs no server and no network."),
          ROWS, AS_JSON, AS_TEXT, *OF_A_SERVER
        ]
      ),
      Command.new(
        name: "check", arguments: "SCRIPT",
        summary: "tell whether a Ruby script's step leaks, and at which line",
        about: <<~TEXT,
          Loads SCRIPT, which defines a method named step, and calls that in rounds of
          different lengths. A line leaks if it keeps blocks in proportion to the calls.
          Needs no launcher. Output of SCRIPT goes to stderr. Exits with 0 if nothing
          leaks, 1 if something does, and 2 if it can't decide. If the variable
          GITHUB_ACTIONS is true, leaks are also printed as annotations.
        TEXT
        forms: { "SCRIPT" => "a Ruby file with def step" },
        options: [
          Option.new(name: "warmup", value: "N", type: :count, help: "calls before the first round; the default is 20",
                     manual: "Calls before the first round, so that caches fill. The default is 20."),
          Option.new(name: "rounds", value: "N,N,N", type: :counts, help: "calls in each round; the default is 10,30,10,30,20",
                     manual: "Calls in each round: three numbers or more, not all the same. The default is 10,30,10,30,20."),
          Option.new(name: "native", help: "only blocks that nothing holds count",
                     manual: "Only blocks that nothing holds count: those that native code forgot. A block that a Ruby object still holds isn't a leak then."),
          Option.new(name: "suppressions", value: "FILE", help: "known leaks: lines of leak:PATTERN, as for LeakSanitizer",
                     manual: "FILE has known leaks, in LeakSanitizer's format: lines of `leak:PATTERN`, and comments that begin with `#`. A pattern is a part of a location; `*` stands for any text, `^` and `$` for its ends."),
          Option.new(name: "json", help: "print an array of objects, one for each leak",
                     manual: "Prints an array of objects, one for each leak: `location`, `blocks_per_call`, `bytes_per_block`, `held` (null if it isn't known), `rounds` (calls) and `blocks` (kept of them).")
        ]
      ),
      Command.new(
        name: "ps", arguments: "",
        summary: "list the processes that are tracked, and what they hold",
        about: <<~TEXT,
          Lists the tracked processes of this machine that this user may look at. Asks those
          that have a server what is live in them.
        TEXT
        forms: {},
        options: [ROWS, AS_JSON, AS_TEXT, TOKEN_FILE]
      ),
      Command.new(
        name: "top", arguments: "SOCKET",
        summary: "watch in the terminal what grows in a process",
        about: <<~TEXT,
          Shows the verdict, RSS and live memory, and the locations that grow most, again
          and again. Growth counts from the last 15 minutes, or from the key r on. Keys: q
          quits, s sorts by growth, live bytes, allocations or objects, r counts growth from now on,
          / filters, arrows choose a row. It changes nothing in the process.
        TEXT
        forms: { "SOCKET" => SOCKET },
        options: [
          Option.new(name: "interval", value: "SECONDS", type: :number, help: "time between two answers; the default is 2",
                     manual: "The time between two answers, 2 by default. It is longer if the server needs more than a tenth of it."),
          Option.new(name: "once", help: "print one frame as text, and end",
                     manual: "Prints one frame as text, and ends. So it does if stdin or stdout isn't a terminal."),
          Option.new(name: "count", letter: "n", value: "N", type: :count, help: "N rows at most",
                     manual: "Shows N rows at most. The default is 20 in a frame of text, else what the terminal has room for."),
          *OF_A_SERVER
        ]
      ),
      Command.new(
        name: "snap", arguments: "SOCKET FILE",
        summary: "write the table of a process as a file, to compare it later",
        about: <<~TEXT,
          Writes what each location has allocated and holds at this moment, as TSV with a
          comment line on top. The file appears whole or not at all. With --mark the
          process keeps the moment, too.
        TEXT
        forms: { "SOCKET" => SOCKET, "FILE" => "the file, which is replaced if it is there; - is stdout" },
        options: [
          Option.new(name: "mark", value: "NAME", help: "also set a mark of this name in the process",
                     manual: "Also sets a mark of this name in the process: see diff."),
          *OF_A_SERVER
        ]
      ),
      Command.new(
        name: "report", arguments: "SOURCE",
        summary: "say what a process holds, as text or as one page",
        about: <<~TEXT,
          Says what is live at one moment, by file and by line. For a running process it
          begins with the verdict: what grows, since when and why. With --html it is a page
          that needs no server, no network and no scripts.
        TEXT
        forms: { "SOURCE" => A_MOMENT, "SOCKET" => SOCKET },
        options: [
          Option.new(name: "html", help: "a page, as one file",
                     manual: "Writes a page, as one file. It follows the light or dark scheme of the system."),
          Option.new(name: "output", letter: "o", value: "FILE", help: "where the page goes; - is stdout",
                     manual: "Writes the page to FILE, and replaces it if it is there. `-` is stdout. Without this option the page goes to stdout, unless that is a terminal."),
          ROWS, AS_JSON, AS_TEXT, *OF_A_SERVER
        ]
      ),
      Command.new(
        name: "diff", arguments: "A B",
        summary: "say what grew between two moments: files, processes, marks",
        about: <<~TEXT,
          Compares what is live at two moments, in any mix of files, processes and marks.
          A reset between them doesn't matter. Native locations are compared by module and
          offset. The score puts what looks like a leak first, and noise last.
        TEXT
        forms: { "A" => "before: #{A_MOMENT}", "B" => "after: the same", "SOCKET" => SOCKET },
        options: [
          Option.new(name: "per", value: "N", type: :count, help: "N requests lay between: also divide by N",
                     manual: "N requests lay between the two moments. Also writes bytes and blocks for each of them. A location with a whole number of blocks for each gets a high score, others a low one."),
          Option.new(name: "sort", value: "score|growth|blocks|live|location", help: "the default is score",
                     manual: "The order of the rows: by `score`, by `growth` in bytes or in `blocks`, by what is `live` in B, or by `location`. The default is `score`."),
          ROWS, FAIL_ABOVE, AS_JSON, AS_TEXT, *OF_A_SERVER
        ]
      ),
      Command.new(
        name: "score", arguments: "SNAPSHOT...",
        summary: "say what grows steadily over three moments or more",
        about: <<~TEXT,
          Says which locations grow in proportion to requests or to time. The score is high
          if nearly each value is larger than those before it, if they are on a straight
          line, and if the second half grows as much as the first.
        TEXT
        forms: { "SNAPSHOT" => "three or more, in their order: #{A_MOMENT}", "SOCKET" => SOCKET },
        options: [
          Option.new(name: "x", value: "X,...", type: :numbers, help: "requests before each; the default is its time",
                     manual: "A number for each snapshot, such as the requests that were served before it. The default is its time, or its place if one has none."),
          ROWS, FAIL_ABOVE, AS_JSON, AS_TEXT, *OF_A_SERVER
        ]
      ),
      Command.new(
        name: "objects", arguments: "SOCKET [VIEW]",
        summary: "say what Ruby's own heap holds, what grew, and who refers to it",
        about: <<~TEXT,
          Shows how many objects a process has by class or type, how much code by file, what
          its threads' stacks hold, and who refers to an object. Only MwrapRack can ask Ruby
          for these. So SOCKET has to be the address at which the app mounts it.
        TEXT
        forms: { "VIEW" => "classes (the default), counts (by type), iseqs (code by file), stacks, pages; class/NAME: lines that allocated its objects; " \
                           "find/NAME: who refers to them; NAME may be an address or object_id there", "SOCKET" => SOCKET },
        options: [
          Option.new(name: "mark", help: "count growth from now on",
                     manual: "Counts growth from now on: classes, counts and iseqs show it in the column `growth`."),
          Option.new(name: "depth", value: "N", type: :count, help: "levels of find/NAME: 1 to 8, 1 by default",
                     manual: "Levels of `find/NAME`: 1 is what refers to it, 2 what refers to that; 8 at most."),
          ROWS, AS_JSON, AS_TEXT, ONE_OF_FAMILY, TOKEN_FILE
        ]
      ),
      Command.new(
        name: "who", arguments: "SOCKET [LOCATION]",
        summary: "say what holds the live blocks of a line: a Ruby object, native memory, or nothing",
        about: <<~TEXT,
          Says what holds the live blocks of LOCATION, and by which path a root of Ruby leads
          to the object. A block that nothing holds is a native leak. Without LOCATION it says what
          holds all live blocks. A forked child of the process looks; the process itself
          stands still for some milliseconds.
        TEXT
        forms: { "SOCKET" => SOCKET, "LOCATION" => "a line as the table has it, such as /srv/app.rb:45, its end, such as app.rb:45, or its short id" },
        options: [
          Option.new(name: "count", letter: "n", value: "N", type: :count, help: "holders to print; the default is 10",
                     manual: "Prints N holders at most, those with the most blocks. The default is 10."),
          Option.new(name: "json", help: "for programs",
                     manual: "Writes JSON, for programs: `location`, `blocks`, `bytes`, and `rows` with `holder`, `by` (ruby, native, garbage, nothing), `blocks`, `bytes`, `path` (an array of steps) and `paths`."),
          ONE_OF_FAMILY, TOKEN_FILE
        ]
      ),
      Command.new(
        name: "exact", arguments: "SOCKET",
        summary: "count every block from now on, in a process that samples allocations",
        about: <<~TEXT,
          Ends the sampling of the option counts:sampled in the running process. Live
          memory stays in the table as an estimate. Every block from now on is counted.
        TEXT
        forms: { "SOCKET" => SOCKET },
        options: [*OF_A_SERVER]
      ),
      Command.new(
        name: "sampled", arguments: "SOCKET",
        summary: "sample allocations from now on, in a process that counts every block",
        about: <<~TEXT,
          Makes tracking cheaper in the running process: a few blocks stand for all from now
          on, and all figures are estimates.
        TEXT
        forms: { "SOCKET" => SOCKET },
        options: [*OF_A_SERVER]
      ),
      *RECORD_COMMANDS,
      *ATTACH_COMMANDS
    ].freeze
  end
end
