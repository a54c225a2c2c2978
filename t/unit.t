#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs the unit tests, which are programs of their own (t/unit/*.c), and makes
# one TAP stream of theirs. Each program adds a test of its own: that it was
# built, ran to its end and did as many tests as it said.
cd "$(dirname "$0")/.." || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
total=0
failed=0

# The tests of one program, renumbered from $1 on; $tmp/n gets their number, and how many failed.
# $2 is its name, $3 its exit status, which cmocka makes the number of failures.
merge() {
	awk -v from="$1" -v name="$2" -v status="$3" -v out="$tmp/n" '
	/^1\.\.[0-9]+$/ { plan = substr($0, 4) + 0; next }
	/^(not )?ok( |$)/ {
		if (/# *SKIP/) sub(/^not /, "") # older versions of cmocka say both
		no = /^not /
		if (no && !/# *TODO/) failed++
		done++
		sub(/^(not )?ok *[0-9]*( -)? */, "")
		print (no ? "not ok " : "ok ") (from + done) " - " name ": " $0
		next
	}
	/^#/ { print; next }
	{ print "# " $0 }
	END {
		whole = done > 0 && done == plan && (status == 0 || (failed && status < 124))
		print (whole ? "ok " : "not ok ") (from + done + 1) " - " name " ran to its end"
		if (!whole) print "# planned " plan + 0 ", done " done + 0 ", exit status " status
		print done + 1, failed + !whole > out
	}'
}

for source in t/unit/*.c; do
	[ -e "$source" ] || continue
	name=$(basename "$source" .c)
	timeout 600 ".build/t/unit/$name" >"$tmp/out" </dev/null
	status=$?
	merge $total "$name" $status <"$tmp/out"
	read -r tests bad <"$tmp/n"
	total=$((total + tests))
	failed=$((failed + bad))
done

if [ $total -eq 0 ]; then
	total=1
	failed=1
	echo "not ok 1 - there are unit tests"
fi
echo "1..$total"
[ "$failed" -eq 0 ]
