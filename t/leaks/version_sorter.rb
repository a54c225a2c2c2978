# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
# The parsed forms of both strings grow by realloc, and are never freed.
require_relative "run"
LeakRun.use "version_sorter"
require "version_sorter"

LONG = (1..60).to_a.join(".")
LONGER = "#{LONG}.61"
VersionSorter.compare(LONG, LONGER).negative? or abort "not compared"

LeakRun.calls do
  VersionSorter.compare(LONG, LONGER) # leaks here
end
