#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# /family as the cluster's first page: each process's curve, and the worker that stands out.

require_relative "lib/served"

class FamiliesCompareTest < Minitest::Test
  # Four workers; the third has so many megabytes more.
  APP = <<~RUBY
    $stdout.sync = true
    workers = Array.new(4) do |n|
      fork do
        own = "w" * (n == 2 ? ARGV[0].to_i << 20 : 1000)
        puts "\#{n} \#{Process.pid}"
        sleep
        own.size
      end
    end
    trap(:TERM) { exit! 0 }
    $stdin.gets
    workers.each { |w| Process.kill(:KILL, w) rescue nil }
  RUBY

  def cluster(megabytes)
    app = served_ruby(APP, args: [megabytes.to_s])
    [app, Array.new(4) { app.hear.split.map(&:to_i) }.sort.map(&:last)]
  end

  def list
    rows = nil
    eventually("five processes that answer, with a history") do
      rows = JSON.parse(get("/family.json").body)["processes"]
      rows.count { |p| p["state"] == "answers" && p["curve"]["t"].any? } == 5
    end
    rows.to_h { |p| [p["pid"], p] }
  end

  def test_one_worker_stands_out
    _, workers = cluster(60)
    rows = nil
    # the pages of its strings are touched one after the other; the curve's last point may be older
    eventually("it to stand out, with its last point") do
      curve = (rows = list)[workers[2]].fetch("curve")
      rows[workers[2]]["outlier"] == "RSS" && curve["rss"].last > curve["live"].last
    end
    assert_equal [workers[2]], rows.values.reject { |p| p["outlier"].empty? }.map { |p| p["pid"] }
    rows.each_value do |p|
      t, rss, live = p["curve"].values_at("t", "rss", "live")
      assert_equal [t.size] * 2, [rss.size, live.size]
      assert_operator t.size, :<=, 48
      assert_equal t.uniq.sort, t
      assert_operator rss.last, :>, live.last, "of pid #{p["pid"]}"
      assert_in_delta p["live_bytes"], live.last, 1 << 20
    end
    # the same in every form
    tsv = body("/family.tsv").lines.map { |l| l.chomp.split("\t", -1) }
    assert_equal rows.values[0].keys - ["curve"], tsv[0]
    assert_equal rows.values.map { |p| p["outlier"] }, tsv.drop(1).map { |l| l[tsv[0].index("outlier")] }
    page = body("/family").dup.force_encoding("UTF-8")
    assert_equal 1, page.scan('<tr class="out">').size
    assert_match(%r{<tr class="out"><td class="num"><a href="/#{workers[2]}/">#{workers[2]}</a>}, page)
    assert_includes page, ' data-page="family" data-mount=""'
    assert_includes page, 'href="/family" aria-current="page"'
    assert_includes body("/all/"), ' data-page="all" data-mount=""'
    refute_includes body("/all/each/0"), "data-page"
    # it is the same for each that is asked, of itself, too
    eventually("a worker to say the same") do
      other = JSON.parse(get("/family.json", at: "#{path}.#{workers[0]}").body)["processes"].to_h { |p| [p["pid"], p] }
      other.size == 5 && other[workers[2]]["outlier"] == "RSS" && other.values.all? { |p| p["curve"]["t"].any? }
    end
  end

  def test_workers_that_are_alike
    cluster(0)
    assert_equal [""], list.values.map { |p| p["outlier"] }.uniq
    refute_includes body("/family"), '<tr class="out">'
    refute_includes body("/family"), "Stands out"
  end

  # A browser gets a page, a program a line, also where no process is asked.
  def test_what_is_not_there
    app, = cluster(0)
    list
    html = { "Accept" => "text/html" }
    ["/4194303/", "/all/live"].each do |target|
      assert_line get(target), 404
      r = get(target, html)
      assert_equal [404, "text/html; charset=utf-8"], [r.status, r.headers["content-type"]]
      assert_includes r.body, 'href="/family"'
    end
    assert_includes get("/#{app.pid}/nothing", html).body, %(href="/#{app.pid}/">)
  end
end
