#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# bin/mwrap becomes a plain command without Ruby (src/tools/launch/plain.h). Whatever it is given, COMMAND gets what
# lib/exe/mwrap would have given it, and the same is said. The seed is printed.

require_relative "lib/launcher"

class TestOfPlainCommands < Minitest::Test
  include LauncherTest

  SEED = Integer(ENV.fetch("SEED") { rand(1..1_000_000) })
  puts "# SEED=#{SEED}"

  SHOW = 'for word; do echo "<$word>"; done; env; test "${MWRAP_PID%%.*}" != $$ || echo own; ls /proc/$$/fd'

  # Of each kind those that are plain, and those of which Ruby has something to say or to find. %T is a folder.
  OPTIONS = {
    true => [nil, "", ",", "dump_min:1,", ",read_only:1", "socket:%T/s", "socket_dir:%T/%p", "listen:127.0.0.1:0",
             "dump_path:%T/%%,dump_every:5", "socket:%T/s,socket_group:12,socket_mode:0660", "dump_fd:7", "trace_path:%T/x,trace_max:1m",
             "counts:sampled,sample:4k", "stacks:off,bt:3", "token_file:%T/t,listen:0.0.0.0:0"],
    false => ["nonsense:1", "nonsense", ":", "socket:", "socket:s", "dump_path:./x", "bt:1,trace_path:%T/../x,trace_path:x", "dump_path:d,bt:2",
              "socket:\\/s", "socket:%T/a\\,b", "dump_path:%T/%q", "bt:17", "dump_fd:6", "dump_fd:8", "socket:%T/s,socket_group:root",
              "socket:/s,socket_group:no-such-group-here", "dump_min:1,dump_min:2", "malloc:jemalloc", "malloc:none",
              "bt:1\\", "\xFF\n:1", "#{"x" * 17_000}:1", "socket_mode:0660"]
  }.freeze

  COMMANDS = {
    true => [%w[env], ["sh", "-c", SHOW, "a", "", "--help", "\xFF \n"], ["%T/script", "b"], ["%T/env_script", "c"], %w[%T/link], %w[/usr/bin/env -i],
             %w[in_folder d], ["%T/nested"], %w[sh -c kill\ -9\ $$]],
    false => [[], %w[--], %w[-- env], %w[-x], %w[--version], [""], %w[no-such-command], %w[%T], %w[%T/no/such], %w[%T/unrunnable], %w[%T/empty],
              %w[%T/words], %w[%T/cut], %w[%T/short], %w[%T/no_interpreter], %w[%T/env_option], %w[%T/setuid], %w[%T/alien], %w[%T/own],
              %w[%T/sanitized], %w[%T/static], %w[%T/loop], %w[%T/loop_script], %w[%T/fifo]]
  }.freeze

  PRELOADS = {
    true => [nil, "", " ", "%P/above.so", " %P/above.so:: %P/witness.so:", "%T/libasanity.so"],
    false => ["%T/old/libmwrap.so", "%P/above.so:%T/old/mwrap.so", "%T/libasan.so.8"]
  }.freeze

  SURROUNDINGS = {
    true => [{}, { "MWRAP_PID" => "1.2" }, { "PATH" => "%T/nowhere:%T:#{ENV["PATH"]}" }, { "LANG" => "C", "RUBY_GC_HEAP_GROWTH_FACTOR" => "1.5" }],
    false => [{ "RUBYOPT" => "-W0" }, { "RUBYLIB" => "%T" }, { "LISTEN_FDS" => "2" }, { "LISTEN_PID" => "1" }, { "PATH" => ":#{ENV["PATH"]}" },
              { "PATH" => "%T/:#{ENV["PATH"]}" }]
  }.freeze

  KINDS = [OPTIONS, COMMANDS, PRELOADS, SURROUNDINGS].freeze
  USUAL = KINDS.map { |kind| kind[true][0] }.freeze

  def test_each_plain_thing_starts_no_ruby
    stage { KINDS.each_with_index { |kind, i| kind[true].each { |one| assert_same(true, USUAL.dup.tap { _1[i] = one }) } } }
  end

  def test_each_other_thing_asks_ruby
    stage(others: true) do
      File.write("#{@dir}/lib/exe/mwrap", "File.write('#{@tmp}/asked', '')\n") # in a hurry
      KINDS.each_with_index { |kind, i| kind[false].each { |one| assert_asked(true, USUAL.dup.tap { _1[i] = one }) } }
    end
  end

  def test_any_of_them_together
    random = Random.new(SEED)
    stage(others: true) do
      12.times do
        plain = KINDS.map { random.rand(8).positive? }
        assert_same(plain.all?, KINDS.zip(plain).map { |kind, is| kind[is].sample(random: random) })
      end
    end
  end

  # Another Ruby may not load the extension, and an extension that is cut off no Ruby.
  def test_another_ruby_is_asked
    stage do
      File.write("#{@tmp}/ruby", "#!/bin/sh\nexec #{RUBY} \"$@\"\n", perm: 0o755)
      assert_same(false, [nil, %w[env], nil, { "PATH" => "#{@tmp}:#{ENV["PATH"]}" }])
      File.unlink("#{@tmp}/ruby")
      File.truncate("#{@dir}/lib/mwrap/mwrap_ext.so", File.size("#{@dir}/lib/mwrap/mwrap_ext.so") - 100)
      assert_same(false, USUAL)
      File.unlink("#{@dir}/lib/mwrap/mwrap_ext.so")
      assert_same(false, USUAL)
    end
  end

  def test_the_process_is_named_as_by_ruby
    require "#{LIB}/mwrap/moments"
    stage do
      run = launch(@dir, "sh", "-c", "echo $MWRAP_PID; cat /proc/$$/stat", env: surroundings({}).merge("MWRAP" => "socket:/s"))
      named, stat = run.stdout.lines(chomp: true)
      assert_equal "#{stat.to_i}.#{stat[/.*\) (.*)/, 1].split[19].to_i - Mwrap::Moments.boot_offset}", named
      refute File.exist?("#{@tmp}/asked")
    end
  end

  private

  # Files of all kinds, and a copy of the launcher that leaves a mark if it asks Ruby.
  def stage(others: false)
    layout do |dir, tmp|
      @dir, @tmp = dir, File.realpath(tmp)
      file = "#{dir}/lib/mwrap/launcher.rb"
      File.write(file, "#{File.read(file)}\nFile.write('#{@tmp}/asked', '') if ENV['MWRAP_LAUNCH']\n")
      File.chmod(0o755, tmp)
      scripts
      programs if others
      %w[old/libmwrap.so old/mwrap.so libasan.so.8 libasanity.so].each { |name| copy(preload("above"), name) }
      yield
    end
  end

  def scripts
    show = SHOW.gsub("; ", "\n")
    { "script" => "#!/bin/sh\n#{show}\n", "env_script" => "#!/usr/bin/env sh\n#{show}\n", "nested" => "#! #{@tmp}/script x\n", "words" => "#{show}\n",
      "in_folder" => "#!/bin/sh -e\n#{show}\n", "empty" => "", "no_interpreter" => "#!/no/such\n", "env_option" => "#!/usr/bin/env -S sh -e\n#{show}\n",
      "loop" => "#!#{@tmp}/loop\n", "loop_script" => "#!/usr/bin/env #{@tmp}/loop\n", "cut" => "\x7FELF\x02\x01\x01".b,
      "short" => File.binread("/bin/true", 4000) }.each { |name, text| File.binwrite("#{@tmp}/#{name}", text, perm: 0o755) }
    File.write("#{@tmp}/unrunnable", "x", perm: 0o644)
    File.mkfifo("#{@tmp}/fifo", 0o777)
    File.symlink("/usr/bin/env", "#{@tmp}/link")
  end

  def programs
    copy("/bin/true", "setuid")
    File.chown(65_534, 65_534, "#{@tmp}/setuid") if Process.euid.zero?
    File.chmod(0o4755, "#{@tmp}/setuid")
    copy("/bin/true", "alien")
    File.binwrite("#{@tmp}/alien", "\x55", 18)
    File.write("#{@tmp}/c.c", "#ifdef OWN\n#include <stddef.h>\nvoid *malloc(size_t n) { (void)n; return 0; }\n#endif\n" \
                              "void __asan_init(void) {}\nint main(void) { return 3; }\n")
    { "own" => %w[-DOWN -fno-builtin], "sanitized" => %w[-rdynamic], "static" => %w[-static] }.each do |name, flags|
      assert system("cc", "-w", *flags, "-o", "#{@tmp}/#{name}", "#{@tmp}/c.c")
    end
  end

  def copy(from, name)
    FileUtils.mkdir_p(File.dirname("#{@tmp}/#{name}"))
    FileUtils.cp(from, "#{@tmp}/#{name}")
  end

  def full(text) = text&.b&.gsub(/%([TP])/n) { $1 == "T" ? @tmp : "#{BUILT}/preload" }

  def surroundings(env)
    { "PATH" => "#{ENV["PATH"]}:#{@tmp}", "RUBYLIB" => nil, "LISTEN_FDS" => nil, "LISTEN_PID" => nil }.merge(env.transform_values { |v| full(v) })
  end

  # The words and the environment
  def full_all(combination)
    options, command, preloads, env = combination
    [command.map { |word| full(word) }, surroundings(env).merge("MWRAP" => full(options), "LD_PRELOAD" => full(preloads))]
  end

  # Returns the outcome.
  def assert_asked(asked, combination)
    words, env = full_all(combination)
    FileUtils.rm_f("#{@tmp}/asked")
    outcome("#{@dir}/bin/mwrap", *words, env: env).tap do
      assert_equal asked, File.exist?("#{@tmp}/asked"), "SEED=#{SEED}: Ruby was asked: #{combination}"
    end
  end

  # Both ways; what was said and what the command got
  def assert_same(plain, combination)
    ours = assert_asked(!plain, combination)
    words, env = full_all(combination)
    assert_equal outcome(RUBY, "#{@dir}/lib/exe/mwrap", *words, env: env), ours, "SEED=#{SEED}: #{combination}"
  end

  # Without the numbers of processes
  def outcome(*words, env:)
    File.open(File::NULL, "r+") do |null|
      File.open(File::NULL) do |only_read|
        run = run_command(*words, env: env, 7 => null, 8 => only_read, chdir: @tmp)
        lines = run.stdout.b.lines.map { |line| line.sub(/^MWRAP_PID=\K\d+\.\d+$/n, "own") }
        [run.status.exitstatus, run.status.termsig, run.stderr.b, lines.reject { |line| line.start_with?("_=") }.sort]
      end
    end
  end
end
