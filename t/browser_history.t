#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The page at / in a real browser, with a made-up app behind it: the server's sentence and
# history, parts of the time, several tabs, and those who listen or type fast.
require_relative "lib/made_up_page"

class PageHistoryTest < Minitest::Test
  include MadeUpPage
  include BrowserTest::Quiet

  # --- the sentence, and what it is about -------------------------------------------

  def test_the_sentence_is_the_servers
    visit
    verdict_is(/\AGrows by 0\.\d\d MB a minute, on all scales, /)
    assert_equal ["Look at what redcarpet.rb:51 keeps.", "confidence: 97\u00a0%"], [text(".next"), js("document.querySelector('.verdict').title")]
    @server.say("explodes")
    verdict_is(/\AIt is explodes\.\z/)
    assert_equal ["false", ""], [js("document.querySelector('.verdict').dataset.growing"), text(".next")]
    @server.say("")
    @server.asked
    click("[data-range='1h']")
    verdict_is(/ a minute over 3600 s, /)
    wait_until("location.hash === '#range=1h'")
    assert_includes asked(%r{/verdict\.json\?range=1h}), "GET /verdict.json?range=1h"
    assert_includes asked(%r{/history/locations\.json\?range=1h}), "GET /history/locations.json?range=1h&points=48"
    click("[data-range='1h']")
    wait_until("location.hash === ''")
    verdict_is(/, on all scales, /)
    click(".verdict a")
    wait_until("document.querySelector('.one h1')?.textContent === arguments[0]", LEAK)
  end

  # Requests that were sent, when there is one like that
  def asked(pattern)
    @sent ||= []
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + LONG
    until (@sent += @server.asked).grep(pattern).any?
      flunk "never asked: #{pattern}: #{@sent}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
      sleep 0.05
    end
    @sent
  end

  # Behind one address there may be several processes.
  def test_answers_of_another_process_are_not_taken
    visit("--workers")
    verdict_is(/\AGrows/)
    js("window.heard = []; new MutationObserver(() => heard.push(document.querySelector('.verdict').textContent)).observe(document.querySelector('.verdict'), { childList: true, subtree: true })")
    %w[falls flat].each do |kind|
      @server.say(kind)
      verdict_is(/\AIt is #{kind}|\ANothing/)
    end
    refute_includes js("heard").join, "Another process"
    wait_until("document.querySelector('#{ROWS} .trend').dataset.way === 'up'")
  end

  # --- history from the server ---------------------------------------------------------

  def test_trends_are_there_when_the_page_opens_and_after_a_reload
    visit
    2.times do
      wait_until("document.querySelector('#{ROWS} .trend')?.dataset.way === 'up'")
      assert_equal [LEAK, "descending"], [locations.first, js("document.querySelector('th[data-column=trend]').getAttribute('aria-sort')")]
      from, to = js("document.querySelector('#{ROWS} .trend svg').getAttribute('aria-label')").scan(/[\d.]+/).map(&:to_f)
      assert_in_delta 0.94, from / to, 0.02, "three quarters in 11520 s: so much in 900"
      refresh
      wait_for_first_tick
    end
    click("[data-range=all]")
    wait_until("/up from 5\\d\\.\\d\u00a0MB/.test(document.querySelector('#{ROWS} .trend svg').getAttribute('aria-label'))")
    wait_until("document.querySelector('.headline .plot').getAttribute('aria-label').startsWith('Memory over the last 3 h ')")
  end

  # A stream whose first event has no rows, and then each as if it were new
  def test_rows_that_come_late_were_not_born_then
    visit("--forgetful", "--locations=40", ready: false)
    wait_for_live
    12.times { |i| @server.tick; wait_until("document.querySelector('.process').textContent.includes(arguments[0])", "up 3 h 12 m") if i.zero? }
    wait_until("document.querySelectorAll('#{ROWS}').length >= 4")
    wait_until("document.querySelector('#{ROWS} .trend').dataset.way === 'up'")
    assert_equal LEAK, locations.first
    curves = js("[...document.querySelectorAll('#{ROWS} .trend svg')].map((n) => n.getAttribute('aria-label'))")
    refute(curves.any?(/from 0.B to .*MB/), curves.inspect)
    assert_operator values("rate").max, :<=, 150, "140 a second is the leak's"
  end

  def test_a_server_without_curves_or_sentence
    visit("--no-curves", "--no-verdict")
    verdict_is(/\ANo sentence: no such page\z/)
    assert_equal LEAK, locations.first
    @server.tick(20)
    wait_until("document.querySelector('#{ROWS} .trend').dataset.way === 'up'")
    @allowed = ["/history/locations.json", "/verdict.json"]
  end

  # --- a part of the time -----------------------------------------------------------------

  def test_growth_in_a_part_of_the_time
    visit(hash: "#time=8000-9000")
    wait_until("/^growth (\\d+\u00a0\\w+ )?\\d\\d:\\d\\d\u2013(\\d+\u00a0\\w+ )?\\d\\d:\\d\\d$/.test(document.querySelector('th[data-column=growth] .title').textContent)")
    assert_equal "descending", js("document.querySelector('th[data-column=growth]').getAttribute('aria-sort')")
    grown = 92_000 * 2457 * 0.75 * 1000 / 11_520
    eventually_values("growth") { |v| v.first && (v.first - grown).abs < 100_000 }
    assert_equal [LEAK, 0], [locations.first, values("growth")[1]]
    verdict_is(/ a minute over 1000 s, /)
    click(".chip")
    wait_until("document.querySelector('th[data-column=growth] .title').textContent === 'growth since start'")
    assert_equal "", js("location.hash")
    drag(0.25, 0.5)
    wait_until("/^#time=\\d+-\\d+$/.test(location.hash)")
    from, to = js("location.hash").scan(/\d+/).map(&:to_i)
    assert_in_delta 225, to - from, 10
    eventually_values("growth") { |v| v.first && (v.first - grown * (to - from) / 1000).abs < grown / 20 }
  end

  # Presses the mouse at a part of the plot's width, releases it at another.
  def drag(from, to)
    left, top, width = js("(() => { const r = document.querySelector('.headline .u-over').getBoundingClientRect(); return [r.left, r.top + r.height / 2, r.width]; })()")
    @page.mouse.move(x: left + width * from, y: top).down
    @page.mouse.move(x: left + width * to, y: top, steps: 5).up
  end

  def test_the_plot_by_keyboard
    visit
    js("document.querySelector('.headline .plot').focus()")
    keys(:Left, :PageDown)
    wait_until("/^at \\d\\d:\\d\\d:\\d\\d$/.test(document.querySelector('.when').textContent)")
    assert_match(/\A\d\d:\d\d:\d\d: RSS \d+.MB, live \d+.MB\z/, js("document.querySelector('.headline .plot').getAttribute('aria-valuetext')"))
    keys([:shift, :PageDown], [:shift, :Left])
    wait_until("/ selected: Enter shows it$/.test(document.querySelector('.headline .plot').getAttribute('aria-valuetext'))")
    assert_operator js("document.querySelector('.headline .u-select').offsetWidth"), :>, 100
    keys(:Escape)
    wait_until("document.querySelector('.headline .u-select').offsetWidth === 0 && document.querySelector('.when').textContent === ''")
    keys(:Left, [:shift, :PageDown], :Enter)
    wait_until("/^#time=\\d+-\\d+$/.test(location.hash)")
    from, to = js("location.hash").scan(/\d+/).map(&:to_i)
    assert_in_delta 90, to - from, 4
    keys(:Escape)
    wait_until("location.hash === ''")
  end

  def test_what_cannot_be_shown_is_said
    visit(hash: "#time=90000-90100")
    said = -> { wait_until("!document.querySelector('.no-plot').hidden && document.querySelector('.no-plot span').textContent") }
    assert_match(/hasn\u2019t come yet: the process has been up for 3 h 12 m\.\z/, said.call)
    assert js("document.querySelector('.headline .plot').hidden")
    assert_equal "No sentence: there is nothing of that time", text(".verdict")
    js("location.hash = '#time=300-200'")
    wait_until("document.querySelector('.no-plot span').textContent.endsWith('ends before it begins.')")
    assert_empty @requests.grep(/from=(90000|300)/)
    click(".no-plot button")
    wait_until("document.querySelector('.no-plot').hidden && !document.querySelector('.headline .plot').hidden")
    verdict_is(/\AGrows/)
    js("location.hash = '#at=/srv/nowhere.rb:7'")
    wait_until("document.querySelector('.one .sentence').textContent.startsWith('This location isn\u2019t in the table')")
    assert_equal 0, js("[...document.querySelectorAll('.one .plot')].filter((n) => n.checkVisibility()).length")
  end

  def test_dates_where_a_day_is_shown
    visit("--age=200000", hash: "#range=24h")
    labels = js(<<~JS)
      (() => { const seen = []; const fill = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (t, x, ...a) { seen.push(t); window.seenAt.push([t, x]); return fill.call(this, t, x, ...a); }; window.seenLabels = seen; window.seenAt = []; return true; })()
    JS
    assert labels
    @server.tick
    # midnight is a date, and the last tick has a label
    wait_until("window.seenAt.some(([t]) => /^\\d+\u00a0[A-Z][a-z][a-z]$/.test(t))")
    places = js("window.seenAt.filter(([t]) => /:|\u00a0[A-Z]/.test(t)).map(([, x]) => x)").uniq.sort
    assert_operator js("document.querySelector('.headline .uplot').clientWidth") - places[-1], :<, places[-1] - places[-2] + 24
    click("[data-range=all]")
    wait_until("window.seenLabels.filter((t) => /^\\d+\u00a0[A-Z][a-z][a-z]( \\d\\d:00)?$/.test(t)).length > 1")
  end

  def test_a_time_with_dates_is_whole_in_the_head
    { 390 => "", 768 => "", 1280 => "growth " }.each do |width, before|
      visit("--age=200000", hash: "#time=100000-180000", width: width)
      title = "document.querySelector('th[data-column=growth] .title')"
      wait_until("/^#{before}\\d+\u00a0[A-Z]\\w+ \\d\\d:\\d\\d\u2013\\d+\u00a0[A-Z]\\w+ \\d\\d:\\d\\d$/.test(#{title}.textContent)")
      assert js("#{title}.scrollWidth <= #{title}.clientWidth && #{title}.scrollHeight <= #{title}.clientHeight"), width.to_s
      assert js("(({ left, right }, button) => left >= button.left && right <= button.right)(#{title}.getBoundingClientRect(), #{title}.closest('th').getBoundingClientRect())")
      close_page
      @server.close
    end
  end

  def test_a_location_has_its_past
    visit(hash: "#at=#{LEAK}")
    wait_until("document.querySelector('.one .sentence').textContent.includes('growing by ')")
    assert_match(/growing by \d+.KB a minute since (\d+\u00a0\w+ )?\d\d:\d\d; none was freed/, text(".one .sentence"))
    @server.tick(3)
    wait_until("!!document.querySelector('.one .blocks td:nth-child(3)')")
    eventually_ages = wait_until("(() => { const t = document.querySelectorAll('.one .blocks')[1].querySelector('td:nth-child(3)').textContent; return t !== '\u2013' && t; })()")
    assert_match(/\Aabout (\d+\u00a0\w+ )?\d\d:\d\d, \d+ m \d+ s ago\z/, eventually_ages)
    assert_match(/\A\d+\u2013\d+ \(about /, texts(".one .histogram:nth-of-type(2) tbody th").last)
  end

  # --- tabs ------------------------------------------------------------------------------

  HIDE = "Object.defineProperty(document, 'hidden', { configurable: true, get: () => !window.shown })"

  # A browser has six connections for a host.
  def test_a_seventh_tab
    visit
    tabs = Array.new(6) do
      @context.create_page.tap do |tab|
        tab.command("Page.addScriptToEvaluateOnNewDocument", source: HIDE)
        tab.go_to(@server.url)
      end
    end
    wait_until("document.title.includes('live')")
    tabs.each { |tab| eventually_in(tab, "/^\\d.* live \u2013 mwrap$/.test(document.title)") } # asked for, without a stream
    last = tabs.pop
    last.evaluate("[window.shown = true, document.dispatchEvent(new Event('visibilitychange'))].length")
    eventually_in(last, "document.querySelector('.light')?.dataset.state === 'live' && document.querySelectorAll('#{ROWS}').length > 0")
  end

  def eventually_in(tab, code)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + LONG
    until tab.evaluate(code)
      flunk "never: #{code}; the title is #{tab.evaluate("document.title").inspect}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
      sleep 0.05
    end
  end

  def test_a_hidden_tab_closes_its_stream_and_keeps_what_it_saw
    visit
    @server.tick(20)
    wait_until("document.querySelector('#{ROWS} .trend').dataset.way === 'up'")
    @server.asked
    js("[#{HIDE}, window.shown = false, document.dispatchEvent(new Event('visibilitychange'))].length")
    eventually_watchers(0)
    @server.tick(30)
    js("[window.shown = true, document.dispatchEvent(new Event('visibilitychange'))].length")
    eventually_watchers(1)
    before = text(".process")
    wait_for_live
    @server.tick(60)
    wait_until("document.querySelector('.process').textContent !== arguments[0]", before)
    assert_equal ["up", LEAK], [js("document.querySelector('#{ROWS} .trend').dataset.way"), locations.first]
    assert_equal "", text(".said")
  end

  # Its title is about now, whatever time is shown.
  def test_a_hidden_tab_asks_what_there_is_now
    visit(hash: "#time=8000-9000")
    verdict_is(/ a minute over 1000 s, /)
    refute_includes @server.asked, "GET /verdict.json"
    js("[#{HIDE}, window.shown = false, document.dispatchEvent(new Event('visibilitychange'))].length")
    asked(/\AGET \/verdict\.json\z/)
    js("[window.shown = true, document.dispatchEvent(new Event('visibilitychange'))].length")
    wait_for_live
    verdict_is(/ a minute over 1000 s, /)
  end

  def eventually_watchers(n)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + LONG
    until (now = @server.watchers) == n
      flunk "#{now} watch" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
      sleep 0.05
    end
  end

  # --- for those who listen, and who type fast ----------------------------------------------

  def test_ticks_are_not_spoken
    visit
    js(<<~JS)
      (() => {
        window.spoken = [];
        const regions = document.querySelectorAll("[role=status], [aria-live], [role=alert]");
        for (const region of regions)
          new MutationObserver(() => spoken.push(region.textContent)).observe(region, { childList: true, characterData: true, subtree: true });
        return regions.length;
      })()
    JS
    before = text(".toolbar .summary")
    @server.tick(10)
    wait_until("document.querySelector('.toolbar .summary').textContent !== arguments[0]", before)
    assert_empty js("spoken")
    type("redcarpet")
    wait_until("spoken.join() === '1 of ' + document.querySelector('.heard').textContent.match(/of (\\d+)/)?.[1] + ' locations'")
  end

  def test_the_key_behind_a_slash_is_not_lost
    visit
    js(<<~JS)
      (() => { document.activeElement.blur();
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true, cancelable: true })); window.focused = document.activeElement.type; })()
    JS
    assert_equal "search", js("window.focused"), "at once, not with the next frame"
    keys(:Escape)
    click("#{ROWS} td.location a")
    wait_until("!document.querySelector('.one').hidden")
    keys("/", "r", "e", "d")
    wait_until("document.querySelector('input[type=search]').value === 'red'")
  end
end
