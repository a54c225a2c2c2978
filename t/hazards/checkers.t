#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Hazards of tools that check every access to memory: programs built with sanitizers, and valgrind.
# They find what they find without the tracker, and nothing of the tracker's; it stands aside.

require_relative "../lib/hazard"

class CheckerHazards < Minitest::Test
  SOURCE = File.expand_path("../programs/checked.c", __dir__)
  # compiler, its sanitizer, faults that it finds
  SANITIZERS = [
    ["gcc", "address", %w[leak beyond freed]], ["gcc", "leak", %w[leak]], ["gcc", "thread", %w[race freed]],
    ["clang", "address", %w[leak beyond freed]], ["clang", "leak", %w[leak]], ["clang", "thread", %w[race freed]],
    ["clang", "memory", %w[unset]]
  ].freeze
  FAULTS = %w[leak beyond freed unset race].freeze
  BY_CHILD = { "MWRAP_PID" => "1" }.freeze # as a child has it: another process was named

  # A program for each, in a folder; flags by name.
  def each_built(dir)
    SANITIZERS.each do |compiler, sanitizer, faults|
      program = "#{dir}/#{compiler}-#{sanitizer}"
      built = run_command(compiler, "-g", "-O0", "-fno-builtin", "-fsanitize=#{sanitizer}", "-o", program, SOURCE, "-lpthread")
      assert built.status.success?, "#{program}: #{built.stderr}"
      yield program, "#{compiler} #{sanitizer}", faults
    end
  end

  # A report's facts: the kinds of faults, how many, and the lines of the program.
  def found(run)
    kinds = run.stderr.scan(/(?:ERROR|WARNING|SUMMARY): (\w+Sanitizer: [a-z -]+[a-z])/).flatten.uniq
    [kinds, run.stderr.scan(/ in (\w+) \S*checked\.c:(\d+)/).uniq.sort, run.stdout, run.status.exitstatus]
  end

  def assert_same_found(native, run, what)
    want, got = found(native), found(run)
    assert_equal [want[0], *want[2..]], [got[0], *got[2..]], "#{what}: #{run.status} #{run.stderr}"
    # gcc's runtimes are libraries: reports show our malloc above, and may miss the function that called it
    assert_empty want[1] - got[1], what unless what.start_with?("gcc")
  end

  # Is there a process that has this in its environment?
  def runs_with?(text)
    Dir["/proc/[0-9]*/environ"].any? do |f|
      File.binread(f).include?(text)
    rescue SystemCallError
      false
    end
  end

  def test_sanitizers_in_children
    in_tmp do |dir|
      each_built(dir) do |program, what, faults|
        env = { "LD_PRELOAD" => MwrapTest::TRACKER, "MWRAP" => "listen:127.0.0.1:0,dump_path:#{dir}/dump" }.merge(BY_CHILD)
        sound = run_command(program)
        assert_equal ["11\n", "", 0], [sound.stdout, sound.stderr, sound.status.exitstatus], "#{what}, natively"
        run = run_command(program, env: env)
        assert_equal [sound.stdout, "", 0], [run.stdout, run.stderr, run.status.exitstatus], what
        faults.each do |fault|
          native = run_command(program, fault)
          refute_empty found(native)[0], "#{what}: #{fault}, natively: #{native.status} #{native.stderr}"
          assert_same_found native, run_command(program, fault, env: env), "#{what}: #{fault}"
        end
      end
      # it has programs that show names of functions to the sanitizers; the last may outlive its parent
      Timeout.timeout(300) { sleep 0.01 while runs_with?(dir) }
      rows = File.exist?("#{dir}/dump") ? File.read("#{dir}/dump") : ""
      refute_match(/-(address|leak|thread|memory)\(/, rows)
    end
  end

  # One line, and then exactly what is without mwrap: the tracker isn't even loaded.
  def test_sanitizers_on_the_command_line
    in_tmp do |dir|
      each_built(dir) do |program, what, faults|
        line = "mwrap: #{program}: built with a sanitizer: runs without the tracker\n"
        ["", *faults].each do |fault|
          native = run_command(program, fault)
          run = run_command(MwrapTest::LAUNCHER, program, fault, env: { "MWRAP" => "socket:#{dir}/s" })
          assert run.stderr.delete_prefix!(line), "#{what}: #{run.stderr}"
          assert_equal found(native), found(run), "#{what}: #{fault}"
        end
      end
      File.write("#{dir}/script", "#!#{dir}/gcc-address\n", perm: 0o755)
      run = run_command(MwrapTest::LAUNCHER, "#{dir}/script")
      assert_equal ["11\n", 0], [run.stdout, run.status.exitstatus]
      assert_equal "mwrap: #{dir}/script (#{dir}/gcc-address): built with a sanitizer: runs without the tracker\n", run.stderr
    end
  end

  # As for C extensions that are built with one.
  def test_a_sanitizer_in_ld_preload
    %w[libasan.so libtsan.so].each do |name| # liblsan.so can't be preloaded
      lib = File.realpath(run_command("gcc", "-print-file-name=#{name}").stdout.chomp)
      env = { "LD_PRELOAD" => lib, "ASAN_OPTIONS" => "detect_leaks=0" }
      native = run_command("perl", "-e", "print $ENV{LD_PRELOAD}", env: env)
      assert_equal lib, native.stdout, native.stderr
      run = run_command(MwrapTest::LAUNCHER, "perl", "-e", "print $ENV{LD_PRELOAD}", env: env)
      assert_equal [native.stdout, native.status.exitstatus], [run.stdout, run.status.exitstatus], run.stderr
      assert_equal "mwrap: perl: runs without the tracker: LD_PRELOAD has a sanitizer (#{lib})\n", run.stderr
      ["#{MwrapTest::TRACKER}:#{lib}", "#{lib}:#{MwrapTest::TRACKER}"].each do |order|
        run = run_command("perl", "-e", "print 'fine'", env: env.merge("LD_PRELOAD" => order, **BY_CHILD))
        assert_equal ["fine", "", 0], [run.stdout, run.stderr, run.status.exitstatus], order
      end
    end
  end

  def test_other_sanitizers_are_tracked
    in_tmp do |dir|
      %w[gcc clang].each do |compiler|
        program = "#{dir}/#{compiler}"
        assert run_command(compiler, "-fsanitize=undefined", "-fno-builtin", "-o", program, SOURCE, "-lpthread").status.success?
        run = mwrap_run(MwrapTest::LAUNCHER, program)
        assert_equal ["11\n", ""], [run.stdout, run.stderr]
        assert_operator run.rows.sum(&:allocations), :>=, 7, compiler
      end
    end
  end

  # --- valgrind ------------------------------------------------------------------------------------

  # The kinds of errors, and how many, and what is leaked. Not how many were suppressed: drd
  # and helgrind suppress races of the C library's, and of those the threads' turns decide.
  def errors(run)
    texts = run.stderr.lines.grep(/\A==\d+== (Invalid|Conditional|Use of|Syscall|Possible data race|ERROR SUMMARY|  +(definitely|indirectly|possibly) lost)/)
    [texts.map { |l| l.sub(/\A==\d+== /, "").sub(/ \(suppressed:.*/, "").strip }, run.stdout, run.status.exitstatus]
  end

  VALGRIND = %w[valgrind --error-exitcode=7 --leak-check=full].freeze
  LINE = "mwrap: this program runs under valgrind: it runs untracked\n"

  def test_valgrind
    program = program("checked")
    [[], %w[--soname-synonyms=somalloc=nouserintercepts]].each do |flags|
      ["", *FAULTS].each do |fault|
        native = run_command(*VALGRIND, *flags, program, fault)
        assert_equal fault.empty? || fault == "race", native.status.success?, native.stderr
        run = run_command(MwrapTest::LAUNCHER, *VALGRIND, *flags, program, fault, env: { "MWRAP" => "listen:127.0.0.1:0" })
        assert_equal 1, run.stderr.scan(LINE).size, run.stderr
        assert_equal errors(native), errors(run), "#{fault} #{flags}: #{run.stderr}"
        refute_includes run.stderr, "libmwrap" if flags.empty?
        run = run_command(*VALGRIND, *flags, program, fault, env: { "LD_PRELOAD" => MwrapTest::TRACKER, "MWRAP" => "listen:127.0.0.1:0" }.merge(BY_CHILD))
        assert_equal errors(native), errors(run), "#{fault}, in a child"
        refute_includes run.stderr, "mwrap:"
      end
    end
  end

  # Some put their malloc in, some don't; those are tracked.
  def test_tools_of_valgrind
    in_tmp do |dir|
      { "massif" => false, "dhat" => false, "helgrind" => false, "drd" => false, "none" => true, "callgrind" => true,
        "cachegrind" => true }.each do |tool, tracked|
        out = { "massif" => ["--massif-out-file=#{dir}/o"], "dhat" => ["--dhat-out-file=#{dir}/o"],
                "callgrind" => ["--callgrind-out-file=#{dir}/o"], "cachegrind" => ["--cachegrind-out-file=#{dir}/o"] }[tool]
        command = ["valgrind", "--tool=#{tool}", *out, program("checked"), "race"]
        native = run_command(*command)
        run = mwrap_run(MwrapTest::LAUNCHER, *command)
        assert_equal errors(native), errors(run), "#{tool}: #{run.stderr}"
        assert_equal !tracked, run.stderr.include?(LINE), tool
        assert_equal tracked, run.rows.any? { |r| r.location.include?("/checked(") }, tool
      end
    end
  end

  def test_ruby_under_valgrind
    command = ["valgrind", "--error-exitcode=0", MwrapTest::RUBY, "--disable=gems", "-e", "puts 'fine'"]
    run = run_command(MwrapTest::LAUNCHER, *command, env: { "MWRAP" => "listen:127.0.0.1:0" })
    assert_equal ["fine\n", 0], [run.stdout, run.status.exitstatus], run.stderr
    refute_match(/libmwrap|mw_|real\.c/, run.stderr)
  end
end
