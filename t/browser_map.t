#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The memory map at /map in Chromium, with a made-up process behind it (t/js/memory_data.mjs): of 225 MB, or with
# --gigabytes=10 of 2.6 million pages; and the same as one file that needs no server.
require_relative "lib/browser"
require_relative "lib/patience"
require_relative "lib/runs_ctl"
require "net/http"

class MapTest < Minitest::Test
  include BrowserTest
  include BrowserTest::Quiet
  include Patience
  include RunsCtl

  BLOAT = "/srv/app/bloat.rb:32"
  MAIN = 0x55d0c0000000

  def origin = @server.origin

  def map(*args, base: "", **look)
    serve(*args, base: base)
    open_page("#{origin}#{base}/map", **look)
    shown
  end

  # Drawn, with all its tiles
  def shown
    wait_until("!!document.querySelector('.memory canvas') && !document.querySelector('.memory[aria-busy]')")
    wait_for_tiles
  end

  # Of the colours that the canvas has, how many pixels each has; by the style sheet's names
  def colours(number = 0)
    js(<<~'JS', number)
      (() => { const c = document.querySelectorAll(".memory canvas")[arguments[0]], copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true }), seen = {}, names = {};
        copy.drawImage(c, 0, 0);
        const style = getComputedStyle(c);
        for (const n of ["none", "empty", "end", "ruby", "unloaded", "lit", "full"]) names[parseInt(style.getPropertyValue(`--map-${n}`).slice(1).replace(/^(.)(.)(.)$/, "$1$1$2$2$3$3"), 16)] = n;
        const { data } = copy.getImageData(0, 0, c.width, c.height);
        for (let i = 0; i < data.length; i += 4) { const k = data[i] << 16 | data[i + 1] << 8 | data[i + 2], n = names[k]; if (n) seen[n] = (seen[n] || 0) + 1; }
        return seen; })()
    JS
  end

  def wait_for_tiles = wait_until("!document.querySelector('.cells[data-loading]')") && wait_until("1") { (c = colours) && !c.key?("unloaded") && c.size > 1 }

  def details = text(".memory .details")
  def heard = text(".memory .heard")
  def press_button(action) = click(".memory [data-action=#{action}]")
  def button(action) = js("(({ disabled, hidden, textContent }) => [textContent, disabled, hidden])(document.querySelector('.memory [data-action=#{action}]'))")
  def focus_map = js("document.querySelector('.memory canvas').focus()")
  def asked(what = //) = @server.asked.grep(what)

  # The middle of a cell of the first panel, in the window
  def cell_at(cell, size: 2, row: 256)
    x, y = (cell % row + 0.5) * size, 20 + (cell / row + 0.5) * size
    # a mouse reaches only what is in the window
    js("((y) => y > innerHeight && scrollBy(0, y - innerHeight / 2))(document.querySelector('.memory canvas').getBoundingClientRect().top + arguments[0])", y)
    box = js("(({ left, top }) => [left, top])(document.querySelector('.memory canvas').getBoundingClientRect())")
    [box[0] + x, box[1] + y]
  end

  def point(cell, **how) = cell_at(cell, **how).then { |x, y| @page.mouse.move(x: x, y: y) }
  def click_cell(cell) = cell_at(cell).then { |x, y| @page.mouse.click(x: x, y: y) }
  def check_line(number) = click(".lines tbody tr:nth-child(#{number}) input")
  def line(number) = text(".lines tbody tr:nth-child(#{number}) td.location")

  def test_it_takes_the_place_of_the_plain_tables
    map
    assert_nil text(".memory-plain")
    assert_equal "225 MB is in memory. 5 MB of it is live: 26,371 blocks. 147 MB (66 %) is empty pages that malloc keeps and malloc_trim gives back.", text(".memory .sentence")
    assert_equal "One square = 4 KiB, one row = 1 MiB", text(".memory .scale")
    seen = colours
    # 37,722 empty pages of 4 pixels each
    json = JSON.parse(Net::HTTP.get(URI("#{origin}/map.json")))["parts"]
    { "empty" => "empty", "end" => "ends", "ruby" => "ruby" }.each do |colour, part|
      assert_equal json.find { |p| p["name"] == part }["bytes"] / 4096 * 4, seen[colour], part
    end
    assert_equal 1, js("document.querySelectorAll('main h1').length")
    assert_equal 17, js("document.querySelectorAll('.memory .panels tbody tr').length"), "in words for who can't see it"
    # a label is whole, or below the bar
    wait_until("document.querySelectorAll('.memory-bar > span > span[hidden]').length === document.querySelectorAll('.memory-key[aria-label=Parts] li:not([hidden])').length")
    assert js("[...document.querySelectorAll('.memory-bar > span > span:not([hidden])')].every((n) => n.getBoundingClientRect().right <= n.parentNode.getBoundingClientRect().right)")
    widths = js("[...document.querySelectorAll('.memory-bar > span')].map((n) => n.getBoundingClientRect().width)")
    assert_in_delta 147 / 225.0, widths.max / widths.sum, 0.01
  end

  def test_without_scripts_and_without_an_answer_the_plain_tables_stay
    serve("--no-map")
    open_page("#{origin}/map")
    assert_includes wait_until("document.querySelector('main .warning')?.textContent") { |s| s }, "map: no memory left for it"
    assert_includes text(".memory-plain"), BLOAT
    assert_quiet("503 (Service Unavailable)")
    close_page
    open_page("#{origin}/map", scripts: false)
    assert_includes text(".memory-plain"), BLOAT
    assert_equal 4, js("document.querySelectorAll('.memory-plain table').length")
  end

  def test_pointing
    map
    { 0 => MAIN, 5 => MAIN + 5 * 4096, 256 * 3 + 7 => MAIN + (256 * 3 + 7) * 4096 }.each do |cell, address|
      point(cell)
      wait_until("document.querySelector('.details').textContent.endsWith(arguments[0])", "main arena, 0x#{address.to_s(16)}")
    end
    point(2000)
    wait_until("document.querySelector('.details').textContent.startsWith('empty: in memory, no block is there; malloc_trim gives it back')")
    @page.mouse.move(x: 1, y: 1)
    wait_until("document.querySelector('.details').textContent.startsWith('Point at a square')")
  end

  def test_who_lives_in_a_page
    map
    click_cell(3)
    wait_until("document.querySelectorAll('.who-lives tbody tr').length === 3")
    assert_equal "Page 0x55d0c0003000", text(".who-lives h2")
    assert_match(/7 blocks with 303.B of this page\.\z/, text(".who-lives .note"))
    assert_equal "and 4 more", text(".who-lives .scroll .note")
    assert_equal "right", js("document.querySelector('.who-lives').dataset.side"), "it hides what wasn't asked for"
    assert_match(%r{\A/at/%2Fusr%2Flib%2F}, js("document.querySelector('.who-lives a').getAttribute('href')"))
    keys(:Escape)
    js("document.querySelector('.who-lives .close').click()")
    wait_until("document.querySelector('.who-lives').hidden && document.activeElement.tagName === 'CANVAS'")
    click_cell(2000 + js("0"))
    wait_until("document.querySelector('.who-lives .note').textContent.endsWith('No live block is there now.')")
  end

  def test_keys
    map
    focus_map
    keys(:Right, :Right, :Down)
    assert_includes details, "main arena, 0x#{(MAIN + 258 * 4096).to_s(16)}"
    wait_until("document.querySelector('.heard').textContent === document.querySelector('.details').textContent")
    keys(:PageDown)
    assert_includes details, "thread arena 1, 0x7f0004000000"
    assert js("(({ top, bottom }) => top >= 0 && bottom <= innerHeight)(document.querySelector('.details').getBoundingClientRect())"), "what is said can be seen"
    keys(:Left)
    assert_includes details, "main arena"
    keys(:Home, :Enter)
    wait_until("document.querySelector('.who-lives h2').textContent === 'Page 0x55d0c0000000'")
  end

  # Where somebody scrolled to, what is asked for can be seen.
  def test_a_scrolled_page
    map(height: 500)
    js("document.querySelector('.maps').scrollIntoView({ block: 'end' })")
    box = js("(({ left, bottom }) => [left, bottom])(document.querySelector('.memory canvas').getBoundingClientRect())")
    @page.mouse.click(x: box[0] + 5, y: box[1] - 6)
    wait_until("!document.querySelector('.who-lives').hidden && document.querySelector('.who-lives .note').textContent.includes('no block of malloc')")
    %w[.who-lives\ h2 .details].each do |node|
      assert js("(({ top, bottom }) => top >= 0 && bottom <= innerHeight)(document.querySelector(arguments[0]).getBoundingClientRect())", node), node
    end
  end

  def test_lines_light_up
    map
    at = (1..5).find { |n| line(n) == BLOAT }
    check_line(at)
    wait_until("1") { colours["lit"] }
    assert_equal 1, asked(/at\.bin\?at=%2Fsrv%2Fapp%2Fbloat\.rb%3A32$/).size
    lit = colours["lit"]
    assert_match(/\A1 line selected: \d+.KB in [\d,]+ blocks hold [\d.]+.MB\.\z/, text(".chosen span"))
    wait_until("/^Without [\\d,]+ blocks \\(.*\\) of this line, .*MB more would be empty pages\\.$/.test(document.querySelector('.what-if [role=status]').textContent)")
    other = at == 1 ? 2 : 1
    check_line(other)
    wait_until("1") { colours["lit"] > lit }
    wait_until("document.querySelectorAll('.gone p')[1]?.textContent.endsWith('without these 2 lines')")
    bars = js("[...document.querySelectorAll('.gone i')].map((n) => n.getBoundingClientRect().width)")
    assert_operator bars[1], :>, bars[0]
    press_button("clear")
    wait_until("1") { !colours.key?("lit") }
    assert_equal "", text(".what-if [role=status]")
  end

  def test_line_by_line
    map
    press_button("steps")
    wait_until("document.querySelectorAll('.gone p').length === 6 && !document.querySelector('[data-action=steps]').disabled")
    rows = texts(".gone p")
    assert_match(/\A147.MB now\z/, rows[0])
    assert_match(/\A15\d.MB \+ without \S/, rows[-1])
    assert_equal [1, 2, 3, 4, 5], asked(/whatif/).map { |a| a.scan("at=").size }
  end

  def test_a_snapshot_that_is_gone_is_taken_again
    map
    @server.expire
    check_line(1)
    wait_until("document.querySelector('.said').textContent.startsWith('The server keeps a snapshot for a minute')")
    wait_until("1") { colours["lit"] }
    assert_equal 2, asked(%r{/map\.json}).size
    assert_equal "", text(".memory .warning")
    @allowed = ["404 (Not Found)"]
  end

  def test_but_only_once
    serve("--forget=99")
    open_page("#{origin}/map")
    wait_until("document.querySelector('.memory .warning')?.textContent === 'Parts of the map can\\u2019t be shown: map: no such snapshot: it is kept for 60 seconds'")
    assert_equal 2, asked(%r{/map\.json}).size
    @allowed = ["404 (Not Found)"]
  end

  def test_two_snapshots
    map
    press_button("keep")
    wait_until("document.querySelector('.said').textContent.includes('is kept')")
    @server.expire
    press_button("again")
    wait_until("document.querySelectorAll('.memory figure canvas').length === 2")
    wait_for_tiles
    assert_match(/\A2 seconds later as much is in memory\.\z/, text(".difference .sentence"))
    assert_equal colours(0), wait_until("1") { c = colours(1); c unless c.key?("unloaded") }.then { colours(1) }
    check_line(1)
    wait_until("1") { colours(0)["lit"] && colours(0)["lit"] == colours(1)["lit"] }
    press_button("farther")
    wait_until("document.querySelector('.scale').textContent === 'One square = 4 KiB, one row = 1 MiB'")
    wait_until("new Set([...document.querySelectorAll('.memory .cells .room')].map((n) => n.style.height)).size === 1") # of one zoom
    press_button("single")
    wait_until("document.querySelectorAll('.memory canvas').length === 1")
  end

  # Presses the button, puts the picture on a canvas of its own behind the map's, and gives its name and size.
  def picture
    js(<<~JS)
      (() => { window.saved = null; URL.createObjectURL = (png) => { createImageBitmap(png).then((image) => {
          const c = document.querySelector(".memory").appendChild(Object.assign(document.createElement("canvas"), { width: image.width, height: image.height }));
          c.getContext("2d").drawImage(image, 0, 0); window.saved = [window.savedAs, png.type, image.width, image.height]; }); return "data:,"; };
        HTMLAnchorElement.prototype.click = function () { window.savedAs = this.download; }; })()
    JS
    press_button("picture")
    wait_until("window.saved")
  end

  PARTS = %w[empty end ruby].freeze

  def assert_picture
    name, type, width, height = picture
    assert_match(/\Amwrap-4711-map-\d{6}\.png\z/, name)
    assert_equal "image/png", type
    assert_equal js("document.querySelector('.memory canvas').width"), width
    [colours(1), height].tap { js("document.querySelector('.memory > canvas').remove()") }
  end

  # Of what is in sight, and of what isn't
  def test_a_picture
    map
    wait_until("1") { colours.slice(*PARTS).size == 3 }
    whole, height = assert_picture
    assert_equal [colours.slice(*PARTS), js("document.querySelector('.memory canvas').height")], [whole.slice(*PARTS), height]
    press_button("closer")
    wait_until("(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight)(document.querySelector('.cells'))")
    seen, height = assert_picture
    assert_operator height, :>, js("document.querySelector('.memory canvas').height")
    assert_operator seen["empty"], :>, whole["empty"]
  end

  def test_a_picture_that_is_too_tall
    map("--gigabytes=10")
    8.times { press_button("closer") }
    press_button("picture")
    wait_until("document.querySelector('.memory .said').textContent === 'The map is too tall for a picture: zoom out first.'")
    press_button("fit")
    assert_operator assert_picture[0]["empty"], :>, 1000
    assert_equal "", text(".memory .said")
  end

  def test_trim
    map
    press_button("trim")
    wait_until("!document.querySelector('.memory .ask').hidden")
    assert_match(/\Amalloc_trim would give back 130.MB to 147.MB\. Threads that allocate meanwhile wait up to 80.ms in all\./, text(".memory .ask span"))
    assert_equal "Cancel", js("document.activeElement.textContent")
    keys(:Escape)
    wait_until("document.querySelector('.memory .ask').hidden && document.activeElement.dataset.action === 'trim'")
    assert_empty asked(/POST/)
    press_button("trim")
    wait_until("!document.querySelector('.memory .ask').hidden")
    click(".memory .ask .yes")
    wait_until("document.querySelector('.memory .said').textContent === 'trim: 120 MB were given back to the system'")
    assert_match(/\A\d+ seconds later 147.MB less is in memory: empty pages 147.MB less\.\z/, text(".difference .sentence"))
    wait_until("1") { c = colours(1); !c.key?("unloaded") && !c.key?("empty") }
    assert_operator colours(0)["empty"], :>, 10_000
    asked = self.asked(/POST|map\.json/)
    assert_equal ["GET /map.json", "POST /map/trim", "GET /map.json"], asked.last(3), "a snapshot right before it"
  end

  def test_read_only
    map("--read-only")
    refute js("!!document.querySelector('[data-action=trim], form')")
  end

  # Behind one address there may be several processes.
  def test_mounted_and_of_a_family
    map("--family", base: "/mwrap")
    check_line(1)
    wait_until("1") { colours["lit"] }
    press_button("again")
    shown
    paths = asked(%r{/map(?:/|\.json)}).map { |a| a.split[1] }
    first = paths.index("/mwrap/map.json")
    assert_operator paths.size, :>, 5
    assert(paths.drop(first + 1).all? { |p| p.start_with?("/mwrap/4711/map") }, paths.inspect)
    assert_match(%r{\A/mwrap/at/}, js("document.querySelector('.lines td.location a').getAttribute('href')"))
  end

  def test_a_process_that_ends
    map
    @server.die
    press_button("again")
    wait_until("document.querySelector('.memory .warning').textContent === 'No answer: the process may have ended. The last snapshot stays.'")
    assert_operator colours["empty"], :>, 10_000
    @allowed = ENDED
  end

  def test_hostile_names
    map("--hostile")
    at = (1..5).find { |n| line(n).include?("<img src=x onerror=") }
    refute_nil at
    check_line(at)
    wait_until("1") { colours["lit"] }
    refute js("'hostile' in window")
  end

  # Of 2.6 million pages only those that are looked at are asked for, at a level at which all fit.
  def test_ten_gigabytes
    map("--gigabytes=10")
    assert_equal "One square = 64 KiB (16 pages), one row = 16 MiB", text(".memory .scale")
    first = asked(/\.bin/).map { |a| a[%r{\d/\d+\.bin}] }
    assert_equal %w[2/0.bin 2/1.bin 2/2.bin 3/0.bin], first.sort
    2.times { press_button("closer") }
    wait_until("document.querySelector('.scale').textContent === 'One square = 4 KiB, one row = 1 MiB'")
    wait_for_tiles
    near = asked(/\.bin/).map { |a| a[%r{\d/\d+\.bin}] }.grep(/\A0/)
    assert_operator near.size, :<, 20
    js("(() => { const c = document.querySelector('.cells'); c.scrollTop = c.scrollHeight; })()")
    wait_until("1") { @server_more = (@server_more || []) + asked(/\.bin/).map { |a| a[%r{\d/\d+\.bin}] }; @server_more.grep(/\A0/).any? }
    wait_for_tiles
    all = near + @server_more.grep(/\A0/)
    assert_equal all.uniq, all, "none twice"
  end

  # All of it in one window: how long that takes is printed, not judged.
  def test_all_of_ten_gigabytes_in_one_window
    map("--gigabytes=10", width: 1800, height: 3600)
    assert_equal "One square = 4 KiB, one row = 1 MiB", text(".memory .scale")
    tiles = [] # what was asked for is told once
    patiently { tiles.concat(asked(/\.bin/)).size >= 42 && colours["empty"] > 1_500_000 }
    assert_operator colours["empty"], :>, 1_500_000
    assert_equal [42, 42], [tiles.size, tiles.uniq.size], "each tile once, and the coarsest one"
    focus_map
    js(<<~JS)
      (() => { const c = document.querySelector(".cells"), times = []; let n = 0, last = performance.now();
        const next = (now) => { times.push(now - last); last = now; c.scrollTop = n % 2; c.dispatchEvent(new Event("scroll")); if (n++ < 30) requestAnimationFrame(next); else window.took = times.slice(2).sort((a, b) => a - b); };
        requestAnimationFrame(next); })()
    JS
    took = wait_until("window.took")
    puts "# a frame with 2.6 million cells: #{took[took.size / 2].round} ms, the longest #{took.last.round} ms"
  end

  def test_sharp_screens
    serve
    open_page("#{origin}/map")
    @page.command("Emulation.setDeviceMetricsOverride", width: 1300, height: 800, deviceScaleFactor: 2, mobile: false)
    shown
    wait_until("(({ width, clientWidth }) => Math.abs(width - 2 * clientWidth) <= 2)(document.querySelector('.memory canvas'))")
    point(0)
    wait_until("document.querySelector('.details').textContent.endsWith('main arena, 0x55d0c0000000')")
  end

  def test_narrow_windows
    map(width: 390, height: 800)
    assert_equal 390, js("document.documentElement.scrollWidth")
    point(257, size: 1)
    wait_until("document.querySelector('.details').textContent.endsWith(arguments[0])", "main arena, 0x#{(MAIN + 257 * 4096).to_s(16)}")
    click(".lines tbody tr:nth-child(1) input")
    wait_until("1") { colours["lit"] }
    assert_equal 390, js("document.documentElement.scrollWidth")
  end

  def test_contrast
    %w[light dark].each do |scheme|
      map(scheme: scheme, still: true)
      js("[...document.querySelectorAll('.memory details')].forEach((d) => { d.open = true; })")
      check_line(2)
      click_cell(3)
      wait_until("document.querySelectorAll('.who-lives tbody tr').length === 3")
      press_button("trim")
      wait_until("!document.querySelector('.memory .ask').hidden")
      n, bad = js(Chromium::CONTRAST)
      assert_operator n, :>, 80
      assert_empty bad, scheme
      assert_empty js(Chromium::EDGES)[1], scheme
      close_page
      @server.close
    end
    @server = nil
  end

  # --- one file ---------------------------------------------------------------------

  def alone(*args, **look)
    serve(*args)
    in_tmp do |dir|
      assert_written ctl("map", "127.0.0.1:#{@server.port}", "-o", "#{dir}/map.html")
      @server.close
      @server = nil
      @address = "file://#{dir}/map.html"
      open_page(@address, **look)
      shown
      yield
    end
  end

  def test_one_file
    alone("--hostile") do
      assert_match(/\Apid 4711, up .*: puma 6\.4 \[app\]\z/, text(".process"))
      assert_operator colours["empty"], :>, 10_000
      point(257)
      wait_until("document.querySelector('.details').textContent.endsWith(arguments[0])", "main arena, 0x#{(MAIN + 257 * 4096).to_s(16)}")
      check_line(1)
      wait_until("1") { colours["lit"] }
      click_cell(3)
      refute js("!!document.querySelector('.who-lives, .what-if, [data-action=trim], [data-action=keep], [data-action=again], .memory a')")
      press_button("farther")
      wait_until("document.querySelector('.scale').textContent.startsWith('One square = 4 KiB')")
      assert_operator assert_picture[0]["lit"], :>, 100
      refute js("'hostile' in window")
      assert_alone
    end
  end

  def test_one_file_of_ten_gigabytes
    alone("--gigabytes=10") do
      assert_equal "One square = 64 KiB (16 pages), one row = 16 MiB", text(".memory .scale")
      wait_for_tiles
      check_line(1)
      wait_until("1") { colours["lit"] }
      2.times { press_button("closer") }
      wait_until("document.querySelector('.scale').textContent === 'One square = 4 KiB, one row = 1 MiB'")
      assert_alone
    end
  end
end
