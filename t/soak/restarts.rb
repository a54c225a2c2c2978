# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# restarts.rb - restarts workers in the ways that Puma has, one after the other, until
# it is stopped. Each waits until its workers serve: Puma kills one that isn't ready
# yet past all handlers of exit. A worker that was there at first stays where Puma
# lets it.
class Restarts
  KINDS = { "preloaded" => %i[fewer_and_more one_ends], "phased" => %i[fewer_and_more phased one_ends] }.freeze

  attr_reader :done, :rounds # of each kind, how many

  def initialize(cluster, pause)
    @cluster = cluster
    @pause = pause
    @done = Hash.new(0)
    @rounds = 0
  end

  # Raises what kept a restart from coming to its end when it is stopped.
  def start
    @over = false
    @thread = Thread.new do
      round until @over
    end
    @thread.report_on_exception = false
  end

  def stop
    @over = true
    @thread.join
  end

  # Was there an end before it was asked for?
  def broken? = !@thread.alive?

  # The master, too: it exec's itself. Its tracker starts afresh.
  def hot_restart
    before = @cluster.workers
    Process.kill(:USR2, @cluster.pid)
    all_new(before, "the new workers of a hot restart")
    @done[:hot] += 1
  end

  private

  def round
    KINDS.fetch(@cluster.kind).each do |kind|
      break if @over

      send(kind)
      sleep @pause
    end
    @rounds += 1
  end

  def fewer_and_more
    last = @cluster.workers.last
    Process.kill(:TTOU, @cluster.pid)
    @cluster.wait_for("a worker less") { !@cluster.workers.include?(last) }
    Process.kill(:TTIN, @cluster.pid)
    @cluster.wait_for("a worker more") { @cluster.ready? }
    @done[:worker] += 1
  end

  def one_ends
    last = @cluster.workers.last
    Process.kill(:TERM, last)
    @cluster.wait_for("a worker in place of one that ended") { !@cluster.workers.include?(last) && @cluster.ready? }
    @done[:worker] += 1
  end

  def phased
    before = @cluster.workers
    Process.kill(:USR1, @cluster.pid)
    all_new(before, "the new workers of a phased restart")
    @done[:phased] += 1
  end

  def all_new(before, what)
    @cluster.wait_for(what) { !@cluster.workers.intersect?(before) && @cluster.ready? }
  end
end
