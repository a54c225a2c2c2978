# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "target"

module Mwrap
  module Ctl
    # The files by which a process is asked to track itself, and answers: src/shared/sys/request.h. They are in a
    # directory of its user's, within its own root.
    class Request # :nodoc: all
      ANSWER_MAX = 4096

      def initialize(target)
        @target = target
        @inside = "/tmp/mwrap-#{target.inner_uid}"
        @dir = File.join(target.root, @inside)
        @base = File.join(@dir, "attach-#{target.inner_pid}-#{target.started}-#{target.namespace}")
      end

      # The directory, as the process sees it
      attr_reader :inside
      # The same from here
      attr_reader :dir

      # Makes the directory. Raises Failure if it isn't private.
      def prepare
        begin
          Dir.mkdir(@dir, 0o700)
          give(@dir)
        rescue Errno::EEXIST
          nil
        end
        private? or raise Failure, "#{@inside}: can't hold the request: not that user's own, of mode 0700"
        remove_old
      rescue SystemCallError => e
        raise Failure, "#{@inside}: can't be made for process #{@target.pid}: #{Executable.reason(e)}"
      end

      # Runs the block while no other mwrapctl asks this process.
      def alone
        File.open("#{@base}.lock", File::RDWR | File::CREAT | File::NOFOLLOW, 0o600) do |lock|
          lock.flock(File::LOCK_EX | File::LOCK_NB) or
            raise Failure, "process #{@target.pid}: another mwrapctl is asking it: try again"
          begin
            yield
          ensure
            remove("lock")
          end
        end
      end

      def ask(text)
        remove("answer")
        remove("ask")
        write("ask", text)
      end

      # True if it was withdrawn before the process took it.
      def withdraw = remove("ask")

      def taken? = !File.exist?("#{@base}.ask")

      # The process's answer, or nil
      def answer
        text = read("answer") or return
        remove("answer")
        text
      end

      # The options of the requested server, as in MWRAP. Other commands find it by them and the PID.
      def record = private? ? read("options") : nil

      def record=(text)
        write("options", text)
      end

      private

      def private?
        stat = File.lstat(@dir)
        stat.directory? && stat.uid == @target.uid && (stat.mode & 0o077).zero?
      rescue SystemCallError
        false
      end

      def give(path)
        File.lchown(@target.uid, @target.gid, path) if Process.euid != @target.uid
      end

      # Whole, under a name that is ours until then
      def write(end_, text)
        part = "#{@base}.#{end_}.#{Process.pid}"
        File.open(part, File::WRONLY | File::CREAT | File::EXCL | File::NOFOLLOW, 0o600) do |f|
          f.chown(@target.uid, @target.gid) if Process.euid != @target.uid
          f.write(text)
        end
        File.rename(part, "#{@base}.#{end_}")
      end

      def read(end_)
        File.open("#{@base}.#{end_}", File::RDONLY | File::NOFOLLOW | File::NONBLOCK) do |f|
          stat = f.stat
          f.read(ANSWER_MAX).to_s if stat.file? && [@target.uid, 0].include?(stat.uid)
        end
      rescue SystemCallError
        nil
      end

      def remove(end_)
        File.unlink("#{@base}.#{end_}")
        true
      rescue SystemCallError
        false
      end

      # Files of processes that have ended, of this process's namespace: of others it can't be told.
      def remove_old
        here = Target.namespace("self")
        Dir.each_child(@dir) do |name|
          pid, started, there = name.match(/\Aattach-(\d+)-(\d+)-(\d+)\./)&.captures&.map(&:to_i)
          File.unlink(File.join(@dir, name)) if pid && there == here && over?(pid, started)
        end
      rescue SystemCallError
        nil
      end

      # False if that isn't known: /proc may hide it.
      def over?(pid, started)
        Process.kill(0, pid)
        Target.new(pid).started != started
      rescue Errno::ESRCH
        true
      rescue Errno::EPERM, Failure
        false
      end
    end
  end
end
