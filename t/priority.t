#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The tracker's threads have the priority of the application's main thread: with less, the server wouldn't answer
# beside threads that never stop. The test asks the kernel for each thread's priority while it works, and measures
# no time. Only the child that looks for holders has less (doc/holders.md).
require_relative "lib/racked"

class PriorityTest < Minitest::Test
  include HttpdTest
  include Racked

  SPINNING = 16
  ANSWERS = 14 # beside them, for each way to start
  WAYS = { [] => [0, 0], %w[nice -n 3] => [3, 0], %w[chrt --batch 0] => [0, 3] }.freeze # => nice, policy
  WORK = ["GET /each/0.tsv", "GET /map.json", "POST /trim", "GET /map/trim", "POST /map/trim", "GET /family/map", "GET /metrics"].freeze

  # Nice, real-time priority and policy of a task.
  def priority(stat) = stat.rpartition(")").last.split.values_at(16, 37, 38).map(&:to_i)

  # TID => priority of all threads; one may end meanwhile.
  def threads(pid)
    Dir["/proc/#{pid}/task/*/stat"].filter_map do |file|
      [file[%r{task/(\d+)}, 1].to_i, priority(File.read(file))]
    rescue Errno::ENOENT, Errno::ESRCH
      nil
    end.to_h
  end

  # All threads that were there at some time while the block ran.
  def watched(pid)
    seen = {}
    over = false
    watcher = Thread.new { seen.merge!(threads(pid)) until over }
    yield
    seen
  ensure
    over = true
    watcher.join
  end

  # While it answers and dumps and records, and a request that waits has a thread of its own.
  def test_beside_threads_that_spin
    WAYS.each do |command, (nice, policy)|
      app = served(*command, program("spins"), SPINNING.to_s, options: ["dump_every:1", "children:all", "trace_path:#{path("trace.#{nice}.#{policy}")}", "trace_max:1m"])
      assert_equal "ready", app.hear
      recorder = threads(app.pid)
      seen = watched(app.pid) { ANSWERS.times { |i| assert_equal 200, request(*WORK[i % WORK.size].split).status } }
      assert_equal [nice, 0, policy], seen.fetch(app.pid), command.inspect
      assert_empty seen.reject { |_, is| is == seen[app.pid] }, "#{command}: threads with another priority"
      assert_empty recorder.reject { |_, is| is == seen[app.pid] }
      assert_operator seen.size, :>=, 1 + SPINNING + 3, "#{command}: the server's, the dumper's, and one for what waits"
      eventually("a dump") { Dir[path("dump*.*")].any? }
      app.finish
      FileUtils.rm_f(Dir[path("dump*")])
    end
  end

  # A recording that is asked for, while it is written.
  def test_a_recording
    app = served(program("spins"), "2", options: "children:all")
    assert_equal "ready", app.hear
    before = threads(app.pid)
    assert_equal 200, post("/trace/start?path=#{path("asked")}&max=4m").status
    now = watched(app.pid) { post("/trace/stop") }
    assert_operator (now.keys - before.keys).size, :>=, 1, "the recorder's"
    assert_equal [before[app.pid]], now.values.uniq
  end

  HOLDERS = <<~'RUBY'
    $stdout.sync = true
    KEPT = Array.new(200_000) { |i| "kept #{i}" * 20 }
    puts "ready"
    $stdin.gets
  RUBY

  # Nice of the child that looks for holders, which is gone soon: asked again until it was seen.
  def test_the_search_for_holders
    { 0 => 5, 15 => 15 }.each do |own, childs|
      app = served("nice", "-n", own.to_s, MwrapTest::RUBY, "--disable=gems", "-I#{MwrapTest::LIB}", "-e", HOLDERS)
      assert_equal "ready", app.hear
      seen = []
      over = false
      watcher = Thread.new do
        until over
          Dir["/proc/#{app.pid}/task/*/children"].each do |file|
            File.read(file).split.each { |pid| seen << priority(File.read("/proc/#{pid}/stat"))[0] }
          rescue Errno::ENOENT, Errno::ESRCH
            next # ended meanwhile
          end
        end
      end
      eventually("the child") { get("/holders.json").status == 200 && seen.include?(childs) }
      assert_empty seen.uniq - [own, childs], "it begins as its parent"
      assert_equal [[own, 0, 0]], threads(app.pid).values.uniq, "the application's own"
    ensure
      over = true
      watcher&.join
      app&.finish
    end
  end
end
