#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# A gem's own tests have the same outcome with the tracker and without, one by
# one; and the comparison (behaviour/compare.rb), which `make check-behaviour`
# uses for far more of them, notices when one has not.
require_relative "lib/tap"
require_relative "behaviour/suites"

class BehaviourTest < Minitest::Test
  HOME = File.join(ROOT, ".build", "gems-#{RUBY_ENGINE}-#{RUBY_VERSION}-#{RUBY_PLATFORM}")

  # The comparison of some minitest methods.
  def compare(dir, methods)
    File.write(File.join(dir, "suite.rb"), <<~RUBY)
      require "minitest/autorun"
      class T < Minitest::Test
        TRACKED = ENV["LD_PRELOAD"].to_s.include?("libmwrap")
        #{methods}
      end
    RUBY
    suite = Behaviour::Suite.new(name: "made", kind: :minitest, dir: dir, args: ["./suite.rb", "--seed=1"],
                                 only: ->(names) { ["-n", Behaviour::Suites.exactly(names)] })
    Behaviour::Comparison.new(suite, dir).run
  end

  def test_redcarpets_own_tests
    in_tmp do |dir|
      copy = File.join(dir, "gem")
      FileUtils.cp_r(File.join(HOME, "gems", "redcarpet-#{Behaviour::Suites::REDCARPET}"), copy)
      suite = Behaviour::Suites.redcarpet(copy)
      suite.env = { "GEM_HOME" => HOME, "GEM_PATH" => nil }
      done = Behaviour::Comparison.new(suite, dir).run
      assert_empty done.problems, Dir["#{dir}/*.log"].map { |log| File.read(log)[-2000..] }.join("\n")
      assert_empty done.differences
      assert_equal 131, done.native.tests
      assert_equal [131, 0], [done.native.count("pass"), done.tracked.count("skip")]
      assert_operator done.processes, :>=, 1
    end
  end

  def test_a_difference_is_named
    in_tmp do |dir|
      done = compare(dir, <<~RUBY)
        def test_same = assert(true)
        def test_fails_always = flunk
        def test_skips = TRACKED ? skip : pass
        def test_fails = refute(TRACKED)
        def test_raises = TRACKED ? raise("no") : pass
      RUBY
      assert_equal({ "T#test_skips" => "skip", "T#test_fails" => "fail", "T#test_raises" => "error" },
                   done.differences.transform_values { |_, tracked| tracked.uniq.join })
      assert_empty done.wavering
      assert_empty done.problems
      assert_equal [5, 4, 1], [done.native.tests, done.native.count("pass"), done.native.count("fail")]
    end
  end

  def test_a_test_that_only_differs_once_is_told_apart
    in_tmp do |dir|
      done = compare(dir, <<~RUBY)
        def test_same = pass
        def test_once
          return pass if !TRACKED || File.exist?("#{dir}/been")
          File.write("#{dir}/been", "")
          flunk
        end
      RUBY
      assert_equal ["T#test_once"], done.wavering.keys
      assert_empty done.differences
      assert_empty done.problems
    end
  end

  # Not always passing is what such a test does; always failing in another way is not.
  def test_a_test_that_wavers_without_the_tracker
    in_tmp do |dir|
      done = compare(dir, <<~RUBY)
        def test_same = pass
        def test_always = TRACKED ? flunk : raise("no")
        def test_wavers
          flunk if TRACKED
          File.exist?("#{dir}/been") ? raise("no") : File.write("#{dir}/been", "")
          pass
        end
      RUBY
      assert_equal ["T#test_wavers"], done.wavering.keys
      assert_equal ["T#test_always"], done.differences.keys
      assert_empty done.problems
    end
  end

  def test_a_process_that_ends_early_differs
    in_tmp do |dir|
      done = compare(dir, <<~RUBY)
        def self.runnable_methods = %w[test_a test_b test_c]
        def test_a = pass
        def test_b = TRACKED ? Process.kill(:KILL, $$) && sleep : pass
        def test_c = pass
      RUBY
      assert_equal({ "T#test_b" => "did not run", "T#test_c" => "did not run" },
                   done.differences.slice("T#test_b").merge(done.differences.slice("T#test_c"))
                                   .transform_values { |_, tracked| tracked[0] })
      assert_equal ["it ended with exit 0, tracked with SIGKILL"], done.problems
    end
  end

  def test_nothing_but_failures_says_nothing
    in_tmp do |dir|
      done = compare(dir, "def test_fails = flunk")
      assert_equal ["not one test passed"], done.problems
      assert_empty done.differences
    end
  end

  def test_another_ending_is_a_problem
    in_tmp do |dir|
      done = compare(dir, "def test_passes = pass\nMinitest.after_run { exit!(9) if TRACKED }")
      assert_match(/it ended with exit 0, tracked with exit 9/, done.problems.join)
    end
  end
end
