#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Hazards of a launcher: COMMAND has all that it would have without it. t/programs/inherited.c sets at random what
# a process gets from the one before exec, and prints it; the seed is printed.

require_relative "../lib/tap"

class InheritanceHazards < Minitest::Test
  include MwrapTest

  SEED = Integer(ENV.fetch("SEED") { rand(1..1_000_000) })
  puts "# SEED=#{SEED}"

  # The output of `inherited`, run behind these words
  def shown(seed, *words, env: {})
    in_tmp do |dir|
      File.open("#{dir}/shown", "w") do |out|
        run = run_command(program("inherited"), seed.to_s, *words, program("inherited"), "a", "", env: env, 9 => out)
        assert_equal [0, ""], [run.status.exitstatus, run.stderr], "SEED=#{seed}: #{words}"
      end
      # each run writes to files of its own
      File.binread("#{dir}/shown").lines.map { |line| line.sub(/^fd \d+ 100600 \K\S+/, "file") }
    end
  end

  # seen: as much of a line as must be the same
  def assert_inherits(*words, seeds: 3, env: {}, seen: ->(line) { line })
    seeds.times do |i|
      seed = SEED + i
      natively = shown(seed, env: env)
      assert_operator natively.size, :>, 60
      assert_includes natively, "env no value\n"
      assert_equal natively.map(&seen), shown(seed, *words, env: env).map(&seen), "SEED=#{seed}: #{words}"
    end
  end

  def test_all_of_it
    assert_inherits LAUNCHER, seeds: 30
  end

  def test_twice
    assert_inherits LAUNCHER, LAUNCHER, "--"
  end

  def test_on_another_allocator
    assert_inherits LAUNCHER, env: { "MWRAP" => "malloc:jemalloc" }
  end

  # It has a thread, for which the C library has a handler of one of its own two signals.
  def test_a_recording
    seen = ->(line) { line.sub(/^ignored \K0x(\h+)/) { ($1.hex & ~(3 << 31)).to_s(16) } }
    in_tmp { |dir| assert_inherits "#{ROOT}/bin/mwrapctl", "record", "-o", "#{dir}/r.mwtrace", seen: seen }
  end

  # Where there may be no child, Ruby becomes COMMAND.
  def test_no_child_to_ask
    as = Process.euid.zero? ? %w[setpriv --reuid=65533 --clear-groups] : []
    in_open_copy do |launcher|
      run = run_command(*as, "prlimit", "--nproc=0", launcher, "echo", "ran")
      assert_equal ["ran\n", 0], [run.stdout, run.status.exitstatus], run.stderr
    end
  end

  # Nothing is left of the child: neither a signal nor something to wait for.
  def test_no_child_is_left
    run = run_command(LAUNCHER, RUBY, "-e", 'begin; p Process.wait; rescue SystemCallError; p $!.class; end')
    assert_equal "Errno::ECHILD\n", run.stdout, run.stderr
  end

  # As without the launcher, a signal ends it before COMMAND runs.
  def test_a_signal_meanwhile
    in_tmp do |dir|
      File.write("#{dir}/slow.rb", "$stderr.sync = true; warn 'ready'; sleep")
      r, w = IO.pipe
      pid = spawn({ "RUBYOPT" => "-r#{dir}/slow.rb" }, LAUNCHER, "touch", "#{dir}/ran", err: w)
      w.close
      assert_equal "ready\n", r.gets
      ruby = descendants(pid).find { |child| File.read("/proc/#{child}/comm") == "ruby\n" }
      Process.kill(:TERM, pid)
      Process.wait(pid)
      assert_equal Signal.list["TERM"], $?.termsig
      Process.kill(:TERM, ruby)
      assert_nil r.gets, "Ruby is gone"
      refute File.exist?("#{dir}/ran")
    end
  end

  private

  def descendants(pid)
    children = File.read("/proc/#{pid}/task/#{pid}/children").split.map(&:to_i)
    children + children.flat_map { |child| descendants(child) }
  end
end
