# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# A page in a headless Chromium, for tests, and the made-up server that most of
# them look at (t/js/fake_server.mjs). Nothing here sleeps for a fixed time: what is
# expected is waited for, LONG seconds at most, and if it doesn't come the test
# fails and says what the page has instead.
require_relative "tap"
require_relative "chromium"
require_relative "fake_server"

module BrowserTest
  ROWS = "tr[role=row]"
  # Of the page's table, but for those of a process that keeps stacks.
  COLUMNS = File.read(File.join(MwrapTest::ROOT, "web/src/columns.js")).scan(/^\t\{ id: "(\w+)"(.*)/)
                .filter_map { |id, rest| id unless rest.include?("kinds: true") }.freeze
  # How Chromium complains that a server has ended: before it is reached, while it answers, or between two answers.
  ENDED = %w[ERR_CONNECTION_REFUSED ERR_CONNECTION_RESET ERR_CONNECTION_CLOSED ERR_SOCKET_NOT_CONNECTED ERR_EMPTY_RESPONSE
             ERR_INCOMPLETE_CHUNKED_ENCODING].freeze

  # One browser for all tests of a file: it starts slowly.
  def self.browser
    @browser ||= Chromium.start(LONG, careful: @careful)
  end

  # It shall keep origins apart: for a file whose tests are about that.
  def self.careful! = @careful = true

  Minitest.after_run { @browser&.quit }

  def serve(*args, **options) = @server = FakeServer.new(*args, **options)

  # The page goes first: it asks its server to the end.
  def teardown
    close_page
    @server&.close
    super
  end

  # Opens a page of its own, and gives what it complained about to @complaints.
  def open_page(url, width: 1280, height: 800, scheme: "light", scripts: true, still: false)
    @complaints = []
    @requests = []
    @context = BrowserTest.browser.contexts.create
    @page = @context.create_page
    listen
    Chromium.look(@page, width, height, scheme, still: still)
    @page.disable_javascript unless scripts
    go_to(url)
  end

  def go_to(url) = to_another_document { @page.go_to(url) }
  def refresh = to_another_document { @page.refresh }

  # Ferrum takes late news of the last document for those of the next: it may come back too early.
  def to_another_document
    js("document.documentElement.dataset.old = 1")
    yield
    wait_until("document.readyState === 'complete' && !document.documentElement.dataset.old")
  end

  def wait_for_live = wait_until("document.querySelector('.light')?.dataset.state === 'live'")

  # The first tick is all there: its point, by which the title says what is live, comes last.
  def wait_for_first_tick = wait_until("document.title.includes(arguments[0])", " live \u2013 ")

  def close_page
    @context&.dispose
    @context = nil
  end

  def listen
    @page.command("Log.enable")
    @page.on("Runtime.exceptionThrown") { |p| @complaints << p.dig("exceptionDetails", "exception", "description").to_s }
    @page.on("Runtime.consoleAPICalled") { |p| @complaints << p["args"].inspect if %w[error warning assert].include?(p["type"]) }
    @page.on("Log.entryAdded") { |p| @complaints << p["entry"].slice("level", "text", "url").inspect if %w[error warning].include?(p.dig("entry", "level")) }
    @page.on("Network.requestWillBeSent") { |p| @requests << p.dig("request", "url") }
  end

  def js(code, *args) = @page.evaluate(code, *args)

  # Waits until the expression is true (or what it gives is what the block wants).
  def wait_until(code, *args, limit: LONG)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + limit
    loop do
      value = js(code, *args)
      return value if block_given? ? yield(value) : value
      flunk "never: #{code} #{args.inspect}; it is #{value.inspect}\n#{js("document.body.innerText")[0, 1500]}\n#{@complaints.join("\n")}" if
        Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
      sleep 0.05
    end
  end

  def text(selector) = js("document.querySelector(arguments[0])?.textContent ?? null", selector)
  def texts(selector) = js("[...document.querySelectorAll(arguments[0])].map((n) => n.textContent)", selector)
  def click(selector) = (wait_until("!!document.querySelector(arguments[0])", selector); js("document.querySelector(arguments[0]).click()", selector))

  # As a person's keys: "a", :Enter
  def keys(*list) = @page.keyboard.type(*list)

  # --- what the page shows -------------------------------------------------------

  def locations = texts("#{ROWS} td.location a:first-of-type")

  # Replaces what is in the filter.
  def type(words) = js(<<~JS, words)
    (() => { const i = document.querySelector("input[type=search]"); i.focus(); i.value = arguments[0];
      i.dispatchEvent(new Event("input", { bubbles: true })); })()
  JS

  # Clicks a column's header; returns how the table is sorted then: "ascending" or "descending".
  def sort_by(id)
    header = "th[data-column=#{id}]"
    was = js("document.querySelector(arguments[0]).getAttribute('aria-sort')", header)
    click("#{header} button")
    now = wait_until("document.querySelector(arguments[0]).getAttribute('aria-sort')", header) { |v| v && v != was }
    assert_equal 1, js("document.querySelectorAll('th[aria-sort]').length")
    now
  end

  # The exact values of a column, which are in the cells' titles, of the rows in the document.
  def values(id)
    return js("[...document.querySelectorAll('#{ROWS} td.location')].map((n) => n.title)") if id == "location"
    index = js("[...document.querySelectorAll('thead th')].findIndex((n) => n.dataset.column === arguments[0])", id)
    js("[...document.querySelectorAll('#{ROWS}')].map((r) => r.children[arguments[0]].title)", index).map { |s| amount(s) }
  end

  # nil: not known
  def amount(s)
    return if s.start_with?("none", "not known", "\u2013")
    s.delete(",").tr("\u2212", "-").to_f
  end

  # Nothing went wrong in the page, and it asked nobody but `origin`, which each test file says.
  def assert_quiet(*allowed)
    left = @complaints.reject { |c| allowed.any? { |a| c.include?(a) } }
    assert_empty left
    foreign = @requests.reject { |u| u.start_with?("#{origin}/") || u.start_with?("data:") }
    assert_empty foreign
    refute_empty @requests
  end

  # A page of one file, @address: it asked for nothing else.
  def assert_alone
    assert_empty @complaints
    assert_equal [@address], @requests.map { |u| u[/\A[^#]+/] }.uniq
  end

  # For a file of tests: each page of a server is quiet at the test's end, but for what the test says in @allowed.
  module Quiet
    def teardown
      assert_quiet(*@allowed) if passed? && @context && @requests.grep(/\Afile:/).empty?
    ensure
      super
    end
  end
end
