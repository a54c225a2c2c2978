# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# puma.rb - a Puma cluster under load, started without the tracker: its master and workers are attached
# to and detached from all the time, injected and by signal. Each answer is known before.
require_relative "../lib/patience"
require_relative "../soak/load"

class AttachToPuma
  include Visits
  include Patience

  def initialize(seconds)
    @seconds = seconds
  end

  def run
    [false, true].each do |gem|
      Dir.mktmpdir("mwrap-attach-") { |dir| cluster(dir, gem) }
    end
    puts "puma: #{figures}"
  end

  private

  def cluster(dir, gem)
    log = File.join(dir, "log")
    input, alive = IO.pipe
    env = { "MWRAP" => nil, "LD_PRELOAD" => nil, "RUBYOPT" => nil }
    pid = spawn(env, RbConfig.ruby, "-I#{Subject::LIB}", *("-rmwrap" if gem), File.expand_path("../soak/server.rb", __dir__), "preloaded", in: input, %i[out err] => log)
    input.close
    port = eventually("a cluster that listens") { File.read(log)[%r{Listening on http://127.0.0.1:(\d+)}, 1]&.to_i }
    workers = eventually("its workers") { File.read("/proc/#{pid}/task/#{pid}/children").split.then { |w| w if w.size == 2 && File.read(log).scan("booted").size == 2 } }
    pairs, load = visit([pid, *workers], Load.new(port))
    ended = File.read(log).scan(/worker \d+ ended.*/)
    alive.close
    Process.wait(pid)
    load.errors.empty? && ended.empty? or wrong "puma: #{load.errors.size} wrong answers, #{load.errors.first}, #{ended.inspect}"
    puts "puma, #{gem ? "by signal" : "injected"}: #{load.served} requests, none failed; #{pairs} attached and detached"
  end

  def visit(pids, load)
    pairs = 0
    load.start
    ending = Process.clock_gettime(Process::CLOCK_MONOTONIC) + @seconds / 2.0
    while Process.clock_gettime(Process::CLOCK_MONOTONIC) < ending
      pair(pids.sample(random: random))
      pairs += 1
    end
    load.stop
    [pairs, load]
  end
end
