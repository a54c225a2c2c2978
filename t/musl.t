#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Programs of musl, which a tracker for glibc can't be in: they run as without it, and the launcher says so.
# And mwrap can be compiled for musl, and its tracker counts there.

require_relative "lib/allocators"
require_relative "lib/callgrind"
require_relative "lib/launcher"
require "minitest/mock"

class MuslTest < Minitest::Test
  include MwrapTest
  include Callgrind

  CODE = <<~C
    #include <stdio.h>
    #include <stdlib.h>
    #include <unistd.h>
    int main(int argc, char **argv)
    {
    	char *kept = malloc(1000);
    	if (argc > 1)
    		execvp(argv[1], argv + 1);
    	puts(kept ? "of musl" : "no memory");
    	return 5;
    }
  C
  LINE = "linked to musl: runs without the tracker"

  def setup
    @dir = Dir.mktmpdir("mwrap-musl")
    @program = "#{@dir}/program"
    File.write("#{@dir}/program.c", CODE)
    assert_success run_command("musl-gcc", "-o", @program, "#{@dir}/program.c")
    natively = run_command(@program)
    skip "no program of musl runs here" unless natively.status.exitstatus == 5
  end

  def teardown = FileUtils.rm_rf(@dir)

  def launch(*words, options: nil) = run_command(LAUNCHER, *words, env: { "MWRAP" => options })

  # The children of each of these, by fork and by exec
  def test_what_a_tracked_process_starts
    [nil, "socket:#{@dir}/s,children:all", "dump_path:#{@dir}/d.%p", *Allocators.enum_for(:each).map { |name,| "malloc:#{name}" }].each do |options|
      [["sh", "-c", "#{@program}; exit $?"], ["sh", "-c", "exec #{@program}"], ["env", @program],
       [RUBY, "--disable=gems", "-e", "system(*ARGV); exit $?.exitstatus", @program]].each do |words|
        run = launch(*words, options: options)
        assert_equal ["of musl\n", "", 5], [run.stdout, run.stderr, run.status.exitstatus], [options, words].inspect
      end
    end
  end

  def test_the_launcher_says_so
    run = launch(@program)
    assert_equal ["of musl\n", "mwrap: #{@program}: #{LINE}\n", 5], [run.stdout, run.stderr, run.status.exitstatus]
    File.write("#{@dir}/script", "#!#{@program} echo\n", perm: 0o755)
    run = launch("#{@dir}/script")
    assert_equal "mwrap: #{@dir}/script (#{@program}): #{LINE}\n", run.stderr
    assert_equal "#{@dir}/script\n", run.stdout
  end

  # A program on glibc that it starts is tracked.
  def test_what_it_starts_itself
    run = launch(@program, RUBY, "--disable=gems", "-e", "KEPT = 'x' * 123_456", options: "dump_path:#{@dir}/dump,dump_format:tsv")
    assert_equal "mwrap: #{@program}: #{LINE}\n", run.stderr
    rows = Dump.tsv(File.binread("#{@dir}/dump")).flatten
    assert_operator rows.find { |r| r.location == "-e:1" }.live_bytes, :>, 123_000
  end

  # Headers that don't depend on the C library come from where glibc's are.
  def headers
    [*%w[linux asm-generic microhttpd.h xxhash.h xxh3.h zlib.h zconf.h], *Dir.glob("{*-linux-gnu/,}{asm,urcu*}", base: "/usr/include")].each do |name|
      FileUtils.ln_sf("/usr/include/#{name}", "#{@dir}/#{File.basename(name)}")
    end
    "-isystem#{@dir}"
  end

  # Everything but the extension, which needs a Ruby for musl; the tracker's objects are made, too
  def test_it_is_built_for_musl
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-D_GNU_SOURCE", "-I#{ROOT}/src", headers]
    tracker, others = Dir.glob("#{ROOT}/src/{memory,recording,server,shared,tools,tracker}/**/*.c").partition { |f| f.match?(%r{/src/(?:tracker|shared)/}) }
    assert_operator tracker.size + others.size, :>, 250
    halves = tracker.each_slice((tracker.size + 1) / 2).with_index.map do |half, i|
      Dir.mkdir("#{@dir}/o#{i}")
      names = half.each_with_index.map { |f, k| "#{@dir}/o#{i}/#{k}.c".tap { |to| File.write(to, "#include \"#{f}\"\n") } }
      Thread.new { run_command("musl-gcc", *flags, "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing", "-c", *names, chdir: "#{@dir}/o#{i}", timeout: 300) }
    end
    assert_success run_command("musl-gcc", *flags, "-fsyntax-only", *others, timeout: 300)
    halves.each { |thread| assert_success thread.value }
    link
    [%w[exits return], %w[million], %w[ring 3000], %w[forks storm]].each { |name, *words| counted(name, *words) }
    a_pair_costs
  end

  # liburcu is glibc's archive: its tables take nothing else of glibc than these names, the last two from 2.38 on.
  URCU = <<~C
    #include <stdlib.h>
    #define HERE __attribute__((visibility("hidden")))
    HERE void *stderr;
    HERE int __fprintf_chk(void *file, int flag, const char *format, ...) { abort(); }
    HERE long __isoc23_strtol(const char *s, char **end, int base) { return strtol(s, end, base); }
    HERE unsigned long __isoc23_strtoul(const char *s, char **end, int base) { return strtoul(s, end, base); }
  C

  def link
    File.write("#{@dir}/urcu.c", URCU)
    archives = %w[cds common].map { |name| Dir["/usr/lib/*/liburcu-#{name}.a"][0] or flunk "liburcu-#{name}.a isn't installed" }
    assert_success run_command("musl-gcc", "-w", "-fPIC", "-shared", "-o", "#{@dir}/libmwrap.so", *Dir["#{@dir}/o[01]/*.o"], "#{@dir}/urcu.c",
                               "-Wl,-z,now,-z,defs,-z,nodelete,--gc-sections,--version-script=#{ROOT}/.build/exports.map", *archives, "-ldl", "-lpthread")
  end

  # A program counts as it says itself, in each process.
  def counted(name, *words)
    program = "#{@dir}/#{name}"
    assert_success run_command("musl-gcc", "-std=gnu11", "-O1", "-w", "-fno-builtin", "-D_GNU_SOURCE", "-rdynamic", "-o", program, "#{ROOT}/t/programs/#{name}.c")
    run = run_command(program, *words, env: { "LD_PRELOAD" => "#{@dir}/libmwrap.so", "MWRAP" => "dump_path:#{@dir}/#{name}.dump.%p,dump_format:tsv" })
    assert_success run
    expected = run.stdout.scan(/^(?:# (\d+) )?expect (\S+)((?: -?\d+){6})$/)
    refute_empty expected
    expected.each do |pid, function, figures|
      rows = Dump.tsv(File.binread("#{program}.dump.#{pid || run.status.pid}")).flatten.select { |r| r.location.include?("(#{function}+0x") }
      got = %i[allocations frees total live live_bytes growth].map { |column| rows.sum(&column) }
      assert_equal figures.split.map(&:to_i), got, "#{name}: #{function} in #{pid || "the first process"}"
    end
  end

  # Instructions of a malloc and a free, more than without the tracker: some 165, and 440 where a block's room is asked for.
  def a_pair_costs
    pair = "#{@dir}/pair"
    linker = run_command("readelf", "-l", @program).stdout[/interpreter: (\S+?)\]/, 1]
    assert_success run_command("musl-gcc", "-std=gnu11", "-O2", "-w", "-fno-builtin", "-D_GNU_SOURCE", "-o", pair, "#{ROOT}/t/bench/programs/pair.c")
    without, with = [[], ["--preload", "#{@dir}/libmwrap.so"]].map do |preload|
      each_round(5_000, 25_000) { |n| callgrind(linker, *preload, pair, "1", n.to_s) { |lines| lines.grep(/\Atotals: /).sum { |l| l[/\d+/].to_i } } } / 1.1
    end
    assert_includes 60..200, (with - without).round, "a pair: #{without.round} and #{with.round}"
  end

  def blocks(compiler, *flags, env: {})
    seed = rand(1_000_000)
    assert_success run_command(compiler, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fno-builtin", "-D_GNU_SOURCE", "-I#{ROOT}/src", *flags,
                               "-o", "#{@dir}/blocks", "#{ROOT}/t/musl/blocks.c", "-lpthread")
    [run_command("#{@dir}/blocks", seed.to_s, env: env), "seed #{seed}"]
  end

  # Of random blocks the tracker reads what musl says.
  def test_its_blocks
    run, seed = blocks("musl-gcc", headers)
    assert run.status.success?, "#{seed}: #{run.stdout}#{run.stderr}"
  end

  # Others' aren't read: they are told from musl's, whatever lies before them.
  def test_blocks_of_others
    [nil, *Allocators.enum_for(:each).map { |_, path| path }].each do |preload|
      run, = blocks("cc", env: { "LD_PRELOAD" => preload })
      assert_equal ["musl's blocks can't be read\n", 1], [run.stdout, run.status.exitstatus], preload
    end
  end

  # Where glibc's folder isn't found, LD_PRELOAD has the plain path.
  def test_a_linker_without_that_folder
    require "#{LIB}/mwrap/linker"
    said = "ERROR: ld.so: object '#{Mwrap::Linker::GLIBC_ONLY}/a/libmwrap.so' from LD_PRELOAD cannot be preloaded (cannot open shared object file): ignored.\n"
    { said => "", "" => "", "\tlibc.so.6 => /lib/libc.so.6 (0x0000)\n" => Mwrap::Linker::GLIBC_ONLY }.each do |words, before|
      Mwrap::Linker.stub(:trace, words) { assert_equal [nil, before], Mwrap::Linker.check(["/a/libmwrap.so"]) }
    end
  end
end
