#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# A location may be longer than any address may be. Whatever shows one links to it by a short id
# then, and each such link leads to it.

require_relative "../lib/racked"
require_relative "../lib/browser"

class LongLocationHazards < Minitest::Test
  include BrowserTest

  LONG = "/srv/#{"long/" * 14_000}a.rb" # 70,000 bytes
  NAMES = [LONG, LONG.sub("a.rb", "b.rb"), "/srv/#{"\u20ac" * 5000}.rb", "/srv/#{"e\xff" * 3000}.rb".b, "(#{"eval at " * 500})", "/srv/#{"<&\"'> " * 300}"].freeze
  KEEP = NAMES.map.with_index { |name, i| "$kept << eval(\"'k' * #{9000 + i}\", nil, [#{[name].pack("m0").dump}].map { |s| s.unpack1('m') }[0].force_encoding('UTF-8'), 7)\n" }.join
  MAX = 2000 # bytes of a link, mount point and all

  attr_reader :origin

  def app(**rest)
    served_ruby("$kept = []\n#{KEEP}$stdout.sync = true\nputs :there\nwhile gets\n  puts fork { #{KEEP.lines.first} puts(:child); sleep }\nend\n", **rest)
      .tap { |a| assert_equal "there", a.hear }
  end

  # Without the places where a browser may break a line
  def plain(html) = html.dup.force_encoding("UTF-8").gsub("<wbr>", "")

  # A page's links to locations: name => address.
  def links(html)
    plain(html).scan(%r{<td class="location"><a href="([^"]*)">(.*?)</a>}m).to_h { |href, name| [CGI.unescapeHTML(name), CGI.unescapeHTML(href)] }
  end

  def shown(name) = name.dup.force_encoding("UTF-8").scrub("\u{fffd}")

  # Each long one has a link, and that leads to it, in every form. The block asks.
  def assert_links(base, live: NAMES.map { 1 })
    found = links(pages("#{base}/each/0?limit=500") { |target| yield(target).b })
    found.each_value { |href| assert_operator href.bytesize, :<, MAX }
    NAMES.each_with_index do |name, i|
      href = found["#{shown(name)}:7"] || flunk("no #{name[0, 50]}") # fetch would look for a similar name
      assert_match(%r{\A#{base}/at/~\h{16}\z}, href)
      page = plain(yield(href))
      assert_includes page, CGI.escapeHTML(shown(name))
      assert_equal [9001 + i] * live[i], yield("#{href}.tsv").lines.drop(1).map { |l| l.to_i }.select { |n| n >= 9000 }
      assert_equal "#{shown(name)}:7", JSON.parse(yield("#{href}.json"))["location"]
      exports = page[%r{<p class="exports">(.*?)</p>}m, 1] || flunk("no exports")
      exports.scan(/href="([^"]*)"/) { |(e)| assert_operator e.bytesize, :<, MAX }
      id = href[/~\h+/]
      assert_includes plain(yield("#{base}/at?location=#{id}")), CGI.escapeHTML(shown(name))
    end
    # files and folders, too
    %w[file dir].each { |g| links(yield("#{base}/each/0?group=#{g}")).each_value { |href| assert_operator(href.bytesize, :<, MAX) && yield(href) } }
    found
  end

  def test_plain_pages
    a = app
    found = assert_links("") { |target| body(target) }
    # the rows themselves are as they were
    assert(json.any? { |r| r.location == "#{LONG}:7" })
    assert_equal [], json.select { |r| r.location.start_with?("~") }
    # one process's ids are its family's
    # (and it allocates at more lines meanwhile)
    again = assert_links("/#{a.pid}") { |target| body(target) }
    assert_equal found.transform_values { |href| "/#{a.pid}#{href}" }, again.slice(*found.keys)
    # those of nothing
    %w[~0123456789abcdef ~ ~0 ~0123456789ABCDEF ~0123456789abcdef0 ~zzzzzzzzzzzzzzzz].each do |id|
      assert_line get("/at/#{id}"), 404
      assert_line get("/source?location=#{id}"), 404
    end
    s = get("/source?location=#{found["#{LONG}:7"][/~\h+/]}")
    assert_equal [200, "#{LONG}:7"], [s.status, JSON.parse(s.body)["location"]]
  end

  def test_the_sum_of_all
    a = app
    said = [a.ask("fork"), a.hear]
    pid = said.find { |l| l != "child" }
    wait_for_server(path("s.#{pid}"))
    eventually("both answer") { JSON.parse(body("/all/each/0.json")).any? { |r| r["location"] == "#{LONG}:7" && r["processes"] == 2 } }
    assert_links("/all", live: [3, 2, 2, 2, 2, 2]) { |target| body(target) }
    assert_links("/#{pid}", live: [2, 1, 1, 1, 1, 1]) { |target| body(target) }
  ensure
    ::Process.kill(:KILL, pid.to_i) if pid
  end

  def test_through_rack
    r = racked(mount: "/m")
    r.eval("$kept = []; #{KEEP.gsub("\n", ";")}; 0")
    assert_links("/m") { |target| r.get(target).then { |a| assert_equal(200, a.status, target[0, 200]) && a.body } }
  end

  def test_the_live_page
    a = app(options: ["listen:127.0.0.1:0"])
    @origin = origin_of(a)
    ids = links(pages("/each/0?limit=500") { |target| body(target).b })
    NAMES.each do |name|
      open_page("#{origin}/#at=#{escape(shown(name))}%3A7")
      wait_until("document.querySelectorAll('.one .histogram td').length > 0")
      wait_until("document.querySelector('.source').textContent.startsWith('No source lines: Ruby read no such file')")
      hrefs = js("[...document.querySelectorAll('.one .exports a')].map((a) => a.getAttribute('href'))")
      assert_equal %w[tsv csv json].map { |form| "#{ids.fetch("#{shown(name)}:7")}.#{form}" }, hrefs
      assert_quiet
      close_page
    end
  end
end
