#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# soak.t - `make soak` for some seconds: its report has every figure, and each is as
# it must be; and the soak would have noticed what it looks for.

require_relative "lib/tap"
require_relative "soak/figures"
require_relative "soak/report"
require_relative "soak/rows"

class SoakTest < Minitest::Test
  SECONDS = 4

  def self.soak(test)
    @soak ||= test.run_command(File.join(ROOT, "t/soak/run.sh"), SECONDS.to_s, env: { "RUBY" => RUBY }, timeout: 900)
  end

  # The report's parts by their titles; each a hash of [value, "ok", "WRONG" or nil].
  def parts
    text = SoakTest.soak(self).stdout
    text.split("\n\n").grep(/\A\w+ app\n/).to_h do |part|
      title, *lines = part.lines(chomp: true)
      [title, lines.filter_map { |l| [$1, [$2, $3]] if l =~ /\A  (\S.*?) {2,}(\S.*?)(?:  (ok|WRONG))?\z/ }.to_h]
    end
  end

  def number(part, name) = Integer(part.fetch(name)[0], 10)

  def test_all_is_as_it_must_be
    run = SoakTest.soak(self)
    assert_success run
    assert_equal ["preloaded app", "phased app"], parts.keys
    parts.each do |title, part|
      refute_includes part.values.map(&:last), "WRONG", run.stdout
      assert_operator part.values.count { |_, good| good == "ok" }, :>=, 18, title
    end
    assert_equal "All is as it must be.", run.stdout.lines.last.chomp
  end

  def test_the_figures
    parts.each_value do |part|
      assert_operator number(part, "requests served"), :>=, 200
      # 25 a process and round, and at least one round of every kind of change
      assert_operator number(part, "pages of the tracker's"), :>=, 200
      assert_operator number(part, "processes visited"), :>=, 3
      assert_operator number(part, "workers restarted"), :>=, 2
      # three processes at the start, and three before and after what is counted at the end
      assert_equal 9, number(part, "counts checked")
      ["errors", "wrong answers", "counts that don't agree", "live processes never asked", "lines on stderr",
       "files left behind", "workers that crashed", "workers that Puma killed since they didn't end"].each { |name| assert_equal 0, number(part, name), name }
    end
    assert_operator number(parts["phased app"], "phased restarts"), :>=, 1
    assert_equal 1, number(parts["phased app"], "hot restarts of the master")
  end

  # --- what would be noticed ---------------------------------------------------

  ROW = Rows::COLUMNS.to_h { |name| [name, 0] }
                     .merge("total" => 10, "allocations" => 2, "frees" => 1, "growth" => 5, "live_bytes" => 5, "live" => 1,
                            "mean_life" => 0.5, "max_life" => 1, "location" => "/a.rb:1").freeze
  ASKED = { "sort" => "total", "order" => nil, "limit" => 2, "group" => "line", "q" => "a", "min" => 2 }.freeze

  def assert_wrong(like, &block)
    assert_match like, assert_raises(Rows::Wrong, &block).message
  end

  def test_wrong_rows_are_noticed
    other = ROW.merge("location" => "/a.rb:2", "total" => 9)
    assert Rows.check([ROW, other], ASKED)
    assert_wrong(/numbers/) { Rows.check([ROW.merge("live" => (1 << 64) - 1)], ASKED) }
    assert_wrong(/numbers/) { Rows.check([ROW.merge("frees" => 0)], ASKED) }
    assert_wrong(/two rows/) { Rows.check([ROW, ROW], ASKED) }
    assert_wrong(/at most/) { Rows.check([ROW, other], ASKED.merge("limit" => 1)) }
    assert_wrong(/less than min/) { Rows.check([ROW], ASKED.merge("min" => 10)) }
    assert_wrong(/without q/) { Rows.check([ROW], ASKED.merge("q" => "c")) }
    assert_wrong(/not sorted/) { Rows.check([other, ROW], ASKED) }
    assert_wrong(/not sorted/) { Rows.check([ROW, other], ASKED.merge("order" => "asc")) }
  end

  def test_broken_forms_are_noticed
    header, line = Rows::COLUMNS.join("\t"), ROW.values.join("\t")
    assert_equal [ROW], Rows.parse("tsv", "#{header}\n#{line}\n")
    assert_equal [ROW], Rows.parse("csv", "#{header}\r\n#{line}\r\n".tr("\t", ","))
    assert_equal [ROW], Rows.parse("json", JSON.generate([ROW]))
    assert_wrong(/breaks off/) { Rows.parse("tsv", "#{header}\n#{line}") }
    assert_wrong(/header/) { Rows.parse("tsv", "#{line}\n") }
    assert_wrong(/2 columns/) { Rows.parse("csv", "#{header.tr("\t", ",")}\n1,2\n") }
    assert_wrong(/live is "x"/) { Rows.parse("tsv", "#{header}\n#{ROW.merge("live" => "x").values.join("\t")}\n") }
    assert_wrong(/not JSON/) { Rows.parse("json", "[{") }
    assert_wrong(/UTF-8/) { Rows.parse("tsv", "#{header}\n\xff\n") }
  end

  # A cluster of one process, whose rows and stats are what a test says.
  Fake = Struct.new(:rows, :stats_now) do
    def stats(_pid) = stats_now
    def ask(_pid, _target, _method = "GET") = Http::Answer.new(200, {}, JSON.generate(rows))
  end

  def row(location, **numbers) = ROW.merge("location" => location, **numbers.transform_keys(&:to_s))

  # These rows, and others that nothing happens to; more: what the stats say beyond their sums.
  def fake(*rows, more: {})
    rows += Array.new(30) { |i| row("/quiet.rb:#{i}", total: 0, allocations: 0, frees: 0, growth: 0, live: 0, live_bytes: 0, mean_life: nil) }
    Fake.new(rows, Figures::SUMS.to_h { |name| [name, rows.sum { |r| r[name] } + more.fetch(name, 0)] })
  end

  def from_start(...) = Figures.new(fake(...), 1).tap(&:check_from_start).wrong

  def test_counts_that_do_not_agree_are_noticed
    assert_empty from_start(ROW)
    assert_match(/\A1: 1 locations off, never reset.*a\.rb:1/, from_start(ROW.merge("frees" => 2))[0])
    assert_match(/\A1: 1 locations off, never reset/, from_start(ROW.merge("live" => 2))[0])
    assert_equal ["1: the sum of frees is 1, not 2"], from_start(ROW, more: { "frees" => 1 })
  end

  # /gone.rb's blocks at the reset were freed since: it has no row then, but its frees count.
  # unknown: rows without a line, at the reset and now.
  def since_reset(kept, more, unknown = nil, unknown_now = nil)
    zero = { total: 0, allocations: 0, frees: 0, growth: 0, mean_life: nil }
    cluster = fake(row("/kept.rb:1", **zero, live: 3, live_bytes: 30), row("/gone.rb:1", **zero, live: 4, live_bytes: 8), *[unknown].compact)
    figures = Figures.new(cluster, 1).tap(&:begin_count)
    after = fake(kept, row("/new.rb:1", total: 5, allocations: 1, frees: 0, growth: 5, live: 1, live_bytes: 5), *[unknown_now].compact, more: more)
    cluster.rows = after.rows
    cluster.stats_now = after.stats_now
    figures.tap(&:end_count).wrong
  end

  def test_counts_since_a_reset_that_do_not_agree_are_noticed
    kept = row("/kept.rb:1", total: 10, allocations: 1, frees: 2, growth: -10, live: 2, live_bytes: 20)
    assert_empty since_reset(kept, "frees" => 4)
    assert_equal ["1: the sum of frees is 6, not 5"], since_reset(kept, "frees" => 3)
    assert_match(/\A1: 1 locations off, since a reset.*kept/, since_reset(kept.merge("live" => 3), "frees" => 4)[0])
    assert_match(/\A1: 1 locations off, since a reset.*kept/, since_reset(kept.merge("growth" => 0), "frees" => 4)[0])
    # a block whose line was not known at the reset
    here = row("(ruby, line not known)", total: 0, allocations: 0, frees: 0, growth: 0, mean_life: nil, live: 1, live_bytes: 7)
    moved = kept.merge("live" => 3, "live_bytes" => 27)
    assert_empty since_reset(moved, { "frees" => 4 }, here)
    assert_equal ["1: the sum of frees is 6, not 7"], since_reset(moved, { "frees" => 5 }, here)
    assert_match(/\A1: 1 locations off, since a reset.*kept/, since_reset(moved.merge("live" => 1), { "frees" => 4 }, here)[0])
    assert_match(/\A1: 1 locations off, since a reset.*line not known/, since_reset(moved, { "frees" => 4 }, here, here)[0])
  end

  # Only what said that it waits in IO#close is excused, and only of what Puma killed.
  def test_how_workers_ended
    cluster = Cluster.allocate
    cluster.define_singleton_method(:log) do
      "worker 11 waits in IO#close\nworker 1 ended: SIGKILL\nworker 11 ended: SIGKILL\nworker 12 waits in IO#close\n" \
        "worker 12 ended: SIGSEGV\nworker 13 ended: exit 0\n"
    end
    assert_equal({ 1 => "SIGKILL", 11 => Report::CLOSING, 12 => "SIGSEGV", 13 => "exit 0" }, cluster.endings)
    assert_match(/killed since they didn't end +1  WRONG\n/, ended("SIGKILL", "exit 0"))
    assert_match(/crashed +1  WRONG\n/, ended("SIGSEGV"))
    assert_match(/in Ruby's IO#close +2  #{Report::CLOSES ? "ok" : "WRONG"}\n/, ended(Report::CLOSING, Report::CLOSING))
  end

  # The report of a cluster whose workers ended so.
  def ended(*endings)
    report = Report.new("preloaded")
    report.complaints = report.missing = []
    report.endings = endings
    report.log = ""
    report.ended(run_command("true").status, [])
    text = report.to_s
    FileUtils.rm_f(text[/log is in (.*)/, 1])
    text
  end
end
