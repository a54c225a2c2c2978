#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.sh: what `make check-rubies` does: bin/check on every Ruby, each in a bare
# root of its own, so that it also shows that bin/check installs all it needs.
# Prints one line for each; exits with 1 unless all passed.
#
#   BARE_ROOT=PROGRAM   run as PROGRAM SUITE SHELL-LINE: runs the line in a clone
#                       of this checkout's HEAD within a bare root of the suite
#   SUITES='trixie'     only these (default: bookworm trixie ruby3.4 yjit). musl: some tests (t/musl/tests)
#                       with a Ruby for musl, which is built in bookworm's root
#   CHECK='t/unit.t'    arguments of bin/check: options of prove, tests
#
# All that was printed is in .build/rubies/SUITE.log.
set -eu
cd "$(dirname "$0")/../.."
BARE_ROOT=${BARE_ROOT:-}
SUITES=${SUITES:-bookworm trixie ruby3.4 yjit}
CHECK=${CHECK:-}
logs=.build/rubies
pid=
failed=0

if [ ! -x "$BARE_ROOT" ]; then
	echo "mwrap: BARE_ROOT=$BARE_ROOT is no program; t/rubies/run.sh says what it must do" >&2
	exit 2
fi
if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
	echo "mwrap: what isn't committed is not tested"
fi

# The suite's environment, as a command's prefix; bin/check drops RUBYOPT.
environment() {
	case $1 in
	yjit) echo "env RUBY_YJIT_ENABLE=1" ;;
	esac
}

# line SUITE: what a new user does, and what is asked afterwards
line() {
	local with
	if [ "$1" = musl ]; then
		echo "t/musl/root.sh $CHECK; status=\$?; /opt/musl/bin/ruby -e 'puts %(ruby: #{RUBY_DESCRIPTION})'; exit \$status"
		return
	fi
	with=$(environment "$1")
	echo "$with bin/check $CHECK; status=\$?; $with .build/bin/ruby -e 'puts %(ruby: #{RUBY_DESCRIPTION})'; exit \$status"
}

# run SUITE: with a session of its own and the signals' default actions, for what
# a shell starts in the background ignores SIGINT, which tests of signals notice
run() {
	setsid env --default-signal=INT,QUIT "$BARE_ROOT" "${1/#musl/bookworm}" "$(line "$1")" >"$logs/$1.log" 2>&1 </dev/null &
	pid=$!
	wait "$pid"
}

# passed SUITE STATUS: is it what it should be, according to the log?
passed() {
	[ "$2" -eq 0 ] && grep -q '^Result: PASS' "$logs/$1.log" || return 1
	case $1 in
	yjit) grep -q '^ruby: .*+YJIT' "$logs/$1.log" ;;
	musl) grep -q '^ruby: .*-musl' "$logs/$1.log" ;;
	esac
}

# log_says SUITE SED-PROGRAM: the last of what it prints
log_says() {
	sed -n "$2" "$logs/$1.log" | tail -n 1
}

# setsid doesn't fork here: its process leads the group
trap '[ -z "$pid" ] || kill -TERM -- "-$pid"; exit 1' INT TERM HUP

mkdir -p "$logs"
for suite in $SUITES; do
	status=0
	run "$suite" || status=$?
	result=PASS
	passed "$suite" "$status" || result="FAIL (status $status), see $logs/$suite.log"
	[ "$result" = PASS ] || failed=1
	ruby=$(log_says "$suite" 's/^ruby: ruby \([0-9.]*\).*\(+YJIT\).*/\1 \2/p; t; s/^ruby: ruby \([^ ]*\).*/\1/p')
	tests=$(log_says "$suite" 's/^Files=.*Tests=\([0-9]*\).*/\1/p')
	printf '%-10s %-12s %6s tests  %s\n' "$suite" "${ruby:-no Ruby}" "${tests:-0}" "$result"
done
exit "$failed"
