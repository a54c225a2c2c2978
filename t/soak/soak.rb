# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# soak.rb - one cluster from its start to its end: a look at it while it is idle, a
# warm-up, the soak, the same look again, and what is left when it has stopped.
#
# Load, poller and restarts run at the same time in both parts. The warm-up sees each
# kind of restart, and every page and change, so that the soak does nothing for the first time.
require_relative "../lib/at_rest"
require_relative "cluster"
require_relative "figures"
require_relative "load"
require_relative "poller"
require_relative "report"
require_relative "restarts"

class Soak
  SAMPLES = 20 # of memory in the soak
  COUNTED = 2  # seconds of load between the two snapshots that are compared at the end
  ENOUGH = 200 # requests served in the warm-up at least
  PATIENCE = 90 # seconds until nothing more will go by itself: Ruby keeps threads for one minute

  # seconds: of the soak itself; the warm-up is a tenth of that at least
  def initialize(kind, seconds)
    @seconds = seconds
    @cluster = Cluster.new(kind)
    @report = Report.new(kind)
  end

  # A Report, whatever happens.
  def run
    start
    go_on(@seconds / 10.0) { @restarts.rounds.positive? && @poller.rounds > Visit::CHANGES.size && @load.served >= ENOUGH }
    @report.look(look(memory: true))
    go_on(@seconds) { sample }
    @poller.round # also those that have just been started
    counts_since_reset
    @report.look(settle)
    finish
    @report
  rescue StandardError => e
    @report.broken(e)
    @report
  ensure
    @report.log = @cluster.log
    @cluster.clean
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  def figures = @cluster.processes.map { |pid| Figures.new(@cluster, pid) }

  def start
    @cluster.start
    @report.restarts = @restarts = Restarts.new(@cluster, (@seconds / 100.0).clamp(0.5, 5))
    @restarts.hot_restart if @cluster.kind == "phased"
    figures.each { |f| @report.counts(f) { f.check_from_start } }
    # a worker says that it has booted before it has all of its threads and descriptors
    @cluster.processes.each { |pid| @cluster.wait_for("#{pid} to have nothing to do") { AtRest.now?(pid) } }
    @report.look(look)
    @report.load = @load = Load.new(@cluster.port)
    @report.poller = @poller = Poller.new(@cluster)
  end

  # All at once for so long, and until the block says that it is enough. Idle then.
  def go_on(seconds)
    from = now
    [@load, @poller, @restarts].each(&:start)
    loop do
      sleep seconds / SAMPLES
      enough = yield
      break if @restarts.broken? || (enough && now - from >= seconds)
    end
  ensure
    [@restarts, @poller, @load].each(&:stop)
  end

  # The tables of those that are there from the start to the end.
  def sample
    @report.sample(roles.select { |role, _| stays?(role) }.transform_values do |pid|
      stats = @cluster.stats(pid)
      { bytes: stats["tracker_bytes"], locations: stats["locations"] }
    end)
  end

  def stays?(role) = role == "master" || (role == "elder worker" && @cluster.kind == "preloaded")

  # Role => PID.
  def roles = ["master", "elder worker", "other worker"].zip(@cluster.processes).to_h.compact

  # A Report's figures of each.
  def look(memory: false)
    roles.to_h do |role, pid|
      f = Figures.new(@cluster, pid)
      [role, { descriptors: f.descriptors, threads: f.threads, own: (f.memory if memory) }]
    end
  end

  # The same once connections are closed and spare threads have ended, or after a while.
  def settle
    over = now + PATIENCE
    sleep 0.2 until @report.settled?(look) || now > over
    look(memory: true)
  end

  def counts_since_reset
    all = figures
    all.each { |f| @report.counts(f) { f.begin_count } }
    @load.start
    sleep COUNTED
    @load.stop
    all.each { |f| @report.counts(f) { f.end_count } }
  end

  def finish
    @report.missing = @cluster.processes - @poller.visited
    status = @cluster.stop
    @report.complaints = @cluster.complaints
    @report.endings = @cluster.endings.values
    @report.ended(status, @cluster.left_behind)
  end
end
