#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The page of a replay in Chromium: curves, labels, the pointer, and hostile texts. It is one file that asks for nothing.
require_relative "lib/browser"
require_relative "lib/replayed"
require_relative "../lib/mwrap/ctl"
require_relative "../lib/mwrap/ctl/replay_page"

class BrowserReplayTest < Minitest::Test
  include BrowserTest
  include Replayed

  def replay(look = {}, **more)
    in_tmp do |dir|
      File.write("#{dir}/replay.html", Mwrap::Ctl::ReplayPage.html(outcome(**more)))
      @address = "file://#{dir}/replay.html"
      open_page(@address, **look)
      yield
      assert_empty @complaints
      assert_equal [@address], @requests
    end
  end

  def labels(figure = "curves") = texts("##{figure} .ends span").map { |s| s.tr("\u00a0", " ") }
  def shown = [texts("#curves .ends .shown"), texts(".settings .shown th")].map { |found| found.map { |s| s[/\A[\w ]+/].strip } }

  # Pixels of the canvas that have a setting's colour
  def painted(name)
    js(<<~'JS', name)
      (() => { const c = document.querySelector("#curves canvas"), copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
        copy.drawImage(c, 0, 0);
        const { data } = copy.getImageData(0, 0, c.width, c.height);
        const [r, g, b] = getComputedStyle(document.documentElement).getPropertyValue(arguments[0]).trim().match(/[0-9a-f]{2}/g).map((h) => parseInt(h, 16));
        let n = 0;
        for (let i = 0; i < data.length; i += 4) if (data[i] === r && data[i + 1] === g && data[i + 2] === b && data[i + 3] === 255) n++;
        return n; })()
    JS
  end

  # [labels that overlap another one, or leave the window]
  def bad_labels
    js(<<~'JS')
      [...document.querySelectorAll(".ends")].flatMap((ends) => { const boxes = [...ends.children].map((n) => [n.textContent, n.getBoundingClientRect()]);
        return boxes.filter(([, a], i) => a.left < 0 || a.right > innerWidth || boxes.some(([, b], k) => k !== i && a.top < b.bottom - 1 && b.top < a.bottom - 1)).map(([text]) => text); })
    JS
  end

  # The window's point of a time and of bytes, by the plot's own scale
  def point(part, label)
    js("(([p, of]) => { const o = document.querySelector('#curves .u-over').getBoundingClientRect(), l = document.querySelector(`#curves .ends :nth-child(${of})`).getBoundingClientRect();
         return [o.left + o.width * p, l.top + l.height / 2]; })(arguments[0])", [part, label])
  end

  def test_curves_and_their_labels
    replay do
      assert_equal ["glibc, as it is: peak 182 MB, mean 146 MB", "glibc MALLOC_ARENA_MAX=2: peak 107 MB, mean 88.0 MB", "jemalloc narenas:2: peak 120 MB, mean 84.0 MB", "mimalloc: peak 171 MB, mean 118 MB"],
                   labels.first(4)
      assert_match(/\Alive bytes, the floor: peak 72.0 MB, mean /, labels[4])
      assert_equal ["recorded in the process: peak 180 MB, mean 147 MB", "replayed as recorded: peak 185 MB, mean 149 MB"], labels("trust").first(2)
      { "--curve-0" => 0..0, "--curve-1" => 200.., "--curve-2" => 100.., "--curve-3" => 100.., "--curve-4" => 100.. }.each { |name, n| assert_includes n, painted(name), name }
      assert_empty bad_labels
      assert_equal 2, js("document.querySelectorAll('.replay canvas').length")
    end
  end

  def test_the_pointer_shows_values_and_the_nearest_curve
    replay do
      x, y = point(0.5, 1) # glibc's curve is flat from there to its peak, and the same at its end but for 0.8 to 0.7
      @page.mouse.move(x: x, y: y)
      wait_until("document.querySelector('#curves figcaption').textContent.startsWith('At ')")
      assert_equal 5, labels.grep(/: \d+(\.\d)? MB\z/).size, labels.inspect
      at = text("#curves figcaption").tr("\u00a0", " ")[/\AAt 1 m (\d+) s of 3 m 20 s\z/, 1].to_i
      assert_in_delta 40, at, 2
      assert_match(/\Aglibc, as it is: 14\d MB\z/, labels[0])
      @page.mouse.move(x: 5, y: 5)
      wait_until("document.querySelector('#curves .ends span').textContent.includes('peak')")
    end
  end

  def test_a_row_or_a_label_lights_up_its_curve
    replay do
      assert_equal [[], []], shown
      click("tr[data-setting='4']")
      assert_equal [["mimalloc"], ["mimalloc"]], shown
      assert_equal 0, painted("--curve-1"), "the others are pale"
      assert_operator painted("--curve-4"), :>, 100
      click("#curves .ends :nth-child(2)")
      assert_equal [["glibc MALLOC_ARENA_MAX"], ["glibc MALLOC_ARENA_MAX"]], shown
      click("#curves .ends :nth-child(2)")
      assert_equal [[], []], shown
      x, y = js("(({ left, top, width }) => [left + width / 2, top + 2])(document.querySelector(\"tr[data-setting='3']\").getBoundingClientRect())")
      @page.mouse.move(x: x, y: y)
      wait_until("document.querySelector('.settings .shown')?.dataset.setting === '3'")
    end
  end

  def test_the_arrow_keys_move_along_it
    replay do
      js("document.querySelector('#curves .plot').focus()")
      keys(:Right, :Right)
      wait_until("document.querySelector('#curves figcaption').textContent.replace(/\\u00a0/g, ' ').startsWith('At 2 s ')")
    end
  end

  def test_hostile_texts
    hostile = %(<img src=x onerror="window.hostile=1"></script><script>window.hostile = 1</script>{{json}}\u202e#{"long" * 60})
    settings = [*SETTINGS.first(2), SETTINGS[2].merge("setting" => hostile), { "setting" => hostile, "error" => hostile }]
    replay({ width: 390 }, file: hostile.tr("/", "_"), command: hostile, settings: settings) do
      assert_includes labels[1], "<img src=x onerror="
      refute js("'hostile' in window")
      assert_equal 390, js("document.documentElement.scrollWidth")
      assert_empty bad_labels
    end
  end

  def test_narrow_and_dark_and_many
    settings = [SETTINGS[0], *Array.new(14) { |i| setting("glibc MALLOC_ARENA_MAX=#{i + 1}", "glibc 2.36", 100 + i % 3, 90, 1.0, { "MALLOC_ARENA_MAX" => (i + 1).to_s }) }]
    { "light" => 390, "dark" => 1280 }.each do |scheme, width|
      replay({ width: width, scheme: scheme }, settings: settings) do
        assert_equal 16, labels.size
        assert_empty bad_labels
        assert_equal width, js("document.documentElement.scrollWidth")
        assert_equal width == 390, js("document.querySelector('#curves').classList.contains('below')")
        n, bad = js(Chromium::CONTRAST)
        assert_operator n, :>, 80
        assert_empty bad, scheme
      end
      close_page
    end
  end

  def test_without_scripts
    replay({ scripts: false }) do
      assert_match(/\A17\.1 million events .* instead of 182 MB/, text(".sentence"))
      assert_equal 6, js("document.querySelectorAll('.settings tbody tr').length")
      assert_includes text(".trust"), "can be trusted"
      assert_equal "none", js("getComputedStyle(document.querySelector('#curves')).display")
    end
  end
end
