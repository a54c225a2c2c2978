# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2207
#
# mwrapctl.bash - bash completes `mwrapctl COMMAND ...`.
#
#	. mwrapctl.bash    in ~/.bashrc, or copy it to
#	                   ~/.local/share/bash-completion/completions/mwrapctl

# begin: made by `make doc`
_mwrapctl_commands='verdict open doctor flame map check ps top snap report diff score objects who reset mark note trim pause resume exact sampled record replay trace attach detach'
_mwrapctl_no_files=' doctor ps detach '
_mwrapctl_options() {
	case $1 in
	verdict) echo '--json --pid --all --token-file --help' ;;
	open) echo '--print --port --pid --all --token-file --help' ;;
	doctor) echo '--json --token-file --help' ;;
	flame) echo '--output -o --by --location --invert --frames --startup --format --pid --all --token-file --help' ;;
	map) echo '--output -o --count -n --json --text --pid --all --token-file --help' ;;
	check) echo '--warmup --rounds --native --suppressions --json --help' ;;
	ps) echo '--output -o --count -n --json --text --token-file --help' ;;
	top) echo '--interval --sort --once --count -n --pid --all --token-file --help' ;;
	snap) echo '--force -f --mark --pid --all --token-file --help' ;;
	report) echo '--now --html --output -o --sort --count -n --json --text --pid --all --token-file --help' ;;
	diff) echo '--per --sort --output -o --count -n --fail-above --json --text --pid --all --token-file --help' ;;
	score) echo '--x --output -o --count -n --fail-above --json --text --pid --all --token-file --help' ;;
	objects) echo '--mark --depth --output -o --count -n --json --text --pid --token-file --help' ;;
	who) echo '--count -n --json --pid --token-file --help' ;;
	reset) echo '--pid --all --token-file --help' ;;
	mark) echo '--pid --all --token-file --help' ;;
	note) echo '--pid --all --token-file --help' ;;
	trim) echo '--pid --all --token-file --help' ;;
	pause) echo '--pid --all --token-file --help' ;;
	resume) echo '--pid --all --token-file --help' ;;
	exact) echo '--pid --all --token-file --help' ;;
	sampled) echo '--pid --all --token-file --help' ;;
	record) echo '--output -o --max-size --seconds --full --clock --help' ;;
	replay) echo '--malloc --arena-max --set --pace --jobs --output -o --report --json --text --help' ;;
	trace) echo '--output -o --help' ;;
	attach) echo '--wait --help' ;;
	detach) echo '--wait --help' ;;
	esac
}
# Prints the words that may follow an option. Fails if the option takes no value.
_mwrapctl_values() {
	case "$1 $2" in
	'verdict --pid') : ;;
	'verdict --token-file') compgen -f -- "$3" ;;
	'open --port') : ;;
	'open --pid') : ;;
	'open --token-file') compgen -f -- "$3" ;;
	'doctor --token-file') compgen -f -- "$3" ;;
	'flame --output' | 'flame -o') compgen -f -- "$3" ;;
	'flame --by') compgen -W 'live total growth objects' -- "$3" ;;
	'flame --location') : ;;
	'flame --frames') compgen -W 'folded ruby all' -- "$3" ;;
	'flame --startup') compgen -W 'show hide' -- "$3" ;;
	'flame --format') compgen -W 'html json collapsed speedscope pprof' -- "$3" ;;
	'flame --pid') : ;;
	'flame --token-file') compgen -f -- "$3" ;;
	'map --output' | 'map -o') compgen -f -- "$3" ;;
	'map --count' | 'map -n') : ;;
	'map --pid') : ;;
	'map --token-file') compgen -f -- "$3" ;;
	'check --warmup') : ;;
	'check --rounds') : ;;
	'check --suppressions') compgen -f -- "$3" ;;
	'ps --output' | 'ps -o') compgen -f -- "$3" ;;
	'ps --count' | 'ps -n') : ;;
	'ps --token-file') compgen -f -- "$3" ;;
	'top --interval') : ;;
	'top --sort') compgen -W 'growth live rate objects' -- "$3" ;;
	'top --count' | 'top -n') : ;;
	'top --pid') : ;;
	'top --token-file') compgen -f -- "$3" ;;
	'snap --mark') : ;;
	'snap --pid') : ;;
	'snap --token-file') compgen -f -- "$3" ;;
	'report --output' | 'report -o') compgen -f -- "$3" ;;
	'report --sort') compgen -W 'live growth blocks allocations location' -- "$3" ;;
	'report --count' | 'report -n') : ;;
	'report --pid') : ;;
	'report --token-file') compgen -f -- "$3" ;;
	'diff --per') : ;;
	'diff --sort') compgen -W 'score growth blocks live location' -- "$3" ;;
	'diff --output' | 'diff -o') compgen -f -- "$3" ;;
	'diff --count' | 'diff -n') : ;;
	'diff --fail-above') : ;;
	'diff --pid') : ;;
	'diff --token-file') compgen -f -- "$3" ;;
	'score --x') : ;;
	'score --output' | 'score -o') compgen -f -- "$3" ;;
	'score --count' | 'score -n') : ;;
	'score --fail-above') : ;;
	'score --pid') : ;;
	'score --token-file') compgen -f -- "$3" ;;
	'objects --depth') : ;;
	'objects --output' | 'objects -o') compgen -f -- "$3" ;;
	'objects --count' | 'objects -n') : ;;
	'objects --pid') : ;;
	'objects --token-file') compgen -f -- "$3" ;;
	'who --count' | 'who -n') : ;;
	'who --pid') : ;;
	'who --token-file') compgen -f -- "$3" ;;
	'reset --pid') : ;;
	'reset --token-file') compgen -f -- "$3" ;;
	'mark --pid') : ;;
	'mark --token-file') compgen -f -- "$3" ;;
	'note --pid') : ;;
	'note --token-file') compgen -f -- "$3" ;;
	'trim --pid') : ;;
	'trim --token-file') compgen -f -- "$3" ;;
	'pause --pid') : ;;
	'pause --token-file') compgen -f -- "$3" ;;
	'resume --pid') : ;;
	'resume --token-file') compgen -f -- "$3" ;;
	'exact --pid') : ;;
	'exact --token-file') compgen -f -- "$3" ;;
	'sampled --pid') : ;;
	'sampled --token-file') compgen -f -- "$3" ;;
	'record --output' | 'record -o') compgen -f -- "$3" ;;
	'record --max-size') : ;;
	'record --seconds') : ;;
	'record --full') compgen -W 'wait drop' -- "$3" ;;
	'record --clock') compgen -W 'coarse fine' -- "$3" ;;
	'replay --malloc') : ;;
	'replay --arena-max') : ;;
	'replay --set') : ;;
	'replay --jobs') : ;;
	'replay --output' | 'replay -o') compgen -f -- "$3" ;;
	'replay --report') compgen -f -- "$3" ;;
	'trace --output' | 'trace -o') compgen -f -- "$3" ;;
	'attach --wait') : ;;
	'detach --wait') : ;;
	*) return 1 ;;
	esac
	return 0
}
# end

_mwrapctl() {
	local IFS=$' \t\n' cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
	local found front=
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W "$_mwrapctl_commands help --help --version" -- "$cur"))
		return
	elif [[ $command == help ]]; then
		((COMP_CWORD > 2)) || COMPREPLY=($(compgen -W "$_mwrapctl_commands" -- "$cur"))
		return
	fi
	# bash takes --by=live for three words, or for one
	if [[ $cur == --*=* ]]; then
		before=${cur%%=*}
		front=$before=
		cur=${cur#*=}
	elif [[ $cur == = ]]; then
		cur=
	elif [[ $before == = ]]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if found=$(_mwrapctl_values "$command" "$before" "$cur"); then
		:
	elif [[ $cur == -* ]]; then
		found=$(compgen -W "$(_mwrapctl_options "$command")" -- "$cur")
	elif [[ $_mwrapctl_no_files != *" $command "* ]]; then
		found=$(compgen -f -- "$cur")
	fi
	[[ -n $found ]] || return
	mapfile -t COMPREPLY <<<"$found"
	COMPREPLY=("${COMPREPLY[@]/#/$front}")
}

complete -o filenames -F _mwrapctl mwrapctl
