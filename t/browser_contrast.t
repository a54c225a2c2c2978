#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# All text of the page can be read, in light and in dark: computed in Chromium from
# the colours that each piece of text and what is behind it really have.
require_relative "lib/made_up_page"
require "cgi/escape"

class ContrastTest < Minitest::Test
  include MadeUpPage

  # still: no colour that fades
  def visit(option, scheme) = super(option, scheme: scheme, still: true)

  def assert_readable(where)
    n, bad = js(Chromium::CONTRAST)
    assert_operator n, :>, 20, where
    assert_empty bad, where
    assert_empty js(Chromium::EDGES)[1], where
  end

  def test_it_would_be_noticed
    visit("--locations=100", "light")
    js("document.querySelector('.verdict').style.color = '#8a8a8a'")
    assert_match(/\A3\.\d\d: H1\.verdict /, js(Chromium::CONTRAST)[1][0])
    assert_equal [1, []], js(Chromium::EDGES)
    js("document.querySelector('input[type=search]').style.borderColor = '#d8dee4'")
    assert_match(/\A1\.3\d: INPUT Filter locations\z/, js(Chromium::EDGES)[1][0])
  end

  def test_contrast_is_aa_in_light_and_dark
    %w[light dark].each do |scheme|
      visit("--locations=100", scheme)
      @server.tick(20)
      wait_until("document.querySelector('#{ROWS} .trend').dataset.way === 'up'")
      assert_readable "#{scheme}: table"
      click("[data-action=reset]")
      wait_until("!document.querySelector('.ask').hidden")
      assert_readable "#{scheme}: question"
      keys(:Escape)
      click("[data-action=mark]")
      wait_until("!!document.querySelector('.event[data-kind=own]')")
      assert_readable "#{scheme}: mark and message"
      click("[data-action=unmark]")
      js("location.hash = '#time=90000-90100'")
      wait_until("!document.querySelector('.no-plot').hidden")
      assert_readable "#{scheme}: an impossible time"
      js("location.hash = '#view=map'")
      wait_until("document.querySelectorAll('.area').length > 3")
      assert_readable "#{scheme}: map"
      js("location.hash = '#at=#{CGI.escape(LEAK)}'")
      wait_until("document.querySelectorAll('.one .histogram td').length > 0")
      assert_readable "#{scheme}: location"
      js("[...document.querySelectorAll('.place-links button')].find((n) => n.textContent.startsWith('Editor')).click()")
      assert_equal 1, js(Chromium::EDGES)[0]
      assert_readable "#{scheme}: location, editor"
      @server.die
      wait_until("document.querySelector('.light').dataset.state === 'gone'")
      assert_readable "#{scheme}: gone"
      close_page
      @server.close
    end
  end
end
