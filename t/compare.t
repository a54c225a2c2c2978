#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Two moments of a process compared: snapshots as files, named marks, and what lies between them.
require_relative "lib/served"
require "time"
require "uri"

class CompareTest < Minitest::Test
  APP = <<~'RUBY'
    $stdout.sync = true
    $kept = []
    puts "ready"
    while (line = $stdin.gets)
      case line.chomp
      when "grow" then 100.times { $kept << "g" * 5000 }
      when "shrink" then $kept.clear; GC.start
      end
      puts "done"
    end
  RUBY

  def app = served_ruby(APP).tap(&:hear)

  # The fields of a head line
  def fields(line) = line.delete_prefix("# ").chomp.split(" ").to_h { |f| f.split("=", 2).then { |k, v| [k, URI.decode_www_form_component(v)] } }

  def test_a_snapshot_is_the_table_below_its_head
    at_rest(a = app)
    head, rest = body("/snapshot.tsv").split("\n", 2)
    assert_equal body("/each/0.tsv"), rest
    f = fields(head)
    assert_equal %w[mwrap mark time unix uptime pid start gc rss live_bytes live resets], f.keys
    s = stats
    assert_equal [a.pid, s["resets"], s["live_bytes"], s["live"]].map(&:to_s), f.values_at("pid", "resets", "live_bytes", "live")
    assert_equal ["", JSON.parse(body("/history.json"))["start"]], f.values_at("mark", "start")
    assert_in_delta Time.now.to_f, f["unix"].to_f, HttpdTest::PATIENCE
    assert_equal f["unix"], format("%.3f", Time.iso8601(f["time"]).to_r)
    part = body("/snapshot.tsv?sort=live_bytes&limit=3&q=app.rb").lines
    assert_equal body("/each/0.tsv?sort=live_bytes&limit=3&q=app.rb"), part.drop(1).join
    assert_line get("/snapshot.tsv?sort=x"), 400, /\Asort: one of total/
    assert_equal 405, post("/snapshot.tsv").status
  end
end
