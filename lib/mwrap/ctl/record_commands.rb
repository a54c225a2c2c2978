# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "command"

module Mwrap
  module Ctl # :nodoc: all
    # Of commands.rb
    RECORD_COMMANDS = [
      Command.new(
        name: "record", arguments: "COMMAND [ARG...]", example: "mwrapctl record -o app.%p.mwtrace ruby app.rb",
        summary: "run a command, and record each of its calls of malloc for replay",
        about: <<~TEXT,
          Runs COMMAND under mwrap, as mwrap(1) does, and writes each call of malloc and its
          relatives to a file. replay then tells how much memory the same work takes under
          other allocators and settings. Options of this command come before COMMAND.
        TEXT
        forms: { "COMMAND" => "the program to run", "ARG" => "its arguments" },
        options: [
          Option.new(name: "output", letter: "o", value: "FILE", help: "where to; %p in it is the PID, so each process has its own",
                     manual: "Writes to FILE. In it %p is the PID, and %% a percent sign. Each process needs a file of its own. This option is required."),
          Option.new(name: "max-size", value: "BYTES", help: "end the recording when the file is so large; such as 2g",
                     manual: "Ends the recording when the file has BYTES bytes: a number, or one with k, m or g. The command runs on."),
          Option.new(name: "seconds", value: "SECONDS", type: :count, help: "end the recording after SECONDS",
                     manual: "Ends the recording after SECONDS seconds. The command runs on."),
          Option.new(name: "full", value: "wait|drop", help: "what a thread does if the disk is too slow; the default is wait",
                     manual: "Says what a thread does if the disk is too slow: `wait` for it, for a short time, or `drop` events, which are counted. The default is `wait`."),
          Option.new(name: "clock", value: "coarse|fine", help: "coarse (the default) costs less; fine is for programs whose threads run beside each other",
                     manual: "`coarse` costs less, and suits Ruby. `fine` is for programs whose threads run beside each other. The default is `coarse`.")
        ]
      ),
      Command.new(
        name: "replay", arguments: "FILE...", example: "mwrapctl replay app.*.mwtrace",
        summary: "tell how much memory a recording takes under other allocators and settings",
        about: <<~TEXT,
          Makes the recorded calls again, thread by thread and in the same order, under each
          allocator and setting. Says how much memory malloc would have taken, and how much
          CPU. It first plays the recording as it was recorded: so it knows how far to trust
          the rest. Several files are the processes of a cluster, added up by time. Below that
          it lists what lived where when live memory was highest.
        TEXT
        forms: { "FILE" => "a file written by record, or by trace pack" },
        options: [
          Option.new(name: "malloc", value: "NAME,NAME", help: "allocators: glibc, jemalloc, mimalloc, tcmalloc, or a library's path",
                     manual: "The allocators, with commas between them: glibc, jemalloc, mimalloc, tcmalloc, or the path of a library. Without `--malloc`, `--arena-max` and `--set` these are the installed ones, as they come, and glibc with 2 arenas."),
          Option.new(name: "arena-max", value: "N,N", type: :counts, help: "with each number of arenas, too: MALLOC_ARENA_MAX of glibc, narenas of jemalloc",
                     manual: "Also plays with each of these numbers of arenas: MALLOC_ARENA_MAX of glibc, and narenas of jemalloc. Each number is a setting."),
          Option.new(name: "set", value: "NAME=VALUE", many: true, help: "with this variable, too; may be repeated",
                     manual: "Also plays with this variable in the environment. Each use of the option is a setting. A comma and another NAME=VALUE adds a variable to the same setting. A variable of one allocator counts for that one only."),
          Option.new(name: "pace", help: "at the recorded speed, for allocators with threads of their own",
                     manual: "Plays at the recorded speed, for an allocator with threads of its own, such as jemalloc's `background_thread:true`. Without this option calls follow each other at once, and the allocator is told the recorded time."),
          Option.new(name: "jobs", value: "N", type: :count, help: "N at once; the default is one for each processor",
                     manual: "Plays N settings at once. The default is one for each processor, or fewer if memory is short."),
          Option.new(name: "output", letter: "o", value: "FILE", help: "where to; its ending says the form: .html, .tsv, .json, .txt",
                     manual: "Writes the result to FILE, and replaces it if it is there. Its ending says the form: `.html` is a page with the curves, the others are `.tsv`, `.json` and `.txt`."),
          Option.new(name: "report", value: "FILE", help: "also write a page with the curves, as one file",
                     manual: "Also writes a page with the curves, as one file that needs no server and no network. It replaces FILE if that is there; `-` is stdout."),
          Option.new(name: "json", help: "print an array of objects, one for each setting",
                     manual: "Prints an array of objects, one for each setting, the first as recorded: `setting`, `malloc`, `environment`, `peak_rss_bytes`, `mean_rss_bytes`, `cpu_seconds`, `failed_allocations`, `curve` (pairs of seconds and bytes). One that can't be played has `error`. The first one has `recorded_peak_bytes`, `recorded_mean_bytes`, `peak_error` and `mean_error` (parts of 1), and `live_peak`: what lived where when live memory was highest."),
          Option.new(name: "text", help: "sentences and aligned columns, also into a pipe, which gets TSV else",
                     manual: "Writes sentences and aligned columns, also into a pipe. Without this option a terminal gets them, and a pipe gets TSV with exact numbers.")
        ]
      ),
      Command.new(
        name: "trace", arguments: "FORM FILE", example: "mwrapctl trace pack app.1.mwtrace -o app.packed",
        summary: "write a recording in another form",
        about: <<~TEXT,
          Writes what a recording has: as text, for heaptrack's programs, or packed, which is
          smaller and can be replayed at once.
        TEXT
        forms: { "FORM" => "text: one call a line; heaptrack: for heaptrack_print and heaptrack_gui; pack: all threads in one order, which needs --output; " \
                           "info: what it is of, and its sums, as JSON", "FILE" => "a file written by record, or by trace pack" },
        options: [
          Option.new(name: "output", letter: "o", value: "FILE", help: "where to; the default is stdout",
                     manual: "Writes to FILE, and replaces it if it is there. The default is stdout.")
        ]
      )
    ].freeze
  end
end
