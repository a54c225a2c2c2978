# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2207,SC2034
#
# mwrap.bash - bash completes `mwrap COMMAND`, and options in `env MWRAP=...`.
#
#	. mwrap.bash       in ~/.bashrc, or copy it to
#	                   ~/.local/share/bash-completion/completions/mwrap
#
# Bash lets nobody complete an assignment in front of a command (MWRAP=... mwrap), so
# write env in front of it. env is known once this file is loaded.

# begin: made by `make doc`
_mwrap_keys='socket socket_dir socket_mode socket_group listen token_file read_only source history proof exact objects dump_path dump_fd dump_min dump_format dump_heap dump_every dump_keep file_mode report_dir report_at report_every report_keep report_max report_command trace_path trace_max trace_seconds trace_full trace_clock memory_max stacks counts sample bt malloc label children'
_mwrap_values() {
	local IFS=$' \t\n'
	case $1 in
	socket | token_file | dump_path | report_command | trace_path) compgen -f -- "$2" ;;
	socket_dir | report_dir) compgen -d -- "$2" ;;
	socket_group) compgen -g -- "$2" ;;
	read_only | source | history) compgen -W '0 1' -- "$2" ;;
	proof) compgen -W 'auto off' -- "$2" ;;
	exact) compgen -W 'asked growth' -- "$2" ;;
	objects) compgen -W 'auto on off' -- "$2" ;;
	dump_format) compgen -W 'text tsv csv json' -- "$2" ;;
	trace_full) compgen -W 'wait drop' -- "$2" ;;
	trace_clock) compgen -W 'coarse fine' -- "$2" ;;
	counts) compgen -W 'exact sampled' -- "$2" ;;
	malloc) compgen -W 'jemalloc mimalloc tcmalloc' -- "$2" ;;
	children) compgen -W 'all' -- "$2" ;;
	esac
}
# end

# The options in a word MWRAP=KEY:VALUE,KEY:VALUE that ends at the cursor.
_mwrap_assignment() {
	local word=$1 masked item key keys='' before breaks='' cur candidate
	# a character behind a backslash (two: the shell takes one) is no comma; the length stays
	masked=${word//\\\\?/xxx}
	item=${masked#MWRAP=}
	item=${item##*,}
	item=${word:${#word}-${#item}}
	before=${word:0:${#word}-${#item}}
	local -a found
	local IFS=$'\n'
	if [[ $item == *:* ]]; then
		key=${item%%:*}
		before+=$key:
		found=($(_mwrap_values "$key" "${item#*:}"))
	else
		for key in ${_mwrap_keys// /$'\n'}; do
			[[ ,${masked#MWRAP=} == *,"$key":* ]] || keys+=$key$'\n'
		done
		found=($(compgen -S : -W "$keys" -- "$item"))
	fi
	# readline replaces what follows the last of these characters
	[[ $COMP_WORDBREAKS != *=* ]] || breaks+='='
	[[ $COMP_WORDBREAKS != *:* ]] || breaks+=':'
	cur=$word
	[[ -z $breaks ]] || cur=${word##*["$breaks"]}
	COMPREPLY=()
	for candidate in "${found[@]}"; do
		[[ $item != *:* || ! -d $candidate ]] || candidate=${candidate%/}/
		candidate=$before$candidate
		COMPREPLY+=("${candidate:${#word}-${#cur}}")
	done
	compopt -o nospace 2>/dev/null
}

# As if the words from COMP_WORDS[$1] on were the whole line. Without bash-completion only a
# command, as bash does.
_mwrap_command() {
	# unset: bash-completion would take a caller's words for those of this line
	local cword words
	if declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$1"
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
	fi
}

_mwrap() {
	COMPREPLY=()
	if ((COMP_CWORD == 1)) && [[ ${COMP_WORDS[1]} == -* ]]; then
		COMPREPLY=($(compgen -W '--help --version --' -- "${COMP_WORDS[1]}"))
	elif ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} == -- ]]; then
		_mwrap_command 2
	else
		_mwrap_command 1
	fi
}

# Sets from, which must be local: where the command behind env's assignments begins.
_mwrap_behind_env() {
	local rest=${COMP_LINE#*env} word='' i
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ $rest == [[:space:]]* ]]; then
			word=''
			from=$i
		fi
		word+=${COMP_WORDS[i]}
		rest=${rest#*"${COMP_WORDS[i]}"}
		[[ $rest != [[:space:]]* || $word == *=* ]] || return
	done
	from=$COMP_CWORD
}

_mwrap_env() {
	local line=${COMP_LINE:0:COMP_POINT} from
	COMPREPLY=()
	if [[ ${line##*[[:space:]]} == MWRAP=* ]]; then
		_mwrap_assignment "${line##*[[:space:]]}"
	elif [[ -n $_mwrap_env_before && $line != *[[:space:]]MWRAP=* &&
		($2 == -* || $_mwrap_env_before != *_longopt) ]]; then
		"$_mwrap_env_before" "$@"
	else
		_mwrap_behind_env
		_mwrap_command "$from"
	fi
}

# The completion of env goes on, but for a word behind MWRAP=, whose colons bash-completion does not
# expect. Its _longopt knows only env's options.
_mwrap_wrap_env() {
	local spec before='.* -F ([^ ]+) .*'
	# bash-completion 2.12 and later loads it on demand
	complete -p env >/dev/null 2>&1 || ! declare -F _comp_load >/dev/null || _comp_load env >/dev/null 2>&1
	spec=$(complete -p env 2>/dev/null)
	if [[ -z $spec ]]; then
		_mwrap_env_before=
	elif [[ $spec =~ $before && ${BASH_REMATCH[1]} != _mwrap_env ]]; then
		_mwrap_env_before=${BASH_REMATCH[1]}
	else
		return
	fi
	complete -o bashdefault -o default -F _mwrap_env env
}

complete -o bashdefault -o default -F _mwrap mwrap
_mwrap_wrap_env
unset -f _mwrap_wrap_env
