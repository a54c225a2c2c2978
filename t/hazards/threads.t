#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Hazards of threads: hardly any stack, cancelled, and ends that come from them.

require_relative "../lib/allocators"
require_relative "../lib/hazard"

class ThreadHazards < Minitest::Test
  def test_stacks_of_16_kib_every_call
    assert_adds_up twice(program("stack"), "calls")
  end

  # The dump is written there.
  def test_stacks_of_16_kib_exit
    %w[text tsv csv json].each do |format|
      tracked = once(program("stack"), "exit", tracked: true, dump: nil,
                     options: ->(d) { "dump_path:#{d}/x,dump_format:#{format}" })
      assert_equal ["exit 0", ""], [tracked.ending, tracked.stderr], format
    end
    assert_adds_up twice(program("stack"), "exit")
    before_a_server { assert_adds_up twice(program("stack"), "exit", options: ->(d) { "socket:#{d}/s" }) }
  end

  def test_stacks_of_16_kib_fork
    tracked = twice(program("stack"), "fork")
    assert_equal 11, tracked.dumps.size
    assert_adds_up tracked
    assert_equal 11, twice(program("stack"), "fork", options: ->(d) { "socket:#{d}/s" }, open_files: false).dumps.size
  end

  def test_a_handler_on_the_smallest_alternate_stack
    assert_adds_up twice(program("stack"), "signal")
  end

  # Chance decides how many threads a burst has, at how many lines they allocate, and when they end.
  def test_bursts_of_threads
    of_exact_counts
    seed = ENV.fetch("SEED", Random.new_seed % 100_000).to_s
    puts "# SEED=#{seed}"
    native = once(program("bursts"), seed, tracked: false)
    [nil, "stacks:off"].each do |options|
      tracked = twice(program("bursts"), seed, options: options)
      assert_adds_up tracked
      said = ->(o, figure) { Integer(o.stdout[figure, 1]) }
      living = said.(tracked, /^# (\d+) bytes a living thread/)
      assert_operator living, :<=, 12 << 10
      # 16 ended threads' tables stay, and the new lines' names
      assert_operator said.(tracked, /^# (-?\d+) bytes more than before/), :<=, 2 << 20
      # other allocators keep what is free for some seconds, and more of it the larger the blocks
      assert_operator said.(tracked, /^# rss (\d+)/) - said.(native, /^# rss (\d+)/), :<=, 6 << 10 unless ALLOCATOR
      puts "# #{living} bytes a living thread"
    end
  end

  # A tail, or a word of the index of blocks without one, may need a page of its own, and an allocator's larger class
  # another.
  SIZES_OF_THREADS = begin
    seed = Integer(ENV.fetch("SEED", Random.new_seed % 10_000)).tap { |s| puts "# SEED=#{s}" }
    ends = [64, 512, 640, 1024, 1280, 1792, 2560, 3584, 4096, 5120, 7168, 8192, 10_240, 16_384, 20_480, 40_960, 65_536]
    [%w[24 100 200], ends.sample(3, random: Random.new(seed)).map(&:to_s)]
  end
  def test_living_threads_on_each_allocator
    of_the_c_librarys_malloc # and of each other one
    living = ->(o) { Integer(o.stdout[/^# (\d+) bytes of RSS a living thread/, 1]) }
    allocators = { "glibc" => nil }
    Allocators.each { |name, path, package| allocators[name] = path || flunk("#{name}: install #{package}") }
    allocators.each do |allocator, path|
      SIZES_OF_THREADS.each do |sizes|
        native = once(program("living"), *sizes, below: [*path], tracked: false)
        tracked = twice(program("living"), *sizes, below: [*path])
        assert_adds_up tracked
        more = living.(tracked) - living.(native)
        # three pages, and what the blocks' records take: of the shard, of the index for large blocks and for others
        assert_operator more, :<=, (12 << 10) + (allocator == "mimalloc" ? 512 : 0), "#{allocator}, #{sizes}"
        puts "# #{allocator}, #{sizes.join(", ")} bytes: #{more} bytes more a living thread"
      end
    end
  end

  def test_cancelled_threads
    assert_adds_up twice(program("stack"), "cancel")
  end
end
