# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# mwrap_rack.rb - MwrapRack, the pages of mwrap as a Rack application. The class and its
# documentation are in src/extension/rack.c: requests come in there, so none of their work is tracked.
# The rest is in mwrap/rack/, and loaded untracked.
require "mwrap"

Mwrap::Pages.load
