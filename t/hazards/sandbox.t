#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Hazards of sandboxes: a program locks itself into the system calls that it needs, and allocates
# (t/preload/sandbox.c). The calls that a filter must allow for each part of the tracker are those that
# doc/security.md lists.

require_relative "../lib/hazard"
require_relative "../lib/served"
require_relative "../lib/allocators"

module Sandboxed
  NUMBERS = IO.popen(%w[cc -E -dM -], "r+") { |io| io.write("#include <sys/syscall.h>\n"); io.close_write; io.read }
              .scan(/^#define __NR_(\w+) (\d+)$/).to_h { |name, number| [name, Integer(number)] }.freeze
  STRICT = %w[read write exit exit_group brk mmap munmap mremap futex rt_sigreturn].freeze

  def numbers(names) = names.filter_map { |n| NUMBERS[n] }.uniq.join(",")

  # The environment of a sandbox of these calls; the block gets a function that says which others were made.
  def in_sandbox(allow)
    Tempfile.create("refused") do |log|
      File.chmod(0o666, log.path)
      refused = -> { File.readlines(log.path).map { |l| NUMBERS.key(Integer(l)) || l }.uniq.sort }
      yield({ "SANDBOX_ALLOW" => numbers(allow), "SANDBOX_LOG" => log.path }, refused)
    end
  end
end

class SandboxHazards < Minitest::Test
  include Sandboxed

  # Besides the strict list: what the allocators call themselves on their way.
  OWN = { "glibc" => %w[getrandom], "glibc, threads" => %w[getrandom mprotect madvise openat close],
          "jemalloc" => %w[madvise], "mimalloc" => %w[madvise mprotect openat access close getrandom clock_gettime prctl] }.freeze
  OPTIONS = [nil, "stacks:off", "stacks:64k", "bt:4"].freeze

  # Calls beyond the list.
  def beyond(*cmd, allow:, tracked:, below: [], **rest)
    in_sandbox(allow) do |env, refused|
      o = once(*cmd, tracked: tracked, below: [*below, preload("sandbox")], env: env, dump: nil, **rest)
      assert_equal ["exit 0", "ok\n", ""], o.visible, "#{cmd}: #{o.stderr}"
      assert_empty o.said
      refused.call
    end
  end

  def assert_no_more(own, seed, below: [])
    allow = STRICT + OWN.fetch(own)
    assert_empty beyond(program("sandboxed"), seed.to_s, allow: allow, tracked: false, below: below), "#{own}: natively, seed #{seed}"
    OPTIONS.each do |options|
      found = beyond(program("sandboxed"), seed.to_s, allow: allow, tracked: true, below: below, options: options)
      assert_empty found, "#{own}: #{options}, seed #{seed}"
    end
  end

  def seed = @seed ||= Integer(ENV.fetch("SEED", Random.new_seed % 10_000)).tap { |s| puts "# SEED=#{s}" }

  # The program's number of threads is its seed's remainder by 5.
  def test_no_other_calls_than_the_allocators
    of_the_c_librarys_malloc
    assert_no_more "glibc", seed * 5
    assert_no_more "glibc, threads", seed * 5 + 1 + seed % 4
  end

  def test_no_other_calls_than_another_allocators
    of_the_c_librarys_malloc
    Allocators.each do |name, path, package|
      next unless OWN[name]
      assert path, "install #{package}"
      assert_no_more name, seed, below: [path]
    end
  end
end

# In Ruby, which makes more calls itself.
class SandboxedRuby < Minitest::Test
  include Sandboxed

  SCRIPT = <<~'RUBY'
    require "fiddle"
    srand(Integer(ARGV[0]))
    GC.start
    Fiddle::Function.new(Fiddle::Handle::DEFAULT["enter_sandbox"], [], Fiddle::TYPE_VOID).call
    def deep(n) = n.zero? ? Array.new(20) { "x" * rand(10..400) } : deep(n - 1)
    40.times do |k|
      eval("def m#{k} = [1, #{k}].map { |x| x.to_s * 300 }; m#{k}", nil, "f#{k}.rb")
      30.times { deep(rand(20)); "y" * rand(100_000); rand(10..900).to_s.split("1") }
    end
    GC.start
    $stdout.syswrite "ok\n"
    exit!(0)
  RUBY

  # Ruby itself ends if a filter refuses its JIT mprotect.
  def beyond(seed, allow:, tracked:, script: SCRIPT, **rest)
    in_sandbox(allow) do |env, refused|
      env = { **MwrapTest::WITHOUT_JIT, **env }
      o = once(MwrapTest::RUBY, "--disable=gems", "-e", script, seed, tracked: tracked, below: [preload("sandbox")], env: env, dump: nil, **rest)
      assert_equal ["exit 0", "ok\n", ""], o.visible, o.stderr
      refused.call
    end
  end

  # An allocator that HAZARDS_ON puts beneath may try a call again and again until the kernel makes it.
  def beneath
    Allocators.each { |name, path,| return SandboxHazards::OWN.fetch(name, []) if path == Hazard::ALLOCATOR }
    []
  end

  def test_no_other_calls_than_rubys
    seed = ENV.fetch("SEED", Random.new_seed % 10_000).to_s
    puts "# SEED=#{seed}"
    allow = SandboxHazards::STRICT | beneath
    2.times { allow |= beyond(seed, allow: allow, tracked: false) }
    refute_includes allow, "rt_sigprocmask"
    SandboxHazards::OPTIONS.each do |options|
      assert_empty beyond(seed, allow: allow, tracked: true, options: options), "#{options}, seed #{seed}"
    end
  end
end

class SandboxedJit < SandboxedRuby
  undef_method :test_no_other_calls_than_rubys
  PART = "a JIT that Ruby switches on"
  JIT = SCRIPT.sub(/^def deep/, "RubyVM::YJIT.enable\n\\0").freeze

  def test_only_the_calls_of_its_row
    skip "this Ruby can't switch a JIT on" unless run_command(MwrapTest::RUBY, "-e", "RubyVM::YJIT.enable").status.success?
    native = SandboxHazards::STRICT | beneath | %w[mprotect madvise]
    3.times { native |= beyond("1", allow: native, tracked: false, script: JIT) }
    assert_empty beyond("1", allow: native | SandboxedParts::LISTS.fetch(PART), tracked: true, script: JIT)
  end
end

# Each part under exactly the list that doc/security.md has for it.
class SandboxedParts < Minitest::Test
  include HttpdTest
  include Served
  include Sandboxed

  LISTS = File.read(File.join(MwrapTest::ROOT, "doc/security.md")).scan(/^\| (.+) \| (?:those, and )?`([a-z0-9_ ]+)` \|$/)
              .to_h { |part, calls| [part, calls.split] }.freeze

  # Starts a command, which waits; the block gets it in its sandbox, after it said "ok".
  def sandboxed(options, allow, *cmd, ready: nil, said: nil)
    in_sandbox(allow) do |env, refused|
      env = { "MWRAP" => options, "LD_PRELOAD" => "#{MwrapTest::TRACKER}:#{preload("sandbox")}", "RUBYOPT" => nil, "RUBYLIB" => MwrapTest::FIDDLE, **env }
      app = App.new(*cmd, env: env, err: path("err"), dump_path: path("none"))
      @fakes << app
      ready&.call
      at_rest(app)
      assert_equal "ok", app.ask("go")
      yield app if block_given?
      status = app.finish
      assert status&.success?, "#{status}: #{refused.call}\n#{app.stderr}"
      said ? assert_match(said, app.stderr) : assert_empty(app.stderr)
      assert_empty refused.call
    end
  end

  # Calls that the program and its allocator need.
  def program_and(part) = SandboxHazards::STRICT + %w[getrandom] + LISTS.fetch(part)
  def c_program = [program("sandboxed"), "0", "wait"]

  def test_a_dump_at_exit
    sandboxed("dump_path:#{path("dump")},dump_format:tsv", program_and("a dump at exit"), *c_program)
    assert_operator Dump.tsv(File.binread(path("dump"))).flatten.size, :>, 5000
  end

  def test_a_line_on_stderr
    sandboxed("", program_and("a line on stderr, as of an overrun"), program("sandboxed"), "0", "overrun", said: /\Amwrap: a block of 32 bytes .* was written past its end/)
  end

  # Of a program that forks: glibc's own calls for that, and no others. A thread of ours begins only in a child that
  # has parts of its own.
  FORKS = %w[clone wait4 set_robust_list rseq].freeze
  NEWER = %w[rt_sigprocmask].freeze # glibc 2.43's

  def test_a_fork
    run = in_sandbox(SandboxHazards::STRICT + %w[getrandom] + FORKS) do |env, refused|
      [run_command(*c_program[0, 2], "fork", stdin: "go\n", env: { "LD_PRELOAD" => preload("sandbox"), **env }), refused.call]
    end
    forks = FORKS + run[1]
    assert_equal ["ok\n", []], [run[0].stdout, run[1] - NEWER], "natively"
    sandboxed("", program_and("a fork") + forks, program("sandboxed"), "0", "fork")
    sandboxed("socket:#{path}", program_and("a fork") + program_and("`socket`, `listen`") + forks, program("sandboxed"), "0", "fork",
              ready: -> { wait_for_server(path) })
  end

  def test_a_recording
    sandboxed("trace_path:#{path("trace")}", program_and("`trace_path`"), *c_program, ready: -> { eventually("a recording") { File.size?(path("trace")) } })
    assert_operator File.size(path("trace")), :>, 100_000
  end

  RUBY_WAITS = <<~'RUBY'
    require "fiddle"
    $stdin.gets
    Fiddle::Function.new(Fiddle::Handle::DEFAULT["enter_sandbox"], [], Fiddle::TYPE_VOID).call
    kept = Array.new(1000) { "x" * 100 }
    $stdout.syswrite "ok\n"
    $stdin.read
    exit!(0)
  RUBY

  def test_dump_every
    of_ruby = %w[newfstatat fstat lseek ioctl getpid getrusage clock_gettime ppoll poll] # to read stdin
    sandboxed("dump_path:#{path("dump")},dump_every:1,dump_keep:2", program_and("a dump at exit") + program_and("`dump_every`") + of_ruby,
              MwrapTest::RUBY, "--disable=gems", "-e", RUBY_WAITS) do
      eventually("four dumps, of which two are left") { Dir[path("dump.*Z")].map { |f| File.basename(f)[/\d{6}Z/] }.tap { |f| (@seen ||= []).concat(f) } && @seen.uniq.size >= 4 }
    end
  end

  PAGES = %w[/ /each/0 /each/0.tsv /each/0?kind=string /stats.json /metrics /flame /map /map.json /debug/pprof/heap /stacks.collapsed /overruns].freeze

  def test_a_server
    sandboxed("socket:#{path}", program_and("`socket`, `listen`"), *c_program, ready: -> { wait_for_server(path) }) do
      PAGES.each { |page| assert_equal 200, get(page).status, page }
      %w[/reset /mark /trim /pause /resume /map/trim].each { |target| assert_includes [200, 204, 303], post(target).status, target }
    end
    refute_path_exists path
  end
end
