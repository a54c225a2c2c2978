# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
# Both strings are copied, by plain malloc, before an option is found wrong. Here
# the option is the result of a call that does free them.
require_relative "run"
LeakRun.use "jaro_winkler"
require "jaro_winkler"

WORD = "a" * 64
JaroWinkler.distance(WORD, WORD, weight: 1.0) rescue WRONG = $!
WRONG.is_a?(JaroWinkler::InvalidWeightError) or abort "no error"

LeakRun.calls do
  JaroWinkler.distance(WORD, WORD, weight: JaroWinkler.distance(WORD, WORD)) rescue nil # leaks here
end
