# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# mwrap_rack.rb - MwrapRack, the pages of mwrap as a Rack application. The class and
# its documentation are in src/ruby/rack.c, where requests come in, so that none of
# its own work is tracked; the rest is in mwrap/rack/, and loaded untracked.
require "mwrap"

Mwrap::Pages.load
