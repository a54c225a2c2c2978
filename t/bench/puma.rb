# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# puma.rb - a Sinatra app under Puma, each time a new process: CPU time per
# request, by the app's own clock, and memory after the last one (PSS).
require "net/http"
require "rbconfig"
require "tmpdir"

# The app's process.
class PumaApp
  SERVER = File.join(__dir__, "programs/server.rb")
  LOAD = File.expand_path("../../.build/t/bench/load", __dir__)
  PATHS = %w[/ /books/7 /books.json /search?q=12 /books/31].freeze

  attr_reader :pid, :port

  # Yields a running one.
  def self.run(env, &block)
    Dir.mktmpdir("mwrap-bench-") { |dir| new(env, dir).send(:serve, &block) }
  end

  # Seconds of CPU time so far.
  def cpu
    Float(get("/cpu"))
  end

  # kB, shared pages by halves, thirds, …
  def pss
    Integer(File.read("/proc/#{@pid}/smaps_rollup")[/^Pss:\s+(\d+)/, 1])
  end

  def get(path)
    Net::HTTP.get_response("127.0.0.1", path, @port).then do |answer|
      answer.is_a?(Net::HTTPOK) or raise "#{path}: #{answer.code}"
      answer.body
    end
  end

  # So many requests, by two clients at once; the rate, in requests a second.
  def requests(count)
    load_with("count", @port, 2, count)["rate"]
  end

  # Requests that don't wait for each other, for so many seconds; latencies in ms.
  def open_load(rate, seconds)
    load_with("open", @port, 16, format("%.3f", rate), format("%.3f", seconds))
  end

  private

  def initialize(env, dir)
    @env = env.transform_values { |value| value&.sub("DIR", dir) }
    @log = File.join(dir, "log")
  end

  def serve
    input, alive = IO.pipe
    @pid = spawn(@env, RbConfig.ruby, SERVER, in: input, %i[out err] => @log)
    input.close
    @port = wait_for_port
    yield self
  ensure
    alive&.close
    Process.wait(@pid) if @pid
  end

  def wait_for_port
    1200.times do
      port = File.read(@log)[%r{Listening on http://127.0.0.1:(\d+)}, 1] and return Integer(port)
      if Process.wait(@pid, Process::WNOHANG)
        @pid = nil
        break
      end
      sleep 0.05
    end
    raise "the app didn't start:\n#{File.readlines(@log).last(10).join}"
  end

  def load_with(*args)
    text = IO.popen([LOAD, *args.map(&:to_s), *PATHS], &:read)
    $?.success? or raise "the load generator failed:\n#{text}"
    Work.parse(text)
  end
end

class PumaWork
  WARM_UP = 400
  REQUESTS = 2000

  def key = "puma"

  def figures
    [Figure.new(title: "Sinatra under Puma: CPU of a request", key: "cpu", unit: "µs", scale: 1e6 / REQUESTS,
                mode: :ratio, most: 1.08),
     Figure.new(title: "Sinatra under Puma: memory (PSS)", key: "pss", unit: "MB", scale: 1.024e-3,
                mode: :ratio, most: 1.08, or_plus: 5)]
  end

  def run(subject)
    PumaApp.run(subject.env) do |app|
      app.requests(WARM_UP)
      before = app.cpu
      app.requests(REQUESTS)
      { "cpu" => app.cpu - before, "pss" => app.pss.to_f }
    end
  end
end
