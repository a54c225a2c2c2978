#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The verdicts about made-up processes (t/lives/README): the same 500 in each run, and 200 by today's date. Wrong
# ones stay within limits. `make lives N=20000` plays more, and shows which ones went wrong.

require_relative "lib/c_tests"

include CTests

PROGRAM = "#{BUILT}/lives/lives"

# Limits, as they were reached; a few lives by any day's seed say less than many of one.
# The aim is 1 false accusation in 1,000 sentences, the right kind in 99 % of lives, and the right line in 97 %.
MOST = { "false_in_1000" => [4.5, 23], "missed_percent" => [2.1, 4.5], "wrong_kind_percent" => [0.95, 2], "wrong_line_percent" => [0.3, 1.2],
         "flat_over_rise_percent" => [0.15, 0.6], "flaps_an_hour" => [1.6, 2.4],
         "growers_false_percent" => [3.5, 8], "beside_false_percent" => [15, 40], "nothing_above_growers" => [0, 0] }.freeze
LEAST = { "right_kind_percent" => [83, 62], "right_line_percent" => [81.5, 60], "known_percent" => [53, 40], "growers" => [5000, 1000] }.freeze

def play(*options)
  r = run(PROGRAM, "-t", *options, dir: ROOT, limit: 1800) # some 50 s of CPU: a busy machine takes ten times as long
  [r, r.out.scan(/^(\w+) ([\d.]+)$/).to_h.transform_values(&:to_f)]
end

today = Time.now.strftime("%Y%m%d")
[[500, "1"], [200, today]].each_with_index do |(n, seed), i|
  r, figures = play("-n", n.to_s, "-s", seed)
  puts r.out.gsub(/^(?!#)/, "# ")
  ok(r.ending == "exit 0" && figures["lives"] == n && figures["sentences"] > 12 * n, "#{n} lives of seed #{seed}", r.ending + r.err)
  MOST.each { |name, most| ok(figures[name] <= most[i], "#{name} is at most #{most[i]}", figures[name].to_s) }
  LEAST.each { |name, least| ok(figures[name] >= least[i], "#{name} is at least #{least[i]}", figures[name].to_s) }
end

# a page is open: a kind stays for three minutes, unless something happens
_, open = play("-n", "40", "-s", "1", "-q", "15")
ok(open["changes_an_hour"].positive? && open["soon_causeless_an_hour"] <= 2.5, "the kind seldom changes within three minutes", open.to_s)

same = Array.new(2) { run(PROGRAM, "-s", today, "-l", "3", dir: ROOT).out }
ok(same[0].lines.size > 5 && same[0] == same[1], "a seed gives the same life again", same.join)

# verdicts that are planted are seen to be wrong
_, flat = play("-n", "60", "-f")
ok(flat["missed_percent"] > 20 && flat["flat_over_rise_percent"] > 20 && flat["right_kind_percent"].zero?,
   "one that always says that nothing grows", flat.to_s)
_, accuses = play("-n", "60", "-a")
ok(accuses["false_in_1000"] > 300 && accuses["right_line_percent"] < 60, "one that always accuses the largest line", accuses.to_s)

done_testing
