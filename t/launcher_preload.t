#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# bin/mwrap: what is loaded into the command, the tracker and an allocator beneath; which programs run
# without it; what is said where it can't be loaded. t/launcher.t has options and the command.

require_relative "lib/allocators"
require_relative "lib/launcher"

class TestOfLauncherPreload < Minitest::Test
  include LauncherTest

  def ld_preload(dir, before)
    run = launch(dir, "sh", "-c", "echo \"$LD_PRELOAD\"", env: { "LD_PRELOAD" => before })
    assert_success run
    run.stdout.chomp
  end

  def test_the_tracker_comes_first_and_what_was_there_stays
    layout do |dir|
      ours = preloaded("#{dir}/lib")
      other, another = preload("fake_api"), preload("above")
      assert_equal ours, ld_preload(dir, nil)
      assert_equal ours, ld_preload(dir, "")
      assert_equal "#{ours}:#{other}", ld_preload(dir, other)
      assert_equal "#{ours}:#{other}:#{another}", ld_preload(dir, "#{other} #{another}")
      assert_equal "#{ours}:#{other}:#{another}", ld_preload(dir, " #{other}:: #{another}:")
    end
  end

  def test_an_older_copy_is_replaced
    layout do |dir, tmp|
      FileUtils.mkdir("#{tmp}/old")
      old = %w[libmwrap.so mwrap.so].map { |name| "#{tmp}/old/#{name}" }
      old.each { |path| FileUtils.cp(preload("fake_api"), path) }
      other = preload("above")
      assert_equal "#{preloaded("#{dir}/lib")}:#{other}", ld_preload(dir, "#{old[0]}:#{other}:#{old[1]}")
    end
  end

  def test_relative_paths_become_absolute_for_the_whole_family
    layout do |dir, tmp|
      here = File.join(tmp, "a,b%p")
      Dir.mkdir(here)
      there = File.join(File.realpath(tmp), "a\\,b%%p")
      { "socket:s" => "socket:#{there}/s",
        "read_only:1,socket_dir:d,dump_path:/d" => "read_only:1,socket_dir:#{there}/d,dump_path:/d",
        "dump_path:x\\,socket:y,socket:./z" => "dump_path:#{there}/x\\,socket:y,socket:#{there}/./z",
        "token_file:t,socket:/s" => "token_file:#{there}/t,socket:/s",
        "dump_min:1" => "dump_min:1" }.each do |given, got|
        r = launch(dir, "sh", "-c", "printf %s \"$MWRAP\"", env: { "MWRAP" => given }, chdir: here)
        assert_equal [got, ""], [r.stdout, r.stderr]
      end
    end
  end

  def test_twice_is_as_once
    layout do |dir|
      run = launch(dir, "#{dir}/bin/mwrap", "sh", "-c", "echo $LD_PRELOAD")
      assert_equal "#{preloaded("#{dir}/lib")}\n", run.stdout
    end
  end

  def test_it_is_loaded_into_the_command
    layout do |dir, tmp|
      assert_success launch(dir, "true", env: { "FAKE_API_LOG" => "#{tmp}/log" })
      assert_match(/\Aprocess made=0 /, File.read("#{tmp}/log"))
    end
  end

  def test_works_through_a_symlink
    layout do |dir, tmp|
      File.symlink("#{dir}/bin/mwrap", "#{tmp}/mwrap")
      run = run_command("#{tmp}/mwrap", "sh", "-c", "echo $LD_PRELOAD")
      assert_equal "#{preloaded("#{dir}/lib")}\n", run.stdout
    end
  end

  # RubyGems: a stub loads lib/exe/mwrap, what was built is in another directory
  # of the load path.
  def test_works_as_a_gem
    layout do |dir, tmp|
      FileUtils.mkdir_p("#{tmp}/ext/mwrap")
      FileUtils.mv("#{dir}/lib/libmwrap.so", "#{tmp}/ext")
      FileUtils.mv("#{dir}/lib/mwrap/mwrap_ext.so", "#{tmp}/ext/mwrap")
      File.write("#{tmp}/stub", "$LOAD_PATH.unshift('#{tmp}/ext', '#{dir}/lib')\nload '#{dir}/lib/exe/mwrap'\n")
      run = run_command(RUBY, "#{tmp}/stub", "sh", "-c", "echo $LD_PRELOAD")
      assert_equal "#{preloaded("#{File.realpath(tmp)}/ext")}\n", run.stdout
      assert_refused run_command(RUBY, "#{tmp}/stub", "true", env: { "MWRAP" => "x:1" }), /"x": unknown option.*/
    end
  end

  def test_says_what_is_not_built
    layout(tracker: nil) do |dir|
      assert_refused launch(dir, "true"), "#{dir}/lib/libmwrap.so: not built: run make in #{dir}"
    end
    layout do |dir|
      File.unlink("#{dir}/lib/mwrap/mwrap_ext.so")
      assert_refused launch(dir, "true"),
        /the Ruby extension: can't be loaded \(.*mwrap_ext.*\): run make in #{dir} with this Ruby \(#{RUBY_VERSION}\)/
    end
  end

  def test_refuses_a_path_that_cannot_be_preloaded
    ["with space", "with:colon", "with$ORIGIN"].each do |name|
      layout(name: name) do |dir|
        run = run_command(RUBY, "#{dir}/lib/exe/mwrap", "true")
        assert_refused run, "#{dir}/lib/libmwrap.so: can't be preloaded: move it to a path without spaces, colons and $"
      end
    end
  end
