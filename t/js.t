#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The page's modules, tested with Node's own runner: t/js/*.test.mjs. Installs
# nothing: bin/check did `npm ci` in web/.
cd "$(dirname "$0")/.." || exit 1

fail() {
	echo "not ok 1 - $1"
	echo "1..1"
	exit 1
}

command -v node >/dev/null || fail "node isn't there"
[ -d web/node_modules/d3-hierarchy ] || fail "web/node_modules isn't there: npm ci in web/, as bin/check does"
set -- t/js/*.test.mjs
[ $# -ge 5 ] || fail "the tests are missing"
# TAP is the usual form where there is no such option
! node --help | grep -q -- --test-reporter || set -- --test-reporter=tap "$@"
exec node --test "$@"
