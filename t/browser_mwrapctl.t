#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The page that `mwrapctl flame` writes of a real process, opened from disk in Chromium once that process
# has ended. browser_flame.t has the graph of made-up stacks.
require_relative "lib/browser"
require_relative "lib/served"

class MwrapctlPageTest < Minitest::Test
  include BrowserTest

  HOSTILE = "/srv/</script><script>window.hostile=1</script><!--{{json}}\u2028\xff.rb".b
  APP = <<~RUBY
    NAME = #{HOSTILE.dump}.force_encoding("UTF-8")
    KEPT = []
    def keep = KEPT << ("x" * 20_000) # the line
    def caller_of_it(n) = n.times { keep }
    eval("def odd(n) = n.times { KEPT << ('y' * 20_000) }", nil, NAME, 1)
    GC.disable
    caller_of_it(300)
    odd(200)
    $stdout.puts "ready"
    $stdout.flush
    $stdin.gets
  RUBY
  LINE = APP.lines.index { |l| l.include?("# the line") } + 1

  # Writes the page of a process that has ended when this returns, and opens it.
  def page(*options)
    app = served_ruby(APP, options: ["stacks:64k"])
    assert_equal "ready", app.hear
    @total = JSON.parse(body("/flame.json"))["total"]
    run = run_command(RUBY, File.join(ROOT, "lib/exe/mwrapctl"), "flame", path, "-o", path("flame.html"), *options)
    assert_success run
    app.finish
    @address = "file://#{path("flame.html")}"
    open_page(@address)
    wait_until("!!document.querySelector('.flame .top-frames tbody tr') && !document.querySelector('.flame[aria-busy]')")
  end

  def button(name) = "[...document.querySelectorAll('.top-frames tbody button')].find((b) => b.textContent.endsWith('#{name}'))"

  # A frame, in the list of those with the most bytes below them
  def choose(name)
    click(".top-frames [data-column=total] button")
    wait_until("!!#{button(name)}")
    js("#{button(name)}.click()")
    wait_until("document.querySelector('.details b').textContent.endsWith('#{name}')")
  end

  def test_a_page_from_disk
    page
    assert_match(/app\.rb.* \(\d+\) - mwrap\z/, js("document.title"))
    assert_match(/\Apid \d+, up \d+ s: .*app\.rb/, text(".process"))
    assert_operator text(".flame .summary"), :start_with?, format("%.1f\u00a0MB are live, as of ", @total / 1048576.0)
    choose("caller_of_it")
    assert_match(/estimated from \d+ samples/, text(".amounts"))
    assert_alone
  end

  def test_hostile_names
    page
    choose("odd")
    wait_until("document.querySelector('.details').textContent.includes('</script><script>window.hostile=1</script><!--{{json}}')")
    refute js("'hostile' in window")
    assert_alone
  end

  def test_one_location_inverted
    page("--location", "#{path("app.rb")}:#{LINE}", "--by", "total", "--invert")
    assert_match(/ were allocated by \S+app\.rb:#{LINE} until /, text(".flame .summary"))
    assert_includes js("document.querySelector('.flame canvas').ariaLabel"), "what asked for memory at the top"
    assert_alone
  end

  # The other page that mwrapctl writes, which has no scripts: light, and dark.
  def test_a_report
    app = served_ruby(APP)
    assert_equal "ready", app.hear
    run = run_command(RUBY, File.join(ROOT, "lib/exe/mwrapctl"), "report", path, "--html", "-o", path("report.html"))
    assert_success run
    app.finish
    @address = "file://#{path("report.html")}"
    open_page(@address)
    assert_equal "process #{app.pid}", text("h1").downcase
    assert_includes js("[...document.querySelectorAll('td.location')].map((e) => e.textContent).join()"), "</script><script>window.hostile=1</script><!--{{json}}\\u2028"
    refute js("'hostile' in window")
    assert_equal "monospace", js("getComputedStyle(document.querySelector('td.location')).fontFamily").split(", ").last, "its style is let in"
    assert_alone
  end
end
