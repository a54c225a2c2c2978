#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The page at / in a real browser, served by a real process: a Ruby app under bin/mwrap
# that obeys the test, and the demo. browser.t has the page of a made-up app.
require_relative "lib/browser"
require_relative "lib/watcher"

class RealPageTest < Minitest::Test
  include BrowserTest
  include BrowserTest::Quiet
  include Watching

  APP = <<~RUBY
    require_relative "gems/hoard-1.2.3/lib/hoard"
    $stdout.sync = true
    KEPT, CACHE = [], {}
    def leak(n) = n.times { KEPT << ("x" * 10_000) } # the leak
    while (line = gets)
      case line
      when /\\Aleak (\\d+)/ then leak($1.to_i)
      when /\\Acache (\\d+)/ then $1.to_i.times { |i| CACHE[i] = "c" * (3000 + i) }
      when /\\Ahoard (\\d+)/ then Hoard.keep($1.to_i)
      when /\\Adrop/ then KEPT.clear; GC.start
      when /\\Aeval (.*)/ then KEPT << eval('"e" * 9000', nil, [$1].pack("H*").force_encoding("UTF-8"), 7)
      end
      puts "done"
    end
  RUBY
  HOARD = <<~RUBY
    module Hoard
      ALL = []
      def self.keep(n) = n.times { ALL << ("h" * 20_000) }
    end
  RUBY
  LEAK_LINE = APP.lines.index { |l| l.include?("# the leak") } + 1

  LEAKS = RUBY_VERSION.start_with?("3.2") ? 4400 : 400 # more than Ruby's own line

  attr_reader :origin

  def leak = "#{path("app.rb")}:#{LEAK_LINE}"

  # Starts the app; on the first time on a free port, which it keeps when it is started again.
  def start(*options)
    FileUtils.mkdir_p(path("gems/hoard-1.2.3/lib"))
    File.write(path("gems/hoard-1.2.3/lib/hoard.rb"), HOARD)
    File.write(path("app.rb"), APP)
    app = served(LAUNCHER, RUBY, path("app.rb"), env: { "LD_PRELOAD" => nil },
                 options: ["listen:127.0.0.1:#{origin ? URI(origin).port : 0}", *options])
    app.ask("leak #{LEAKS}")
    app.ask("cache 30")
    app.ask("hoard 10")
    @origin ||= origin_of(app)
    app
  end

  # Starts the app and loads the page; returns the app when the page has all of the table.
  def visit(*options, hash: "#sort=growth", **page)
    app = start(*options)
    look(hash, **page)
    app
  end

  def look(hash = "", **page)
    open_page("#{origin}/#{hash}", **page)
    wait_for_live
    wait_until("document.querySelectorAll('#{ROWS}').length > 0 || !document.querySelector('.one').hidden")
    wait_for_first_tick
  end

  def first_location = text("#{ROWS} td.location a")
  def first_is(location) = wait_until("document.querySelector('#{ROWS} td.location a')?.textContent === arguments[0]", location)
  def first_goes(way) = wait_until("document.querySelector('#{ROWS} .trend').dataset.way === arguments[0]", way)
  def state_is(state) = wait_until("document.querySelector('.light').dataset.state === arguments[0]", state)
  def said(text) = wait_until("document.querySelector('.said').textContent === arguments[0]", text)

  # Presses a control, and yes to what it asks.
  def press(name, asks: nil)
    click("[data-action=#{name}]")
    return unless asks
    wait_until("!document.querySelector('.ask').hidden")
    assert_includes text(".ask"), asks
    click(".ask .yes")
  end

  # --- the table ------------------------------------------------------------------

  def test_loads
    app = visit
    assert_equal leak, first_location
    assert_includes text(".process"), "pid #{app.pid}"
    assert_includes text(".process"), "ruby #{RUBY_VERSION}"
    assert_match(/\A[\d,]+ locations/, text(".toolbar .summary"))
    %w[rss live heap other].each { |f| assert_match(/\A\d.*[KMG]B\z/, text(".figure.#{f} dd")) }
    assert_equal 1, js("document.querySelectorAll('.headline canvas').length")
    assert_operator js("document.querySelector('.locations').getAttribute('aria-rowcount')").to_i, :>, 100
    assert_nil js("document.querySelector('.warning')")
  end

  # Each column both ways, and as the server sorts.
  def test_sorts_by_every_column
    app = visit(hash: "#sort=growth&columns=#{(COLUMNS - %w[location]).join("+")}")
    app.ask("leak 20")
    app.ask("cache 30")
    first_is leak
    first_goes "up"
    # a tick may have come between the two
    eventually("the page has all") { totals(tsv, locations) == values("total") }
    COLUMNS.each do |id|
      2.times { assert_sorted id, sort_by(id) }
    end
  end

  def totals(rows, locations)
    by = by_location(rows)
    locations.map { |l| by[l.b]&.total.to_f }
  end

  def assert_sorted(id, way)
    # no number is shown for a curve; one that came just now falls behind as time passes
    return eventually("#{id} #{way}") { (first_location == leak) == (way == "descending") } if id == "trend"
    got = values(id)
    assert_operator got.size, :>, 15
    assert_equal got.compact, got.first(got.compact.size), "#{id} #{way}: what isn't known comes last"
    got.compact.each_cons(2) { |a, b| assert_operator a, way == "ascending" ? :<= : :>=, b, "#{id} #{way}: #{got}" }
    return unless %w[growth live_bytes live total allocations].include?(id)
    eventually("#{id} #{way}, as the server has it") do
      want = tsv.map { |r| r[id] }.sort
      got = values(id).map(&:to_i)
      got == (way == "ascending" ? want.first(got.size) : want.reverse.first(got.size))
    end
  end

  def test_filters_and_groups
    visit
    keys("/")
    wait_until("document.activeElement.type === 'search'")
    keys("hoard.rb")
    wait_until("[...document.querySelectorAll('#{ROWS} td.location')].every((n) => n.textContent.includes('/hoard.rb:'))")
    assert_equal "#{path("gems/hoard-1.2.3/lib/hoard.rb")}:3", first_location
    type("gem:hoard-1")
    wait_until("/^\\d+ of /.test(document.querySelector('.toolbar .summary').textContent)")
    assert(locations.all? { |l| l.include?("/hoard.rb:") })
    type("no such place")
    wait_until("!document.querySelector('.nothing').hidden")
    keys(:Escape)
    first_is leak
    { "file" => path("app.rb"), "dir" => @dir, "gem" => @dir, "line" => leak }.each do |group, name|
      click("[data-group=#{group}]")
      first_is name
    end
    click("[data-group=gem]")
    first_is @dir
    assert_includes locations, "hoard-1.2.3"
    assert_equal json("/each/0.json?group=gem").map(&:location).sort.first(10),
                 (sort_by("location"); locations.first(10)) # as the server groups
  end

  # --- one location -----------------------------------------------------------------

  def test_opens_a_location
    app = visit
    click("#{ROWS} td.location a")
    wait_until("document.querySelectorAll('.one .histogram td').length > 0")
    assert_equal leak, text(".one h1")
    # beside its strings, there are some tables of Ruby's that grew there
    wait_until("document.querySelector('.one .sentence').textContent.includes(' are ')") # drawn after the tables
    assert_match(/\A4[0-4]\d blocks live, 3\.8\d\u00a0MB.*(most|all) are 8\u201316\u00a0KB\.\z/, text(".one .sentence"))
    sizes, ages = js("[...document.querySelectorAll('.one .histogram')].map((t) => [...t.querySelectorAll('tbody tr')].map((r) => [...r.children].map((c) => c.textContent)))")
    assert_includes 400..410, sizes.find { |row| row[0] == "8\u201316\u00a0KB" }[1].to_i
    assert_equal sizes.sum { |row| row[1].to_i }, ages.sum { |row| row[1].to_i }
    assert_equal [10, 10], js("[...document.querySelectorAll('.one .blocks')].map((t) => t.querySelectorAll('tbody tr').length)")
    wait_until("!!document.querySelector('.source .here')")
    assert_equal "#{LEAK_LINE}#{APP.lines[LEAK_LINE - 1].chomp}", text(".source .here")
    assert_equal APP.lines.first(LEAK_LINE + 10).map(&:chomp), texts(".source code")
    app.ask("leak 50")
    wait_until("/^4[5-9]\\d blocks live, /.test(document.querySelector('.one .sentence').textContent)")
    wait_until("[...document.querySelectorAll('.one .histogram td')].some((n) => /^4[5-9]\\d$/.test(n.textContent))")
    # the verdict watches still: nothing is said to grow
    assert_match(/ live, 4\.\d+\u00a0MB, 49\d\u00a0KB more than \d+ seconds? ago; /, text(".one .sentence"))
    keys(:Escape)
    wait_until("document.querySelector('.one').hidden")
    first_is leak
  end

  # No source: the browser's console would have an error if it were asked for.
  def test_opens_native_code_and_with_source_off
    visit
    native = json.find { |r| r.location.match?(/\[0x\h+\]\z/) }.location
    close_page
    look "#at=#{escape(native)}"
    wait_until("document.querySelector('.source').textContent === arguments[0]", "No source lines: this isn\u2019t a line of Ruby code.")
    wait_until("document.querySelectorAll('.one .histogram td').length > 0")
    assert_equal native, text(".one h1")
    assert_quiet
    close_page
    @fakes.last.finish
    visit("source:0", hash: "#at=#{escape(leak)}")
    wait_until("document.querySelector('.source').textContent === arguments[0]", "No source lines: the process doesn\u2019t show any.")
    wait_until("document.querySelectorAll('.one .histogram td').length > 0")
  end

  # By their tags they are filtered: no name of a temporary directory has an underscore.
  HOSTILE = {
    "/srv/tag_0/<img src=x onerror=\"window.hostile=1\">.rb" => nil,
    "/srv/tag_1/<script>window.hostile=1</script>.rb" => nil,
    "/srv/tag_2/</script><script>window.hostile=1</script>.rb" => nil,
    "/srv/tag_3/\" onmouseover=\"window.hostile=1\" x='`&amp;&#60;b>.rb" => nil,
    "/srv/tag_4/two\nlines\tand\ra tab.rb" => "/srv/tag_4/two\\nlines\\tand\\ra tab.rb",
    "/srv/tag_5/\xff\xfe bytes \xc3.rb" => "/srv/tag_5/\ufffd\ufffd bytes \ufffd.rb",
    "/srv/tag_6/\u202egnp.rb" => "/srv/tag_6/\u27e8202E\u27e9gnp.rb",
    "javascript:window.hostile=1//tag_7" => nil,
    "data:text/html,<script>window.hostile=1</script>tag_8" => nil,
    "/srv/tag_9/{{base}}${1}%2e%2f%00%zz?q=1#at=x.rb" => nil,
    "tag_10/../../../../etc/passwd" => nil,
    "/srv/tag_11/\e[31m\u0007\u2028\u{1f600}\u00e9.rb" => "/srv/tag_11/\u27e8001B\u27e9[31m\u27e80007\u27e9\u27e82028\u27e9\u{1f600}\u00e9.rb",
    "//evil.example/tag_12.rb" => nil,
  }.freeze

  def test_hostile_locations_are_text
    app = visit
    HOSTILE.each_key { |name| app.ask("eval #{name.b.unpack1("H*")}") }
    HOSTILE.each.with_index { |(name, shown), i| assert_opens "#{shown || name}:7", "tag_#{i}" }
    click("[data-group=gem]")
    type("")
    click("[data-view=map]")
    wait_until("document.querySelectorAll('.area').length > 5")
    assert_no_markup
  end

  def assert_opens(shown, tag)
    type("#{tag == "tag_1" ? "tag_1/<" : tag} :7")
    wait_until("document.querySelectorAll('#{ROWS}').length === 1 && document.querySelector('#{ROWS} td.location a').textContent === arguments[0]", shown)
    assert_equal shown, js("document.querySelector('#{ROWS} td.location').title")
    href = js("document.querySelector('#{ROWS} td.location a').getAttribute('href')")
    assert_match(%r{\A/at/[\w%.~-]+\z}, href)
    click("#{ROWS} td.location a")
    assert_one shown
    # the address opens it, too
    js("history.replaceState(null, '', arguments[0])", href)
    refresh
    assert_one shown
    click(".back")
    wait_until("document.querySelector('.one').hidden")
  end

  def assert_one(shown)
    wait_until("document.querySelector('.one h1')?.textContent === arguments[0]", shown)
    wait_until("document.querySelectorAll('.one .histogram td').length > 1 && /^1 block live/.test(document.querySelector('.one .sentence').textContent)")
    wait_until("document.querySelector('.source').textContent.startsWith('No source lines: ')")
    assert_no_markup
  end

  def assert_no_markup
    assert_nil js("window.hostile ?? null")
    assert_equal 0, js("document.querySelectorAll('main img, main script, main iframe, [onmouseover]').length")
    assert_equal origin, js("location.origin")
  end

  # --- while it runs -------------------------------------------------------------------

  # Other lines have more; what grows from the mark on is seen.
  def test_growth_since_a_mark
    app = visit
    app.ask("hoard 600")
    hoard = "#{path("gems/hoard-1.2.3/lib/hoard.rb")}:3"
    first_is hoard
    all_is_shown hoard
    press "mark"
    wait_until("/since mark/.test(document.querySelector('th[data-column=growth][aria-sort=descending] .title')?.textContent)")
    assert_match(/\AMarked: this tab shows growth since \d\d:\d\d:\d\d\.\z/, text(".said"))
    grown = [0, *Array.new(3) { grow(app) }]
    assert_equal grown.sort.uniq, grown
    assert_operator grown.last, :>=, 3 * 40 * 10_000
    first_goes "up"
    press "unmark"
    wait_until("document.querySelector('th[data-column=growth] .title').textContent === 'growth since start'")
    first_is hoard
  end

  # Leaks, and returns the growth of the leaking line when the page shows it at the top.
  def grow(app)
    app.ask("leak 40")
    first_is leak
    all_is_shown leak
    values("growth").first
  end

  # The page may have asked while the app still allocated. A collection may free some of the line's garbage in between.
  def all_is_shown(location)
    eventually("all of it") { values("live_bytes").first == tsv.find { |r| r.location == location }.live_bytes }
  end

  def test_growth_since_a_reset
    app = visit
    app.ask("hoard 600")
    first_is "#{path("gems/hoard-1.2.3/lib/hoard.rb")}:3"
    press "reset", asks: "start again at zero"
    said "The counters start again from zero; what is live stays known."
    wait_until("[...document.querySelectorAll('#{ROWS} td.growth')].every((n) => n.title.startsWith('0 '))")
    2.times { app.ask("leak 40") }
    first_is leak
    eventually("all of the growth") { values("growth").first == tsv("/each/0.tsv?sort=growth&limit=1")[0].growth }
    assert_operator values("growth").first, :>=, 80 * 10_000
    first_goes "up"
    app.ask("drop")
    type("app.rb:#{LEAK_LINE}")
    first_goes "down"
    eventually("little is left") { values("live_bytes").first < 400_000 }
    assert_operator values("growth").first, :<, 0
    assert_equal 1, stats["resets"]
  end

  def test_trim_pause_resume
    app = visit
    press "trim"
    wait_until("/memory/i.test(document.querySelector('.said').textContent)")
    press "pause", asks: "never counted"
    said "Tracking is off; what is live stays known, and its frees are counted."
    state_is "paused"
    wait_until("document.querySelector('.warning').textContent.startsWith('Tracking is paused')")
    assert stats["paused"]
    before = tsv.find { |r| r.location == leak }.allocations
    app.ask("leak 40")
    press "resume"
    said "Tracking is on."
    state_is "live"
    wait_until("!document.querySelector('.warning')")
    refute stats["paused"]
    assert_equal before, tsv.find { |r| r.location == leak }.allocations
  end

  def test_the_process_ends_and_comes_back
    app = visit
    was = text("#{ROWS} td.growth")
    app.finish
    state_is "gone"
    assert_match(/\Apid #{app.pid} ended at \d\d:\d\d.*last data kept/, text(".light"))
    assert_equal [leak, was], [first_location, text("#{ROWS} td.growth")]
    wait_until("[...document.querySelectorAll('.actions button:not([data-action=save])')].every((b) => b.disabled)")
    assert js("(() => { const b = document.querySelector('.actions [data-action=save]'); return b.checkVisibility() && !b.disabled; })()")
    other = start
    refute_equal app.pid, other.pid
    state_is "live"
    wait_until("document.querySelector('.process').textContent.includes(arguments[0])", "pid #{other.pid}")
    assert_equal "Another process answers now: all figures are new. Before it was pid #{app.pid}.", text(".said")
    first_is leak
    other.ask("leak 60")
    eventually("its blocks") { values("live").first >= 460 }
    first_goes "up"
    other.kill
    state_is "gone"
    assert_includes text(".light"), "pid #{other.pid} ended"
    @allowed = ["/live", "/history", "/verdict.json", "/family.json"]
  end

  def test_read_only
    visit("read_only:1")
    assert js("[...document.querySelectorAll('.actions button:not([data-action=mark])')].every((b) => b.hidden)")
    assert_includes text(".process"), "read-only"
    assert_equal leak, first_location
    before = stats["resets"]
    assert_equal [403] * 5, %w[reset trim pause mark mark/clear].map { |p| @page.evaluate_async(<<~JS, LONG, p) }
      fetch('/' + arguments[0], { method: 'POST' }).then((r) => arguments[1](r.status))
    JS
    assert_equal before, stats["resets"]
    @allowed = ["403"]
  end

  # --- without scripts --------------------------------------------------------------------

  def test_without_scripts_the_tables_are_there
    app = start
    app.ask("eval #{HOSTILE.keys[0].b.unpack1("H*")}")
    eventually("two seconds") { body("/").include?("<svg class=\"past\"") }
    open_page("#{origin}/", scripts: false)
    assert_equal "Growing locations", text("h1")
    assert_equal body("/verdict").lines(chomp: true)[0][/\A\w+/], text("main .verdict")[/\A\w+/]
    assert_match(/\ARSS and live memory over 1 minute; RSS from [\d.]+ MB to [\d.]+ MB\z/, js("document.querySelector('svg.past').getAttribute('aria-label')"))
    assert_equal 2, js("[...document.querySelectorAll('svg.past path')].filter((p) => p.getBBox().width > 800).length")
    assert_equal leak, text(".rows tbody td.location")
    refute js("!!document.querySelector('.grid')")
    follow(".rows thead th a[href*='sort=live_bytes']") { "location.search.includes('sort=live_bytes')" }
    assert_equal tsv("/each/0.tsv?sort=live_bytes&limit=1")[0].location, text(".rows tbody td.location")
    js("document.querySelector('[name=q]').value = 'onerror'; document.querySelector('[name=group]').value = 'line'")
    follow("form.filter button") { "location.search.includes('q=onerror')" }
    assert_equal ["#{HOSTILE.keys[0]}:7"], texts(".rows tbody td.location")
    follow(".rows tbody td.location a") { "location.pathname.startsWith('/at/')" }
    assert_equal "#{HOSTILE.keys[0]}:7", text("h1")
    assert_includes texts("caption").join, "Live blocks by size"
    assert_no_markup
    follow("header a.home") { "location.pathname === '/'" }
    resets = stats["resets"]
    follow("form[action='/reset'] button") { "location.pathname === '/'" }
    assert_equal resets + 1, stats["resets"]
    assert_match(/\A-?\d{1,5} bytes?\z/, js("document.querySelector('.rows tbody td.num:nth-child(4) .amount').title").delete(","), "growth")
  end

  # Clicks; waits until the next page is there and the expression holds.
  def follow(selector)
    js("document.documentElement.dataset.old = 1")
    click(selector)
    wait_until("document.readyState === 'complete' && !document.documentElement.dataset.old && #{yield}")
  end

  def test_read_only_without_scripts
    start("read_only:1")
    open_page("#{origin}/", scripts: false)
    assert_includes text("main"), "Read-only: counters can\u2019t be reset from here."
    assert_equal 0, js("document.querySelectorAll('form[method=post]').length")
    assert_equal leak, text(".rows tbody td.location")
  end

  # --- what it costs -------------------------------------------------------------------------

  def test_an_idle_app_sends_little
    start
    w = watch
    w.table(3) # what starting and the first requests changed has come
    before = w.bytes
    seen = Array.new(5) { w.event }
    assert_equal ["point"] * 5, seen.map(&:name)
    assert_operator w.bytes - before, :<, 5 * 500
  end

  # One stream, and beside it the sentence and what is behind it; it ends with the page.
  def test_a_page_asks_for_little_while_it_is_looked_at
    app = visit
    eventually("the browser has told of its requests") { @requests.any? { |u| u.end_with?("/live") } }
    assert_equal 1, @requests.count { |u| u.end_with?("/live") }
    3.times { sees_a_tick }
    before = @requests.dup
    app.ask("leak 5")
    4.times { sees_a_tick }
    assert_empty (@requests - before).grep_v(%r{/(verdict|history|history/locations)\.json})
    others = Array.new(8) { watch }
    assert_equal [200] * 7 + [503], others.map(&:status), "the page is one of eight"
    close_page
    eventually("the page's place") { watch.then { |w| w.status == 200 || (@watchers.pop.close; nil) } }
  end

  def sees_a_tick
    was = text(".process")
    wait_until("document.querySelector('.process').textContent !== arguments[0]", was)
  end

  # --- the demo ------------------------------------------------------------------------------------

  DEMO = File.join(ROOT, "t/demo/app.rb")
  DEMO_LINE = "#{DEMO}:#{File.foreach(DEMO).find_index { |line| line.include?("Render::HTML.new") } + 1}".freeze

  # As somebody sees it who has just opened it.
  def test_the_demo_shows_its_leak_at_once
    in_tmp do |dir|
      IO.popen([{ "TMPDIR" => dir, "RUBY" => RUBY, "LD_PRELOAD" => nil, "MWRAP" => nil }, File.join(ROOT, "bin/demo"), { pgroup: true, err: %i[child out] }]) do |demo|
        told = Timeout.timeout(600) { demo.each_line.take_while { |line| !line.start_with?("Ctrl-C") }.join }
        @origin = told[%r{^ *open (http://127\.0\.0\.1:\d+)/ in a browser}, 1]
        assert origin, told
        look
        assert_equal DEMO_LINE, first_location
        assert_equal "descending", js("document.querySelector('th[data-column=trend]').getAttribute('aria-sort')")
        first_goes "up"
        assert_equal DEMO_LINE, first_location
        # nothing is said for sure of a process that began within the last minute
        wait_until("document.querySelector('.verdict').textContent.includes('app.rb:')", limit: 3 * LONG)
        eventually("the leak first") { first_location == DEMO_LINE } # buffers of requests may pass it for a moment
        click("#{ROWS} td.location a")
        wait_until("document.querySelector('.source .here')?.textContent.includes('# the leak')")
        assert_quiet
        close_page
      ensure
        Process.kill(:INT, demo.pid)
        Timeout.timeout(60) { demo.read }
      end
      assert_predicate $?, :success?
    end
  end
end
