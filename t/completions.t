#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# completions.t - what bash, zsh and fish make of a line and a Tab, with doc/completions.
# bash and zsh are asked as a user asks them, on a terminal; fish has a command for it.

require_relative "lib/tap"
require_relative "../lib/mwrap/options"
require "io/console"
require "io/wait"
require "pty"

module Completions
  FOLDER = File.join(MwrapTest::ROOT, "doc/completions")
  KEYS = Mwrap::Options::ALL.map(&:key)
  SECONDS = 120

  # A shell on a terminal, in a folder with the file "a,b" and the folder "some".
  class Shell
    include MwrapTest

    # `start` sets a key up, ^X^P, that prints the line as "<<LINE>>".
    def self.run(*command, env: {}, start:)
      Dir.mktmpdir("mwrap-t") do |dir|
        Dir.mkdir("#{dir}/some")
        File.write("#{dir}/a,b", "")
        File.write("#{dir}/some/file", "")
        base = { "HOME" => dir, "TERM" => "dumb", "LC_ALL" => "C.UTF-8", "MWRAP" => nil, "PS1" => "" }
        PTY.spawn(base.merge(env), *command, chdir: dir) do |out, input, pid|
          out.winsize = [50, 500]
          shell = new(out, input)
          shell.type("#{start}\n")
          shell.type("echo rea\"\"dy\n")
          shell.wait(/^ready/)
          yield shell
        ensure
          Process.kill(:KILL, pid)
        end
      end
    end

    def initialize(out, input)
      @out = out
      @input = input
    end

    def type(text) = @input.write(text)

    # What came up to a match of the pattern, and the match.
    def wait(pattern)
      said = +""
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS
      until (m = pattern.match(said))
        @out.wait_readable(limit - Process.clock_gettime(Process::CLOCK_MONOTONIC)) or raise Minitest::Assertion, "no answer: #{said.inspect}"
        said << @out.readpartial(65_536).force_encoding(Encoding::UTF_8).scrub
      end
      m
    end

    # The line after a Tab, and what was listed meanwhile.
    def tab(line)
      type("#{line}\t\C-x\C-p")
      m = wait(/<<(.*?)>>/m)
      type("\C-a\C-k")
      [m[1], m.pre_match]
    end
  end

  # The shortest beginning of a key that no other has, but for a key that begins another.
  def beginning(key)
    (1..key.size).map { |n| key[0, n] }.find { |part| KEYS.none? { |other| other != key && other.start_with?(part) } }
  end

  def words = Mwrap::Options::ALL.select { |o| o.value.match?(/\A[a-z0-9|]+\z/) }.to_h { |o| [o.key, o.value.split("|")] }

  # Each key by a beginning of it, and each word behind its key; `space` may end a word.
  def assert_every_option(shell, before)
    KEYS.each do |key|
      part = beginning(key) or next
      assert_equal "#{before}MWRAP=#{key}:", shell.tab("#{before}MWRAP=#{part}")[0]
    end
    words.each do |key, values|
      listed = shell.tab("#{before}MWRAP=#{key}:")[1]
      values.each do |value|
        values.size == 1 or assert_match(/(?<!\w)#{value}(?!\w)/, listed)
        other = values - [value]
        part = (1..value.size).map { |n| value[0, n] }.find { |s| other.none? { |o| o.start_with?(s) } }
        assert_equal "#{before}MWRAP=#{key}:#{value}", shell.tab("#{before}MWRAP=#{key}:#{part}")[0].sub(/[ ,]\z/, "")
      end
    end
  end
end

class TestOfBash < Minitest::Test
  include Completions

  START = <<~'SH'.freeze
    bind 'set bell-style none'; bind 'set show-all-if-ambiguous on'; bind 'set completion-query-items 0'; bind 'set page-completions off'
    bind 'set enable-bracketed-paste off'; bind -x '"\C-x\C-p": printf "<<%s>>\n" "$READLINE_LINE"'; PROMPT_COMMAND=
  SH

  def bash(more = "", &block)
    Shell.run("bash", "--norc", "--noprofile", "-i", start: "#{START}#{more}\n. #{FOLDER}/mwrap.bash", &block)
  end

  WITH = ". /usr/share/bash-completion/bash_completion"

  def test_options_behind_env
    ["", WITH].each { |more| bash(more) { |shell| assert_every_option(shell, "env ") } }
  end

  def test_several_options
    bash do |shell|
      assert_equal "env A=1 MWRAP=source:0,read_only:", shell.tab("env A=1 MWRAP=source:0,rea")[0]
      assert_equal "env MWRAP=listen:[::1]:80,read_only:", shell.tab("env MWRAP=listen:[::1]:80,rea")[0]
      assert_equal "env MWRAP=source:0,so", shell.tab("env MWRAP=source:0,so")[0].sub(/cket\z/, "")
      refute_includes shell.tab("env MWRAP=source:0,so")[1], "0,source"
      assert_equal "env MWRAP=dump_path:x\\\\,rea", shell.tab("env MWRAP=dump_path:x\\\\,rea")[0]
    end
  end

  def test_files
    bash do |shell|
      assert_equal "env MWRAP=read_only:1,dump_path:some/file", shell.tab("env MWRAP=read_only:1,dump_path:some/f")[0]
      assert_equal "env MWRAP=socket_dir:some/", shell.tab("env MWRAP=socket_dir:so")[0]
    end
  end

  # Some take these out of what divides words.
  def test_other_word_breaks
    ['COMP_WORDBREAKS=${COMP_WORDBREAKS//:}', 'COMP_WORDBREAKS=${COMP_WORDBREAKS//=}', "COMP_WORDBREAKS=' '"].each do |more|
      bash(more) do |shell|
        assert_equal "env MWRAP=source:0,dump_format:", shell.tab("env MWRAP=source:0,dump_fo")[0]
        assert_equal "env MWRAP=source:0,dump_format:json", shell.tab("env MWRAP=source:0,dump_format:j")[0]
      end
    end
  end

  def test_commands_behind_mwrap
    ["", WITH].each do |more|
      bash(more) do |shell|
        assert_equal "mwrap --help ", shell.tab("mwrap --h")[0]
        assert_equal "mwrap --version ", shell.tab("mwrap --v")[0]
        assert_equal "mwrap mktemp ", shell.tab("mwrap mktem")[0]
        assert_equal "mwrap -- mktemp ", shell.tab("mwrap -- mktem")[0]
        assert_equal "MWRAP=read_only:1 mwrap mktemp ", shell.tab("MWRAP=read_only:1 mwrap mktem")[0]
        ["A=1 ", "MWRAP=read_only:1,listen:[::1]:80 ", *(["A=1 MWRAP= mwrap ", "A=1 mwrap "] unless more.empty?)].each do |words|
          assert_equal "env #{words}mktemp ", shell.tab("env #{words}mktem")[0]
        end
        assert_equal "env MWRAP=read_only:1 mktemp --tmpdir", shell.tab("env MWRAP=read_only:1 mktemp --tmp")[0].sub(/[= ]*\z/, "") unless more.empty?
        assert_equal "mwrap cat some/file ", shell.tab("mwrap cat some/f")[0]
      end
    end
  end

  def test_another_completion_of_env_stays
    ["complete -W 'mine' env", "mine() { COMPREPLY=(mine); }; complete -F mine env"].each do |more|
      bash(more) do |shell|
        assert_equal "env mine ", shell.tab("env mi")[0]
        assert_equal "env A=1 mine ", shell.tab("env A=1 mi")[0]
        assert_equal "mwrap --help ", shell.tab("mwrap --h")[0]
        assert_equal "env MWRAP=read_only:", shell.tab("env MWRAP=rea")[0] if more.include?("-F")
      end
    end
  end

  def test_the_options_of_env_stay
    bash(WITH) { |shell| assert_equal "env --ignore-environment ", shell.tab("env --ignore-env")[0] }
  end
end

class TestOfZsh < Minitest::Test
  include Completions

  START = <<~'SH'.freeze
    PS1= PS2= PROMPT_EOL_MARK=; unsetopt beep zle_bracketed_paste promptcr; unset zle_bracketed_paste
    LISTMAX=1000; print-line() { print -r -- "<<$BUFFER>>" }; zle -N print-line; bindkey -e; bindkey '^X^P' print-line
  SH

  def zsh(&block)
    Shell.run("zsh", "-f", "-i", start: "#{START}fpath=(#{FOLDER} $fpath); autoload -Uz compinit; compinit -D -u", &block)
  end

  def test_every_option
    ["", "export "].each { |before| zsh { |shell| assert_every_option(shell, before) } }
  end

  def test_several_options
    zsh do |shell|
      assert_equal "MWRAP=source:0,read_only:", shell.tab("MWRAP=source:0,rea")[0]
      assert_equal "MWRAP=source:0,dump_path:some/file", shell.tab("MWRAP=source:0,dump_path:some/f")[0].rstrip.chomp(",")
      assert_equal "MWRAP=socket_dir:some/", shell.tab("MWRAP=socket_dir:so")[0]
    end
  end

  def test_commands_behind_mwrap
    zsh do |shell|
      assert_equal "mwrap --help ", shell.tab("mwrap --h")[0]
      assert_equal "mwrap --version ", shell.tab("mwrap --v")[0]
      assert_equal "mwrap mktemp ", shell.tab("mwrap mktem")[0]
      assert_equal "mwrap -- mktemp ", shell.tab("mwrap -- mktem")[0]
      assert_equal "MWRAP=read_only:1 mwrap mktemp ", shell.tab("MWRAP=read_only:1 mwrap mktem")[0]
      assert_equal "mwrap cat some/file ", shell.tab("mwrap cat some/f")[0]
    end
  end
end

class TestOfFish < Minitest::Test
  include Completions

  # What it would offer for each line, without the descriptions.
  def fish(*lines)
    in_tmp do |dir|
      Dir.mkdir("#{dir}/some")
      File.write("#{dir}/some/file", "")
      script = "source #{FOLDER}/mwrap.fish; for line in $argv; echo \"line $line\"; complete -C \"$line\"; end"
      run = run_command("fish", "--no-config", "-c", script, *lines, chdir: dir, env: { "HOME" => dir, "LC_ALL" => "C.UTF-8" })
      assert_success run
      assert_equal "", run.stderr
      run.stdout.split(/^line .*\n/, -1).drop(1).map { |part| part.lines(chomp: true).map { |line| line[/\A[^\t]*/] } }
    end
  end

  def test_every_option
    %w[env export].each do |command|
      assert_equal KEYS.map { |key| "MWRAP=#{key}:" }.sort, fish("#{command} MWRAP=")[0].sort
      found = fish(*words.keys.map { |key| "#{command} MWRAP=#{key}:" })
      words.each_with_index { |(key, values), i| assert_equal values.map { |v| "MWRAP=#{key}:#{v}" }.sort, found[i].sort }
    end
  end

  def test_several_options
    found = fish("env MWRAP=source:0,so", "env MWRAP=source:0,socket:some/f", "env MWRAP=socket_dir:so", "env MWRAP=dump_path:x\\\\,rea")
    assert_equal %w[socket socket_dir socket_group socket_mode].map { |key| "MWRAP=source:0,#{key}:" }, found[0].sort
    assert_equal [["MWRAP=source:0,socket:some/file"], ["MWRAP=socket_dir:some/"], []], found.drop(1)
  end

  def test_commands_behind_mwrap
    found = fish("mwrap --", "mwrap mktem", "MWRAP=read_only:1 mwrap mktem", "mwrap cat some/f", "mwrap cat --")
    assert_equal %w[--help --version], found[0].sort
    assert_equal [["mktemp"]] * 2 << ["some/file"], found[1, 3]
    refute_includes found[4], "--version"
  end
end
