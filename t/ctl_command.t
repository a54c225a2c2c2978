#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# ctl_command.t - a mwrapctl command reads its words: each form of arguments, options that take
# numbers, lists or several values, the exit status, and the help (lib/mwrap/ctl/command.rb).

require_relative "lib/tap"
require_relative "../lib/mwrap/ctl"

class CtlCommandTest < Minitest::Test
  Ctl = Mwrap::Ctl
  OPTIONS = [
    Ctl::Option.new(name: "count", letter: "n", value: "N", type: :count, help: "how many"),
    Ctl::Option.new(name: "pid", value: "PID", type: :pid, help: "which"),
    Ctl::Option.new(name: "interval", value: "SECONDS", type: :number, help: "how often"),
    Ctl::Option.new(name: "rounds", value: "N,...", type: :counts, help: "how long"),
    Ctl::Option.new(name: "at", value: "X,...", type: :numbers, help: "where"),
    Ctl::Option.new(name: "mark", value: "NAME", many: true, help: "marks"),
    Ctl::Option.new(name: "by", value: "live|total", help: "what"),
    Ctl::Option.new(name: "only", value: "this", help: "one word"),
    Ctl::Option.new(name: "all", letter: "a", help: "all")
  ].freeze

  # The arguments of its action
  def call(arguments, *words, result: nil)
    got = nil
    command = Ctl::Command.new(name: "do", arguments: arguments, options: OPTIONS, forms: {}, action: ->(args, given) { got = [args, given]; result })
    @status = command.call(words)
    got
  end

  def assert_wrong(message, arguments, *words)
    error = assert_raises(Ctl::Usage) { call(arguments, *words) }
    assert_equal message, error.message
    assert_equal 2, error.status
  end

  MISSING = "missing: see mwrapctl help do"
  MANY = "one argument too many: see mwrapctl help do"

  def test_numbers_of_arguments
    { "" => [[], %w[x]], "A" => [%w[x], %w[x y]], "A B" => [%w[x y], %w[x y z]], "A [B]" => [%w[x], %w[x y], %w[x y z]] }.each do |arguments, lists|
      lists[..-2].each { |words| assert_equal [words, {}], call(arguments, *words) }
      assert_wrong "#{lists[-1][-1]}: #{MANY}", arguments, *lists[-1]
    end
    { "A" => "A", "A B" => "A", "A [B]" => "A", "FILE..." => "FILE" }.each { |arguments, name| assert_wrong "#{name}: #{MISSING}", arguments }
    assert_wrong "B: #{MISSING}", "A B", "x"
    assert_equal [[], {}], call("[FILE...]")
    assert_equal [%w[a b c d], {}], call("FILE...", *%w[a b c d])
    assert_equal [%w[a b c d], {}], call("A [FILE...]", *%w[a b c d])
  end

  def test_options_stand_anywhere
    [%w[-n 3 x y], %w[x -n3 y], %w[x y --count=3], %w[x --count 3 -- y]].each { |words| assert_equal [%w[x y], { "count" => 3 }], call("A B", *words) }
    assert_equal [%w[-n 3], {}], call("A B", "--", "-n", "3")
    assert_equal [%w[-], { "all" => true }], call("A", "-a", "-")
  end

  def test_numbers
    assert_equal({ "interval" => 0.5, "rounds" => [10, 30], "at" => [-1.0, 0.0, 2.5], "pid" => 7 },
                 call("", "--interval", "0.5", "--rounds=10,30", "--at", "-1,0,2.5", "--pid", "7")[1])
    %w[0 -1 x 1.5 1e3 99999999999].push("", "3\n").each { |s| assert_wrong "-n: \"#{s}\" is not a count: write digits, from 1 on", "", "-n", s }
    assert_wrong '--pid: "x" is not a PID: write digits only', "", "--pid", "x"
    %w[0 -1 x 1. .5 Infinity].each { |s| assert_wrong "--interval: \"#{s}\" is not a number above 0: write one such as 2 or 0.5", "", "--interval", s }
    %w[1, ,1 1,,2 1,x 0].push("").each { |s| assert_wrong "--rounds: \"#{s}\" is not a list of counts: write one such as 10,30,20", "", "--rounds", s }
    %w[1, a].push("").each { |s| assert_wrong "--at: \"#{s}\" is not a list of numbers: write one such as 0,1.5,3", "", "--at", s }
  end

  def test_words_and_repeated_options
    assert_equal({ "mark" => %w[a b], "by" => "total" }, call("", "--mark", "a", "--by=live", "--mark=b", "--by", "total")[1])
    assert_wrong '--by: "x" is unknown: use live or total', "", "--by", "x"
    assert_wrong '--only: "that" is unknown: use this', "", "--only", "that"
  end

  def test_status
    { nil => 0, 4711 => 0, found: 1, unknown: 2, other: 0 }.each do |result, status|
      call("", result: result)
      assert_equal status, @status
    end
  end

  def test_help
    command = Ctl::Command.new(name: "who", arguments: "SOCKET [LOCATION]", about: "Says who.\n", options: OPTIONS,
                               forms: { "SOCKET" => [["PATH", "a socket"], ["PID", "a process"]], "LOCATION" => "a line" })
    assert_equal <<~TEXT, command.help.lines.take(12).join
      usage: mwrapctl who SOCKET [LOCATION] [OPTION ...]

      Says who.

      Arguments:
        SOCKET                see mwrapctl help SOCKET
        LOCATION              a line

      Options:
        -n, --count N         how many
        --pid PID             which
        --interval SECONDS    how often
    TEXT
    assert_equal [["SOCKET", false, false, true], ["LOCATION", true, false, false]], command.takes.map { |a| [a.name, a.optional, a.many, a.file?] }
  end
end
