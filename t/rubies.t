#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# RUBY chooses the Ruby for everything that bin/check does; and
# `make check-rubies` (rubies/run.sh) says PASS only of what passed, here with
# programs in the place of BARE_ROOT.
require_relative "lib/tap"

class RubiesTest < Minitest::Test
  RUN = File.join(ROOT, "t/rubies/run.sh")
  PASSED = 'echo "Files=2, Tests=34,  1 wallclock secs"; echo "Result: PASS"; echo "ruby: ruby 9.8.7 (2030-01-01) [x]"'
  COMPILED = PASSED.sub("[x]", "+YJIT [x]")

  # A checkout with only run.sh in it.
  def in_checkout
    in_tmp do |dir|
      FileUtils.mkdir_p(File.join(dir, "t/rubies"))
      FileUtils.cp(RUN, File.join(dir, "t/rubies"))
      assert system("git", "init", "-q", dir)
      yield dir
    end
  end

  # The script's Run when this shell script is the BARE_ROOT.
  def rubies(dir, script, suites: "one", **rest)
    root = File.join(dir, "root")
    File.write(root, "#!/bin/bash\n#{script}\n", perm: 0o755)
    run_command(File.join(dir, "t/rubies/run.sh"), env: { "BARE_ROOT" => root, "SUITES" => suites, **rest })
  end

  def test_one_line_for_each_suite
    in_checkout do |dir|
      run = rubies(dir, PASSED, suites: "one two")
      assert_success run
      assert_equal [%w[one 9.8.7 34 tests PASS], %w[two 9.8.7 34 tests PASS]], run.stdout.lines.map(&:split)
      assert_equal "Result: PASS\n", File.readlines(File.join(dir, ".build/rubies/two.log"))[1]
    end
  end

  def test_what_did_not_pass_is_told
    in_checkout do |dir|
      ["#{PASSED}; exit 1", PASSED.sub("PASS", "FAIL"), PASSED.sub("PASS", "NOTESTS"), "exit 0", "exit 3"].each do |script|
        run = rubies(dir, "[ $1 = good ] || { #{script}; exit; }; #{PASSED}", suites: "bad good")
        assert_equal 1, run.status.exitstatus, script
        assert_match(/\Abad .* tests  FAIL \(status \d\), see .*bad\.log\ngood .* PASS\n\z/, run.stdout)
      end
    end
  end

  def test_yjit_is_switched_on
    in_checkout do |dir|
      run = rubies(dir, "case $2 in *RUBY_YJIT_ENABLE=1\\ bin/check*) #{COMPILED} ;; esac", suites: "yjit")
      assert_success run
      assert_equal %w[yjit 9.8.7 +YJIT 34 tests PASS], run.stdout.split
      assert_equal 1, rubies(dir, PASSED, suites: "yjit").status.exitstatus
    end
  end

  # It must be one for musl that ran, in a root that can make one.
  def test_a_ruby_for_musl
    in_checkout do |dir|
      script = "case $1,$2 in bookworm,t/musl/root.sh*) #{PASSED.sub("[x]", "[x-linux-musl]")} ;; esac"
      run = rubies(dir, script, suites: "musl")
      assert_success run
      assert_equal %w[musl 9.8.7 34 tests PASS], run.stdout.split
      assert_equal 1, rubies(dir, PASSED, suites: "musl").status.exitstatus
    end
  end

  def test_the_session_and_the_signals_are_new
    in_checkout do |dir|
      script = "[ $(cut -d' ' -f6 /proc/$$/stat) -eq $$ ] && " \
               "[ $((0x$(sed -n 's/^SigIgn:.*\\(.\\)$/\\1/p' /proc/self/status) & 6)) -eq 0 ] && { #{PASSED}; }"
      ignoring = "trap '' INT QUIT; exec \"$@\""
      root = File.join(dir, "root")
      File.write(root, "#!/bin/bash\n#{script}\n", perm: 0o755)
      run = run_command("sh", "-c", ignoring, "sh", File.join(dir, "t/rubies/run.sh"),
                        env: { "BARE_ROOT" => root, "SUITES" => "one" })
      assert_success run
    end
  end

  def test_a_missing_program_and_its_arguments
    in_checkout do |dir|
      run = run_command(File.join(dir, "t/rubies/run.sh"), env: { "BARE_ROOT" => "./none" })
      assert_equal 2, run.status.exitstatus, run.stderr
      assert_match(/\Amwrap: BARE_ROOT=\.\/none is no program.*\n\z/, run.stderr)
      run = rubies(dir, "case $2 in *'bin/check -v t/x.t;'*) #{PASSED} ;; esac", "CHECK" => "-v t/x.t")
      assert_success run
    end
  end

  # bin/check gives RUBY to all: what this runs in, builds with and has gems for.
  def test_ruby_is_the_one_that_was_chosen
    skip "not run by bin/check" unless ENV["RUBY"] && ENV["GEM_HOME"].to_s.start_with?(File.join(ROOT, ".build"))
    assert_equal File.realpath(RUBY), File.realpath(ENV["RUBY"])
    path = run_command("sh", "-c", "command -v ruby").stdout.chomp
    assert_equal File.realpath(RUBY), File.realpath(path)
    assert_includes ENV.fetch("GEM_HOME"), "#{RUBY_ENGINE}-#{RUBY_VERSION}-"
  end
end
