# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# serving.rb - what starting a process and serving pages costs.
require "socket"
require_relative "stats"
require_relative "subjects"
require_relative "works"

# A GET over a Unix socket.
module Page
  module_function

  # The body; raises for anything but 200.
  def get(socket, path)
    UNIXSocket.open(socket) do |io|
      io.write("GET #{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      head, body = io.read.split("\r\n\r\n", 2)
      head.to_s.start_with?("HTTP/1.1 200") or raise "#{path}: #{head.to_s.lines.first || "no answer"}"
      body
    end
  end

  def wait_for(socket)
    200.times do
      return if File.socket?(socket)

      sleep 0.05
    end
    raise "no socket after ten seconds"
  end
end

# Each measures mwrap alone, prints its lines, and returns whether each of them is
# within the budget, as one value or several.
module Serving
  TRACKER = File.join(Subject::TOP, "lib/libmwrap.so")

  def self.all
    [Start.new, Pages.new, Latency.new]
  end

  def self.env(socket)
    Subject::NONE.merge("LD_PRELOAD" => TRACKER, "MWRAP" => "socket:#{socket}")
  end

  # A line of the table; most: the budget.
  def self.show(title, text, most, good)
    puts format("%-38s  %38s  %8s  %5s", title, text, most, good ? "ok" : "over").rstrip
    good
  end

  class Start
    COUNT = 300
    MOST = 1000 # µs

    def key = "start"

    def run(_pairs)
      Dir.mktmpdir("mwrap-bench-") do |dir|
        out = File.join(dir, "out")
        system({ "BENCH_OUT" => out }, File.join(Work::PROGRAMS, "start"), COUNT.to_s, TRACKER, "#{dir}/s") or
          raise "start failed (#{$?})"
        got = Work.parse(File.read(out))
        [["true, start to end", "tracker"], ["    when a socket is asked for", "socket"]].map { |title, key|
          more = got[key] - got["native"]
          Serving.show(title, format("%.0f %+.0f µs", got["native"], more), "≤ 1 ms", more <= MOST)
        }
      end
    end
  end

  # 10,000 locations, then what a page takes.
  class Pages
    LOCATIONS = 10_000
    COUNT = 30
    MOST = 30 # ms
    PATHS = %w[/each/0?limit=50 /each/0 /each/0.tsv /each/0.json].freeze
    CODE = <<~'RUBY'
      keep = []
      ARGV[0].to_i.times { |i| keep << eval("'x' * 2000", nil, "/srv/app/models/file#{i / 100}.rb", i % 100 + 1) }
      $stdout.sync = true
      $stdout.puts "ready"
      $stdin.read
    RUBY

    def key = "page"

    def run(_pairs)
      Dir.mktmpdir("mwrap-bench-") do |dir|
        socket = File.join(dir, "s")
        IO.popen(Serving.env(socket), [RbConfig.ruby, "--disable=gems", "-e", CODE, LOCATIONS.to_s], "r+") do |io|
          io.gets == "ready\n" or raise "the app didn't start"
          Page.wait_for(socket)
          PATHS.map { |path| page(socket, path) }
        end
      end
    end

    private

    def page(socket, path)
      sizes = []
      took = Array.new(COUNT) do
        from = now
        sizes << Page.get(socket, path).bytesize
        (now - from) * 1e3
      end
      stats = Stats.new(took)
      Serving.show("10,000 locations: #{path}",
                   format("%.1f ms [%.1f, %.1f], %d kB", stats.median, stats.low, stats.high, sizes.last / 1000),
                   "< 30 ms", stats.median < MOST)
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end

  # The app's p99 at half of its full load, with somebody looking and without.
  # In short windows, many of them: what else the machine does comes and goes by the second.
  class Latency
    SECONDS = 2
    WINDOWS = 4 # for each pair of the others'
    MOST = 1.1

    def key = "latency"

    def run(pairs)
      Dir.mktmpdir("mwrap-bench-") do |dir|
        @socket = File.join(dir, "s")
        PumaApp.run(Serving.env(@socket)) do |app|
          Page.wait_for(@socket)
          app.requests(500)
          rate = app.requests(2000) / 2
          report(rate, Array.new(pairs * WINDOWS) { |i| both(app, rate, i) })
        end
      end
    end

    private

    # [p99 alone, p99 with somebody looking], in an order that changes
    def both(app, rate, turn)
      steps = [-> { app.open_load(rate, SECONDS)["p99"] }, -> { watched { app.open_load(rate, SECONDS)["p99"] } }]
      got = turn.even? ? steps.map(&:call) : steps.reverse.map(&:call).reverse
      @pages.zero? and raise "nobody looked"
      got
    end

    def watched
      @pages = 0
      over = false
      poller = Thread.new do
        from = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        until over
          Page.get(@socket, "/each/2000?limit=50")
          @pages += 1
          pause = from + @pages * 0.1 - Process.clock_gettime(Process::CLOCK_MONOTONIC)
          sleep pause if pause.positive?
        end
      end
      yield
    ensure
      over = true
      poller.join
    end

    # The ratio of the medians is what counts; that of each pair shows the spread.
    def report(rate, pairs)
      alone, seen = pairs.transpose.map { |values| Stats.new(values) }
      spread = Stats.new(pairs.map { |a, b| b / a })
      ratio = seen.median / alone.median
      Serving.show("p99 at #{rate.round} requests/s, looked at",
                   format("%.2f ms, ×%.3f [%.3f, %.3f]", alone.median, ratio, spread.low, spread.high),
                   "≤ ×1.1", ratio <= MOST)
    end
  end
end
