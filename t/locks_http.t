#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# While it answers, the server's thread calls nothing that takes a lock of the C library's:
# a child forked meanwhile would wait for that lock for ever. The application's own calls
# get the C library's answers.

require_relative "lib/routes"
require_relative "lib/served"

class LocksHttpTest < Minitest::Test
  LOCKS = File.expand_path("../.build/t/preload/locks.so", __dir__)

  APP = <<~RUBY
    $stdout.sync = true
    while $stdin.gets
      # one that no Ruby knows by name, and one that all do
      p [SystemCallError.new(nil, 99_999).message, SystemCallError.new(nil, 13).message]
    end
  RUBY

  TARGETS = %w[/ /each/0 /each/0.tsv /each/0.json /at?location=x /at/%2Fno%3A1 /overruns /stats.json
               /history.json /source?location=x /mwrap.css /nothing /each/x].freeze

  def test_the_server_calls_nothing_that_forks_cant_wait_for
    app = served_ruby(APP, env: { "LD_PRELOAD" => "#{MwrapTest::TRACKER}:#{LOCKS}",
                                  "LOCKS_SEEN" => path("seen") })
    get("/") # a socket is there before all of the server is
    unknown, denied = JSON.parse(app.ask("begin"))
    assert_match(/\AUnknown error 99999\b/, unknown)
    assert_match(/\APermission denied\b/, denied)
    answers = TARGETS.flat_map { |t| [get(t), request("HEAD", t), request("POST", t)] }
    answers << post("/reset") << post("/mark") << post("/trim") << request("PUT", "/each/0")
    assert_equal [200, 400, 403, 404, 405].sort & answers.map(&:status), [200, 400, 404, 405]
    live = connect
    live.write("GET /live HTTP/1.1\r\nHost: x\r\n\r\n")
    assert_match(%r{\AHTTP/1.1 200 }, live.gets)
    live.close
    app.finish
    seen = File.readlines(path("seen")).to_h { |l| l.split.then { |name, *n| [name, n.map(&:to_i)] } }
    assert_operator seen.fetch("strerror")[0], :>=, 1, "the application's calls are seen"
    assert_equal({}, seen.select { |_, (_, others)| others.positive? })
  end

  OWN_CALLS = File.expand_path("../.build/t/preload/own_calls.so", __dir__)

  # Threads of ours load libraries, serve each page, take a dump and record; the app makes what they then free.
  ALL_ROUTES = <<~RUBY
    $stdout.sync = true
    KEPT = Array.new(2000) { |i| eval("def m\#{i} = 'x' * \#{i + 640}; m\#{i}", nil, "/a/path/of/file_\#{i % 300}.rb", i) }
    while $stdin.gets
      Array.new(5000) { |i| "y" * (i % 3000) }
      GC.start
      puts
    end
  RUBY

  def assert_own_memory(*options)
    own = { "LD_PRELOAD" => "#{MwrapTest::TRACKER}:#{OWN_CALLS}", "OWN_CALLS" => path("own") }
    app = served_ruby(ALL_ROUTES, options: ["dump_every:1", *options], env: own)
    get("/")
    answers = MwrapTest::ROUTES.reject { |r| r.pattern.match?(%r{/live|/trim|/\*\z}) }.flat_map do |r|
      app.ask("go on")
      one = r.pattern.sub(/\*\z/, "1")
      [one, "/all#{one}"].map { |at| (r.flags.include?("POST") ? post(at) : get(at)).status }
    end
    assert_operator answers.count(200), :>, 40
    app.finish
    calls = File.readlines(path("own")).to_h { |l| l.split.then { |name, *n| [name, n.map(&:to_i)] } }
    assert_operator calls.fetch("malloc")[1], :>, 10_000, "the app's calls are seen"
    assert_equal({}, calls.select { |_, (ours, _)| ours.positive? })
  end

  def test_threads_of_ours_never_call_the_apps_allocator = assert_own_memory
  def test_threads_of_ours_never_call_the_apps_allocator_sampled = assert_own_memory("counts:sampled")
  def test_threads_of_ours_never_call_the_apps_allocator_with_stacks = assert_own_memory("stacks:64k", "bt:3")
end
