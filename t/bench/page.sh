#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# page.sh: installs what is missing, builds, and runs page.rb, which says what the
# options are. `make bench-page` calls it.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=t/lib/setup.sh
. t/lib/setup.sh
mw_setup build demo check
mw_build all
exec "$RUBY" t/bench/page.rb
