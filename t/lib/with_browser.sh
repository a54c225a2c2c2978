#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# with_browser.sh FILE: installs what is missing, builds, and runs a Ruby script that drives
# a browser. `make screenshots` and `make bench-page` call it.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=t/lib/setup.sh
. t/lib/setup.sh
mw_setup build demo check
mw_build all
exec "$RUBY" "$@"
