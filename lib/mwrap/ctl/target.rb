# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "../executable"
require_relative "../moments"

module Mwrap
  module Ctl
    # A process, as /proc shows it from outside. It may have another view of its number, its user and the
    # files: `inner_pid`, `inner_uid`, `root`.
    class Target # :nodoc: all
      MARK = "/memfd:mwrap-sleeps" # src/extension/asked.c
      KERNEL_THREAD = 0x200000 # PF_KTHREAD of its flags
      SIGURG_BIT = 1 << (Signal.list.fetch("URG") - 1)

      attr_reader :pid

      # Its number where it is: the one that its server and its sockets have
      def self.inner_pid(pid) = File.binread("/proc/#{pid}/status")[/^NSpid:.*?(\d+)$/n, 1]&.to_i || pid.to_i

      # The number of its PID namespace, which its server and the files of requests have; 0: it isn't told.
      def self.namespace(pid)
        File.readlink("/proc/#{pid}/ns/pid")[/\d+/].to_i
      rescue SystemCallError
        0
      end

      # Its address in a family: PID, or PID-NAMESPACE if it is in another one than this process
      def self.member(pid)
        return inner_pid(pid).to_s if same_namespace?(pid, "pid")
        [inner_pid(pid), namespace(pid)].join("-")
      end

      # Are both here and there this namespace? name: as in /proc/PID/ns. True if that isn't told.
      def self.same_namespace?(pid, name)
        File.readlink("/proc/#{pid}/ns/#{name}") == File.readlink("/proc/self/ns/#{name}")
      rescue SystemCallError
        true
      end

      def initialize(pid)
        @pid = Integer(pid)
        @status = read("status").scan(/^(\w+):\s*(.*)$/n).to_h
        raise Failure, "#{name}: belongs to the kernel: name a Ruby process" if fields[6].to_i & KERNEL_THREAD != 0
        @ticks = ticks
      end

      def name = "process #{@pid}"
      def state = @status["State"].to_s[0]
      # The effective one, which owns its files
      def uid = @status["Uid"].split[1].to_i
      def gid = @status["Gid"].split[1].to_i
      def tracer = @status["TracerPid"].to_i
      def inner_pid = self.class.inner_pid(@pid)
      def namespace = self.class.namespace(@pid)
      # With @pid it names one process for ever. Exec keeps both. It is counted without the offset of a time namespace.
      def started = @ticks - Moments.boot_offset
      def maps = read("maps")
      # Its root, through which its files are found in any mount namespace
      def root = "/proc/#{@pid}/root"

      def inner_uid
        read("uid_map").lines.each do |line|
          inside, outside, n = line.split.map(&:to_i)
          return inside + uid - outside if (outside...outside + n).cover?(uid)
        end
        uid
      end

      # Its parent's number; 0: there is none that is seen from here
      def parent = @status["PPid"].to_i

      # The same process, still? One that has no memory any more isn't, even if nobody has waited for it.
      def alive?
        stat = fields
        stat[19].to_i == @ticks && stat[20].to_i.positive?
      rescue Failure
        false
      end

      # The gem is loaded, and SIGURG wakes it.
      def sleeps?
        caught = read("status")[/^SigCgt:\s*(\h+)/n, 1].to_i(16)
        caught & SIGURG_BIT != 0 && maps.include?(MARK)
      end

      # It runs under the tracker since its start.
      def preloaded?
        read("environ").split("\0").any? { |v| v.match?(/\ALD_PRELOAD=.*libmwrap\.so/mn) } && maps.match?(%r{/libmwrap\.so(?: \(deleted\))?$}n)
      end

      # The file of the tracker with which it began, as it sees it; nil: it began without one.
      def tracker
        return unless preloaded?
        line = maps[%r{ (/.*/libmwrap\.so(?: \(deleted\))?)$}n, 1]
        replaced = line.end_with?(" (deleted)")
        raise Failure, "#{name}: its tracker's file was replaced: restart the process" if replaced
        line
      end

      # Raises Failure if it can't answer now.
      def require_running
        now = read("status")
        # it has no memory for some time before its state says so
        raise Failure, "#{name}: has ended: name one that runs" unless now.match?(/^VmSize:/n)
        case now[/^State:\s*(\w)/n, 1]
        when "T" then raise Failure, "#{name}: is stopped: continue it first (kill -CONT #{@pid})"
        when "t" then raise Failure, "#{name}: is stopped by process #{tracer}, which traces it: let it go first"
        end
      end

      # Raises Failure if it is somebody else's.
      def require_own
        return if Process.euid.zero? || Process.euid == uid
        raise Failure, "#{name}: belongs to another user: run mwrapctl as that user, or as root"
      end

      def read(file)
        File.binread("/proc/#{@pid}/#{file}")
      rescue Errno::ENOENT, Errno::ESRCH
        raise Failure, "#{name}: no such process: name one that runs"
      rescue Errno::EACCES, Errno::EPERM
        raise Failure, "#{name}: permission denied: run mwrapctl as its user"
      end

      private

      # Of stat, behind the program's name, which may have any bytes
      def fields = read("stat").sub(/\A.*\) /mn, "").split
      def ticks = fields[19].to_i
    end
  end
end
