# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "etc"
require_relative "endpoint"

module Mwrap
  module Ctl
    # A process that has the tracker, as /proc shows it. how: "preload", or "loaded" if the tracker
    # came into it later; server: its Endpoint, nil if it has none.
    class Tracked # :nodoc: all
      LIBRARY = %r{ /\S.*/libmwrap\.so( \(deleted\))?$|/libmwrap\.so$}n
      LISTENS = 0x10000 # __SO_ACCEPTCON in /proc/net/unix
      PAGE = Etc.sysconf(Etc::SC_PAGESIZE)

      # inner_pid: its number where it is, which its server says
      attr_reader :pid, :inner_pid, :rss, :command, :how, :server

      # Those that this user may look at, by PID. One that ends meanwhile isn't there.
      def self.all
        Dir.children("/proc").grep(/\A[1-9]\d*\z/).map(&:to_i).sort.filter_map do |pid|
          next if pid == ::Process.pid || !tracker?(pid)
          new(pid)
        rescue SystemCallError
          nil
        end
      end

      # By line: a process may have megabytes of them.
      def self.tracker?(pid)
        File.foreach("/proc/#{pid}/maps", mode: "rb").any? { |line| line.include?("libmwrap.so") && line.match?(LIBRARY) }
      rescue SystemCallError
        false
      end

      # parent: its number. named: the socket or directory that its options name, nil without one.
      attr_reader :parent, :named

      def initialize(pid)
        @pid = pid
        @parent = File.read("/proc/#{pid}/status")[/^PPid:\s*(\d+)/, 1].to_i
        @inner_pid = Target.inner_pid(pid)
        @rss = File.read("/proc/#{pid}/statm").split[1].to_i * PAGE
        @command = File.binread("/proc/#{pid}/cmdline").split("\0").join(" ")
        @command = "[#{File.binread("/proc/#{pid}/comm").chomp}]" if @command.empty?
        @how = preloaded? ? "preload" : "loaded"
        @server = find
      end

      private

      def environment = @environment ||= File.binread("/proc/#{pid}/environ").split("\0")
      def preloaded? = environment.any? { |s| s.start_with?("LD_PRELOAD=") && s.include?("libmwrap.so") }

      # The socket that it listens on, else the port of its options
      def find
        options = Endpoint.options(pid.to_s)
        @named = (options["socket"] || options["socket_dir"])&.then { |s| Endpoint.inside(pid, s) }
        path = sockets.find { |s| ours?(s, options) }
        at = path ? Endpoint.find(path, nil) : port(options)
        at&.token_file = Endpoint.inside(pid, options["token_file"]) if at && options["token_file"]
        at
      rescue Failure
        nil
      end

      # A family has a port once, so this may be a relative's; its answer says whose.
      def port(options)
        text = options["listen"]
        Endpoint.find(text, nil) if text && !text.end_with?(":0") && Target.same_namespace?(pid, "net")
      end

      # A server's socket is the one of its options, or has a lock beside it.
      def ours?(path, options)
        named = options["socket"]&.then { |s| Endpoint.inside(pid, s) }
        path == named || path == "#{named}.#{inner_pid}" || File.exist?("#{path}.lock")
      end

      # The paths of Unix sockets on which it listens, as this process reaches them
      def sockets
        inodes = Dir.children("/proc/#{pid}/fd").filter_map { |fd| link("/proc/#{pid}/fd/#{fd}")&.slice(/\Asocket:\[(\d+)\]\z/n, 1) }
        File.binread("/proc/#{pid}/net/unix").lines.drop(1).filter_map do |line|
          _, _, _, flags, _, _, inode, path = line.chomp.split(" ", 8)
          reach(path) if path && flags.hex.anybits?(LISTENS) && inodes.include?(inode) && !path.start_with?("@")
        end.uniq
      end

      def reach(path) = Endpoint.inside(pid, path)

      def link(path)
        File.readlink(path).b
      rescue SystemCallError
        nil
      end
    end
  end
end
