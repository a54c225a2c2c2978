# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Loaded by `ruby -r` into a process that runs a suite of tests: writes one line
# for each test that has ended, "NAME<tab>OUTCOME<tab>ASSERTIONS", OUTCOME being
# pass, fail, error or skip. compare.rb sets the environment:
#
#	BEHAVIOUR_RESULTS   the file that it writes
#	BEHAVIOUR_KIND      what runs the tests, see below
#	BEHAVIOUR_ANSWERED  with the tracker: a file that is there once the server has answered
#
# All are gone from ENV when the tests start, and what a test forks or spawns
# writes nothing: only the process that loaded this file does. A suite's
# random choices are the same in every run.
srand(1)

module BehaviourRecord
  FILE = File.open(ENV.delete("BEHAVIOUR_RESULTS"), "w")
  FILE.sync = true
  OWNER = Process.pid

  def self.write(name, outcome, assertions)
    return unless Process.pid == OWNER

    FILE.syswrite("#{name.to_s.b.tr("\t\n", "  ")}\t#{outcome}\t#{assertions}\n")
  end

  # the runner in Ruby's own source, which has test-unit's names and minitest's
  # hooks; its tool/lib is in the load path
  def self.ruby
    require "test/unit"
    outcome = lambda do |error|
      case error
      when nil then "pass"
      when Test::Unit::PendedError then "skip"
      when Test::Unit::AssertionFailedError then "fail"
      else "error"
      end
    end
    Test::Unit::Runner.prepend(Module.new do
      define_method(:record) do |suite, method, assertions, time, error, *rest|
        BehaviourRecord.write("#{suite}##{method}", outcome[error], assertions)
        super(suite, method, assertions, time, error, *rest)
      end
    end)
  end

  def self.minitest
    require "minitest"
    reporter = Class.new(Minitest::AbstractReporter) do
      def record(result)
        outcome = { "." => "pass", "F" => "fail", "E" => "error", "S" => "skip" }.fetch(result.result_code)
        BehaviourRecord.write("#{result.klass}##{result.name}", outcome, result.assertions)
      end
    end
    Minitest.extensions << "behaviour"
    Minitest.define_singleton_method(:plugin_behaviour_init) { |_| Minitest.reporter << reporter.new }
  end

  # the gem of this name
  def self.test_unit
    require "test/unit"
    kinds = { "Failure" => "fail", "Error" => "error" }
    Test::Unit::TestCase.prepend(Module.new do
      define_method(:run) do |result, *args, **options, &block|
        faults = result.faults.size
        assertions = result.assertion_count
        ran = super(result, *args, **options, &block)
        outcome = result.faults.drop(faults).map { |f| kinds.fetch(f.class.name[/\w+\z/], "skip") }.min || "pass"
        BehaviourRecord.write("#{self.class.name}##{method_name}", outcome, result.assertion_count - assertions)
        ran
      end
    end)
  end

  def self.rspec
    require "rspec/core"
    listener = Object.new
    { example_passed: "pass", example_failed: "fail", example_pending: "skip" }.each do |event, outcome|
      listener.define_singleton_method(event) do |told|
        BehaviourRecord.write("#{told.example.id} #{told.example.full_description}", outcome, 1)
      end
    end
    RSpec.configuration.reporter.register_listener(listener, :example_passed, :example_failed, :example_pending)
  end

  # else a short suite may be over before anybody looked; without an answer in a minute it begins, too
  answered = ENV.delete("BEHAVIOUR_ANSWERED")
  6000.times { File.exist?(answered) ? break : sleep(0.01) } if answered

  public_send(ENV.delete("BEHAVIOUR_KIND"))
end
