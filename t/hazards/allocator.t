#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Hazards between the tracker, the dynamic linker and other allocators.

require "socket"
require_relative "../lib/hazard"

class AllocatorHazards < Minitest::Test
  OBJECTS = %w[libmwrap.so libmwrap_httpd.so].freeze

  def read(*cmd)
    r = run_command(*cmd)
    assert_success r
    r.stdout
  end

  # Names that an object needs from others, without versions: { name => its type in nm }.
  def needs(object)
    list = read("nm", "-D", "--undefined-only", File.join(MwrapTest::LIB, object)).lines.to_h do |l|
      type, name = l.split
      [name.sub(/@.*/, ""), type]
    end
    refute_empty list
    list
  end

  def allocator(soname)
    `PATH=$PATH:/sbin:/usr/sbin ldconfig -p`[/#{soname}\S* \(.*\) => (\S+)$/, 1]
  end

  # --- what glibc learns --------------------------------------------------------------

  # The least size from which on a block has a mapping of its own, after the pages were asked for that take most.
  LEAST = <<~'RUBY'
    require "fiddle"
    $stdout.sync = true
    KEPT = Array.new(150_000) { "x" * 100 }
    1000.times { |i| eval("def m#{i} = 'y' * #{i + 100}", nil, "/a/long/path/to/a/file_#{i}.rb", i); send("m#{i}") }
    puts "ready"
    $stdin.gets
    puts((100..8000).step(8).find { |k| Fiddle::Pointer.new(Fiddle.malloc(k << 10) - 8)[0, 8].unpack1("Q") & 2 == 2 })
  RUBY

  def test_glibc_learns_nothing_from_us
    native = run_command(MwrapTest::RUBY, "--disable=gems", "-e", LEAST, stdin: "\n").stdout
    assert_match(/\Aready\n\d+\n\z/, native)
    in_tmp do |dir|
      File.write("#{dir}/least.rb", LEAST)
      IO.popen([{ "LD_PRELOAD" => MwrapTest::TRACKER, "MWRAP" => "socket:#{dir}/s", "RUBYLIB" => MwrapTest::FIDDLE }, MwrapTest::RUBY, "--disable=gems", "#{dir}/least.rb"], "r+") do |app|
        assert_equal "ready\n", app.gets
        sizes = %W[/each/0?limit=100000 /at#{dir}/least.rb:3 /map /map.json /verdict /snapshot.tsv /flame /debug/pprof/heap /history.json].map do |target|
          answer = HTTP.ask("#{dir}/s", target)
          assert_match(%r{\AHTTP/1.1 200 }, answer, target)
          answer.bytesize
        end
        assert_operator sizes.max, :>, 400_000
        app.puts
        assert_equal native.lines.last, app.gets
      end
    end
  end

  # A request over a Unix socket that may not listen yet.
  module HTTP
    def self.ask(socket, target)
      s = UNIXSocket.new(socket)
      s.write("GET #{target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      s.read
    rescue Errno::ENOENT, Errno::ECONNREFUSED
      sleep 0.02
      retry
    ensure
      s&.close
    end
  end

  # --- the linker ----------------------------------------------------------------

  def test_dlsym_allocates_before_the_real_functions_are_known
    tracked = twice(program("bootstrap"), below: [preload("greedy_dlsym")])
    assert_adds_up tracked
    assert_adds_up twice_ruby("$kept = Array.new(200) { 'k' * 5000 } # keeps 200 of 5000\nputs 1\n",
                              below: [preload("greedy_dlsym")])
  end

  # mmap and munmap are seen, too: for the pages of Ruby's heap.
  def test_mappings_are_the_applications
    tracked = twice(program("mappings"))
    assert_match(/^handled 1000, bad 0, child 0$/, tracked.stdout)
    assert_equal 13, tracked.stdout.scan(/: E[A-Z]+$/).size, tracked.stdout
    assert_adds_up tracked
  end

  # Asked for at the first touch in a thread, it would be allocated by malloc.
  def test_thread_local_storage_is_static_and_small
    tracker = File.join(MwrapTest::LIB, "libmwrap.so")
    assert_match(/FLAGS.*STATIC_TLS/, read("readelf", "-dW", tracker))
    refute_includes needs("libmwrap.so"), "__tls_get_addr"
    size = read("readelf", "-lW", tracker)[/^\s+TLS\s+(?:0x\h+\s+){4}(0x\h+)/, 1] or flunk "no TLS"
    assert_operator size.hex, :<=, 256
  end

  # Weak ones: &symbol isn't NULL for a thread-local one that nobody defines. And Ruby's may be hidden.
  def test_nothing_of_rubys_is_linked_to
    OBJECTS.each do |object|
      list = needs(object)
      assert_empty list.keys.grep(/\A(rb_|ruby_|Init_)/), object
      own = %w[__cxa_finalize __gmon_start__ _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable __sanitizer_get_heap_size]
      assert_empty list.select { |_, type| type.match?(/[wv]/i) }.keys - own, "weak ones of #{object}"
    end
  end

  # Nobody ends the process but itself. The server calls abort() where libmicrohttpd, used wrongly by
  # the application, would have: the handler of its panics is one for all (processes.t).
  def test_nothing_that_ends_the_process_is_called
    OBJECTS.each do |object|
      ends = needs(object).keys & %w[exit _exit _Exit quick_exit abort __assert_fail __assert kill]
      assert_equal object == "libmwrap_httpd.so" ? %w[abort] : [], ends, object
    end
  end

  def test_unwinding_while_libraries_come_and_go
    assert_adds_up twice(program("unwind"), built("plugins/swap_a.so"))
  end

  # --- other allocators -------------------------------------------------------------

  def test_rtld_deepbind_passes_foreign_blocks
    of_the_c_librarys_malloc
    assert_adds_up twice(program("deepbind"), built("plugins/deep.so"))
  end

  # The C library's checking malloc has its own marks at a block's end.
  def test_the_c_librarys_debugging_malloc_beneath
    of_the_c_librarys_malloc
    lib = allocator("libc_malloc_debug\\.so\\.0") or skip "no libc_malloc_debug.so.0"
    %w[malloc calloc realloc aligned free usable].each do |section|
      native = once(program("family"), section, tracked: false)
      tracked = once(program("family"), section, tracked: true, below: [lib], env: { "MALLOC_CHECK_" => "3" })
      assert_equal native.visible, tracked.visible, section
      assert_empty tracked.said
      assert_adds_up tracked
    end
    assert_adds_up twice(program("counts"), below: [lib], env: { "MALLOC_CHECK_" => "3" })
  end

  SETTINGS = [{ "MALLOC_ARENA_MAX" => "1" }, { "MALLOC_PERTURB_" => "165" }, { "MALLOC_MMAP_THRESHOLD_" => "64" },
              { "MALLOC_TRIM_THRESHOLD_" => "0" }, { "GLIBC_TUNABLES" => "glibc.malloc.tcache_count=0" },
              { "GLIBC_TUNABLES" => "glibc.malloc.hugetlb=1" }].freeze

  def test_settings_of_the_c_librarys_malloc
    SETTINGS.each do |env|
      assert_adds_up twice(program("counts"), env: env)
      assert_adds_up twice(program("threads"), "keys", env: env)
    end
  end

  # Known: on these, 8 bytes more are the next size class. Behaviour and counts are right all the same.
  def test_power_of_two_buffers
    each_allocator do |name, lib|
      more = [64, 1024, 4096, 16_384].map { |size| format("%d: %+d %%", size, buffers(size, lib)[1]) }
      $stderr.puts "# resident memory of buffers on #{name}: #{more.join(", ")}"
    end
  end

  # A tail would take each of them to the next class, up to a fifth or, with jemalloc's slabs, two fifths larger.
  # Of 50 heaps of tcmalloc one crosses a multiple of 2 GiB, and takes 2 MiB more for its own table: not twice in a row.
  def test_buffers_that_fill_their_class
    seed = Integer(ENV.fetch("SEED", Random.new_seed % 100_000))
    puts "# SEED=#{seed}"
    sizes = [10, *(5..7).to_a.product([0, 1, 2, 3]).sample(4, random: Random.new(seed)).map { |n, k| n << k }].uniq.map { |kib| kib << 10 }
    sizes += [1280, 1536, 1792, 2560, 3072, 3584].sample(2, random: Random.new(seed))
    each_allocator do |name, lib|
      next unless lib
      more = sizes.to_h { |size| [size, buffers(size, lib)] }.select { |size, (room, _)| room == size }
      refute_empty more, name
      more.each do |size, (_, percent)|
        percent = buffers(size, lib)[1] if percent > 3
        assert_operator percent, :<=, 3, "#{name}: #{size}"
      end
      puts "# #{name}: #{more.map { |size, (_, percent)| format("%d: %+.1f %%", size, percent) }.join(", ")}"
    end
  end

  def each_allocator
    { "libc" => nil, "jemalloc" => "libjemalloc\\.so\\.2", "mimalloc" => "libmimalloc\\.so\\.",
      "tcmalloc" => "libtcmalloc_minimal\\.so\\.4" }.each do |name, file|
      lib = file && allocator(file)
      yield name, lib if lib || !file
    end
  end

  # 32 MB of them: a buffer's room without the tracker, and how many percent more is resident with it
  def buffers(size, lib)
    args = [size.to_s, ((32 << 20) / size).to_s]
    native = once(program("buffers"), *args, tracked: false, below: [*lib])
    tracked = twice(program("buffers"), *args, below: [*lib])
    a, b = [native, tracked].map { |o| Integer(o.stdout[/^# resident (\d+)/, 1]) }
    [Integer(native.stdout[/^# room (\d+)/, 1]), (b - a) * 100.0 / a]
  end

  # C++ says the size of what it deletes. glibc ignores it, and so must the tracker.
  def test_deleted_with_a_wrong_size
    twice_ruby(<<~'RUBY', counts: false)
      require "fiddle"
      cxx = Fiddle.dlopen("libstdc++.so.6")
      size = Fiddle::TYPE_SIZE_T
      { %w[_Znwm _ZdlPvm] => [100], %w[_Znam _ZdaPvm] => [100],
        %w[_ZnwmSt11align_val_t _ZdlPvmSt11align_val_t] => [100, 256] }.each do |(new, delete), (n, *align)|
        made = Fiddle::Function.new(cxx[new], [size] * (1 + align.size), Fiddle::TYPE_VOIDP)
        gone = Fiddle::Function.new(cxx[delete], [Fiddle::TYPE_VOIDP] + [size] * (1 + align.size), Fiddle::TYPE_VOID)
        [0, 1, 99, 101, 1 << 40].each { |wrong| 50.times { gone.call(made.call(n, *align), wrong, *align) } }
        puts delete
      end
    RUBY
  end
end
