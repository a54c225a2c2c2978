#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# 100,000 blocks of a known size allocated at one line, of which every second one is freed:
# the line's row says exactly that, in the exit dump and over the socket; and for Ruby
# strings, which a conservative GC frees, nearly so.
#
# Ruby itself allocates a little at a line when that runs for the first time (caches of the
# methods it calls, which may be made anew when another line calls the same; code that a
# JIT makes of it). So each script does everything in small first, then a reset, then in full.

require_relative "lib/served"

class FiddleTest < Minitest::Test
  N = 100_000
  SIZE = 1024

  # Lines 9 and 17 are those that allocate and free; `setup` has to be one line.
  def script(setup, make, free)
    <<~RUBY
      require "fiddle"
      require "mwrap"
      #{setup}
      GC.disable
      def make(kept, n)
        i = 0
        while i < n
          # one block at a time
          kept[i] = #{make}
          i += 1
        end
      end
      def free_half(kept, n)
        i = 0
        while i < n
          # every second one
          #{free}
          i += 2
        end
      end
      kept = Array.new(#{N})
      ready, go = ENV["ASKED"] ? [$stdout, $stdin] : [nil, nil]
      [*[2] * 50, #{N}].each do |n|
        Mwrap.reset if n > 2
        make(kept, n)
        free_half(kept, n)
        free_half(kept.rotate, n) if n == 2 # both
      end
      if ready
        ready.syswrite("ready\\n")
        go.sysread(1)
      end
    RUBY
  end

  # the caches of both calls belong to another line: Ruby 4.0 frees them when it ends
  PLAIN = ["Fiddle.free(Fiddle.malloc(1))", "Fiddle.malloc(#{SIZE})", "Fiddle.free(kept[i])"].freeze

  def assert_half(row)
    assert_equal [N * SIZE, N, N / 2, N / 2 * SIZE], [row.total, row.allocations, row.frees, row.growth], row.inspect
    assert_equal [51_200_000, 100_000, 50_000], [row.growth, row.allocations, row.frees]
  end

  def flags(*more) = ["--disable=gems", "-I#{MwrapTest::LIB}", *more]

  def in_exit_dump(text, *flags)
    File.write(path("half.rb"), text)
    run = mwrap_run(MwrapTest::RUBY, *flags(*flags), path("half.rb"))
    assert_success run
    assert_equal "", run.stderr
    run.row("/half.rb:9")
  end

  def test_half_is_freed_says_the_exit_dump
    assert_half in_exit_dump(script(*PLAIN))
  end

  # Until the process ends, for as long as anybody asks; each block by itself, too.
  def test_half_is_freed_says_the_socket
    app = served_ruby(script(*PLAIN), name: "half.rb", env: { "ASKED" => "1" })
    assert_equal "ready", app.hear
    3.times do
      rows = tsv.select { |r| r.location.end_with?("/half.rb:9") }
      assert_equal 1, rows.size
      assert_half rows[0]
      sizes = body("/at/#{escape(rows[0].location)}.tsv").lines.drop(1).map(&:to_i).tally
      assert_equal N / 2, sizes[SIZE]
      assert_includes body("/each/50000000?sort=growth"), "title=\"51,200,000 bytes\""
    end
    app.tell("end")
    assert app.wait.success?, app.stderr
    rows = app.dumps[0].select { |r| r.location.end_with?("/half.rb:9") }
    assert_equal 1, rows.size
    assert_half rows[0]
  end

  def test_half_is_freed_under_a_jit
    run = run_command(MwrapTest::RUBY, "--yjit", "-e", "exit RubyVM::YJIT.enabled?")
    skip "this Ruby has no YJIT" unless run.status.success?
    assert_half in_exit_dump(script(*PLAIN), "--yjit", "--yjit-call-threshold=5")
  end

  # malloc itself, called by its address: Fiddle::Function#call may need memory of its own at the
  # same line, for the arguments, which comes and goes. The blocks of our size are exactly ours.
  def function(gvl)
    "LIBC = Fiddle.dlopen(nil); MALLOC = Fiddle::Function.new(LIBC['malloc'], [Fiddle::TYPE_SIZE_T], " \
      "Fiddle::TYPE_UINTPTR_T, need_gvl: #{gvl}); FREE = Fiddle::Function.new(LIBC['free'], " \
      "[Fiddle::TYPE_UINTPTR_T], Fiddle::TYPE_VOID)"
  end

  # Yields the rows, and blocks of our size at a location.
  def through_a_function(gvl)
    text = script(function(gvl), "MALLOC.call(#{SIZE})", "FREE.call(kept[i])")
    app = served_ruby(text, name: "half.rb", env: { "ASKED" => "1" })
    assert_equal "ready", app.hear
    yield tsv, lambda { |row|
      body("/at/#{escape(row.location)}.tsv").lines.drop(1).count { |l| l.start_with?("#{SIZE}\t") }
    }
    app.tell("end")
    assert app.wait.success?, app.stderr
    assert_equal "", app.stderr
  end

  def assert_at_least_half(row)
    assert_operator row.allocations, :>=, N, row.inspect
    assert_operator row.total, :>=, N * SIZE
    assert_in_delta N / 2 * SIZE, row.growth, 4096, row.inspect
  end

  def half_through_a_function(gvl)
    through_a_function(gvl) do |rows, blocks|
      row = rows.find { |r| r.location.end_with?("/half.rb:9") }
      assert_at_least_half row
      assert_equal N / 2, blocks.call(row)
    end
  end

  def test_half_is_freed_through_a_function
    half_through_a_function(true)
  end

  # While other threads may run: nobody can be asked for the line then, only once the call is over.
  def test_half_is_freed_through_a_function_without_the_lock
    half_through_a_function(false)
  end

  # Each line calls once, or from several threads while others have the lock.
  ONCE = <<~RUBY
    require "fiddle"
    SETUP
    stop = false
    others = Array.new(3) { Thread.new { Thread.pass until stop } }
    MALLOC.call(70_001)
    MALLOC.call(70_002)
    others.concat(Array.new(4) {
      Thread.new { 500.times {
        MALLOC.call(70_003)
      } }
    })
    others.last(4).each(&:join)
    stop = true
    others.each(&:join)
  RUBY

  def test_lines_that_only_allocate_without_the_lock_are_named
    File.write(path("once.rb"), ONCE.sub("SETUP", function(false)))
    run = mwrap_run(MwrapTest::RUBY, *flags, path("once.rb"))
    assert_success run
    [[5, 1, 70_001], [6, 1, 70_002], [9, 2000, 70_003]].each do |line, calls, size|
      row = run.row("/once.rb:#{line}")
      assert row, run.dump
      assert_operator row.total, :>=, calls * size, row.inspect
      assert_operator row.total, :<, (calls + 1) * size, row.inspect
    end
  end

  # The GC runs at another line, since it needs memory itself. The description of a page of Ruby's
  # heap is allocated at the line that needs one more page, and freed with it. So pages have room for
  # all objects before, and stay because each still holds some string.
  STRINGS = <<~RUBY
    # frozen_string_literal: true
    require "mwrap"
    GC.disable
    def make(kept, n)
      i = 0
      while i < n
        s = "x" * 1000
        kept[i / 2] = s if i.even?
        i += 1
      end
    end
    all = Array.new(#{N * 2}) { "y" * 700 }
    room = all.each_slice(25).map(&:first)
    all.clear # whatever may still point to it
    kept = Array.new(#{N / 2})
    [*[2] * 50, #{N}].each do |n|
      kept.fill(nil)
      GC.start
      Mwrap.reset
      make(kept, n)
    end
    GC.start
  RUBY

  def test_strings_of_which_an_array_keeps_half
    File.write(path("strings.rb"), STRINGS)
    run = mwrap_run(MwrapTest::RUBY, *flags, path("strings.rb"))
    assert_success run
    row = run.row("/strings.rb:7")
    size = 1001 # with the NUL
    assert_in_delta N, row.allocations, N / 1000, row.inspect
    assert_in_delta N / 2, row.frees, N / 2 / 1000, row.inspect
    assert_in_delta N * size, row.total, N * size / 1000, row.inspect
    assert_in_delta N / 2 * size, row.growth, N / 2 * size / 1000, row.inspect
  end
end
