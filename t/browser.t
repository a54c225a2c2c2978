#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The page at / in a real browser, with a made-up app behind it.
require_relative "lib/made_up_page"

class PageTest < Minitest::Test
  include MadeUpPage
  include BrowserTest::Quiet

  def test_the_leak_is_the_first_row_and_its_curve_rises
    visit
    assert_equal LEAK, locations.first
    @server.tick(20)
    wait_until("document.querySelector('#{ROWS} .trend').dataset.way === 'up'")
    verdict_is(/\AGrows by .* 91 % of that at redcarpet\.rb:51; it explains 96 % of RSS's growth\.\z/)
    assert_equal "true", js("document.querySelector('.verdict').dataset.growing")
    assert_match(/\d+ locations/, text(".toolbar .summary"))
    assert_includes text(".process"), "pid 4711"
    assert_match(/\d.*MB/, text(".figure.live dd"))
    assert_equal 1, js("document.querySelectorAll('.headline canvas').length")
  end

  def test_numbers_move_while_it_leaks
    visit
    before = text("#{ROWS} td.growth")
    exact = js("parseInt(document.querySelector('#{ROWS} td.growth').title.replaceAll(',', ''))")
    @server.tick(30)
    wait_until("document.querySelector('#{ROWS} td.growth').textContent !== arguments[0]", before)
    assert_operator js("parseInt(document.querySelector('#{ROWS} td.growth').title.replaceAll(',', ''))"), :>, exact
  end

  def test_sorts_by_every_column_both_ways
    visit("--locations=20", hash: "#columns=#{(COLUMNS - %w[location]).join("+")}")
    @server.tick(20)
    wait_until("document.querySelector('#{ROWS} .trend').dataset.way === 'up'")
    COLUMNS.each do |id|
      2.times { assert_ordered id, sort_by(id) }
    end
  end

  def assert_ordered(id, way)
    # rows that came late have no curve yet, and are at the end; every fifth second brings one
    return assert_operator(locations.index(LEAK), way == "ascending" ? :> : :<, 8) if id == "trend"
    values = values(id)
    assert_operator values.size, :>, 15
    return assert_operator(values.first <=> values.last, way == "ascending" ? :< : :>, 0) if id == "location"
    assert_equal values.compact, values.first(values.compact.size), "#{id} #{way}: what isn't known comes last"
    pairs = values.compact.each_cons(2)
    assert(way == "ascending" ? pairs.all? { |a, b| a <= b } : pairs.all? { |a, b| a >= b }, "#{id} #{way}: #{values.inspect}")
  end

  def test_filters_as_it_is_typed
    visit
    js("document.body.focus()")
    keys("/")
    wait_until("document.activeElement.type === 'search'")
    keys("redcarpet")
    wait_until("document.querySelectorAll('#{ROWS}').length === 1")
    assert_equal [LEAK], locations
    wait_until("location.hash.includes('q=redcarpet')")
    type("gem:rack")
    wait_until("[...document.querySelectorAll('#{ROWS} td.location')].every((n) => n.textContent.includes('rack-3.1.23'))")
    type("no such thing")
    wait_until("!document.querySelector('.nothing').hidden")
    assert_includes text(".nothing"), "no such thing"
    keys(:Escape)
    wait_until("document.querySelectorAll('#{ROWS}').length > 10")
  end

  def test_groups_by_file_folder_and_gem
    visit
    { "gem" => "redcarpet-3.3.2", "dir" => File.dirname(LEAK), "file" => LEAK.delete_suffix(":51") }.each do |group, name|
      click("[data-group=#{group}]")
      wait_until("document.querySelector('#{ROWS} td.location').textContent === arguments[0]", name)
    end
    click("[data-group=gem]")
    wait_until("document.querySelector('#{ROWS} td.location').textContent === 'redcarpet-3.3.2'")
    click("#{ROWS} td.growth")
    wait_until("document.querySelectorAll('#{ROWS}').length === 1")
    assert_equal [LEAK], locations
  end

  def test_opens_a_location_and_comes_back
    visit
    @server.tick(5)
    click("#{ROWS} td.location a")
    wait_until("!!document.querySelector('.one .histogram td')")
    assert_equal LEAK, text(".one h1")
    assert_match(/\A[\d,]+ blocks live, .*none was freed/, text(".one .sentence"))
    wait_until("!!document.querySelector('.source .here')")
    assert_includes text(".source .here"), '# <b>"kept"</b> & never freed'
    assert_equal 2, js("document.querySelectorAll('.one canvas').length")
    assert_equal 10, js("document.querySelectorAll('.one .blocks')[1].querySelectorAll('tbody tr').length")
    assert_equal ["/at/#{CGI.escape(LEAK)}", ""], js("[location.pathname, location.hash]")
    keys(:Escape)
    wait_until("!document.querySelector('.browse').hidden && document.querySelector('.one').hidden")
    js("history.back()")
    wait_until("!document.querySelector('.one').hidden")
  end

  def test_arrows_and_enter
    visit
    js("document.body.focus()")
    keys(:Down)
    wait_until("document.querySelector('.locations').getAttribute('aria-activedescendant') === 'row-0'")
    keys(:Down)
    wait_until("document.querySelector('#row-1').getAttribute('aria-selected') === 'true'")
    keys(:End)
    wait_until("document.querySelector('tr[aria-selected]')?.getAttribute('aria-rowindex') === document.querySelector('.locations').getAttribute('aria-rowcount')")
    keys(:Home)
    wait_until("document.querySelector('#row-0')?.getAttribute('aria-selected') === 'true'")
    keys(:Enter)
    wait_until("document.querySelector('.one h1')?.textContent === arguments[0]", LEAK)
  end

  def test_only_what_can_be_seen_is_in_the_document
    visit("--locations=50000")
    wait_until("document.querySelector('.locations').getAttribute('aria-rowcount')") { |n| n.to_i == 50_001 }
    assert_operator js("document.querySelectorAll('#{ROWS}').length"), :<, 80
    js("document.querySelector('.grid').scrollTop = 26 * 30000")
    wait_until("Number(document.querySelector('#{ROWS}').getAttribute('aria-rowindex')) > 29000")
    assert_operator js("document.querySelectorAll('#{ROWS}').length"), :<, 80
    type("part_77")
    wait_until("/^[\\d,]+ of 50,0\\d\\d locations/.test(document.querySelector('.toolbar .summary').textContent)")
    assert locations.all? { |l| l.include?("part_77") }
  end

  # By a few rows, up and down: those that stay in sight stay in the document, as they are.
  def test_scrolling_takes_rows_from_one_end_to_the_other
    visit("--locations=5000")
    js("document.querySelector('.grid').scrollTop = 26 * 1000")
    wait_until("Number(document.querySelector('#{ROWS}').getAttribute('aria-rowindex')) > 900")
    [5, -7].each do |by|
      js("document.querySelectorAll('#{ROWS}').forEach((n) => { n.was = [n.getAttribute('aria-rowindex'), n.textContent].join(); })")
      first = js("Number(document.querySelector('#{ROWS}').getAttribute('aria-rowindex'))")
      js("document.querySelector('.grid').scrollTop += 26 * arguments[0]", by)
      wait_until("Number(document.querySelector('#{ROWS}').getAttribute('aria-rowindex'))") { |n| n == first + by }
      same, all, orderly = js(<<~JS)
        (() => {
          const rows = [...document.querySelectorAll("#{ROWS}")], at = rows.map((n) => Number(n.getAttribute("aria-rowindex")));
          return [rows.filter((n) => n.was === [n.getAttribute("aria-rowindex"), n.textContent].join()).length, rows.length,
            at.every((v, i) => !i || v === at[i - 1] + 1) && rows.every((n) => n.id === `row-${n.getAttribute("aria-rowindex") - 2}`)];
        })()
      JS
      assert_equal all - by.abs, same
      assert orderly
      assert_operator all, :>, 20
    end
  end

  # Rows in sight come first, the rest when no more is typed
  def test_rows_out_of_sight_have_time_while_somebody_types
    visit("--locations=500")
    count = js("document.querySelectorAll('#{ROWS}').length")
    least = js(<<~JS)
      (() => {
        let least = Infinity;
        new MutationObserver(() => { least = window.least = Math.min(least, document.querySelectorAll("#{ROWS}").length); })
          .observe(document.querySelector(".locations tbody"), { childList: true });
        return least === Infinity;
      })()
    JS
    assert least
    type("part")
    wait_until("document.querySelectorAll('#{ROWS}').length === arguments[0] && window.least < arguments[0]", count)
    seen = js("Math.ceil(document.querySelector('.grid').clientHeight / 26) + 1")
    assert_equal seen, js("window.least")
    assert_operator count, :>, seen
  end

  # By trend, what grows steadily comes first, under its own words, and it alone is coloured.
  def test_sections
    visit
    first = wait_until("document.querySelector('#row-0').dataset.section || ''") { |words| words.match?(/\AGrows steadily \(\d+\)\z/) }
    n = first[/\d+/].to_i
    assert_equal LEAK, locations.first
    wait_until("document.querySelector('.toolbar .summary').textContent.includes(' \u00b7 #{n} grow')")
    sections = "[...document.querySelectorAll('#{ROWS}[data-section]')].map((r) => [r.id, r.dataset.section])"
    assert_equal [["row-0", "Grows steadily (#{n})"], ["row-#{n}", "Everything else, by size"]], js(sections)
    assert_equal n, js("document.querySelectorAll('#{ROWS}:not([data-rest])').length")
    neutral = js("(() => { const p = document.createElement('i'); p.style.background = 'var(--neutral)'; document.body.append(p); return getComputedStyle(p).backgroundColor; })()")
    colours = js("[...document.querySelectorAll('#{ROWS}')].map((r) => [r.matches('[data-rest]'), r.querySelector('td.growth[data-sign=more] > i')]).filter(([, i]) => i).map(([rest, i]) => [rest, getComputedStyle(i).backgroundColor])")
    refute_empty colours
    colours.each { |rest, colour| assert_equal rest, colour == neutral }
    assert js("[...document.querySelectorAll('td[data-section] > a:first-child')].every((a) => a.getBoundingClientRect().right <= a.closest('td').getBoundingClientRect().right - 160)"), "the words hide no line's number"
    sort_by("live")
    wait_until("document.querySelectorAll('#{ROWS}[data-section], #{ROWS}[data-rest]').length === 0")
  end

  # A mark is the tab's own: nothing is sent, and it is there when the page is loaded again.
  def test_marks_and_clears
    visit("--read-only")
    assert_equal %w[Mark], js("[...document.querySelectorAll('.actions button')].filter((b) => !b.hidden).map((b) => b.textContent)")
    assert_equal "growth since start", text("th[data-column=growth] .title")
    @server.asked
    click("[data-action=mark]")
    wait_until("document.querySelector('th[data-column=growth]').getAttribute('aria-sort') === 'descending'")
    assert_match(/\Agrowth since mark \d\d:\d\d\z/, text("th[data-column=growth] .title"))
    assert_match(/\AMarked: this tab shows growth since \d\d:\d\d:\d\d\.\z/, text(".said"))
    assert_equal 0, values("growth").sum
    @server.tick(10)
    wait_until("parseInt(document.querySelector('#{ROWS} td.growth').title.replaceAll(',', '')) > 1e6")
    assert_equal LEAK, locations.first
    wait_until("document.querySelector('.event[data-kind=own]')?.textContent === 'my mark'")
    grown = values("growth").first
    refresh
    wait_for_first_tick
    wait_until("/since mark/.test(document.querySelector('th[data-column=growth] .title')?.textContent)")
    eventually_values("growth") { |v| v.first == grown }
    click("[data-action=unmark]")
    wait_until("document.querySelector('th[data-column=growth] .title').textContent === 'growth since start'")
    assert_empty @server.asked.grep(/POST/)
  end

  # The focus begins on what changes nothing.
  def test_resets_after_asking_once
    visit
    @server.asked
    top = js("document.querySelector('.figures').getBoundingClientRect().top")
    click("[data-action=reset]")
    wait_until("!document.querySelector('.ask').hidden && document.activeElement.classList.contains('no')")
    assert_includes text(".ask"), "start again at zero"
    assert_equal top, js("document.querySelector('.figures').getBoundingClientRect().top"), "the page stays where it is"
    keys(:Enter)
    wait_until("document.querySelector('.ask').hidden")
    click("[data-action=reset]")
    keys(:Escape)
    wait_until("document.querySelector('.ask').hidden")
    assert_empty @server.asked.grep(/POST/)
    click("[data-action=reset]")
    click(".ask .yes")
    wait_until("document.querySelector('.said').textContent.startsWith('reset: ')")
    assert_equal top, js("document.querySelector('.figures').getBoundingClientRect().top")
    wait_until("[...document.querySelectorAll('#{ROWS} td.growth')].every((n) => n.title.startsWith('0 '))")
    wait_until("/^growth since reset \\d\\d:\\d\\d$/.test(document.querySelector('th[data-column=growth] .title').textContent)")
    click("[data-action=trim]")
    wait_until("document.querySelector('.said').textContent === 'trim: 12.3 MB were given back to the system'")
    click("[data-action=pause]")
    click(".ask .yes")
    wait_until("document.querySelector('.light').dataset.state === 'paused' && !!document.querySelector('.warning')")
    verdict_is(/\ATracking is paused/)
    click("[data-action=resume]")
    wait_until("document.querySelector('.light').dataset.state === 'live' && !document.querySelector('.warning')")
    assert_equal ["POST /reset", "POST /trim", "POST /pause", "POST /resume"], @server.asked.grep(/POST/)
    wait_until("[...document.querySelectorAll('.event')].map((n) => n.dataset.kind).join() === 'annotation,reset,trim,pause,resume'")
    assert_match(/\A\d\d:\d\d:\d\d annotation: deploy-17\z/, js("document.querySelector('.event').title"))
  end

  def test_annotates
    visit
    @server.asked
    click("[data-action=annotate]")
    wait_until("document.activeElement.matches('.ask input')")
    click(".ask .yes")
    assert_includes text(".said"), "1 to 80 bytes"
    js("document.activeElement.value = arguments[0]", "deploy \u201c18\u201d & <b>")
    keys(:Enter)
    wait_until("document.querySelector('.said').textContent === 'annotated' && document.querySelector('.ask').hidden")
    assert_equal ["POST /annotate?text=deploy%20%E2%80%9C18%E2%80%9D%20%26%20%3Cb%3E"], @server.asked.grep(/POST/)
    wait_until("[...document.querySelectorAll('.event')].at(-1).title.endsWith('annotation: deploy \u201c18\u201d & <b>')")
  end

  def test_survives_a_restart
    visit
    @server.tick(3)
    @server.die
    wait_until("document.querySelector('.light').dataset.state === 'gone'")
    assert_match(/pid 4711 ended at \d\d:\d\d.*last data kept/, text(".light"))
    assert_equal LEAK, locations.first
    verdict_is(/\AUntil \d\d:\d\d: Grows by /)
    assert_equal "false", js("document.querySelector('.verdict').dataset.growing")
    wait_until("[...document.querySelectorAll('.actions button:not([hidden])')].filter((b) => !b.disabled).map((b) => b.textContent).join() === 'Save what is shown'")
    # no link leaves the page that has the data
    js("(() => { const a = document.createElement('a'); a.href = '/stats'; a.textContent = 'Stats'; document.querySelector('header').append(a); a.click(); a.remove(); })()")
    wait_until("document.querySelector('.said').textContent") { |said| said == "Nobody answers, so \u201cStats\u201d can\u2019t be opened. This page keeps the last data." }
    assert_equal [LEAK, "gone"], [locations.first, js("document.querySelector('.light').dataset.state")]
    assert_saves
    @server.back
    wait_until("document.querySelector('.light').dataset.state === 'live' && document.querySelector('.process').textContent.includes('pid 4712')")
    assert_includes text(".said"), "Another process"
    wait_until("document.querySelector('#{ROWS} td.location').textContent === arguments[0]", LEAK)
    @allowed = ["/live", "/history", "/verdict.json", "/stats"]
  end

  # Saves the table as a file
  def assert_saves
    js(<<~JS)
      (() => { window.saved = null; URL.createObjectURL = (blob) => { blob.text().then((t) => { window.saved = t; }); return "data:,"; };
        HTMLAnchorElement.prototype.click = function () { window.savedAs = this.download; }; })()
    JS
    click("[data-action=save]")
    lines = wait_until("window.saved").lines(chomp: true).map { |l| l.split("\t") }
    assert_equal MwrapTest::COLUMNS, lines[0]
    assert_equal [LEAK, js("Number(document.querySelector('.locations').getAttribute('aria-rowcount'))")], [lines[1][MwrapTest::COLUMNS.index("location")], lines.size]
    assert_match(/\Amwrap-4711-\d{4}\.tsv\z/, js("window.savedAs"))
    assert_match(/\A\d+ rows were saved\.\z/, text(".said"))
  end

  def test_a_cut_connection_comes_back_to_the_same_process
    visit
    @server.tick(20)
    wait_until("document.querySelector('#{ROWS} .trend').dataset.way === 'up'")
    # "gone" is there for half a second only
    js(<<~JS)
      (window.states = [], new MutationObserver(() => states.push(document.querySelector(".light").dataset.state))
        .observe(document.querySelector(".light"), { attributeFilter: ["data-state"] }))
    JS
    @server.cut
    wait_until("states.join() === 'gone,live'")
    assert_equal "up", js("document.querySelector('#{ROWS} .trend').dataset.way"), "what was seen is kept"
    assert_equal "", text(".said")
    @allowed = ["/live"]
  end

  def test_hostile_names_are_text
    visit("--locations=60")
    ["onerror", "<script", "two", "bytes.rb", "javascript:", "gnp.rb", "a\"b'c"].each do |part|
      type(part)
      wait_until("document.querySelectorAll('#{ROWS}').length === 1 && document.querySelector('#{ROWS} td.location').textContent.includes(arguments[0])", part)
      click("#{ROWS} td.location a")
      wait_until("!document.querySelector('.one').hidden && document.querySelector('.one h1').textContent.includes(arguments[0])", part)
      wait_until("!!document.querySelector('.one .histogram td')")
      click(".back")
      wait_until("document.querySelector('.one').hidden")
    end
    assert_nil js("window.hostile ?? null")
    assert_equal 0, js("document.querySelectorAll('main img, main script, main iframe').length")
    click("[data-group=gem]")
    click("[data-view=map]")
    type("")
    wait_until("document.querySelectorAll('.area').length > 5")
    assert_nil js("window.hostile ?? null")
  end

  def test_the_treemap_by_keyboard
    visit(hash: "#view=map&group=gem")
    wait_until("document.querySelectorAll('.area').length > 5")
    assert_equal "redcarpet-3.3.2", text(".area b")
    js("document.querySelector('.area').focus()")
    keys(:Enter)
    wait_until("document.querySelector('.map .path').textContent.includes('All gems \u203a redcarpet-3.3.2')")
    keys(:Escape)
    wait_until("!document.querySelector('.map .path').textContent.includes('redcarpet')")
    assert_operator js("document.querySelectorAll('.map li').length"), :>, 3
  end

  # The outer areas are the rows of the table by that group; what a colour means is said.
  def test_the_treemap_of_each_group
    visit(hash: "#view=map")
    { "line" => "redcarpet.rb:51", "file" => "redcarpet.rb", "dir" => "lib", "gem" => "redcarpet-3.3.2" }.each do |group, name|
      click("[data-group=#{group}]")
      wait_until("document.querySelector('.map .path b').textContent === arguments[0] && document.querySelector('.area b').textContent === arguments[1]",
                 { "line" => "All lines", "file" => "All files", "dir" => "All folders", "gem" => "All gems" }[group], name)
    end
    assert_match(/\AArea: live bytes\. Colour: growth since start, where it is over 30.% of the area: /, text(".map .legend"))
    colour = "((n) => getComputedStyle(n).backgroundColor)(document.querySelector(arguments[0]))"
    (1..3).each { |heat| refute_equal js(colour, ".boxes"), js(colour, ".legend [data-heat='#{heat}']") }
    click(".area") # the gem is looked into; another group begins outside
    wait_until("document.querySelector('.map .path').textContent.includes('\u203a')")
    click("[data-group=line]")
    wait_until("!document.querySelector('.map .path').textContent.includes('\u203a')")
  end

  # The address of a location's page is that of its panel, also of one that is opened by a short id.
  def test_a_location_has_an_address
    visit(hash: "at/#{CGI.escape(LEAK)}", width: 1440, height: 900)
    wait_until("!!document.querySelector('.source .here') && !!document.querySelector('.one .histogram td')")
    assert_equal LEAK, text(".one h1")
    curve, source = %w[.one\ .plot .source\ ol].map { |n| js("document.querySelector(arguments[0]).getBoundingClientRect().toJSON()", n) }
    assert_operator source["left"], :>=, curve["right"], "beside the curve"
    assert_operator [curve, source].map { |box| box["bottom"] }.max, :<=, 900, "above the fold"
    refute js("document.querySelector('.one .blocks').checkVisibility()"), "addresses are folded"
    click(".one details summary")
    wait_until("document.querySelector('.one .blocks').checkVisibility()")
    click(".one .back")
    wait_until("!document.querySelector('.browse').hidden && document.querySelectorAll('#{ROWS}').length > 0")
    assert_equal "/", js("location.pathname")
    js("history.back()")
    wait_until("document.querySelector('.one h1').textContent === arguments[0] && !document.querySelector('.one').hidden", LEAK)
    refresh
    wait_until("document.querySelector('.one h1')?.textContent === arguments[0] && !document.querySelector('.one').hidden", LEAK)
  end

  def test_an_older_link_leads_there
    visit(hash: "#at=#{CGI.escape(LEAK)}&range=1h")
    wait_until("document.querySelector('.one h1').textContent === arguments[0]", LEAK)
    assert_equal ["/at/#{CGI.escape(LEAK)}", "#range=1h"], js("[location.pathname, location.hash]")
  end

  def test_a_view_is_in_the_address
    visit(hash: "#q=cache&group=file&sort=live&range=6h")
    wait_until("document.querySelectorAll('#{ROWS}').length === 1")
    assert_equal ["/srv/app/app/models/cache.rb"], locations
    assert_equal "cache", js("document.querySelector('input[type=search]').value")
    assert_equal "true", js("document.querySelector('[data-range=\"6h\"]').getAttribute('aria-pressed')")
    assert_equal "descending", js("document.querySelector('th[data-column=live]').getAttribute('aria-sort')")
  end

  def test_states_that_are_not_usual
    visit("--read-only", "--no-ruby", "--flat", base: "/admin/mwrap")
    assert js("[...document.querySelectorAll('.actions button:not([data-action=mark])')].every((b) => b.hidden)")
    assert_includes text(".process"), "read-only"
    assert_includes text(".process"), "no Ruby"
    assert js("document.querySelector('.figure.heap').hidden")
    verdict_is(/\ANothing grows: flat for 3 hours\.\z/)
  end

  def test_one_location_and_none
    visit("--locations=1")
    assert_equal [LEAK], locations
    assert_includes text(".toolbar .summary"), "1 location "
    teardown
    visit("--empty", ready: false)
    wait_until("document.querySelector('.nothing') && !document.querySelector('.nothing').hidden")
    assert_includes text(".nothing"), "Nothing was allocated"
  end

  def test_a_phone_needs_no_sideways_scrolling
    visit(width: 390, height: 844, scheme: "dark")
    assert_operator js("document.documentElement.scrollWidth"), :<=, 390
    assert js("(() => { const g = document.querySelector('.grid'); return g.scrollWidth <= g.clientWidth + 1; })()")
    assert_equal %w[growth trend location], js("[...document.querySelectorAll('thead th')].map((n) => n.dataset.column)")
  end

  # Without scripts, too: the rows scroll in a window of their own, and the head stays above them.
  def test_a_long_table_keeps_its_head
    visit(scripts: false, ready: false, height: 300)
    tops = -> { js("['.scroll', '.rows thead th', '.rows tbody tr'].map((n) => document.querySelector(n).getBoundingClientRect().top)") }
    before = tops.call
    js("document.querySelector('.scroll').scrollTo(0, 200)")
    after = tops.call
    assert_in_delta after[0], after[1], 1, "the head is at the window's top"
    assert_in_delta before[2] - 200, after[2], 40, "the rows have moved"
    assert_operator js("document.querySelector('.scroll').clientHeight"), :<=, 300
  end

  def test_without_scripts_the_plain_page_stays
    serve
    require "net/http"
    page = Net::HTTP.get(URI(@server.url))
    assert_includes page, "<td class=\"location\">#{LEAK}</td>"
    assert_includes page, '<script type="module" src="/dist/mwrap.js"></script>'
    refute_match(/<script>|style="|<img/, page)
  end
end
