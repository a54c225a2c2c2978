#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# /holders of the server, which isn't a Ruby thread, and mwrapctl who: in idle and in busy processes, for
# each form, each refusal, and beside other requests.
require_relative "lib/clusters"
require_relative "lib/waits"

class HoldersHttpTest < Minitest::Test
  include HttpdTest

  APP = <<~'RUBY'
    class Registry; SESSIONS = {}; end; $stdout.sync = true
    40.times { |i| Registry::SESSIONS[i] = "a" * 1000 }
    puts "ready"
    while (line = $stdin.gets)
      eval(line)
      puts "done"
    end
  RUBY
  CTL = File.join(MwrapTest::ROOT, "lib/exe/mwrapctl")

  def start(**rest)
    app = served_ruby(APP, **rest)
    assert_equal "ready", app.hear
    app
  end

  def here(line = 2) = escape("#{path("app.rb")}:#{line}")
  def here_at(line) = "?location=#{here(line)}"
  def holders(query = "?location=#{here}", at: path) = JSON.parse(body("/holders.json#{query}", at: at))
  def strings(answer) = answer.fetch("rows").find { |r| r["holder"] == "String" }

  # The main thread is woken for the answer, and goes on waiting.
  def test_an_idle_process
    Waits::EACH.each do |what, code|
      app = served_ruby("KEPT = Array.new(40) { 'a' * 1000 }\n#{Waits.script(code)}", options: ["stacks:off"])
      assert_equal "ready", app.hear
      at_rest(app) unless Waits.timed?(what)
      2.times do
        row = strings(holders(here_at(1)))
        assert_equal ["ruby", 40], row.values_at("by", "blocks"), what
        assert_operator row["path"].join(" "), :include?, "Array", what
      end
      app.tell("go on") unless Waits.timed?(what)
      assert_equal "true", app.hear, what
      app.kill
      assert_equal "", app.stderr, what
    end
  end

  # The signal that wakes it has no effect on handlers that the application sets before or after.
  def test_signals_of_the_application
    app = start
    at_rest(app)
    assert_equal 40, strings(holders)["blocks"]
    assert_equal "done", app.ask("$got = []; trap('URG') { $got << 'urg' }")
    at_rest(app)
    assert_equal 40, strings(holders)["blocks"]
    assert_equal %w[[] done], [app.ask("p $got"), app.hear]
    Process.kill(:URG, app.pid)
    eventually("the signal") { [app.ask("p $got"), app.hear] == ['["urg"]', "done"] }
    assert_equal "done", app.ask("trap('URG', 'DEFAULT'); trap('WINCH') { $got << 'winch' }")
    at_rest(app)
    assert_equal 40, strings(holders)["blocks"]
    assert_equal ['["urg"]', "done"], [app.ask("p $got"), app.hear]
  end

  def test_an_idle_puma
    app, workers = puma
    list([app.pid, *workers])
    [app.pid, *workers].each do |pid|
      eventually("process #{pid} to wait") { AtRest.now?(pid) }
      assert_operator JSON.parse(body("/#{pid}/holders.json"))["blocks"], :>, 1000
    end
    assert(workers.all? { |pid| alive?(pid) })
  end

  def test_every_form
    start
    answer = holders
    assert_equal "#{path("app.rb")}:2", answer["location"]
    assert_equal answer["blocks"], answer["rows"].sum { |r| r["blocks"] }
    assert_equal answer["bytes"], answer["rows"].sum { |r| r["bytes"] }
    assert_equal false, answer["started_late"]
    tsv = body("/holders.tsv?location=#{here}").lines(chomp: true).map { |l| l.split("\t", -1) }
    assert_equal %w[holder by blocks bytes paths path of], tsv[0]
    assert_includes tsv, ["String", "ruby", "40", "40040", "1", strings(answer)["path"].join(" → ").b.force_encoding("BINARY"), "blocks"].map { |s| s.b }
    csv = body("/holders.csv?location=#{here}")
    assert_equal tsv.size, csv.split("\r\n").size
    page = body("/holders?location=#{here}&look=1").dup.force_encoding("UTF-8")
    assert_includes page, "<td class=\"num\">40</td>"
    assert_includes page, "/holders.tsv?location=#{here}\""
    assert_includes body("/at/#{here}"), "/holders?location=#{here}\""
    summary = holders("")
    assert_nil summary["location"]
    assert_operator summary["blocks"], :>, 1000
    page = body("/holders?look=1")
    assert_includes page, "Holders of live blocks"
    refute_match(/<th scope="col"[^>]*>Paths?</, page, "a summary knows no paths: empty columns")
    assert_match(/blocks are live, .* held by nothing/, page)
    assert_equal page[/<thead>.*?<\/thead>/m].scan("<th ").size, page[/<tbody>.*?<\/tr>/m].scan("<td").size
  end

  # A link forks nothing: the page has a button first.
  def test_the_page_asks_first
    app = start
    at_rest(app)
    ["/holders", "/holders?location=#{here}"].each do |target|
      page = body(target).force_encoding("UTF-8")
      assert_match(%r{<form action="/holders">.*<button name="look" value="1">Find holders</button>}, page)
      refute_includes page, "<table"
      refute_match(/looked at [\d,]+ objects/, page)
    end
    assert_includes body("/holders?location=#{here}"), %(<input type="hidden" name="location" value="#{path("app.rb")}:2">)
    assert_match(/looked at [\d,]+ objects/, body("/holders?location=#{here}&look=1"))
    assert_equal 404, get("/holders?location=nowhere.rb:1").status
  end

  def test_the_lines_of_what_nothing_holds
    app = start
    app.tell("require 'fiddle'; 300.times { Fiddle.malloc(5000) }")
    assert_equal "done", app.hear
    lost = holders("").fetch("held_by_nothing")
    worst = lost.fetch(0)
    assert_includes 290..300, worst["blocks"], lost.inspect
    assert_equal worst["blocks"] * 5000, worst["bytes"]
    assert_equal lost, lost.sort_by { |l| -l["bytes"] }
    assert_operator lost.size, :<=, 20
    assert_nil holders["held_by_nothing"], "a location is asked for"
    page = body("/holders?look=1").dup.force_encoding("UTF-8")
    assert_match(%r{<a href="#lost">\d+ of them are held by nothing</a>}, page)
    assert_includes page[%r{<table class="rows" id="lost">.*?</table>}m], "<a href=\"/at/#{escape(worst["location"])}\""
    one = body("/holders?look=1&location=#{escape(worst["location"])}")
    assert_includes one, "native leak. <a href=\"/at/#{escape(worst["location"])}\""
    refute_includes one, "id=\"lost\""
  end

  def test_refusals
    start
    [["/holders?location=nowhere.rb:1", 404], ["/holders.xml", 404], ["/holders?format=xml", 400]].each do |target, status|
      assert_equal status, get(target).status, target
    end
    assert_equal 405, request("POST", "/holders").status
  end

  # The main thread holds Ruby's lock in C code: others are served meanwhile, and the answer comes after it.
  def test_other_requests_do_not_wait
    app = start
    app.tell("4.times { (3**200_000).to_s }")
    asked = Thread.new { holders }
    3.times { assert_equal 200, get("/stats.json").status }
    assert_equal "done", app.hear
    assert_equal 40, strings(asked.value)["blocks"]
  end

  def test_a_process_without_ruby
    app = served("sleep", "60", options: ["children:all"], at: path("plain"))
    r = get("/holders?look=1", at: path("plain"))
    assert_equal [501, "holders: no Ruby runs in this process\n"], [r.status, r.body]
  ensure
    app&.kill
  end

  def test_many_ask_at_once
    start
    found = Array.new(6) { Thread.new { get("/holders.json?location=#{here}").status } }.map(&:value)
    assert_includes found, 200
    assert_empty found - [200, 503]
    assert_equal 40, strings(holders)["blocks"]
  end

  # A number of its family's: asked through the server of another one.
  def test_a_relative
    app = start
    app.tell("$pid = fork { sleep }")
    assert_equal "done", app.hear
    child = eventually("the child's server") { JSON.parse(body("/family.json"))["processes"].map { |p| p["pid"] }.find { |p| p != app.pid } }
    assert_equal 40, strings(JSON.parse(body("/#{child}/holders.json?location=#{here}")))["blocks"]
    assert_equal 40, strings(JSON.parse(body("/#{app.pid}/holders.json?location=#{here}")))["blocks"]
  ensure
    Process.kill(:KILL, child) if child
  end

  def test_mwrapctl_who
    app = start
    run = run_command(MwrapTest::RUBY, CTL, "who", path, "app.rb:2")
    assert_success run
    text = run.stdout.force_encoding("UTF-8") # with a JIT the line's code may have more blocks
    assert_match(%r{\A#{Regexp.escape(path("app.rb"))}:2   \d+ blocks   \d+ held by }, text)
    assert_match(/ 40 held by String: \S+ .* → String$/, text)
    run = run_command(MwrapTest::RUBY, CTL, "who", path, "app.rb:2", "-n", "1")
    assert_match(/\Aand \d+ blocks held by \d+ others: --count shows more\n\z/, run.stdout.lines[1])
    run = run_command(MwrapTest::RUBY, CTL, "who", "--json", path, "#{path("app.rb")}:2")
    assert_equal 40, strings(JSON.parse(run.stdout))["blocks"]
    run = run_command(MwrapTest::RUBY, CTL, "who", path)
    assert_match(/\A *bytes +blocks +by +held by\n/, run.stdout)
    app.tell("require 'fiddle'; 300.times { Fiddle.malloc(5000) }")
    assert_equal "done", app.hear
    run = run_command(MwrapTest::RUBY, CTL, "who", path)
    assert_match(/\n\nHeld by nothing, by line \(bytes, blocks\):\n *1[45]\d{5}  (29\d|30\d)  \S/, run.stdout)
    run = run_command(MwrapTest::RUBY, CTL, "who", path, "nowhere.rb:1")
    assert_equal [1, "mwrapctl: #{path}: no such location: nothing was allocated there\n"], [run.status.exitstatus, run.stderr]
  end
end
