# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# cluster.rb - a Puma cluster under the tracker, started as a user would, and what
# the system and its log say of it. The master listens at `socket`, each worker
# at socket.PID.
require "fileutils"
require "json"
require "rbconfig"
require "tmpdir"
require_relative "http"

class Cluster
  TOP = File.expand_path("../..", __dir__)
  WORKERS = 2
  PATIENCE = 120 # seconds until what must happen counts as not happening

  attr_reader :kind, :pid, :port, :socket

  # kind: "preloaded" or "phased", see server.rb
  def initialize(kind)
    @kind = kind
    @dir = Dir.mktmpdir("mwrap-soak-")
    @log = File.join(@dir, "log")
    @sockets = File.join(@dir, "s")
    Dir.mkdir(@sockets)
    @socket = File.join(@sockets, "s")
  end

  def start
    input, @alive = IO.pipe
    env = { "MWRAP" => "socket:#{@socket}", "RUBYOPT" => nil }
    @pid = spawn(env, File.join(TOP, "bin/mwrap"), RbConfig.ruby, File.join(__dir__, "server.rb"), @kind,
                 in: input, %i[out err] => @log)
    input.close
    wait_for("a cluster that listens") { @port = log[%r{Listening on http://127.0.0.1:(\d+)}, 1]&.to_i }
    wait_for("workers that serve") { ready? }
  end

  # Its exit status. Stops it as systemd would.
  def stop
    return unless @pid

    Process.kill(:TERM, @pid)
    status = nil
    wait_for("the end") { status = Process.wait2(@pid, Process::WNOHANG)&.last }
    @pid = nil
    status
  end

  # Whatever happened.
  def clean
    Process.kill(:KILL, *children, @pid) if @pid
    Process.wait(@pid) if @pid
  rescue SystemCallError
    nil
  ensure
    FileUtils.rm_rf(@dir)
  end

  def log = File.exist?(@log) ? File.read(@log).scrub("?") : ""

  # How workers ended: PID => "exit 0" or "SIG…", or that with what it was doing.
  def endings
    text = log
    waited = text.scan(/^worker (\d+) (waits in IO#close)$/).to_h
    text.scan(/^worker (\d+) ended: (.*)$/).to_h do |pid, how|
      [pid.to_i, how == "SIGKILL" && waited[pid] ? "SIGKILL, #{waited[pid]}" : how]
    end
  end

  # Lines on stderr that are the tracker's.
  def complaints = log.lines.grep(/^mwrap: /)

  # All that listens: path => PID.
  def listeners
    Dir.children(@sockets).filter_map { |name|
      number = name[/\As(?:\.(\d+))?\z/] && ($1 || @pid)
      [File.join(@sockets, name), number.to_i] if number
    }.to_h
  end

  # Files that shouldn't be there after the end: a killed process couldn't take its socket with it.
  def left_behind
    killed = endings.select { |_, how| how.start_with?("SIGKILL") }.keys
    Dir.children(@sockets).reject { |name| killed.include?(name[/\d+/].to_i) }.sort
  end

  def path_of(pid) = pid == @pid ? @socket : "#{@socket}.#{pid}"
  def processes = [@pid, *workers]

  # The PIDs of the server's children, oldest first: its workers, and processes that look for what holds memory.
  def children
    Dir.children("/proc").grep(/\A\d+\z/).filter_map { |pid|
      state, parent, started = Cluster.stat(pid)
      [started, pid.to_i] if parent == @pid && state != "Z"
    }.sort.map(&:last)
  end

  # Those of the workers that have booted, oldest first.
  def workers = children.intersection(log.scan(/\(PID: (\d+)\) booted/).flatten.map(&:to_i))

  # [state, parent, start time], nil if there is no such process.
  def self.stat(pid)
    fields = File.read("/proc/#{pid}/stat").rpartition(")").last.split
    [fields[0], fields[1].to_i, fields[19].to_i]
  rescue SystemCallError
    nil
  end

  # Has it ended, within a while? Its parent may not have noticed.
  def self.ended?(pid)
    300.times do
      return true if gone?(pid)

      sleep 0.1
    end
    false
  end

  def self.gone?(pid) = [nil, "Z"].include?(stat(pid)&.first)

  # Are all workers there, and ready for requests, and do their sockets answer?
  def ready?
    pids = workers
    pids.size == WORKERS && [@pid, *pids].all? { |pid| stats(pid)["pid"] == pid }
  rescue Http::Broken
    false
  end

  def stats(pid) = JSON.parse(ask(pid, "/stats.json").body)
  def ask(pid, target, method = "GET") = Http.ask(path_of(pid), method, target)

  def wait_for(what)
    over = Process.clock_gettime(Process::CLOCK_MONOTONIC) + PATIENCE
    until yield
      raise "never: #{what}\n#{log.lines.last(15).join}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > over

      sleep 0.05
    end
  end
end
