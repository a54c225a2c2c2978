#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# transcripts.t - doc/tools.md shows mwrapctl's own output: titles, facts and the first row of each
# table. After a change: ruby t/transcripts.rb --write

require_relative "lib/tap"
require_relative "transcripts"

class TranscriptsTest < Minitest::Test
  # Numbers and curves differ from run to run. So do the sentence about a process so young, and the order of top's
  # rows: they grew before its history began, or after. From Ruby 3.2 on tables have columns of Ruby's objects.
  def stable(lines)
    lines = lines.map { |l| l.gsub(/[▁-█]+/, "~").gsub(/[+-]?\d[\d.,:TZ-]*(?: [KMGT]?B\b)?/, "N").gsub(/ +/, " ").gsub(/ (?:OBJECTS|SLOTS)(?= )/, "").strip }
    titles = lines.each_index.select { |i| lines[i].match?(/\A(?:[A-ZN\/]+[↓*]?\d?(?: |\z)){3,}\z/) }
    [lines[0], *lines.grep(/\A(?:from|to|pid|Process|RSS|live|N s:|N snapshots)\b/), *titles.flat_map { |i| [lines[i], *(lines[i + 1][/\S+(?: shop\.rb)?\z/] unless lines[0].include?(" top "))] }]
  end

  def test_the_page_shows_what_is_printed
    page = Transcripts.of_page
    assert_equal %w[ps top diff score report], page.map { |lines| lines[0][/\A\$ mwrapctl (\w+)/, 1] }
    now = Transcripts.run
    page.zip(now) do |want, got|
      assert_operator stable(want).size, :>=, 3, want.inspect
      assert_equal stable(want), stable(got), got.join("\n")
    end
  end
end
