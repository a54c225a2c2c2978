# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

#--
# mwrap.gemspec and the launcher load it without the rest.
#++
module Mwrap
  # The version of mwrap, a String; the same as in src/api/version.h.
  VERSION = "4.0.0"
end
