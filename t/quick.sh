#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# quick.sh FILE: runs a file of tests for `make check-quick`, and says in one line how many
# passed. If one fails, shows it with its reason, and exits 1. A skipped test is shown, too.
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
"$1" >"$out" 2>&1 </dev/null
status=$?
awk -v file="$1" -v status=$status '
	/^1\.\.[0-9]+$/ { planned = substr($0, 4) + 0 }
	/^ok / { passed++ }
	/^(not )?ok / { told = /^not ok/ || /# SKIP/ }
	!/^(not )?ok / && !/^#/ { told = !/^1\.\./ }
	told { print file ": " $0 }
	END {
		good = status == 0 && passed > 0 && passed == planned
		if (good) print file ": " passed " tests passed"
		else print file ": " passed + 0 " of " planned + 0 " tests passed, exit status " status
		exit !good
	}' "$out"
