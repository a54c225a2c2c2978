# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# poller.rb - goes round all of a cluster's processes, until it is stopped. One that
# ends while it is asked is no mistake, provided that it has really ended; whether it took
# its socket with it is seen at the end (Cluster#left_behind).
require_relative "visit"

class Poller
  attr_reader :rounds, :pages, :wrong, :gone, :visited

  def initialize(cluster)
    @cluster = cluster
    @rounds = @pages = @visits = 0
    @wrong = []
    @stale = []
    @gone = 0
    @visited = [] # PIDs
  end

  def start
    @over = false
    @thread = Thread.new { round until @over }
  end

  def stop
    @over = true
    @thread.join
  end

  # Once through every process.
  def round
    @cluster.listeners.except(*@stale).each { |path, pid| visit(path, pid) }
    @rounds += 1
  end

  private

  def visit(path, pid)
    visit = Visit.new(path, pid, @visits += 1, Visit::CHANGES[@rounds % Visit::CHANGES.size])
    visit.run
    @visited |= [pid]
  rescue Http::Broken => e
    broken(path, pid, e.message)
  ensure
    @pages += visit.pages
    @wrong.concat(visit.wrong)
  end

  # One that was just forked has bound its socket and doesn't listen yet: it is asked next time. Restarts wait for
  # it, and at the end nobody may be left who never was asked.
  def begins?(pid, why) = why.include?("Connection refused") && !@visited.include?(pid)

  def broken(path, pid, why)
    return if begins?(pid, why) && !Cluster.gone?(pid)

    if pid == @cluster.pid || !Cluster.ended?(pid)
      @wrong << "#{File.basename(path)} of a process that is alive: #{why}"
    else
      @gone += 1
      @stale |= [path] if File.exist?(path) # not asked again, but found at the end
    end
  end
end
