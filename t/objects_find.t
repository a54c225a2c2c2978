#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Mwrap::Objects.find: every way in which an object can refer to another is planted, with a class of
# its own to look for, and each must be found: nothing more, nothing less.
require_relative "lib/in_ruby"

class ObjectsFindTest < Minitest::Test
  include InRuby

  # A thread of its own plants each, so that no stale word of the main one's stack refers to it.
  PLANT = <<~'RUBY'
    require "mwrap/objects"
    Object.class_eval <<~'X'
      module Planted; end
      def planted(name) = (Planted.const_defined?(name, false) ? Planted.const_get(name, false) : Planted.const_set(name, Class.new)).new
      def plant(&block) = Thread.new(&block).join
      def through_find(name, **rest) = Mwrap::Objects.find("Planted::#{name}", **rest).rows.reject { |r| r[:through].start_with?("stack") }.map { |r| r.values_at(:level, :class, :through, :of, :count, :references) }
      class One; def initialize(v) = @v = v; end
      class Wide; def initialize(v) = (20.times { |i| instance_variable_set("@w#{i}", i) }; @w17 = v); end
      class Late; attr_accessor :a, :b, :c, :d, :e, :f; end
      class Both; def initialize(a, b) = (@a = a; @b = b; @same = a); end
      Small = Struct.new(:x, :y)
      Large = Struct.new(*%i[a b c d e f g])
      class Holder; SELF = nil; @var = nil; @@cvar = nil; end
      module Mod; end
      class Sub < Array; end
      class Error < StandardError; def initialize(v) = @v = v; end
    X
    $kept = []
    plant { $kept << One.new(planted(:Ivar)) }
    plant { $kept << Wide.new(planted(:Wide)) }
    plant { l = Late.new; l.f = 1; l.d = planted(:Late); $kept << l }
    plant { a = planted(:Both); $kept << Both.new(a, planted(:Both)) }
    plant { s = +"text"; s.instance_variable_set(:@own, planted(:Generic)); $kept << s }
    plant { $kept << [planted(:Array), 1, planted(:Array), planted(:Array)] }
    plant { $kept << Array.new(5000) { |i| i == 4321 ? planted(:LongArray) : i } }
    plant { $kept << [1, 2, 3].push(*Array.new(40) { 1 }, planted(:Shifted)).tap { |a| a.shift(2) } }
    plant { $kept << Sub.new([planted(:Sub)]) }
    plant { $kept << { planted(:Key) => 1 } }
    plant { $kept << { 1 => planted(:Value), 2 => planted(:Value) } }
    plant { $kept << (0...100).to_h { |i| [i, i == 50 ? planted(:LongHash) : i] } }
    plant { $kept << {}.compare_by_identity.tap { |h| h[planted(:Identity)] = 1 } }
    plant { $kept << Hash.new(planted(:Default)) }
    plant { $kept << Small.new(1, planted(:Small)) }
    plant { $kept << Large.new(1, 2, 3, 4, planted(:Large), 6, 7) }
    plant { Holder.const_set(:KEPT, planted(:Constant)) }
    plant { Holder.const_set(:HIDDEN, planted(:Private)); Holder.private_constant :HIDDEN }
    plant { Mod.const_set(:KEPT, planted(:OfModule)) }
    plant { Object.const_set(:PLANTED_TOP, planted(:Top)) }
    plant { Holder.instance_variable_set(:@var, planted(:ClassIvar)) }
    plant { Holder.class_variable_set(:@@cvar, planted(:Cvar)) }
    plant { v = planted(:Closure); $kept << proc { v } }
    plant { v = planted(:Nested); $kept << [1].map { |i| proc { [v, i] } }[0] }
    plant { v = planted(:Bound); $kept << v.method(:to_s) }
    plant { v = planted(:DefineMethod); Mod.define_method(:body) { v } }
    plant { v = planted(:Enumerator); $kept << v.to_enum(:each) }
    plant { o = Object.new; o.singleton_class.instance_variable_set(:@deep, planted(:Singleton)); $kept << o }
    plant { $kept << Thread::Queue.new.tap { |q| q << planted(:Queue) } }
    plant { $kept << Error.new(planted(:Error)) }
    plant { $kept << ObjectSpace::WeakMap.new.tap { |m| m["k"] = planted(:Weak); $weak = m } }
    plant { $mwrap_planted = planted(:Global) }
    plant { v = planted(:AtExit); at_exit { v } }
    $thread = Thread.new { Thread.current[:local] = planted(:FiberLocal); Thread.current.thread_variable_set(:x, planted(:ThreadVariable)); sleep }
    $asked = Thread.new { Fiber.current; Thread.current[:first] = planted(:FirstFiber); sleep } # it may have no object unless asked for
    $inside = Thread.new { Fiber.new { Thread.current[:inner] = planted(:InFiber); sleep }.resume }
    Thread.pass until [$thread, $asked, $inside].all?(&:stop?)
    if defined?(Data) && Data.respond_to?(:define)
      Object.const_set(:Point, Data.define(:x, :y))
      plant { $kept << Point.new(x: 1, y: planted(:Data)) }
    end
    GC.start
  RUBY

  WANT = {
    Ivar: [[1, "One", "@v", 1, 1]], Wide: [[1, "Wide", "@w17", 1, 1]], Late: [[1, "Late", "@d", 1, 1]],
    Both: [[1, "Both", "@a", 1, 1], [1, "Both", "@b", 1, 1], [1, "Both", "@same", 1, 1]],
    Generic: [[1, "String", "@own", 1, 1]], Array: [[1, "Array", "array element", 1, 3]], LongArray: [[1, "Array", "array element", 1, 1]],
    Sub: [[1, "Sub", "array element", 1, 1]],
    Key: [[1, "Hash", "hash key", 1, 1]], Value: [[1, "Hash", "hash value", 1, 2]], LongHash: [[1, "Hash", "hash value", 1, 1]],
    Identity: [[1, "Hash", "hash key", 1, 1]], Default: [[1, "Hash", "hash default", 1, 1]],
    Small: [[1, "Small", "member y", 1, 1]], Large: [[1, "Large", "member e", 1, 1]],
    Constant: [[1, "Class", "Holder::KEPT", 1, 1]], Private: [[1, "Class", "Holder::HIDDEN", 1, 1]], OfModule: [[1, "Module", "Mod::KEPT", 1, 1]],
    Top: [[1, "Class", "PLANTED_TOP", 1, 1]], ClassIvar: [[1, "Class", "Holder.@var", 1, 1]], Cvar: [[1, "Class", "Holder.@@cvar", 1, 1]],
    Closure: [[1, "Proc", "closure → local variable", 1, 1]], Nested: [[1, "Proc", "closure → local variable → local variable", 1, 1]],
    Bound: [[1, "Method", "receiver", 1, 1]], Enumerator: [[1, "Enumerator", "receiver or arguments", 1, 1]],
    Error: [[1, "Error", "@v", 1, 1]], Global: [[1, "(root)", "$mwrap_planted", 1, 1]],
    FiberLocal: [[1, "Thread", "[:local]", 1, 1]], FirstFiber: [[1, "Thread", "[:first]", 1, 1]], InFiber: [[1, "Thread", "[:inner]", 1, 1]], Data: [[1, "Point", "member y", 1, 1]]
  }.freeze

  def found(names, setup = "")
    value_of("#{PLANT}\n#{setup}\nGC.start\nGC.disable\n#{names.inspect}.to_h { |n| [n, Planted.const_defined?(n, false) ? through_find(n) : nil] }")
  end

  def assert_all(got, least = WANT.size - 1)
    assert_operator got.compact.size, :>=, least
    got.each do |name, rows|
      next assert_equal(:Data, name) if rows.nil?
      assert_equal [["Planted::#{name}"]], rows.map { |r| r.delete_at(3) }.uniq.map { |of| [of] }, name
      # a thread's stack may have a stale word, too; some Rubies mark an Enumerator's receiver twice
      rows.each { |r| r[4] = 1 if %w[Thread Enumerator].include?(r[1]) }
      assert_equal WANT.fetch(name), rows, name
    end
  end

  def test_every_kind_of_referrer = assert_all(found(WANT.keys))

  def test_after_a_compaction
    assert_all(found(WANT.keys, "3.times { GC.compact }"))
  end

  # Twice: what the first search leaves behind doesn't refer to it.
  def test_nothing_of_its_own
    got = found(%i[Ivar Constant Closure FiberLocal], "3.times { %w[Ivar Constant Closure FiberLocal].each { |n| through_find(n, depth: 3) } }\nGC.start")
    assert_all(got, 4)
  end

  def test_others
    got = found(%i[Shifted DefineMethod Singleton Queue Weak AtExit ThreadVariable])
    assert_equal({ "Array" => 1 }, got[:Shifted].to_h { |r| [r[1], r[5]] })
    assert_equal [["Proc", "closure → local variable"]], got[:DefineMethod].map { |r| r.values_at(1, 2) }
    assert_includes got[:Singleton].map { |r| r[2] }.join, "@deep"
    assert_equal [["Thread::Queue", 1]], got[:Queue].map { |r| [r[1], r[5]] }
    assert_empty got[:Weak].reject { |r| r[1] == "ObjectSpace::WeakMap" }
    assert_includes got[:AtExit].map { |r| r[1] }, "Proc"
    assert_equal [["Hash", "hash value"]], got[:ThreadVariable].map { |r| r.values_at(1, 2) }
  end

  CHAIN = <<~'RUBY'
    require "mwrap/objects"
    Object.class_eval <<~'X'
      class Leaf; end
      class Item; attr_accessor :leaf, :next, :other; end
      class Registry; end
      class Unused; end
    X
    Thread.new do
      items = Array.new(5) { Item.new }
      items.each_cons(2) { |a, b| a.next = b }
      items[4].next = items[0] # a cycle
      items[2].leaf = Leaf.new
      Registry.const_set(:ALL, { x: [items[0]] })
    end.join
    def rows(...) = Mwrap::Objects.find(...).rows.reject { |r| r[:through].start_with?("stack") }
    GC.start
    GC.disable
  RUBY

  def test_levels
    one, four, eight, item = value_of(<<~RUBY)
      #{CHAIN}
      [rows("Leaf"), rows("Leaf", depth: 4), rows("Leaf", depth: 8), rows("Item", depth: 4)].map { |list| list.map { |r| r.values_at(:level, :class, :through, :of, :count, :references) } }
    RUBY
    first = [1, "Item", "@leaf", "Leaf", 1, 1]
    link = ->(level) { [level, "Item", "@next", "Item", 1, 1] }
    assert_equal [first], one
    # items 2, 1, 0, then both 4 and the Array
    assert_equal [first, link[2], link[3], [4, "Array", "array element", "Item", 1, 1], link[4]], four
    # each object is followed once, however many ways lead to it
    assert_equal [first, link[2], link[3], [4, "Array", "array element", "Item", 1, 1], link[4], [5, "Hash", "hash value", "Array", 1, 1], link[5],
                  [6, "Class", "Registry::ALL", "Hash", 1, 1], link[6]], eight
    assert_equal [[1, "Array", "array element", "Item", 1, 1], [1, "Item", "@next", "Item", 5, 5], [2, "Hash", "hash value", "Array", 1, 1],
                  [3, "Class", "Registry::ALL", "Hash", 1, 1]], item.sort
  end

  def test_what_can_be_asked_for
    got = value_of(<<~RUBY)
      #{CHAIN}
      leaf = ObjectSpace.each_object(Leaf).first
      address = format("0x%x", Mwrap::Objects.send(:address_of, leaf))
      same = [leaf.object_id, address, address.to_i(16).then { |n| format("0x%X", n).sub("X", "x") }, leaf, Leaf, "Leaf"].map { |what| rows(what).map { |r| r.values_at(:class, :through) } }
      none = Mwrap::Objects.find(Unused).then { |r| [r.facts, r.rows] }
      nothing = [1, 20, nil, :symbol, true, 1.5, 0, -8, 2**70, "No::Such", "", "0x", "0x1", "0x0", format("0x%x", address.hex + 8), format("0x%x", address.hex + 1), "0xffffffffffffffff", "0x7fffffffffff"]
      [same, none, nothing.filter_map { |what| (r = Mwrap::Objects.find(what)) && [what.inspect, r.subject, r.facts, r.rows.size] }, Mwrap::Objects.find(leaf).subject == address, Mwrap::Objects.find("Leaf").subject,
       rows(Leaf.object_id).map { |r| r.values_at(:class, :through) },
       [0, 9, -1, "1", nil, 1.0].map { |d| begin; Mwrap::Objects.find("Leaf", depth: d); rescue ArgumentError => e; e.message; end }.uniq]
    RUBY
    # the object is in arrays, too: arguments; and from 4.0 on this program's own block is a Proc
    got[0].each { |rows| assert_equal [%w[Item @leaf]], rows.reject { |c,| c.start_with?("Array", "(internal", "Proc") } }
    assert_equal [{ objects: 0, referrers: 0, cut: nil }, []], got[1]
    assert_empty got[2]
    assert_equal [true, "Leaf"], got.values_at(3, 4)
    [["Leaf", "class"], ["Class", "Leaf"]].each { |row| assert_includes got[5], row }
    assert_equal ["depth: 1 to 8 expected"], got[6]
  end

  # Its own methods may do anything. None is called.
  def test_hostile_classes
    got = value_of(<<~'RUBY')
      require "mwrap/objects"
      Object.class_eval <<~'X'
        module Trap; %i[== equal? eql? hash class inspect to_s object_id instance_variables instance_variable_get method_missing respond_to? nil? ! each keys [] members to_a name respond_to_missing? to_str to_ary ancestors superclass].each { |m| define_method(m) { |*| $called = m; raise Exception, m.to_s } }; end
        class Evil; include Trap; extend Trap; def initialize(v) = @v = v; end
        class EvilHash < Hash; %i[each keys [] == hash default].each { |m| define_method(m) { |*| $called = m; raise Exception } }; end
        class EvilArray < Array; %i[each [] first == hash length].each { |m| define_method(m) { |*| $called = m; raise Exception } }; end
        EvilStruct = Struct.new(:a); EvilStruct.singleton_class.define_method(:members) { $called = :members; raise Exception }
        class EvilThread < Thread; %i[keys [] name status backtrace_locations to_s inspect].each { |m| define_method(m) { |*| $called = m; raise Exception } }; end
        class Bare < BasicObject; def initialize(v) = @v = v; def method_missing(*) = ::Kernel.raise; end
        class Target < BasicObject; end
      X
      $kept = []
      Thread.new do
        $kept << Evil.new(Target.new) << [Bare.new(Target.new)] << EvilHash.new.tap { |h| h.store(1, Target.new) } << EvilArray.new.push(Target.new) << EvilStruct.new(Target.new)
        odd = "Été\xff".b.force_encoding("Shift_JIS")
        $kept << Class.new { define_method(:initialize) { |v| @été = v } }.new(Target.new)
        Class.new(Evil).new(1).then { |o| Kernel.instance_method(:instance_variable_set).bind_call(o, "@mü", Target.new); $kept << o }
        $kept << Object.new.tap { |o| o.instance_variable_set("@\u{1F600}".encode("UTF-8"), Target.new) }
      end.join
      thread = EvilThread.new { Kernel.instance_method(:itself); Thread.instance_method(:[]=).bind_call(Thread.current, :"kéy", Target.new); sleep }
      Thread.pass until Thread.instance_method(:stop?).bind_call(thread)
      GC.start
      found = Mwrap::Objects.find("Target", depth: 2)
      evil = Mwrap::Objects.find($kept[0])
      stacks = Mwrap::Objects.stacks
      Mwrap::Objects.counts; Mwrap::Objects.classes; Mwrap::Objects.iseqs; Mwrap::Objects.mark
      [found.rows.select { |r| r[:level] == 1 && !r[:through].start_with?("stack") }.map { |r| r.values_at(:class, :through, :count) }, $called, stacks.rows.map { |r| r[:stack] }.uniq.size,
       evil.rows.count { |r| r[:class] == "Array" }]
    RUBY
    rows, called, stacks, evil = got
    assert_operator evil, :>=, 1
    assert_nil called
    want = [["Evil", "@v", 1], ["Bare", "@v", 1], ["EvilHash", "hash value", 1], ["EvilArray", "array element", 1], ["EvilStruct", "member a", 1],
            ["(anonymous < Object)", "@été", 1], ["(anonymous < Evil)", "@mü", 1], ["Object", "@😀", 1], ["EvilThread", "[:kéy]", 1]]
    assert_empty want - rows, rows.inspect
    assert_empty rows - want, rows.inspect
    assert_equal 2, stacks
  end

  def test_it_ends_at_a_hundred_thousand
    facts, rows, many = value_of(<<~'RUBY')
      require "mwrap/objects"
      Object.class_eval "class Shared; end; class Ref; def initialize(v) = @v = v; end"
      Thread.new { shared = Shared.new; $kept = Array.new(100_500) { Ref.new(shared) } }.join
      shared = Mwrap::Objects.find("Shared", depth: 3).then { |r| [r.facts, r.rows.map { |row| row.values_at(:level, :class, :through, :count) }] }
      $kept = nil
      Object.class_eval "class Target; end"
      $many = Array.new(1_000_010) { Target.new }
      shared << Mwrap::Objects.find("Target").facts
    RUBY
    assert_equal [1_000_000, 1], many.values_at(:objects, :cut)
    assert_equal [1, 1], facts.values_at(:objects, :cut)
    assert_in_delta 100_000, rows.find { |r| r[1] == "Ref" }[3], 10
    assert_equal [1], rows.map(&:first).uniq
  end

  # Objects are made and die meanwhile, collections and compactions come, and threads end.
  def test_while_others_work
    fine, busy, wrong = value_of(<<~'RUBY', preload: TRACKER, timeout: 600)
      require "mwrap/objects"
      Object.class_eval "class Steady; end; class Brief; def initialize(v) = @v = v; end"
      $steady = Array.new(10) { Steady.new }
      stop = false
      others = Array.new(3) do |n|
        Thread.new do
          i = 0
          until stop
            kept = Array.new(50) { |j| [Brief.new("x" * (i % 90)), { j => Brief.new([j]) }, proc { kept }] }
            Fiber.new { v = kept; Fiber.yield; v }.resume
            Thread.new { Thread.current[:x] = kept }.join if (i += 1) % 50 == 0
            eval("Class.new { @v = kept; def m#{n} = 1 }.new") if i % 20 == 0
            Thread.pass
          end
        end
      end
      fine = busy = 0
      wrong = []
      25.times do |round|
        GC.start if round % 5 == 0
        GC.compact if round % 10 == 3
        asked = Thread.new { Mwrap::Objects.find("Brief", depth: 2) rescue Mwrap::Objects::Busy === $! ? busy += 1 : raise }
        begin
          r = Mwrap::Objects.find("Steady", depth: 2)
          ok = r.facts[:objects] == 10 && r.rows.any? { |row| row.values_at(:class, :through, :references) == ["Array", "array element", 10] }
          ok ? fine += 1 : wrong << r.rows
          Mwrap::Objects.stacks
          Mwrap::Objects.counts
        rescue Mwrap::Objects::Busy
          busy += 1
        end
        asked.join
      end
      stop = true
      others.each(&:join)
      [fine, busy, wrong.first]
    RUBY
    assert_nil wrong
    assert_operator fine, :>=, 5
    assert_operator fine + busy, :>=, 25
  end

  def test_no_other_ractor
    got = value_of(<<~'RUBY', flags: ["-W0"])
      require "mwrap/objects"
      Object.class_eval "class Kept; end"
      $kept = Array.new(7) { Kept.new }
      r = Ractor.new { Ractor.receive; Array.new(100) { |i| "x#{i}" } }
      ask = -> { %w[find stacks iseqs dump].map { |m| begin; m == "find" ? Mwrap::Objects.find("Kept") : m == "dump" ? Mwrap::Objects.dump(StringIO.new) : Mwrap::Objects.send(m); rescue => e; [e.class, e.message].join(": "); end } }
      first = ask.call
      counts = Mwrap::Objects.classes.rows.find { |row| row[:class] == "Kept" }[:count]
      status = %w[/objects/find/Kept /objects/stacks.json /objects/counts.tsv].map { |path| Mwrap::Objects.answer(path, "", "").first }
      marked = Mwrap::Objects.mark
      r.send(1)
      r.respond_to?(:value) ? r.value : r.take
      100_000.times { break if Ractor.count == 1; Thread.pass; sleep 0.001 }
      [first, counts, status, Mwrap::Objects.find("Kept").facts[:objects], marked[:iseqs], Mwrap::Objects.iseqs.rows.map { |row| row[:growth] }.uniq, marked[:objects] > 5000]
    RUBY
    assert_equal ["Mwrap::Objects::Unavailable: other Ractors run, and may change their objects meanwhile"], got[0].uniq
    assert_equal [7, [501, 501, 200], 7, nil, [nil], true], got[1..]
  end

  NO_IDS = "this Ruby finds no object by its object_id: give its address"

  WITHOUT_ID2REF = <<~'RUBY'
    require "mwrap/objects"
    ObjectSpace.singleton_class.send(:undef_method, :_id2ref) if ObjectSpace.respond_to?(:_id2ref)
  RUBY

  # As from 4.1 on. No object gets an id by that.
  def test_object_ids_without_rubys_own_function
    got = value_of(<<~RUBY)
      #{WITHOUT_ID2REF}
      return #{raised("Mwrap::Objects.find(Object.new.object_id)")} if Mwrap::Objects.walk_id(0).nil?
      Object.class_eval "class Leaf; end; module Mod; end; class Holder; def initialize(v) = @held = v; end; class Odd; end"
      odd = Array.new(40) { |i| Odd.new.tap { |o| 12.times { |k| o.instance_variable_set(:"@v\#{(i * 7 + k * 3) % 40}", k) } } }
      kept = [Leaf.new, +"text", "x" * 5000, [1], { a: 1 }, Leaf, Mod, Leaf.singleton_class, Class.new, Module.new, proc {}, Thread.current, 2**70, *odd]
      $holders = kept.map { |v| Holder.new(v) }
      ids = kept.map(&:object_id)
      kept[0].instance_variable_set(:@later, 1)
      kept[1].instance_variable_set(:@later, 1)
      GC.compact if GC.respond_to?(:compact)
      first = Object.new.object_id
      wrong = kept.zip(ids).reject { |v, id| v.equal?(Mwrap::Objects.walk_id(id)[0]) && Mwrap::Objects.find(id).rows.any? { |r| r.values_at(:class, :through) == %w[Holder @held] } }
      none = [first + 8000, first + 1, 0, -8, 2**70].map { |id| Mwrap::Objects.find(id) }
      [wrong.map { |v, id| [v.class.name, id] }, none.compact.size, Object.new.object_id - first]
    RUBY
    assert_includes [["Mwrap::Objects::Unavailable", NO_IDS], [[], 0, 8]], got
    refute_equal NO_IDS, got[1] if RUBY_VERSION >= "4.1"
  end

  def test_a_ruby_that_tells_no_object_ids
    got = value_of(<<~RUBY)
      #{WITHOUT_ID2REF}
      Mwrap::Objects.define_singleton_method(:walk_id) { |_| nil }
      kept = Class.new.new
      [#{raised("Mwrap::Objects.find(kept.object_id)")}, Mwrap::Objects.find(kept).rows.class.name]
    RUBY
    assert_equal [["Mwrap::Objects::Unavailable", NO_IDS], "Array"], got
  end

  def test_a_ruby_without_these_functions
    got = value_of(<<~'RUBY')
      require "mwrap/objects"
      class << Mwrap::Objects; %i[walk_find walk_counts held_by walk_iseqs walk_pages].each { |m| define_method(m) { |*| nil } }; end
      asks = [-> { Mwrap::Objects.find("String") }, -> { Mwrap::Objects.find(1.0e300) }, -> { Mwrap::Objects.find("x".object_id) }, -> { Mwrap::Objects.counts }, -> { Mwrap::Objects.mark }, -> { Thread.new { sleep }; Mwrap::Objects.stacks }]
      [asks.map { |a| begin; a.call; rescue Mwrap::Objects::Unavailable => e; e.message; end }, Mwrap::Objects.answer("/objects/find/String", "", "")[0]]
    RUBY
    assert_equal [["this Ruby has no functions for it"], 501], [got[0].uniq - [NO_IDS], got[1]]
    in_tmp do |dir|
      File.write("#{dir}/objspace.rb", "raise LoadError, 'no objspace'")
      got = value_of("require 'mwrap/objects'; #{raised("Mwrap::Objects.counts")} + [Mwrap::Objects.answer('/objects/find/String', nil, '')[0]]", flags: ["-I#{dir}"])
    end
    assert_equal ["Mwrap::Objects::Unavailable", "this Ruby lacks its extension objspace", 501], got
  end
end
