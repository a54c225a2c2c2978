#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Hazards of scarce memory, processes and files: limits that are reached, at the start or on
# the way, and what is locked or dumped to a core.

require_relative "../lib/allocators"
require_relative "../lib/hazard"
require_relative "../lib/served"

class LimitHazards < Minitest::Test
  MIB = 1 << 20

  # --- memory ------------------------------------------------------------------------

  def test_rlimit_as_reached_in_ruby
    twice_ruby(<<~'RUBY')
      $kept = Array.new(200) {
        "k" * 5000 # keeps 200 of 5000
      }
      size = File.read("/proc/self/statm").to_i * 4096
      before = Process.getrlimit(:AS)
      Process.setrlimit(:AS, size + (64 << 20), before[1])
      3.times do
        all = []
        begin
          10_000.times { all << "x" * 1_000_000 }
          puts "no limit"
        rescue NoMemoryError => e
          all.clear
          puts e.message
        end
        GC.start
      end
      begin
        "y" * (1 << 40)
      rescue NoMemoryError => e
        puts e.message
      end
      Process.setrlimit(:AS, *before)
      puts $kept.sum(&:size)
    RUBY
  end

  # It dies with all of its memory: the dump says at which line that was allocated.
  def test_the_dump_of_a_ruby_without_address_space
    of_the_c_librarys_malloc
    # a JIT aborts without memory, also natively
    r = twice_ruby(<<~'RUBY', counts: false, env: MwrapTest::WITHOUT_JIT)
      limit = File.read("/proc/self/statm").to_i * 4096 + (48 << 20)
      Process.setrlimit(:AS, limit, limit)
      all = []
      [100_000, 2000, 700].each do |n|
        loop { all << "x" * n }
      rescue NoMemoryError
        puts "no memory"
      end
    RUBY
    assert_equal "no memory\n" * 3, r.stdout
    most = r.rows.max_by(&:live_bytes)
    assert_match(/:5\z/, most.location)
    assert_operator most.live_bytes, :>, 20 << 20
  end

  # Nothing big is reserved: what runs natively in so little runs under the tracker in 8 MiB more, and
  # one for the dump at exit.
  def test_rlimit_as_from_the_start
    of_the_c_librarys_malloc
    [16, 24, 48, 96].each do |mib|
      [%w[counts], %w[threads serial], %w[forks child]].each do |name, *args|
        native = once(program(name), *args, tracked: false, rlimit_as: [mib * MIB] * 2)
        next unless native.ending == "exit 0"
        tracked = once(program(name), *args, tracked: true, rlimit_as: [(mib + 9) * MIB] * 2)
        assert_equal native.visible, tracked.visible, "#{name} in #{mib} MiB"
        assert_expected tracked
      end
    end
  end

  def test_rlimit_data_from_the_start
    of_the_c_librarys_malloc
    [8, 16, 64].each do |mib|
      native = once(program("counts"), tracked: false, rlimit_data: [mib * MIB] * 2)
      assert_equal "exit 0", native.ending
      tracked = once(program("counts"), tracked: true, rlimit_data: [(mib + 8) * MIB] * 2)
      assert_equal native.visible, tracked.visible, "#{mib} MiB"
      assert_expected tracked
    end
  end

  # Before anything of ours ran.
  LINKERS_WORDS = /\A(ERROR: ld.so|.*error while loading shared libraries|Fatal glibc error: cannot allocate)/

  # Hardly room for the program: whatever doesn't fit, the tracker never is what ends it.
  def test_no_room_for_the_tracker
    of_the_c_librarys_malloc
    at = ->(mib, tracked) { once(program("exits"), "exit", tracked: tracked, rlimit_as: [mib * MIB] * 2) }
    least = (2..64).find { |mib| at.(mib, false).ending == "exit 0" }
    native = at.(least, false)
    (0..8).each do |more|
      tracked = at.(least + more, true)
      next if tracked.stderr =~ LINKERS_WORDS
      assert_equal native.visible, tracked.visible, "#{least} + #{more} MiB: #{tracked.stderr}"
      assert_operator tracked.said.size, :<=, 2, tracked.stderr
    end
    assert_adds_up at.(least + 8, true)
  end

  # Some allocators need 32 MiB at once, and can't have them. They then refuse everything, or end the process.
  # Neither the tracker nor a library of its own ever ends it.
  OWN_LAST_WORDS = /Out of memory trying to allocate internal tcmalloc data|<jemalloc>: Failed to allocate/

  def test_no_room_for_another_allocator
    of_the_c_librarys_malloc
    Allocators.each do |name, path, package|
      assert path, "install #{package}"
      compared = (8..40).step(4).count do |mib|
        native, tracked = [false, true].map { |t| once(program("exits"), "exit", tracked: t, below: [path], rlimit_as: [mib * MIB] * 2) }
        next if native.ending != "exit 0" || tracked.stderr =~ LINKERS_WORDS || [native, tracked].any? { |run| run.stderr =~ OWN_LAST_WORDS }
        assert_equal native.visible, tracked.visible, "#{name}, #{mib} MiB: #{tracked.stderr}"
      end
      assert_operator compared, :>=, 4, name
    end
  end

  def test_mlockall
    native = once(program("memlock"), tracked: false)
    skip "mlockall is refused here" if native.stdout.include?("# refused")
    tracked = twice(program("memlock"))
    assert_adds_up tracked
    a, b = [native, tracked].map { |o| Integer(o.stdout[/^# locked (\d+)/, 1]) }
    assert_operator b - a, :<=, 16 << 10, "KiB more are locked"
  end

  # The tables are left out of a core.
  def test_core_dumps_leave_the_tables_out
    app = served_ruby("$kept = Array.new(100_000) { 'x' * 100 }\nputs 'up'; $stdout.flush\ngets\n")
    assert_equal "up", app.hear
    bytes = stats.fetch("tracker_bytes")
    assert_operator bytes, :>, MIB
    maps = File.read("/proc/#{app.pid}/smaps").split(/^(?=\h+-\h+ )/)
    left_out = maps.select { |m| m =~ /^VmFlags:.* dd\b/ && m.lines[0].split.size == 5 }
    kib = left_out.sum { |m| m[/^Size:\s+(\d+)/, 1].to_i }
    assert_operator kib, :>=, bytes / 1024 * 9 / 10
    assert app.finish.success?
  end

  # --- other limits ---------------------------------------------------------------------

  def test_rlimit_stack
    [[64 << 10] * 2, [Process::RLIM_INFINITY] * 2].each do |limit|
      assert_adds_up twice(program("counts"), rlimit_stack: limit)
      assert_adds_up twice(program("threads"), "keys", rlimit_stack: limit)
    rescue Errno::EPERM
      next # more than is allowed here
    end
  end

  def test_rlimit_fsize_cuts_off_the_dump
    of_exact_counts
    script = "$kept = Array.new(100) { 'k' * 5000 }\nputs 1\n"
    limit = { rlimit_fsize: [4096, 4096] }
    twice_ruby(script, counts: false, dump: nil, options: ->(d) { "dump_path:#{d}/dump" }, said: /dump_path .*: File too large/, **limit)
  end

  # No thread can be had for the server.
  def test_rlimit_nproc
    Process.uid.zero? or skip "needs root"
    # a user of whom there is no other process, or the exec is refused, too
    nobody_else = 10_000 + Process.pid % 50_000
    script = <<~RUBY
      Process.setrlimit(:NPROC, 1, 1)
      begin
        Process::Sys.setgid(65534); Process::Sys.setuid(#{nobody_else})
      rescue SystemCallError
        puts "# refused"
      end
      exec(*ARGV)
    RUBY
    # where that user may read it
    files = { "counts" => File.binread(program("counts")), "libmwrap.so" => File.binread(MwrapTest::TRACKER) }
    run = ->(tracked) do
      once("/usr/bin/env", "-u", "LD_PRELOAD", MwrapTest::RUBY, "--disable=gems", "%DIR%/script.rb",
           "/usr/bin/env", *("LD_PRELOAD=%DIR%/libmwrap.so" if tracked), "%DIR%/counts",
           files: { "script.rb" => script, **files }, tracked: tracked, options: ->(d) { "socket:#{d}/s" })
    end
    native, tracked = run.call(false), run.call(true)
    skip "setuid is refused here" if native.stdout.include?("# refused")
    assert_equal "exit 0", native.ending
    assert_equal native.visible, tracked.visible
    skip "more may be had all the same" if tracked.said.empty? && tracked.dumps.size == 1
    assert_equal ["mwrap: the server's thread: can't be created: Resource temporarily unavailable\n"], tracked.said.uniq
    assert_expected tracked
  end

  # --- descriptors ---------------------------------------------------------------------------

  def test_rlimit_nofile_from_the_start
    (4..9).each do |n| # with fewer nothing can be loaded
      native = once(program("counts"), tracked: false, rlimit_nofile: [n, n])
      before_a_server do
        tracked = once(program("counts"), tracked: true, rlimit_nofile: [n, n], options: ->(d) { "socket:#{d}/s" })
        assert_equal native.visible, tracked.visible, "#{n} descriptors"
        assert_expected tracked
      end
    end
  end

  def test_rlimit_nofile_reached
    twice_ruby(<<~'RUBY')
      $kept = Array.new(200) {
        "k" * 5000 # keeps 200 of 5000
      }
      Process.setrlimit(:NOFILE, 40, 40)
      all = []
      begin
        loop { all << File.open("/dev/null") }
      rescue Errno::EMFILE => e
        puts e.message, all.size
      end
      begin
        fork { exit 1 }
        Process.wait
        puts $?.exitstatus
      rescue SystemCallError => e
        puts e.message
      end
      all.each(&:close)
      puts `echo again`
    RUBY
  end

  def test_rlimit_nofile_reached_with_a_server
    app = served_ruby(<<~'RUBY')
      $stdout.sync = true
      $kept = Array.new(200) { "k" * 5000 }
      gets
      Process.setrlimit(:NOFILE, 64, 64)
      all = []
      begin
        loop { all << File.open("/dev/null") }
      rescue Errno::EMFILE
        puts "all gone"
      end
      gets
      all.each(&:close)
      puts "closed"
      gets
    RUBY
    assert_equal "all gone", app.ask("go")
    client = connect # it may have to wait
    client.write("GET /stats.json HTTP/1.0\r\n\r\n")
    assert_equal "closed", app.ask("go")
    assert_equal 200, parse(drain(client)).status
    assert_equal 200, get("/each/0").status
    assert_ends_well app
  end

  def test_more_than_1023_descriptors
    skip "too few descriptors may be opened here" if Process.getrlimit(:NOFILE)[1] < 4096
    app = served_ruby(<<~'RUBY', wait: false)
      Process.setrlimit(:NOFILE, 4096)
      $stdout.sync = true
      all = Array.new(3000) { File.open("/dev/null") }
      r, w = IO.pipe
      w << "x"
      puts r.fileno > 1023, IO.select([r], nil, nil, 10)&.first&.size
      pid = fork { $stdin.gets; exit 3 }
      puts pid
      Process.wait(pid)
      puts $?.exitstatus
      gets
    RUBY
    assert_equal %w[true 1], [app.hear, app.hear]
    child = "#{path}.#{app.hear}"
    [path, child].each { |at| wait_for_server(at) }
    clients = Array.new(20) { connect }
    assert_equal [200, 200], [get("/each/0").status, get("/each/0", at: child).status]
    clients.each(&:close)
    assert_equal "3", app.ask("go")
    assert_ends_well app
  end
end
