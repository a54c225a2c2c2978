#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# prove.sh [PROVE-OPTION | TEST ...]: runs the tests that are named, or all, with prove, for
# bin/check and `make check`. Exits as prove does. t/README says what is printed.
set -eu
cd "$(dirname "$0")/../.."

# Four more at a time than there are cores, up to six: most tests wait for processes most of the
# time, and the longest for minutes. More would be noise for those that look for races.
jobs=$(($(nproc) + 4))
set -- -r -j"$((jobs < 6 ? jobs : 6))" --formatter CheckFormatter --failures --comments "$@"
for arg; do
	if [ -e "$arg" ]; then
		exec perl -It/lib -S prove "$@"
	fi
done
# The longest come first, so that none is left over at the end.
mapfile -t tests < <({ grep '^t/' t/lib/slowest && find t -name '*.t' | sort; } | awk '!seen[$0]++')
exec perl -It/lib -S prove "$@" "${tests[@]}"
