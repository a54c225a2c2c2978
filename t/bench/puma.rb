# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# puma.rb - a Sinatra app under Puma, each time a new process: CPU time per
# request, by the app's own clock, and memory after so many (PSS); and memory of
# a cluster.
require "net/http"
require "rbconfig"
require "tmpdir"
require_relative "turns"
require_relative "work"

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

  # kB that it has when it has answered so many requests.
  def self.memory(env, requests)
    run(env) do |app|
      app.requests(requests)
      app.pss.to_f
    end
  end

  # Seconds of CPU time so far.
  def cpu
    @cpu = Float(get("/cpu"))
  end

  # So many requests; seconds of CPU time since the last one before them.
  def slice(count)
    before = @cpu
    requests(count)
    cpu - before
  end

  # kB, shared pages by halves, thirds, …
  def pss
    processes.sum { |pid| Integer(File.read("/proc/#{pid}/smaps_rollup")[/^Pss:\s+(\d+)/, 1]) }
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

  # Returns the block's value.
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

  def processes = [@pid]

  # The port, or nil.
  def ready = port_of(File.read(@log))
  def port_of(log) = log[%r{Listening on http://127.0.0.1:(\d+)}, 1]

  def wait_for_port
    1200.times do
      port = ready and return Integer(port)
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
    $?.success? or raise "the load generator failed:\n#{text}\nthe app's log ends:\n#{File.readlines(@log).last(10).join}"
    Work.parse(text)
  end
end

# The same app, loaded by the master of a cluster before it forks the workers.
class PumaCluster < PumaApp
  WORKERS = 2

  private

  def initialize(env, dir)
    super(env.merge("WEB_CONCURRENCY" => WORKERS.to_s), dir) # Puma's own; with that it preloads the app
  end

  def processes = [@pid, *@workers]

  def ready
    log = File.read(@log)
    @workers = log.scan(/Worker \d+ \(PID: (\d+)\) booted/).flatten
    log.include?("Preloading application") && @workers.size == WORKERS && port_of(log)
  end
end

# CPU time of two servers that are up at once and get their requests in turns; and
# memory of one after the other: of the files that both map (all of Ruby) each would
# have but half in PSS if both were up, so that the ratio would be of less than it is.
class PumaWork < Work
  WARM_UP = 400
  SLICE = 25 # requests
  TURNS = 80
  REQUESTS = WARM_UP + SLICE * TURNS # before memory is looked at

  def key = "puma"
  def socket? = true

  def figures
    [Figure.new(title: "Sinatra under Puma: CPU of a request", key: "cpu", unit: "µs", scale: 1e6,
                mode: :ratio, most: 1.04, surely: true),
     Figure.new(title: "Sinatra under Puma: memory (PSS)", key: "pss", unit: "MB", scale: 1.024e-3,
                mode: :ratio, most: 1.08, or_plus: 5)]
  end

  def pair(native, other, random)
    times = cpu(native, other, random)
    memory = one_by_one(native, other, random) { |subject| PumaApp.memory(subject.env, REQUESTS) }
    times.zip(memory).map { |cpu, pss| { "cpu" => cpu, "pss" => pss } }
  end

  private

  # Seconds for a request, of both.
  def cpu(native, other, random)
    PumaApp.run(native.env) do |one|
      PumaApp.run(other.env) do |two|
        cpu = Pin.any(random)
        [one, two].each { |app| Pin.to(cpu, app.pid) or raise "can't be put on CPU #{cpu}" }
        [one, two].map { |app| Thread.new { app.requests(WARM_UP) && app.cpu } }.each(&:join)
        Turns.take([one, two], TURNS, random) { |app| app.slice(SLICE) }.map { |spent| spent / SLICE }
      end
    end
  end
end

# Memory of a cluster, the sum over master and workers.
class ClusterWork < Work
  def key = "cluster"
  def socket? = true

  def figures
    [Figure.new(title: "Puma, 2 workers, preloaded: memory (PSS)", key: "pss", unit: "MB", scale: 1.024e-3,
                mode: :ratio, most: 1.06, or_plus: 4 * PumaCluster::WORKERS)]
  end

  def pair(native, other, random)
    one_by_one(native, other, random) { |s| { "pss" => PumaCluster.memory(s.env, PumaWork::REQUESTS) } }
  end
end
