# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# serving.rb - the cost of starting a process and of serving pages. And latency.rb.
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
end
