# SPDX-License-Identifier: GPL-2.0-or-later
#
# mwrapctl.fish - fish completes `mwrapctl COMMAND ...`. Copy it to ~/.config/fish/completions/,
# or source it in config.fish.

function __mwrapctl_first
    test (count (commandline -opc)) -eq 1
end

complete -c mwrapctl -n __mwrapctl_first -f -s h -l help -d 'Show the commands'
complete -c mwrapctl -n __mwrapctl_first -f -s v -l version -d 'Show the version'
complete -c mwrapctl -n __mwrapctl_first -f -a help -d 'Show a command'
# begin: made by `make doc`
complete -c mwrapctl -n '__fish_seen_subcommand_from help' -f -a 'flame check ps snap diff score'
complete -c mwrapctl -n __mwrapctl_first -f -a flame -d 'write who called the lines that allocate: a flame graph as one file'
complete -c mwrapctl -n '__fish_seen_subcommand_from flame' -s o -l output -r -F -d 'where to; - is stdout, also if that is a terminal'
complete -c mwrapctl -n '__fish_seen_subcommand_from flame' -l by -x -a 'live total growth' -d 'bytes live now (the default), all allocated ones, or growth'
complete -c mwrapctl -n '__fish_seen_subcommand_from flame' -l location -x -d 'only the stacks of this line, such as /srv/app.rb:45'
complete -c mwrapctl -n '__fish_seen_subcommand_from flame' -l invert -d 'lines that allocate first, then their callers'
complete -c mwrapctl -n '__fish_seen_subcommand_from flame' -l format -x -a 'html json collapsed speedscope pprof' -d 'the default is html'
complete -c mwrapctl -n '__fish_seen_subcommand_from flame' -l pid -x -d 'this process of the family'
complete -c mwrapctl -n '__fish_seen_subcommand_from flame' -l all -d 'all processes of the family, added up'
complete -c mwrapctl -n '__fish_seen_subcommand_from flame' -l token-file -r -F -d 'its first line is the token that the server wants'
complete -c mwrapctl -n __mwrapctl_first -f -a check -d 'tell whether a Ruby script\'s step leaks, and at which line'
complete -c mwrapctl -n '__fish_seen_subcommand_from check' -l warmup -x -d 'calls before the first round; the default is 20'
complete -c mwrapctl -n '__fish_seen_subcommand_from check' -l rounds -x -d 'calls in each round; the default is 10,30,10,30,20'
complete -c mwrapctl -n '__fish_seen_subcommand_from check' -l native -d 'only blocks that nothing holds count'
complete -c mwrapctl -n '__fish_seen_subcommand_from check' -l suppressions -r -F -d 'known leaks: lines of leak:PATTERN, as for LeakSanitizer'
complete -c mwrapctl -n '__fish_seen_subcommand_from check' -l json -d 'print an array of objects, one for each leak'
complete -c mwrapctl -n __mwrapctl_first -f -a ps -d 'list the processes that are tracked, and what they hold'
complete -c mwrapctl -n '__fish_seen_subcommand_from ps' -f
complete -c mwrapctl -n '__fish_seen_subcommand_from ps' -s n -l count -x -d 'the first N rows; 30 on a terminal, else all'
complete -c mwrapctl -n '__fish_seen_subcommand_from ps' -l json -d 'for programs'
complete -c mwrapctl -n '__fish_seen_subcommand_from ps' -l text -d 'aligned columns, also into a pipe, which gets TSV else'
complete -c mwrapctl -n '__fish_seen_subcommand_from ps' -l token-file -r -F -d 'its first line is the token that the server wants'
complete -c mwrapctl -n __mwrapctl_first -f -a snap -d 'write the table of a process as a file, to compare it later'
complete -c mwrapctl -n '__fish_seen_subcommand_from snap' -l mark -x -d 'also set a mark of this name in the process'
complete -c mwrapctl -n '__fish_seen_subcommand_from snap' -l pid -x -d 'this process of the family'
complete -c mwrapctl -n '__fish_seen_subcommand_from snap' -l all -d 'all processes of the family, added up'
complete -c mwrapctl -n '__fish_seen_subcommand_from snap' -l token-file -r -F -d 'its first line is the token that the server wants'
complete -c mwrapctl -n __mwrapctl_first -f -a diff -d 'say what grew between two moments: files, processes, marks'
complete -c mwrapctl -n '__fish_seen_subcommand_from diff' -l per -x -d 'N requests lay between: also divide by N'
complete -c mwrapctl -n '__fish_seen_subcommand_from diff' -l sort -x -a 'score growth blocks live location' -d 'the default is score'
complete -c mwrapctl -n '__fish_seen_subcommand_from diff' -s n -l count -x -d 'the first N rows; 30 on a terminal, else all'
complete -c mwrapctl -n '__fish_seen_subcommand_from diff' -l fail-above -x -d 'exit 1 if a location has a higher score'
complete -c mwrapctl -n '__fish_seen_subcommand_from diff' -l json -d 'for programs'
complete -c mwrapctl -n '__fish_seen_subcommand_from diff' -l text -d 'aligned columns, also into a pipe, which gets TSV else'
complete -c mwrapctl -n '__fish_seen_subcommand_from diff' -l pid -x -d 'this process of the family'
complete -c mwrapctl -n '__fish_seen_subcommand_from diff' -l all -d 'all processes of the family, added up'
complete -c mwrapctl -n '__fish_seen_subcommand_from diff' -l token-file -r -F -d 'its first line is the token that the server wants'
complete -c mwrapctl -n __mwrapctl_first -f -a score -d 'say what grows steadily over three moments or more'
complete -c mwrapctl -n '__fish_seen_subcommand_from score' -l x -x -d 'requests before each; the default is its time'
complete -c mwrapctl -n '__fish_seen_subcommand_from score' -s n -l count -x -d 'the first N rows; 30 on a terminal, else all'
complete -c mwrapctl -n '__fish_seen_subcommand_from score' -l fail-above -x -d 'exit 1 if a location has a higher score'
complete -c mwrapctl -n '__fish_seen_subcommand_from score' -l json -d 'for programs'
complete -c mwrapctl -n '__fish_seen_subcommand_from score' -l text -d 'aligned columns, also into a pipe, which gets TSV else'
complete -c mwrapctl -n '__fish_seen_subcommand_from score' -l pid -x -d 'this process of the family'
complete -c mwrapctl -n '__fish_seen_subcommand_from score' -l all -d 'all processes of the family, added up'
complete -c mwrapctl -n '__fish_seen_subcommand_from score' -l token-file -r -F -d 'its first line is the token that the server wants'
# end
