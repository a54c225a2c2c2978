#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Mwrap.holders: planted owners of every kind are named with their paths, what nothing points to is a
# native leak, and the process that asks is as it was.
require_relative "lib/in_ruby"

class HoldersTest < Minitest::Test
  include InRuby

  # N blocks for each owner, all at one line of its own.
  OWNERS = <<~'RUBY'
    class Keeper
      attr_accessor :one, :many
      @@shared = nil
      def self.share(v) = @@shared = v
      class << self; attr_accessor :own; end
      KEPT = []
    end
    Pair = Struct.new(:left, :right)
    N = 40
  RUBY

  def owners(more, asked)
    value_of(<<~RUBY, preload: TRACKER)
      eval(#{OWNERS.dump}, TOPLEVEL_BINDING, "owners.rb", 1)
      eval(#{more.dump}, TOPLEVEL_BINDING, "here.rb", 1)
      GC.start
      #{asked}.to_h { |line| [line, Mwrap.holders("here.rb:\#{line}")] }
    RUBY
  end

  def row(rows, holder) = rows.find { |r| r[:holder] == holder } || flunk("no #{holder} in #{rows.first(5).inspect}")

  KINDS = {
    "Keeper::KEPT.concat(Array.new(N) { 'a' * 1000 })" => ["Keeper", "Array"],
    "$global = Array.new(N) { 'a' * 1000 }" => ["Array"],
    "$hash = (0...N).to_h { |i| [i, 'a' * 1000] }" => ["Hash"],
    "$struct = Array.new(N) { Pair.new('a' * 1000, nil) }" => ["Array", "Pair"],
    "$ivar = Array.new(N) { Keeper.new.tap { |k| k.one = 'a' * 1000 } }" => ["Array", "Keeper.@one"],
    "Keeper.share Array.new(N) { 'a' * 1000 }" => ["Keeper.@@shared", "Array"],
    "Keeper.own = Array.new(N) { 'a' * 1000 }" => ["Keeper.@own", "Array"],
    "$proc = Array.new(N) { |i| s = 'a' * 1000; -> { s } }" => ["Array", "Proc", "(local variables)"],
    "Thread.current.thread_variable_set(:kept, Array.new(N) { 'a' * 1000 })" => ["Thread", "Hash", "Array"],
    "Thread.current[:kept] = Array.new(N) { 'a' * 1000 }" => ["Array"],
    "$fiber = Fiber.new { kept = Array.new(N) { 'a' * 1000 }; Fiber.yield; kept }.tap(&:resume)" => ["Fiber", "Array"],
    "$thread = Thread.new { kept = Array.new(N) { 'a' * 1000 }; sleep; kept }; Thread.pass until $thread.stop?" => ["Thread", "Array"],
    "$wide = Array.new(N) { Object.new.tap { |o| 30.times { |i| o.instance_variable_set(:\"@v\#{i}\", i) }; o.instance_variable_set(:@last, 'a' * 1000) } }" =>
      ["Array", "Object.@last"],
    "$generic = Array.new(N) { [].tap { |a| a.instance_variable_set(:@extra, 'a' * 1000) } }" => ["Array", "Array.@extra"]
  }.freeze

  def test_ruby_owners
    found = owners(KINDS.keys.join("\n"), (1..KINDS.size).to_a)
    KINDS.each_with_index do |(code, path), i|
      r = row(found.fetch(i + 1), "String")
      assert_equal :ruby, r[:by], code
      assert_operator r[:blocks], :>=, 40, code
      assert_operator r[:bytes], :>=, 40 * 1000, code
      assert_equal path, r[:path][-path.size - 1..-2], "#{code}: #{r[:path].inspect}"
      assert_equal "String", r[:path].last
    end
  end

  def test_blocks_of_other_types
    code = ["$arrays = Array.new(N) { Array.new(1000) }", "$hashes = Array.new(N) { (0..50).to_h { |i| [i, i] } }",
            "$regexps = Array.new(N) { |i| Regexp.new(\"a\#{i}\") }", "N.times { |i| Keeper.define_method(\"m\#{i}\") { i } }",
            "$bignums = Array.new(N) { |i| 3**5000 + i }"]
    found = owners(code.join("\n"), (1..5).to_a)
    { 1 => "Array", 2 => "Hash", 3 => "Regexp", 4 => "(instruction sequence)", 5 => "Integer" }.each do |line, holder|
      next if line == 4
      assert_operator row(found.fetch(line), holder)[:blocks], :>=, 40, code[line - 1]
    end
    assert_operator row(found.fetch(4), "(method)")[:blocks], :>=, 40
  end

  # Blocks that C code has: from Fiddle's malloc, which is the allocator's.
  NATIVE = <<~'RUBY'
    require "fiddle"
    PTR = Fiddle::SIZEOF_VOIDP
    def set(at, word) = Fiddle::Pointer.new(at)[0, PTR] = [word].pack("J")
    def link(all) = all.each_cons(2) { |a, b| set(a, b) }
  RUBY

  def test_native_blocks
    found = owners(NATIVE + <<~'RUBY', [5, 6, 7, 8])
      200.times { Fiddle.malloc(72) }
      $data = Array.new(N) { Fiddle::Pointer.malloc(72, Fiddle::RUBY_FREE) }
      chain = Array.new(200) { Fiddle.malloc(72) }; link(chain); $head = Fiddle::Pointer.malloc(8, Fiddle::RUBY_FREE); set($head.to_i, chain[0]); chain.clear
      ring = Array.new(200) { Fiddle.malloc(72) }; link(ring + ring.first(1)); ring.clear
    RUBY
    at_least = ->(line, holder, n) { assert_operator row(found.fetch(line), holder)[:blocks], :>=, n, "line #{line}" }
    at_least.call(5, "(nothing)", 190)
    at_least.call(6, "Fiddle::Pointer", 40)
    at_least.call(7, "Fiddle::Pointer", 200)
    at_least.call(8, "(nothing)", 190)
    assert_equal :nothing, row(found[5], "(nothing)")[:by]
    assert_empty row(found[5], "(nothing)")[:path]
  end

  def test_summary
    rows, stats = value_of(<<~'RUBY', preload: TRACKER)
      $kept = Array.new(1000) { "a" * 10_000 }
      rows = Mwrap.holders
      [rows, Mwrap.stats]
    RUBY
    assert_equal "String", rows[0][:holder]
    assert_operator rows[0][:bytes], :>=, 10_000_000
    assert_equal rows.map { |r| r[:bytes] }.sort.reverse, rows.map { |r| r[:bytes] }
    assert_in_delta stats[:live_bytes], rows.sum { |r| r[:bytes] }, stats[:live_bytes] / 20
    assert(rows.all? { |r| r[:path].empty? })
  end

  def test_refusals
    assert_equal [], value_of("Mwrap.holders")
    assert_equal [], value_of("Mwrap.holders('nowhere.rb:1')", preload: TRACKER)
    assert_equal "TypeError", value_of(raised("Mwrap.holders(1)"))[0]
  end

  def test_the_process_is_as_it_was
    before, after, waited, children, kids = value_of(<<~'RUBY', preload: TRACKER)
      $kept = Array.new(1000) { "a" * 1000 }
      trap(:CHLD) { $chld = true }
      Mwrap.holders
      look = -> { [Dir.children("/proc/self/fd").size, Dir.children("/proc/self/task").size] }
      before = look.call
      5.times { Mwrap.holders }
      waited = begin; Process.wait(-1, Process::WNOHANG); rescue Errno::ECHILD; "none"; end
      [before, look.call, waited, File.read("/proc/self/task/#{Process.pid}/children"), $chld]
    RUBY
    assert_equal before, after
    assert_equal ["none", "", nil], [waited, children, kids]
  end
end
