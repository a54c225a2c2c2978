#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Allocations in a block that Mwrap.each and the like call aren't tracked, and all others are,
# however the block is left: by an exception or for another Fiber, for a while or for good.

require_relative "../lib/hazard"
require "fiddle"

class BlockHazards < Minitest::Test
  # In the script: keep(n) allocates n blocks at one line, and counted says how many of
  # them the tracker has seen. LEFT is how many of Ruby's hooks are still set.
  PREAMBLE = <<~'RUBY'
    require "mwrap"
    require "stringio"
    require "fiddle"
    KEPT = []
    LINE = __LINE__ + 1
    def keep(n) = n.times { KEPT << "k" * 5000 }
    def place = Mwrap.quiet { Mwrap["#{__FILE__}:#{LINE}"] }
    def counted = Mwrap.quiet { place&.each.to_a.count { |size,| size == 5001 } }
    # threads that may change native threads can't be made quiet in 3.3: src/extension/quiet.c
    LOUD = RUBY_VERSION.start_with?("3.3.") && ENV["RUBY_MN_THREADS"] == "1"
    def left = Fiddle::Function.new(Fiddle::Handle::DEFAULT["hooks_left"], [], Fiddle::TYPE_INT).call
    def see(what, expected, n = counted) = n == expected ? puts("#{what}: ok") : puts("NOT OK: #{what}: #{n}, not #{expected}")
    keep(1)
    see("one", 1)
  RUBY

  # The fast way and the public one; a thread for each, or M:N.
  WAYS = [{}, { "MWRAP_RUBY_PUBLIC" => "1" }, { "RUBY_MN_THREADS" => "1" }].freeze

  def all_ok(checks, script)
    WAYS.each do |env|
      r = mwrap_ruby(PREAMBLE + script, env: env, preload: [preload("hooks")])
      assert_success r
      assert_equal "", r.stderr
      refute_includes r.stdout, "NOT OK", env.inspect
      assert_equal checks, r.stdout.lines.grep(/: ok$/).size, r.stdout
    end
  end

  def test_what_a_block_allocates_is_not_counted
    all_ok(10, <<~'RUBY')
      Mwrap.each { keep(3) }
      see("each", 1)
      Mwrap.each(1) { Mwrap.each(1) { keep(1); break }; keep(1) }
      see("nested", 1)
      Mwrap.each.map { keep(1) }
      Mwrap.each.with_index { keep(1) }
      Mwrap.each.lazy.map { keep(1) }.to_a
      see("enumerable", 1)
      place.each { keep(1) }
      see("a location's", 1)
      Mwrap::HeapPageBody.each { keep(1) }
      see("heap pages", 1)
      Mwrap.dump(Class.new { def write(s) = keep(s.bytesize.clamp(0, 3)) }.new)
      see("dump", 1)
      see("another thread's", 6, Mwrap.each(1) { |*| break Thread.new { keep(5); counted }.value })
      Mwrap.quiet { Mwrap.each { keep(1) }; keep(1) }
      see("within quiet", 6)
      keep(1)
      see("afterwards", 7)
    RUBY
  end

  def test_blocks_may_be_left_in_any_way
    all_ok(10, <<~'RUBY')
      def back = Mwrap.each { return 1 }
      n = 1
      after = ->(what) { keep(1); see(what, n += 1) }
      Mwrap.each { keep(1); break }
      after["break"]
      back
      after["return"]
      catch(:x) { Mwrap.each { Mwrap.each { throw :x } } }
      after["throw"]
      begin
        Mwrap.each { raise "x" }
      rescue RuntimeError
      end
      after["raise"]
      begin
        Mwrap.each(-1) { }
      rescue RangeError
      end
      after["refused"]
      Thread.new { Mwrap.each { Thread.exit } }.join
      after["exit of a thread"]
      t = Thread.new { Mwrap.each { sleep } }
      Thread.pass until t.stop?
      t.kill.join
      after["kill"]
      Mwrap.each do
        child = fork do
          keep(1)
          exit!(counted == n)
        end
        Process.wait(child)
        break
      end
      see("a child in the block", 0, $?.exitstatus)
      child = nil
      Mwrap.each { child = fork; break }
      exit!((keep(1); counted) == n + 1) if child.nil?
      Process.wait(child)
      see("a child that leaves it", 0, $?.exitstatus)
    RUBY
  end

  # A Fiber in such a block is quiet, and no other one.
  def test_a_block_may_be_left_for_another_fiber
    all_ok(10, <<~'RUBY')
      e = Mwrap.each
      e.next
      keep(1)
      see("between two", 2)
      e.next
      keep(1)
      see("between two more", 3)
      other = Mwrap.each.with_index { keep(1); other ||= e.next; keep(1) }
      see("next within a block", 3)
      keep(1)
      see("after that", 4)
      f = Fiber.new { Mwrap.each { keep(1); Fiber.yield; keep(1); break }; keep(1) }
      f.resume
      keep(1)
      see("Fiber.yield", n = 5)
      f.resume
      see("and its Fiber's end", n += 1)
      require "fiber"
      main = Fiber.current
      g = Fiber.new { Mwrap.each { keep(1); main.transfer; keep(1); break }; keep(1); main.transfer }
      g.transfer
      keep(2)
      see("transfer", n += 2)
      g.transfer
      see("and back", n += 1)
      Thread.new { Mwrap.each { Fiber.new { keep(2) }.resume; keep(1); break } }.join
      see("a Fiber that is resumed within", n += LOUD ? 3 : 2)
    RUBY
  end

  # They don't end before the GC finds them.
  def test_an_abandoned_block_costs_nothing
    all_ok(5, <<~'RUBY')
      def abandon(n) = n.times { Mwrap.each.next; Fiber.new { Mwrap.each { Fiber.yield } }.resume }
      abandon(100)
      keep(5)
      see("with abandoned ones", 6)
      Thread.new { abandon(10) }.join
      Thread.new { keep(5) }.join
      see("other threads", 11)
      1000.times { |i| abandon(0); GC.start; Fiber.new { }.resume; break if left == 0 || i > 50 }
      # one may be in a register still
      abandon(1)
      # or in a word of the machine's stack that a frame leaves as it was: from other depths it is another frame's
      deeper = ->(n, job) { n == 0 ? job.call : [n].each { |m| deeper.(m - 1, job) } }
      100.times do |i|
        Array.new(100) { Fiber.new { Fiber.yield }.tap(&:resume) }
        deeper.(i % 20, -> { GC.start })
        Fiber.new { }.resume
        break if left == 0
      end
      see("hooks that are left", 0, left)
      Mwrap.each { break }
      see("hooks after one more", 0, left)
    RUBY
  end

  # An exception from outside overtakes Ruby's word of a Fiber's turn. Ruby may lose one
  # that comes when Fibers change, so nothing waits for it here.
  def test_exceptions_from_outside_while_fibers_take_turns
    all_ok(4, <<~'RUBY')
      class Stop < StandardError; end
      ready = Queue.new
      wrong = 0
      tracked = -> { before = counted; keep(1); wrong += 1 if counted != before + 1 }
      30.times do
        t = Thread.new do
          Thread.handle_interrupt(Stop => :never) do
            begin
              Thread.handle_interrupt(Stop => :immediate) { ready << true; e = Mwrap.each; 20.times { e.next; e.rewind } }
            rescue Stop
            end
            tracked.call
          end
        rescue Stop # came too late
        end
        ready.pop
        sleep(rand * 0.005)
        t.raise(Stop)
        t.join
      end
      see("after exceptions", 0, wrong)
      20.times do
        t = Thread.new { ready << true; e = Mwrap.each; 20.times { e.next; e.rewind } }
        ready.pop
        sleep(rand * 0.005)
        t.kill.join
        Thread.new(&tracked).join
      end
      see("after kills", 0, wrong)
      before = counted
      keep(1)
      see("at the end", before + 1)
    RUBY
  end

  def test_threads_that_take_no_variables_and_ractors
    all_ok(4, <<~'RUBY')
      Thread.new { Thread.current.freeze; Mwrap.each { break }; keep(1) }.join
      see("a frozen thread", 2)
      Warning[:experimental] = false
      r = Ractor.new { e = Mwrap.each; e.next; kept = Array.new(3) { "k" * 7000 }; e.next; [kept, Mwrap.each.count > 0] }
      kept, any = r.respond_to?(:value) ? r.value : r.take
      here = Mwrap.quiet { Mwrap["#{__FILE__}:#{__LINE__ - 2}"].each.count { |size,| size == 7001 } }
      see("a Ractor", [3, true], [here, any])
      keep(1)
      see("the main one", 3)
    RUBY
  end
end
