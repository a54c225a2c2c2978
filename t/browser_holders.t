#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The holders of a location's blocks, in Chromium: looked up from the location's page and from the live page
# when somebody asks, and not before; and the link without scripts.
require_relative "lib/browser"
require_relative "lib/served"

class HoldersPageTest < Minitest::Test
  include BrowserTest
  include BrowserTest::Quiet
  include HttpdTest

  APP = <<~'RUBY'
    require "fiddle"
    class Registry; SESSIONS = {}; end
    40.times { |i| Registry::SESSIONS[i] = "a" * 10_000 }
    300.times { Fiddle.malloc(5000) }
    child = fork { sleep }
    GC.start
    $stdout.sync = true
    puts child
    gets
  RUBY

  attr_reader :origin

  def start
    @app = served_ruby(APP, options: ["listen:127.0.0.1:0"])
    @child = @app.hear.to_i
    @origin = origin_of(@app)
  end

  def teardown
    super
    Process.kill(:KILL, @child) if @child&.positive?
  rescue Errno::ESRCH
    nil
  end

  def at(line, prefix = "") = "#{origin}#{prefix}/at/#{escape("#{path("app.rb")}:#{line}")}"
  def asked = @requests.grep(%r{/holders\.json})
  def rows = js("[...document.querySelectorAll('.held tbody tr')].map((r) => [...r.children].map((c) => c.textContent))")

  def look
    click(".held button")
    wait_until("!document.querySelector('.held[aria-busy]') && document.querySelector('.held button').textContent === 'Look again'")
  end

  def test_a_locations_page
    start
    open_page(at(3))
    wait_until("!!document.querySelector('.held button')")
    assert_equal "Find holders", text(".held button")
    assert_empty asked
    assert js("document.querySelector('.held .scroll').hidden")
    look
    assert_match(/\A\d+ blocks are live\. \d+ of them (is|are) held by nothing/, text(".held [role=status]"))
    string = rows.find { |r| r[0] == "String" }
    assert_equal %w[ruby 40], string[1, 2]
    assert_operator string[4], :end_with?, "Object::Registry \u2192 Registry::SESSIONS \u2192 Hash \u2192 String"
    look
    assert_equal 2, asked.size
    assert_equal at(3), js("location.href")
    go_to(at(4))
    wait_until("!!document.querySelector('.held button')")
    look
    assert_match(/ 300 of them are held by nothing, 1\.4\d?.MB: a native leak\.\z/, text(".held [role=status]"))
    assert_equal ["(nothing)", "nothing", "300"], rows[0].first(3)
    click(".held a")
    wait_until("location.pathname === '/holders' && document.querySelector('h1')?.textContent === arguments[0]", "#{path("app.rb")}:4")
  end

  def test_a_relative
    start
    eventually("the child's server") { JSON.parse(body("/family.json"))["processes"].any? { |p| p["pid"] == @child } }
    open_page(at(3, "/#{@child}"))
    wait_until("!!document.querySelector('.held button')")
    look
    assert_equal %w[ruby 40], rows.find { |r| r[0] == "String" }[1, 2]
    assert(asked.all? { |u| u.start_with?("#{origin}/#{@child}/holders.json?location=") }, asked.inspect)
  end

  def test_the_live_page
    start
    open_page("#{origin}/#{@app.pid}/#at=#{escape("#{path("app.rb")}:3")}") # two processes: / shows them both
    wait_for_live
    wait_until("!document.querySelector('.one').hidden")
    assert_empty asked
    look
    assert_equal %w[ruby 40], rows.find { |r| r[0] == "String" }[1, 2]
    keys(:Escape)
    wait_until("document.querySelector('.one').hidden")
    js("location.hash = arguments[0]", "at=#{escape("#{path("app.rb")}:4")}")
    wait_until("document.querySelector('.one h1').textContent === arguments[0]", "#{path("app.rb")}:4")
    assert_equal "", text(".held [role=status]")
    assert js("document.querySelector('.held .scroll').hidden")
  end

  def test_no_answer
    start
    open_page(at(3))
    wait_until("!!document.querySelector('.held button')")
    [@app.pid, @child].each { |pid| Process.kill(:KILL, pid) }
    look
    assert_equal "The holders aren\u2019t known: nobody answers.", text(".held [role=status]")
    assert js("document.querySelector('.held .scroll').hidden")
    @allowed = ENDED
  end

  def test_without_scripts
    start
    open_page(at(3), scripts: false)
    refute js("!!document.querySelector('.held')")
    assert_equal "Holders of these blocks", text(".holders a")
    to_another_document { js("document.querySelector('.holders a').click()") }
    refute js("!!document.querySelector('table')"), "a link alone looks nothing up"
    to_another_document { js("document.querySelector('main button[name=look]').click()") }
    assert_includes texts("td").join(" "), "Registry::SESSIONS"
  end
end
