#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Ruby::Box (from 4.0 on, with RUBY_BOX=1): a process has several copies of the extension, of classes and of
# their variables. All have the one tracker.

require_relative "lib/tap"

class BoxesTest < Minitest::Test
  ENVIRONMENT = { "RUBY_BOX" => "1" }.freeze
  HAS_BOXES = system({ "RUBY_BOX" => "1" }, RUBY, "-W0", "-e", "exit Ruby::Box.enabled?", out: File::NULL, err: File::NULL)

  def setup
    skip "this Ruby has no Ruby::Box" unless HAS_BOXES
  end

  # in_box: code of a box; it prints with `tell`.
  def run_boxes(code, **rest)
    r = run_command(RUBY, "-W0", "-rjson", "-I#{LIB}", "-e", <<~RUBY, env: ENVIRONMENT.merge(rest.fetch(:env, {})))
      def in_box(code)
        box = Ruby::Box.new
        box.eval("require 'json'; require '#{LIB}/mwrap'; def self.tell(x) = puts(JSON.generate(x))")
        box.eval(code)
        box
      end
      def tell(x) = puts(JSON.generate(x))
      #{code}
    RUBY
    assert_success r
    assert_empty r.stderr
    r.stdout.lines.map { |l| JSON.parse(l) }
  end

  START = "tell [Mwrap.tracking?, (Mwrap.start rescue $!.message), Mwrap.tracking?]"
  COUNT = "K = Array.new(100) { 'x' * 5000 }; found = []; Mwrap.each { |l, bytes, n, *| found << [l.split('/').last, n] if bytes > 400_000 && !l.start_with?('(ruby') }; tell found"

  def test_start_in_a_box
    first, found, second, main = run_boxes(<<~RUBY)
      require "mwrap"
      in_box(#{"#{START}\n#{COUNT}".dump})
      in_box(#{START.dump})
      #{START}
    RUBY
    assert_equal [false, nil, true], first
    assert_equal 1, found.size
    assert_match(/:2\z/, found[0][0])
    assert_includes 100..130, found[0][1]
    running = "the tracker is running already"
    assert_equal [true, running, true], second # it was loaded after the start
    assert_equal [false, running, true], main
  end

  # Each class has a part for each box that changed it.
  CHANGED = <<~'RUBY'
    class Leaf; end
    class Kept; class << self; attr_accessor :all; end; end
    class String; def boxed = 1; end
    module Enumerable; def boxed_too = 2; end
    Kept.all = Array.new(50) { [Leaf.new, "s" * 3000] }
    String.instance_variable_set(:@in_box, "t" * 3000)
    OWN = 30.times.map { |i| Class.new(String) { define_method("m#{i}") { i }; const_set(:C, "c" * 2000) } }
    OWN.each_with_index { |c, i| c.new.send("m#{i}") }
    tell ["".boxed, [].boxed_too, Mwrap.tracking?]
  RUBY

  def test_classes_in_boxes
    *boxes, facts = run_boxes(<<~RUBY, env: { "LD_PRELOAD" => TRACKER })
      require "mwrap"
      require "mwrap/objects"
      $boxes = Array.new(3) { in_box(#{CHANGED.dump}) }
      GC.start
      GC.compact
      counts = Mwrap::Objects.counts.facts[:memsize]
      classes = Mwrap::Objects.classes.rows.map { |r| [r[:class], r[:count]] }
      iseqs = Mwrap::Objects.iseqs.facts[:iseqs]
      held = Mwrap.holders.sum { |r| r[:blocks] }
      leaf = Mwrap::Objects.find($boxes[1].eval("Kept.all[7][0]")).rows.map { |r| r[:class] }
      tell [counts, classes.select { |c,| c.end_with?("Leaf") }, iseqs, held, leaf, Mwrap.stats[:ruby_lookup]]
    RUBY
    assert_equal [[1, 2, true]] * 3, boxes
    counts, classes, iseqs, held, leaf, lookup = facts
    assert_operator counts, :>, 1_000_000
    assert_equal 150, classes.sum { |_, n| n }
    assert_operator iseqs, :>, 100
    assert_operator held, :>, 200
    assert_includes leaf, "Array"
    assert_equal "fast", lookup
  end
end
