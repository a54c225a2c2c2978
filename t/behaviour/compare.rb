# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Runs a suite of tests without the tracker and with it, and compares the
# outcome of every test by name. Used by run.rb and ../behaviour.t.
#
#	c = Behaviour::Comparison.new(suite, dir)   # dir: for logs and results
#	c.run
#	c.problems      # why this says nothing, e.g. no test ran; [] if it does
#	c.differences   # {"Class#test" => [outcomes without, outcomes with]}
#
# With the tracker there is also the server, in this and in every process that
# the tests start, and somebody who reads /stats.json all the time.
require "fileutils"
require "json"
require "rbconfig"
require "socket"
require "tmpdir"

module Behaviour
  TOP = File.expand_path("../..", __dir__)
  LAUNCHER = File.join(TOP, "lib/exe/mwrap")

  # name     in the table
  # kind     what runs the tests: a method of BehaviourRecord in record.rb
  # dir      where
  # args     Ruby's arguments
  # only     a lambda: the arguments that choose the tests of these names
  # env      added to the environment
  Suite = Struct.new(:name, :kind, :dir, :args, :only, :env, keyword_init: true)

  # The results of one run: outcomes is {name => [outcome, ...]}, for some
  # suites have two tests of one name.
  class Results
    attr_reader :outcomes, :assertions, :status, :problem

    def initialize(file, status, problem)
      @outcomes = Hash.new { |h, k| h[k] = [] }
      @assertions = 0
      @status = status
      @problem = problem
      File.foreach(file, chomp: true) do |line|
        name, outcome, assertions = line.split("\t")
        @outcomes[name] << outcome
        @assertions += assertions.to_i
      end
      @outcomes.each_value(&:sort!)
      @outcomes.default = ["did not run"].freeze
    end

    def tests = @outcomes.sum { |_, all| all.size }

    def count(outcome) = @outcomes.sum { |_, all| all.count(outcome) }
  end

  # Reads the statistics of a process over its socket, until told to stop.
  class Watcher
    attr_reader :answers, :allocations

    # answered: a file that is made at the first answer.
    def initialize(socket, answered)
      @socket = socket
      @answered = answered
      @answers = 0
      @allocations = 0
      @seen = {}
      @thread = Thread.new { look until @stop }
    end

    # How many processes had a socket when somebody looked.
    def processes = @seen.size

    def stop
      @stop = true
      @thread.join
    end

    private

    def look
      Dir["#{@socket}*"].each { |path| @seen[path] = true unless path.end_with?(".lock") }
      sleep(@answers.zero? ? 0.02 : 0.3)
      stats = ask or return
      @answers += 1
      @seen[@socket] = true # it may have come after that look
      FileUtils.touch(@answered)
      @allocations = [@allocations, stats.fetch("allocations")].max
    end

    def ask
      UNIXSocket.open(@socket) do |server|
        server.timeout = 30 if server.respond_to?(:timeout=)
        server.write("GET /stats.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        head, body = server.read.split("\r\n\r\n", 2)
        JSON.parse(body) if head&.start_with?("HTTP/1.1 200 ")
      end
    rescue SystemCallError, IOError, JSON::ParserError
      nil
    end
  end

  # One suite, run and compared.
  class Comparison
    LIMIT = 1800 # seconds; then a run counts as hanging
    AGAIN = 5 # more runs of the tests that differ, on each side
    BROKEN = %w[fail error].freeze
    MANY = 50 # of more, the whole suite is run again, once
    CLEAN = %w[LD_PRELOAD MWRAP RUBYOPT RUBYLIB BUNDLE_GEMFILE MAKEFLAGS MAKELEVEL MFLAGS].to_h { |n| [n, nil] }.freeze

    attr_reader :native, :tracked, :processes

    def initialize(suite, dir)
      @suite = suite
      @dir = dir
      @problems = []
      @processes = 0
      FileUtils.mkdir_p(dir)
    end

    def run
      @native = once(:native)
      @tracked = once(:tracked)
      @seen = unequal.to_h { |name| [name, { native: [@native.outcomes[name]], tracked: [@tracked.outcomes[name]] }] }
      again if @seen.any?
      self
    end

    def problems
      none = ("not one test passed" if [@native, @tracked].any? { |r| r.count("pass").zero? })
      [@native.problem, @tracked.problem, none, ending, *@problems].compact.uniq
    end

    # Tests that had, when they were run again with the tracker, an outcome that
    # they never had without it (but see same?).
    def differences = outcomes_seen.reject { |_, (native, tracked)| same?(native, tracked) }

    # Tests with different outcomes at first, but not when they were run again.
    def wavering = outcomes_seen.select { |_, (native, tracked)| same?(native, tracked) }

    private

    # Its endings, if they differ and no test that failed is why.
    def ending
      return if @native.status == @tracked.status
      return unless @seen.empty? || @native.status.start_with?("SIG") || @tracked.status.start_with?("SIG")
      "it ended with #{@native.status}, tracked with #{@tracked.status}"
    end

    def outcomes_seen
      @seen.to_h { |name, sides| [name, sides.values_at(:native, :tracked).map { |runs| runs.map { |o| o.join("+") } }] }
    end

    # A test that passes only at times without the tracker may break in any way with it.
    def same?(native, tracked)
      repeated = tracked.drop(1)
      seen = native.include?("pass") && native.intersect?(BROKEN) ? native | BROKEN : native
      repeated.any? && (repeated - seen).empty?
    end

    def unequal
      (@native.outcomes.keys | @tracked.outcomes.keys).reject { |name| @native.outcomes[name] == @tracked.outcomes[name] }
    end

    # Those tests alone; and, for what one only does beside the others, the whole
    # suite when the first outcome with the tracker is still one that never came without.
    def again
      return whole(:native, :tracked) if @seen.size > MANY
      AGAIN.times do |i|
        %i[native tracked].each { |side| add(side, once(side, *@suite.only[@seen.keys], log: "#{side}.again#{i + 1}")) }
      end
      whole(:tracked) if outcomes_seen.any? { |_, (native, tracked)| !native.include?(tracked[0]) }
    end

    def whole(*sides)
      sides.each { |side| add(side, once(side, log: "#{side}.whole")) }
    end

    def add(side, results)
      @seen.each { |name, sides| sides[side] << results.outcomes[name] }
    end

    # Runs the suite; side is :native or :tracked.
    def once(side, *args, log: side.to_s)
      Dir.mktmpdir("mwrap-") do |tmp|
        file = File.join(tmp, "results")
        FileUtils.touch(file)
        FileUtils.mkdir(work = File.join(tmp, "tmp"))
        env = CLEAN.merge("TMPDIR" => work, "BEHAVIOUR_RESULTS" => file, "BEHAVIOUR_KIND" => @suite.kind.to_s,
                          **@suite.env.to_h)
        env.merge!("MWRAP" => "socket:#{tmp}/s,children:all", "BEHAVIOUR_ANSWERED" => "#{tmp}/answered") if side == :tracked
        command = [RbConfig.ruby, "-r#{__dir__}/record.rb", *@suite.args, *args]
        command = [LAUNCHER, *command] if side == :tracked
        status, problem = execute(env, command, log) { side == :tracked && Watcher.new("#{tmp}/s", "#{tmp}/answered") }
        Results.new(file, status, problem)
      end
    end

    # Returns its exit status and, if it hung, what is to be said.
    def execute(env, command, log)
      path = File.join(@dir, "#{@suite.name.tr("/ ", "--")}.#{log}.log")
      pid = Process.spawn(env, *command, chdir: @suite.dir, in: File::NULL, out: path, err: [:child, :out],
                                         close_others: true, pgroup: true)
      watcher = yield
      status = wait(pid)
      [ending_of(status), ("#{path}: still running after #{LIMIT} s" unless status)]
    ensure
      kill(pid) if pid
      look_at(watcher) if watcher
    end

    def ending_of(status)
      return "no end" unless status
      status.signaled? ? "SIG#{Signal.signame(status.termsig)}" : "exit #{status.exitstatus}"
    end

    def wait(pid)
      (LIMIT * 10).times do
        _, status = Process.wait2(pid, Process::WNOHANG)
        return status if status
        sleep(0.1)
      end
      nil
    end

    # Ends the rest of its process group.
    def kill(pid)
      Process.kill(:KILL, -pid)
      Process.wait(pid)
    rescue Errno::ESRCH, Errno::ECHILD
      nil
    end

    def look_at(watcher)
      watcher.stop
      @processes += watcher.processes
      @problems << "its server never answered" if watcher.answers.zero?
      @problems << "nothing was tracked" if watcher.allocations.zero?
    end
  end
end
