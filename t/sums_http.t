#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# How often an answer sums the counters, which stops all threads' counting for a moment: the fake table counts it.
# A page shows the totals of one moment, and takes the table once.
require_relative "lib/httpd"

class SumsHttpTest < Minitest::Test
  include HttpdTest

  # target => sums of the totals, tables
  ANSWERS = {
    "/" => [1, 1], "/each/0" => [1, 1], "/each/0.tsv" => [1, 1], "/each/0?group=gem" => [1, 1], "/stats" => [1, 0], "/stats.json" => [1, 0],
    "/overruns" => [1, 1], "/overruns.json" => [1, 1], "/heap_pages" => [1, 0], "/marks" => [1, 0], "/help" => [1, 0], "/metrics" => [1, 1], "/diff.json" => [1, 1]
  }.freeze
  TRIES = 5 # the history's second may fall into one

  def test_one_sum_for_an_answer
    f = serving
    counts = -> { f.ask("summed").split.map(&:to_i) }
    ANSWERS.each do |target, want|
      seen = Array.new(TRIES) do
        before = counts.call
        assert_equal 200, get(target).status, target
        counts.call.zip(before).map { |now, was| now - was }
      end
      assert_equal want, seen.min, target
    end
  end
end
