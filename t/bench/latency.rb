# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# latency.rb - the app's p99 at half of its full load, with a client that asks for a page
# ten times a second and without, in windows that take turns.
#
# A virtual machine's host takes its CPUs away for milliseconds, by which a p99 is many
# times what it would be; so only windows count in which it left them alone (the kernel's own
# account of that), by the same rule with the client and without. There are more windows until
# each kind has enough of those, or there were TRIES times as many as are needed.
require "etc"
require_relative "serving"

module Serving
  # CPU time that the host kept, as /proc/stat counts it.
  module Stolen
    TICK = 1.0 / Etc.sysconf(Etc::SC_CLK_TCK) # seconds

    # Seconds since boot, of all CPUs together; 0 on a machine that has no host.
    def self.now = File.read("/proc/stat")[/^cpu +(?:\d+ +){7}(\d+)/, 1].to_i * TICK

    # The block's value, and how much was stolen meanwhile.
    def self.during
      before = now
      value = yield
      [value, now - before]
    end
  end

  class Latency
    SECONDS = 2
    WINDOWS = 2 # of each kind for each pair of the others'
    TRIES = 4
    STOLEN = 0.02 # seconds of a window at most, of all CPUs together
    LEAST = 6     # windows of each kind, or it says nothing
    MOST = 1.1
    PAGE = "/each/2000?limit=50"

    def key = "latency"

    def run(pairs)
      Dir.mktmpdir("mwrap-bench-") do |dir|
        @socket = File.join(dir, "s")
        PumaApp.run(Serving.env(@socket)) do |app|
          Page.wait_for(@socket)
          app.requests(500)
          measure(app, app.requests(2000) / 2, pairs * WINDOWS)
        end
      end
    end

    private

    def measure(app, rate, wanted)
      kinds = { alone: -> { app.open_load(rate, SECONDS) }, seen: -> { watched { app.open_load(rate, SECONDS) } } }
      good = { alone: [], seen: [] }
      windows = 0
      while windows < wanted * TRIES && good.each_value.any? { |list| list.size < wanted }
        windows += 1
        kinds.to_a.rotate(windows).each do |kind, window|
          got, stolen = Stolen.during(&window)
          good[kind] << got["p99"] if stolen <= STOLEN + (Stolen::TICK / 2)
        end
      end
      report(rate, windows, **good)
    end

    # The same with somebody looking.
    def watched
      pages = IO.popen([PumaApp::LOAD, "look", @socket, "10", SECONDS.to_s, PAGE])
      value = yield
      text = pages.read
      pages.close
      $?.success? && Work.parse(text)["sent"].positive? or raise "nobody looked: #{text}"
      value
    end

    def report(rate, windows, alone:, seen:)
      title = "p99 at #{rate.round} requests/s, looked at"
      if [alone, seen].any? { |list| list.size < LEAST }
        return Serving.show(title, "the host left #{alone.size} and #{seen.size} of #{windows} alone", "≤ ×#{MOST}", false)
      end

      ratio = Stats.new(seen).median / Stats.new(alone).median
      good = Serving.show(title, format("%.2f ms, ×%.3f [%.3f, %.3f]", Stats.new(alone).median, ratio, *Stats.ratio(alone, seen)),
                          "≤ ×#{MOST}", ratio <= MOST)
      puts format("%-38s  %38s", "    in windows that the host left alone", "#{alone.size} and #{seen.size} of #{windows}")
      good
    end
  end
end
