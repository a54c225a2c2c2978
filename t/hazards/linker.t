#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Hazards of the dynamic linker: forks while another thread loads a library, and preloads in front of the
# tracker whose constructors have not run yet.

require_relative "../lib/hazard"

class LinkerHazards < Minitest::Test
  def setup
    @seed = (ENV["SEED"] || Random.rand(1_000_000)).to_i
    @random = Random.new(@seed)
  end

  # --- forks ----------------------------------------------------------------------------------

  MODES = {
    "a recording" => ->(dir) { ["trace_path:#{dir}/r.%p", "#{dir}/r.*"] },
    "a server" => ->(dir) { ["socket_dir:#{dir}/s", "#{dir}/s/*.sock"] },
    "dumps" => ->(dir) { ["dump_path:#{dir}/d.%p,dump_every:1", nil] }
  }.freeze

  def test_forks_while_libraries_are_loaded
    puts "# SEED=#{@seed}"
    plugin = "#{MwrapTest::BUILT}/plugins/hold.so"
    MODES.each do |mode, options|
      in_tmp do |dir|
        run = run_command(MwrapTest::LAUNCHER, program("fork_loads"), @seed.to_s, "40", plugin, env: { "MWRAP" => options.call(dir)[0] })
        assert_equal [0, "bad 0\n"], [run.status.exitstatus, run.stdout], "#{mode}: #{run.status} #{run.stderr}"
      end
    end
  end

  def test_forks_past_fork
    MODES.each do |mode, options|
      in_tmp do |dir|
        given, there = options.call(dir)
        waits = there ? "for f in #{there}; do :; done; until [ -e \"$f\" ]; do for f in #{there}; do :; done; done; : > #{dir}/go" : ": > #{dir}/go"
        pid = spawn("sh", "-c", waits)
        run = run_command(MwrapTest::LAUNCHER, program("raw_forks"), "9", "#{dir}/go", env: { "MWRAP" => given })
        Process.wait(pid)
        assert_equal ["exit 0", "done\n"], [run.status.to_s[/exit.*|SIG.*/], run.stdout], "#{mode}: #{run.stderr}"
        assert_empty Dir["#{dir}/s/*"], "the parent's end removes its socket, which no child did before: it was served"
      end
    end
  end

  # --- preloads in front -------------------------------------------------------------------------

  # What the tracker and liburcu take from the C library, but for what the tracker interposes itself, variables, and
  # what the linker has in its own object.
  NEVER = /\A(?:malloc|free|calloc|realloc|mmap|munmap|dlsym|_r_debug|stderr|environ)\z/

  def functions
    urcu = `ldd #{MwrapTest::TRACKER}`[/liburcu-cds\S* => (\S+)/, 1] or flunk "no liburcu-cds"
    all = [MwrapTest::TRACKER, urcu].flat_map { |f| `nm -D --undefined-only #{f}`.scan(/ U (\w+)@GLIBC/).flatten }
    found = all.uniq.grep_v(NEVER)
    %w[open read close getenv memcpy strlen snprintf pthread_self].each { |name| assert_includes found, name }
    found
  end

  # Each function is a jump through a pointer that the constructor fills in: a call before that crashes.
  def in_front(dir, names)
    jump = RbConfig::CONFIG["host_cpu"] == "x86_64" ? "jmp *w_%<n>s(%%rip)" : "adrp x16, w_%<n>s; ldr x16, [x16, :lo12:w_%<n>s]; br x16"
    File.write("#{dir}/front.c", <<~C)
      #define _GNU_SOURCE
      #include <dlfcn.h>
      #{names.map { |n| "__attribute__((visibility(\"hidden\"))) void *w_#{n}; __asm__(\".pushsection .text; .globl #{n}; .type #{n},%function; #{n}: #{format(jump, n: n)}; .popsection\");" }.join("\n")}
      __attribute__((constructor)) static void find(void) {
      #{names.map { |n| "w_#{n} = dlsym(RTLD_NEXT, \"#{n}\");" }.join("\n")}
      }
    C
    assert system("cc", "-w", "-shared", "-fPIC", "-o", "#{dir}/front.so", "#{dir}/front.c", "-ldl")
    "#{dir}/front.so"
  end

  def test_functions_that_a_constructor_finds
    puts "# SEED=#{@seed}"
    all = functions.shuffle(random: @random)
    [all, *all.each_slice(8)].first(6).each do |names|
      in_tmp do |dir|
        front = in_front(dir, names)
        [{}, { "LD_BIND_NOW" => "1" }].each do |env|
          run = run_command("/bin/true", env: { "LD_PRELOAD" => "#{front}:#{MwrapTest::TRACKER}", "MWRAP" => "socket:#{dir}/s" }.merge(env))
          assert_equal ["exit 0", ""], [run.status.to_s[/exit.*|SIG.*/], run.stderr], names.join(" ")
        end
      end
    end
  end

  # Preloads that others wrote, in any order, in front and behind. libfaketime has a test of its own (preloads.t): it
  # doesn't get along with all of these natively.
  OTHERS = Dir["/usr/lib/*/{libjemalloc.so.2,libtcmalloc_minimal.so.4,libmimalloc.so.[23],libtsocks.so,libeatmydata.so,libtorsocks.so,torsocks/libtorsocks.so}",
               "/usr/lib*/coreutils/libstdbuf.so"].freeze
  COMMANDS = [["/bin/true"], [MwrapTest::RUBY, "-e", "a = Array.new(1000) { 'x' * 200 }; File.read('/etc/passwd'); puts a.size"],
              ["sh", "-c", "ls / | wc -l"]].freeze

  def ran(cmd, env)
    run = run_command(*cmd, env: env, timeout: 20)
    [run.status.to_s[/exit.*|SIG.*/], run.stdout, run.stderr.lines.grep_v(/\Amwrap: LD_PRELOAD has another allocator/).join]
  end

  def test_orders_of_preloads
    puts "# SEED=#{@seed}"
    assert_operator OTHERS.size, :>=, 6
    compared = 0
    60.times do
      some = OTHERS.sample(@random.rand(1..3), random: @random)
      # of an allocator's own first calls, which a library in front isn't ready for, the tracker's start isn't the cause
      next if some.grep(/malloc/).size > 1 || (some.grep(/malloc/).any? && some.grep(/socks/).any?)
      env = { "LD_BIND_NOW" => [nil, "1"].sample(random: @random) }.compact
      cmd = COMMANDS.sample(random: @random)
      native = ran(cmd, env.merge("LD_PRELOAD" => some.join(":")))
      next if native[0] != "exit 0" # some don't get along with each other
      order = some.dup.insert(@random.rand(some.size + 1), MwrapTest::TRACKER)
      assert_equal native, ran(cmd, env.merge("LD_PRELOAD" => order.join(":"))), "#{order.map { |f| File.basename(f) }.join(":")} #{cmd[0]} #{env}"
      break if (compared += 1) == 20
    end
    assert_operator compared, :>=, 10
  end
end
