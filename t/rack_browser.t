#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# MwrapRack in a Sinatra application and in one of Rails, under a Puma cluster of two
# workers and without any server of the tracker's, looked at with a real browser. And the
# page where the server gives no connection away, so that it has to ask again and again.
require_relative "lib/browser"
require_relative "lib/racked"

module ClusterTests
  include MwrapTest
  include BrowserTest
  include BrowserTest::Quiet

  attr_reader :origin

  # Starts the application of this class. keeps: without "rack.hijack?", if false
  def start(keeps: true, options: nil)
    config = File.join(ROOT, "t/rack_apps/#{self.class::APP}")
    File.write(path("config.ru"), <<~RUBY)
      #{"use(Class.new { def initialize(app) = @app = app; def call(env) = @app.call(env.reject { |k,| k == 'rack.hijack?' }) })" unless keeps}
      eval(File.read(#{config.dump}), binding, #{config.dump})
    RUBY
    env = { "RUBYOPT" => nil, "RUBYLIB" => LIB, "MWRAP" => options, "LD_PRELOAD" => nil, "RACK_GEMS" => Racked::GEMS }
    app = Served::App.new(LAUNCHER, RUBY, File.join(ROOT, "t/rack_apps/cluster.rb"), path("config.ru"), env: env, err: path("err"), dump_path: nil)
    @fakes << app
    lines = []
    until lines.grep(/Worker \d+ .*booted/).size == 2
      lines << (app.hear or flunk "#{lines.join("\n")}\n#{app.stderr}")
    end
    @origin = lines.join("\n")[%r{Listening on (http://127\.0\.0\.1:\d+)}, 1] or flunk lines.join("\n")
    app
  end

  def port = URI(origin).port
  def mount = self.class::MOUNT

  # Both workers leak; their pids
  def leak
    pids = Hash.new(0)
    more = -> { pids[get("/leak", at: port).body[/\A\d+/]] += 1 }
    70.times { more.call }
    # each more than what Rails itself has; which one gets a request is chance
    eventually("both workers") { pids.size == 2 && pids.values.min >= 30 || (more.call; false) }
    pids.keys.map(&:to_i)
  end

  def look
    page = "#{mount}/#sort=growth&columns=growth+live_bytes+live+total+allocations+frees"
    # as if somebody had typed these when the browser asked: it knows them from then on
    open_page("#{origin.sub("//", "//#{self.class::LOGIN}")}#{mount}/overruns")
    @requests.clear
    @page.go_to("#{origin}#{page}")
    live
  end

  def live
    wait_for_live
    wait_until("document.querySelectorAll('#{BrowserTest::ROWS}').length > 0")
  end

  def only_the_leak
    type("leak.rb:8")
    wait_until("document.querySelectorAll('#{BrowserTest::ROWS}').length === 1")
  end

  def leak_line = "#{ROOT}/t/rack_apps/leak.rb:8"
  def first_is(location) = wait_until("document.querySelector('#{BrowserTest::ROWS} td.location a')?.textContent === arguments[0]", location)
  def shown_pid = text(".process")[/pid (\d+)/, 1].to_i

  # Presses a control, and yes to what it asks; what the page says then.
  def press(name)
    before = js("document.querySelector('.said').textContent = ''")
    assert_equal "", before
    click("[data-action=#{name}]")
    click(".ask .yes") if wait_until("!document.querySelector('.ask').hidden || document.querySelector('.said').textContent").then { js("!document.querySelector('.ask').hidden") }
    wait_until("document.querySelector('.said').textContent") { |t| t && !t.empty? && !t.end_with?("\u2026") }
  end

  # A control reaches any one of the workers, and the page says so if it is another one.
  # The browser keeps a connection to that one, so the page is loaded again.
  def press_until_it_is_this_one(name, said)
    eventually("this worker") do
      got = press(name)
      assert_match(/\A(Another process, pid \d+, answered: )?#{Regexp.escape(said)}\z/, got)
      refute_includes got, " #{shown_pid}," if got != said
      next true if got == said
      @page.refresh
      live
      only_the_leak
      false
    end
  end

  def browse
    pids = leak
    look
    first_is leak_line
    assert_includes pids, shown_pid
    # sort
    %w[total live location].each do |id|
      2.times do
        way = sort_by(id)
        next if id == "location"
        values(id).each_cons(2) { |a, b| assert_operator a, way == "ascending" ? :<= : :>=, b, "#{id} #{way}" }
      end
    end
    sort_by("growth")
    # filter
    only_the_leak
    assert_equal [leak_line], locations
    assert_operator values("total")[0], :>, 1_000_000
    # reset
    press_until_it_is_this_one("reset", "The counters start again from zero; what is live stays known.")
    eventually("zeros") { values("total")[0].zero? }
    assert_operator values("live_bytes")[0], :>, 1_000_000
    pids
  end
end

module BrowseTests
  include ClusterTests

  # All of a memory map is one worker's, whichever answers first.
  def test_memory_map
    start(options: "socket:#{path("s")}")
    pids = leak
    open_page("#{origin.sub("//", "//#{self.class::LOGIN}")}#{mount}/overruns")
    @requests.clear
    go_to("#{origin}#{mount}/map")
    wait_until("!!document.querySelector('.memory canvas') && !document.querySelector('.memory[aria-busy]') && document.querySelector('.scale').textContent !== ''")
    wait_until("!document.querySelector('.cells[data-loading]')")
    click(".lines tbody tr:nth-child(1) input")
    wait_until("document.querySelector('.what-if [role=status]').textContent.startsWith('Without ')")
    asked = @requests.filter_map { |u| u[%r{\A#{origin}#{mount}/(\d+)/map/}, 1]&.to_i }
    assert_operator asked.size, :>=, 3
    assert_equal 1, asked.uniq.size
    assert_includes pids, asked[0]
    assert_equal "", text(".memory .warning")
  end

  def test_browse_sort_filter_reset
    start
    pids = browse
    # growth since then is seen
    eventually("growth") { get("/leak", at: port) && values("growth")[0] > 1_400_000 }
    # one location: any worker may answer for its blocks
    click("#{BrowserTest::ROWS} td.location a")
    wait_until("document.querySelectorAll('.one .histogram td').length > 0")
    assert_equal leak_line, text(".one h1")
    wait_until("!!document.querySelector('.source .here')")
    keys(:Escape)
    first_is leak_line
    # the plain pages lead from one to the next under the mount point
    @page.go_to("#{origin}#{mount}/each/2000?sort=live")
    href = js("[...document.querySelectorAll('td.location a')].find((a) => a.textContent === arguments[0]).href", leak_line)
    assert_equal "#{origin}#{mount}/at/#{escape(leak_line)}", href
    @page.go_to(href)
    assert_equal leak_line, text("h1.location")
    assert_includes pids, text(".process")[/pid (\d+)/, 1].to_i
    click(".held button")
    wait_until("[...document.querySelectorAll('.held tbody tr')].some((r) => r.textContent.includes('Leak::KEPT'))")
    click("a.home")
    wait_for_live
  end

  # /live in pieces: the page stays live, and doesn't say that the process had gone.
  def test_where_no_connection_can_be_kept
    start(keeps: false)
    leak
    look
    js("window.states = []; new MutationObserver(() => states.push(document.querySelector('.light').dataset.state)).observe(document.querySelector('.light'), { attributes: true })")
    js("window.others = []; new MutationObserver(() => others.push(document.querySelector('.said').textContent)).observe(document.querySelector('.said'), { childList: true, characterData: true, subtree: true })")
    asked = -> { @requests.grep(%r{/live}).size }
    before = asked.call
    eventually("it asks again") { asked.call > before + 6 }
    assert_empty js("states").reject { |s| s == "live" }
    assert_equal %w[live], js("[document.querySelector('.light').dataset.state]")
    first_is leak_line
    @requests.grep(%r{/live\?since=}).each { |u| assert_match(/since=\d+-\d+:\d+\z/, u) }
    refute_empty @requests.grep(%r{/live\?since=})
  end
end

class SinatraTest < Minitest::Test
  include BrowseTests
  APP = "sinatra.ru"
  MOUNT = "/MWRAP"
  LOGIN = ""

  # With sockets each process has its own page, whichever worker a request comes to.
  def test_one_process_of_the_cluster
    start(options: "socket:#{path("s")}")
    pids = leak
    eventually("the family") { JSON.parse(get("#{mount}/family.json", at: port).body)["processes"].count { |p| p["state"] == "answers" } == 3 }
    open_page("#{origin}#{mount}/family")
    click("td a[href='#{mount}/#{pids[0]}/']")
    live
    assert_equal pids[0], shown_pid
    @page.go_to("#{origin}#{mount}/#{pids[0]}/#columns=growth+live_bytes+total")
    live
    only_the_leak
    before = values("growth")[0]
    eventually("growth") { 4.times { get("/leak", at: port) } && values("growth")[0] > before + 100_000 }
    got = press("reset")
    assert_equal "The counters start again from zero; what is live stays known.", got
    eventually("zeros") { values("total")[0] < 100_000 }
    assert_equal pids[0], shown_pid
    click("#{BrowserTest::ROWS} td.location a")
    wait_until("document.querySelectorAll('.one .histogram td').length > 0")
    # the sum, and Ruby's objects
    eventually("the sum of all") do # who couldn't run for a second and a half is left out
      @page.go_to("#{origin}#{mount}/all/each/0?q=leak.rb")
      text(".process") == "sum of 3 processes"
    end
    assert_includes text("main"), leak_line
    @page.go_to("#{origin}#{mount}/objects")
    click("dl.views a[href$='/objects/classes']")
    wait_until("document.querySelectorAll('table.rows tbody tr').length > 20")
    click("table.rows td.location a")
    wait_until("/^Lines that allocated: /.test(document.querySelector('h1').textContent)")
  end

  # The browser asks for it, here answered by who drives it, and the control does its work.
  def test_a_token_is_asked_for
    start
    open_page("#{origin}/TOKEN/overruns")
    asked = []
    @page.command("Fetch.enable", handleAuthRequests: true)
    @page.on("Fetch.requestPaused") { |p| @page.command("Fetch.continueRequest", async: true, requestId: p["requestId"]) }
    @page.on("Fetch.authRequired") do |p|
      asked << p.dig("request", "method")
      @page.command("Fetch.continueWithAuth", async: true, requestId: p["requestId"],
                    authChallengeResponse: { response: "ProvideCredentials", username: "anybody", password: "t0ken" })
    end
    @page.go_to("#{origin}/TOKEN/")
    live
    assert_match(/Memory was given back to the system\.|There was no memory to give back\.\z/, press("trim"))
    assert_equal %w[POST], asked
    assert_match(/The counters start again/, press("reset"))
    assert_equal %w[POST], asked, "once"
  end
end

class RailsTest < Minitest::Test
  include BrowseTests
  APP = "rails.ru"
  MOUNT = "/mwrap"
  LOGIN = "admin:pass%20word@"

  def test_only_who_may
    start
    assert_equal 401, get("/mwrap/", at: port).status
    assert_equal 401, get("/mwrap/live", at: port).status
    assert_equal 401, get("/mwrap/", { "Authorization" => "Basic #{["admin:password"].pack("m0")}" }, at: port).status
    right = { "Authorization" => "Basic #{["admin:pass word"].pack("m0")}" }
    ["/mwrap", "/mwrap/", "/mwrap/each/0", "/mwrap/at/#{escape("/nowhere.rb:1")}"].each_with_index do |target, i|
      r = get(target, right, at: port)
      assert_equal [i == 3 ? 404 : 200], [r.status], target
    end
    assert_equal 200, request("POST", "/mwrap/reset", right, "", at: port).status
    # Rails folds slashes: what is typed by hand works all the same
    get("/leak", at: port)
    eventually("the worker that leaked") { get("/mwrap/at/#{leak_line}", right, at: port).status == 200 }
  end
end
