#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Permission to start a recording, which fills a disk: doc/security.md. Over TCP with a token only, into a file that the
# tracker names, with a limit, and of the process itself; over the Unix socket anything; in a Rack app the app decides.
require_relative "lib/access"
require_relative "lib/racked"

class RecordTcpTest < Minitest::Test
  include AccessTest
  include Racked

  MIB = 1 << 20
  LOOP = <<~'RUBY'
    $stdout.sync = true
    def loop_on = ($stdin.gets until $stdin.eof?)
    child = fork { sleep } # it answers for itself, on a socket of its own
    puts child
    loop_on
    Process.kill(:KILL, child)
  RUBY

  # The process's and its child's PIDs; both answer.
  def family(*options)
    app = served_ruby(LOOP, options: ["listen:127.0.0.1:0", *options], env: { "TMPDIR" => @dir })
    pids = [app.pid, app.hear.to_i]
    eventually("both to answer") { JSON.parse(request("GET", "/family.json", bearer).body)["processes"].count { |p| p["state"] == "answers" } == 2 }
    [app, pids]
  end

  def recordings = Dir[path("**/*.mwtrace*")]
  def state(target) = JSON.parse(request("GET", target, bearer).body)

  # Refused with a reason, and no process records.
  def assert_refused(port, target, like, headers = {}, status = 403)
    answer = request("POST", target, headers, "", at: port)
    assert_equal status, answer.status, "#{target}: #{answer.body}"
    assert_match like, answer.body, target
    assert_empty recordings, target
  end

  RELAYED = /\Atrace\/start: it can fill a disk, so TCP can't start it in other processes: ask the Unix socket$/
  QUERIES = ["", "?max=1m", "?path=%s/own.mwtrace", "?path=%s/own.mwtrace&max=100k&seconds=1"].freeze

  def test_others_over_tcp
    [nil, "token_file:#{token_file}"].each do |token|
      app, pids = family(*token)
      port = port_of(app)
      headers = token ? bearer : {}
      # of the child, of the first behind the child, and of all
      ["/#{pids[1]}", "/all", "/#{pids[1]}/#{pids[0]}", "/all/all", "/#{pids[1]}/all"].product(QUERIES) do |base, query|
        assert_refused(port, "#{base}/trace/start#{format(query, @dir)}", RELAYED, headers)
      end
      # spelled otherwise it is no page
      ["/#{pids[1]}/trace%2Fstart", "/#{pids[1]}/trace/st%61rt", "/#{pids[1]}//trace/start"].each do |target|
        refute_includes 200..299, request("POST", target, headers, "", at: port).status, target
        assert_empty recordings, target
      end
      pids.each { |pid| assert_equal [false, nil, 0], state("/#{pid}/trace.json").values_at("recording", "path", "events") }
      assert_refused(port, "/#{pids[0]}/trace/start?path=#{@dir}/own.mwtrace", /./, headers) # its own number
      # a page that is no recording is passed on, also one that is named like a recording
      assert_equal 200, request("GET", "/#{pids[1]}/trace.json", headers, at: port).status
      assert_line request("GET", "/#{pids[1]}/at//srv/trace/start.rb:1", headers, at: port), 404, /no such location/
      app.finish
    end
  end

  def test_itself_over_tcp_without_a_token
    app, = family
    QUERIES.each { |query| assert_refused(port_of(app), "/trace/start#{format(query, @dir)}", /\Atrace\/start: it can fill a disk, so over TCP it needs token_file/) }
    assert_equal [false, nil, 0], state("/trace.json").values_at("recording", "path", "events")
  end

  def test_a_wrong_token
    app, = family("token_file:#{token_file}")
    assert_refused(port_of(app), "/trace/start", /TOKEN/, {}, 401)
    assert_refused(port_of(app), "/trace/start", /token/, bearer(OTHER), 401)
  end

  # The limit as the tracker is told.
  def test_the_limit_over_tcp
    { [] => 64 * MIB, ["trace_max=1000"] => 1000 }.each do |options, default|
      f = tcp("socket=#{path}", "gate=1", *options)
      { "" => default, "?max=100k" => 100 << 10, "?max=1g" => 1 << 30 }.each do |query, max|
        assert_equal 200, request("POST", "/trace/start#{query}", bearer, at: f.port).status
        assert_equal max, f.ask("record_max").to_i, query
      end
      # over the Unix socket there is none but the option's
      assert_equal 200, request("POST", "/trace/start", bearer).status
      assert_equal options.empty? ? 0 : 1000, f.ask("record_max").to_i
      f.finish
    end
  end

  # It ends once its file is so large: what was on its way is in it, too.
  def test_the_limit_holds
    File.write(path("app.rb"), "$stdout.sync = true; puts 1; i = 0; ('x' * (100 + (i += 1) * 7919 % 5000)) while $stdin.wait_readable(0).nil?")
    app = served(MwrapTest::RUBY, "--disable=gems", "-rio/wait", path("app.rb"), options: ["listen:127.0.0.1:0", "token_file:#{token_file}"], env: { "TMPDIR" => @dir })
    assert_equal "1", app.hear
    assert_equal 200, request("POST", "/trace/start?max=300k", bearer, at: port_of(app)).status
    eventually("its end") { !state("/trace.json")["recording"] }
    ended = state("/trace.json")
    assert_equal ["size", [ended["path"]]], [ended["reason"], recordings]
    assert_includes 300 << 10..700 << 10, File.size(ended["path"])
  end

  def test_all_over_the_unix_socket
    _, pids = family
    ["/trace", "/#{pids[0]}/trace", "/#{pids[1]}/trace", "/all/trace"].each_with_index do |base, i|
      assert_equal 200, post("#{base}/start?path=#{path("u#{i}.%25p")}&max=1m").status, base
      whose = i < 2 ? [pids[0]] : i == 2 ? [pids[1]] : pids
      assert_equal whose.map { |pid| path("u#{i}.#{pid}") }.sort, Dir[path("u#{i}.*")].sort
      assert_equal pids.map { |pid| whose.include?(pid) }, pids.map { |pid| state("/#{pid}/trace.json")["recording"] }, base
      assert_equal 200, post("#{base}/stop").status, base
      assert_equal [false, false], pids.map { |pid| state("/#{pid}/trace.json")["recording"] }, base
    end
  end

  # The app allows POST by `authorize` or a token; without either there is none. Where it is allowed, a file may be named.
  def test_in_a_rack_app
    { {} => [[{}, 403]],
      { authorize: "->(_) { false }" } => [[{}, 403]],
      { new: { token: TOKEN } } => [[{}, 401], [{ "authorization" => "Bearer #{OTHER}" }, 401], [{ "authorization" => "Bearer #{TOKEN}" }, 200]],
      { authorize: "->(_) { true }" } => [[{}, 200]] }.each do |how, asks|
      app = racked(mount: "/mwrap", **how, options: "socket:#{path("r")}", env: { "TMPDIR" => @dir })
      file = path("rack.mwtrace")
      asks.each do |headers, status|
        ["/mwrap/trace/start", "/mwrap/all/trace/start", "/mwrap/#{app.pid}/trace/start"].each do |target|
          answer = app.post("#{target}?path=#{file}", headers)
          assert_equal status, answer.status, "#{how} #{target}: #{answer.body}"
          assert_equal status == 200 ? [file] : [], recordings, "#{how} #{target}"
          next if status != 200

          assert_equal 200, app.post("/mwrap/trace/stop", headers).status
          File.delete(file)
        end
      end
      app.finish
    end
  end
end
