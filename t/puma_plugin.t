#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# plugin :mwrap in a real Puma's configuration: what it marks, and the labels of requests.
require_relative "lib/clusters"

class PumaPluginTest < Minitest::Test
  include Served
  include Clusters

  SERVER = <<~'RUBY'
    gems = ENV.fetch("RACK_GEMS")
    Gem.use_paths(gems, [*Gem.path, gems])
    { "rack" => "3.1.23", "puma" => "6.6.1" }.each { |name, version| gem name, "= #{version}" }
    require "puma/cli"
    $stdout.sync = true
    master = Process.pid
    Thread.new do
      $stdin.read
      Process.kill(:TERM, master)
    end
    Puma::CLI.new(["-C", "puma.rb", "config.ru"]).run
  RUBY
  KEEPING = <<~'RUBY'
    KEPT = []
    run lambda { |env|
      KEPT << "x" * 20_000
      [200, { "content-type" => "text/plain" }, ["#{Process.pid}"]]
    }
  RUBY

  def serve(settings, options: "socket:#{path}", tracked: true)
    { "server.rb" => SERVER, "config.ru" => KEEPING, "puma.rb" => %(bind "tcp://127.0.0.1:0"\nthreads 1, 1\n#{settings}\nplugin :mwrap\n) }
      .each { |name, text| File.write(path(name), text) }
    command = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", File.dirname(path), MwrapTest::RUBY, "-I#{MwrapTest::LIB}", "server.rb"]
    return launched(*command, options: options) if tracked
    Served::App.new(*command, env: { "RUBYOPT" => nil, "RUBYLIB" => nil, "LD_PRELOAD" => nil, "RACK_GEMS" => GEMS, "MWRAP" => nil }, err: path("err"), dump_path: nil).tap { |app| @fakes << app }
  end

  # The port that it says to listen at.
  def port(app)
    line = nil
    line = app.hear or flunk app.stderr until line.to_s =~ %r{Listening on http://127\.0\.0\.1:(\d+)}
    Integer($1)
  end

  def marks(prefix = "") = JSON.parse(body("#{prefix}/marks.json"))["marks"].map { |m| m["name"] }

  def test_a_process
    app = serve("")
    port(app)
    eventually("the mark") { marks == ["boot"] }
    assert_equal "", app.stderr
  end

  def cluster(settings = "")
    app = serve("workers 2\n#{settings}")
    workers = booted(app, 2)
    eventually("the master's mark") { marks == ["boot"] }
    workers.each { |pid| assert_equal ["worker boot"], marks("/#{pid}") }
    [app, workers]
  end

  def test_a_cluster_and_its_phased_restart
    app, = cluster
    Process.kill(:USR1, app.pid)
    later = booted(app, 2)
    assert_equal ["boot", "phased restart 1"], marks
    later.each { |pid| assert_equal ["worker boot"], marks("/#{pid}") }
    Process.kill(:USR1, app.pid)
    booted(app, 2)
    assert_equal ["boot", "phased restart 1", "phased restart 2"], marks
    assert_equal "", app.stderr
  end

  def test_a_preloaded_app
    app, = cluster("preload_app!")
    assert_equal "", app.stderr
  end

  # A worker that died is no restart.
  def test_a_worker_that_died
    app, workers = cluster
    Process.kill(:KILL, workers[0])
    assert_equal ["worker boot"], marks("/#{booted(app, 1)[0]}")
    assert_equal ["boot"], marks
  end

  def test_requests_are_labelled
    app = serve("", options: "socket:#{path},stacks:4k")
    at = port(app)
    20.times { |i| assert_equal 200, get("/orders/#{i}/show", at: at).status }
    eventually("the label") { body("/labels.tsv").lines.any? { |l| l.chomp.end_with?("\tGET /orders/*/show") } }
  end

  def test_without_the_tracker
    app = serve("workers 2", tracked: false)
    at = port(app)
    booted(app, 2)
    assert_equal 200, get("/orders", at: at).status
    assert_equal "", app.stderr
  end
end
