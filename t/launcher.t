#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# bin/mwrap: its options, and in which words it refuses some; what the command that it runs gets: arguments,
# environment, descriptors. t/launcher_preload.t has what is loaded into the command.

require_relative "lib/launcher"
require "socket"

class TestOfLauncherOptions < Minitest::Test
  include LauncherTest

  def test_help_names_every_option
    layout do |dir|
      %w[--help -h].each do |flag|
        run = launch(dir, flag)
        assert_success run
        assert_equal "", run.stderr
        assert_match(/\Ausage: mwrap COMMAND/, run.stdout)
        known = launch(dir, "true", env: { "MWRAP" => "nonsense:1" }).stderr[/known are (.*)/, 1].split(", ")
        assert_operator known.size, :>=, 8
        known.each { |key| assert_match(/^  #{key}:\S+\s+[[:alnum:]]/, run.stdout) }
        assert_empty run.stdout.lines.grep(/.{82}/), "fits a terminal"
      end
    end
  end

  def test_version
    layout do |dir|
      run = launch(dir, "--version")
      assert_success run
      assert_equal "mwrap #{File.read("#{ROOT}/src/api/version.h")[/"(.*)"/, 1]}\n", run.stdout
    end
  end

  def test_help_and_version_work_before_anything_is_built
    layout(tracker: nil) do |dir|
      File.unlink("#{dir}/lib/mwrap/mwrap_ext.so")
      assert_success launch(dir, "--help")
      assert_success launch(dir, "--version")
    end
  end

  def test_options_behind_the_command_are_the_commands
    layout do |dir|
      assert_equal "--help --version\n", launch(dir, "echo", "--help", "--version").stdout
      assert_equal "a\n", launch(dir, "--", "echo", "a").stdout
    end
  end

  def test_refuses_a_wrong_command_line
    layout do |dir|
      assert_refused launch(dir), "COMMAND: missing: see mwrap --help"
      assert_refused launch(dir, "--"), "COMMAND: missing: see mwrap --help"
      assert_refused launch(dir, "--socket"), "--socket: unknown option: see mwrap --help"
    end
  end

  # Wrong options; the command must not run.
  WRONG = {
    "nonsense:1" => /"nonsense": unknown option: known are .*socket.*/,
    "dump_min:lots" => /dump_min: .*lots.*/,
    "dump_format:xml" => /dump_format: .*xml.*/,
    "dump_fd:x" => /dump_fd: .*x.*/,
    "listen:0.0.0.0:80" => /listen: .*loopback.*/,
    "listen:10.0.0.1:80,token_file:" => /token_file: the value is missing/,
    "socket_mode:0777,socket:/s" => /socket_mode: "0777" is not a mode for a socket: .*/,
    "socket:/s,socket_group:no-such-group-here" => /socket_group: there is no group no-such-group-here: write its number/,
    "socket:" => /socket: .*/,
  }.freeze

  def test_refuses_wrong_options_before_anything_runs
    layout do |dir, tmp|
      WRONG.each do |options, line|
        run = launch(dir, "touch", "#{tmp}/ran", env: { "MWRAP" => options })
        assert_refused run, line
        refute File.exist?("#{tmp}/ran"), options
      end
    end
  end

  def test_refuses_options_of_any_bytes_in_one_line
    layout do |dir|
      ["\xff\xfe:1", "a\nb:2", "#{"x" * 20_000}:1", ",:,:", "dump_path:%p%q"].each do |options|
        run = launch(dir, "true", env: { "MWRAP" => options })
        next assert_success(run) if run.status.success?
        assert_refused run, /[\x20-\x7e]+/
      end
    end
  end

  # Only the launcher can look a group up.
  def test_a_group_is_given_by_its_number
    layout do |dir|
      { "socket:/s,socket_group:root" => "socket:/s,socket_group:0",
        "socket_group:r\\oot,socket:/s" => "socket_group:0,socket:/s",
        "socket_group:12345,socket:/s" => "socket_group:12345,socket:/s",
        "socket:/a\\,socket_group:nonsense" => "socket:/a\\,socket_group:nonsense" }.each do |options, text|
        run = launch(dir, "sh", "-c", "printf '%s\n' \"$MWRAP\"", env: { "MWRAP" => options })
        assert_equal "#{text}\n", run.stdout
        assert_equal "", run.stderr
      end
    end
  end

  def test_right_options_and_none_run_the_command
    layout do |dir|
      [nil, "", "dump_path:/dev/null,dump_min:5,dump_format:tsv", "dump_fd:1", "read_only:1"].each do |options|
        run = launch(dir, "sh", "-c", "echo \"$MWRAP\"", env: { "MWRAP" => options })
        assert_equal "#{options}\n", run.stdout
        assert_equal "", run.stderr
      end
    end
  end
end

class TestOfLauncherCommand < Minitest::Test
  include LauncherTest

  # A deploy removes the folder in which a program is started, and each tool of ours may be.
  def test_the_working_directory_may_be_gone
    in_tmp do |dir|
      recording = "#{dir}/r.mwtrace"
      File.write("#{dir}/s.rb", "def step = nil\n")
      gone = ->(*words, env: {}) { run_command("sh", "-c", "mkdir #{dir}/gone && cd #{dir}/gone && rmdir #{dir}/gone && exec \"$@\"", "sh", *words, env: env) }
      said = ->(run) { [run.stdout, run.stderr, run.status.exitstatus] }
      [{}, { "MWRAP" => "malloc:jemalloc", "LD_LIBRARY_PATH" => ".:lib" }, { "MWRAP" => "dump_path:#{dir}/dump" }].each do |env|
        assert_equal ["hi\n", "", 0], said.(gone.(LAUNCHER, "echo", "hi", env: { "MWRAP" => nil }.merge(env))), env
      end
      assert_equal ["", "mwrap: dump_path:here: the working directory is gone: give a path that begins with /\n", 2],
                   said.(gone.(LAUNCHER, "echo", "hi", env: { "MWRAP" => "dump_path:here" }))
      ctl = [RUBY, "-I#{LIB}", "#{LIB}/exe/mwrapctl"]
      assert_equal ["hi\n", 0], said.(gone.(*ctl, "record", "-o", recording, "echo", "hi")).values_at(0, 2)
      assert_match(/\Aas recorded/, gone.(*ctl, "replay", recording).stdout.lines[1])
      assert_match(/\Aclean/, gone.(*ctl, "check", "#{dir}/s.rb").stdout)
    end
  end

  def test_a_command_that_is_not_there_is_127
    layout do |dir|
      assert_refused launch(dir, "no-such-command"), "no-such-command: command not found", 127
      assert_refused launch(dir, "./no/such"), "./no/such: command not found", 127
      assert_refused launch(dir, ""), ": command not found", 127
      run = run_command(RUBY, "#{dir}/lib/exe/mwrap", "cat", env: { "PATH" => "/nonexistent" })
      assert_refused run, "cat: command not found", 127
    end
  end

  def test_a_command_that_cannot_run_is_126
    layout do |dir, tmp|
      File.write("#{tmp}/plain", "x")
      assert_refused launch(dir, "#{tmp}/plain"), "#{tmp}/plain: permission denied", 126
      assert_refused launch(dir, tmp), "#{tmp}: is a directory", 126
      assert_refused launch(dir, "plain", env: { "PATH" => "#{tmp}:#{ENV["PATH"]}" }),
        "plain: permission denied", 126
    end
  end

  def test_a_script_without_its_interpreter_is_127
    layout do |dir, tmp|
      script = script(tmp, "#!/no/such/interpreter\n")
      assert_refused launch(dir, script), "#{script}: its interpreter is missing", 127
    end
  end

  def test_a_script_without_a_first_line_runs_in_a_shell
    layout do |dir, tmp|
      assert_equal "ran\n", launch(dir, script(tmp, "echo ran\n")).stdout
    end
  end

  def test_arguments_environment_and_status_pass_unchanged
    layout do |dir|
      args = ["", "a b", "$HOME;*", "\xff".b, "--help"]
      code = "p ARGV.map(&:b), ENV.to_h.except('LD_PRELOAD', '_').sort; exit 41"
      env = { "MWRAP" => "dump_min:1", "RUBYOPT" => "-W1" }
      under = launch(dir, RUBY, "-e", code, "--", *args, env: env)
      plain = run_command(RUBY, "-e", code, "--", *args, env: env)
      assert_equal plain.stdout, under.stdout
      assert_equal 41, under.status.exitstatus
    end
  end

  def test_a_single_word_is_not_given_to_a_shell
    layout do |dir|
      assert_refused launch(dir, "echo a; echo b"), "echo a; echo b: command not found", 127
    end
  end

  def test_the_command_has_the_pid_and_the_name_it_was_called_by
    layout do |dir, tmp|
      File.symlink("/bin/sh", "#{tmp}/mysh")
      run = run_command("sh", "-c", 'echo $$; exec "$@"', "-", "#{dir}/bin/mwrap", "mysh", "-c", 'echo $$; echo $0',
                        env: { "PATH" => "#{tmp}:#{ENV["PATH"]}" })
      first, second, name = run.stdout.lines(chomp: true)
      assert_equal first, second
      assert_equal "mysh", name
    end
  end

  private

  def script(dir, text)
    path = "#{dir}/script"
    File.write(path, text)
    File.chmod(0o755, path)
    path
  end
end

class TestOfLauncherDescriptors < Minitest::Test
  include LauncherTest

  def test_open_descriptors_stay_open
    layout do |dir, tmp|
      File.open("#{tmp}/out", "w") do |out|
        run = launch(dir, "sh", "-c", "echo seven >&7; echo nine >&9", 7 => out, 9 => out, env: { "MWRAP" => "dump_fd:7" })
        assert_success run
        assert_equal "", run.stderr
      end
      assert_equal "seven\nnine\n", File.read("#{tmp}/out")
    end
  end

  def test_dump_fd_must_be_open_for_writing
    layout do |dir|
      # Ruby has descriptors of its own, with numbers from 3
      (3..15).each do |fd|
        run = launch(dir, "true", env: { "MWRAP" => "dump_fd:#{fd}" })
        assert_refused run, "dump_fd: \"#{fd}\" is not an open file descriptor"
      end
      File.open(File::NULL) do |null|
        run = launch(dir, "true", 7 => null, env: { "MWRAP" => "dump_fd:7" })
        assert_refused run, /dump_fd: .*7.* is not open for writing/
      end
    end
  end

  # As systemd starts services: sockets at 3 and up, and the PID that they
  # are for; also when something that Ruby loads made them close-on-exec.
  def test_listening_sockets_survive
    layout do |dir, tmp|
      File.write("#{tmp}/cloexec.rb", "[3, 4].each { |fd| IO.for_fd(fd, autoclose: false).close_on_exec = true } if $0.end_with?('/mwrap')")
      [nil, "-r#{tmp}/cloexec.rb"].each do |rubyopt|
        servers = Array.new(2) { TCPServer.new("127.0.0.1", 0) }
        run = run_command("sh", "-c", 'LISTEN_FDS=2 LISTEN_PID=$$ exec "$@"', "-", "#{dir}/bin/mwrap", RUBY, "-rsocket", "-e", <<~'RUBY', 3 => servers[0], 4 => servers[1], env: { "RUBYOPT" => rubyopt })
          p ENV["LISTEN_PID"].to_i == $$
          p (3...3 + ENV["LISTEN_FDS"].to_i).map { |fd| TCPServer.for_fd(fd).addr[1] }
        RUBY
        assert_equal "true\n#{servers.map { |s| s.addr[1] }}\n", run.stdout, run.stderr
        servers.each(&:close)
      end
    end
  end

  def test_nonsense_in_listen_fds_does_no_harm
    layout do |dir|
      ["-1", "x", "99999999999999999999", ""].each do |n|
        run = run_command("sh", "-c", 'LISTEN_PID=$$ exec "$@"', "-", "#{dir}/bin/mwrap", "true", env: { "LISTEN_FDS" => n })
        assert_equal "", run.stderr
        assert_success run
      end
    end
  end
end
