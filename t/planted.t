#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The offsets by which Ruby's structures are read are set wrong, in a tracker that is
# built with that in mind (t/planted/plant.h). Whatever they are, the process behaves
# as without the tracker, and:
#
# Wrong before the self-check at start: every allocation is counted at its line, since
# the public way is taken from the start.
#
# Wrong after it held, or wrong only elsewhere (other threads, Fibers) than where it held:
# reading without asking can name a wrong line then, or none, until the next comparison.
# A thread compares the 1st, 2nd, 4th ... 4096th of its allocations at remembered lines, then
# every 4093rd; from the first that disagrees on, the public way is taken in all threads, for
# good. So if all lines are counted wrong, or one that is called AT_MOST times in a row,
# there are at most AT_MOST wrong counts for each thread, and none afterwards. A line that
# is wrong only now and then is found by chance: nothing is promised for it.
#
# Not tried late: a size of a frame of 0, and bounds of the stack that lie beyond it. With
# either the lookup has no end, and the self-check walks a whole stack to its end.

require_relative "lib/tap"

class PlantedTest < Minitest::Test
  parallelize_me!

  AT_MOST = 8192
  MANY = AT_MOST + 1000
  SCRIPT = File.join(__dir__, "planted/lines.rb")
  PLANTED = File.join(ROOT, ".build/planted/libmwrap.so")
  FLAGS = ["--disable=gems", "-W:no-experimental", "-I#{LIB}", SCRIPT].freeze
  YJIT = { "RUBYOPT" => "--yjit --yjit-call-threshold=1" }.freeze
  HAS_YJIT = system(RUBY, "--yjit", "-e", "exit RubyVM::YJIT.enabled?", out: File::NULL, err: File::NULL)

  BUILD = Mutex.new
  NATIVE = {} # rubocop:disable Style/MutableConstant

  def build
    BUILD.synchronize do
      @@built ||= begin # rubocop:disable Style/ClassVars
        make = run_command("make", "-C", ROOT, "planted", "RUBY=#{RUBY}", timeout: 1800)
        assert_success make
        make
      end
      NATIVE[YJIT] ||= native(YJIT) if HAS_YJIT
      NATIVE[{}] ||= native({})
    end
  end

  def native(env)
    in_tmp { |dir| run_command(RUBY, *FLAGS, "#{dir}/out", "50", env: env) }
  end

  # The script's output under the tracker; it ended as it does without.
  def run_planted(plant, many, env: {}, tracker: PLANTED)
    build
    in_tmp do |dir|
      more = { "LD_PRELOAD" => tracker, "MWRAP_TEST_PLANT" => plant }.merge(env)
      r = run_command(RUBY, *FLAGS, "#{dir}/out", many.to_s, env: more)
      assert_equal ["exit", 3], [r.status.signaled? ? "signal" : "exit", r.status.termsig || r.status.exitstatus],
                   "#{plant}\n#{r.stderr[0, 2000]}"
      without = NATIVE.fetch(env.slice("RUBYOPT"))
      assert_equal 3, without.status.exitstatus
      assert_equal [without.stdout, without.stderr], [r.stdout, r.stderr], plant
      JSON.parse(File.read("#{dir}/out"))
    end
  end

  # All that was allocated once a fault had been noticed was counted where it was, and then.
  def assert_right_in_the_end(seen, plant)
    assert_operator seen["lines"].size, :>=, 13
    expected = seen["lines"].transform_values { |at| { at => 40 } }
    assert_equal expected, seen["third"], plant
    assert_equal 0, seen["wrong_generations"], plant
  end

  # wrong: how many calls of each line may have been counted elsewhere.
  def assert_counted(seen, plant, many, wrong)
    seen["second"].each { |name, n| assert_operator n, :>=, many - wrong, "#{plant}: #{name}" }
  end

  def assert_planted(seen, plant)
    assert_equal 1, seen["planted"], "#{plant} was not planted"
  end

  # harmless: the fast way may go on, if nothing that it says depends on the offset.
  def assert_public(seen, plant, harmless)
    how, why = seen.values_at("how", "why")
    return assert_equal ["fast", ""], [how, why], plant if harmless && how != "public"
    assert_equal "public", how, plant
    assert_match(/\w \w/, why, plant)
  end

  def test_nothing_planted
    seen = run_planted(nil, MANY)
    assert_equal [0, "fast", ""], seen.values_at("planted", "how", "why")
    assert_counted(seen, "nothing", MANY, 0)
    assert_right_in_the_end(seen, "nothing")
  end

  def test_the_real_tracker_has_no_such_switch
    seen = run_planted("late:frame_size=+8", 100, tracker: TRACKER)
    assert_equal [nil, "fast", ""], seen.values_at("planted", "how", "why")
    refute_includes File.binread(TRACKER), "MWRAP_TEST_PLANT"
    assert_includes File.binread(PLANTED), "MWRAP_TEST_PLANT"
  end

  def test_the_public_way_by_wish
    seen = run_planted(nil, 2000, env: { "MWRAP_RUBY_PUBLIC" => "1" })
    assert_equal [0, "public", "MWRAP_RUBY_PUBLIC is set"], seen.values_at("planted", "how", "why")
    assert_counted(seen, "public", 2000, 0)
    assert_right_in_the_end(seen, "public")
  end

  # --- before the self-check ------------------------------------------------------------

  # Next to the right one, within it, odd, far away, in no memory, in the kernel's.
  WRONG = %w[+8 -8 +16 +4 +1 -0x4000 +0x100000 0x7fffffff0000 -0x7fffffff0000 0xffff888000000000].freeze
  # Read by the self-check only; or a bound of what is looked for by another means, too.
  HARMLESS = %w[cfp_sp cfp_ep body_size].freeze
  # Each frame is come by, if what lies between two of them is never taken for one: so it is at times on Ruby 4.0.
  STEPS = %w[call:frame_size=1 call:frame_size=8].freeze

  %w[ec frame_size body ec_stack ec_stack_words ec_cfp cfp_pc cfp_sp cfp_iseq cfp_ep body_size body_code].each do |name|
    define_method(:"test_wrong_from_the_start_#{name}") do
      values = WRONG + (name == "frame_size" ? %w[0 8 -16] : [])
      values += %w[null -16] if name == "ec"
      values.each do |value|
        plant = "#{name}=#{value}"
        seen = run_planted(plant, 100)
        assert_planted(seen, plant)
        assert_public(seen, plant, HARMLESS.include?(name))
        assert_counted(seen, plant, 100, 0)
        assert_right_in_the_end(seen, plant)
      end
    end
  end

  # Where GC.count is read: then it is asked for, and lines are still found the fast way.
  def test_wrong_from_the_start_count
    (WRONG + %w[0 -4 -16 +40]).each do |value|
      plant = "count=#{value}"
      seen = run_planted(plant, 100)
      next if seen["planted"].zero? && RbConfig::CONFIG["host_cpu"] != "x86_64"
      assert_planted(seen, plant)
      assert_equal ["fast", ""], seen.values_at("how", "why"), plant
      assert_counted(seen, plant, 100, 0)
      assert_right_in_the_end(seen, plant)
    end
  end

  # --- after it --------------------------------------------------------------------------

  LATE = {
    # in memory that is there: neighbours, none at all, and one that is right in one Fiber only
    "ec" => %w[null decoy],
    "ec_cfp" => %w[-8],
    "ec_stack" => %w[+8],
    "cfp_pc" => %w[+8 -8 +16 +24],
    "cfp_iseq" => %w[+8 -8 -16 +16],
    # any
    "frame_size" => %w[+8 -8 -16 8 1 24 -1 112 128 192 448 0x7ffffff0],
    "body" => %w[+8 -8 +1 0x10001 0x7ffffff0],
    "body_code" => %w[+8 -8 +1 0x7fffffff0000],
    "body_size" => %w[+4 -4 0x7fffffff0000],
    "cfp_sp" => %w[+8 0x7fffffff0000],
    "cfp_ep" => %w[+8 0x7fffffff0000]
  }.freeze

  # late: at once, so that nothing is remembered yet; call: when all lines were called before.
  %w[late call].each do |moment|
    LATE.each do |name, values|
      define_method(:"test_wrong_afterwards_#{moment}_#{name}") do
        values.each do |value|
          plant = "#{moment}:#{name}=#{value}"
          seen = run_planted(plant, MANY)
          assert_planted(seen, plant)
          assert_public(seen, plant, HARMLESS.include?(name) || STEPS.include?(plant))
          assert_counted(seen, plant, MANY, AT_MOST)
          assert_right_in_the_end(seen, plant)
        end
      end
    end

    define_method(:"test_wrong_afterwards_#{moment}_count") do
      %w[+4 -4 +8].each do |value|
        plant = "#{moment}:count=#{value}"
        seen = run_planted(plant, MANY)
        assert_planted(seen, plant)
        assert_counted(seen, plant, MANY, 0)
        assert_right_in_the_end(seen, plant)
      end
    end
  end

  # Callers and sampled stacks ask Ruby about words of each frame. Ruby ends the process at one that it doesn't
  # know, and the kernel where a frame is said to lie behind the stack: the tracker looks before. A stack
  # that is in the way by chance decides which word is asked about.
  def test_wrong_afterwards_with_callers_and_stacks
    %w[frame_size=1 frame_size=1 frame_size=1 frame_size=8 frame_size=448 cfp_iseq=+8 cfp_iseq=+16 cfp_pc=+24].each do |name|
      %w[bt:3 stacks:1k].each do |options|
        plant = "call:#{name}"
        assert_planted(run_planted(plant, 2000, env: { "MWRAP" => options }), "#{plant} with #{options}")
      end
    end
  end

  # Right where the self-check ran, wrong in every other thread and Fiber.
  def test_wrong_elsewhere
    seen = run_planted("ec=decoy", MANY)
    assert_planted(seen, "ec=decoy")
    assert_public(seen, "ec=decoy", false)
    assert_counted(seen, "ec=decoy", MANY, AT_MOST)
    assert_right_in_the_end(seen, "ec=decoy")
  end

  def test_with_a_jit
    skip "this Ruby has no YJIT" unless HAS_YJIT
    seen = run_planted(nil, MANY, env: YJIT)
    assert_equal [0, "fast", ""], seen.values_at("planted", "how", "why")
    assert_counted(seen, "nothing", MANY, 0)
    assert_right_in_the_end(seen, "nothing")
    %w[frame_size=+8 ec=+8 cfp_iseq=+8 late:frame_size=+8 call:frame_size=-8 call:cfp_pc=+8 call:cfp_iseq=-8
       late:body=+8 call:ec=decoy].each do |plant|
      seen = run_planted(plant, MANY, env: YJIT)
      assert_planted(seen, plant)
      assert_public(seen, plant, false)
      assert_counted(seen, plant, MANY, plant.include?(":") ? AT_MOST : 0)
      assert_right_in_the_end(seen, plant)
    end
  end
end