end

class TestOfLauncherWarnings < Minitest::Test
  include LauncherTest

  STATIC = "statically linked: runs without the tracker"

  def test_a_static_binary_is_warned_of_and_runs
    layout do |dir, tmp|
      static = static(tmp)
      run = launch(dir, static)
      assert_equal "mwrap: #{static}: #{STATIC}\n", run.stderr
      assert_equal 7, run.status.exitstatus
    end
  end

  def test_a_script_of_a_static_interpreter_is_warned_of
    layout do |dir, tmp|
      static = static(tmp)
      ["#!#{static}\n", "#! #{static} -x\n", "#!/usr/bin/env #{File.basename(static)}\n"].each do |line|
        File.write("#{tmp}/script", line)
        File.chmod(0o755, "#{tmp}/script")
        run = launch(dir, "#{tmp}/script", env: { "PATH" => "#{tmp}:#{ENV["PATH"]}" })
        assert_equal "mwrap: #{tmp}/script (#{static}): #{STATIC}\n", run.stderr
        assert_equal 7, run.status.exitstatus
      end
    end
  end

  def test_a_setuid_program_of_another_user_is_warned_of
    layout do |dir, tmp|
      command = ["su", "--version"]
      if Process.euid.zero?
        FileUtils.cp("/bin/true", "#{tmp}/setuid")
        File.chown(65_534, 65_534, "#{tmp}/setuid")
        File.chmod(0o4755, "#{tmp}/setuid")
        File.chmod(0o755, tmp)
        command = ["#{tmp}/setuid"]
      end
      run = launch(dir, *command)
      assert_match(/\Amwrap: #{command[0]}: setuid or setgid: runs without the tracker$/, run.stderr)
      assert_success run
    end
  end

  def test_another_architecture_is_warned_of
    layout do |dir, tmp|
      elf = File.binread("/bin/true")
      elf.setbyte(18, elf.getbyte(18) ^ 0x55)
      File.binwrite("#{tmp}/alien", elf)
      File.chmod(0o755, "#{tmp}/alien")
      run = launch(dir, "#{tmp}/alien")
      assert_equal "mwrap: #{tmp}/alien: of another architecture than the tracker: runs without it",
        run.stderr.lines(chomp: true)[0]
      refute run.status.success?
    end
  end

  OWN_MALLOC = <<~C
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <stddef.h>
    void *other_malloc(size_t n) { return (void *)n; }
    void *malloc(size_t n) { return ((void *(*)(size_t))dlsym(RTLD_NEXT, "malloc"))(n); }
    int main(void) { for (int i = 0; i < 77; i++) malloc(100); return 0; }
  C

  # Its name may be the end of a longer one; without a table of symbols nothing is said. Calls that it passes on
  # are counted.
  def test_a_malloc_of_its_own_is_told
    in_tmp do |tmp|
      File.write("#{tmp}/own.c", OWN_MALLOC)
      { [] => true, %w[-rdynamic] => true, %w[-rdynamic -s] => true, %w[-fvisibility=hidden] => true, %w[-no-pie -fvisibility=hidden] => true,
        %w[-fvisibility=hidden -s] => false }.each do |flags, told|
        assert system("cc", "-w", "-fno-builtin", *flags, "-o", "#{tmp}/own", "#{tmp}/own.c", "-ldl")
        run = run_command(LAUNCHER, "#{tmp}/own", env: { "MWRAP" => "dump_path:#{tmp}/dump,dump_format:tsv" })
        line = "mwrap: #{tmp}/own: has a malloc of its own: its calls aren't tracked, unless that passes them on\n"
        assert_equal [told ? line : "", 0], [run.stderr, run.status.exitstatus], flags.join(" ")
        assert_includes Dump.tsv(File.binread("#{tmp}/dump")).flatten.map(&:allocations), 77, flags.join(" ")
        File.unlink("#{tmp}/dump")
      end
    end
  end

  # Nothing is said of these.
  def test_ordinary_programs_are_not_warned_of
    layout do |dir, tmp|
      File.write("#{tmp}/script", "#!/usr/bin/env ruby\n")
      File.write("#{tmp}/loop", "#!#{tmp}/loop\n")
      File.write("#{tmp}/cut", "\x7FELF\x02\x01\x01".b)
      File.write("#{tmp}/empty", "")
      Dir["#{tmp}/{script,loop,cut,empty}"].each { |f| File.chmod(0o755, f) }
      # the one for programs of this machine's kind: there may be others
      linker = Dir["/lib*/ld-linux*.so*"].find { |l| system(l, "/bin/true", err: File::NULL) }
      [["true"], ["sh", "-c", ":"], ["#{tmp}/script"], ["#{tmp}/empty"], *([[linker, "/bin/true"]] if linker)].each do |command|
        run = launch(dir, *command)
        assert_equal "", run.stderr, command.inspect
        assert_success run
      end
      # these can't run, but don't upset the launcher either
      %w[loop cut].each { |f| refute_match(/\.rb:\d+/, launch(dir, "#{tmp}/#{f}").stderr) }
    end
  end

  private

  def static(dir)
    File.write("#{dir}/static.c", "int main(void) { return 7; }\n")
    run = run_command(ENV["CC"] || "cc", "-static", "-o", "#{dir}/static", "#{dir}/static.c")
    skip "no static libc to link to" unless run.status.success?
    "#{dir}/static"
  end
end

# malloc:NAME puts another allocator beneath.
class TestOfLauncherAllocators < Minitest::Test
  include LauncherTest

  SEEN = 'puts ENV["LD_PRELOAD"].split(":").map { File.basename(_1) }.join(" "),
    File.read("/proc/self/maps").scan(/lib(?:jemalloc|mimalloc|tcmalloc\w*)/).uniq.join(" ")'

  def test_it_is_beneath_and_counted
    Allocators.each do |name, path, package|
      assert path, "#{name} isn't installed: #{package}"
      in_tmp do |dir|
        env = { "MWRAP" => "malloc:#{name},dump_path:#{dir}/dump" }
        run = run_command(LAUNCHER, RUBY, "--disable-gems", "-e", SEEN, env: env)
        assert_success run
        preload, mapped = run.stdout.lines(chomp: true)
        assert_match(/\Alibmwrap\.so lib#{name}[\w.]*\z/, preload)
        assert_equal 1, mapped.split.size, mapped
        assert_includes mapped, name
        assert_match(/^ *\d+ +\d+ +-e:1$/, File.read("#{dir}/dump"))
      end
    end
  end

  def test_it_is_there_once_and_before_others
    _, jemalloc, = Allocators.enum_for(:each).find { |name,| name == "jemalloc" }
    env = { "MWRAP" => "malloc:jemalloc", "LD_PRELOAD" => "#{preload("witness")}:#{jemalloc}" }
    run = run_command(LAUNCHER, RUBY, "--disable-gems", "-e", 'puts ENV["LD_PRELOAD"]', env: env)
    assert_success run
    assert_equal %w[libmwrap.so libjemalloc.so.2] << File.basename(preload("witness")),
                 run.stdout.chomp.split(":").map { |f| File.basename(f) }
  end

  def test_refuses_what_is_not_installed_and_what_is_not_known
    layout do |dir|
      file = "#{dir}/lib/mwrap/allocators.rb"
      File.write(file, File.read(file).gsub("libjemalloc", "libnowhere"))
      assert_refused launch(dir, "true", env: { "MWRAP" => "malloc:jemalloc" }),
                     'malloc: "jemalloc" is not installed: install it (Debian: libnowhere2)'
      assert_refused launch(dir, "true", env: { "MWRAP" => "malloc:glibc" }),
                     'malloc: "glibc" is unknown: use jemalloc, mimalloc or tcmalloc'
    end
  end

  # Of several versions the newest; never a link for the linker of programs, nor what can't be preloaded.
  def test_which_one_is_found
    require "#{LIB}/mwrap/allocators"
    in_tmp do |dir|
      FileUtils.mkdir_p("#{dir}/a b")
      names = %w[libmimalloc.so.2.9 libmimalloc.so.2.10 libmimalloc.so libmimalloc.so.1 libtcmalloc.so.4
                 libtcmalloc_minimal.so.4] << "a b/libmimalloc.so.7"
      paths = names.map { |n| File.join(dir, n).tap { |path| FileUtils.touch(path) } }
      found = %w[mimalloc tcmalloc jemalloc].map { |name| Mwrap::Allocators.find(name, paths << "#{dir}/libjemalloc.so.2") }
      assert_equal ["#{dir}/libmimalloc.so.2.10", "#{dir}/libtcmalloc_minimal.so.4", nil], found
    end
  end
end

# An image that lacks a library, or has an older one than the tracker was built with:
# the tracker itself, with another name in it that the real dynamic linker looks for.
class TestOfLauncherLinker < Minitest::Test
  include LauncherTest

  # A copy in which one string of the dynamic linker's is another of the same size.
  def altered(dir, file, from, to)
    elf = File.binread("#{LIB}/#{file}")
    name = elf[from] or flunk "#{file} has no #{from.inspect}"
    elf.gsub!("\0#{name}\0".b, "\0#{to.ljust(name.size, "x")}\0".b)
    # as a version is looked for: by this number first
    elf.gsub!([elf_hash(name)].pack("L"), [elf_hash(to)].pack("L")) if name.start_with?("GLIBC_")
    File.join(dir, file).tap { |path| File.binwrite(path, elf) }
  end

  def elf_hash(name)
    name.bytes.inject(0) do |h, byte|
      h = (h << 4) + byte
      (h ^ (h & 0xf0000000) >> 24) & 0xfffffff
    end
  end

  # The process ends so without the check, and says so with it.
  def assert_told(from, to, line, without)
    in_tmp do |other|
      tracker = altered(other, "libmwrap.so", from, to)
      natively = run_command("true", env: { "LD_PRELOAD" => tracker })
      refute natively.status.success?
      assert_match without, natively.stderr
      layout(tracker: tracker) do |dir, tmp|
        assert_refused launch(dir, "touch", "#{tmp}/ran"), line
        refute File.exist?("#{tmp}/ran")
        assert_success launch(dir, "--version")
      end
    end
  end

  def test_a_library_that_is_missing
    assert_told(/liburcu-cds\.so\.\d+/n, "liburcu-no", "liburcu-noxxxxxx: not found: install it (Debian: liburcu8t64 or liburcu8)",
                /error while loading shared libraries/)
  end

  def test_a_c_library_that_is_too_old
    assert_told(/GLIBC_2\.35/n, "GLIBC_2.99",
                /\S*libc\.so\.6: has no GLIBC_2\.99, which libmwrap\.so needs: build mwrap on this system \(it needs glibc 2\.35 or newer\)/,
                /GLIBC_2\.99' not found/)
  end

  def test_a_library_that_is_too_old
    assert_told(/cds_lfht_lookup/n, "cds_lfht_yonder",
                /\S*libmwrap\.so: no library here has cds_lfht_yonder: build mwrap on this system/, /undefined symbol: cds_lfht_yonder/)
  end

  # Only where an option asks for a server.
  def test_a_library_of_the_servers_that_is_missing
    layout(tracker: TRACKER) do |dir, tmp|
      FileUtils.cp("#{LIB}/libmwrap_httpd.so", "#{dir}/lib")
      altered("#{dir}/lib", "libmwrap_mhd.so", /libmicrohttpd\.so\.\d+/n, "libmicrohttpd.no")
      line = /libmicrohttpd\.nox*: not found: install it \(Debian: libmicrohttpd12t64 or libmicrohttpd12\)/
      ["socket:#{tmp}/s", "dump_min:1,socket_dir:#{tmp}", "listen:127.0.0.1:0"].each do |options|
        assert_refused launch(dir, "touch", "#{tmp}/ran", env: { "MWRAP" => options }), line
        refute File.exist?("#{tmp}/ran")
      end
      run = launch(dir, "echo", "ran", env: { "MWRAP" => "dump_min:1" })
      assert_equal ["ran\n", ""], [run.stdout, run.stderr]
    end
  end

  # The words of other cases, as the linker has them.
  def test_what_else_the_linker_says
    require "#{LIB}/mwrap/linker"
    { "" => nil, "ruby 3.4.1\n" => nil, "\tlibc.so.6 => /lib/libc.so.6 (0x0000)\n" => nil,
      "undefined symbol: x\t(/other.so)\n" => nil,
      "\tliba.so.1 => not found\n\tliba.so.1 => not found\n" => "liba.so.1: not found: install it",
      "\tliburcu-cds.so.8 => not found\n\tliburcu-common.so.8 => not found\n" =>
        "liburcu-cds.so.8, liburcu-common.so.8: not found: install them (Debian: liburcu8t64 or liburcu8)",
      "ERROR: ld.so: object '/a/libmwrap.so' from LD_PRELOAD cannot be preloaded (failed to map segment): ignored.\n" =>
        "/a/libmwrap.so: can't be preloaded: failed to map segment",
      "ruby: error while loading shared libraries: /lib/x.so: file too short\n" => "/lib/x.so: can't be loaded: file too short"
    }.each { |said, line| assert_equal [line], [Mwrap::Linker.read(said.b, ["/a/libmwrap.so"])], said }
  end

  def test_an_older_ruby
    layout do |dir, tmp|
      File.write("#{tmp}/old.rb", "Object.send(:remove_const, :RUBY_VERSION)\nRUBY_VERSION = '2.7.4'\n")
      assert_refused launch(dir, "true", env: { "RUBYOPT" => "-r#{tmp}/old.rb" }),
                     "Ruby 2.7.4: too old: mwrap needs Ruby 3.1 or newer"
    end
  end
end

# With the tracker itself.
class TestOfLauncherWithTracker < Minitest::Test
  def test_a_dump_is_written_at_exit
    in_tmp do |tmp|
      assert File.exist?(TRACKER), "lib/libmwrap.so isn't built: run make"
      run = run_command(LAUNCHER, RUBY, "-e", "$kept = Array.new(1000) { 'x' * 5000 }",
                        env: { "MWRAP" => "dump_path:#{option_value(tmp)}/dump,dump_format:tsv" })
      assert_equal "", run.stderr
      assert_success run
      rows = Dump.tsv(File.binread("#{tmp}/dump")).flatten
      row = rows.find { |r| r.location == "-e:1" }
      refute_nil row
      assert_operator row.allocations, :>=, 1000
      assert_operator row.live_bytes, :>=, 5_000_000
    end
  end

  def test_dump_fd_gets_the_dump
    in_tmp do |tmp|
      assert File.exist?(TRACKER), "lib/libmwrap.so isn't built: run make"
      File.open("#{tmp}/dump", "w") do |out|
        assert_success run_command(LAUNCHER, RUBY, "-e", "$kept = 'x' * 123_456",
                                   7 => out, env: { "MWRAP" => "dump_fd:7" })
      end
      rows = Dump.text(File.binread("#{tmp}/dump")).flatten
      assert_operator rows.find { |r| r.location == "-e:1" }&.total.to_i, :>=, 123_456
    end
  end
end
