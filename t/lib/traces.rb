# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For tests of recordings that nobody recorded: writes one from a text (t/programs/write_trace.c), packs it, and plays it.

require "json"
require_relative "allocators"

module Traces
  REPLAY = File.join(MwrapTest::ROOT, "lib/mwrap/mwrap-replay")
  META = { "version" => 1, "pid" => 1000, "ppid" => 1, "command" => "ruby app.rb", "started" => 1_700_000_000.0, "ticks_per_second" => 1_000_000, "clock" => "fine",
           "allocator" => "glibc", "allocator_version" => "2.36", "environment" => {}, "page_size" => 4096, "processors" => Etc.nprocessors, "ruby" => nil, "tail" => 8, "from_start" => true }.freeze
  ENDED = { "reason" => "exit", "why" => "", "events" => 0, "lost" => 0, "bytes" => 0 }.freeze

  # The calls of several threads, each a stream of its own. Thread 0 is the main thread.
  class Script
    def initialize
      @streams = Hash.new { |all, n| all[n] = ["thread #{META["pid"] + n}"] }
      @samples = []
      @refs = 0
      @ticks = 0
    end

    # Calls that follow come so many ticks later.
    def later(ticks) = @ticks += ticks

    # A call of a thread, such as call(0, "malloc", ref, size, location). Each comes a tick after the one before.
    def call(thread, name, *numbers)
      stream = @streams[thread]
      stream.insert(-2, "at #{@ticks + 1}") if stream.size == 1
      stream << "at #{@ticks += 1}" << [name, *numbers].join(" ")
    end

    # A new block's ref
    def malloc(thread, size, call: "malloc", extra: [])
      call(thread, call, @refs += 1, size, 0, *extra)
      @refs
    end

    def sample(heap: 0, live: 0) = @samples << "sample #{@ticks += 1} #{2 * heap} #{heap} #{live}"

    def text(meta = {}, ended = {})
      ["meta #{JSON.generate(META.merge(meta))}", *@streams.flat_map { |n, lines| ["stream #{n}", *lines] }, *@samples, *("end #{JSON.generate(ENDED.merge(ended))}" if ended)].map { |l| "#{l}\n" }.join
    end
  end

  Played = Struct.new(:result, :samples, :recorded, :progress, :run)

  module_function

  def script = Script.new.tap { |s| yield s }

  # A recorded file. ended: what its END has on top; nil: it has none
  def record(path, script, meta: {}, ended: {})
    run = run_command(program("write_trace"), path, stdin: script.text(meta, ended))
    assert_success run
    path
  end

  # A packed file of it
  def pack(path, script, **rest)
    record("#{path}.recorded", script, **rest)
    run = run_command(REPLAY, "pack", "#{path}.recorded", "-o", path)
    assert_success run
    assert_equal "", run.stderr
    path
  end

  # Plays a packed file under that allocator's library. With env, below it.
  def play(path, *flags, library: nil, env: {}, **rest)
    run = run_command(REPLAY, "play", *flags, path, env: { "LD_PRELOAD" => library, "MALLOC_ARENA_MAX" => nil, **env }, **rest)
    assert_success run
    assert_equal "", run.stderr
    lines = run.stdout.lines.map { |l| JSON.parse(l) }
    all = ->(key) { lines.filter_map { |l| l[key] } }
    assert_equal 1, all.call("result").size
    Played.new(lines[-1].fetch("result"), lines.select { |l| l.key?("at") }, all.call("recorded"), all.call("progress"), run)
  end

  # Yields each allocator's name and library, nil for glibc's.
  def each_allocator
    yield "glibc", nil
    Allocators.each { |name, path, package| yield name, path || flunk("#{name}: install #{package}") }
  end
end
