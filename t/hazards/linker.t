#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Hazards of the dynamic linker: forks while another thread loads a library, preloads in front of the
# tracker whose constructors have not run yet, and programs, variables and ways of starting that it knows.

require_relative "../lib/allocators"
require_relative "../lib/hazard"
require_relative "../lib/patience"

class LinkerHazards < Minitest::Test
  include Patience

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

  # Children that natively live as long as they begin no thread, and others that may begin some.
  def test_forks_in_the_last_moment_of_a_load
    plugins = %w[hold enters].map { |name| "#{MwrapTest::BUILT}/plugins/#{name}.so" }
    MODES.each do |mode, options|
      in_tmp do |dir|
        given, = options.call(dir)
        IO.popen([{ "MWRAP" => given }, MwrapTest::LAUNCHER, program("half_loaded"), *plugins, "8", { err: "#{dir}/err" }], "r+") do |io|
          whole, half = io.gets.split.each_slice(2).to_a.transpose
          eventually("threads of ours in #{whole}") { whole.all? { |pid| Dir["/proc/#{pid}/task/*"].size > 1 } }
          assert(half.all? { |pid| Dir["/proc/#{pid}/task/*"].size == 1 }, mode)
          io.puts
          assert_equal "", io.read, "#{mode}: #{File.read("#{dir}/err")}"
        end
        assert_equal [0, nil], [$?.exitstatus, File.read("#{dir}/err")[/Inconsistency.*/]], mode
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

  # What the server's thread does for two seconds, while children begin: each lock that it holds is held in them.
  LOADING = { "sleeps" => "sleep(2)",
              "allocates" => "time_t end = time(NULL) + 2; while (time(NULL) <= end) allocate()" }.freeze

  # So much at a time that it goes past an allocator's caches of a thread, to its locks.
  ALLOCATE = <<~C
    static void allocate(void)
    {
      enum { AT_ONCE = 3000 };
      static void *blocks[AT_ONCE];
      for (int i = 0; i < AT_ONCE; i++) blocks[i] = i % 3 ? malloc(i % 100 * 500) : calloc(1, i % 30 * 9000);
      for (int i = 0; i < AT_ONCE; i++) blocks[i] = realloc(blocks[i], i * 7 % 5000 + 1);
      for (int i = 0; i < AT_ONCE; i++) free(blocks[i]);
    }
  C

  def forks_past_fork_while(loading, children, allocator = nil, options = nil)
    in_tmp do |dir|
      FileUtils.cp(MwrapTest::TRACKER, dir)
      File.write("#{dir}/slow.c", <<~C)
        #include <fcntl.h>
        #include <stdlib.h>
        #include <time.h>
        #include <unistd.h>
        #{ALLOCATE}
        __attribute__((constructor)) static void load(void) { close(creat("#{dir}/go", 0600)); #{LOADING.fetch(loading)}; }
      C
      assert system("cc", "-O0", "-w", "-shared", "-fPIC", "-o", "#{dir}/libmwrap_httpd.so", "#{dir}/slow.c")
      env = { "MWRAP" => ["socket:#{dir}/s", *options].join(","),
              "LD_PRELOAD" => ["#{dir}/#{File.basename(MwrapTest::TRACKER)}", *allocator].join(":") }
      run = run_command(program("raw_forks"), children.to_s, "#{dir}/go", env: env, timeout: 60)
      assert_equal ["exit 0", "done\n"], [run.status.to_s[/exit.*|SIG.*/], run.stdout], "#{allocator} #{options}: #{run.stderr}"
    end
  end

  def test_forks_past_fork_while_the_server_is_loaded
    forks_past_fork_while("sleeps", 9)
  end

  # The allocator's handlers of fork(3) take all its locks: a child's own fork waits for one that is held in it.
  def test_forks_past_fork_while_the_server_allocates
    Allocators.with_libc do |name, path, package|
      flunk "#{name} isn't installed: #{package}" if package && !path
      [nil, "counts:sampled"].each { |options| forks_past_fork_while("allocates", 300, path, options) }
    end
  end

  # --- preloads in front -------------------------------------------------------------------------

  # Symbols that the tracker and liburcu take from the C library, but for an allocator's and others that the tracker
  # interposes itself, variables, and those in the linker's own object.
  ALLOCATORS = File.read("#{MwrapTest::ROOT}/src/api/hooks.def").scan(/^MW_HOOK_REAL\((\w+)/).flatten.freeze
  NEVER = /\A(?:#{ALLOCATORS.join("|")}|mmap|munmap|dlsym|_r_debug|stderr|environ)\z/

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
  COMMANDS = [["/bin/true"], ["#{MwrapTest::BUILT}/programs/every_call"], [MwrapTest::RUBY, "-e", "a = Array.new(1000) { 'x' * 200 }; File.read('/etc/passwd'); puts a.size"],
              ["sh", "-c", "ls / | wc -l"]].freeze

  # said: what the tracker may say
  def ran(cmd, env, said = /\Amwrap: LD_PRELOAD has another allocator/)
    run = run_command(*cmd, env: env, timeout: 20)
    [run.status.to_s[/exit.*|SIG.*/], run.stdout, run.stderr.lines.grep_v(said).join]
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

  # The second one may have functions that the first lacks, as mimalloc has reallocarray.
  def test_two_allocators
    pairs = OTHERS.grep(/malloc/).permutation(2).to_a
    assert_operator pairs.size, :>=, 6
    pairs.product((0..2).to_a).each do |pair, at|
      native = ran(["/bin/true"], { "LD_PRELOAD" => pair.join(":") })
      order = pair.dup.insert(at, MwrapTest::TRACKER).join(":")
      assert_equal native, ran(["/bin/true"], { "LD_PRELOAD" => order }), order
    end
  end

  # Libraries that have some of an allocator's functions and pass calls on, in front of the tracker and beneath. One in front
  # that passes them to the C library itself keeps them to itself: then the program runs untracked.
  BASICS = %w[malloc free calloc realloc].freeze
  PARTS = (BASICS + %w[memalign aligned_alloc posix_memalign]).freeze

  def part(dir, names, next_one)
    path = "#{dir}/part-#{names.join("-")}#{"-next" if next_one}.so"
    flags = names.map { |n| "-DHAS_#{n}" } + (next_one ? ["-DNEXT"] : [])
    assert system(ENV["CC"] || "cc", "-std=gnu11", "-O1", "-D_GNU_SOURCE", "-fno-builtin", "-shared", "-fPIC", *flags, "-o", path,
                  "#{MwrapTest::ROOT}/t/preload/part.c", "-ldl")
    path
  end

  def test_preloads_with_some_functions
    puts "# SEED=#{@seed}"
    of_the_c_librarys_malloc
    in_tmp do |dir|
      File.chmod(0o755, dir)
      16.times do
        below, above = Array.new(2) { PARTS.sample(@random.rand(0..4), random: @random) }
        to_next = Array.new(2) { @random.rand(2).zero? }
        allocator = to_next.all? ? [Allocators.enum_for(:each).filter_map { |_, file,| file }.sample(random: @random)] : []
        why = if above.any? && !to_next[1] then /LD_PRELOAD has another allocator in front/
              elsif allocator.any? && (BASICS - below).empty? then /lacks malloc_usable_size/
              end
        preloads = { below: [part(dir, below, to_next[0]), *allocator], above: [part(dir, above, to_next[1])] }
        # a line is that of the preload in front, which calls the tracker
        cmd = above.any? || why ? COMMANDS.sample(random: @random) : [[program("counts")], [program("stack"), "calls"]].sample(random: @random)
        puts "# #{preloads.transform_values { |p| p.map { |f| File.basename(f) }.join(":") }} #{File.basename(cmd[0])}"
        tracked = twice(*cmd, **preloads, said: why)
        assert_adds_up tracked unless why
      end
    end
  end

  # As the libraries above, within the program, which exports them: the tracker can't see what it keeps hidden.
  def test_programs_with_some_functions
    puts "# SEED=#{@seed}"
    in_tmp do |dir|
      12.times do
        names = PARTS.sample(@random.rand(1..PARTS.size), random: @random)
        flags = [*names.map { |n| "-DHAS_#{n}" }, *["-DNEXT"].sample(@random.rand(2)), *["-no-pie"].sample(@random.rand(2))]
        path = build(dir, "every_call", *flags, "#{MwrapTest::ROOT}/t/preload/part.c") or flunk flags.inspect
        native, tracked = [{}, { "LD_PRELOAD" => MwrapTest::TRACKER }].map { |env| ran([path], env, /a part of an allocator of its own/) }
        assert_equal native, tracked, flags.inspect
        assert_equal ["exit 0", "fine\n"], native[0, 2], flags.inspect
      end
    end
  end

  # --- programs of any kind, started in any way ------------------------------------------------------

  def test_namespaces
    assert_adds_up twice(program("dlmopen"), built("plugins/deep.so"))
  end

  # A library's new and delete lead to the program's malloc then, not to ours.
  def test_new_in_a_program_with_its_own_malloc
    in_tmp do |dir|
      OWN.each do |flags|
        [ALLOCATOR, nil].each do |allocator|
          path = build(dir, "loads_news", flags, *allocator)
          native, tracked = [{}, { "LD_PRELOAD" => MwrapTest::TRACKER }].map { |env| ran([path, built("plugins/news.so")], env) }
          assert_equal ["exit 0", "fine\n", ""], native, flags
          assert_equal native, tracked, "#{flags} #{allocator}"
        end
      end
    end
  end

  KINDS = ["", "-no-pie", "-no-pie -mcmodel=large", "-mcmodel=large", "-fno-plt", "-static", "-static-pie"].freeze
  LINKS = ["", "-Wl,-z,lazy", "-Wl,-z,now", "-Wl,--hash-style=sysv", "-Wl,-z,pack-relative-relocs", "-fuse-ld=gold", "-Wl,-Bsymbolic",
           "-Wl,--gc-sections"].freeze
  ALLOCATOR = "#{MwrapTest::ROOT}/t/preload/bump.c"
  # flags of a program with an allocator of its own, which libraries may call or not
  OWN = ["", "-no-pie", "-fvisibility=hidden"].freeze
  AUDITS = ["#{MwrapTest::BUILT}/preload/audit.so", *Dir["/usr/lib/*/audit/sotruss-lib.so"]].freeze
  VARIABLES = ->(dir) do
    [{ "LD_BIND_NOW" => "1" }, { "LD_BIND_NOT" => "1" }, { "LD_DYNAMIC_WEAK" => "1" },
     *AUDITS.map { |audit| { "LD_AUDIT" => audit, "SOTRUSS_OUTNAME" => "#{dir}/sotruss" } },
     { "LD_PROFILE" => "libc.so.6", "LD_PROFILE_OUTPUT" => dir },
     { "LD_DEBUG" => "bindings", "LD_DEBUG_OUTPUT" => "#{dir}/debug" }]
  end
  FAKES = Dir["/usr/lib/*/{libfakeroot/libfakeroot-sysv.so,fakechroot/libfakechroot.so}"].freeze
  LINKER = Dir["/lib*/ld-linux*.so*"].find { |path| system(path, "/bin/true", err: File::NULL) }

  def build(dir, source, *flags)
    path = "#{dir}/program-#{flags.hash}"
    system(ENV["CC"] || "cc", "-std=gnu11", "-O1", "-w", "-fno-builtin", "-D_GNU_SOURCE", "-rdynamic", *flags.flat_map(&:split),
           "-o", path, "#{MwrapTest::ROOT}/t/programs/#{source}.c", "-ldl", "-lpthread", err: File::NULL)
    path if File.exist?(path)
  end

  # A program, its arguments, and what the launcher says of it
  def some_program(dir)
    link = LINKS.sample(random: @random)
    if @random.rand(4).zero?
      source, argument = [%w[exits return], ["every_call", nil]].sample(random: @random)
      return [build(dir, source, "-DROUNDS=200", OWN.sample(random: @random), link, ALLOCATOR), argument, :own]
    end
    kind = KINDS.sample(random: @random)
    kind.start_with?("-static") ? [build(dir, "exits", kind), "return", :static] : [build(dir, "counts", kind, link), nil, nil]
  end

  SAYS = { own: "has a malloc of its own: its calls aren't tracked, unless that passes them on",
           static: "statically linked: runs without the tracker" }.freeze

  # Words on stderr that the linker says of other programs, too
  def words(run) = run.stderr.lines.grep_v(/: (?:Relink `|cannot trace PLT enter)/).join

  # How to start it: the command, its environment, whether the launcher sees the program
  def started(way, command, preloads, env)
    order = [MwrapTest::TRACKER, *preloads]
    before = @random.rand(preloads.index { |f| f.match?(/malloc|bump/) }&.succ || order.size)
    order = order.drop(1).insert(before, order[0]) unless way == "launcher"
    given = preloads.empty? ? {} : { "LD_PRELOAD" => preloads.join(":") }
    case way
    when "launcher" then [[MwrapTest::LAUNCHER, *command], env.merge(given), true]
    when "launcher, linker" then [[MwrapTest::LAUNCHER, LINKER, *command], env.merge(given), false]
    when "fakeroot, launcher" then [["fakeroot", MwrapTest::LAUNCHER, *command], env.merge(given), true]
    when "launcher, fakeroot" then [[MwrapTest::LAUNCHER, "fakeroot", "--", *command], env.merge(given), false]
    when "linker" then [[LINKER, "--preload", order.join(":"), *command], env, false]
    else [command, env.merge("LD_PRELOAD" => order.join(":")), false]
    end
  end
  WAYS = ["launcher", "launcher", "launcher, linker", "fakeroot, launcher", "launcher, fakeroot", "linker", "LD_PRELOAD"].freeze

  def test_programs_and_ways_to_start_them
    puts "# SEED=#{@seed}"
    assert_equal 2, FAKES.size, "fakeroot and fakechroot aren't installed"
    in_tmp do |dir|
      programs = Array.new(9) { some_program(dir) }.select(&:first).uniq
      assert_operator programs.size, :>=, 5
      tried = Array.new(30) { try(dir, *programs.sample(random: @random)) }.compact
      puts "# #{tried.tally.map { |what, n| "#{n} #{what}" }.join(", ")}"
      assert_operator tried.size, :>=, 12
    end
  end

  # Does a Ruby, as the launcher is one, run there? A static program doesn't show that these don't get along.
  def lives?(env)
    run_command(MwrapTest::RUBY, "--disable=gems", "-e", "", env: env, timeout: 5).status.success?
  rescue Minitest::Assertion # it hangs
    false
  end

  # nil: it doesn't run natively
  def try(dir, path, argument, kind)
    allocators, others = [*OTHERS, built("preload/bump.so")].partition { |f| f.match?(/malloc|bump/) }
    preloads = [*(others + FAKES).sample(@random.rand(3), random: @random), *allocators.sample(@random.rand(2), random: @random)]
    preloads.reject! { |f| f.include?("socks") } if preloads.any? { |f| f.match?(/malloc/) } # as above
    way = WAYS.sample(random: @random)
    env = VARIABLES.call(dir).sample(@random.rand(3), random: @random).reduce({}, :merge)
    env.delete("LD_PROFILE") if way.include?("launcher") # its timer outlives exec, and may end the next program before that is ready
    natively = preloads.empty? ? env : env.merge("LD_PRELOAD" => preloads.join(":"))
    return unless lives?(natively)
    native = run_command(path, *argument, env: natively, timeout: 20)
    return unless native.status.success?
    FileUtils.rm_f(Dir["#{dir}/dump.*"])
    command, env, seen = started(way, [path, *argument], preloads, env)
    run = run_command(*command, env: env.merge("MWRAP" => "dump_path:#{dir}/dump.%p,dump_format:tsv"), timeout: 40)
    what = "#{way} #{preloads.join(":")} #{env} #{kind} #{path}: #{run.stderr}"
    assert_equal [0, *native.stdout.lines.grep_v(/\A#/)], [run.status.exitstatus, *run.stdout.lines.grep_v(/\A#/)], what
    assert_equal "#{"mwrap: #{path}: #{SAYS[kind]}\n" if kind && seen}#{words(native)}", words(run), what
    assert_counted(dir, run, what) unless kind
    kind || way
  end

  def assert_counted(dir, run, what)
    rows = Dir["#{dir}/dump.*"].flat_map { |f| MwrapTest::Dump.tsv(File.binread(f)).flatten }
    all = run.stdout.scan(/^expect (\S+)((?: -?\d+){6})$/)
    refute_empty all
    all.each do |function, figures|
      mine = rows.select { |r| r.location.include?("(#{function}+0x") }
      assert_equal figures.split.map(&:to_i), Hazard::FIGURES.map { |c| mine.sum(&c) }, "#{function}: #{what}"
    end
  end
end
