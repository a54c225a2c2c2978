#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The flame graph at /flame in Chromium, of a real process, and the control of exact callers.
# browser_flame.t has the page with made-up stacks.
require_relative "lib/browser"
require_relative "lib/served"
require_relative "lib/two_callers"

class RealFlameTest < Minitest::Test
  include BrowserTest
  include BrowserTest::Quiet

  APP = TwoCallers::KEEP + <<~RUBY
    def caller_of_it(n) = n.times { keep }
    GC.disable
    while (line = gets)
      caller_of_it(line.to_i)
      puts "done"
    end
  RUBY
  LINE = APP.lines.index { |l| l.include?("# the line") } + 1

  attr_reader :origin

  def line = "#{path("app.rb")}:#{LINE}"

  def start(*options)
    app = served_ruby(APP, options: ["listen:127.0.0.1:0", *options])
    app.ask("300")
    at_rest(app)
    @origin = origin_of(app)
    app
  end

  def flame(query = "", **look)
    open_page("#{origin}/flame#{query}", **look)
    wait_until("!!document.querySelector('.flame .top-frames tbody tr') && !document.querySelector('.flame[aria-busy]')")
  end

  def live_bytes(rows = tsv) = rows.sum(&:live_bytes)

  # The page has asked for all of it, and says so.
  def assert_total(bytes)
    assert_equal bytes, JSON.parse(body("/flame.json#{js("location.search")}"))["total"]
    mb = bytes / 1048576.0
    digits = mb < 9.995 ? 2 : mb < 99.95 ? 1 : 0 # as format.js
    assert_operator text(".flame .summary"), :start_with?, format("%.*f\u00a0MB", digits, mb)
  end

  def test_it_draws_what_there_is
    start("stacks:64k")
    flame
    assert_nil text(".flame-plain")
    assert_match(/ are live, as of .* Callers are estimated from \d+ samples/, text(".flame .summary"))
    assert_total live_bytes
    click(".top-frames [data-column=total] button")
    wait_until("[...document.querySelectorAll('.top-frames tbody button')].some((b) => b.textContent.endsWith('caller_of_it'))")
    assert_operator js("document.querySelector('.flame canvas').width").to_i, :>, 300
  end

  # The live table: a column, a group and a filter, where stacks are kept.
  def test_kinds
    start("stacks:64k")
    open_page("#{origin}/")
    kind = "[...document.querySelectorAll('.locations tbody tr')].find((tr) => tr.textContent.includes('app.rb:#{LINE}'))?.querySelector('td:nth-child(' + " \
           "(1 + [...document.querySelectorAll('.locations th')].findIndex((th) => th.dataset.column === 'kind')) + ')')?.textContent"
    wait_until("/^string.\\d+.%$/.test(#{kind})")
    click(".toolbar [data-group=kind]")
    wait_until("[...document.querySelectorAll('.locations tbody a')].some((a) => a.textContent === 'string')")
    js("[...document.querySelectorAll('.locations tbody a')].find((a) => a.textContent === 'string').click()")
    wait_until("document.querySelector('.toolbar input').value === 'kind:\"string\"' && document.querySelector('.locations').textContent.includes('app.rb:#{LINE}')")
    assert_match(/[?&]kind=string/, js("document.querySelector('.toolbar [data-form=tsv]').search"))
  end

  def test_no_kinds_without_stacks
    start("stacks:off")
    open_page("#{origin}/")
    wait_until("!!document.querySelector('.locations tbody tr[role=row]')")
    assert_equal [true, nil, true], [js("document.querySelector('.toolbar [data-group=kind]').hidden"), text(".locations [data-column=kind]"),
                                     js("document.querySelector('.menu input[value=kind]').parentNode.hidden")]
  end

  def test_one_location
    start("stacks:64k")
    flame("?location=#{escape(line)}")
    assert_total tsv.find { |r| r.location == line }.live_bytes
    assert_includes text(".flame .summary"), "app.rb:#{LINE}"
  end

  # --- which frames are shown, and between what ---------------------------------------------

  def names = texts(".top-frames tbody button")

  def test_ruby_frames_and_start_up
    start("stacks:64k")
    flame
    assert_includes names.join(" "), "#{RUBY_FILE}, internal"
    click(".flame [data-action=ruby]")
    wait_until("location.search === '?frames=ruby' && !document.querySelector('.flame[aria-busy]')")
    wait_until("!document.querySelector('.top-frames').textContent.includes(', internal')")
    assert_equal "String#*", (names - [STARTING])[0]
    assert_total live_bytes
    click(".flame [data-action=startup]")
    wait_until("location.search === '?frames=ruby&startup=hide' && document.querySelector('.flame .summary').textContent.includes('Start-up isn\u2019t shown: ')")
    assert_equal %w[true true], %w[ruby startup].map { |a| js("document.querySelector('.flame [data-action=#{a}]').ariaPressed") }
    refute_includes text(".top-frames"), "(ruby, starting)"
    # what is saved is the same
    link = js("[...document.querySelectorAll('.exports a')].find((a) => a.textContent === 'collapsed').href")
    assert_equal "#{origin}/stacks.collapsed?frames=ruby&startup=hide", link
    refresh
    wait_until("!!document.querySelector('.flame .top-frames tbody tr')")
    assert_equal "true", js("document.querySelector('.flame [data-action=ruby]').ariaPressed")
    click(".flame [data-action=ruby]")
    wait_until("location.search === '?startup=hide' && document.querySelector('.top-frames').textContent.includes('#{RUBY_FILE}, internal')")
  end

  # Growth between two moments, without the live page
  def test_growth_since_a_moment
    app = start("stacks:64k")
    moment
    assert_equal 200, post("/mark").status
    app.ask("100")
    flame("?by=growth")
    js("(() => { const s = document.querySelector('.toolbar select'); s.value = 'mark'; s.dispatchEvent(new Event('change')); })()")
    wait_until("location.search === '?by=growth&since=mark' && document.querySelector('.flame .summary').textContent.includes('since the mark at')")
    assert_match(/\ALive bytes grew by (1\.9|2\.0)\d.MB since the mark/, text(".flame .summary"))
    assert_equal %w[grew shrank], texts(".legend .swatch").first(2)
    js("(() => { const s = document.querySelector('.toolbar select'); s.value = '15m'; s.dispatchEvent(new Event('change')); })()")
    wait_until("location.search === '?by=growth&range=15m' && / from .* to /.test(document.querySelector('.flame .summary').textContent)")
    click("[data-by=live]")
    wait_until("document.querySelector('.toolbar select').hidden")
  end

  # --- the ways there ---------------------------------------------------------------------

  def live_page(hash = "")
    open_page("#{origin}/#{hash}")
    wait_for_live
  end

  def test_called_by_on_a_location_s_page
    start("stacks:64k")
    live_page("#at=#{escape(line)}")
    rows = wait_until("[...document.querySelectorAll('.one .called tbody tr')].map((tr) => [...tr.children].map((td) => td.textContent))") { |r| r.any? && r }
    bytes = tsv.find { |r| r.location == line }.live_bytes
    assert_equal [format("%.2f\u00a0MB", bytes / 1048576.0), "100\u00a0%"], rows[0].first(2)
    file, = 1.method(:times).source_location # from Ruby 3.3 on it is written in Ruby
    assert_match(/keep app\.rb:#{LINE} ← block in .*caller_of_it app\.rb:#{LINE + 2} ← Integer#times#{" #{file}:\\d+" if file} ← /, rows[0].last)
    assert_match(/estimated from \d+ samples/, text(".one .note:has(a)"))
    click(".one .note a")
    wait_until("!!document.querySelector('.flame .top-frames tbody tr')")
    assert_equal "?location=#{escape(line)}&invert=1", js("location.search")
    assert_total bytes
  end

  # The row at hand leads there by a link, and by the key w.
  def test_from_a_row_of_the_table
    start("stacks:64k")
    live_page("#q=#{escape(line)}")
    wait_until("document.querySelectorAll('#{ROWS}').length === 1")
    assert_equal "#{origin}/flame?location=#{escape(line)}&invert=1", js("document.querySelector('#{ROWS} a.callers').href")
    shown = "getComputedStyle(document.querySelector('#{ROWS} a.callers')).display"
    assert_equal "none", js(shown)
    js("document.querySelector('table.locations').focus()")
    keys(:Down)
    wait_until("document.querySelector('#{ROWS}').ariaSelected === 'true'")
    assert_equal "block", js(shown)
    keys("w")
    wait_until("!!document.querySelector('.flame .top-frames tbody tr')")
    assert_includes text(".flame .summary"), "app.rb:#{LINE}"
  end

  # The history's last moment is later than all that was done.
  def moment
    done = stats["uptime"].floor
    eventually("a later moment of the history") do
      r = get("/flame.json?by=growth&range=all")
      r.status == 200 && JSON.parse(r.body)["range"]["to"].then { |to| to.to_i if to > done }
    end
  end

  # --- exact callers: the option bt ---------------------------------------------------------

  COSTS = File.read("#{MwrapTest::ROOT}/doc/performance.md").scan(/^\| (\d+) \| \+(\d+) % \|$/)

  # Both pages say what the document says.
  def assert_says_what_it_costs(text)
    assert_equal %w[2 4 8], COSTS.map(&:first)
    plain = text.tr("\u00a0", " ")
    COSTS.each { |n, percent| assert_match(/\b#{percent} % (more instructions for a string )?with #{n}\b/, plain) }
  end

  def callers_are(n)
    wait_until("document.querySelector('[data-action=callers]').textContent === 'Callers: #{n}\u2026'")
    assert_equal n, stats["bt"]
  end

  def test_exact_callers
    app = start("stacks:off")
    live_page
    callers_are 0
    click("[data-action=callers]")
    wait_until("document.activeElement.matches('.ask input')")
    assert_equal "0", js("document.activeElement.value")
    assert_says_what_it_costs text(".ask")
    ["17", "-1", "1.5", ""].each do |wrong|
      js("document.activeElement.value = arguments[0]", wrong)
      keys(:Enter)
      wait_until("document.querySelector('.said').textContent === 'Exact callers: a number from 0 to 16, please.'")
      js("document.querySelector('.said').textContent = ''")
    end
    js("document.activeElement.value = '2'")
    keys(:Enter)
    wait_until("document.querySelector('.said').textContent === 'bt is 2' && document.querySelector('.ask').hidden")
    callers_are 2
    app.ask("30")
    wait_until("document.querySelector('.locations').textContent.includes('app.rb:#{LINE} < ')")
    post("/ctl?bt=5")
    callers_are 5
    click("[data-action=callers]")
    assert_equal "5", js("document.activeElement.value")
    keys(:Escape)
    wait_until("document.querySelector('.ask').hidden")
    callers_are 5
  end

  def test_exact_callers_without_scripts
    app = start("bt:3")
    form = "form[action$=\"/ctl\"]"
    input = "document.querySelector('#{form} input')"
    open_page("#{origin}/", scripts: false)
    assert_equal "3", js("#{input}.value")
    assert_equal "Exact callers", text("#{form} label")
    assert_says_what_it_costs text(form)
    js("#{input}.value = '17'")
    assert_equal false, js("#{input}.checkValidity()")
    js("#{input}.value = '1'")
    click("#{form} button")
    wait_until("#{input}?.defaultValue === '1'")
    assert_equal 1, stats["bt"]
    # each process of a family has its own
    go_to("#{origin}/all/")
    assert_equal ["", false], [js("#{input}.value"), js("#{input}.checkValidity()")]
    js("#{input}.value = '4'")
    click("#{form} button")
    eventually("the change") { stats["bt"] == 4 }
    go_to("#{origin}/#{app.pid}/")
    assert_equal "4", js("#{input}.value")
  end

  def test_exact_callers_read_only
    start("read_only:1")
    live_page
    assert_equal true, js("document.querySelector('[data-action=callers]').hidden")
    close_page
    open_page("#{origin}/", scripts: false)
    assert_equal 0, js("document.querySelectorAll('[action$=\"/ctl\"]').length")
  end

  def test_who_called_what_grew_in_a_part_of_the_time
    app = start("stacks:64k")
    from = moment
    app.ask("200")
    to = moment
    app.ask("100")
    live_page("#time=#{from}-#{to}")
    wait_until("document.querySelector('.headline a.callers')?.hidden === false")
    assert_equal "callers of the growth", text(".headline a.callers")
    click(".headline a.callers")
    wait_until("!!document.querySelector('.flame .top-frames tbody tr') && !document.querySelector('.flame[aria-busy]')")
    assert_equal "?by=growth&from=#{from}&to=#{to}", js("location.search")
    clock = /\d\d:\d\d:\d\d/
    assert_match(/\ALive bytes grew by 3\.8\d.MB from #{clock} to #{clock}\. Callers are estimated from \d+ samples that were taken in that time and still live\.\z/, text(".flame .summary"))
    assert_match(/\Afrom #{clock} to #{clock} ×\z/, text(".flame [data-action=times]"))
    # the way back
    click(".flame [data-action=times]")
    wait_until("location.search === '?by=growth' && document.querySelector('.flame .summary').textContent.includes(' until ')")
    assert_equal true, js("document.querySelector('.flame [data-action=times]').hidden")
    js("history.back()")
    wait_until("document.querySelector('.flame .summary').textContent.includes(' to ')")
    click(".flame [data-by=total]")
    wait_until("location.search === '?by=total' && document.querySelector('.flame .summary').textContent.includes('were allocated')")
  end

  def test_since_the_mark_of_a_tab
    start("stacks:64k")
    moment
    live_page
    assert_equal true, js("document.querySelector('.headline a.callers').hidden")
    click("[data-action=mark]")
    wait_until("document.querySelector('.headline a.callers').hidden === false")
    assert_match(%r{/flame\?by=growth&from=\d+\z}, js("document.querySelector('.headline a.callers').href"))
  end

  def test_a_range_without_scripts
    app = start("stacks:64k")
    from = moment
    app.ask("200")
    to = moment
    open_page("#{origin}/flame?by=growth&from=#{from}&to=#{to}", scripts: false)
    assert_includes text(".flame-plain"), "caller_of_it"
    assert_match(/grew by 3\.8\d.MB from .* to .* of uptime\. Callers are estimated from \d+ samples/, text(".flame-plain .summary"))
    click(".flame-plain .summary a")
    wait_until("location.search === '?by=growth'")
    refute_includes text(".flame-plain .summary"), "of uptime"
    close_page
    open_page("#{origin}/at/#{escape(line)}", scripts: false)
    assert_match(/keep .*caller_of_it/m, text("table.called"))
  end

  def test_without_stacks_there_is_no_way
    start("stacks:off")
    live_page("#at=#{escape(line)}")
    wait_until("!!document.querySelector('.one .histogram tbody tr')")
    assert_equal true, js("document.querySelector('.one [aria-label=\"Called by\"]').hidden")
    assert_equal 0, js("document.querySelectorAll('#{ROWS} a.callers').length")
  end

  def test_without_scripts
    start("stacks:64k")
    open_page("#{origin}/flame", scripts: false)
    assert_includes text(".flame-plain"), "caller_of_it"
    assert_match(/estimated from \d+ samples\./, text(".flame-plain .summary"))
  end

  def test_without_stacks
    start("stacks:off")
    flame
    assert_total live_bytes
    assert_includes text(".flame .summary"), "No stacks are kept: the option stacks is off."
    assert_quiet
    close_page
    open_page("#{origin}/flame", scripts: false)
    assert_includes text(".flame-plain"), "No stacks are kept: the option stacks is off."
  end
end
