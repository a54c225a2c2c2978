# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# run.rb - `make check-behaviour` runs this once all is installed and built
# (run.sh): other projects' tests, without the tracker and with it. Every test
# must have the same outcome. Prints a table; exits with 1 if any differs, or if
# a suite says nothing; with 2 if a suite's source can't be had.
#
#   SUITES='ruby processes,puma'   only these (default: all)
#   RUBY_SOURCE=DIR    the source of this very Ruby, instead of Debian's source package
#   PUMA_SOURCE=DIR    Puma's repository at the version of t/lib/gems, instead of a clone
#
# .build/behaviour/*.log has the suites' output, and each test's outcome.
require_relative "suites"

class BehaviourRun
  DIR = File.join(Behaviour::TOP, ".build", "behaviour")
  ROW = "%-16s %7s %10s %8s %8s %10s %11s"
  SHOWN = 20 # differences of a suite

  def initialize(wanted)
    unknown = wanted - Behaviour::Suites::NAMES
    abort "mwrap: no suite #{unknown[0].inspect}; there are: #{Behaviour::Suites::NAMES.join(", ")}" if unknown.any?
    @names = wanted.empty? ? Behaviour::Suites::NAMES : wanted
    @suites = Behaviour::Suites.new(DIR)
    @notes = []
    @status = 0
  end

  # Returns the status to exit with.
  def run
    puts RUBY_DESCRIPTION
    puts format(ROW, "suite", "tests", "assertions", "skipped", "failing", "processes", "differences")
    @names.each { |name| one(name) }
    puts "", @notes if @notes.any?
    @status
  end

  private

  def one(name)
    done = Behaviour::Comparison.new(@suites[name], DIR).run
    differences = done.differences
    native = done.native
    puts format(ROW, name, native.tests, native.assertions, native.count("skip"),
                native.count("fail") + native.count("error"), done.processes, differences.size)
    note(name, "DIFFERS", differences)
    note(name, "has either outcome", done.wavering)
    done.problems.each { |problem| @notes << "#{name}: #{problem}" }
    @status = 1 if differences.any? || done.problems.any?
  rescue Behaviour::Sources::Missing => e
    puts format(ROW, name, *["-"] * 6)
    @notes << "#{name}: not run: #{e.message}"
    @status = 2 if @status.zero?
  end

  def note(name, what, tests)
    tests.first(SHOWN).each do |test, (native, tracked)|
      @notes << "#{name}: #{test} #{what}: without #{native.join(", ")}; with #{tracked.join(", ")}"
    end
    @notes << "#{name}: and #{tests.size - SHOWN} more" if tests.size > SHOWN
  end
end

$stdout.sync = true
exit BehaviourRun.new(ENV["SUITES"].to_s.split(",").map(&:strip)).run
