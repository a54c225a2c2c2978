#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Made-up processes with samples of Ruby's objects (t/lives/objects.h): the line that a verdict names made most of what
# is kept, or half as much at least. The samples change nothing else for the worse. t/lives.t: without them.

require_relative "lib/c_tests"

include CTests

PROGRAM = "#{BUILT}/lives/lives"
N = 200

def play(*options)
  r = run(PROGRAM, "-t", "-n", N.to_s, *options, dir: ROOT, limit: 300)
  [r, r.out.scan(/^(\w+) ([\d.]+)$/).to_h.transform_values(&:to_f)]
end

# Limits: as they were reached for the first seed, and with some room for any day's.
MOST = { "made_wrong_percent" => [0.1, 3], "made_beyond_percent" => [5, 10], "made_off_percent" => [0.5, 3] }.freeze

# How much more than without samples. A life has some 18 of all sentences, 5 in 1,000: on any day one may be false in one
# of the two only. Of 25 days one had 2.2 more, one 0.5, and the others none.
AS_WITHOUT = { "false_in_1000" => [0.5, 5], "missed_percent" => [0.5, 0.5], "wrong_kind_percent" => [0.5, 0.5] }.freeze

today = Time.now.strftime("%Y%m%d")
["1", today].each_with_index do |seed, i|
  r, figures = play("-o", "-s", seed)
  puts r.out.gsub(/^(?!#)/, "# ")
  ok(r.ending == "exit 0" && figures["made_sentences"] > 40, "#{N} lives of seed #{seed}, with samples", r.ending + r.err)
  MOST.each { |name, most| ok(figures[name] <= most[i], "#{name} is at most #{most[i]}", figures[name].to_s) }
  ok(figures["made_told_percent"] >= [85, 60][i], "where Ruby's heap grows a line is named", figures["made_told_percent"].to_s)
  _, without = play("-s", seed)
  AS_WITHOUT.each { |name, room| ok(figures[name] <= without[name] + room[i], "#{name} is as without samples", "#{figures[name]}, #{without[name]}") }
end

done_testing
