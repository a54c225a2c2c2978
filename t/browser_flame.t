#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The flame graph at /flame in Chromium, with made-up stacks behind it (t/js/flame_data.mjs), and the same
# as one file that needs no server.
require_relative "lib/browser"
require "cgi/escape"
require "net/http"

class FlameTest < Minitest::Test
  include BrowserTest
  include BrowserTest::Quiet

  REDCARPET = "/usr/share/gems/gems/redcarpet-3.6.0/lib/redcarpet.rb:51"

  def origin = @server.origin

  def flame(query = "", *args, base: "", **look)
    serve(*args, base: base)
    open_page("#{origin}#{base}/flame#{query}", **look)
    shown
  end

  # With its table, and drawn as wide as there is room: the size comes with the first picture.
  def shown
    wait_until("!!document.querySelector('.flame .top-frames tbody tr') && !document.querySelector('.flame[aria-busy]')")
    wait_until("(({ style, parentElement }) => style.width === `${parentElement.clientWidth}px`)(document.querySelector('.flame canvas'))")
  end

  def query = js("location.search + location.hash")
  def frame = text(".details b")
  def heard = text(".heard")
  def press_button(action) = click(".flame [data-action=#{action}]")
  def focus_graph = js("document.querySelector('.flame canvas').focus()")

  # The colours of a row of pixels in the middle of a row of the graph, by how many pixels have it
  def colours(row)
    js(<<~'JS', row)
      (() => { const c = document.querySelector(".flame canvas"), copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true }), seen = {};
        copy.drawImage(c, 0, 0);
        const { data } = copy.getImageData(0, arguments[0] * 20 + 3, c.width, 1);
        for (let i = 0; i < data.length; i += 4) { const k = [...data.slice(i, i + 3)].join(); seen[k] = (seen[k] || 0) + 1; }
        return seen; })()
    JS
  end

  def widest(row) = colours(row).max_by(&:last)[0]

  def move_to(row, part)
    box = js("(({ left, top, width }) => [left, top, width])(document.querySelector('.flame canvas').getBoundingClientRect())")
    [box[0] + box[2] * part, box[1] + row * 20 + 10]
  end

  def test_it_takes_the_place_of_the_plain_tree
    flame
    assert_nil text(".flame-plain")
    assert_match(/\A67\.2.MB are live, as of .* Callers are estimated from 1,707 samples/, text(".flame .summary"))
    assert_operator colours(1).values.max, :>, 500, "the first row is wide"
    assert_equal "all", frame
    assert_equal 30, js("document.querySelectorAll('.top-frames tbody tr').length")
    assert_equal 1, js("document.querySelectorAll('main h1').length")
  end

  def test_without_scripts_and_without_stacks_the_plain_tree_stays
    serve("--no-stacks")
    open_page("#{origin}/flame")
    assert_includes wait_until("document.querySelector('main .warning')?.textContent") { |s| s }, "stacks are off: start with the option stacks:auto"
    assert_includes text(".flame-plain"), "thread_start_func_1"
    assert_quiet("404 (Not Found)")
    close_page
    open_page("#{origin}/flame", scripts: false)
    assert_includes text(".flame-plain"), "thread_start_func_1"
  end

  def test_a_process_that_ends
    flame
    press_button("again")
    wait_until("!document.querySelector('.flame[aria-busy]')")
    assert_equal "", text(".flame .warning")
    @server.die
    press_button("again")
    wait_until("document.querySelector('.flame .warning').textContent.startsWith('No answer: the process may have ended.')")
    assert_operator colours(1).values.max, :>, 500, "the picture stays"
    @server.back
    press_button("again")
    wait_until("document.querySelector('.flame .warning').textContent === ''")
    @allowed = ENDED
  end

  def test_colours_of_the_system
    flame
    mine = colours(1)
    @page.command("Emulation.setEmulatedMedia", features: [{ name: "forced-colors", value: "active" }])
    wait_until("matchMedia('(forced-colors: active)').matches")
    wait_until("1") { colours(1) != mine }
    assert_operator colours(14).size, :>, 1, "nodes have edges"
    assert_equal widest(1), widest(5), "and one colour"
  end

  def test_what_is_chosen_is_in_the_address
    flame("?by=growth&since=mark", base: "/mwrap")
    assert_match(/grew by .* since the mark/, text(".summary"))
    assert_equal "true", js("document.querySelector('[data-by=growth]').ariaPressed")
    click("[data-by=total]")
    wait_until("document.querySelector('.summary').textContent.includes('were allocated')")
    assert_equal "?by=total", query
    press_button("invert")
    wait_until("location.search === '?by=total&invert=1'")
    shown
    assert_includes js("document.querySelector('.flame canvas').ariaLabel"), "what asked for memory at the top"
    js("history.back()")
    wait_until("location.search === '?by=total'")
    js("history.back()")
    wait_until("document.querySelector('.summary').textContent.includes('since the mark')")
    asked = @server.asked.grep(/flame\.json/)
    assert_equal ["?by=growth&since=mark", "?by=total", "?by=total&invert=1", "?by=total", "?by=growth&since=mark"], asked.map { |a| a[/\?.*/] }
  end

  def test_one_location_and_back
    flame("?location=#{CGI.escape(REDCARPET)}")
    assert_match(/MB by #{Regexp.escape(REDCARPET)} are live/, text(".summary"))
    assert_equal "only redcarpet.rb:51 \u00d7", text("[data-action=all]")
    press_button("all")
    wait_until("document.querySelector('.summary').textContent.startsWith('67.2')")
    assert_equal "", query
    # to the page of a line, and to its stacks alone
    type("Redcarpet::Markdown.new")
    click(".top-frames tbody tr:nth-child(3) button")
    assert_equal "Redcarpet::Markdown.new", frame
    assert_equal "/at/#{CGI.escape(REDCARPET)}", js("document.querySelector('.place a').getAttribute('href')")
    click(".place button")
    wait_until("new URLSearchParams(location.search).get('location') === arguments[0]", REDCARPET)
  end

  def test_pointing_and_zooming
    flame
    x, y = move_to(5, 0.3)
    @page.mouse.move(x: x, y: y)
    wait_until("document.querySelector('.details b').textContent === 'Rack::CommonLogger#call'")
    assert_match(/\A66\.3.MB live now \u00b7 99.% of all \u00b7 own 0.B \u00b7 estimated from [\d,]+ samples, about \u00b1\d/, text(".amounts"))
    assert_equal "100px", js("document.querySelector('.ring.over').style.top")
    assert_equal [x, y], move_to(5, 0.3), "the graph stays where it is"
    x, y = move_to(14, 0.1)
    @page.mouse.click(x: x, y: y)
    wait_until("/^#zoom=[0-9a-f]{8}$/.test(location.hash)")
    zoomed = frame
    assert_match(/\AGET /, zoomed)
    assert_equal 1, colours(14).count { |_, n| n > 700 }, "it takes all the width"
    assert_includes text(".top-frames caption"), "below #{zoomed}"
    # the link is to the same
    refresh
    shown
    assert_equal zoomed, frame
    # back by the browser, and by a frame above
    js("location.hash = ''")
    wait_until("document.querySelector('[data-action=reset]').disabled")
    @page.mouse.click(x: x, y: y)
    wait_until("location.hash !== ''")
    x, y = move_to(3, 0.5)
    @page.mouse.click(x: x, y: y)
    wait_until("document.querySelector('.details b').textContent === 'Puma::Server#process_client'")
    press_button("reset")
    wait_until("location.hash === ''")
  end

  def test_by_keyboard_alone
    flame
    focus_graph
    wait_until("document.querySelector('.heard').textContent.startsWith('all, 67.2')")
    keys(*([:Down] * 14))
    wait_until("document.querySelector('.details b').textContent === 'GET /'")
    assert_match(/\AGET \/, 15\.2.MB live now, .* of all, own .*, estimated from .* samples, .*app\.rb:20, notes, row 15/, heard)
    assert_equal "280px", js("document.querySelector('.ring').style.top")
    keys(:Right)
    wait_until("document.querySelector('.details b').textContent === 'GET /notes.json'")
    keys(:Left, :Enter)
    wait_until("location.hash.startsWith('#zoom=')")
    first = query
    keys(:Down, :Enter)
    wait_until("location.hash.startsWith('#zoom=') && location.hash !== arguments[0]", first)
    keys(:Escape)
    wait_until("location.hash === arguments[0]", first)
    keys(:Backspace)
    wait_until("location.hash === ''")
    keys(:Up, "/")
    wait_until("document.activeElement.type === 'search'")
    keys("redcarpet")
    wait_until("document.querySelector('.found').textContent.startsWith('matches')")
    assert_equal "matches 43\u00a0% of live bytes, 3 of 667 frames", text(".found")
    wait_until("document.querySelector('.heard').textContent.startsWith('matches')")
    wait_until("location.hash === '#q=redcarpet'")
    keys(:Escape)
    wait_until("document.querySelector('.found').textContent === ''")
    # the table: its headers and rows are reached by Tab
    js("document.querySelector('.top-frames th:nth-child(2) button').focus()")
    keys(:Enter)
    wait_until("document.querySelector('.top-frames th:nth-child(2)').ariaSort === 'descending'")
    assert_equal "thread_start_func_1", text(".top-frames tbody tr:first-child button")
    js("document.querySelector('.top-frames tbody tr:nth-child(4) button').focus()")
    keys(:Enter)
    wait_until("document.activeElement.tagName === 'CANVAS' && document.querySelector('.details b').textContent === 'Puma::Request#handle_request'")
    keys("?")
    wait_until("location.pathname === '/help'")
    @allowed = ["404 (Not Found)"]
  end

  # A row of pixels above the text of each row of the graph: neighbours differ, and so do callers.
  def test_neighbours_have_different_colours
    %w[light dark].each do |scheme|
      flame("", scheme: scheme)
      rows = js(<<~'JS')
        (() => { const c = document.querySelector(".flame canvas"), copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
          copy.drawImage(c, 0, 0);
          const rows = [];
          for (let y = 2; y < c.height; y += 20) {
            const { data } = copy.getImageData(0, y, c.width, 1), runs = [];
            for (let i = 0; i < data.length; i += 4) { const k = [...data.slice(i, i + 3)].join(); if (runs.at(-1)?.[0] === k) runs.at(-1)[1]++; else runs.push([k, 1, i / 4]); }
            rows.push(runs);
          }
          return rows; })()
      JS
      ground = scheme == "light" ? "255,255,255" : "13,17,23"
      pairs = 0
      rows.each do |runs|
        frames = runs.select { |colour, wide,| wide > 4 && colour != ground }
        frames.each_cons(2) do |a, b|
          next if b[2] - (a[2] + a[1]) > 3 # what is between them is more than a line
          refute_equal a[0], b[0], "#{scheme}, beside: #{a} #{b} #{runs.select { |r| r[2] > a[2] && r[2] < b[2] }}"
          pairs += 1
        end
      end
      assert_operator pairs, :>, 15, scheme
      # the widest frame of each row lies below the widest one before it
      widest = rows.first(12).map { |runs| runs.max_by { |r| r[1] }[0] }
      widest.each_cons(2) { |a, b| refute_equal a, b, "#{scheme}, caller" }
      close_page
      @server.close
    end
  end

  def halves = texts(".sandwich h2")

  def test_callers_and_callees_of_a_frame
    flame
    click(".top-frames tbody tr:nth-child(3) button")
    assert_equal "Redcarpet::Markdown.new", frame
    click("[data-action=between]")
    wait_until("/^#frame=[0-9a-f]{8}$/.test(location.hash)")
    assert_match(/\A\d+ callers?\z/, halves[0])
    assert_match(/\A\d+ callees?\z/, halves[1])
    assert_match(/\ARedcarpet::Markdown\.new: [\d.]+.MB live now · \d+.% of all · own [\d.]+.MB · estimated from [\d,]+ samples/, text(".totals"))
    assert_equal [true, false], %w[.graph>.frames .sandwich].map { |at| js("document.querySelector(arguments[0]).hidden", at) }
    # its root is below its callers, and above its callees
    assert_includes js("document.activeElement.ariaLabel"), "Callees of Redcarpet::Markdown.new"
    first = js("location.hash")
    keys(:Down)
    callee = frame
    refute_equal "Redcarpet::Markdown.new", callee
    keys(:Enter)
    wait_until("location.hash !== arguments[0] && document.querySelector('.totals').textContent.startsWith(arguments[1])", first, "#{callee}:")
    js("document.querySelector('[data-half=callers] canvas').focus()")
    keys(:Up)
    assert_equal "Redcarpet::Markdown.new", frame, "the largest caller is above"
    keys("s")
    wait_until("location.hash === arguments[0]", first)
    js("history.back()")
    wait_until("document.querySelector('.totals').textContent.startsWith(arguments[0])", "#{callee}:")
    js("history.back()")
    wait_until("location.hash === arguments[0]", first)
    # the same after a reload, and by a row of the table
    refresh
    wait_until("document.querySelector('.totals')?.textContent.startsWith('Redcarpet::Markdown.new: ')")
    click(".top-frames tbody tr:nth-child(1) button")
    wait_until("location.hash !== arguments[0]", first)
    keys(:Escape)
    wait_until("location.hash === '' && document.querySelector('.sandwich').hidden && !document.querySelector('.graph>.frames').hidden")
    assert_equal "CANVAS", js("document.activeElement.tagName")
    keys(:Down, "s")
    wait_until("document.querySelector('.totals').textContent.startsWith('thread_start_func_1: ')")
    assert_equal "No caller is known", halves[0]
    click("[data-action=leave]")
    wait_until("location.hash === ''")
  end

  def test_searching_and_grouping
    flame
    before = widest(2)
    type("/rack|puma/")
    wait_until("document.querySelector('.found').textContent.startsWith('matches 99')")
    wait_until("1") { widest(2) != before }
    type("/(/")
    wait_until("document.querySelector('.found').textContent === 'not a regular expression'")
    type("")
    press_button("merge")
    wait_until("document.querySelector('.top-frames caption').textContent.startsWith('16 groups')")
    wait_until("location.hash === '#group=gem'")
    focus_graph
    keys(:Down, :Down)
    assert_equal "puma-6.6.1", frame
  end

  def test_hostile_names
    flame("", "--hostile")
    assert_includes texts(".top-frames tbody button").join, "<img src=x onerror="
    x, y = move_to(1, 0.001)
    @page.mouse.move(x: x, y: y)
    refute js("'hostile' in window")
    close_page
    alone_file { |path| open_alone(path); refute js("'hostile' in window") }
  end

  def test_widths_and_sharpness
    flame
    [390, 768, 1280, 1920].each do |width|
      Chromium.look(@page, width, 900, "dark")
      wait_until("document.querySelector('.flame canvas').clientWidth === document.querySelector('.frames').clientWidth && innerWidth === arguments[0]", width)
      assert_operator js("document.documentElement.scrollWidth"), :<=, width
      assert_equal width >= 1120, js("document.querySelector('.top-frames').getBoundingClientRect().left > document.querySelector('.frames').getBoundingClientRect().right")
    end
    @page.command("Emulation.setDeviceMetricsOverride", width: 800, height: 900, deviceScaleFactor: 2, mobile: false)
    wait_until("devicePixelRatio === 2 && document.querySelector('.flame canvas').width === 2 * document.querySelector('.frames').clientWidth")
    dark = widest(0)
    # another width, too: of a sharpness alone, emulated, Chromium tells the page nothing
    Chromium.look(@page, 810, 900, "light")
    wait_until("!matchMedia('(prefers-color-scheme: dark)').matches")
    wait_until("document.querySelector('.flame canvas').width === document.querySelector('.frames').clientWidth")
    wait_until("1") { widest(0) != dark }
  end

  def test_contrast_and_edges
    %w[light dark].each do |scheme|
      flame("?by=growth#q=notes", scheme: scheme, still: true)
      n, bad = js(Chromium::CONTRAST)
      assert_operator n, :>, 60
      assert_empty bad, scheme
      assert_empty js(Chromium::EDGES)[1]
      click("[data-by=live]")
      shown
      assert_empty js(Chromium::CONTRAST)[1], scheme
      close_page
      @server.close
    end
  end

  def test_fifty_thousand_nodes
    flame("", "--nodes=50000")
    focus_graph
    keys(*([:Down] * 16), :Enter)
    wait_until("location.hash.startsWith('#zoom=')")
    type("helpers")
    wait_until("/^matches .* of the zoomed frame, /.test(document.querySelector('.found').textContent)")
  end

  # As `mwrapctl flame` writes it
  def alone_file
    in_tmp do |dir|
      file = File.join(dir, "flame.html")
      File.binwrite(file, Net::HTTP.get(URI("#{origin}/alone?by=total")))
      yield file
    end
  end

  def open_alone(path)
    open_page("file://#{path}")
    wait_until("!!document.querySelector('.flame .top-frames tbody tr')")
  end

  def test_a_file_without_a_server
    serve
    alone_file do |path|
      @server.close
      @server = nil
      open_alone(path)
      assert_match(/were allocated until .* estimated from 1,707 samples/, text(".summary"))
      assert_operator colours(1).values.max, :>, 500
      type("redcarpet")
      wait_until("document.querySelector('.found').textContent.startsWith('matches 4')")
      focus_graph
      keys(:Down, :Down, :Enter)
      wait_until("location.hash.includes('zoom=')")
      assert_empty texts(".place a")
      assert_nil text("[data-by]")
      keys("?")
      wait_until("document.querySelector('.keys').open")
      # its policy lets nothing else in
      js("document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.more = 1' }))")
      refute js("'more' in window")
      100.times { @complaints.empty? && js("1") && sleep(0.05) } # the browser tells of it by and by
      refused, left = @complaints.partition { |c| c.include?("Content Security Policy") }
      assert_operator refused.size, :>=, 1
      assert_empty left
      assert_equal ["file://#{path}"], @requests.map { |u| u[/\A[^#]+/] }.uniq
    end
  end
end
