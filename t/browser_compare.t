#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Named marks and differences in Chromium, of a real process: on the live page, and without scripts.
require_relative "lib/browser"
require_relative "lib/served"

class BrowserCompareTest < Minitest::Test
  include BrowserTest

  APP = <<~'RUBY'
    $stdout.sync = true
    $kept = []
    puts "ready"
    while (line = $stdin.gets)
      case line.chomp
      when "grow" then 100.times { $kept << "g" * 5000 }
      end
      puts "done"
    end
  RUBY
  SIZES = [390, 768, 1280, 1920].freeze

  attr_reader :origin

  def app
    served_ruby(APP, options: ["listen:127.0.0.1:0"]).tap do |a|
      a.hear
      @origin = origin_of(a)
    end
  end

  def tell(app, what)
    app.ask(what)
    at_rest(app)
  end

  # With PICTURES=FOLDER the pages are kept as pictures.
  def picture(name)
    File.binwrite(File.join(ENV["PICTURES"], "#{name}.png"), @page.screenshot(encoding: :binary)) if ENV["PICTURES"]
  end

  # The first row's cells, as text and exact numbers
  def first_row = js("[...document.querySelectorAll('main tbody tr:first-child td')].map((n) => n.querySelector('[title]')?.title.replace(/[^\\d-]/g, '') || n.textContent)")

  # Nothing is wider than the window, but for tables, which scroll in their own frame.
  def assert_fits(what) = assert_operator js("document.documentElement.scrollWidth"), :<=, js("innerWidth"), what

  def select(name, option)
    js("((s, o) => { s.value = o; s.dispatchEvent(new Event('change', { bubbles: true })); })(document.querySelector(`select[name=${arguments[0]}]`), arguments[1])", name, option)
  end

  def name_it(name)
    js("document.querySelector('[data-action=name]').click()")
    wait_until("document.activeElement.getAttribute('aria-label') === 'Name of the mark'")
    @page.keyboard.type(name, :enter)
    wait_until("[...document.querySelectorAll('.event[data-kind=mark]')].some((n) => n.title.endsWith(`mark: ${arguments[0]}`))", name)
  end

  def click(selector) = @page.at_css(selector).focus.click

  def test_mark_allocate_mark_compare
    a = app
    open_page("#{origin}/")
    wait_for_live
    wait_for_first_tick
    name_it("before")
    assert_equal "mark: set: before", text(".said")
    tell(a, "grow")
    name_it("after")
    assert_equal %w[before after], js("[...document.querySelectorAll('.event[data-kind=mark]')].map((n) => n.title.split(': ').pop())")
    picture "live"
    to_another_document { click("header nav a[href='/diff']") }
    assert_equal "Two moments compared", text("h1")
    assert_equal [%w[start peak after before], %w[now peak after before]], %w[from to].map { |n| js("[...document.querySelector(`select[name=${arguments[0]}]`).options].map((o) => o.text)", n) }
    select("from", "before")
    select("to", "after")
    to_another_document { click(".filter button") }
    assert_equal "?from=before&to=after", js("location.search")[/\A[^&]*&[^&]*/]
    row = first_row
    assert_equal "#{path("app.rb")}:6", row.last
    want = JSON.parse(body("/diff.json?from=before&to=after&limit=1"))["rows"][0]
    assert_equal want["growth"].to_s, row[0]
    assert_operator want["growth"], :>=, 500_000
    # a header sorts, a link leads to the location
    to_another_document { click("main thead th:last-child a") }
    assert_equal "ascending", js("document.querySelector('main th[aria-sort]').ariaSort")
    assert_equal "before", js("document.querySelector('select[name=from]').value")
    assert_empty @complaints
  end

  def test_two_moments_of_the_plot
    a = app
    eventually("some history") { get("/diff.tsv?from=0").then { |r| r.status == 200 && r.body[/to_uptime=([\d.]+)/, 1].to_f >= 5 } }
    tell(a, "grow")
    open_page("#{origin}/#time=1-5")
    wait_for_live
    wait_until("document.querySelector('.headline a[href*=\"/diff\"]')?.checkVisibility()")
    link = js("document.querySelector('.headline a[href*=\"/diff\"]').getAttribute('href')")
    assert_equal "/diff?from=1&to=5", link
    to_another_document { click(".headline a[href*='/diff']") }
    assert_match(/locations that it doesn’t keep are \(rest\)/, text(".summary"))
    assert_equal ["1 s of uptime", "5 s of uptime"], js("[...document.querySelectorAll('select option:checked')].map((o) => o.text).slice(0, 2)")
    refute_includes js("document.querySelector('main thead').textContent"), "Blocks"
    assert_empty @complaints
  end

  # Forms alone: set a mark, compare, clear it; at every width, light and dark.
  def test_without_scripts
    a = app
    tell(a, "grow")
    open_page("#{origin}/marks", scripts: false)
    js("document.querySelector('input[name=name]').value = arguments[0]", "a <b> & 'c'")
    to_another_document { click("form[action$='/mark'] button") }
    assert_equal "/marks", js("location.pathname")
    assert_equal "a <b> & 'c'", text("main tbody a")
    tell(a, "grow")
    to_another_document { click("main tbody a") }
    assert_equal ["a <b> & 'c'", "now"], js("[...document.querySelectorAll('select option:checked')].map((o) => o.text).slice(0, 2)")
    assert_equal "#{path("app.rb")}:6", first_row.last
    SIZES.product(%w[light dark]).each do |width, scheme|
      Chromium.look(@page, width, 800, scheme)
      %w[/diff?from=a+%3Cb%3E+%26+%27c%27 /marks].each do |at|
        go_to("#{origin}#{at}")
        assert_fits "#{at} at #{width}"
        n, bad = js(Chromium::CONTRAST)
        assert_operator n, :>, 20
        assert_empty bad, "#{at} #{scheme}"
        assert_empty js(Chromium::EDGES)[1], "#{at} #{scheme}"
        picture "#{at[/\w+/]}-#{width}-#{scheme}"
      end
    end
    to_another_document { click("form[action$='/mark/clear'] button") }
    assert_equal "No moment is marked.", text("main tbody").strip
    assert_empty @complaints
  end
end
