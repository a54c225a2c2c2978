#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# What tests are run with says what is wrong: bin/check's output and exit status
# (t/lib/prove.sh), make check-quick's (t/quick.sh), and the unit tests' assertions
# (t/unit/unit.h).
require_relative "lib/tap"

class CheckTest < Minitest::Test
  # TAP of files that end in every way.
  FILES = {
    "good" => ["1..2", "ok 1 - a", "# a note", "ok 2 - b # SKIP no \\# cat", 0],
    "skips" => ["1..2", "ok 1 - a # SKIP no \\# cat", "ok 2 - b # SKIP no dog", 0],
    "fails" => ["ok 1 - a", "not ok 2 - b", "# because of c", "ok 3 - d", "1..3", 1],
    "short" => ["1..2", "ok 1 - a", 0],
    "dies" => ["1..1", "ok 1 - a", 3],
    "whole" => ["1..0 # SKIP no bird", 0]
  }.freeze

  def written(dir, *names)
    names.map do |name|
      *lines, status = FILES.fetch(name)
      path = File.join(dir, "#{name}.t")
      File.write(path, "#!/bin/sh\ncat <<'X'\n#{lines.join("\n")}\nX\nexit #{status}\n", perm: 0o755)
      path
    end
  end

  def check(*names, options: [])
    in_tmp { |dir| run_command("t/lib/prove.sh", *options, *written(dir, *names), chdir: ROOT) }
  end

  def test_what_failed_and_why_while_others_run
    run = check("good", "fails", "short", "dies")
    assert_equal 1, run.status.exitstatus, run.stdout
    assert_match(/fails\.t \.+ .*Failed 1\/3 subtests.*^    not ok 2 - b\n    # because of c$/m, run.stdout)
    assert_match(/short\.t \.+ .*Failed 1\/2 subtests/, run.stdout)
    assert_match(/dies\.t \.+ Dubious, test returned 3/, run.stdout)
    assert_match(/\[4\/4 +\d+:\d\d\] /, run.stdout)
    assert_match(/^Files=4, Tests=7, .*\nResult: FAIL\n\z/, run.stdout)
  end

  def test_the_closing_lines
    run = check("good", "skips", "whole")
    assert_equal 0, run.status.exitstatus, run.stdout
    assert_match(/^Slowest of 3 files, in seconds:\n(?: +\d+\.\d  \S+\n){3}\n/, run.stdout)
    assert_match(/^Skipped tests: 4\n +2  no # cat\n +1  \S+whole\.t: all of the file: no bird\n +1  no dog\n/, run.stdout)
    assert_match(/^All tests successful\.\nFiles=3, Tests=4, .*\nResult: PASS\n\z/, run.stdout)
  end

  def test_no_skip_is_said_too
    in_tmp do |dir|
      path = File.join(dir, "plain.t")
      File.write(path, "#!/bin/sh\necho 1..1\necho ok 1\n", perm: 0o755)
      [[], ["-v"], ["-j1"]].each do |options|
        run = run_command("t/lib/prove.sh", *options, path, chdir: ROOT)
        assert_match(/^Skipped tests: none\n\nAll tests successful\.\nFiles=1, Tests=1, /, run.stdout)
      end
    end
  end

  def test_the_slowest_files_are_there
    listed = File.readlines(File.join(ROOT, "t/lib/slowest"), chomp: true).reject { |l| l.start_with?("#") }
    assert_operator listed.size, :>, 10
    assert_equal listed.uniq, listed
    assert_empty listed.reject { |f| File.exist?(File.join(ROOT, f)) }
  end

  # The exit status, and all that is said.
  def quick(name)
    in_tmp { |dir| run_command("t/quick.sh", *written(dir, name), chdir: ROOT) }
  end

  def test_the_quick_tests
    run = quick("good")
    assert_equal [0, ["ok 2 - b # SKIP no \\# cat", "2 tests passed"]], [run.status.exitstatus, run.stdout.lines(chomp: true).map { |l| l[/: (.*)/, 1] }]
    run = quick("fails")
    assert_equal [1, ["not ok 2 - b", "# because of c", "2 of 3 tests passed, exit status 1"]],
                 [run.status.exitstatus, run.stdout.lines(chomp: true).map { |l| l[/: (.*)/, 1] }]
    assert_equal [1, 1], [quick("short"), quick("dies")].map { |r| r.status.exitstatus }
  end

  # Each of these must fail, and say where.
  ASSERTIONS = ["assert_true(0)", "assert_false(1)", "assert_null(\"\")", "assert_non_null(NULL)", "assert_int_equal(-1, 1)",
                "assert_int_equal(1ll << 32, 0)", "assert_ptr_equal(\"\", NULL)", "assert_in_range(5, 6, 7)", "assert_in_range(8, 6, 7)",
                "assert_string_equal(\"a\", \"b\")", "assert_string_equal(NULL, \"b\")", "assert_string_not_equal(\"a\", \"a\")",
                "assert_memory_equal(\"ab\", \"ac\", 2)", "fail_msg(\"%d\", 1)"].freeze

  def unit(*tests, functions: "", before: "NULL", after: "NULL")
    in_tmp do |dir|
      File.write(File.join(dir, "x.c"), <<~C)
        #include <sys/wait.h>
        #include "unit.h"
        static void good(void **state) { (void)state; assert_int_equal(1, 1); }
        static int no(void **state) { (void)state; return 1; }
        static int gives(void **state) { *state = "given"; return 0; }
        #{functions}
        int main(void)
        {
        	const struct unit_test tests[] = { #{tests.join(", ")} };
        	(void)good; (void)no; (void)gives;
        	return unit_run(tests, #{before}, #{after});
        }
      C
      built = run_command("cc", "-D_GNU_SOURCE", "-w", "-I#{ROOT}/t/unit", "-o", "#{dir}/x", "#{dir}/x.c")
      assert_success(built)
      run_command("#{dir}/x")
    end
  end

  def test_assertions_of_the_unit_tests_fail
    functions = ASSERTIONS.each_with_index.map { |a, i| "static void f#{i}(void **state) { (void)state; #{a}; puts(\"went on\"); }" }
    run = unit(*ASSERTIONS.each_index.map { |i| "UNIT_TEST(f#{i})" }, "UNIT_TEST(good)", functions: functions.join("\n"))
    assert_equal ASSERTIONS.size, run.status.exitstatus
    assert_equal ASSERTIONS.each_index.map { |i| "not ok #{i + 1} - f#{i}" } + ["ok #{ASSERTIONS.size + 1} - good"], run.stdout.lines(chomp: true).grep(/ok/)
    assert_equal ASSERTIONS.size, run.stdout.scan(/^# \S+x\.c:\d+: ./).size, run.stdout
    refute_includes run.stdout, "went on"
  end

  def test_set_ups_and_tear_downs_of_the_unit_tests
    given = "static void has(void **state) { assert_string_equal(*state, \"given\"); }"
    assert_equal 0, unit("UNIT_TEST_WITH(has, gives, NULL)", functions: given).status.exitstatus
    assert_equal 0, unit("UNIT_TEST(has)", functions: given, before: "gives").status.exitstatus
    assert_equal 2, unit("UNIT_TEST_WITH(good, no, NULL)", "UNIT_TEST_WITH(good, NULL, no)", "UNIT_TEST(good)").status.exitstatus
    assert_equal 1, unit("UNIT_TEST(good)", after: "no").status.exitstatus
    assert_equal 1, unit("UNIT_TEST(good)", before: "no").status.exitstatus
  end

  def test_a_child_of_a_unit_test_ends_by_its_assertion
    run = unit("UNIT_TEST(forks)", "UNIT_TEST(good)", functions: <<~C)
      static void forks(void **state)
      {
      	int status = 0;
      	pid_t pid = fork();

      	if (!pid)
      		assert_true(0);
      	assert_int_equal(waitpid(pid, &status, 0), pid);
      	assert_int_equal(WEXITSTATUS(status), 99);
      }
    C
    assert_equal [0, ["1..2", "ok 1 - forks", "ok 2 - good"]], [run.status.exitstatus, run.stdout.lines(chomp: true)]
    assert_match(/^# .*x\.c:\d+: 0 is false$/, run.stderr)
  end
end
