#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Answers that wait or take long: meanwhile the server answers others. Each call stands at a gate of the fake
# server until the test opens it, so what was answered before it is counted, and no time is measured. One real
# recording, whose thread can't go on.
require_relative "lib/ptrace"
require_relative "lib/racked"
require_relative "lib/routes"

class WaitsHttpTest < Minitest::Test
  include Racked

  # A request, the status of its answer, and the event that it leaves in the history.
  WAITS = {
    "POST /trace/start" => [200, "trace start"], "POST /trace/stop" => [200, "trace stop"], "POST /trim" => [200, "trim"],
    "POST /map/trim" => [200, nil], "GET /map/trim" => [200, nil], "GET /map" => [200, nil], "GET /map.json" => [200, nil], "HEAD /map.json" => [200, nil],
    "GET /family/map" => [200, nil], "GET /at?location=%2Fsrv%2Fapp%2Fa.rb%3A1" => [200, nil],
    "GET /at/%2Fsrv%2Fapp%2Fa.rb%3A1" => [200, nil], "GET /at.json?location=%2Fsrv%2Fapp%2Fa.rb%3A1" => [200, nil]
  }.freeze
  OTHERS = 50

  # /holders waits for Ruby: t/holders_http.t.
  def test_all_routes_that_wait_are_here
    waiting = MwrapTest::ROUTES.select { |r| r.flags.include?("WAITS") && !r.pattern.start_with?("/holders") }
    assert_empty waiting.reject { |r| WAITS.keys.any? { |line| r.match?(*line.split(/[ ?]/).first(2)) } }
  end

  def events = JSON.parse(get("/history.json").body)["events"].map { |e| e.values.grep(String).first }

  def test_others_are_answered_meanwhile
    f = serving("gate=1")
    WAITS.each do |line, (status, event)|
      assert_equal "gate", f.ask("gate")
      asker = Thread.new { request(*line.split) }
      eventually("#{line} at the gate") { f.ask("waiting") == "1" }
      OTHERS.times { assert_equal 200, get("/stats.json").status, line }
      assert asker.alive?, "#{line}: its call hasn't returned"
      f.ask("open")
      assert_equal status, asker.value.status, "#{line}: #{asker.value.body}"
      assert_includes events, event, line if event
    ensure
      f.ask("open")
    end
  end

  # The history has what was done, whether or not its client waits for the answer.
  def test_a_client_that_leaves
    f = serving("gate=1")
    f.ask("gate")
    s = connect
    s.write("POST /trace/stop HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
    eventually("the gate") { f.ask("waiting") == "1" }
    s.close
    refute_includes events, "trace stop"
    f.ask("open")
    eventually("the event") { events.include?("trace stop") }
  end

  # A map that is made elsewhere is the site's afterwards.
  def test_maps_are_kept
    serving("gate=1")
    ids = Array.new(3) { JSON.parse(get("/map.json").body)["id"] }
    assert_equal 3, ids.uniq.size
    ids.each { |id| refute_match(/expired/, get("/map/#{id}/0/0.bin").body) }
  end

  # A POST that isn't allowed is refused before its call.
  def test_refusals
    f = serving("gate=1", "read_only=1")
    f.ask("gate")
    WAITS.each_key do |line|
      verb, target = line.split
      assert_equal 403, request(verb, target, { "Origin" => "http://elsewhere.example" }).status, line if verb == "POST"
      assert_equal 403, request(verb, target).status, line if verb == "POST"
    end
    %w[/trim /trace/start /trace/stop].each { |target| assert_equal 405, get(target).status }
    assert_equal "0", f.ask("waiting")
  ensure
    f&.ask("open")
  end

  def test_a_recording_that_does_not_end
    app = served_ruby("$stdout.sync = true; puts 'ready'; $stdin.gets", options: ["objects:off"]) # else a thread more may come
    assert_equal "ready", app.hear
    before = Dir.children("/proc/#{app.pid}/task")
    assert_equal 200, post("/trace/start?path=#{path("a.mwtrace")}").status
    recorder = eventually("one thread more") { thread_besides(before, app.pid) }
    assert_equal 0, Ptrace.seize(recorder)
    assert Ptrace.stop(recorder)
    done = Queue.new
    asker = Thread.new { post("/trace/stop").tap { done << "stop" } }
    eventually("its thread") { (Dir.children("/proc/#{app.pid}/task") - before).size == 2 }
    OTHERS.times { get("/stats.json").then { done << "other" } }
    assert_equal 503, asker.value.status
    assert_equal OTHERS, Array.new(OTHERS + 1) { done.pop }.index("stop")
  ensure
    Ptrace.detach(recorder) if recorder
  end
end
