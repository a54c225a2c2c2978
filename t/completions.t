#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# completions.t - bash, zsh and fish complete a line at a Tab, with doc/completions: for mwrap, MWRAP and mwrapctl.
# bash and zsh are asked as a user asks them, on a terminal; fish has a command for it.

require_relative "lib/tap"
require_relative "../lib/mwrap/options"
require_relative "../lib/mwrap/ctl/commands"
require "io/console"
require "io/wait"
require "pty"

module Completions
  FOLDER = File.join(MwrapTest::ROOT, "doc/completions")
  KEYS = Mwrap::Options::ALL.map(&:key)
  SECONDS = 120

  # The words before a Tab => the words after it, in every shell.
  SEVERAL = {
    "MWRAP=source:0,rea" => "MWRAP=source:0,read_only:",
    "MWRAP=listen:[::1]:80,rea" => "MWRAP=listen:[::1]:80,read_only:",
    "MWRAP=source:0,dump_fo" => "MWRAP=source:0,dump_format:",
    "MWRAP=source:0,dump_format:j" => "MWRAP=source:0,dump_format:json",
    "MWRAP=dump_path:x\\\\,rea" => "MWRAP=dump_path:x\\\\,rea", # the comma is the path's
    "MWRAP=dump_path:x\\\\,y,rea" => "MWRAP=dump_path:x\\\\,y,read_only:",
    "MWRAP=read_only:1,dump_path:some/f" => "MWRAP=read_only:1,dump_path:some/file",
    "MWRAP=socket_dir:so" => "MWRAP=socket_dir:some/"
  }.freeze
  COMMANDS = {
    "mwrap --h" => "mwrap --help ",
    "mwrap --v" => "mwrap --version ",
    "mwrap mktem" => "mwrap mktemp ",
    "mwrap -- mktem" => "mwrap -- mktemp ",
    "MWRAP=read_only:1 mwrap mktem" => "MWRAP=read_only:1 mwrap mktemp ",
    "mwrap cat some/f" => "mwrap cat some/file "
  }.freeze
  # For mwrapctl, whose commands and options are Mwrap::Ctl::COMMANDS
  CTL = {
    "mwrapctl --v" => "mwrapctl --version ",
    "mwrapctl hel" => "mwrapctl help ",
    "mwrapctl help fl" => "mwrapctl help flame ",
    "mwrapctl fl" => "mwrapctl flame ",
    "mwrapctl flame --inv" => "mwrapctl flame --invert ",
    "mwrapctl flame --tok" => "mwrapctl flame --token-file ",
    "mwrapctl flame --by li" => "mwrapctl flame --by live ",
    "mwrapctl flame --by=gro" => "mwrapctl flame --by=growth ",
    "mwrapctl flame some/f" => "mwrapctl flame some/file ",
    "mwrapctl flame -o some/f" => "mwrapctl flame -o some/file ",
    "mwrapctl flame some/file --output some/f" => "mwrapctl flame some/file --output some/file ",
    "mwrapctl sna" => "mwrapctl snap ",
    "mwrapctl snap some/file some/f" => "mwrapctl snap some/file some/file ",
    "mwrapctl score some/file some/file some/f" => "mwrapctl score some/file some/file some/file ",
    "mwrapctl diff --sort gro" => "mwrapctl diff --sort growth ",
    "mwrapctl ps some/f" => "mwrapctl ps some/f", # takes none
    "mwrapctl flame some/file --pid some/f" => "mwrapctl flame some/file --pid some/f" # takes no file
  }.freeze
  OF_SOCKETS = KEYS.grep(/\Asocket/).freeze

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

    # The output up to a match of the pattern, and the match.
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

  # One of SEVERAL each; then several options that begin so, but for one that is there.
  def assert_several(shell, before, whole: [""])
    assert_tabs(shell, SEVERAL, before, whole: whole)
    assert_equal "#{before}MWRAP=source:0,so", shell.tab("#{before}MWRAP=source:0,so")[0].sub(/cket\z/, "")
    listed = shell.tab("#{before}MWRAP=source:0,so")[1] + shell.tab("#{before}MWRAP=source:0,socket")[1]
    OF_SOCKETS.each { |key| assert_match(/(?<!\w)#{key}(?!\w)/, listed) }
    refute_match(/(?<!\w)source(?!:0)/, listed)
  end

  def words = Mwrap::Options::ALL.select { |o| o.value.match?(/\A[a-z0-9|]+\z/) }.to_h { |o| [o.key, o.value.split("|")] }

  # whole: what the shell may put behind a value that can't go on.
  def assert_tabs(shell, cases, before = "", whole: [""])
    cases.each do |typed, line|
      goes_on = line == typed || line.end_with?(":", "/", " ")
      assert_includes (goes_on ? [""] : whole).map { |sign| before + line + sign }, shell.tab(before + typed)[0]
    end
  end

  # Each option of mwrapctl's commands is listed behind a dash or two, and each word behind its option.
  def assert_ctl(shell)
    Mwrap::Ctl::COMMANDS.each do |c|
      listed = shell.tab("mwrapctl #{c.name} --")[1]
      c.options.each { |o| assert_match(/(?<![\w-])--#{o.name}(?![\w-])/, listed) }
      c.options.select(&:words).each do |o|
        listed = shell.tab("mwrapctl #{c.name} --#{o.name} ")[1]
        o.words.each { |word| assert_match(/(?<!\w)#{word}(?!\w)/, listed) }
      end
    end
  end

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
    Shell.run("bash", "--norc", "--noprofile", "-i", start: "#{START}#{more}\n. #{FOLDER}/mwrap.bash; . #{FOLDER}/mwrapctl.bash", &block)
  end

  WITH = ". /usr/share/bash-completion/bash_completion"

  def test_options_behind_env
    ["", WITH].each { |more| bash(more) { |shell| assert_every_option(shell, "env ") } }
  end

  def test_several_options
    bash do |shell|
      ["env ", "env A=1 "].each { |before| assert_several(shell, before) }
    end
  end

  # Some take these out of what divides words.
  def test_other_word_breaks
    ['COMP_WORDBREAKS=${COMP_WORDBREAKS//:}', 'COMP_WORDBREAKS=${COMP_WORDBREAKS//=}', "COMP_WORDBREAKS=' '"].each do |more|
      bash(more) do |shell|
        assert_tabs(shell, SEVERAL.slice("MWRAP=source:0,dump_fo", "MWRAP=source:0,dump_format:j"), "env ")
      end
    end
  end

  def test_commands_behind_mwrap
    ["", WITH].each do |more|
      bash(more) do |shell|
        assert_tabs(shell, COMMANDS)
        ["A=1 ", "MWRAP=read_only:1,listen:[::1]:80 ", *(["A=1 MWRAP= mwrap ", "A=1 mwrap "] unless more.empty?)].each do |words|
          assert_equal "env #{words}mktemp ", shell.tab("env #{words}mktem")[0]
        end
        assert_equal "env MWRAP=read_only:1 mktemp --tmpdir", shell.tab("env MWRAP=read_only:1 mktemp --tmp")[0].sub(/[= ]*\z/, "") unless more.empty?
      end
    end
  end

  def test_mwrapctl
    ["", WITH, "COMP_WORDBREAKS=${COMP_WORDBREAKS//=}"].each do |more|
      bash(more) do |shell|
        assert_tabs(shell, CTL)
        assert_ctl(shell)
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
    zsh { |shell| ["", "export "].each { |before| assert_several(shell, before, whole: [" ", ","]) } }
  end

  def test_commands_behind_mwrap
    zsh { |shell| assert_tabs(shell, COMMANDS) }
  end

  def test_mwrapctl
    zsh do |shell|
      # it offers a sign of equality behind an option
      assert_tabs(shell, CTL.merge("mwrapctl flame --tok" => "mwrapctl flame --token-file="))
      assert_ctl(shell)
    end
  end
end

class TestOfFish < Minitest::Test
  include Completions

  # fish's offers for each line, without the descriptions.
  def fish(*lines)
    in_tmp do |dir|
      Dir.mkdir("#{dir}/some")
      File.write("#{dir}/some/file", "")
      script = "source #{FOLDER}/mwrap.fish; source #{FOLDER}/mwrapctl.fish; for line in $argv; echo \"line $line\"; complete -C \"$line\"; end"
      run = run_command("fish", "--no-config", "-c", script, *lines, chdir: dir, env: { "HOME" => dir, "LC_ALL" => "C.UTF-8" })
      assert_success run
      assert_equal "", run.stderr
      run.stdout.split(/^line .*\n/, -1).drop(1).map { |part| part.lines(chomp: true).map { |line| line[/\A[^\t]*/] } }
    end
  end

  def test_every_option
    %w[env export].each do |command|
      # fish 4 adds the variable itself
      assert_equal KEYS.map { |key| "MWRAP=#{key}:" }.sort, (fish("#{command} MWRAP=")[0] - ["MWRAP="]).sort
      found = fish(*words.keys.map { |key| "#{command} MWRAP=#{key}:" })
      words.each_with_index { |(key, values), i| assert_equal values.map { |v| "MWRAP=#{key}:#{v}" }.sort, found[i].sort }
    end
  end

  def test_several_options
    found = fish("env MWRAP=source:0,so", *SEVERAL.keys.map { |typed| "env #{typed}" })
    assert_equal OF_SOCKETS.map { |key| "MWRAP=source:0,#{key}:" }.sort, found.shift.sort
    # it prints a word as the command gets it
    SEVERAL.each_with_index { |(typed, line), i| assert_equal typed == line ? [] : [line.gsub("\\\\", "\\")], found[i] }
  end

  def test_commands_behind_mwrap
    found = fish("mwrap --", "mwrap some/file --", *COMMANDS.keys)
    assert_equal %w[--help --version], found.shift.sort
    refute_includes found.shift, "--version"
    COMMANDS.each_with_index { |(_, line), i| assert_equal [line.split.last], found[i] }
  end

  def test_mwrapctl
    CTL.zip(fish(*CTL.keys)) { |(typed, line), found| assert_equal typed == line ? [] : [line.split.last], found, typed }
    Mwrap::Ctl::COMMANDS.each do |c|
      assert_empty c.options.map { |o| "--#{o.name}" } - fish("mwrapctl #{c.name} --")[0]
      valued = c.options.select(&:words)
      valued.zip(fish(*valued.map { |o| "mwrapctl #{c.name} --#{o.name} " })) { |o, found| assert_equal o.words.sort, found.sort }
    end
  end
end
