#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# Answers are compressed for clients that take gzip: pages, the stream of events, and what other
# processes of the family answer. Assets: t/page_needs.t.

require_relative "lib/access"
require_relative "lib/watcher"

class GzipTest < Minitest::Test
  include AccessTest
  include Watching

  ZIP = { "Accept-Encoding" => "gzip, deflate, br, zstd" }.freeze
  PAGES = %w[/ /each/0 /each/0.tsv /each/0.csv /each/0.json /family /help /metrics].freeze

  def unzip(response, what = nil)
    assert_equal %w[gzip Accept-Encoding], response.headers.values_at("content-encoding", "vary"), what
    Zlib.gunzip(response.body)
  end

  # Numbers move between two requests.
  def outline(text) = text.gsub(/[\d.,]+/, "").split("\n").first(12)

  def test_pages
    leaking
    PAGES.each do |target|
      plain = get(target)
      small = get(target, ZIP)
      assert_equal [200, 200, nil], [plain.status, small.status, plain.headers["content-encoding"]], target
      assert_equal plain.headers["content-type"], small.headers["content-type"]
      text = unzip(small, target)
      assert_operator small.body.bytesize * 2, :<, text.bytesize, target
      assert_equal outline(plain.body.b), outline(text.b), target
    end
  end

  def test_who_gets_it
    leaking
    { "gzip" => true, "GZIP" => true, "br, gzip;q=0.5" => true, "gzip;q=0" => false, "br" => false, "*" => false, nil => false }.each do |accept, zipped|
      r = get("/each/0.tsv", { "Accept-Encoding" => accept })
      assert_equal zipped, r.headers.key?("content-encoding"), accept.inspect
    end
    short = get("/verdict", ZIP)
    assert_nil short.headers["content-encoding"], "a line isn't worth it"
    assert_nil get("/no/such/page", ZIP).headers["content-encoding"]
    assert_operator Integer(get("/each/0.tsv", ZIP).headers["content-length"]) * 3, :<, Integer(get("/each/0.tsv").headers["content-length"])
    head = request("HEAD", "/each/0.tsv", ZIP)
    assert_equal ["gzip", ""], [head.headers["content-encoding"], head.body]
  end

  # The same as without it, as it comes: nothing waits in the compressor for what comes later.
  def test_the_stream
    app = leaking
    app.ask("leak 7")
    zipped, plain = watch(**ZIP), watch
    assert_equal %w[gzip text/event-stream], zipped.headers.values_at("content-encoding", "content-type")
    assert_nil plain.headers["content-encoding"]
    2.times do
      one, other = tables_now(zipped, plain)
      assert_equal other.keys.sort, one.keys.sort
      assert_operator one.values.find(&location("/app.rb:5"))[5], :>=, 70_000
      app.ask("leak 3")
    end
    assert_operator zipped.bytes * 2, :<, plain.bytes
    zipped.close
    app.finish
    nil while plain.event
  end

  # A new token ends the streams that the old one opened.
  def test_the_streams_end
    f = tcp
    w = Watcher.new(connect(f.port), ZIP.merge(bearer))
    w.table
    rotate(OTHER)
    nil while w.event
    assert w.whole?
  end

  def test_a_client_that_goes_and_comes
    leaking
    40.times { watch(**ZIP).tap(&:event).close }
    assert eventually("a place") { watch(**ZIP).then { |w| w.status == 200 } }
  end

  def test_what_another_process_answers
    app = served_ruby("$stdout.sync = true\nKEEP = Array.new(300) { 'p' * 1000 }\nsleep 0.01 until File.socket?(#{path.dump})\n" \
                      "puts fork { sleep }\n$stdin.gets\n")
    pid = Integer(app.hear)
    other = pid.then { |n| eventually("it") { get("/#{n}/stats.json").status == 200 } && n }
    text = unzip(get("/#{other}/each/0.tsv", ZIP))
    assert_match(/^\d+\t.*app\.rb:2\t/, text)
    assert_match(/^\d+\t.*app\.rb:2(?:\t\d*){7}\t2\t/, unzip(get("/all/each/0.tsv", ZIP)), "their sum is made of what isn't compressed")
    assert_equal 2, JSON.parse(get("/family.json", ZIP).then { |r| r.headers["content-encoding"] ? Zlib.gunzip(r.body) : r.body })["processes"].size
    assert_match(/\A[^\n]+\n\z/, post("/all/mark", ZIP).body)
    w = Watcher.new(connect, { "Accept-Encoding" => "gzip" }, target: "/#{other}/live")
    assert_equal "gzip", w.headers["content-encoding"]
    assert_operator w.table.size, :>, 10
    w.close
  ensure
    Process.kill(:KILL, pid) if pid
  end
end
