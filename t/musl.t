#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Programs of musl, which a tracker for glibc can't be in: they run as without it, and the launcher says so.
# And mwrap is built for musl, where its tracker counts, serves, and records programs in C.

require_relative "lib/allocators"
require_relative "lib/callgrind"
require_relative "lib/launcher"
require_relative "lib/served"
require "minitest/mock"

class MuslTest < Minitest::Test
  include MwrapTest
  include Callgrind
  include HttpdTest
  include Served

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
    super
    @program = "#{@dir}/program"
    File.write("#{@dir}/program.c", CODE)
    assert_success run_command("musl-gcc", "-o", @program, "#{@dir}/program.c")
    natively = run_command(@program)
    skip "no program of musl runs here" unless natively.status.exitstatus == 5
  end

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

  # Debian has no library for musl: glibc's archives serve, whose names of glibc's own are here. Nobody asks for TLS.
  STUBS = <<~C
    #include <stdarg.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/sendfile.h>
    #include <unistd.h>
    #undef pread64
    #undef sendfile64
    #pragma GCC visibility push(hidden)
    static int failed(void) { return 0; }
    int __fprintf_chk(FILE *f, int flag, const char *format, ...) { abort(); }
    int __vfprintf_chk(FILE *f, int flag, const char *format, va_list args) { return vfprintf(f, format, args); }
    int __vsnprintf_chk(char *s, size_t n, int flag, size_t room, const char *format, va_list args) { return vsnprintf(s, n, format, args); }
    int __snprintf_chk(char *s, size_t n, int flag, size_t room, const char *format, ...)
    {
    	va_list args;
    	va_start(args, format);
    	int length = vsnprintf(s, n, format, args);
    	va_end(args);
    	return length;
    }
    void *__memcpy_chk(void *to, const void *from, size_t n, size_t room) { return memcpy(to, from, n); }
    long __fdelt_chk(long fd) { return fd / 64; }
    /* musl has no such names from 1.2.4 on */
    ssize_t pread64(int fd, void *to, size_t n, off_t at) { return pread(fd, to, n, at); }
    ssize_t sendfile64(int to, int from, off_t *at, size_t n) { return sendfile(to, from, at, n); }
    long __isoc23_strtol(const char *s, char **end, int base) { return strtol(s, end, base); }
    unsigned long __isoc23_strtoul(const char *s, char **end, int base) { return strtoul(s, end, base); }
  C
  ARCHIVES = %w[urcu-cds urcu-common microhttpd z].freeze
  FLAGS = %w[-O1 -Wall -Wextra -Wno-unused-parameter -Werror].freeze
  PROGRAMS = %w[agree_slots exits forks million ring].freeze

  # A copy of the checkout in which make has built for musl what doesn't need a Ruby for musl. Each test uses the same.
  def self.tree = @tree ||= Dir.mktmpdir("mwrap-musl").tap { |dir| Minitest.after_run { FileUtils.rm_rf(dir) } }.tap { |dir| Tree.new(dir).build }

  Tree = Struct.new(:dir) do
    include MwrapTest

    def build
      %w[bin lib/mwrap web].each { |name| FileUtils.mkdir_p("#{dir}/#{name}") }
      FileUtils.cp_r(%w[GNUmakefile src t].map { |name| "#{ROOT}/#{name}" }, dir)
      FileUtils.cp_r(Dir["#{ROOT}/web/{dist,*.*}"], "#{dir}/web")
      FileUtils.cp_r(Dir["#{LIB}/*"].reject { |f| f.end_with?(".so") }, "#{dir}/lib")
      FileUtils.rm_f(Dir["#{dir}/lib/mwrap/{mwrap-*,*.so}"])
      headers
      libraries
      run = run_command("make", "-j2", "CC=musl-gcc -isystem #{dir}/include -L#{dir}/archives", "CFLAGS=#{FLAGS.join(" ")}", "RUBY=#{RUBY}",
                        "URCU_LIBS=#{dir}/stderr.o -lurcu-cds -lurcu-common -lstubs", "MHD_LIBS=#{dir}/stderr.o -lmicrohttpd -lstubs",
                        "tracker", "server", "recorder", "replay", *PROGRAMS.map { |name| ".build/t/programs/#{name}" },
                        chdir: dir, env: { "MAKEFLAGS" => nil, "MFLAGS" => nil }, timeout: 600)
      run.status.success? or raise "#{run.stdout}#{run.stderr}"
    end

    private

    # Those that don't depend on the C library come from where glibc's are.
    def headers
      Dir.mkdir("#{dir}/include")
      [*%w[linux asm-generic microhttpd.h xxhash.h xxh3.h zlib.h zconf.h], *Dir.glob("{*-linux-gnu/,}{asm,urcu*}", base: "/usr/include")].each do |name|
        FileUtils.ln_sf("/usr/include/#{name}", "#{dir}/include/#{File.basename(name)}")
      end
    end

    def libraries
      Dir.mkdir("#{dir}/archives")
      ARCHIVES.each { |name| FileUtils.ln_s(Dir["/usr/lib/*/lib#{name}.a"][0] || raise("lib#{name}.a isn't installed"), "#{dir}/archives/") }
      tls = run_command("nm", "-u", "#{dir}/archives/libmicrohttpd.a").stdout.scan(/ U (gnutls_\w+)/).flatten.uniq
      compile("stubs", STUBS + tls.map { |name| "int #{name}(void) { return failed(); }\n" }.join)
      # what they only write their last words to
      compile("stderr", "__attribute__((visibility(\"hidden\"))) void *stderr;\n")
      run = run_command("ar", "rcs", "archives/libstubs.a", "stubs.o", chdir: dir)
      run.status.success? or raise run.stderr
    end

    def compile(name, text)
      File.write("#{dir}/#{name}.c", text)
      run = run_command("musl-gcc", "-w", "-fPIC", "-c", "#{name}.c", chdir: dir)
      run.status.success? or raise run.stderr
    end
  end

  def tree = self.class.tree

  # The environment of a program under the tracker for musl
  def under(options) = { "LD_PRELOAD" => "#{tree}/lib/libmwrap.so", "MWRAP" => options }

  def test_it_counts
    [%w[exits return], %w[million], %w[ring 3000], %w[forks storm]].each { |name, *words| counted(name, *words) }
    a_pair_costs
  end

  # A program counts as it says itself, in each process.
  def counted(name, *words)
    run = run_command("#{tree}/.build/t/programs/#{name}", *words, env: under("dump_path:#{@dir}/#{name}.%p,dump_format:tsv"))
    assert_success run
    expected = run.stdout.scan(/^(?:# (\d+) )?expect (\S+)((?: -?\d+){6})$/)
    refute_empty expected
    expected.each do |pid, function, figures|
      rows = Dump.tsv(File.binread("#{@dir}/#{name}.#{pid || run.status.pid}")).flatten.select { |r| r.location.include?("(#{function}+0x") }
      got = %i[allocations frees total live live_bytes growth].map { |column| rows.sum(&column) }
      assert_equal figures.split.map(&:to_i), got, "#{name}: #{function} in #{pid || "the first process"}"
    end
  end

  # Instructions of a malloc and a free, more than without the tracker: some 165, and 440 where a block's room is asked for.
  def a_pair_costs
    pair = "#{@dir}/pair"
    linker = run_command("readelf", "-l", @program).stdout[/interpreter: (\S+?)\]/, 1]
    assert_success run_command("musl-gcc", "-std=gnu11", "-O2", "-w", "-fno-builtin", "-D_GNU_SOURCE", "-o", pair, "#{ROOT}/t/bench/programs/pair.c")
    without, with = [[], ["--preload", "#{tree}/lib/libmwrap.so"]].map do |preload|
      each_round(5_000, 25_000) { |n| callgrind(linker, *preload, pair, "1", n.to_s) { |lines| lines.grep(/\Atotals: /).sum { |l| l[/\d+/].to_i } } } / 1.1
    end
    assert_includes 60..200, (with - without).round, "a pair: #{without.round} and #{with.round}"
  end

  # Eight threads, looked at in every form that there is: the same tests as with glibc, in the copy
  SAME = { "agree.t" => "/AgreeInC/", "threads_http.t" => "/exact/" }.freeze

  def test_every_form
    SAME.each do |file, tests|
      run = run_command(RUBY, "-I#{tree}/t", "#{tree}/t/#{file}", "-n", tests, timeout: 300)
      assert_success run
      assert_operator run.stdout.scan(/^ok /).size, :>=, 2, run.stdout
    end
  end

  FAMILY = <<~'C'
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>
    void of_parent(void)
    {
    	for (int i = 0; i < 1000; i++)
    		if (!malloc(1000))
    			abort();
    }
    void of_child(void)
    {
    	for (int i = 0; i < 3000; i++)
    		if (!malloc(1000))
    			abort();
    }
    int main(void)
    {
    	int end[2];
    	pid_t child;
    	if (pipe(end))
    		return 1;
    	of_parent();
    	child = fork();
    	if (!child) {
    		of_child();
    		close(end[1]);
    		return (int)read(end[0], &child, 1);
    	}
    	printf("%d\n", child);
    	fflush(stdout);
    	getchar();
    	close(end[1]);
    	return waitpid(child, &child, 0) < 0 || child;
    }
  C

  # Parent and child answer, alone and together, and what they recorded is what they did.
  def test_a_family
    File.write(path("family.c"), FAMILY)
    assert_success run_command("musl-gcc", "-O1", "-fno-builtin", "-fno-inline", "-rdynamic", "-w", "-o", path("family"), path("family.c"))
    options = ["children:all", "trace_path:#{path("rec")}"]
    app = served(path("family"), options: options, env: { "LD_PRELOAD" => "#{tree}/lib/libmwrap.so" })
    child = app.hear.to_i
    eventually("both") { JSON.parse(body("/family.json"))["processes"].map { |p| p["pid"] }.sort == [app.pid, child].sort }
    assert_equal({ "of_parent" => [1000, 2000, 2], "of_child" => [3000, 3000, 1] }, sums("/all/each/0.tsv"))
    assert_equal({ "of_parent" => [1000, 1000] }, sums("/each/0.tsv"))
    assert_equal [3000, 3000], sums("/each/0.tsv", at: "#{path}.#{child}")["of_child"]
    %w[/ /map.json /verdict.json /metrics /all/metrics].each { |page| refute_empty body(page), page }
    assert app.finish.success?, app.stderr
    # what lived as a recording began, and what came
    blocks = ["rec", "rec.#{child}"].map { |name| replay("text", path(name)).scan(/\t(?:live|malloc)\t.*\((of_\w+)/).flatten.tally }
    assert_equal [{ "of_parent" => 1000 }, { "of_parent" => 1000, "of_child" => 3000 }], blocks
  end

  def replay(*words) = run_command("#{tree}/lib/mwrap/mwrap-replay", *words).tap { |run| assert_success run }.stdout

  # Of each function: allocations, live blocks, and processes
  def sums(page, at: path)
    names, *rows = body(page, at: at).lines(chomp: true).map { |l| l.split("\t", -1) }
    rows.map { |row| names.zip(row).to_h }.to_h do |r|
      [r["location"][/\((of_\w+)/, 1], r.values_at("allocations", "live", "processes").compact.map(&:to_i)]
    end.except(nil)
  end

  # Processes of glibc that those of musl start, and the other way round. glibc's run as without the tracker.
  def test_glibc_and_back
    require "#{LIB}/mwrap/executable"
    assert_equal TRACKER, Mwrap::Executable.for_preload(TRACKER)
    ours = Mwrap::Executable.for_preload("#{tree}/lib/libmwrap.so")
    assert_equal "#{tree}/lib/mwrap/preload/$LIB/libmwrap.so", ours
    native, tracked = [nil, ours].map do |preload|
      [["sh", "-c", "echo \"$1\"; exec \"$2\"", "-", "a b", @program], ["env", @program, "env", @program], [RUBY, "--disable=gems", "-e", "exec(*ARGV)", @program],
       ["/bin/false"], ["readlink", "-f", "/proc/self/exe"]].map do |words|
        run_command(@program, *words, env: { "LD_PRELOAD" => preload, "MWRAP" => "dump_path:#{path("back")}.%p,dump_format:tsv" })
      end
    end
    native.zip(tracked) { |n, t| assert_equal [n.stdout, n.stderr, n.status.exitstatus], [t.stdout, t.stderr, t.status.exitstatus] }
    # the last process of the first three is of musl
    assert_equal tracked.first(3).map { |run| "#{path("back")}.#{run.status.pid}" }.sort, Dir["#{path("back")}.*"].sort
    of_main = Dump.tsv(File.binread("#{path("back")}.#{tracked[0].status.pid}")).flatten.find { |r| r.location.start_with?(@program) }
    assert_equal 1000, of_main.live_bytes
    refute_includes run_command(@program, "cat", "/proc/self/maps", env: { "LD_PRELOAD" => ours }).stdout, "libmwrap.so"
  end

  # Debian's file for musl is called libc.so, as others' is. mwrapctl runs on glibc here.
  def test_doctor
    program = path("ruby")
    File.write(path("waits.c"), "#include <stdio.h>\nint main(void) { puts(\"up\"); fflush(stdout); return getchar() == 0; }\n")
    assert_success run_command("musl-gcc", "-o", program, path("waits.c"))
    { { "LD_PRELOAD" => nil } => "bad tracker    not in the process: it was started without mwrap\n               start it with mwrap\n    allocator  musl\n",
      under("socket:#{path}") => "ok  tracker    in the process since its start\nok  server     #{path}\n" }.each do |env, says|
      app = HttpdTest::Child.new({ "MWRAP" => nil, **env }, program, log: path("log"))
      @fakes << app
      app.hear
      wait_for_server(path) if env["MWRAP"]
      run = run_command(RUBY, "#{tree}/lib/exe/mwrapctl", "doctor", app.pid.to_s)
      assert_operator run.stdout, :start_with?, says
      assert_match(/^    allocator  musl$\n\z/, run.stdout)
    end
  end

  def blocks(compiler, *flags, env: {})
    seed = rand(1_000_000)
    assert_success run_command(compiler, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fno-builtin", "-D_GNU_SOURCE", "-I#{ROOT}/src", *flags,
                               "-o", "#{@dir}/blocks", "#{ROOT}/t/musl/blocks.c", "-lpthread")
    [run_command("#{@dir}/blocks", seed.to_s, env: env), "seed #{seed}"]
  end

  # Of random blocks the tracker reads what musl says.
  def test_its_blocks
    run, seed = blocks("musl-gcc", "-isystem#{tree}/include")
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
