#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# gem.t - `gem build` and `gem install` leave a working mwrap, made from nothing
# but the files that the gem lists, and without git.
require_relative "lib/tap"
require "fileutils"
require "rubygems/package"

class GemTest < Minitest::Test
  Installed = Struct.new(:dir, :file, :home, :env)
  GEM = <<~RUBY
    begin
      Gem::GemRunner.new.run(ARGV.dup)
    rescue Gem::SystemExitException => e
      exit e.exit_code
    end
  RUBY
  # the installed gem must not see these of the checkout, or of a bundle
  CLEAN = %w[BUNDLE_GEMFILE CFLAGS CPPFLAGS LDFLAGS MAKEFLAGS MAKELEVEL MFLAGS].to_h { |name| [name, nil] }.freeze

  def gem(env, *args, **rest)
    run_command(RUBY, "-rrubygems/gem_runner", "-rrubygems/exceptions", "-e", GEM, "--", *args,
                env: env, timeout: 600, **rest)
  end

  # The gem, built in a copy of the checkout without .git and installed into a
  # folder of its own; once for all tests.
  def installed
    @@installed ||= begin
      dir = Dir.mktmpdir("mwrap-gem")
      owner = Process.pid
      Minitest.after_run { FileUtils.rm_rf(dir) if Process.pid == owner }
      home = File.join(dir, "home")
      env = CLEAN.merge("HOME" => dir, "GEM_HOME" => home, "GEM_PATH" => home, "PATH" => "#{path_without_git(dir)}:#{home}/bin:#{ENV["PATH"]}")
      file = build(File.join(dir, "source"), env)
      assert_success gem(env, "install", "--local", "--no-document", file, chdir: dir)
      # it must not be found by accident any more
      FileUtils.rm_rf(File.join(dir, "source"))
      Installed.new(dir, file, home, env)
    end
  end

  def build(source, env)
    FileUtils.mkdir_p(source)
    files = Dir.glob("**/*", File::FNM_DOTMATCH, base: ROOT).reject { |name| name.match?(%r{\A(\.git|\.build|web/node_modules)(/|\z)}) }
    files.select { |name| File.file?(File.join(ROOT, name)) }.each do |name|
      FileUtils.mkdir_p(File.join(source, File.dirname(name)))
      FileUtils.cp(File.join(ROOT, name), File.join(source, name))
    end
    assert_success gem(env, "build", "mwrap.gemspec", chdir: source)
    made = Dir[File.join(source, "mwrap-*.gem")]
    assert_equal 1, made.size, made.inspect
    made[0].sub(source, File.dirname(source)).tap { |file| FileUtils.mv(made[0], file) }
  end

  # A folder with a git that fails.
  def path_without_git(dir)
    File.join(dir, "bin").tap do |bin|
      FileUtils.mkdir_p(bin)
      File.write(File.join(bin, "git"), "#!/bin/sh\nexit 1\n", perm: 0o755)
    end
  end

  def mwrap(*cmd, env: {}, **rest)
    run_command("mwrap", *cmd, env: installed.env.merge(env), chdir: "/", **rest)
  end

  def test_the_gem_lists_no_built_files
    names = Gem::Package.new(installed.file).spec.files
    assert_includes names, "src/extconf.rb"
    assert_includes names, "GNUmakefile"
    assert_empty(names.reject { |name| name.match?(/\.(c|cc|h|def|rb|map|sh|gemspec|html|css|js|svg|md|1|bash|fish|rbs)\z|\A[A-Z]+\z|\A(GNUmakefile|lib\/exe\/mwrap(ctl)?|doc\/completions\/_mwrap(ctl)?|web\/(alerts\.yml|dist\/LICENSES|README|build\.mjs|package(-lock)?\.json))\z/) })
  end

  # Addresses follow from the name, or from MWRAP_PROJECT for whoever publishes one.
  def test_its_card
    spec = Gem::Package.new(installed.file).spec
    assert_equal "true", spec.metadata["rubygems_mfa_required"]
    %w[homepage_uri documentation_uri changelog_uri source_code_uri].each { |key| assert_match %r{\Ahttps://\S+\z}, spec.metadata[key], key }
    assert_equal spec.homepage, spec.metadata["homepage_uri"]
    code = "s = Gem::Specification.load('mwrap.gemspec'); print s.homepage, ' ', s.metadata.values_at('source_code_uri', 'bug_tracker_uri').join(' ')"
    run = run_command(RUBY, "-e", code, chdir: ROOT, env: { "MWRAP_PROJECT" => "https://git.example/mwrap" })
    assert_equal "https://git.example/mwrap https://git.example/mwrap https://git.example/mwrap/issues", run.stdout
  end

  def test_the_shared_objects_and_the_dashboard_are_there_and_no_objects
    gem_dir = Dir[File.join(installed.home, "gems/mwrap-*")]
    assert_equal 1, gem_dir.size
    %w[lib/libmwrap.so lib/libmwrap_httpd.so lib/mwrap/mwrap_ext.so web/grafana.json].each do |name|
      assert File.file?(File.join(gem_dir[0], name)), name
    end
    assert_empty Dir.glob("**/*.o", File::FNM_DOTMATCH, base: gem_dir[0])
  end

  def test_the_helpers_of_mwrapctl_are_there
    dir = Dir[File.join(installed.home, "gems/mwrap-*/lib/mwrap")].fetch(0)
    %w[mwrap-inject mwrap-replay].each { |name| assert File.executable?(File.join(dir, name)), name }
    assert_equal 2, run_command(File.join(dir, "mwrap-replay")).status.exitstatus
  end

  # As it is built for users: with what gcc warns of only as it optimises.
  def test_it_compiles_without_a_warning
    logs = Dir[File.join(installed.home, "extensions/**/gem_make.out")]
    assert_equal 1, logs.size
    said = File.read(logs[0])
    assert_match(/^ +CC +src\/tracker\/track\/cold\.c$/, said)
    assert_empty said.lines.grep(/warning:/)
  end

  def test_the_version_is_one
    version = Gem::Package.new(installed.file).spec.version.to_s
    assert_equal version, File.read(File.join(ROOT, "src/api/version.h"))[/"(.*)"/, 1]
    run = mwrap("--version")
    assert_success run
    assert_equal "mwrap #{version}\n", run.stdout
  end

  # RubyGems puts no manual where man looks for it: --help says how to show it.
  def test_the_help_names_the_manual
    command = mwrap("--help").stdout[/^The manual:\s+(.*)$/, 1]
    assert_includes command, installed.home
    run = run_command("sh", "-c", command, env: { "MANPAGER" => "cat" }, chdir: "/")
    assert_success run
    assert_match(/^NAME\n +mwrap - .*^ +socket_dir:DIRECTORY$/m, run.stdout.gsub(/.\x08/, ""))
  end

  def test_the_completions_are_there
    completions = Dir[File.join(installed.home, "gems/mwrap-*/doc/completions/*")].map { |path| File.basename(path) }
    assert_equal %w[_mwrap _mwrapctl mwrap.bash mwrap.fish mwrapctl.bash mwrapctl.fish], completions.sort
  end

  def test_a_ruby_program_is_tracked
    run = mwrap(RUBY, "-e", <<~'SCRIPT')
      require "mwrap"
      KEPT = Array.new(100) { "x" * 10_000 }
      row = Mwrap.each.find { |location, *| location == "-e:2" }
      puts [row ? row[1] : 0, $".find { |path| path.end_with?("mwrap.rb") }]
    SCRIPT
    assert_success run
    total, path = run.stdout.lines(chomp: true)
    assert_operator total.to_i, :>=, 1_000_000
    assert_match %r{\A#{Regexp.escape(File.realpath(installed.home))}/gems/mwrap-}, File.realpath(path)
  end

  def test_the_server_answers
    socket = File.join(installed.dir, "server.sock")
    run = mwrap(RUBY, "-rsocket", "-e", <<~'SCRIPT', socket, env: { "MWRAP" => "socket:#{option_value(socket)}" })
      tries = 0
      server = begin
        UNIXSocket.new(ARGV[0])
      rescue Errno::ENOENT, Errno::ECONNREFUSED # not bound, or nobody listens yet
        sleep 0.02
        (tries += 1) < 3000 ? retry : raise
      end
      server.write("GET /stats.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      puts server.read
    SCRIPT
    assert_success run
    assert_match(/\AHTTP\/1\.1 200 /, run.stdout)
  end

  def test_the_rack_application_answers
    run = mwrap(RUBY, "-rmwrap_rack", "-e", <<~'SCRIPT')
      app = MwrapRack.new
      %w[/ /dist/app.js].each do |path|
        status, _, body = app.call("REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => path)
        p status, body.enum_for(:each).sum(&:bytesize) > 1000
      end
    SCRIPT
    assert_success run
    assert_equal "200\ntrue\n" * 2, run.stdout
  end

  def test_without_the_tracker_it_loads_too
    run = run_command(RUBY, "-e", 'require "mwrap"; p Mwrap.total_bytes_allocated', env: installed.env, chdir: "/")
    assert_success run
    assert_equal "0\n", run.stdout
  end

  # src/extconf.rb, in an environment: one line on stderr, which matches.
  def assert_told(pattern, env)
    in_tmp do |dir|
      run = run_command(RUBY, File.join(ROOT, "src/extconf.rb"), env: CLEAN.merge(env), chdir: dir)
      refute run.status.success?
      assert_equal 1, run.stderr.lines.size, run.stderr
      assert_match pattern, run.stderr
      assert_empty Dir.children(dir)
    end
  end

  # The headers of a C library like this one, but older.
  def old_glibc
    in_tmp do |dir|
      File.write("#{dir}/features.h", <<~C)
        #include_next <features.h>
        #undef __GLIBC_MINOR__
        #define __GLIBC_MINOR__ 31
      C
      yield "-I#{dir}"
    end
  end

  OLD_GLIBC = "mwrap: glibc 2.31: too old: mwrap needs glibc 2.35 or newer (Debian 12, Ubuntu 22.04)"

  def test_missing_headers_are_named_in_one_line
    assert_told(/\Amwrap: .*gcc.*liburcu-dev.*libxxhash-dev.*zlib1g-dev.*libmicrohttpd-dev/, "CC" => "no-such-compiler")
    in_tmp do |dir|
      Dir.mkdir("#{dir}/urcu")
      File.write("#{dir}/urcu/rculfhash.h", "#error\n")
      assert_told(/\Amwrap: packages: missing: install liburcu's headers \(Debian: liburcu-dev\)$/, "CFLAGS" => "-I#{dir}")
    end
  end

  def test_a_missing_make_is_named
    assert_told(/\Amwrap: packages: missing: install make \(Debian: make\)$/, "MAKE" => "no-such-make -j2")
  end

  def test_missing_headers_of_ruby_are_named
    in_tmp do |dir|
      File.write("#{dir}/without.rb", "require 'rbconfig'\nRbConfig::CONFIG['rubyhdrdir'] = '#{dir}'\n")
      assert_told(/\Amwrap: packages: missing: install the headers of Ruby #{RUBY_VERSION} \(Debian: ruby-dev\)$/,
                  "RUBYOPT" => "-r#{dir}/without.rb")
    end
  end

  def test_an_old_c_library_is_told_by_extconf
    old_glibc { |flags| assert_told(/\A#{Regexp.escape(OLD_GLIBC)}$/, "CFLAGS" => flags) }
  end

  def test_an_old_c_library_is_told_by_make
    old_glibc do |flags|
      in_tmp do |dir|
        run = run_command("make", "-C", ROOT, "-s", "--no-print-directory", "B=#{dir}", "RUBY=#{RUBY}", env: CLEAN.merge("CFLAGS" => flags), timeout: 1800)
        assert_equal 2, run.status.exitstatus
        assert_match(/\AGNUmakefile:\d+: \*\*\* #{Regexp.escape(OLD_GLIBC)}\.  Stop\.\n\z/, run.stderr)
        assert_empty Dir.children(dir)
      end
    end
  end

  def test_an_old_c_library_is_told_by_the_demo
    old_glibc do |flags|
      run = run_command(File.join(ROOT, "bin/demo"), "--once", env: CLEAN.merge("CFLAGS" => flags, "RUBY" => RUBY))
      assert_equal 1, run.status.exitstatus
      assert_equal ["", "#{OLD_GLIBC}\n"], [run.stdout, run.stderr]
    end
  end

  # Files and documents agree on the oldest Ruby.
  def test_the_oldest_ruby_is_one
    spec = Gem::Specification.load(File.join(ROOT, "mwrap.gemspec"))
    oldest = spec.required_ruby_version.to_s[/\A>= (\d+\.\d+)\z/, 1]
    assert_match(/older "\$version" #{Regexp.escape(oldest)};/, File.read(File.join(ROOT, "src/needs.sh")))
    assert_includes File.read(File.join(ROOT, "lib/exe/mwrap")), "[#{oldest.tr(".", ",").sub(",", ", ")}]"
    assert_match(/^\* Ruby #{Regexp.escape(oldest)} to /, File.read(File.join(ROOT, "README")))
  end
end
