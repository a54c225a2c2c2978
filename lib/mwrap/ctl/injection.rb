# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "fileutils"
require "pathname"
require_relative "target"

module Mwrap
  module Ctl
    # Makes a process that hasn't loaded the gem load the tracker, by lib/mwrap/mwrap-inject (src/tools/attach).
    class Injection # :nodoc: all
      LIB = File.expand_path("../..", __dir__)
      HELPER = File.join(LIB, "mwrap/mwrap-inject")
      OBJECTS = %w[libmwrap.so libmwrap_httpd.so libmwrap_mhd.so].freeze

      # How often its main thread stood still, and for how many microseconds: at most, which includes waiting
      # for the CPU, and as the helper saw it
      attr_reader :stops, :microseconds, :seen_microseconds

      # request: a Request whose directory is there
      def initialize(target, request)
        @target = target
        @request = request
      end

      # Until the process has called the tracker, which then takes the request.
      def run(seconds)
        [HELPER, *OBJECTS.map { |name| File.join(LIB, name) }].each do |file|
          File.file?(file) or raise Failure, "#{file}: not there: run make, or install mwrap again"
        end
        @target.tracer.zero? or raise Failure, "#{@target.name}: is traced by process #{@target.tracer}: let it go first"
        read, write = IO.pipe
        pid = Process.spawn(HELPER, @target.pid.to_s, tracker, (seconds * 1000).to_s, in: File::NULL, [:out, :err] => write)
        write.close
        text = read.read
        Process.wait(pid)
        refuse(text.strip) unless $?.success?
        @stops, @microseconds, @seen_microseconds = text.split.map(&:to_i)
      rescue SystemCallError => e
        refuse("can't be made to load the tracker: #{Executable.reason(e)}")
      end

      private

      def refuse(why)
        raise Failure, "#{@target.name}: #{why}"
      end

      # Its path there. If the process sees another file, or may not read it, it gets copies. One that began with a
      # tracker has that one: a second copy would be a tracker of its own.
      def tracker
        there = @target.tracker
        return there if there
        own = File.realpath(File.join(LIB, "libmwrap.so"))
        return own if seen?(own)
        OBJECTS.each { |name| copy(name) }
        File.join(@request.inside, "libmwrap.so")
      end

      def seen?(path) = File.identical?(path, File.join(@target.root, path)) && (Process.euid == @target.uid || open_to_all?(path))

      def open_to_all?(path)
        File.world_readable?(path) && Pathname(path).dirname.ascend.all? { |dir| dir.stat.mode.anybits?(0o001) }
      end

      def copy(name)
        from = File.join(LIB, name)
        to = File.join(@request.dir, name)
        return if File.file?(to) && FileUtils.identical?(from, to)
        part = "#{to}.#{Process.pid}"
        File.open(part, File::WRONLY | File::CREAT | File::EXCL | File::NOFOLLOW, 0o500) do |f|
          f.chown(@target.uid, @target.gid) if Process.euid != @target.uid
          IO.copy_stream(from, f)
        end
        File.rename(part, to)
      end
    end
  end
end
