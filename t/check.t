#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The tests' runners report faults: bin/check's output and exit status
# (t/lib/prove.sh), and make check-quick's (t/quick.sh).
require_relative "lib/tap"

class CheckTest < Minitest::Test
  # TAP of files that end in every way.
  FILES = {
    "good" => ["1..2", "ok 1 - a", "# a note", "ok 2 - b # SKIP no \\# cat", 0],
    "skips" => ["1..2", "ok 1 - a # SKIP no \\# cat", "ok 2 - b # SKIP no dog", 0],
    "fails" => ["ok 1 - a", "not ok 2 - b", "# because of c", "ok 3 - d", "1..3", 1],
    "short" => ["1..2", "ok 1 - a", 0],
    "dies" => ["1..1", "ok 1 - a", 3],
    "talks" => ["1..1", "not ok 1 - a", *(1..20).map { |i| "# #{i}#{"x" * 400}" }, 1],
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
    assert_match(/^Failed tests: 1\n    \S+fails\.t\n    not ok 2 - b\n    # because of c\n\n/, run.stdout)
    assert_match(/^Files=4, Tests=7, .*\nResult: FAIL\n\z/, run.stdout)
  end

  # Files that fail on this run of them, of three; "x" is written to a file beside for each.
  def failing_on(dir, name, *runs)
    path = File.join(dir, "#{name}.t")
    File.write(path, <<~SH, perm: 0o755)
      #!/bin/sh
      echo x >> #{path}.runs
      echo 1..1
      case $(wc -l < #{path}.runs) in #{[*runs, "never"].join("|")}) echo "not ok 1 - a"; exit 1;; esac
      echo ok 1 - a
    SH
    path
  end

  def runs(path) = File.readlines("#{path}.runs").size

  def test_files_that_fail_run_again_alone
    in_tmp do |dir|
      once, again, calm = failing_on(dir, "once", 1), failing_on(dir, "again", 1, 3), failing_on(dir, "calm")
      run = run_command("t/lib/prove.sh", "--again", once, calm, chdir: ROOT)
      assert_equal [0, 3, 1], [run.status.exitstatus, runs(once), runs(calm)], run.stdout
      assert_match(/^    not ok 1 - a$.*^Result: FAIL\n\nFailed beside other tests, so run alone, 1 of 2: #{once}\n/m, run.stdout)
      assert_match(/^Result: PASS\n\nPassed twice alone, but failed once beside other tests: #{once}\n\z/, run.stdout)
      File.delete("#{once}.runs")
      run = run_command("t/lib/prove.sh", "--again", once, again, calm, chdir: ROOT)
      assert_equal [1, 3, 3], [run.status.exitstatus, runs(once), runs(again)], run.stdout
      assert_match(/^Result: FAIL\n\z/, run.stdout)
      many = (1..4).map { |i| failing_on(dir, "many#{i}", 1) }
      run = run_command("t/lib/prove.sh", "--again", *many, chdir: ROOT)
      assert_equal [1, [1, 1, 1, 1]], [run.status.exitstatus, many.map { |path| runs(path) }], run.stdout
      named = failing_on(dir, "named", 1)
      assert_equal 1, run_command("t/lib/prove.sh", named, chdir: ROOT).status.exitstatus
      assert_equal 1, runs(named)
    end
  end

  def test_the_closing_lines
    run = check("good", "skips", "whole")
    assert_equal 0, run.status.exitstatus, run.stdout
    assert_match(/^Slowest of 3 files, in seconds:\n(?: +\d+\.\d  \S+\n){3}\nDearest of/, run.stdout)
    assert_match(/^Skipped tests: 4\n +2  no # cat\n +1  \S+whole\.t: all of the file: no bird\n +1  no dog\n/, run.stdout)
    assert_match(/^All tests successful\.\nFiles=3, Tests=4, .*\nResult: PASS\n\z/, run.stdout)
  end

  # Each file has its own, also beside others, with that of what it waited for.
  def test_the_dearest_files
    in_tmp do |dir|
      cpu = { "most" => 0.8, "less" => 0.4 }
      burners = cpu.map do |name, seconds|
        path = File.join(dir, "#{name}.t")
        File.write(path, <<~SH, perm: 0o755)
          #!/bin/sh
          #{RUBY} --disable=gems -e 'nil until Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) > #{seconds}'
          echo 1..1; echo ok 1
        SH
        path
      end
      run = run_command("t/lib/prove.sh", *burners, *written(dir, "good"), chdir: ROOT)
      list = run.stdout[/^Dearest of 3 files, in seconds of CPU:\n((?: +\d+\.\d  \S+\n){3})\n/, 1].to_s.lines.map(&:split)
      assert_equal %w[most less good], list.map { |_, path| File.basename(path, ".t") }, run.stdout
      cpu.each_value.zip(list) { |seconds, (said, path)| assert_operator said.to_f, :>=, seconds, path }
      list.each { |said, path| assert_match(/^\[.*#{path} \.+ ok +\d+\.\d s, +#{said} of CPU$/, run.stdout) }
    end
  end

  def test_the_reasons_are_cut_off
    run = check("talks", "good")
    reasons = run.stdout[/^Failed tests: 1\n(.*?)\n\n/m, 1].lines(chomp: true)
    assert_equal [15, "    ..."], [reasons.size, reasons.last]
    assert_equal 4 + 300 + 3, reasons.map(&:size).max
  end

  # One that takes all memory fails alone, and says why: also by a child of its, by one whose parent has ended, and by
  # page tables, of which each read of a reservation makes one. None takes more than a gigabyte, or stays for long.
  GROW = 'x = []; 100.times { x << "x" * (8 << 20) }; sleep 5'
  HOGS = {
    "hog" => GROW,
    "child" => "Process.wait(fork { #{GROW} })",
    "orphan" => "fork { Process.setpgid(0, 0); fork { sleep 3.1; #{GROW} }; sleep 3 }; sleep 60",
    "tables" => 'require "fiddle"; p, i, n = Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT, Fiddle::TYPE_LONG
                 map = Fiddle::Function.new(Fiddle::Handle::DEFAULT["mmap"], [p, n, i, i, i, n], p)
                 at = map.call(nil, 1 << 40, 3, 0x4022, -1, 0).to_i
                 200_000.times { |k| Fiddle::Pointer.new(at + k * (2 << 20))[0] }; sleep 5'
  }.freeze

  def test_a_test_that_takes_all_memory
    in_tmp do |dir|
      hogs = HOGS.map do |name, code|
        path = File.join(dir, "#{name}.t")
        File.write(path, "#!#{RUBY} --disable=gems\nputs \"1..2\\nok 1 - a\"; $stdout.flush\n#{code}\n", perm: 0o755)
        path
      end
      run = run_command("t/lib/prove.sh", *hogs, *written(dir, "good"), chdir: ROOT, env: { "MWRAP_TEST_MB" => "120" })
      assert_equal 1, run.status.exitstatus, run.stdout
      assert_match(/^Memory that each may take: at most 120 MB$/, run.stdout)
      HOGS.each_key do |name|
        assert_match(/#{name}\.t \.+ Failed 1\/2 subtests.*\n +not ok - ended: it took \d{3,4} MB of memory, and a test may take 120 MB\n +# most of it: \d+ MB of process \d+: .*#{name}\.t$/, run.stdout)
      end
      assert_match(/good\.t \.+ ok /, run.stdout)
      assert_match(/^Most memory of a test: \d+ MB, .*\.t$/, run.stdout)
    end
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
end
