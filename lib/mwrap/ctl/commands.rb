# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "command"
require_relative "attach_commands"
require_relative "control_commands"
require_relative "look_commands"
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
    OUTPUT = Option.new(name: "output", letter: "o", value: "FILE", help: "where to; its ending says the form: .tsv, .json, .txt",
                        manual: "Writes to FILE, and replaces it if it is there. Its ending says the form: `.tsv`, `.json` or `.txt`. `-` is stdout.").freeze
    OUTPUT_OR_PAGE = Option.new(name: "output", letter: "o", value: "FILE", help: "where to; its ending says the form: .html, .tsv, .json, .txt",
                                manual: "Writes to FILE, and replaces it if it is there. Its ending says the form: `.html` is one page that needs no server and no network, the others are `.tsv`, `.json` and `.txt`. `-` is stdout.").freeze
    A_MOMENT = "FILE of snap, SOCKET for now, SOCKET@MARK, or SOCKET@peak or FILE@peak for the moment of most live memory; - is stdin"

    # The one list of commands: the help, doc/mwrapctl.1 and the completions are made from it.
    COMMANDS = [
      *look_commands,
      Command.new(
        name: "flame", arguments: "[SOCKET]", example: "mwrapctl flame 4711 -o flame.html",
        summary: "write who called the lines that allocate: a flame graph as one file",
        about: <<~TEXT,
          Writes a flame graph of what a process holds, as one page that needs no server
          and no network, or in a form for another viewer. SOCKET@peak is what lived
          when live memory was highest. A process started with the option stacks:off has
          none.
        TEXT
        forms: { "SOCKET" => SOCKET },
        options: [
          Option.new(name: "output", letter: "o", value: "FILE", help: "where to; - is stdout, also if that is a terminal",
                     manual: "Writes to FILE, and replaces it if it is there. `-` is stdout, also if that is a terminal. Without this option the output goes to stdout, unless that is a terminal. Without `--format` its ending says the form: `.html`, `.json`, `.collapsed`, `.speedscope.json` or `.pb.gz`."),
          Option.new(name: "by", value: "live|total|growth|objects", help: "bytes live now (the default), all allocated ones, growth, or Ruby's objects",
                     manual: "Chooses what counts: bytes that are live now, all that were allocated since the start or the last reset, growth since then, or the slots of Ruby's objects that stay, by the lines that made them. The default is `live`."),
          Option.new(name: "location", value: "LOCATION", help: "only the stacks of this line, such as /srv/app.rb:45",
                     manual: "Only the stacks of this location, as the table has it, or by its short id. For `html` and `json`."),
          Option.new(name: "invert", help: "lines that allocate first, then their callers",
                     manual: "Lines that allocate come first, then their callers. For `html` and `json`."),
          Option.new(name: "frames", value: "folded|ruby|all", help: "unnamed native frames as one, Ruby's only, or all",
                     manual: "Chooses the frames. `folded` makes native frames without a name one, if they follow each other in one library. `ruby` leaves out all native ones. `all` has each with its address. The default is `folded`, of `pprof` it is `all`."),
          Option.new(name: "startup", value: "show|hide", help: "hide leaves out stacks that load code",
                     manual: "`hide` leaves out stacks that load code, and the frames that lead to the program. The default is `show`."),
          Option.new(name: "format", value: "html|json|collapsed|speedscope|pprof", help: "the default is html",
                     manual: "`html` is the page, `json` is its data, `collapsed` is a text for flamegraph.pl. `speedscope` and `pprof` are files for these programs. The default is `html`."),
          *OF_A_SERVER
        ]
      ),
      Command.new(
        name: "map", arguments: "[SOCKET]", example: "mwrapctl map 4711 -o map.html",
        summary: "say why a process takes more memory than it holds: empty pages, holes, arenas",
        about: <<~TEXT,
          Says where the memory of a process is: live blocks, holes beside them, empty pages
          that the allocator keeps, and the rest. Lists the lines by the memory that they
          hold: their own bytes and their share of the holes. With -o FILE.html it draws every
          page of the heap. With --all it adds up all processes, and lists each. It changes
          nothing in the process.
        TEXT
        forms: { "SOCKET" => SOCKET },
        options: [
          OUTPUT_OR_PAGE,
          ROWS, AS_JSON, AS_TEXT, *OF_A_SERVER
        ]
      ),
      Command.new(
        name: "check", arguments: "SCRIPT", example: "mwrapctl check leak_test.rb",
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
        name: "ps", arguments: "", example: "mwrapctl ps",
        summary: "list the processes that are tracked, and what they hold",
        about: <<~TEXT,
          Lists the tracked processes of this machine that this user may look at. Asks those
          that have a server what is live in them.
        TEXT
        forms: {},
        options: [OUTPUT, ROWS, AS_JSON, AS_TEXT, TOKEN_FILE]
      ),
      Command.new(
        name: "top", arguments: "[SOCKET]", example: "mwrapctl top 4711 --sort live",
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
          Option.new(name: "sort", value: "growth|live|rate|objects", help: "the default is growth; the key s changes it",
                     manual: "The order of the rows at first: by `growth`, `live` bytes, the `rate` of allocations, or Ruby's `objects`. The default is `growth`. The key s changes it."),
          Option.new(name: "once", help: "print one frame as text, and end",
                     manual: "Prints one frame as text, and ends. So it does if stdin or stdout isn't a terminal."),
          Option.new(name: "count", letter: "n", value: "N", type: :count, help: "N rows at most",
                     manual: "Shows N rows at most. The default is 20 in a frame of text, else what the terminal has room for."),
          *OF_A_SERVER
        ]
      ),
      Command.new(
        name: "snap", arguments: "[SOCKET] FILE", example: "mwrapctl snap 4711 before.tsv",
        summary: "write the table of a process as a file, to compare it later",
        about: <<~TEXT,
          Writes what each location has allocated and holds at this moment, as TSV with a
          comment line on top. The file appears whole or not at all. With --mark the
          process keeps the moment, too.
        TEXT
        forms: { "SOCKET" => SOCKET, "FILE" => "the file; a snapshot that is there is replaced; - is stdout" },
        options: [
          Option.new(name: "force", letter: "f", help: "replace FILE also if it is no snapshot",
                     manual: "Replaces FILE also if it is no snapshot. Without this option another file stays as it is."),
          Option.new(name: "mark", value: "NAME", help: "also set a mark of this name in the process",
                     manual: "Also sets a mark of this name in the process: see diff."),
          *OF_A_SERVER
        ]
      ),
      Command.new(
        name: "report", arguments: "[SOURCE...]", example: "mwrapctl report 4711 -o report.html",
        summary: "say what a process holds, as text or as one page",
        about: <<~TEXT,
          Says what is live at one moment, by file and by line. For a running process it
          begins with the verdict: what grows, since when and why. With --html, or -o of a
          FILE.html, it is a page that needs no server, no network and no scripts. Of several
          SOURCEs, one for each process or machine, it says which lines grow on most of them,
          and which on one only. For a directory of the option report_dir it lists the reports
          there. It also reads each of them.
        TEXT
        forms: { "SOURCE" => "#{A_MOMENT}; a directory of reports, or one of them", "SOCKET" => SOCKET },
        options: [
          Option.new(name: "now", help: "the process writes a report into its report_dir",
                     manual: "The process of SOCKET writes a report into the directory of its option report_dir, and nothing is printed of it here."),
          Option.new(name: "html", help: "a page, as one file",
                     manual: "Writes a page, as one file. It follows the light or dark scheme of the system."),
          OUTPUT_OR_PAGE,
          Option.new(name: "sort", value: "live|growth|blocks|allocations|location", help: "the default is live",
                     manual: "The order of the rows: by `live` bytes or live `blocks`, by `growth`, by `allocations`, or by `location`. The default is `live`."),
          ROWS, AS_JSON, AS_TEXT, *OF_A_SERVER
        ]
      ),
      Command.new(
        name: "diff", arguments: "A B", example: "mwrapctl diff before.tsv 4711 --per 1000",
        summary: "say what grew between two moments: files, processes, marks, the peak",
        about: <<~TEXT,
          Compares what is live at two moments, in any mix of files, processes and marks.
          A reset between them doesn't matter. Native locations are compared by module and
          offset. The score puts what looks like a leak first, and noise last.
        TEXT
        forms: { "A" => "before: #{A_MOMENT}; a report's directory", "B" => "after: the same", "SOCKET" => SOCKET },
        options: [
          Option.new(name: "per", value: "N", type: :count, help: "N requests lay between: also divide by N",
                     manual: "N requests lay between the two moments. Also writes bytes and blocks for each of them. A location with a whole number of blocks for each gets a high score, others a low one."),
          Option.new(name: "sort", value: "score|growth|blocks|live|location", help: "the default is score",
                     manual: "The order of the rows: by `score`, by `growth` in bytes or in `blocks`, by what is `live` in B, or by `location`. The default is `score`."),
          OUTPUT, ROWS, FAIL_ABOVE, AS_JSON, AS_TEXT, *OF_A_SERVER
        ]
      ),
      Command.new(
        name: "score", arguments: "SNAPSHOT...", example: "mwrapctl score s1.tsv s2.tsv s3.tsv",
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
          OUTPUT, ROWS, FAIL_ABOVE, AS_JSON, AS_TEXT, *OF_A_SERVER
        ]
      ),
      Command.new(
        name: "objects", arguments: "SOCKET [VIEW]", example: "mwrapctl objects http://localhost:3000/mwrap find/Session",
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
          OUTPUT, ROWS, AS_JSON, AS_TEXT, ONE_OF_FAMILY, TOKEN_FILE
        ]
      ),
      Command.new(
        name: "who", arguments: "[SOCKET] [LOCATION]", example: "mwrapctl who 4711 app.rb:45",
        summary: "say what holds the live blocks of a line: a Ruby object, native memory, or nothing",
        about: <<~TEXT,
          Says what holds the live blocks of LOCATION, and by which path a root of Ruby leads
          to the object. A block that nothing holds is a native leak. Without LOCATION it says what
          holds all live blocks, and which lines have blocks that nothing holds. A forked
          child of the process looks; the process itself stands still for some milliseconds.
        TEXT
        forms: { "SOCKET" => SOCKET, "LOCATION" => "a line as the table has it, such as /srv/app.rb:45, its end, such as app.rb:45, or its short id" },
        options: [
          Option.new(name: "count", letter: "n", value: "N", type: :count, help: "holders to print; the default is 10",
                     manual: "Prints N holders at most, those with the most blocks. The default is 10."),
          Option.new(name: "json", help: "for programs",
                     manual: "Writes JSON, for programs: `location`, `blocks`, `bytes`, and `rows` with `holder`, `by` (ruby, native, garbage, nothing), `blocks`, `bytes`, `path` (an array of steps) and `paths`. Without LOCATION it has `held_by_nothing`, too: `location`, `blocks` and `bytes`."),
          ONE_OF_FAMILY, TOKEN_FILE
        ]
      ),
      *control_commands,
      *RECORD_COMMANDS,
      *ATTACH_COMMANDS
    ].freeze
  end
end
