#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Ruby's heap pages, which no malloc has, are seen as they come and go: stats.json has
# exactly the bytes that Ruby says it has allocated.
require_relative "lib/heap_page_size"
require_relative "lib/served"

class HeapPagesTest < Minitest::Test
  include Served
  include HeapPageSize

  APP = <<~'RUBY'
    require "fiddle"
    $stdout.sync = true
    size = Integer(ENV["SIZE"])
    say = -> { puts GC.stat(:heap_allocated_pages) * size }
    $kept = []
    map, unmap = { "mmap" => [1, 5, 4, 4, 4, 5], "munmap" => [1, 5] }.map do |name, types|
      Fiddle::Function.new(Fiddle.dlopen(nil)[name], types, Fiddle::TYPE_VOIDP)
    end
    say.call
    while (line = $stdin.gets&.chomp)
      case line
      when "more" then 300_000.times { $kept << Object.new }
      when "map" then $maps = Array.new(50) { map.call(nil, 2 * size, 3, 0x22, -1, 0) } # as Ruby does for a page
      when "unmap" then $maps.each { |m| unmap.call(m, 2 * size) }
      when "less" then $kept.clear; 8.times { GC.start }
      end
      say.call
    end
  RUBY

  def heap = JSON.parse(body("/stats.json"))["heap_bytes"]

  # Ruby's answer and ours, at a moment in which Ruby takes no page: the text of its
  # own answer may be the first object of a new one.
  def both(app)
    eventually("two answers of Ruby's that agree") do
      before, ours, after = Integer(app.ask("say")), heap, Integer(app.ask("say"))
      [before, ours] if before == after
    end
  end

  def test_as_ruby_says
    app = served_ruby(APP, env: { "SIZE" => SIZE.to_s })
    before = Integer(app.hear)
    assert_equal(*both(app))
    app.ask("more")
    more, ours = both(app)
    assert_equal more, ours
    assert_operator more, :>, before + 5_000_000
    app.ask("less")
    assert_equal(*both(app))
    assert app.finish.success?
  end
  def test_others_mappings_are_not_pages
    app = served_ruby(APP, env: { "SIZE" => SIZE.to_s })
    app.hear
    %w[map unmap].each do |word|
      app.ask(word)
      assert_equal(*both(app))
    end
    assert app.finish.success?
  end
end
