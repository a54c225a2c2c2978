# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For tests of exact counts: a program natively, tracked, and between witnesses.

require_relative "c_tests"

module Exactly
  include CTests

  # Natively, then tracked with a witness beneath, then with one on each side (which
  # takes all locations on itself, but knows what the app asked). The result is the
  # run with one. witness: nil for none; over: false for none above. reset, fork:
  # growth isn't live_bytes.
  def exactly(name, *argv, witness: :below, over: true, reset: false,
              fork: false, **rest)
    argv[0] = program(argv[0])
    native = run(*argv)
    ok(!native.out.include?("NOT OK") && native.ending == "exit 0", "#{name}: natively", native.visible.inspect)
    tracked = track(*argv, witness: witness, **rest)
    same?(native, tracked, name)
    ok(!tracked.dumps.empty?, "#{name}: leaves a dump")
    counts?(tracked, name) unless expected(tracked.out).empty?
    tracked.dumps.each { |pid, rows| sound?(rows, name, reset: reset || fork, empty: pid != tracked.status.pid, torn: fork && pid != tracked.status.pid) }
    return tracked unless witness

    ok(!tracked.lines.empty?, "#{name}: there is a witness")
    tracked.lines.each { |l| agrees?(l, name) }
    return tracked unless over

    both = track(*argv, witness: :both, **rest)
    ok(!both.lines.empty? && both.ending == "exit 0", "#{name}: there are two witnesses")
    both.lines.each { |l| agrees?(l, "#{name}, two witnesses") }
    tracked
  end

  def looked?(result, name)
    ok(result.out =~ /^# api [1-9]/, "#{name}: the program saw the tracker", result.out)
  end
end
