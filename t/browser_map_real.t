#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The memory map at /map in Chromium, of real processes: threads that keep one block in some hundred.
# browser_map.t has the page with a made-up map.
require_relative "lib/browser"
require_relative "lib/served"
require_relative "lib/runs_ctl"

class RealMapTest < Minitest::Test
  include BrowserTest
  include BrowserTest::Quiet
  include RunsCtl

  APP = <<~'RUBY'
    $stdout.sync = true
    KEPT = Queue.new
    def keep = KEPT << "k" * 2000 # the line
    def bloat
      8.times.map do
        Thread.new do
          60.times do
            garbage = Array.new(300) { |i| "g" * (1000 + i) }
            keep
            garbage.clear
          end
        end
      end.each(&:join)
      GC.start
    end
    bloat
    fork { $stdin.gets } if ARGV[0] == "fork"
    puts "ready"
    while (line = $stdin.gets)
      KEPT.clear if line == "drop\n"
      GC.start
      puts "done"
    end
  RUBY
  LINE = APP.lines.index { |l| l.include?("# the line") } + 1

  attr_reader :origin

  def line = "#{path("app.rb")}:#{LINE}"

  def start(args: [], options: [])
    app = served_ruby(APP, args: args, options: ["listen:127.0.0.1:0", *options])
    assert_equal "ready", app.hear
    @origin = origin_of(app)
    app
  end

  def map(at = "/map", **look)
    open_page("#{origin}#{at}", **look)
    shown
  end

  # Drawn, with all its tiles
  def shown
    wait_until("!!document.querySelector('.memory canvas') && !document.querySelector('.memory[aria-busy]') && document.querySelector('.scale').textContent !== ''")
    wait_until("1") { !js("!!document.querySelector('.cells[data-loading]')") && pixels("none").positive? }
  end

  def row = js("[...document.querySelectorAll('.lines tbody tr')].findIndex((r) => r.lastChild.textContent === arguments[0])", line) + 1

  # How many pixels have a colour of the style sheet
  def pixels(name, number = 0)
    js(<<~'JS', name, number)
      (() => { const c = document.querySelectorAll(".memory canvas")[arguments[1]], copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
        copy.drawImage(c, 0, 0);
        const n = parseInt(getComputedStyle(c).getPropertyValue(`--map-${arguments[0]}`).slice(1).replace(/^(.)(.)(.)$/, "$1$1$2$2$3$3"), 16), { data } = copy.getImageData(0, 0, c.width, c.height);
        let seen = 0;
        for (let i = 0; i < data.length; i += 4) seen += (data[i] << 16 | data[i + 1] << 8 | data[i + 2]) === n;
        return seen; })()
    JS
  end

  def click_action(name) = click(".memory [data-action=#{name}]")

  def test_a_process_that_keeps_few_blocks
    start
    map
    assert_nil text(".memory-plain")
    assert_match(/\A[\d.]+.[MG]B is in memory\. /, text(".memory .sentence"))
    assert_operator pixels("empty"), :>, 100
    assert_operator row, :>, 0, "the line is in the table"
    click(".lines tbody tr:nth-child(#{row}) input")
    wait_until("1") { pixels("lit").positive? }
    # 480 strings, and what Ruby or YJIT keeps of its own there
    blocks = js("document.querySelector('.lines tbody tr:nth-child(#{row}) td:nth-last-child(2)').textContent")
    assert_includes 470..520, Integer(blocks), "blocks"
    wait_until("/^Without #{blocks} blocks \\(.*\\) of this line, .* more would be empty pages\\.$/.test(document.querySelector('.what-if [role=status]').textContent)")
  end

  def test_who_lives_in_a_page
    start
    map
    js("document.querySelector('.memory canvas').focus()")
    keys(:Enter)
    wait_until("document.querySelectorAll('.who-lives tbody tr').length > 0")
    assert_match(/\APage 0x\h+\z/, text(".who-lives h2"))
    link = js("document.querySelector('.who-lives td.location a').href")
    assert link.start_with?("#{origin}/at/"), link
    go_to(link)
    assert_equal 1, js("document.querySelectorAll('h1.location').length")
  end

  def test_trim
    start
    map
    click_action("trim")
    wait_until("!document.querySelector('.memory .ask').hidden")
    assert_match(/\Amalloc_trim would give back .*MB.*\. Threads that allocate meanwhile wait up to .* in all\./, text(".memory .ask span"))
    click(".memory .ask .yes")
    wait_until("document.querySelectorAll('.memory figure canvas').length === 2 && document.querySelector('.memory .said').textContent.startsWith('trim: resident memory fell by')")
    wait_until("!document.querySelector('.cells[data-loading]')")
    assert_match(/ less is in memory: empty pages .* less/, text(".difference .sentence"))
    wait_until("1") { pixels("empty", 1) * 2 < pixels("empty", 0) }
  end

  def test_read_only_and_one_process_of_a_family
    app = start(args: ["fork"], options: ["read_only:1"])
    map("/#{app.pid}/map")
    refute js("!!document.querySelector('[data-action=trim], form')")
    child = eventually("the child") { JSON.parse(body("/family.json"))["processes"].map { |p| p["pid"] }.find { |pid| pid != app.pid } }
    @requests.clear
    go_to("#{origin}/#{child}/map")
    shown
    asked = @requests.grep(%r{/map(?:\.json|/)})
    assert_operator asked.size, :>=, 2
    assert(asked.all? { |u| u.start_with?("#{origin}/#{child}/map") }, asked.inspect)
    click(".lines tbody tr:nth-child(1) input")
    wait_until("1") { pixels("lit").positive? }
  end

  # Written while it lives, read when it has ended
  def test_one_file
    app = start
    assert_written ctl("map", path, "-o", path("map.html"))
    rows = rows_of("map", path)
    app.finish
    assert_operator rows.find { |r| r["location"] == line }["times"], :>, 1
    address = "file://#{path("map.html")}"
    open_page(address)
    shown
    wait_until("1") { pixels("empty") > 100 }
    click(".lines tbody tr:nth-child(#{row}) input")
    wait_until("1") { pixels("lit").positive? }
    assert_empty @complaints
    assert_equal [address], @requests.uniq
  end
end
