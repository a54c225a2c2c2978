# SPDX-License-Identifier: GPL-2.0-or-later
#
# mwrap.fish - fish completes `mwrap COMMAND`, and options in `env MWRAP=...` and
# `export MWRAP=...`. Copy it to ~/.config/fish/completions/, or source it in config.fish.
#
# Fish completes only files in an assignment in front of a command (MWRAP=... mwrap), so
# write env in front of it. env is known once this file is loaded.

# KEY|VALUES, or the function that lists them|DESCRIPTION
function __mwrap_list
    # begin: made by `make doc`
    echo 'socket|__fish_complete_path|HTTP server on a Unix socket, mode 0600'
    echo 'socket_dir|__fish_complete_directories|HTTP server of each process on DIRECTORY/PID.sock'
    echo 'socket_mode||mode of these sockets, such as 0660'
    echo 'socket_group|__fish_complete_groups|group of these sockets; their mode is 0660 then, unless given'
    echo 'listen||HTTP server on a TCP port of this machine; port 0: any free one'
    echo 'token_file|__fish_complete_path|requests must present the token in this file (mode 0600); listen may then be any address'
    echo 'read_only|0 1|1: the server refuses every POST'
    echo 'source|0 1|0: no page shows lines of source code'
    echo 'history|0 1|0: the server keeps no history of locations'
    echo 'proof|auto off|off: the verdict asks no forked child what keeps the memory it suspects'
    echo 'exact|asked growth|growth: with counts:sampled, count exactly once something has grown for five minutes'
    echo 'objects|auto on off|on: sample Ruby\'s new objects in Ruby 3.1, too; off: never'
    echo 'dump_path|__fish_complete_path|at exit, append the table to this file'
    echo 'dump_fd||at exit, write the table to this open descriptor'
    echo 'dump_min||leave out locations with this many bytes or less'
    echo 'dump_format|text tsv csv json|form of the table; default text'
    echo 'dump_heap||Ruby\'s heap pages below text: 1 summary, 2 each, 4 only these'
    echo 'dump_every||also write the table this often, each time into a new file beside dump_path'
    echo 'dump_keep||keep the last of these files (default 3)'
    echo 'file_mode||mode of new dumps and recordings, such as 0640 (default 0600)'
    echo 'report_dir|__fish_complete_directories|write reports into this directory, or as lines to stdout or stderr: see report_at'
    echo 'report_at||when: 90%, 1500m, growth, oom, exit; several times (default 90%, growth, oom)'
    echo 'report_every||at most one report for each report_at in SECONDS (default 600)'
    echo 'report_keep||keep the last of these reports (default 5)'
    echo 'report_max||bytes of all these reports (k, m, g; default 64m)'
    echo 'report_command|__fish_complete_path|run this program with the name of each finished report'
    echo 'trace_path|__fish_complete_path|record every call of malloc into this file, for `mwrapctl replay` (%p: the PID)'
    echo 'trace_max||end the recording when its file reaches BYTES (k, m, g)'
    echo 'trace_seconds||end the recording after SECONDS'
    echo 'trace_full|wait drop|what threads do when the disk is too slow: wait (default), or drop events'
    echo 'trace_clock|coarse fine|times of events: read now and then (default), or at each event'
    echo 'memory_max||ceiling of the tracker\'s own memory (k, m, g: 64m)'
    echo 'stacks||stacks of callers: one sample per BYTES allocated (k, m, g)'
    echo 'counts|exact sampled|sampled: count a sample of the allocations, for a third of the cost'
    echo 'sample||with counts:sampled, one sample per BYTES allocated (k, m, g)'
    echo 'bt||Ruby callers kept with each location, 0 to 16'
    echo 'malloc|jemalloc mimalloc tcmalloc|run COMMAND on this allocator, if it is installed'
    echo 'label||a label of this process for Prometheus, such as version=1.2; several'
    echo 'children|all|programs without Ruby that COMMAND starts get a server and periodic dumps, too'
    # end
end

# The options in a word MWRAP=KEY:VALUE,KEY:VALUE that ends at the cursor.
function __mwrap_assignment
    set -l word (commandline -ct | string unescape)
    # a character behind a backslash is no comma
    set -l item (string match -r '(?:\\\\.|[^,\\\\])*$' -- (string replace -r '^MWRAP=' '' -- $word))
    set -l before (string sub -l (math (string length -- $word) - (string length -- "$item")) -- $word)
    set -l key (string match -r '^[^:]*(?=:)' -- $item)
    for line in (__mwrap_list)
        set -l option (string split -m 2 '|' -- $line)
        if set -q key[1]
            test "$key" = $option[1]; or continue
            set -l values (string split -n ' ' -- $option[2])
            if functions -q "$option[2]"
                set values ($option[2] (string replace -r '^[^:]*:' '' -- $item))
            end
            printf '%s\n' $before$key:$values
        else if not string match -q "*,$option[1]:*" -- ,(string replace -r '^MWRAP=' '' -- $word)
            printf '%s%s:\t%s\n' $before $option[1] $option[3]
        end
    end
end

function __mwrap_at_assignment
    string match -q 'MWRAP=*' -- (commandline -ct)
end

complete -c mwrap -n 'test (count (commandline -opc)) -eq 1' -s h -l help -d 'Show the options'
complete -c mwrap -n 'test (count (commandline -opc)) -eq 1' -s v -l version -d 'Show the version'
complete -c mwrap -x -a '(__fish_complete_subcommand)'
complete -c env -n __mwrap_at_assignment -f -a '(__mwrap_assignment)'
complete -c export -n __mwrap_at_assignment -f -a '(__mwrap_assignment)'
