#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# setup.t - bin/check and bin/demo say what they would install and how large it is, ask a person at a terminal once,
# and do nothing for --help; gem install says how far the build is. apt-get, make and compilers are made up.
require_relative "lib/tap"
require "pty"

class SetupTest < Minitest::Test
  APT = <<~'SH'
    #!/bin/sh
    echo "$*" >>"$ASKED"
    case "$*" in
    *--assume-no*)
      echo "0 upgraded, 12 newly installed, 0 to remove and 3 not upgraded."
      echo "Need to get 34.5 MB of archives."
      echo "After this operation, 123 MB of additional disk space will be used."
      exit 1 ;;
    esac
  SH
  LISTED = ["mwrap: to be installed: gcc", "mwrap: with what they need: 12 packages", "mwrap: to download: 34.5 MB", "mwrap: on disk: 123 MB"].freeze

  # mw_packages, of a machine that lacks gcc: [what it said, the calls of apt-get]
  def installing(terminal: nil, env: {})
    in_tmp do |dir|
      File.write("#{dir}/apt-get", APT, perm: 0o755)
      %w[apt-cache sudo].each { |name| File.write("#{dir}/#{name}", "#!/bin/sh\nexec \"$@\"\n", perm: 0o755) }
      script = "set -eu; cd '#{dir}'; mkdir .build; . '#{ROOT}/t/lib/setup.sh'; had=; mw_missing() { [ -e had ] || echo gcc; touch had; }; " \
               "mw_choose() { echo \"$1\"; }; mw_packages build; echo done"
      vars = { "PATH" => "#{dir}:#{ENV["PATH"]}", "ASKED" => "#{dir}/asked", "CI" => nil, "MW_YES" => nil, "RUBY" => nil, **env }
      said = terminal ? in_terminal(vars, script, terminal) : run_command("bash", "-c", script, env: vars).then { |r| r.stdout + r.stderr }
      [said.lines(chomp: true), File.readlines("#{dir}/asked", chomp: true)]
    end
  end

  def in_terminal(env, script, answer)
    said = +""
    PTY.spawn(env, "bash", "-c", script) do |out, to, pid|
      said << out.readpartial(4096) until answer.empty? || said.include?("[Y/n] ")
      to.puts(answer) unless answer.empty?
      said << out.readpartial(4096) while true
    rescue Errno::EIO
      Process.wait(pid)
    end
    said.delete("\r")
  end

  INSTALLED = "mwrap: installing them"

  def test_without_a_terminal_it_lists_and_goes_on
    said, asked = installing
    assert_equal [*LISTED, INSTALLED, "done"], said
    assert_match(/^install -y .*--no-install-recommends gcc$/, asked.last)
  end

  def test_a_person_is_asked
    said, asked = installing(terminal: "y")
    assert_equal [*LISTED, "mwrap: install them? [Y/n] y", INSTALLED, "done"], said
    assert_match(/^install -y /, asked.last)
    said, asked = installing(terminal: "n")
    assert_equal ["mwrap: install them? [Y/n] n", "mwrap: packages: not installed: install them yourself, or answer y"], said.last(2)
    assert_empty asked.grep(/^install -y /)
  end

  def test_yes_and_ci_ask_nothing
    [{ "MW_YES" => "1" }, { "CI" => "true" }].each { |env| assert_equal [*LISTED, INSTALLED, "done"], installing(terminal: "", env: env)[0] }
  end

  def test_help_does_nothing_else
    in_tmp do |dir|
      FileUtils.mkdir_p(%W[#{dir}/bin #{dir}/t/lib])
      File.write("#{dir}/t/lib/setup.sh", "touch '#{dir}/ran'\n")
      %w[check demo].each do |name|
        FileUtils.cp("#{ROOT}/bin/#{name}", "#{dir}/bin/#{name}")
        %w[--help -h].each do |flag|
          run = run_command("#{dir}/bin/#{name}", flag)
          assert_success run
          assert_match(/\Abin\/#{name} .*\[--yes\].*^ +--yes +\w/m, run.stdout)
        end
      end
      refute File.exist?("#{dir}/ran")
    end
  end

  # src/extconf.rb's Makefile, for a made-up build that ends with this status: [what a terminal shows, make's output, its status]
  def built(status)
    in_tmp do |dir|
      FileUtils.mkdir_p("#{dir}/src/tracker")
      %w[extconf.rb needs.sh].each { |name| FileUtils.cp("#{ROOT}/src/#{name}", "#{dir}/src/#{name}") }
      3.times { |i| File.write("#{dir}/src/tracker/#{i}.c", "") }
      File.write("#{dir}/GNUmakefile", "all:\n\t@for i in 0 1 2; do echo \"  CC    src/tracker/$$i.c\"; done; exit #{status}\n")
      said = +""
      PTY.spawn({ "RUBYOPT" => nil }, "sh", "-c", "cd #{dir}/src && #{RUBY} extconf.rb && make >../made 2>&1; echo $? >../status") do |out, _, pid|
        said << out.readpartial(4096) while true
      rescue Errno::EIO
        Process.wait(pid)
      end
      [said, File.read("#{dir}/made"), File.read("#{dir}/status").to_i, Dir.children("#{dir}/src").include?(".status")]
    end
  end

  def test_a_build_says_how_far_it_is
    said, made, status, left = built(0)
    assert_includes said, "\rmwrap: compiling 3 of 3 files"
    assert said.end_with?("\r\e[K"), "the line is taken back"
    assert_equal [(0..2).map { |i| "  CC    src/tracker/#{i}.c" }, 0, false], [made.lines(chomp: true).grep(/CC/), status, left]
    refute_equal 0, built(3)[2], "a failure stays one"
  end
end
