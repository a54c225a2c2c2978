#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.sh [SCRIPT]: installs what is missing, builds, and runs run.rb or that script of this
# folder, which says what the options are. `make bench` and `make bench-sides` call it.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=t/lib/setup.sh
. t/lib/setup.sh
mw_setup build demo bench
mw_build all bench-programs

# The older mwraps, measured beside this one; on a Ruby that they can't be built
# for, the table says so. In a folder of their own: nothing else shall find them.
older=$PWD/.build/older-mwraps-${GEM_HOME##*gems-}
export GEM_PATH=$GEM_HOME:$older
for version in 2.3.0 3.0.0.pre1; do
	if [ ! -e "$older/gems/mwrap-$version" ]; then
		mw_say "installing mwrap $version"
		mw_gem install --no-document --no-user-install --install-dir "$older" "mwrap:$version" >"$mw_log" 2>&1 </dev/null ||
			mw_say "mwrap $version can't be built here"
	fi
done
exec "$RUBY" "t/bench/${1:-run.rb}"
