#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The page of a replay as it is without scripts: its sentences, its table, and texts of a process in it.
# t/browser_replay.t has its curves.
require_relative "lib/tap"
require_relative "lib/replayed"
require_relative "../lib/mwrap/ctl"
require_relative "../lib/mwrap/ctl/replay_page"

class ReplayPageTest < Minitest::Test
  include Replayed

  HOSTILE = %(a</script><script>window.hostile = 1</script>{{json}}\u2028"'&\u202e\xff).freeze

  def words(**more) = Mwrap::Ctl::ReplayWords.new(outcome(**more))
  def page(**more) = Mwrap::Ctl::ReplayPage.html(outcome(**more))
  def scaled(setting, times) = setting.merge("peak_rss_bytes" => (setting["peak_rss_bytes"] * times).round)
  def data(page) = JSON.parse(page[%r{id="replay">(.*?)</script>}m, 1])

  def test_the_sentence_has_the_best_setting_and_the_others
    assert_equal "17.1 million events of 16 threads, recorded in 3 m 20 s. With MALLOC_ARENA_MAX=2 the same work would have peaked at 107 MB instead of 182 MB (\u221241 %). Its calls take 20 % more CPU. " \
                 "The peaks of the others: jemalloc narenas:2 120 MB, mimalloc 171 MB. tcmalloc could not be played: libtcmalloc.so: not there.", words.sentence
  end

  def test_without_a_better_setting
    recorded, glibc, = SETTINGS
    worse = setting("jemalloc", "jemalloc 5.3.0", 181, 150, 2.0)
    assert_includes words(settings: [recorded, glibc, worse]).sentence, "No other setting would have peaked at clearly less than the 182 MB that it has as it is. The peaks of the others: jemalloc 181 MB."
    assert_equal "1,000 events of one thread, recorded in 2.50 s. As it is, the peak is 185 MB.", words(settings: [recorded], events: 1000, threads: 1, seconds: 2.5).sentence
  end

  def test_few_are_named_and_small_times_are_in_milliseconds
    many = Array.new(8) { |i| setting("other#{i}", "other#{i}", 100 + i, 90, 0.0123) }
    assert_includes words(settings: [SETTINGS[0], *many]).sentence, "other5 105 MB, 2 more are below."
    assert_includes words(settings: [SETTINGS[0], *many[0, 7]]).sentence, "other5 105 MB, one more is below."
    assert_includes page(settings: [SETTINGS[0], *many]), ">12.3 ms<"
  end

  # Only what was recorded has the tracker's bytes in it: another setting is compared with its own kind.
  def test_what_others_are_compared_with
    assert_equal "glibc", words.base["setting"]
    assert_equal "as recorded", words(settings: [SETTINGS[0], *SETTINGS[2..]]).base["setting"]
    failed = { **SETTINGS[0].slice("setting", "malloc", "environment"), "error" => "no memory." }
    assert_nil words(settings: [failed, SETTINGS[4]]).base
    assert_includes words(settings: [failed, SETTINGS[4]]).sentence, "The peaks of the others: mimalloc 171 MB."
    assert_includes page(settings: [failed, SETTINGS[4]]), "could not be played (no memory), so nothing says"
  end

  def test_how_far_it_can_be_trusted
    assert_equal "Replayed as it was recorded, the peak is 2.8 % above the recorded 180 MB and the mean 1.4 % above the recorded 147 MB. Both errors are below 5 %: the figures can be trusted.", words.trust
    assert_includes words(peak: 185 * MB).trust, "the peak is as recorded (185 MB) and the mean 1.4 % above"
    far = words(mean: 170 * MB)
    refute far.trusted?
    assert_includes far.trust, "the mean 12 % below the recorded 170 MB. That is more than 5 %: differences of less than 12 % say nothing."
    assert_equal "The recording has no curve to compare the replay with.", words(peak: nil, mean: nil).trust
    near = [SETTINGS[0], SETTINGS[1], scaled(SETTINGS[1], 0.96).merge("setting" => "other", "malloc" => "other 1")]
    assert_includes words(settings: near, peak: 160 * MB).sentence, "own error is larger than that."
    refute_includes words(settings: near).sentence, "own error"
  end

  def test_the_table
    rows = page.scan(%r{<tr data-setting=.*?</tr>}m).map { |row| row.scan(%r{<t[hd][^>]*>(.*?)</t[hd]>}m).flatten.map { |cell| cell.gsub(/<[^>]*>/, "") } }
    assert_equal ["as recorded with the bytes that the tracker adds", "185 MB", "+1.6 %", "149 MB", "+2.1 %", "3.10 s", "+3.3 %", ""], rows[0]
    assert_equal ["glibc, as it is", "182 MB", "", "146 MB", "", "3.00 s", "", ""], rows[1]
    assert_equal ["glibc MALLOC_ARENA_MAX=2", "107 MB", "\u221241 %", "88.0 MB", "\u221240 %", "3.60 s", "+20 %", "MALLOC_ARENA_MAX=2"], rows[2]
    assert_equal "LD_PRELOAD=/usr/lib/libjemalloc.so.2 MALLOC_CONF=narenas:2", rows[3][-1]
    assert_equal ["tcmalloc", "libtcmalloc.so: not there", ""], rows[5]
    assert_equal 6, rows.size
  end

  def test_what_lived_at_the_peak
    html = page
    assert_includes html, "<p>Live blocks were most 3 m 4 s after the beginning, call by call: 72.0 MB in 9,000 blocks.</p>"
    rows = html.scan(%r{<tr><td.*?</tr>}).map { |row| row.scan(%r{<td[^>]*>(.*?)</td>}).flatten }
    assert_equal [40, ["2.72 MB", "3.8 %", "180", "/srv/app/row.rb:1"]], [rows.size, rows[0]]
    assert_includes html, "<caption>40 of 50, by live bytes</caption>"
    refute_includes page(live_peak: nil), "Live blocks were most"
    refute_includes page(live_peak: LIVE_PEAK.merge("locations" => [[HOSTILE, 5, 1]])), "<script>window"
  end

  def test_a_variable_is_written_for_a_shell
    assert_equal "A=x\\ y\\;z", Mwrap::Ctl::ReplayWords.environment({ "environment" => { "A" => "x y;z" } })
  end

  # Neither ends a script nor fills a slot, and JSON of bytes that are no text is made.
  def test_texts_of_a_process_are_texts
    html = page(file: "/tmp/#{HOSTILE}", command: HOSTILE, settings: [SETTINGS[0], *SETTINGS[1..].map { |s| s.merge("setting" => HOSTILE, "environment" => { "A" => HOSTILE }) }, { "setting" => HOSTILE, "error" => HOSTILE }])
    assert html.valid_encoding?
    assert_equal 2, html.scan("<script").size
    assert_equal 2, html.scan("</script").size
    refute_match(/[\u2028\u202e]/, html)
    assert_equal 4, data(html)["settings"].count { |s| s["name"].include?("</script>") }
  end

  # Curves with what is no number lose that point, not the page.
  def test_points_that_are_none
    broken = SETTINGS[0].merge("curve" => [[0, 1], [1, nil], [2], nil, [Float::NAN, 1], [3, 5.5], [2.00049, 9]])
    assert_equal [[0.0, 1], [2.0, 9], [3.0, 5]], data(page(settings: [broken]))["settings"][0]["curve"]
    assert_empty data(page(recorded: {}))["recorded"]["curve"]
  end
end
