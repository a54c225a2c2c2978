# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# app.rb - t/programs/chaos.c in a process of its own, under the tracker: its orders, its ledger, and the tracker's table of it.
require_relative "../soak/http"

class Chaos
  class App
    Gone = Class.new(StandardError)
    ROOT = File.expand_path("../..", __dir__)
    BUILT = File.join(ROOT, ".build/t")
    PATIENCE = 120 # seconds for what only a broken run needs
    DID = %i[children exact wrong unsure threads loads].freeze

    attr_reader :pid, :socket, :dir, :did, :faults, :locations # those of the last table

    def initialize(dir, seed)
      @dir = dir
      @socket = "#{dir}/s"
      @lock = Mutex.new
      @faults = []
      @locations = []
      @did = DID.to_h { |name| [name, 0] }
      env = { "LD_PRELOAD" => "#{ROOT}/lib/libmwrap.so", "MWRAP" => "socket:#{socket},listen:127.0.0.1:0" }
      orders, @in = IO.pipe
      @out, says = IO.pipe
      @pid = Process.spawn(env, "#{BUILT}/programs/chaos", seed.to_s, *%w[a b].map { |x| "#{BUILT}/plugins/swap_#{x}.so" },
                           in: orders, out: says, err: log)
      [orders, says].each(&:close)
      hear
      patiently("a server") { File.socket?(socket) && port }
    end

    def log = "#{dir}/log"
    def port = File.read(log)[%r{listening on http://127\.0\.0\.1:(\d+)/}, 1]&.to_i
    # the C library and the dynamic linker, before they end a process, say why there, too
    def said = File.readlines(log, chomp: true).grep_v(/listening on/)
    # The owner of the socket's path, for a client that finds nothing there.
    def owner = "lock: #{File.read("#{socket}.lock").inspect}, of #{pid}" rescue "no lock, of #{pid}"
    def go = order("go")
    def maybe = order("maybe")
    def sure = order("sure")

    # function => allocations, frees, bytes of both; all threads stand still until `go`.
    def hold = order("hold")

    def ended?
      @status ||= Process.wait2(pid, Process::WNOHANG)&.last
    end

    def finish
      order("end") unless ended?
      patiently("the end") { ended? }
      @status
    rescue Gone
      @status
    end

    def kill
      return if ended?

      Process.kill(:KILL, pid)
      Process.wait(pid)
    end

    # The driver itself must have an answer.
    def ask(method, target)
      answer = nil
      patiently("#{method} #{target}") do
        raise Gone, "the application ended" if ended?

        answer = Http.ask(socket, method, "/#{pid}#{target}")
        answer.status == 200
      rescue Http::Broken
        false
      end
      answer.body
    end

    def reset = ask("POST", "/reset")
    def stats = JSON.parse(ask("GET", "/stats.json"))

    COLUMNS = %i[allocations frees total live live_bytes growth].freeze

    # function => its rows' sums.
    def table(functions)
      rows = JSON.parse(ask("GET", "/each/0.json"))
      @locations = rows.map { |row| row["location"] }
      functions.to_h do |function|
        mine = rows.select { |row| row["location"].include?("(#{function}+") }
        [function, COLUMNS.to_h { |c| [c, mine.sum { |row| row.fetch(c.to_s) }] }]
      end
    end

    private

    def order(line)
      @lock.synchronize do
        @in.puts(line)
        hear
      end
    rescue Errno::EPIPE
      raise Gone, "the application ended"
    end

    # Until "done": the ledger, if there is one.
    def hear
      ledger = {}
      Timeout.timeout(PATIENCE) do
        loop do
          line = @out.gets&.chomp or raise Gone, "the application ended"
          case line.split
          in ["done"] then return ledger
          in ["ledger", function, *counts] then ledger[function] = counts.map(&:to_i)
          in ["did", *counts] then @did = DID.zip(counts.map(&:to_i)).to_h
          else @faults << line
          end
        end
      end
    rescue Timeout::Error
      raise Gone, "the application doesn't answer within #{PATIENCE} s"
    end

    def patiently(what)
      over = Process.clock_gettime(Process::CLOCK_MONOTONIC) + PATIENCE
      until yield
        Process.clock_gettime(Process::CLOCK_MONOTONIC) < over or raise Gone, "no #{what} within #{PATIENCE} s"
        sleep 0.01
      end
    end
  end
end
