#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The flame graph at /flame in Chromium, of a real process. What the page does with made-up stacks is
# browser_flame.t's.
require_relative "lib/browser"
require_relative "lib/served"

class RealFlameTest < Minitest::Test
  include BrowserTest

  APP = <<~RUBY
    $stdout.sync = true
    KEPT = []
    def keep = KEPT << ("x" * 20_000) # the line
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
    assert_operator text(".flame .summary"), :start_with?, format("%.2f\u00a0MB", bytes / 1048576.0)
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
    assert_quiet
  end

  def test_one_location
    start("stacks:64k")
    flame("?location=#{escape(line)}")
    assert_total tsv.find { |r| r.location == line }.live_bytes
    assert_includes text(".flame .summary"), "app.rb:#{LINE}"
    assert_quiet
  end

  def test_without_scripts
    start("stacks:64k")
    open_page("#{origin}/flame", scripts: false)
    assert_includes text(".flame-plain"), "caller_of_it"
    assert_match(/estimated from \d+ samples\./, text(".flame-plain .summary"))
    assert_quiet
  end

  def test_without_stacks
    start
    flame
    assert_total live_bytes
    assert_includes text(".flame .summary"), "No stacks are kept: the option stacks is off."
    assert_quiet
    close_page
    open_page("#{origin}/flame", scripts: false)
    assert_includes text(".flame-plain"), "No stacks are kept: the option stacks is off."
  end
end
