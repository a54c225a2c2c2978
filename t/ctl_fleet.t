#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# mwrapctl report of several machines: three clusters, of which one leaks, by their addresses and by files. What
# grows on all, and what grows on one only.

require_relative "lib/served"
require_relative "lib/runs_ctl"

class CtlFleetTest < Minitest::Test
  include Served
  include RunsCtl

  # A master and two workers; each keeps a little at line 5, and a leaking machine's workers much at line 6.
  APP = <<~'RUBY'
    $stdout.sync = true
    KEPT, leaks = [], ARGV[0] == "leaks"
    ends, keep = IO.pipe
    2.times do
      fork { keep.close; 50.times { KEPT << "x" * 2_000 }
        200.times { KEPT << "y" * 50_000 } if leaks
        puts "ready"; ends.read; exit! }
    end
    $stdin.read
  RUBY

  def machines
    %w[sound leaks sound].each_with_index.map do |how, i|
      app = served_ruby(APP, name: "app.rb", args: [how], at: path("m#{i}"))
      2.times { assert_equal "ready", app.hear }
      eventually("three processes at #{i}") { JSON.parse(body("/family.json", at: path("m#{i}")))["processes"].count { |p| p["state"] == "answers" } == 3 }
      path("m#{i}")
    end
  end

  def assert_tells(json, names)
    assert_equal names, json["sources"].map { |s| s["name"] }
    assert_match(%r{/app\.rb:6\z}, json["on_one"])
    assert_equal names[1], json["on_one_at"]
  end

  def test_three_machines_of_which_one_leaks
    at = machines
    rows = rows_of("report", *at, "--all")
    leak = rows.find { |r| r["location"].end_with?("/app.rb:6") }
    assert_equal [1, "#{at[1]}/all"], [leak["sources"], leak["most_at"].sub(%r{(/all)?\z}, "/all")]
    assert_operator leak["growth"], :>=, 2 * 200 * 50_000
    assert_equal leak["growth"], leak["most"]
    common = rows.find { |r| r["location"].end_with?("/app.rb:5") }
    assert_equal 3, common["sources"]
    assert_operator common["growth"], :>=, 3 * 2 * 50 * 2_000
    assert_operator common["most"], :<, common["growth"]
    assert_tells json_of("report", *at, "--all"), at
    files = at.map { |a| "#{a}.tsv" }
    at.zip(files) { |a, f| assert ctl("snap", "--all", a, f).status.success? }
    assert_tells json_of("report", *files), files
    text = ctl("report", "--text", *files).stdout
    assert_match(/^Grows on 3 of 3: /, text)
    assert_match(%r{^Grows on one only, #{Regexp.escape(files[1])}: .*/app\.rb:6 by }, text)
  end

  def test_refusals
    assert_refused ctl("report", "a", "b", "--html"), /--html: only for one SOURCE: name one/, 2
    assert_refused ctl("report", "a", "a"), /a: given twice/, 2
  end
end
