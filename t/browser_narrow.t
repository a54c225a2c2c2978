#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# On a phone, on half a screen and on paper each row says where: the location comes first, whole to
# its line, and numbers go by width. And what a location's page gives to take away.
require_relative "lib/browser"
require_relative "lib/served"
require "cgi/escape"

class NarrowTest < Minitest::Test
  include BrowserTest

  LEAK = FakeServer::LEAK

  attr_reader :origin

  def live(width, hash = "", **rest)
    serve("--locations=100")
    @origin = @server.origin
    open_page(@server.url(hash), width: width, **rest)
    wait_for_live
    wait_until("document.querySelectorAll('#{ROWS}').length > 0 || !document.querySelector('.one').hidden || !document.querySelector('.map').hidden")
    wait_for_first_tick
  end

  def real(path_of_page, width)
    unless @app
      @app = served_ruby("KEEP = Array.new(200) { 'x' * 1000 }\n$stdin.gets\n", name: "a_name_of_some_length.rb", options: ["listen:127.0.0.1:0"])
      @origin = origin_of(@app)
      at_rest(@app)
    end
    open_page("#{origin}#{path_of_page}", width: width, scripts: false)
  end

  # The cells that can be seen of each row, from left to right, as the names of their columns.
  ORDER = <<~'JS'
    (() => {
      const table = document.querySelector(arguments[0]);
      const heads = [...table.querySelectorAll("thead th")].filter((n) => n.checkVisibility());
      return heads.sort((a, b) => a.getBoundingClientRect().left - b.getBoundingClientRect().left).map((n) => n.textContent.replace(/[^a-z/ ]/gi, "").trim().toLowerCase());
    })()
  JS

  # Rows whose place isn't seen to its end: [number of rows, [texts]]. A file's name that is longer than the
  # column ends in an ellipsis, and its line is seen.
  CUT = <<~'JS'
    (() => {
      const rows = [...document.querySelectorAll(arguments[0])].filter((n) => n.checkVisibility());
      const wide = document.documentElement.clientWidth;
      const right = (n) => n.getBoundingClientRect().right;
      const tooLong = (cell) => {
        const [name, line] = cell.querySelector("b")?.children || [];
        return line && name.scrollWidth + line.offsetWidth > cell.clientWidth - 44 && name.clientWidth > 44 &&
          getComputedStyle(name).textOverflow === "ellipsis" && right(line) < right(cell) + 1 && right(name) < right(line) + 1;
      };
      return [rows.length, rows.filter((cell) => !tooLong(cell)).filter((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell.querySelector("b") || cell);
        const box = cell.getBoundingClientRect();
        return [...range.getClientRects()].some((r) => r.width && (r.right > Math.min(box.right, wide) + 1 || r.left < -1)) ||
          [...cell.querySelectorAll("b")].some((b) => b.scrollWidth > b.clientWidth + 1 && getComputedStyle(b).display !== "inline");
      }).map((n) => n.textContent)];
    })()
  JS

  def nothing_is_cut(cells)
    n, cut = js(CUT, cells)
    assert_operator n, :>, 5
    # an address behind a native function's name is no use to anybody there
    assert_empty(cut.reject { |text| text.match?(/\[0x\h+\]\z/) })
    assert_operator js("document.documentElement.scrollWidth"), :<=, js("innerWidth"), "nothing scrolls sideways"
  end

  def test_the_live_table
    live(390)
    assert_equal "location", js(ORDER, ".locations").first
    assert_equal ["location", "trend", "since start"], js(ORDER, ".locations")
    nothing_is_cut("#{ROWS} td.location")
    # sorted by what wasn't there: it is, then
    js("location.hash = '#sort=live'")
    wait_until("document.querySelector('th[data-column=live]')?.getAttribute('aria-sort') === 'descending'")
    assert_equal ["location", "count", "since start"], js(ORDER, ".locations")
    close_page
    @server.close
    live(768)
    names = js(ORDER, ".locations")
    assert_equal "location", names.first
    assert_includes names, "live"
    refute_includes names, "life"
    nothing_is_cut("#{ROWS} td.location")
    close_page
    @server.close
    live(1280)
    assert_equal "location", js(ORDER, ".locations").last
    assert_equal ["growth since start", *%w[live count allocs life trend location]], js(ORDER, ".locations").map { |n| n.delete("/") }
  end

  def test_the_plain_tables
    real("/each/0", 390)
    assert_equal %w[location growth total], js(ORDER, ".rows")
    nothing_is_cut(".rows tbody td.location")
    close_page
    real("/each/0?sort=frees", 390)
    assert_equal %w[location growth frees], js(ORDER, ".rows")
    close_page
    real("/each/0", 768)
    assert_equal ["location", "kind", "live bytes", "growth", "total"], js(ORDER, ".rows")
    nothing_is_cut(".rows tbody td.location")
    # broken behind slashes only, as long as there is one
    broken = js(<<~'JS')
      [...document.querySelectorAll(".rows tbody td.location")].map((n) => n.querySelector("a").innerHTML).filter((s) => /[^/]<wbr>|\/(?!<wbr>)./.test(s.replace(/&lt;/g, "")))
    JS
    assert_empty broken
    close_page
    real("/each/0", 1280)
    assert_equal "location", js(ORDER, ".rows").last
    assert_equal %w[total allocations growth live\ bytes live mean\ life kind location], js(ORDER, ".rows"), "those that there is room for"
    assert js("(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('.rows').parentNode)"), "nothing is beside the window"
    %w[/stats /help /overruns /heap_pages].each do |target|
      close_page
      real(target, 390)
      assert_operator js("document.documentElement.scrollWidth"), :<=, 390, target
    end
  end

  HEADER = <<~'JS'
    (() => {
      const p = document.querySelector(".process");
      return [p.textContent, [p, ...p.children].every((n) => n.scrollWidth <= n.clientWidth && n.scrollHeight <= n.clientHeight), p.title];
    })()
  JS

  # A worker of a cluster, beside the list of processes: its title is whole. Only one for which there
  # is no room is cut, and told to whoever points at it.
  def test_the_title_of_a_process
    worker = "puma: cluster worker 0: 123456 [some_app]"
    app = served_ruby(<<~RUBY, options: ["listen:127.0.0.1:0"], env: { "ROOM" => "x" * 2000 })
      File.write("#{path("worker")}", fork { Process.setproctitle("#{worker}"); $stdin.read }.to_s)
      File.write("#{path("other")}", fork { Process.setproctitle("#{"long title " * 60}"); $stdin.read }.to_s)
      $stdin.read
    RUBY
    @origin = eventually("where it listens") { app.stderr[%r{listening on (http://127\.0\.0\.1:\d+)/}, 1] }
    pids = %w[worker other].map { |name| eventually(name) { File.read(path(name))[/\A\d+\z/] if File.exist?(path(name)) } }
    [390, 768, 1280, 1920].product(pids) do |width, pid|
      eventually("it serves") { get("/#{pid}/").status == 200 }
      open_page("#{origin}/#{pid}/", width: width)
      wait_until("document.querySelector('.switch')?.hidden === false && document.querySelector('.process').textContent.includes(' up ')")
      wait_for_first_tick
      box = js("(() => { const r = document.querySelector('.process').getBoundingClientRect(); return [r.left + 20, r.top + 12]; })()")
      @page.mouse.move(x: 1, y: 1)
      @page.mouse.move(x: box[0], y: box[1])
      text, whole, title = js(HEADER)
      assert_equal pid == pids[0], whole, [width, text].inspect
      if whole
        assert_operator text, :start_with?, worker
        assert_equal "", title
      else
        wait_until("document.querySelector('.process').title.startsWith(arguments[0])", "long title long title")
      end
      assert_operator js("document.documentElement.scrollWidth"), :<=, width
      close_page
    end
  end

  # Of a long file's name, and of a long command, the end is told by an ellipsis, and all of it at its place.
  def test_long_names
    name = "a_file_whose_name_is_far_too_long_for_the_table_of_a_narrow_screen_and_not_for_this_one_alone.rb"
    app = served_ruby("KEEP = Array.new(300) { 'x' * 1000 }\n$stdin.gets\n", name: name, args: %w[--queue=mailers] * 20, options: ["listen:127.0.0.1:0"])
    @origin = origin_of(app)
    [390, 768, 1280, 1920].each do |width|
      open_page("#{origin}/#q=#{name}", width: width)
      wait_until("document.querySelectorAll('#{ROWS}').length > 0 && document.querySelector('.process').textContent.includes(' up ')")
      assert_equal "#{name}:1", text("#{ROWS} td.location b")
      file, line, cell = js("(() => { const b = document.querySelector('#{ROWS} td.location b'); return [b.firstChild, b.lastChild, b.closest('td')].map((n) => [n.getBoundingClientRect().right, n.scrollWidth > n.clientWidth, getComputedStyle(n).textOverflow, n.textContent]); })()")
      assert_equal [width < 1920, "ellipsis", ":1"], [file[1], file[2], line[3]], width.to_s
      assert_operator file[0], :<=, line[0]
      assert_operator line[0], :<=, cell[0]
      process = "document.querySelector('.process')"
      assert_operator js("#{process}.offsetHeight"), :<=, width < 960 ? 56 : 42
      assert_equal [true, true], js("(() => { const [n] = #{process}.children; return [n.scrollWidth > n.clientWidth, getComputedStyle(n).textOverflow === 'ellipsis']; })()")
      assert_operator js("document.querySelector('header').offsetHeight"), :<=, { 390 => 190, 768 => 110 }.fetch(width, 90), width.to_s
      assert_equal js("#{process}.textContent").sub(/up .*/, ""), js("#{process}.title").sub(/up .*/, "")
      js("#{process}.focus()")
      assert js("document.activeElement === #{process} && #{process}.innerText.includes('#{"--queue=mailers " * 20}'.trim())")
      assert js("#{process}.scrollWidth <= #{process}.clientWidth && #{process}.scrollHeight <= #{process}.clientHeight")
      assert_operator js("document.documentElement.scrollWidth"), :<=, width
      close_page
    end
  end

  def test_paper
    live(718) # an A4 page without its margins
    @page.command("Emulation.setEmulatedMedia", media: "print")
    wait_until("getComputedStyle(document.querySelector('header nav')).display === 'none'")
    assert_equal "location", js(ORDER, ".locations").first
    cut = js(<<~'JS')
      [...document.querySelectorAll("tr[role=row] td.location")].filter((n) => [...n.querySelectorAll("span, b")].some((p) => getComputedStyle(p).overflow !== "visible") || n.querySelector("b").getBoundingClientRect().right > n.getBoundingClientRect().right + 1).length
    JS
    assert_equal 0, cut
    assert_empty(js("[...document.querySelectorAll('button')].filter((n) => n.checkVisibility() && !n.closest('th')).map((n) => n.textContent)"))
  end

  # Colours of the system: bars and legend are there as shapes.
  def test_forced_colours
    live(1280)
    @page.command("Emulation.setEmulatedMedia", features: [{ name: "forced-colors", value: "active" }])
    wait_until("matchMedia('(forced-colors: active)').matches")
    assert_equal "4px solid", js("(({ borderBottomWidth: w, borderBottomStyle: s }) => `${w} ${s}`)(getComputedStyle(document.querySelector('td.bar > i')))")
    key = js("getComputedStyle(document.querySelector('.figure.live dt'), '::before').backgroundColor")
    other = js("getComputedStyle(document.querySelector('.figure.heap dt'), '::before').backgroundColor")
    refute_equal key, other
    refute_equal key, js("getComputedStyle(document.body).backgroundColor")
  end

  def test_names_of_areas_begin_with_what_is_read
    live(1280, "#view=map")
    wait_until("document.querySelectorAll('.area').length > 3")
    areas = js(<<~'JS')
      [...document.querySelectorAll(".area:not([hidden])")].map((n) => [[...n.children].map((c) => c.textContent).filter(Boolean).join(" "), n.getAttribute("aria-label"), n.title])
    JS
    assert_operator areas.count { |seen,| seen.include?(" ") }, :>, 3
    areas.each { |seen, name, title| assert_equal [true, name], [name.start_with?(seen), title], [seen, name].inspect }
  end

  def test_what_a_location_gives
    live(1280, "#at=#{CGI.escape(LEAK)}")
    labels = texts(".place-links button, .place-links a")
    assert_equal ["Copy link", "Copy path:line", "Open in editor", "Editor\u2026", "Keep"], labels
    assert_equal "vscode://file/usr/share/gems/gems/redcarpet-3.3.2/lib/redcarpet.rb:51", js("document.querySelector('.open-editor').getAttribute('href')")
    js("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    click(".place-links button:nth-of-type(2)")
    wait_until("window.copied === arguments[0]", LEAK)
    assert_equal "Copied.", wait_until("document.querySelector('.place-links [role=status]').textContent") { |v| !v.empty? }
    click(".place-links button:nth-of-type(1)")
    wait_until("window.copied === location.href")
    # another editor, which this browser keeps
    click(".place-links [aria-expanded]")
    js("document.querySelector('.editor input').value = 'javascript:alert({path})'")
    js("document.querySelector('.editor').requestSubmit()")
    assert_match(/must be like/, text(".place-links [role=status]"))
    js("document.querySelector('.editor input').value = 'txmt://open?url=file://{path}&line={line}'")
    js("document.querySelector('.editor').requestSubmit()")
    wait_until("document.querySelector('.editor').hidden")
    refresh
    wait_until("document.querySelector('.open-editor')?.getAttribute('href') === 'txmt://open?url=file:///usr/share/gems/gems/redcarpet-3.3.2/lib/redcarpet.rb&line=51'")
    # a location that is no line of a file has no editor
    js("location.hash = '#at=' + encodeURIComponent('(other)')")
    wait_until("document.querySelector('.place-links')?.textContent.includes('Copy location')")
    assert_nil text(".open-editor")
    js("localStorage.clear()")
    assert_quiet("404 (Not Found)")
  end

  def test_the_tables_rows_to_take_away
    live(1280, "#sort=live&order=asc&group=file&q=red")
    hrefs = js("[...document.querySelectorAll('.toolbar .exports a')].map((n) => n.getAttribute('href'))")
    assert_equal %w[tsv csv json].map { |f| "/each/0.#{f}?sort=live&order=asc&group=file&q=red" }, hrefs
  end

  def test_the_page_of_words_by_its_key
    real("/", 1280)
    close_page
    open_page("#{origin}/")
    wait_for_live
    type("a?") # in the filter it is a letter
    assert_equal "/", js("location.pathname")
    js("document.activeElement.blur()")
    keys("?")
    wait_until("location.pathname === '/help'")
    assert_equal "Help", text("h1")
  end
end
