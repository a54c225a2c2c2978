#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Mwrap.holders: planted owners of every kind are named with their paths, what nothing points to is a
# native leak, and the process that asks is as it was.
require_relative "lib/in_ruby"
require_relative "lib/allocators"
require_relative "leaks/gems"
require "json"

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
      module Inner; end
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
    "Keeper::KEPT.concat(Array.new(N) { 'a' * 1000 })" => ["Object::Keeper", "Keeper::KEPT", "Array"],
    "Keeper::Inner.const_set(:OTHER, {1 => Array.new(N) { 'a' * 1000 }}); Keeper::Inner.send(:private_constant, :OTHER)" =>
      ["Keeper::Inner", "Keeper::Inner::OTHER", "Hash", "Array"],
    "$global = Array.new(N) { 'a' * 1000 }" => ["$global", "Array"],
    # Ruby's own table has the names, too
    "Keeper.const_set(:NAMES, (0...N).to_h { |i| [('s' * 1000 + i.to_s).to_sym, 1] })" => ["Object::Keeper", "Keeper::NAMES", "Hash", "Symbol"],
    "$hash = (0...N).to_h { |i| [i, 'a' * 1000] }" => ["$hash", "Hash"],
    "$struct = Array.new(N) { Pair.new('a' * 1000, nil) }" => ["$struct", "Array", "Pair"],
    "$ivar = Array.new(N) { Keeper.new.tap { |k| k.one = 'a' * 1000 } }" => ["$ivar", "Array", "Keeper.@one"],
    "Keeper.share Array.new(N) { 'a' * 1000 }" => ["Keeper::@@shared", "Array"],
    "Keeper.own = Array.new(N) { 'a' * 1000 }" => ["Keeper.@own", "Array"],
    "$proc = Array.new(N) { |i| s = 'a' * 1000; -> { s } }" => ["$proc", "Array", "Proc", "(local variables)"],
    "$waiting = Thread.new { Thread.current[:own] = Array.new(N) { 'a' * 1000 }; sleep }; Thread.pass until $waiting.stop?" =>
      ["Thread[:own]", "Array"],
    "Thread.current.thread_variable_set(:kept, Array.new(N) { 'a' * 1000 })" => ["Thread.thread_variables", "Hash[:kept]", "Array"],
    "Thread.current[:kept] = Array.new(N) { 'a' * 1000 }" => ["Thread[:kept]", "Array"],
    "$fiber = Fiber.new { kept = Array.new(N) { 'a' * 1000 }; Fiber.yield; kept }.tap(&:resume)" => ["$fiber", "Fiber", "Array"],
    "$thread = Thread.new { kept = Array.new(N) { 'a' * 1000 }; sleep; kept }; Thread.pass until $thread.stop?" => ["$thread", "Thread", "Array"],
    "$wide = Array.new(N) { Object.new.tap { |o| 30.times { |i| o.instance_variable_set(:\"@v\#{i}\", i) }; o.instance_variable_set(:@last, 'a' * 1000) } }" =>
      ["$wide", "Array", "Object.@last"],
    # so different that Ruby gives up to share where they have their variables
    "$odd = Array.new(N) { |i| Object.new.tap { |o| 12.times { |k| o.instance_variable_set(:\"@v\#{(i * 7 + k * 3) % 40}\", k) }; o.instance_variable_set(:@odd, 'a' * 1000) } }" =>
      ["$odd", "Array", "Object.@odd"],
    "$generic = Array.new(N) { [].tap { |a| a.instance_variable_set(:@extra, 'a' * 1000) } }" => ["$generic", "Array", "Array.@extra"]
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
      # from 3.2 on Ruby has the tree of their variables in memory from mmap; 3.2 has a table for each step of it
      next if RUBY_VERSION.start_with?("3.2.")
      assert_operator found.fetch(i + 1).sum { |other| other[:by] == :nothing ? other[:blocks] : 0 }, :<, 5, code
    end
  end

  # Of several paths through objects of the same classes, the one with the most blocks is told.
  def test_which_of_several
    found = row(owners(<<~'RUBY', [3])[3], "String")
      class Pairs; attr_accessor :few, :most; end
      FEW, MOST = [], []
      make = ->(n) { Array.new(n) { 'a' * 1000 } }
      FEW.concat(make[10]); MOST.concat(make[30])
      $thread = Thread.new { Thread.current[:pairs] = Array.new(50) { Pairs.new }; sleep }
      Thread.pass until $thread.stop?
      5.times { |i| $thread[:pairs][i].few = make[1][0] }
      $thread[:pairs].each { |p| p.most = make[1][0] }
    RUBY
    assert_equal 95, found[:blocks]
    assert_equal 4, found[:paths]
    assert_equal ["Thread[:pairs]", "Array", "Pairs.@most", "String"], found[:path].last(4)
  end

  def test_chains_are_one_path
    found = row(owners(<<~'RUBY', [2])[2], "String")
      class Node; def initialize(n, v) = (@next, @value = n, v); end
      $head = (1..5000).inject(nil) { |n, _| Node.new(n, 'a' * 1000) }
    RUBY
    assert_equal 5000, found[:blocks]
    assert_includes 1..3, found[:paths]
    assert(found[:path].any? { |s| s.start_with?("Node.@next") }, found[:path].inspect)
  end

  # More constants than the search has room for, constants that would be loaded, a class that lies.
  def test_odd_modules
    found = owners(<<~'RUBY', [2, 3, 5, 6])
      module Many; 30_000.times { |i| const_set("C#{i}", i) }; end
      Many.const_set(:LAST, Array.new(40) { 'a' * 1000 })
      module Lazy; autoload :A, "/lazy.rb"; KEPT = Array.new(40) { 'a' * 1000 }; end
      class Liar < BasicObject; class << self; def name = raise; alias const_get name; alias constants name; alias inspect name; end; end
      Liar.const_set(:KEPT, Array.new(40) { 'a' * 1000 })
      $anonymous = Class.new { const_set(:KEPT, Array.new(40) { 'a' * 1000 }) }
    RUBY
    found.each { |line, rows| assert_equal 40, row(rows, "String")[:blocks], "line #{line}" }
    assert_equal %w[Array String], row(found[2], "String")[:path].last(2)
    assert_equal %w[Object::Lazy Lazy::KEPT Array String], row(found[3], "String")[:path].last(4)
    assert_equal %w[Object::Liar Liar::KEPT Array String], row(found[5], "String")[:path].last(4)
    assert_equal ["(anonymous < Object)::KEPT", "Array", "String"], row(found[6], "String")[:path].last(3)
  end

  def test_blocks_of_other_types
    code = ["$arrays = Array.new(N) { Array.new(1000) }", "$hashes = Array.new(N) { (0..50).to_h { |i| [i, i] } }",
            "$regexps = Array.new(N) { |i| Regexp.new(\"a\#{i}\") }", "N.times { |i| Keeper.define_method(\"m\#{i}\") { i } }",
            "$bignums = Array.new(N) { |i| 3**10_000 + i }"]
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

  def plugin(name)
    File.join(ROOT, ".build/t/plugins/#{name}.so").tap { |so| File.exist?(so) or flunk "#{so} isn't built: run make check-programs" }
  end

  # An IO's struct is packed: the addresses of its buffers aren't multiples of 8.
  def test_buffers_of_an_io
    found = owners(<<~'RUBY', [1, 2])
      $kept = Array.new(50) { IO.pipe.tap { |r, w| r.sync = true; w.sync = false } }
      $kept.each { |r, w| w << "q"; w.flush; w << "q"; r.getc }
    RUBY
    assert_equal [0], found.values.map { |rows| rows.sum { |r| r[:by] == :nothing ? r[:blocks] : 0 } }.uniq, found.inspect
  end

  # A buffer that is no more than data to the String that owns it, and a struct to native code.
  def test_a_buffer_with_two_owners
    found = owners(NATIVE + <<~'RUBY', [6, 7])
      $packed = [0].pack("J") * 200
      kept = Fiddle.malloc(720); $packed[80, 8] = [kept].pack("J"); kept = nil
      lost = Array.new(12) { Fiddle.malloc(720) }; $data = "x" * 200; $data[80, 96] = lost.pack("J*"); lost.clear
      $head = Fiddle::Pointer.malloc(8, Fiddle::RUBY_FREE); set($head.to_i, Fiddle::Pointer[$packed].to_i)
    RUBY
    big = ->(line, by) { found[line].any? { |r| r[:by] == by && r[:bytes] >= 720 } }
    assert big[6, :ruby], found[6].inspect
    # A word that is left behind on a stack may hold one of them, or two.
    assert_operator found[7].sum { |r| r[:by] == :nothing ? r[:bytes] : 0 }, :>=, 9 * 720, found[7].inspect
  end

  # The tracker sees no free of these. Others have their memory: what lives there is held, and what was there isn't lost.
  def test_memory_that_was_freed_past_the_tracker
    skip "another C library" unless File.read("/proc/self/maps").include?("/libc.so.6")
    seed = Random.new_seed % 100_000
    found = owners(<<~RUBY, [8, 10])
      require "fiddle"
      libc = Fiddle.dlopen("libc.so.6")
      copy = Fiddle::Function.new(libc["strdup"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOIDP)
      free = Fiddle::Function.new(libc["free"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID)
      random = Random.new(#{seed})
      $kept = Array.new(300) do
        text = "x" * random.rand(700..1500)
        at = Array.new(random.rand(1..5)) { copy.call(text) }
        at.each { |p| free.call(p) }
        at.map { text + "y" }
      end
    RUBY
    held = row(found[10], "String")
    assert_operator held[:blocks], :>=, 300, "seed #{seed}: #{found[10]}"
    assert_equal 0, found[10].sum { |r| r[:by] == :nothing ? r[:blocks] : 0 }, "seed #{seed}: #{found[10]}"
    # of some 900, those whose memory nobody has got yet
    lost = found[8].sum { |r| r[:by] == :nothing ? r[:blocks] : 0 }
    assert_operator lost, :<, 90, "seed #{seed}: #{found[8]}"
  end

  # Their addresses are still in memory that was freed, and that others have now.
  def test_addresses_that_are_left_behind
    found = owners(<<~RUBY, [4])
      require "fiddle"
      lib = Fiddle.dlopen(#{plugin("lose").dump})
      lose = %w[table structs stack].map { |n| Fiddle::Function.new(lib["lose_" + n], [Fiddle::TYPE_SIZE_T, Fiddle::TYPE_SIZE_T], Fiddle::TYPE_VOID) }
      lost = ->(n, i) { lose[i % 3].call(n, 24 + i % 50 * 8) }
      $kept = Array.new(150) do |i|
        lost[20, i]
        [Class.new { const_set(:LIST, [i]) }, Regexp.new("a{\#{i}}[b-y]+"), (0..i % 30).to_h { |k| [k, k.to_s * 9] }, "x" * (i * 7 % 900), Array.new(i % 40) { |k| k } << i]
      end
      12.times { |i| lost[0, i] }
    RUBY
    # Ruby's own caches of that line are some ten blocks more: they are held.
    assert_includes 2990..3000, row(found[4], "(nothing)")[:blocks], found[4].inspect
    assert_includes 3000..3020, found[4].sum { |r| r[:blocks] }, found[4].inspect
  end

  # Words behind a regular expression, if it is in its object's slot: those of Strings that had the slots before.
  def test_what_is_left_behind_a_regexp
    found = owners(<<~'RUBY', [2])
      require "fiddle"
      def strings(n) = n.zero? ? 300.times { |i| ("%0464d" % i) + [Fiddle.malloc(72)].pack("J") * 2 } : strings(n - 1)
      strings(30)
      def deep(n) = n.zero? ? [1].pack("J").sum : deep(n - 1)
      deep(200)
      GC.start
      $kept = Array.new(600) { |i| Regexp.new("a#{i}") }
    RUBY
    assert_operator row(found[2], "(nothing)")[:blocks], :>=, 290, found[2].inspect
  end

  def test_a_library
    found = owners(<<~RUBY, [4, 5, 6, 7])
      require "fiddle"
      lib = Fiddle.dlopen(#{plugin("hold").dump})
      f = ->(name) { Fiddle::Function.new(lib[name], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_INT).method(:call) }.then { |make| %w[static inside local stack].to_h { |n| [n, make["hold_\#{n}"]] } }
      f["static"].call(72)
      f["inside"].call(88)
      f["local"].call(104)
      f["stack"].call(120) == 0 or raise "no thread"
      def deep(n) = n.zero? ? [1].pack("J").sum : deep(n - 1)
      deep(500) # nothing is left below the stack pointer
    RUBY
    assert_equal 64, row(found[5], "hold.so")[:blocks], found[5].inspect
    assert_operator row(found[4], "hold.so")[:blocks], :>=, 2
    assert_operator row(found[4], "(nothing)")[:blocks], :>=, 60 # hold_inside took their places
    assert_equal ["hold.so"], row(found[5], "hold.so")[:path]
    assert_equal :native, found[6].find { |r| r[:bytes] >= 104 && r[:by] == :native }&.fetch(:by), found[6].inspect
    assert_operator row(found[7], "(thread stack)")[:blocks], :>=, 16, found[7].inspect
  end

  # The C library keeps their stacks, and what it has for their thread-local variables. What these led to is lost.
  def test_ended_threads
    value = value_of(<<~RUBY, preload: TRACKER)
      eval(#{<<~INNER.dump}, TOPLEVEL_BINDING, "here.rb", 1)
        require "fiddle"
        start, ended = %w[pthread_create pthread_join].map { |n| Fiddle::Function.new(Fiddle.dlopen(nil)[n], [Fiddle::TYPE_VOIDP] * 4, Fiddle::TYPE_INT) }
        local = Fiddle.dlopen(#{plugin("hold").dump})["hold_local"]
        ids = Array.new(5) { id = "\\0" * 8; start.call(id, nil, local, 72) == 0 or raise; id.unpack1("J") }
        ids.each { |id| ended.call(id, nil, nil, nil) == 0 or raise }
      INNER
      places = []
      Mwrap.each(0) { |at, *| places << at }
      [Mwrap.holders("here.rb:4"), Mwrap.holders(places.grep(/hold_local/).first)]
    RUBY
    tables, lost = value
    assert_operator row(tables, "(ended thread)")[:blocks], :>=, 1
    assert_nil tables.find { |r| r[:by] == :nothing }, tables.inspect
    assert_equal [[:nothing, 5]], lost.map { |r| r.values_at(:by, :blocks) }
  end

  # A block of a gigabyte of which two pages are in memory, as a sparse array is: what its last words lead to is found.
  def test_a_sparse_block
    found = owners(<<~'RUBY', [3, 4])
      require "fiddle"
      allocate = Fiddle::Function.new(Fiddle::Handle::DEFAULT["malloc"], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_SIZE_T)
      $sparse = Fiddle::Pointer.new(allocate.call(1 << 30))
      40.times { |i| $sparse[(1 << 30) - 8 * (i + 1), 8] = [allocate.call(200)].pack("J") }
    RUBY
    assert_operator row(found[3], "Fiddle::Pointer")[:bytes], :>=, 1 << 30
    assert_operator row(found[4], "Fiddle::Pointer")[:blocks], :>=, 38, found[4].inspect
  end

  # A library may keep its table in a mapping of its own. That of 1 GB is sparse.
  def test_a_mapping
    found = owners(<<~'RUBY', [4, 5, 6])
      require "fiddle"
      allocate = Fiddle::Function.new(Fiddle::Handle::DEFAULT["malloc"], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_SIZE_T)
      map = Fiddle::Function.new(Fiddle::Handle::DEFAULT["mmap"], [Fiddle::TYPE_SIZE_T] * 2 + [Fiddle::TYPE_INT] * 3 + [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_SIZE_T)
      $table, $sparse, lost = [1 << 16, 1 << 30, 1 << 16].map { |bytes| Fiddle::Pointer.new(map.call(0, bytes, 3, 0x22, -1, 0)) }
      40.times { |i| $table[8 * i, 8] = [allocate.call(200)].pack("J"); $sparse[(1 << 30) - 8 * (i + 1), 8] = [allocate.call(200)].pack("J") }
      40.times { |i| lost[8 * i, 8] = [allocate.call(200)].pack("J") }.then { lost = nil }
    RUBY
    assert_operator row(found[5], "Fiddle::Pointer")[:blocks], :>=, 78, found[5].inspect
    assert_operator row(found[6], "(nothing)")[:blocks], :>=, 38, found[6].inspect
    # a mapping is no block of its line's
    assert_operator found[4].sum { |r| r[:bytes] }, :<, 1 << 16, found[4].inspect
  end

  # Half of an address beside a small int points into the largest mappings. It is an address where one begins.
  def test_half_an_address
    found = owners(<<~'RUBY', [6, 7])
      require "fiddle"
      size, int = Fiddle::TYPE_SIZE_T, Fiddle::TYPE_INT
      allocate, map = { "malloc" => [size], "mmap" => [size, size, int, int, int, size] }.map { |name, takes| Fiddle::Function.new(Fiddle::Handle::DEFAULT[name], takes, size) }
      lost, kept = [0, 0x5a00_0000_0000].map { |at| Fiddle::Pointer.new(map.call(at, 8 << 30, 3, 0x4022, -1, 0)) } # MAP_NORESERVE
      $words = Fiddle::Pointer.new(allocate.call(64))
      40.times { |i| lost[8 * i, 8] = [allocate.call(200)].pack("J") }
      40.times { |i| kept[8 * i, 8] = [allocate.call(200)].pack("J") }
      $words[0, 16] = [(lost.to_i + (4 << 30)) >> 32 << 32 | 60_000, kept.to_i].pack("J*")
      lost = kept = nil
      over = ->(n) { { n => n }.each { over.(n - 1) } unless n.zero? } # the stack has old addresses
      over.(100)
    RUBY
    assert_operator row(found[6], "(nothing)")[:blocks], :>=, 38, found[6].inspect
    assert_operator row(found[7], "Fiddle::Pointer")[:blocks], :>=, 38, found[7].inspect
  end

  # Within a finalizer none of those runs that the next collection finds. Ruby 4.0 keeps them in a list, where others have
  # their class.
  def test_what_waits_for_its_finalizer
    found = value_of(<<~'RUBY', preload: TRACKER)
      def files(n) = n.zero? ? Array.new(50) { File.open(IO::NULL) }.size : files(n - 1)
      at = "#{__FILE__}:#{__LINE__ - 1}"
      def deep(n) = n.zero? ? [1].pack("J").sum : deep(n - 1)
      rows = nil
      1.times do
        ObjectSpace.define_finalizer(Object.new, proc do
          files(50)
          deep(200)
          3.times { Array.new(9) { String.new } } # nor is the array of files left in the interpreter
          GC.start
          rows ||= Mwrap.holders(at).select { |r| r[:by] == :garbage }.map { |r| [r[:holder], r[:blocks]] }
        end)
      end
      deep(200) && GC.start until rows
      rows
    RUBY
    assert_includes 45..50, found.to_h["(waits for its finalizer)"], found.inspect
  end

  def test_since_a_generation
    found = value_of(<<~'RUBY', preload: TRACKER)
      def text = "a" * 1000
      $old = Array.new(50) { text }
      GC.start
      since = Mwrap.stats[:generation]
      $young = { kept: Array.new(30) { text } }
      at = "#{__FILE__}:#{__LINE__ - 5}"
      [nil, 0, since, 1 << 40].map { |g| g ? Mwrap.holders(at, since: g) : Mwrap.holders(at) }.map { |rows| rows.sum { |r| r[:blocks] } } <<
        Mwrap.holders(at, since: since)[0][:path]
    RUBY
    all, same, young, none = found
    assert_equal [all, 0], [same, none]
    assert_includes 80..90, all # with Ruby's own of the line
    assert_includes 30..35, young
    assert_equal "Array", found[4][-2], found[4].inspect
    assert_includes found[4].join, "Hash"
    { "'a', since: -1" => "ArgumentError", "'a', since: nil" => "TypeError", "'a', since: 2**70" => "RangeError",
      "since: 1" => "ArgumentError", "'a', since: 1, of: :both" => "ArgumentError" }.each do |given, error|
      assert_equal error, value_of(raised("Mwrap.holders(#{given})"))[0], given
    end
  end

  def test_summary
    rows, stats = value_of(<<~'RUBY', preload: TRACKER)
      $kept = Array.new(1000) { "a" * 10_000 }
      rows = Mwrap.holders
      [rows, Mwrap.stats]
    RUBY
    # up to 3.2 Ruby may have 32 MB of malloc for young arrays
    strings = rows.first(2).find { |r| r[:holder] == "String" } or flunk rows.first(2).inspect
    assert_operator strings[:bytes], :>=, 10_000_000
    assert_equal rows.map { |r| r[:bytes] }.sort.reverse, rows.map { |r| r[:bytes] }
    assert_in_delta stats[:live_bytes], rows.sum { |r| r[:bytes] }, stats[:live_bytes] / 20
    assert(rows.all? { |r| r[:path].empty? })
  end

  def test_through_rack
    tsv, json, page, none, ask, all = value_of(<<~'RUBY', preload: TRACKER)
      require "mwrap/objects"
      eval("$kept = Array.new(500) { 'a' * 1000 }", TOPLEVEL_BINDING, "/srv/here.rb", 1)
      %w[/objects/holders.tsv /objects/holders.json /objects/holders].map { |path| Mwrap::Objects.answer(path, "location=%2Fsrv%2Fhere.rb:1&look=1", "/m") } +
        [Mwrap::Objects.answer("/objects/holders.tsv", "location=nowhere.rb:1", ""),
         Mwrap::Objects.answer("/objects/holders", "location=%2Fsrv%2Fhere.rb:1", "/m"), Mwrap::Objects.answer("/objects/holders", "look=1", "/m")]
    RUBY
    assert_equal [200, 200, 200, 404], [tsv, json, page, none].map(&:first)
    rows = tsv[2].join.lines(chomp: true).map { |l| l.split("\t", -1) }
    assert_equal %w[holder by blocks bytes paths path of], rows[0]
    assert_equal %w[String ruby 500 500500], rows[1].first(4)
    assert_equal "/srv/here.rb:1", JSON.parse(json[2].join)["location"]
    assert_includes page[2].join, "/m/objects/holders.tsv?location=%2Fsrv%2Fhere.rb:1\""
    assert_match(%r{<a href="/m/objects/find/String" title="Who refers to its objects">String</a></td><td>ruby</td><td class="num">500</td>}, page[2].join)
    # a link alone looks nothing up
    assert_match(%r{<form action="/m/objects/holders"><input type="hidden" name="location" value="/srv/here\.rb:1"><button name="look" value="1">}, ask[2].join)
    refute_includes ask[2].join, "<table"
    refute_match(/>(Paths|Path|Of)</, all[2].join[/<thead>.*<\/thead>/m], "columns that would be empty")
  end

  def test_refusals
    assert_equal [], value_of("Mwrap.holders")
    assert_equal [], value_of("Mwrap.holders('nowhere.rb:1')", preload: TRACKER)
    assert_equal "TypeError", value_of(raised("Mwrap.holders(1)"))[0]
  end

  def test_after_a_compaction
    found = value_of(<<~RUBY, preload: TRACKER)
      eval("$kept = Array.new(500) { |i| [i, 'a' * 1000].last }", TOPLEVEL_BINDING, "here.rb", 1)
      begin
        GC.compact
      rescue NotImplementedError
        nil
      end
      Mwrap.holders("here.rb:1")
    RUBY
    assert_equal 500, row(found, "String")[:blocks]
  end

  def test_ractors
    found = value_of(<<~'RUBY', preload: TRACKER, flags: ["-W:no-experimental"])
      Ractor.new(Ractor.current) do |main|
        all = eval("Array.new(500) { 'a' * 1000 }", binding, "here.rb", 1)
        main.send(:ready)
        Ractor.receive
        all.size
      end
      Ractor.receive
      tries = 0
      begin
        Mwrap.holders("here.rb:1") # the other one waits
      rescue Mwrap::Objects::Failed
        (tries += 1) < 3 ? retry : raise
      end
    RUBY
    assert_equal 500, row(found, "String")[:blocks]
    assert_includes row(found, "String")[:path], "Ractor"
  end

  # It allocates: at the fork it may have the VM's lock, or a collection may be under way.
  def test_a_busy_ractor
    found = value_of(<<~'RUBY', preload: TRACKER, flags: ["-W:no-experimental"])
      eval("KEPT = Array.new(500) { 'a' * 1000 }", TOPLEVEL_BINDING, "here.rb", 1)
      Ractor.new { loop { ["x" * 100, Object.new.tap { |o| o.instance_variable_set(:@a, 1) }] } }
      Array.new(10) do
        Mwrap.holders("here.rb:1").find { |r| r[:holder] == "String" }
      rescue Mwrap::Objects::Failed => e
        e.message.include?("collecting") ? retry : raise
      end
    RUBY
    assert_equal [500], found.map { |r| r[:blocks] }.uniq
    assert_equal ["Object::KEPT", "Array", "String"], found[0][:path].last(3)
  end

  # They collect: pages that were listed a moment ago go, and come back with slots of another size.
  def test_ractors_that_collect
    seed = (ENV["SEED"] || rand(1 << 30)).to_i
    said = value_of(<<~RUBY, preload: TRACKER, flags: ["-W:no-experimental"])
      srand(#{seed})
      3.times do
        Ractor.new(rand(1 << 30)) do |s|
          r = Random.new(s)
          loop { n = [8, 60, 140, 300, 620].sample(random: r); Array.new(r.rand(4_000)) { "r" * n } }
        end
      end
      kept = []
      Array.new(16) do |i|
        kept[i % 4] = Array.new(2_000) { "k" * rand(900) }
        Mwrap.holders.empty? ? "nothing" : "rows"
      rescue Mwrap::Objects::Failed => e
        e.message.include?("collecting") ? retry : e.message
      end
    RUBY
    assert_equal ["rows"], said.uniq, "seed #{seed}"
  end

  def test_threads_ask_at_once
    found = value_of(<<~'RUBY', preload: TRACKER)
      eval("$kept = Array.new(500) { 'a' * 1000 }", TOPLEVEL_BINDING, "here.rb", 1)
      ask = -> { Mwrap.holders("here.rb:1").find { |r| r[:holder] == "String" }[:blocks] rescue $!.class.name }
      busy = Array.new(2) { Thread.new { 1 until $over; } }
      found = Array.new(8) { Thread.new { Array.new(4) { ask.call } } }.flat_map(&:value)
      $over = true
      [found.uniq, ask.call]
    RUBY
    assert_empty found[0] - [500, "Mwrap::Objects::Busy"]
    assert_equal 500, found[1]
  end

  # The child ends with who asked for it.
  def test_an_exception_from_elsewhere
    found = value_of(<<~'RUBY', preload: TRACKER)
      require "timeout"
      $kept = Array.new(200_000) { Object.new }
      found = Array.new(20) { |i| Timeout.timeout(0.004 + i * 0.002) { Mwrap.holders.size.positive? } rescue "late" }
      killed = Thread.new { Mwrap.holders }
      Thread.pass until killed.stop? || !killed.alive?
      killed.kill.join
      signals = 0
      trap(:USR1) { signals += 1 }
      teller = Thread.new { 20.times { Process.kill(:USR1, Process.pid); sleep 0.001 } }
      rows = Mwrap.holders.size
      teller.join
      [found.uniq, rows, File.read("/proc/self/task/#{Process.pid}/children"), signals]
    RUBY
    assert_includes found[0], "late"
    assert_operator found[1], :>, 0
    assert_equal "", found[2]
    assert_operator found[3], :>, 0
  end

  def test_forks_meanwhile
    found = value_of(<<~'RUBY', preload: TRACKER)
      eval("$kept = Array.new(500) { 'a' * 1000 }", TOPLEVEL_BINDING, "here.rb", 1)
      ask = -> { Mwrap.holders("here.rb:1").find { |r| r[:holder] == "String" }[:blocks] }
      asking = Thread.new { Array.new(20) { ask.call }.uniq }
      forked = Array.new(10) { fork { exit!(ask.call == 500) } }.map { |pid| Process.wait2(pid)[1].success? }
      [asking.value, forked.uniq]
    RUBY
    assert_equal [[500], [true]], found
  end

  def test_what_only_old_blocks_lead_to
    rows = value_of(<<~'RUBY')
      require "fiddle"
      old = Fiddle::Pointer.malloc(8, Fiddle::RUBY_FREE)
      Mwrap.start
      eval("$new = Fiddle.malloc(720)", TOPLEVEL_BINDING, "here.rb", 1)
      old[0, 8] = [$new].pack("J")
      $new = nil
      GC.start
      $kept = eval("Array.new(40) { 'a' * 1000 }", TOPLEVEL_BINDING, "here.rb", 1)
      Mwrap.holders("here.rb:1")
    RUBY
    assert_equal 40, row(rows, "String")[:blocks]
    assert_equal :nothing, row(rows, "(nothing that the tracker knows)")[:by]
  end

  # Of a list some nodes are samples. It isn't known who leads to the others.
  def test_where_blocks_are_missing
    rows = value_of(<<~'RUBY', preload: TRACKER, env: { "MWRAP" => "counts:sampled,sample:16k" })
      require "fiddle"
      allocate = Fiddle::Function.new(Fiddle::Handle::DEFAULT["malloc"], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_SIZE_T)
      last = $list = Fiddle::Pointer.new(allocate.call(8))
      4000.times { |i| last = Fiddle::Pointer.new(allocate.call(2000)).tap { |node| last[0, 8] = [node.to_i].pack("J") } }
      Mwrap.holders("#{__FILE__}:#{__LINE__ - 1}")
    RUBY
    refute_includes rows.map { |r| r[:holder] }, "(nothing)"
    assert_operator row(rows, "(nothing that the tracker knows)")[:blocks], :>, 300
  end

  def test_other_allocators
    Allocators.each do |name, library, package|
      flunk "#{name}: install #{package}" unless library
      rows = value_of(<<~'RUBY', preload: "#{TRACKER} #{library}")
        require "fiddle"
        eval("$kept = Array.new(500) { 'a' * 1000 }; 300.times { Fiddle.malloc(1000) }", TOPLEVEL_BINDING, "here.rb", 1)
        GC.start
        Mwrap.holders("here.rb:1")
      RUBY
      assert_equal 500, row(rows, "String")[:blocks], name
      assert_operator row(rows, "(nothing)")[:blocks], :>=, 290, name
    end
  end

  # A C extension that forgets a struct with each object, and its version that doesn't.
  def test_a_gem_that_leaks
    home = LeakGems.install(ROOT)
    leak = LeakGems::ALL.find { |l| l.script == "redcarpet" }
    lost = [leak.leaks, leak.fixed].map do |version|
      code = <<~'RUBY'
        location = ARGV.shift
        load ARGV.shift
        GC.start
        require "mwrap"
        $stderr.puts Mwrap.holders(location).sum { |r| r[:by] == :nothing ? r[:blocks] : 0 }
      RUBY
      run = run_command(RUBY, "-I#{LIB}", "-e", code, leak.location(home, version), *leak.command(version, 1000),
                        env: LeakGems.env(home).merge("LD_PRELOAD" => TRACKER, "MWRAP" => "bt:0"))
      assert_equal 0, run.status.exitstatus, run.stderr
      run.stderr.to_i
    end
    assert_includes 1990..2000, lost[0] # 1,000 of them while it warms up
    assert_operator lost[1], :<, 20
  end

  # As nobody, for whom the limit holds.
  def test_no_fork
    said = value_of(<<~'RUBY', preload: TRACKER)
      r, w = IO.pipe
      fork do
        Process.setrlimit(:NPROC, 1, 1)
        Process::Sys.setuid(65_534)
        w.write(begin; Mwrap.holders; rescue => e; "#{e.class}: #{e.message}"; end)
        exit!
      end
      w.close
      r.read
    RUBY
    assert_equal "Mwrap::Objects::Failed: holders: can't fork: Resource temporarily unavailable", said
  end

  def test_little_memory
    rows = value_of("$kept = Array.new(5_000) { |i| i.to_s * 1000 }; Mwrap.holders", preload: TRACKER, env: { "MWRAP" => "memory_max:2m" })
    assert_operator row(rows, "String")[:blocks], :>, 1000
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

  def test_counts_stay
    before, after = value_of(<<~'RUBY', preload: TRACKER)
      $kept = Array.new(1000) { "a" * 1000 }
      look = -> { Mwrap.stats.values_at(:total, :allocations, :overruns, :double_frees, :unknown_frees) }
      Mwrap.holders
      GC.disable
      Mwrap.quiet { look.call }
      before = Mwrap.quiet { look.call }
      Mwrap.quiet { 3.times { Mwrap.holders } }
      [before, Mwrap.quiet { look.call }]
    RUBY
    # Ruby itself may allocate a little meanwhile; an answer alone has more objects than that
    assert_in_delta before[1], after[1], 20
    assert_equal before.drop(2), after.drop(2)
  end
end
