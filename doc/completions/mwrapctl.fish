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
complete -c mwrapctl -n '__fish_seen_subcommand_from help' -f -a 'flame check'
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
# end
