#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.sh SECONDS: installs what is missing, builds, and runs run.rb. `make soak`
# calls it, and t/soak.t.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=t/lib/setup.sh
. t/lib/setup.sh
mw_setup build demo
mw_build all
exec "$RUBY" t/soak/run.rb "$1"
