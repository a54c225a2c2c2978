#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The verdicts about made-up processes (t/lives/README): the same 500 in each run, and 200 by today's date. What is
# wrong stays within limits. `make lives N=20000` plays more, and shows which ones went wrong.

require_relative "lib/c_tests"

include CTests

PROGRAM = "#{BUILT}/lives/lives"

# what must be no more, and no less; a few lives say less than many
MOST = { "false_in_1000" => 45, "missed_percent" => 6.5, "wrong_kind_percent" => 3, "wrong_line_percent" => 2.5,
         "flat_over_rise_percent" => 8, "flaps_an_hour" => 4.5 }.freeze
LEAST = { "right_kind_percent" => 60, "right_line_percent" => 55, "known_percent" => 50 }.freeze

def play(*options)
  r = run(PROGRAM, "-t", *options, dir: ROOT, limit: 300)
  [r, r.out.scan(/^(\w+) ([\d.]+)$/).to_h.transform_values(&:to_f)]
end

today = Time.now.strftime("%Y%m%d")
[[500, "1"], [200, today]].each do |n, seed|
  r, figures = play("-n", n.to_s, "-s", seed)
  puts r.out.gsub(/^(?!#)/, "# ")
  ok(r.ending == "exit 0" && figures["lives"] == n && figures["sentences"] > 12 * n, "#{n} lives of seed #{seed}", r.ending + r.err)
  MOST.each { |name, most| ok(figures[name] <= most, "#{name} is at most #{most}", figures[name].to_s) }
  LEAST.each { |name, least| ok(figures[name] >= least, "#{name} is at least #{least}", figures[name].to_s) }
end

same = Array.new(2) { run(PROGRAM, "-s", today, "-l", "3", dir: ROOT).out }
ok(same[0].lines.size > 5 && same[0] == same[1], "a seed gives the same life again", same.join)

# verdicts that are planted are seen to be wrong
_, flat = play("-n", "60", "-f")
ok(flat["missed_percent"] > 20 && flat["flat_over_rise_percent"] > 20 && flat["right_kind_percent"].zero?,
   "one that always says that nothing grows", flat.to_s)
_, accuses = play("-n", "60", "-a")
ok(accuses["false_in_1000"] > 300 && accuses["right_line_percent"] < 60, "one that always accuses the largest line", accuses.to_s)

done_testing
