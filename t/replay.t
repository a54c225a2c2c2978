#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# mwrap-replay play: recordings that are made up (t/lib/traces.rb), under each of four allocators.
require "etc"
require_relative "lib/tap"
require_relative "lib/traces"

class ReplayTest < Minitest::Test
  include Traces

  Call = Struct.new(:name, :thread, :size, :block, :extra)
  MARK = 100_000 # sizes from here on are the recording's, and no library's

  # The calls that the player makes, as a preload sees them, in their order: those of sizes from MARK on. A free has its
  # block's size.
  def calls(path, *flags)
    in_tmp do |dir|
      log = File.join(dir, "calls")
      File.open(log, "w") { |f| play(path, *flags, library: preload("calls"), 9 => f) }
      sizes = {}
      File.readlines(log).filter_map do |line|
        name, thread, *numbers = line.split
        call = Call.new(name, thread.to_i, numbers[0].to_i, numbers[1].hex, numbers[2].hex)
        call.size = sizes.delete(call.block).to_i if name == "free"
        call.extra = sizes.delete(call.extra) if name == "realloc"
        next unless call.size >= MARK
        sizes[call.block] = call.size unless name == "free"
        call
      end
    end
  end

  # Random calls of several threads: most blocks die young. Returns the script, and its births.
  def random(seed, events, threads)
    rand = Random.new(seed)
    lives = []
    births = 0
    made = script do |s|
      events.times do |i|
        thread = i / 50 % threads
        if lives.size < 20 || rand.rand < 0.5
          lives << s.malloc(thread, rand.rand(1..3000))
          births += 1
        else
          s.call(thread, "free", lives.delete_at(-1 - rand.rand([20, lives.size].min)))
        end
        s.sample if i % (events / 20) == 10
      end
    end
    [made, births]
  end

  def test_each_allocator_gets_the_same_calls
    in_tmp do |dir|
      made, births = random(1, 20_000, 4)
      path = pack("#{dir}/a", made)
      each_allocator do |name, library|
        played = play(path, library: library)
        name = "gperftools" if name == "tcmalloc"
        assert_match(/\A#{name} \d+\.\d+/, played.result["malloc"])
        assert_equal [births, 4, 0], played.result.values_at("births", "threads", "failed"), name
        assert_equal 20_000, played.result["events"], name
        assert_equal 20, played.samples.size
        assert_equal played.recorded.map { |s| s["at"] }, played.samples.map { |s| s["at"] }, "a sample for each recorded one"
        assert_operator played.result["cpu_seconds"], :>, 0
        assert_equal played.samples.map { |s| s["rss"] }.max, played.result["peak_rss"]
        assert_equal 1, played.progress[-1]
      end
    end
  end

  def test_it_is_the_same_each_time
    in_tmp do |dir|
      path = pack("#{dir}/a", random(2, 20_000, 4)[0])
      first, second = Array.new(2) { play(path) }
      assert_equal first.samples, second.samples, "memory, too: glibc has no chance in it"
      assert_equal first.result.except("cpu_seconds"), second.result.except("cpu_seconds")
    end
  end

  # Sizes tell calls apart.
  def test_calls_come_in_their_order_from_their_threads
    in_tmp do |dir|
      wanted = []
      refs = {}
      path = pack("#{dir}/a", script do |s|
        100.times do |i|
          thread = i * 7 % 5
          refs[i] = s.malloc(thread, MARK + i)
          wanted << ["malloc", thread, MARK + i]
          next unless i % 3 == 2
          s.call(thread, "free_large", refs[i - 1], 1)
          wanted << ["free", thread, MARK + i - 1]
        end
      end)
      made = calls(path)
      threads = made.map(&:thread).uniq
      numbers = wanted.map { |w| w[1] }.uniq.zip(threads).to_h
      assert_equal 5, threads.size
      assert_equal wanted.map { |name, thread, size| [name, numbers[thread], size] }, made.map { |c| [c.name, c.thread, c.size] }
    end
  end

  def test_each_kind_of_call
    in_tmp do |dir|
      path = pack("#{dir}/a", script do |s|
        a = s.malloc(0, MARK)
        s.call(0, "realloc", a, MARK + 1, 0, a)
        s.malloc(0, MARK + 2, call: "calloc")
        s.malloc(0, MARK + 3, call: "aligned", extra: [4096])
        s.malloc(0, MARK + 4, call: "aligned", extra: [3])
        b = s.malloc(0, MARK + 5)
        s.call(0, "realloc", b, MARK + 6, 0, b)
        s.call(0, "free", b)
        s.call(0, "own", MARK + 7)
      end)
      plain = calls(path)
      assert_equal [["malloc", MARK], ["realloc", MARK + 1], ["calloc", MARK + 2], ["aligned", MARK + 3], ["aligned", MARK + 4], ["malloc", MARK + 5], ["realloc", MARK + 6],
                    ["free", MARK + 6]], plain.map { |c| [c.name, c.size] }
      assert_equal [MARK, MARK + 5], plain.select { |c| c.name == "realloc" }.map(&:extra), "of these blocks"
      assert_equal [4096, 8], plain.select { |c| c.name == "aligned" }.map(&:extra)
      assert(plain.select { |c| c.name == "aligned" }.all? { |c| (c.block % c.extra).zero? })
      tailed = calls(path, "--as-recorded")
      assert_equal [*plain.map { |c| c.size + 8 }, MARK + 7], tailed.map(&:size), "each with its tail, and the tracker's own block"
    end
  end

  # On allocators with size classes the tracker asks for no tail if a block fills its class.
  def test_blocks_without_a_tail
    in_tmp do |dir|
      made = script do |s|
        a = s.malloc(0, 1 << 17)
        s.call(0, "realloc", a, 1 << 18, 0, a)
        s.malloc(0, 1 << 17, call: "calloc")
        s.malloc(0, 1 << 17, call: "aligned", extra: [4096])
        s.malloc(0, (1 << 17) + 1)
      end
      tailed = [8, 8, 8, 8, 8]
      { {} => tailed, { "untailed" => 512 } => [0, 0, 0, 8, 8], { "untailed" => 1 << 18 } => [8, 0, 8, 8, 8] }.each do |meta, tails|
        path = pack("#{dir}/a", made, meta: meta)
        plain, asked = calls(path).map(&:size), calls(path, "--as-recorded").map(&:size)
        assert_equal tails, asked.zip(plain).map { |with, without| with - without }, meta.inspect
      end
    end
  end

  FILLING = <<~'RUBY'
    sleep 0.5
    $kept = [512, 640, 1024, 1280, 4096, 8192, 20_480].map { |n| Array.new(4_000_000 / n) { "x" * (n - 1) } }
    sleep 0.5
  RUBY

  def test_the_memory_of_such_blocks
    each_allocator do |name, library|
      next unless library

      in_tmp do |dir|
        assert_success run_command(RUBY, "--disable=gems", "-e", FILLING, env: { "LD_PRELOAD" => [TRACKER, library].join(":"), "MWRAP" => "trace_path:#{dir}/a" })
        assert_success run_command(REPLAY, "pack", "#{dir}/a", "-o", "#{dir}/b")
        played = play("#{dir}/b", "--as-recorded", library: library)
        live, rss = played.samples.map { |x| x["live"] }.max, played.samples.map { |x| x["rss"] }.max
        assert_operator live, :>, 24_000_000, name
        assert_in_delta live, rss, live * 0.1, name
      end
    end
  end

  # Each thread's blocks come from an arena of its own, unless there may be two only.
  def test_threads_have_arenas
    in_tmp do |dir|
      path = pack("#{dir}/a", script { |s| 4.times { |round| 4.times { |t| s.malloc(t, 101 + 10 * round) } } })
      log = "#{dir}/calls"
      heaps = [nil, "2"].map do |most|
        File.open(log, "w") { |f| play(path, library: preload("calls"), env: { "MALLOC_ARENA_MAX" => most }, 9 => f) }
        mine = File.readlines(log).map(&:split).select { |_, _, size| [101, 111, 121, 131].include?(size.to_i) }
        assert_equal 16, mine.size
        mine.group_by { |_, thread| thread }.map { |_, all| all.map { |c| c[3].hex >> 26 }.uniq }
      end
      assert_equal [4, 4], heaps.map(&:size)
      assert(heaps.flatten(1).all? { |h| h.size == 1 }, heaps.inspect)
      assert_equal 4, heaps[0].uniq.size
      assert_equal 2, heaps[1].uniq.size
    end
  end

  # An ended thread's arena is free for the next one.
  def test_threads_end
    in_tmp do |dir|
      path = pack("#{dir}/a", script do |s|
        s.malloc(0, MARK)
        (1..30).each do |t|
          s.malloc(t, MARK + t)
          20.times { s.malloc(t, 1000) }
          s.call(t, "thread_end")
        end
      end)
      made = calls(path)
      assert_equal 31, made.map(&:thread).uniq.size
      played = play(path)
      assert_equal [31, 31 + 600], played.result.values_at("threads", "births")
      # 31 arenas would have a page and more each for their own
      assert_operator played.result["peak_rss"], :<, 620_000 + 31 * MARK + 20 * 4096
    end
  end

  # Each allocator must have room for 25,000 blocks of 4 KB, all of them written. A slab of mimalloc 3
  # has 64 KiB for 15 of them.
  def test_memory_of_live_blocks
    in_tmp do |dir|
      path = pack("#{dir}/a", script do |s|
        refs = Array.new(25_000) { s.malloc(0, 4096) }
        s.sample
        refs.each { |r| s.call(0, "free", r) }
        s.call(0, "trim", 0)
        s.sample
      end)
      each_allocator do |name, library|
        played = play(path, library: library)
        more = library&.end_with?("/libmimalloc.so.3") ? 0.08 : 0.05
        assert_includes 25_000 * 4096 * 0.99..25_000 * 4096 * (1 + more), played.samples[0]["rss"], name
        assert_equal [25_000 * 4096, 0], played.samples.map { |s| s["live"] }, name
        next unless name == "glibc"
        assert_operator played.samples[1]["rss"], :<, 1 << 20, "trimmed"
      end
    end
  end

  # One block keeps the top, so free gives nothing back; malloc_trim does.
  def test_trim
    in_tmp do |dir|
      trimmed, kept = [true, false].map do |trim|
        path = pack("#{dir}/a", script do |s|
          refs = Array.new(5000) { s.malloc(0, 4000) }
          s.malloc(0, 4000)
          refs.each { |r| s.call(0, "free", r) }
          s.call(0, "trim", 0) if trim
          s.sample
        end)
        play(path).samples[0]["rss"]
      end
      assert_operator kept, :>, 19_000_000
      assert_operator trimmed, :<, 1_000_000
    end
  end

  # As many pages as the app had in memory; if that isn't known, no more than all of malloc had.
  def test_pages_of_large_blocks
    in_tmp do |dir|
      path = pack("#{dir}/a", script do |s|
        s.malloc(0, 1)
        s.sample
        a = s.malloc(0, 40 << 20)
        s.sample(heap: 9 << 20)
        s.call(0, "free_large", a, 200)
        s.sample
        s.malloc(0, 40 << 20)
        s.sample
        b = s.malloc(0, 1 << 20, call: "calloc")
        s.sample
        s.call(0, "resident", b, 10)
        s.call(0, "realloc", b, 8 << 20, 0, b)
        s.sample
        s.call(0, "resident", b, 700)
      end)
      each_allocator do |name, library|
        first, *rss = play(path, library: library).samples.map { |s| s["rss"] }
        assert_in_delta 200 * 4096, rss[0] - first, 400_000, "#{name}: noted at its end"
        assert_in_delta 9 << 20, rss[2] - rss[1], 2 << 20, "#{name}: never noted"
        assert_in_delta 700 * 4096, rss[4] - rss[2], (1 << 20) + (256 << 10), "#{name}: noted of a block that lives, moved by realloc"
      end
    end
  end

  def test_allocations_that_fail_are_counted
    in_tmp do |dir|
      path = pack("#{dir}/a", script do |s|
        a = s.malloc(0, 1 << 40)
        b = s.malloc(0, 100)
        s.call(0, "realloc", b, 1 << 40, 0, b)
        s.call(0, "free", a)
        s.call(0, "realloc", b, 100, 0, b)
        s.call(0, "free", b)
        s.sample
      end)
      played = play(path, rlimit_as: 4 << 30)
      assert_equal [4, 2], played.result.values_at("births", "failed")
      assert_equal 0, played.samples[0]["live"]
    end
  end

  # jemalloc gives pages back within 10 seconds, if it is called meanwhile. They are the recorded ones.
  def test_recorded_time
    in_tmp do |dir|
      library = Allocators.enum_for(:each).find { |name,| name == "jemalloc" }[1]
      kept, given = [0, 60_000_000].map do |pause|
        path = pack("#{dir}/a", script do |s|
          refs = Array.new(10_000) { s.malloc(0, 4000) }
          refs.each { |r| s.call(0, "free", r) }
          3000.times do
            s.later(pause / 3000)
            s.call(0, "free", s.malloc(0, 50_000)) # no thread caches this
          end
          s.sample
        end)
        play(path, library: library).samples[0]["rss"]
      end
      assert_operator kept, :>, 30_000_000
      assert_operator given, :<, 10_000_000
    end
  end

  # It may take longer, not less.
  def test_pace
    in_tmp do |dir|
      path = pack("#{dir}/a", script do |s|
        s.malloc(0, 10)
        s.later(300_000)
        s.malloc(0, 10)
      end)
      started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      play(path, "--pace")
      assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - started, :>, 0.3
    end
  end

  def test_a_recording_without_samples
    in_tmp do |dir|
      path = pack("#{dir}/a", script do |s|
        1000.times do
          s.malloc(0, 4000)
          s.later(999)
        end
      end)
      played = play(path)
      assert_empty played.recorded
      assert_equal 201, played.samples.size
      assert_in_delta 1, played.samples[-1]["at"], 0.01
      assert_in_delta 2_000_000, played.result["mean_rss"], 200_000
      assert_in_delta 4_000_000, played.result["peak_rss"], 200_000
    end
  end

  # The file is whole, or it says what is wrong. It never ends by a signal.
  def test_files_that_are_cut_or_broken
    in_tmp do |dir|
      path = pack("#{dir}/a", random(3, 40_000, 3)[0])
      bytes = File.binread(path)
      rand = Random.new(4)
      ways = 30.times.map do |i|
        broken = i.even? ? bytes[0, rand.rand(bytes.size)] : bytes.dup.tap { |b| b.setbyte(rand.rand(b.size), rand.rand(256)) }
        File.binwrite("#{dir}/b", broken)
        run = run_command(REPLAY, "play", "#{dir}/b")
        assert_includes [0, 1], run.status.exitstatus, run.status.to_s
        run.status.success? ? assert_equal("", run.stderr) : assert_match(/\Amwrap-replay: #{dir}\/b: .+\n\z/, run.stderr)
        run.status.success?
      end
      assert_includes ways, false
    end
  end

  def test_wrong_use
    [["play"], ["play", "--fast", "a"], ["play", "a", "b"]].each do |words|
      run = run_command(REPLAY, *words)
      assert_equal 2, run.status.exitstatus
      assert_match(/\Ausage: /, run.stderr)
    end
    assert_equal 1, run_command(REPLAY, "play", "/nonexistent").status.exitstatus
  end
end
