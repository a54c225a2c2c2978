#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Hazards inside Ruby's VM: its first and last moments, the GC in all its moods,
# frames that move, Fibers, Ractors, threads on fewer threads, compiled code.

require_relative "../lib/hazard"

class RubyHazards < Minitest::Test
  # Strings of a size, each round at its own line, with garbage in between.
  WORK = <<~'RUBY'
    def churn(n) = Array.new(n) { |i| ["g" * (1000 + i), [i] * 50, { i => i.to_s * 20 }] }.size
    def keep(n) = Array.new(n) {
      "k" * 5000 # keeps 200 of 5000
    }
  RUBY

  def version?(least) = Gem::Version.new(RUBY_VERSION) >= Gem::Version.new(least)

  # --- the VM's beginning ------------------------------------------------------

  # Nothing is asked of the VM before it has run a line.
  def test_ruby_boots_whatever_it_is_told
    [%w[-v], %w[-h], %w[--copyright], %w[-e 1], ["-e", "exit 3"], ["-e", "syntax error ("], %w[-c -e 1], %w[-W:nothing -e 1],
     %w[--nosuchoption], %w[/nonexistent.rb], ["-n", "-e", "puts $_"], ["-rnosuchlibrary", "-e", "1"],
     ["--dump=insns", "-e", "1 + 2"], ["-x", "/dev/null"]].each do |args|
      tracked = twice(MwrapTest::RUBY, "--disable=gems", *args, stdin: "a\nb\n", ends: nil)
      assert_adds_up tracked
    end
  end

  def test_ruby_boots_with_rubygems_and_a_broken_rubyopt
    assert_adds_up twice(MwrapTest::RUBY, "-e", "puts Gem::VERSION")
    assert_adds_up twice(MwrapTest::RUBY, "-e", "1", env: { "RUBYOPT" => "-rnosuchlibrary" }, ends: "exit 1")
  end

  # --- what is called of it -------------------------------------------------------

  # The functions that Ruby's headers call private: the first name with arguments after each of these comments.
  def private_functions
    headers = Dir.glob("#{RbConfig::CONFIG.fetch("rubyhdrdir")}/ruby/**/*.h").map { |file| File.read(file) }.join
    headers.split("/**").drop(1).map { |text| text.split("*/", 2) }
           .filter_map { |comment, code| code.to_s[/\A[^;{]*/].scan(/\b(rb_\w+) *\(/).flatten if comment.include?("@private") }.flatten.uniq
  end

  # Their arguments change from one Ruby to the next: then nobody can install the gem.
  def test_no_private_function
    assert_includes(all = private_functions, "rb_alloc_tmp_buffer")
    Dir.glob("src/extension/*.[ch]", base: MwrapTest::ROOT).each do |file|
      assert_empty File.read("#{MwrapTest::ROOT}/#{file}").scan(/\b\w+(?=\()/).uniq & all, file
    end
  end

  # --- the GC ---------------------------------------------------------------------

  def test_gc_stress
    twice_ruby(<<~RUBY)
      #{WORK}
      GC.stress = true
      $kept = keep(200)
      puts churn(20)
      GC.stress = false
      puts $kept.sum(&:size)
    RUBY
  end

  def test_gc_compact
    twice_ruby(<<~RUBY)
      #{WORK}
      begin
        GC.compact
      rescue NotImplementedError
        puts "no compaction"
      end
      $kept = []
      10.times { $kept.concat(keep(20)); churn(500); GC.compact rescue NotImplementedError }
      f = Fiber.new { a = "in a fiber" * 10; Fiber.yield; a.size }
      f.resume
      GC.compact rescue NotImplementedError
      puts f.resume, $kept.sum(&:size)
      # the same code, whose objects have moved, goes on being counted where it is
      def after(n) = Array.new(n) { "a" * 3000 } # keeps 100 of 3000
      $after = after(100)
    RUBY
  end

  def test_gc_verify_compaction
    twice_ruby(<<~RUBY)
      #{WORK}
      $kept = keep(200)
      begin
        GC.verify_compaction_references(toward: :empty) if GC.respond_to?(:verify_compaction_references)
      rescue NotImplementedError, ArgumentError
      end
      churn(1000)
      puts $kept.sum(&:size)
    RUBY
  end

  def test_gc_auto_compact
    twice_ruby(<<~RUBY)
      #{WORK}
      begin
        GC.auto_compact = true
      rescue NotImplementedError
        puts "no compaction"
      end
      $kept = []
      20.times { $kept.concat(keep(10)); churn(1000); GC.start }
      puts $kept.sum(&:size)
    RUBY
  end

  def test_process_warmup
    skip "this Ruby has no Process.warmup" unless Process.respond_to?(:warmup)
    twice_ruby(<<~RUBY)
      #{WORK}
      $kept = keep(100)
      churn(1000)
      p Process.warmup
      $kept.concat(keep(100))
      puts $kept.sum(&:size)
    RUBY
  end

  # Up to 3.2 a hook of the GC makes every new object take a slower way.
  def test_no_gc_event_hook
    twice_ruby(<<~RUBY, below: [preload("hooks")])
      #{WORK}
      $kept = keep(200)
      churn(1000); GC.start
      require "fiddle"
      count = Fiddle::Function.new(Fiddle::Handle::DEFAULT["hooks_set"], [], Fiddle::TYPE_INT)
      before = count.call
      t = TracePoint.new(:line) {}
      t.enable {}
      puts before, count.call > before
    RUBY
  end

  # Finalizers and at_exit handlers allocate when hardly anything is left.
  def test_finalizers_at_the_very_end
    twice_ruby(<<~RUBY)
      #{WORK}
      $kept = keep(200)
      100.times { ObjectSpace.define_finalizer(Object.new, proc { "f" * 9000 }) }
      at_exit { churn(100); puts "at exit" }
      END { churn(100); puts "END" }
    RUBY
  end

  # --- Fibers, Ractors, threads --------------------------------------------------------

  # Ruby runs jobs while it ends its threads, after it has removed all hooks: one that is set there ends the process. When
  # a script's first job comes is a matter of its length.
  def test_a_first_job_at_the_end
    puts "# SEED=#{seed = (ENV["SEED"] || Random.rand(1_000_000)).to_i}"
    random = Random.new(seed)
    in_tmp do |dir|
      80.times do
        ms = random.rand(150)
        run = run_command(MwrapTest::RUBY, "--disable=gems", "-e", <<~RUBY, env: { "LD_PRELOAD" => MwrapTest::TRACKER, "MWRAP" => "socket:#{dir}/s,objects:on" })
          Thread.new { sleep }
          now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
          until_then = now.() + #{ms} / 1000.0
          nil while now.() < until_then
        RUBY
        assert_equal [0, ""], [run.status.exitstatus, run.stderr], "after #{ms} ms: #{run.status}"
      end
    end
  end

  def test_fibers
    twice_ruby(<<~RUBY)
      #{WORK}
      all = Array.new(50) { Fiber.new { 4.times { |i| ($kept ||= []) << keep(1)[0]; churn(2); Fiber.yield(i) }; nil } }
      4.times { all.each(&:resume); GC.start }
      a = Enumerator.new { |y| 1000.times { |i| y << "e" * (1000 + i) } }
      500.times { a.next }
      puts all.map(&:resume).compact.size, $kept.size
      # left in the middle, from another one, deep
      deep = ->(n) { n.zero? ? "d" * 9000 : Fiber.new { deep.(n - 1) }.resume }
      puts deep.(30).size
      3000.times { Fiber.new { "s" * 2000 }.resume }
      puts Fiber.new { raise "out of a fiber" }.then { |f| f.resume rescue $!.message }
    RUBY
  end

  def test_killed_threads_and_timeouts
    twice_ruby(<<~RUBY)
      #{WORK}
      $kept = keep(200)
      50.times do
        t = Thread.new { begin; loop { churn(1) }; ensure; churn(1); end }
        Thread.pass
        t.kill
        t.join
      end
      require "timeout"
      20.times { begin; Timeout.timeout(0.005) { loop { churn(1) } }; rescue Timeout::Error; end }
      puts "done"
    RUBY
  end

  def test_ractors
    twice_ruby(<<~RUBY, "-W:no-experimental")
      def keep(n) = Array.new(n) {
        "k" * 5000 # keeps 200 of 5000
      }
      take = Ractor.method_defined?(:value) ? :value : :take
      all = Array.new(4) do
        Ractor.new { m = keep(50); 500.times { |i| "g" * (1000 + i) }; GC.start; m }
      end
      $kept = all.flat_map { |r| r.public_send(take) }
      50.times { Ractor.new { "s" * 3000 }.public_send(take) }
      puts $kept.size, $kept.sum(&:size)
      r = Ractor.new { Thread.current.report_on_exception = false; raise "in a ractor" }
      r.public_send(take) rescue puts $!.class
    RUBY
  end

  def test_mn_threads
    skip "this Ruby has no M:N threads" unless version?("3.3")
    script = <<~RUBY
      #{WORK}
      q = Queue.new
      threads = Array.new(40) { Thread.new { 5.times { q << keep(1)[0]; churn(2); sleep 0.001; Thread.pass } } }
      threads.each(&:join)
      $kept = Array.new(q.size) { q.pop }
      puts $kept.size, RUBY_DESCRIPTION[/\\+MN/]
      300.times { Thread.new { "s" * 3000 }.join }
    RUBY
    # Ruby crashes without the tracker, too: 3.3 with this script one time in a hundred, 3.4 if its
    # exit takes longer than usual (seven times in a hundred with a destructor of 40 ms, which the
    # exit dump stands for here), since its native threads run on while the VM is taken down; 4.0 then says so and exits
    # by 0 (15 of 400 times)
    crashed = version?("4.0") ? /"signal \d+"|\[BUG\]/ : /"signal \d+"/
    tries = 4
    begin
      twice_ruby(script, "-W:no-experimental", env: { "RUBY_MN_THREADS" => "1" })
    rescue Minitest::Assertion => e
      raise if (tries -= 1).zero? || !e.message.match?(crashed)
      retry
    end
  end

  def test_thousands_of_short_ruby_threads
    twice_ruby(<<~RUBY)
      #{WORK}
      $kept = []
      200.times { 10.times.map { Thread.new { keep(1)[0] } }.each_with_index { |t, i| v = t.value; $kept << v if i == 3 } }
      GC.start
      puts $kept.size
    RUBY
  end

  # Up to 3.2 Ruby keeps native threads for its next ones. Meanwhile what they ran on is
  # freed, which here the C library fills with other bytes: who reads it then crashes.
  def test_a_native_thread_is_used_again
    script = <<~RUBY
      #{WORK}
      take = Ractor.method_defined?(:value) ? :value : :take
      $kept = []
      20.times do
        10.times.map { Thread.new { keep(1)[0] } }.each { |t| $kept << t.value }
        GC.start
        churn(300)
      end
      20.times { Ractor.new { "s" * 3000 }.public_send(take); GC.start }
      puts $kept.size
    RUBY
    [{}, { "MWRAP_RUBY_PUBLIC" => "1" }].each do |way|
      twice_ruby(script, "-W:no-experimental", env: { "MALLOC_PERTURB_" => "165" }.merge(way))
    end
  end

  # --- compiled code -----------------------------------------------------------------------

  HAS_YJIT = system(RUBY, "--yjit", "-e", "exit RubyVM::YJIT.enabled?", out: File::NULL, err: File::NULL)

  def test_yjit
    skip "this Ruby has no YJIT" unless HAS_YJIT
    twice_ruby(<<~RUBY, "--yjit", "--yjit-call-threshold=1")
      #{WORK}
      $kept = []
      20.times { $kept.concat(keep(10)); churn(200); GC.start }
      GC.compact rescue NotImplementedError
      RubyVM::YJIT.code_gc if RubyVM::YJIT.respond_to?(:code_gc)
      churn(500)
      p RubyVM::YJIT.enabled?, $kept.sum(&:size)
    RUBY
  end

  # MJIT and RJIT start a compiler or a thread of their own, or say that there is none.
  def test_other_jits
    %w[--mjit --rjit --jit].each do |flag|
      next unless system(RUBY, flag, "-e", "1", out: File::NULL, err: File::NULL)
      # one that is written in Ruby itself allocates at any line
      assert_adds_up twice_ruby("#{WORK}\n$kept = keep(200)\nputs churn(300)\n", flag, open_files: false, counts: false)
    end
    twice_ruby("#{WORK}\n$kept = keep(200)\n")
  end
end
