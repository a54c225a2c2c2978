#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# gems.rb - gems that their authors built for Alpine, in a Ruby for musl: what they allocate is counted at the line that
# called them, to the byte, and mwrapctl who says what holds it. t/musl/root.sh unpacks the gems.

require_relative "../lib/served"
require_relative "../lib/runs_ctl"

class MuslGemsTest < Minitest::Test
  include HttpdTest
  include Served
  include RunsCtl

  GEMS = ENV.fetch("MWRAP_MUSL_GEMS")
  TEXT = 999 # libxml2 copies it, with a zero at its end
  NODE = 120 # a node of libxml2's
  APP = <<~RUBY
    require "nokogiri"
    require "sqlite3"
    DOCUMENT = Nokogiri::XML("<a/>")
    BASE = SQLite3::Database.new(":memory:")
    CONTENT = "x" * #{TEXT}
    KEPT = []
    def text = KEPT << Nokogiri::XML::Text.new(CONTENT, DOCUMENT)
    def statement = KEPT << BASE.prepare("select 1")
    $stdout.sync = true
    puts "ready"
    while (line = gets)
      line.to_i.times { text; statement }
      puts "done"
    end
  RUBY

  def setup
    super
    File.write(path("app.rb"), APP)
    paths = %w[nokogiri racc sqlite3].map { |name| "-I#{GEMS}/#{name}/lib" }
    @app = served(RUBY, *paths, "-I#{LIB}", path("app.rb"))
    assert_equal "ready", @app.hear
  end

  def keep(n) = assert_equal("done", @app.ask(n))

  # Sizes of a line's live blocks, and how many there are of each
  def sizes(location) = JSON.parse(body("/at/#{CGI.escape(location)}.json"))["lives"].map { |block| block["size"] }.tally

  def growth(location, calls)
    before = sizes(location)
    keep(calls)
    sizes(location).to_h { |size, n| [size, n - before.fetch(size, 0)] }
  end

  def test_blocks_of_nokogiri
    keep(100)
    grew = growth("#{path("app.rb")}:7", 1000)
    assert_equal [1000, 1000], grew.values_at(TEXT + 1, NODE), grew.inspect
    run = ctl("who", path, "app.rb:7")
    assert_written run
    assert_match(/\/app\.rb:7 +\d+ blocks +2200 held by Nokogiri::XML::Text: .*KEPT → Array → Nokogiri::XML::Text$/, run.stdout)
  end

  # A line of sqlite3's own calls its library, which takes four blocks and more for a statement.
  def test_blocks_of_sqlite3
    keep(500)
    line = json.select { |row| row.location.include?("/sqlite3/lib/") }.max_by(&:live).location
    assert_match %r{/sqlite3/statement\.rb:\d+\z}, line
    3.times do
      grew = growth(line, 500)
      assert_operator grew.count { |_, n| n.positive? && n % 500 == 0 }, :>=, 4, grew.inspect
    end
    run = ctl("who", path)
    assert_written run
    assert_match(/^ *\d+ +\d+ +ruby +SQLite3::Statement$/, run.stdout)
  end
end
