#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# A location that allocates much has a caller though nothing of it was sampled, also after a reset; a
# sample says more. And C functions have their own names. t/accuracy/run.rb measures how well that does.
require_relative "lib/served"

class FirstStacksTest < Minitest::Test
  include Served

  APP = <<~'RUBY'
    require "mwrap"
    $stdout.sync = true
    $kept = []
    def inner(n) = n.times { $kept << "x" * 2000 }
    def outer(n) = inner(n)
    def sorted(n) = (1..n).each_slice(1).sort_by { |v| $kept << "y" * 2000; v }
    while (line = $stdin.gets&.chomp)
      case line
      when "more" then outer(2000)
      when "sort" then GC.disable; sorted(2000) # in a collection Ruby can't be asked for names
      when "reset" then Mwrap.reset
      end
      puts "done"
    end
  RUBY
  LINE = "/app.rb:4"
  MADE = 2000 * 2001

  # Frames and bytes of each stack, as the page has them.
  def stacks(by, raw: false)
    body("/stacks.collapsed?by=#{by}#{"&raw=1" if raw}").lines(chomp: true).map do |line|
      frames, _, bytes = line.rpartition(" ")
      [frames.split(";").map { |f| bare(f) }, Integer(bytes)]
    end
  end

  def bytes_below(method, by) = stacks(by).sum { |frames, bytes| frames.include?(method) ? bytes : 0 }
  def total_at(line) = tsv.find { |row| row.location.end_with?(line) }.total

  # One sample in a gigabyte: as good as none.
  def start(rate = "1g") = served_ruby(APP, options: ["stacks:#{rate}"])

  def test_a_location_without_a_sample_has_a_caller
    app = start
    assert_equal "done", app.ask("more")
    at_rest(app)
    assert_operator stats["stacks_first"], :>, 0
    assert_operator total_at(LINE), :>=, MADE
    %w[live total].each { |by| assert_operator bytes_below("outer", by), :>=, MADE, by }
  end

  def test_it_is_no_sample
    app = start
    app.ask("more")
    at_rest(app)
    estimated = stacks("total", raw: true)
    assert_equal stats["stacks_samples"].zero?, estimated.empty?
    # a sample of a small block stands for a gigabyte, and a first stack for nothing
    assert_empty estimated.select { |_, bytes| bytes < 1 << 29 }
  end

  def test_it_serves_after_a_reset
    app = start
    app.ask("more")
    app.ask("reset")
    taken = stats["stacks_first"]
    app.ask("more")
    at_rest(app)
    assert_operator taken, :>, 0
    assert_operator bytes_below("outer", "total"), :>=, MADE
    # not twice: the two lines of this program that allocate may be new to it
    assert_operator stats["stacks_first"] - taken, :<=, 8
  end

  def test_a_function_has_its_own_name
    app = start("4k")
    app.ask("sort")
    at_rest(app)
    under = stacks("total").select { |frames, _| frames.include?("sorted") && frames.include?("block in sorted") }
    assert_operator under.size, :>, 0
    under.each do |frames, _|
      between = frames[frames.index("sorted") + 1...frames.index("block in sorted")]
      assert_equal %w[sort_by each each_slice each], between.grep(/\A(sort_by|each|each_slice)\z/)
    end
  end

  def test_off
    app = start("off")
    app.ask("more")
    at_rest(app)
    assert_equal [0, 0], stats.values_at("stacks_first", "stacks_samples")
  end
end
