#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# /family and /all/ in a browser, of a real family: the numbers move by themselves, one process
# stands out, two are compared, and the header leads from one to the other.
require_relative "lib/browser"
require_relative "lib/served"

class BrowserFamilyTest < Minitest::Test
  include BrowserTest
  include BrowserTest::Quiet

  # Three workers that do what they are told: "WORKER BYTES" makes one keep so many more.
  APP = <<~RUBY
    $stdout.sync = true; $stdin.gets # the port is this process's: a child that is forked before may be first
    pipes = Array.new(3) { IO.pipe }
    acks = IO.pipe
    workers = pipes.map.with_index do |(r, _), n|
      fork do
        $0 = "worker \#{n} <b>&</b>"
        keep = []
        keep << ("w" * Integer(r.gets)) while acks[1].puts("ok") || true
      end
    end
    3.times { acks[0].gets }
    puts workers.join(" ")
    while (line = $stdin.gets)
      n, bytes = line.split.map(&:to_i)
      pipes[n][1].puts(bytes)
      acks[0].gets
      puts "done"
    end
    workers.each { |w| Process.kill(:KILL, w) rescue nil }
  RUBY

  attr_reader :origin

  def start(*options)
    @app = served_ruby(APP, options: ["listen:127.0.0.1:0", *options])
    @app.tell("go")
    @workers = @app.hear.split.map(&:to_i)
    @origin = origin_of(@app)
    eventually("four processes") { processes.count { |p| p["state"] == "answers" } == 4 }
  end

  def processes = JSON.parse(get("/family.json").body)["processes"]
  def row(pid) = "tr[data-pid='#{pid}']"
  def rss(pid) = js("document.querySelector(arguments[0]).children[2].querySelector('span').title", row(pid)).delete(", bytes").to_i
  def live_bytes(pid) = js("document.querySelector(arguments[0]).children[3].querySelector('span').title", row(pid)).delete(", bytes").to_i

  # Everything can be read, in light and in dark, and on a phone nothing scrolls sideways but tables
  def test_looks
    start
    { "/family" => ".fleet tbody tr", "/all/" => ".sum tbody tr", "/stats" => "tbody tr", "/help" => "dt", "/nowhere" => "h1" }.each do |target, there|
      %w[light dark].each do |scheme|
        open_page("#{origin}#{target}", scheme: scheme, width: scheme == "dark" ? 390 : 1280)
        Chromium.look(@page, scheme == "dark" ? 390 : 1280, 800, scheme, still: true)
        wait_until("document.querySelectorAll(arguments[0]).length > 0", there)
        assert_empty js(Chromium::CONTRAST)[1], target
        assert_empty js(Chromium::EDGES)[1], target
        assert_operator js("document.documentElement.scrollWidth"), :<=, js("innerWidth"), target
        close_page
      end
    end
  end

  def test_side_by_side
    start
    open_page("#{origin}/family")
    wait_until("document.querySelectorAll('.fleet tbody tr').length === 4")
    assert_equal "worker 1 <b>&</b>", text("#{row(@workers[1])} .who b")
    assert_match(/\A4 processes: RSS /, text(".totals"))
    assert_equal "done", @app.ask("1 50000000")
    wait_until("document.querySelector('.totals').textContent.startsWith('One process stands out: pid #{@workers[1]}: RSS ')")
    assert_operator live_bytes(@workers[1]), :>=, 50_000_000
    assert_operator rss(@workers[1]), :>, 50_000_000
    # a word of each that answers comes with its verdict; of one that doesn't, at once
    stop(@workers[0])
    wait_until("document.querySelector(arguments[0]).textContent", "#{row(@workers[0])} .says") { |said| said.match?(/\Adoes not answer; last seen at \d\d:\d\d:\d\d\z/) }
    assert_operator live_bytes(@workers[0]), :>, 0, "its last value stays"
    wait_until("document.querySelector('.verdict').textContent") { |said| said.include?(" #{@workers[0]} didn\u2019t answer within ") }
    assert_match(/\A3 of 4 processes: |\AOne process stands out/, text(".totals"))
    assert_nil js("document.querySelector(arguments[0]).getAttribute('href')", "#{row(@workers[0])} .who a")
    Process.kill(:CONT, @workers[0])
    wait_until("document.querySelector(arguments[0]).textContent", "#{row(@workers[0])} .says") { |said| said.match?(/\A[A-Z].*\.\z/) }
    assert_equal [@workers[1].to_s], js("[...document.querySelectorAll('tr.out')].map((n) => n.dataset.pid)")
    assert_equal "stands out by RSS", text("#{row(@workers[1])} .stands")
    # sorted by RSS, that one comes first
    click("th[data-column=rss_bytes] button")
    wait_until("document.querySelector('.fleet tbody tr').dataset.pid === '#{@workers[1]}'")
    assert_equal "descending", js("document.querySelector('th[data-column=rss_bytes]').getAttribute('aria-sort')")
    # a process that ended goes
    Process.kill(:KILL, @workers[2])
    wait_until("document.querySelectorAll('.fleet tbody tr').length === 3")
    click("#{row(@workers[1])} .who a")
    wait_until("document.querySelector('.process')?.textContent.includes('pid #{@workers[1]}')")
  end

  # "/" is the list of the processes: each, and their sum, a click away. A page has the same links everywhere.
  def test_the_first_page
    start
    open_page("#{origin}/")
    wait_until("document.querySelectorAll('.fleet tbody tr').length === 4")
    wait_until("document.querySelector('.verdict').textContent") { |said| said.match?(/ 4 processes/) }
    assert_equal [@app.pid, *@workers].sort.map { |pid| "/#{pid}/" }, js("[...document.querySelectorAll('.fleet .who a')].map((n) => n.getAttribute('href'))").sort_by { |h| h[/\d+/].to_i }
    assert_equal [["Processes"], "/all/"], [texts("header nav [aria-current]"), js("document.querySelector('header nav a:nth-of-type(2)').getAttribute('href')")]
    click("#{row(@workers[2])} .who a")
    wait_until("document.querySelector('.process')?.textContent.includes('pid #{@workers[2]}')")
    assert_equal ["Live"], texts("header nav [aria-current]")
    click("header nav a.home")
    wait_until("document.querySelectorAll('.fleet tbody tr').length === 4")
    assert_equal "/", js("location.pathname")
  end

  # Each row has the curve of the sum; where a process grows steadily it is coloured. Groups have theirs.
  def test_trends_of_the_sum
    start
    open_page("#{origin}/all/")
    drawn = "[...document.querySelectorAll('.summed tbody tr')].filter((tr) => tr.querySelector('.trend .curve[d]')).length"
    wait_until(drawn) { |n| n > 5 }
    assert_equal "done", @app.ask("1 50000000")
    wait_until("[...document.querySelectorAll('.summed tbody tr')].some((tr) => tr.querySelector('.trend')?.dataset.way === 'up')")
    rise = js("[...document.querySelectorAll('.summed .trend[data-way=up] svg')].map((n) => n.ariaLabel)")
    assert(rise.any? { |said| said.match?(/\Aup from .+ to .+B\z/) }, rise.inspect)
    click(".sum [data-group=gem]")
    wait_until(drawn) { |n| n > 0 }
    click(".sum [data-group=kind]")
    wait_until("[...document.querySelectorAll('.summed th')].find((n) => n.dataset.column === 'trend').hidden")
    assert_equal "sticky", js("getComputedStyle(document.querySelector('.summed thead th')).position")
  end

  # The sum says which process isn't in it, with and without scripts; the list in the header has it, too.
  def test_one_that_is_not_in_the_sum
    start
    open_page("#{origin}/all/")
    wait_until("document.querySelector('.totals')?.textContent.startsWith('The sum of 4 processes: live ')")
    stop(@workers[0])
    wait_until("document.querySelector('.totals').textContent.startsWith('The sum of 3 of 4 processes: live ')")
    wait_until("document.querySelector('.sum .who').textContent") { |said| said.match?(/Not in the sum: pid #{@workers[0]}, which does not answer; it had [\d.]+.MB at \d/) }
    refresh
    wait_until("document.querySelector('.warning')?.textContent") { |said| said&.match?(/\A3 of 4 processes are in this sum\. #{@workers[0]} didn\u2019t answer within [\d.]+ s\.\z/) }
    wait_until("document.querySelector('.switch:not([hidden]) summary')?.textContent === '3 of 4 processes'")
    assert_equal 4, js("document.querySelectorAll('.switch li .warning, .switch li .dim').length") - 2
    Process.kill(:CONT, @workers[0])
    wait_until("document.querySelector('.totals').textContent.startsWith('The sum of 4 processes: live ')")
  end

  def test_two_compared
    start
    assert_equal "done", @app.ask("0 3000000")
    open_page("#{origin}/family")
    wait_until("document.querySelectorAll('.fleet tbody tr').length === 4")
    @workers.first(2).each { |pid| click("#{row(pid)} input") }
    wait_until("document.querySelectorAll('.comparison tbody tr').length > 0")
    assert_equal "#compare=#{@workers[0]},#{@workers[1]}", js("location.hash")
    assert_match(/\Apid #{@workers[0]} and pid #{@workers[1]}: 2\.\d+.MB more live in pid #{@workers[0]}\z/, text(".comparison h2"))
    first = texts(".comparison tbody tr:first-child td")
    assert_match(%r{/app\.rb:8\z}, first[3])
    assert_match(/\A\+2\.\d\d.MB\z/, first[0])
    # no third one, until one of them is left out
    assert js("document.querySelector(arguments[0]).disabled", "#{row(@workers[2])} input")
    # a shared address shows the same; a number leads to the location in that process
    refresh
    wait_until("document.querySelectorAll('.comparison tbody tr').length > 0")
    click(".comparison tbody tr:first-child td:nth-child(2) a")
    wait_until("document.querySelector('.one h1')?.textContent.endsWith('/app.rb:8')")
    assert_match(%r{\A/#{@workers[0]}/at/[\w%.-]+%2Fapp\.rb%3A8\z}, js("location.pathname"))
  end

  def test_the_header_leads_to_the_others
    start
    open_page("#{origin}/#{@app.pid}/")
    wait_until("document.querySelector('.switch:not([hidden]) summary')?.textContent === '1 of 4 processes'")
    click(".switch summary")
    hrefs = js("[...document.querySelectorAll('.switch a')].map((n) => n.getAttribute('href'))")
    assert_equal [@app.pid, *@workers].sort.map { |pid| "/#{pid}/" } + %w[/family /all/], hrefs
    assert_equal ["/#{@app.pid}/"], js("[...document.querySelectorAll('.switch a[aria-current]')].map((n) => n.getAttribute('href'))")
    keys(:Escape)
    wait_until("!document.querySelector('.switch').open")
    click(".switch summary")
    click(".switch a[href='/#{@workers[0]}/']")
    wait_until("location.pathname === '/#{@workers[0]}/' && document.querySelector('.process')?.textContent.includes('pid #{@workers[0]}')")
    wait_until("document.querySelector('.switch a[aria-current]')?.getAttribute('href') === '/#{@workers[0]}/'")
  end

  def test_all_together
    start
    open_page("#{origin}/all/")
    wait_until("document.querySelectorAll('.sum tbody tr').length > 20")
    wait_until("document.querySelector('.totals').textContent.startsWith('The sum of 4 processes: live ')") # by another answer than the table
    own = "[...document.querySelectorAll('.sum tbody tr')].find((n) => n.lastChild.textContent.endsWith('/app.rb:8'))"
    assert_equal "done", @app.ask("0 7000000")
    assert_equal "done", @app.ask("2 8000000")
    # it moves by itself, to the top
    wait_until("document.querySelector('.sum tbody tr td.location').textContent.endsWith('/app.rb:8')")
    wait_until("#{own}.children[1].title") { |title| title.delete(", bytes").to_i >= 15_000_000 }
    wait_until("parseFloat(document.querySelector('.figure.live dd').textContent) > 15")
    assert_equal "100%", js("document.querySelector('.sum tbody tr td.bar.growth, .sum tbody tr td.bar').lastChild.style.width"), "the largest has the longest bar"
    wait_until("!!document.querySelector('.sum .plot canvas')")
    # a page of rows, and more when they are asked for
    assert_equal [50, "The first 50 rows"], [js("document.querySelectorAll('.sum tbody tr').length"), text(".sum caption")]
    click(".sum .pager button")
    wait_until("document.querySelectorAll('.sum tbody tr').length > 50")
    # filtered and sorted by the server
    js("(() => { const i = document.querySelector('.sum input'); i.value = 'app.rb:8'; i.dispatchEvent(new Event('input')); })()")
    wait_until("document.querySelectorAll('.sum tbody tr').length === 1")
    assert_equal "#q=app.rb%3A8", js("location.hash")
    assert_equal %w[tsv csv json].map { |f| "/all/each/0.#{f}?sort=growth&q=app.rb%3A8" }, js("[...document.querySelectorAll('.sum .exports a')].map((n) => n.getAttribute('href'))")
    assert_equal 200, get(js("document.querySelector('.sum .exports a').getAttribute('href')")).status
    click("[data-group=file]")
    wait_until("document.querySelector('.sum tbody td.location')?.textContent.endsWith('/app.rb')")
    js("(() => { const i = document.querySelector('.sum input'); i.value = 'nowhere'; i.dispatchEvent(new Event('input')); })()")
    wait_until("document.querySelector('.sum caption').textContent === 'No location contains \u201cnowhere\u201d.'")
    assert_equal 0, js("document.querySelectorAll('.sum tbody tr').length")
    # the page's own controls are for all, and stay
    assert_equal "/all/reset", js("document.querySelector('main .controls form').getAttribute('action')")
  end

  def test_the_end_of_the_server
    start
    open_page("#{origin}/family")
    wait_until("document.querySelectorAll('.fleet tbody tr').length === 4")
    [@app.pid, *@workers].each { |pid| Process.kill(:KILL, pid) }
    wait_until("document.querySelector('.light').dataset.state === 'gone'")
    assert_equal 4, js("document.querySelectorAll('.fleet tbody tr').length"), "the last numbers stay"
    @allowed = ENDED
  end

  def test_without_scripts
    start
    open_page("#{origin}/family", scripts: false)
    page = get("/family", { "Accept" => "text/html" }).body
    assert_includes page, "&lt;b&gt;&amp;&lt;/b&gt;"
    refute_includes page, "<b>&"
    wait_until("document.querySelector('h1.verdict').textContent") { |said| said.match?(/ 4 processes/) }
    go_to("#{origin}/")
    assert_equal 4, js("document.querySelectorAll('tbody tr').length")
    assert_equal [@app.pid, *@workers].sort.map { |pid| "/#{pid}/" }, js("[...document.querySelectorAll('tbody a')].map((n) => n.getAttribute('href'))")
  end
end
