#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# prove.sh [--again] [PROVE-OPTION | TEST ...]: runs the tests that are named, or all, with prove, for
# bin/check and `make check`. Exits as prove does. t/README says what is printed.
#
#   --again  if one to three files fail, each runs twice more, with nothing beside it. The
#            exit status is theirs then. Without named tests this is so
set -eu
cd "$(dirname "$0")/../.."

# Four more at a time than there are cores, up to six: most tests wait for processes most of the
# time, and the longest for minutes. More would be noise for those that look for races.
jobs=$(($(nproc) + 4))
again=
[ "${1-}" != --again ] || again=$1
[ -z "$again" ] || shift
options=(-r --formatter CheckFormatter --failures --comments)
named=
for arg; do
	[ ! -e "$arg" ] || named=1
done
if [ -z "$named" ]; then
	again=--again
	# The longest come first, so that none is left over at the end.
	mapfile -t tests < <({ grep '^t/' t/lib/slowest && find t -name '*.t' | sort; } | awk '!seen[$0]++')
	set -- "$@" "${tests[@]}"
fi

state=$(mktemp)
trap 'rm -f "$state"' EXIT
prove() { perl -It/lib -S prove "$@"; }

status=0
prove -j"$((jobs < 6 ? jobs : 6))" --statefile "$state" --state=save "${options[@]}" "$@" || status=$?
[ "$status" -ne 0 ] && [ -n "$again" ] || exit "$status"
mapfile -t failed < <(prove --statefile "$state" --state=failed --dry)
if [ ${#failed[@]} -eq 0 ] || [ ${#failed[@]} -gt 3 ]; then
	exit "$status"
fi

# A test that looks for a race may fail for what runs beside it. What failed stays in the output above.
for round in 1 2; do
	printf '\nFailed beside other tests, so run alone, %s of 2: %s\n' "$round" "${failed[*]}"
	prove -j1 "${options[@]}" "${failed[@]}" || exit
done
printf '\nPassed twice alone, but failed once beside other tests: %s\n' "${failed[*]}"
