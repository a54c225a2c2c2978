# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2207
#
# mwrapctl.bash - bash completes `mwrapctl COMMAND ...`.
#
#	. mwrapctl.bash    in ~/.bashrc, or copy it to
#	                   ~/.local/share/bash-completion/completions/mwrapctl

# begin: made by `make doc`
_mwrapctl_commands='flame check'
_mwrapctl_no_files=' '
_mwrapctl_options() {
	case $1 in
	flame) echo '--output -o --by --location --invert --format --pid --all --token-file --help' ;;
	check) echo '--warmup --rounds --native --suppressions --json --help' ;;
	esac
}
# Prints the words that may follow an option. Fails if the option takes no value.
_mwrapctl_values() {
	case "$1 $2" in
	'flame --output' | 'flame -o') compgen -f -- "$3" ;;
	'flame --by') compgen -W 'live total growth' -- "$3" ;;
	'flame --location') : ;;
	'flame --format') compgen -W 'html json collapsed speedscope pprof' -- "$3" ;;
	'flame --pid') : ;;
	'flame --token-file') compgen -f -- "$3" ;;
	'check --warmup') : ;;
	'check --rounds') : ;;
	'check --suppressions') compgen -f -- "$3" ;;
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
