# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# visits.rb - a process that does something, and visits to it by mwrapctl's own classes.
require "json"
require "timeout"
require_relative "../../lib/mwrap/ctl/client"

# A program of programs.rb in a process without the tracker.
class Subject
  LIB = File.expand_path("../../lib", __dir__)

  attr_reader :pid

  def self.open(name, **how)
    subject = new(name, **how)
    yield subject
  ensure
    subject&.close
  end

  def initialize(name, gem:, preload: nil, args: [])
    env = { "LD_PRELOAD" => preload, "MWRAP" => nil, "RUBYOPT" => nil }
    input, @in = IO.pipe
    @out, output = IO.pipe
    @err = File.join(Dir.tmpdir, "mwrap-attach-#{Process.pid}.err")
    @pid = spawn(env, RbConfig.ruby, "-I#{LIB}", *("-rmwrap" if gem), File.join(__dir__, "programs.rb"), name, *args,
                 in: input, out: output, err: @err)
    [input, output].each(&:close)
    @name = name
    @out.gets == "ready\n" or raise "#{name}: didn't start: #{File.read(@err)}"
  end

  # Its words once it has ended by itself
  def to_end(seconds)
    text = Timeout.timeout(seconds) { @out.read.strip }
    status = Process.wait2(@pid)[1]
    @ended = true
    status.success? && File.empty?(@err) or raise "#{@name}: #{status}: #{File.read(@err)}"
    text
  rescue Timeout::Error
    raise "#{@name}: hangs"
  end

  def finish
    @in.close
    to_end(60)
  end

  def stats
    at = Mwrap::Ctl::Endpoint.find(@pid.to_s, nil)
    Mwrap::Ctl::Client.new(at, nil).json("/stats.json")
  end

  def close
    return if @ended
    Process.kill(:KILL, @pid)
    Process.wait(@pid)
  ensure
    Dir["/tmp/mwrap-#{Process.euid}/{attach-#{@pid}-*,#{@pid}.sock*}"].each { |f| File.unlink(f) rescue nil }
  end
end

module Visits
  def wrong(line) = abort("t/attach/run.rb: #{line}")

  def random = @random ||= Random.new(20)

  # mwrapctl's output
  def quietly
    kept = $stdout
    $stdout = StringIO.new
    yield
    $stdout.string
  ensure
    $stdout = kept
  end

  def attach(pid, options = nil)
    visit = Mwrap::Ctl::Attach.new(pid.to_s, "wait" => 60)
    quietly { visit.start(options) }
    i = visit.injection or return
    (@microseconds ||= []) << i.microseconds
    (@seen ||= []) << i.seen_microseconds
    (@stops ||= []) << i.stops
  end

  def detach(pid) = quietly { Mwrap::Ctl::Attach.new(pid.to_s, "wait" => 60).stop }

  def pair(pid)
    attach(pid)
    sleep(random.rand * 0.003)
    detach(pid)
    sleep(random.rand * 0.003)
  end

  # How often
  def visit_until_end(subject)
    n = 0
    loop do
      sleep(random.rand * 0.02)
      pair(subject.pid)
      n += 1
    end
  rescue Mwrap::Ctl::Failure => e
    warn e.message if ENV["V"]
    raise unless e.message.match?(/has ended|no such process|permission denied|is still starting|is ending|is shutting down there|ran another program meanwhile|no answer/)
    n
  end

  def forget_figures = @microseconds = @seen = @stops = nil

  def longest = @microseconds&.max

  def figures
    of = ->(us) { us.sort.then { |s| "#{s[s.size / 2]} µs (median), #{s[s.size * 99 / 100]} (99 %), #{s.last} (most)" } }
    "main thread stood still for #{of.call(@seen)}, with the wait for a CPU at most #{of.call(@microseconds)}, #{@stops.count(1)} of #{@stops.size} once"
  end
end
