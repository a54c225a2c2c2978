#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The control that records for replay, on the live page in Chromium, with a made-up process behind it.
require_relative "lib/browser"

class BrowserRecordTest < Minitest::Test
  include BrowserTest
  include BrowserTest::Quiet

  def origin = @server.origin

  def visit(*args, **look)
    serve("--locations=20", "--hand", *args)
    open_page("#{origin}/", **look)
    wait_for_live
  end

  def press = click("[data-action=record]")
  def words = text(".record span").tr("\u00a0", " ")
  def said = text(".messages .said").tr("\u00a0", " ")
  def open_question
    press
    wait_until("!document.querySelector('.record').hidden")
  end

  def field(label, value) = js("document.querySelector(`.record [aria-label=\"${arguments[0]}\"]`).value = arguments[1]", label, value)

  def test_it_records_and_stops
    visit
    refute @server.asked.grep(/trace/).any?, "a page that only looks asks for nothing"
    open_question
    assert_match(/\ARecord: every call of malloc and free goes to a file/, words)
    field("Seconds at most", "60")
    field("If the disk is slow", "drop")
    click(".record .yes")
    wait_until("document.querySelector('[data-action=record]').textContent === 'Recording\u2026'")
    assert_equal ["GET /trace.json", "POST /trace/start?seconds=60&max=2g&full=drop&clock=coarse", "GET /trace.json"], @server.asked.grep(/trace/)
    assert_equal "Recording to /srv/app.4711.mwtrace: 1.00 M events in 2 s, 2.50 MB.", words
    assert js("document.querySelector('.record .fields').hidden && document.activeElement.matches('.record .no')")
    wait_until("document.querySelector('.record span').textContent.includes('2.00')") # it looks again
    keys(:Escape)
    wait_until("document.querySelector('.record').hidden")
    open_question
    assert_match(/\ARecording to /, words)
    click(".record .yes")
    wait_until("document.querySelector('.record').hidden && document.querySelector('.said').textContent.startsWith('Recorded to ')")
    assert_match(%r{\ARecorded to /srv/app\.4711\.mwtrace: \d\.00 M events in \d+ s, .* MB\. It ended: it was stopped\.\z}, said)
    assert_equal "Record\u2026", text("[data-action=record]")
  end

  def test_wrong_fields_and_a_refusal_are_said
    visit
    open_question
    field("Bytes at most", "lots")
    click(".record .yes")
    wait_until("document.querySelector('.said').textContent.startsWith('Record: a size is')")
    assert_empty @server.asked.grep(/POST/)
    field("Bytes at most", "1m")
    Net::HTTP.post(URI("#{origin}/trace/start"), "") # somebody else was faster
    click(".record .yes")
    wait_until("document.querySelector('.said').textContent === 'Record: trace: it records already'")
    @allowed = ["409 (Conflict)"]
  end

  def test_without_the_right_to_change_anything
    visit("--read-only")
    assert js("document.querySelector('[data-action=record]').hidden")
  end

  def test_narrow_and_readable
    { "light" => 390, "dark" => 1280 }.each do |scheme, width|
      visit(width: width, scheme: scheme, still: true)
      open_question
      assert_equal width, js("document.documentElement.scrollWidth")
      assert_empty js(Chromium::CONTRAST)[1], scheme
      assert_empty js(Chromium::EDGES)[1], scheme
      click("[data-action=reset]")
      wait_until("document.querySelector('.record').hidden && !document.querySelector('.ask').hidden")
      close_page
      @server.close
    end
    @server = nil
  end
end
