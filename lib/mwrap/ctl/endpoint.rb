# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "socket"
require "uri"
require_relative "../executable"
require_relative "request"

module Mwrap
  module Ctl
    # Where a server is, from what a person wrote. name: as messages say it; path: of a Unix socket,
    # or host, port, ssl and login; base: where it is mounted ("" or "/mwrap"); member: which of its
    # family is meant ("", "/4711", "/all"); token_file: where its token is, if that is known.
    Endpoint = Struct.new(:name, :path, :host, :port, :ssl, :login, :base, :member, :token_file, keyword_init: true)

    class << Endpoint # :nodoc: all
      MEMBER = %r{/(all|[1-9]\d*(?:-[1-9]\d*)?)/?\z}
      ADDRESS = %r{\A(\[[\h:.]+\]|[A-Za-z0-9.\-]+):(\d+)/?\z}
      PATH_MAX = 107 # the kernel's room for a socket's path
      private_constant :MEMBER, :ADDRESS, :PATH_MAX

      # member: "all", a PID as text, or nil: what `text` says
      def find(text, member)
        raise Failure, "SOCKET: empty: name a socket, a PID or HOST:PORT" if text.empty?
        return url(text, member) if text.match?(%r{\Ahttps?://}i)
        there(text, member) || (process(text, member) if text.match?(/\A[1-9]\d*\z/)) || below(text, member) || address(text, member) or
          raise Failure, "#{text}: no such socket: name the one that MWRAP has, a PID or HOST:PORT"
      end

      # The options of a process, as src/shared/options/options.c takes them apart: those of mwrapctl attach, or those
      # in its MWRAP. pid: text
      def options(pid)
        from = attached(pid)
        record = Request.new(from).record if from&.pid == pid.to_i
        return apart(record, from.inner_pid) if record # else it has just ended
        apart(File.binread("/proc/#{pid}/environ").split("\0").filter_map { |s| s[/\AMWRAP=(.*)/mn, 1] }.first.to_s, Target.inner_pid(pid))
      end

      # The options of a text, by their names, expanded for a process
      def apart(text, pid)
        text.scan(/(?:\\.|[^,\\]|\\\z)+/mn).to_h do |item|
          key, value = item.sub(/\A[ \t]+/n, "").split(":", 2)
          value = value.to_s.gsub(/\\(.)/mn) { $1 }.gsub(/%([p%])/n) { $1 == "p" ? pid.to_s : "%" }
          [key, value]
        end
      end

      # A path as a process has it
      def inside(pid, path)
        return File.join("/proc/#{pid}/cwd", path) unless path.start_with?("/")
        same_root?(pid) ? path : File.join("/proc/#{pid}/root", path)
      end

      def listens?(path)
        UNIXSocket.open(path, &:close)
        true
      rescue SystemCallError, ArgumentError
        false
      end

      private

      def at(name, member, **rest) = new(name: name, base: "", member: member ? "/#{member}" : "", **rest)

      # A file
      def there(path, member)
        stat = File.stat(path)
        return directory(path, member) if stat.directory?
        return socket(path, member) if stat.socket?
        raise Failure, "#{path}: not a socket: name the one that MWRAP has"
      rescue Errno::ENOENT, Errno::ENOTDIR
        nil
      rescue SystemCallError => e
        raise Failure, "#{path}: #{Executable.reason(e)}"
      end

      def socket(path, member)
        path.bytesize <= PATH_MAX or
          raise Failure, "#{path}: too long for a socket: change to its directory and name it from there"
        at(path, member, path: path)
      end

      # SOCKET/PID, DIRECTORY/PID, HOST:PORT/PID, and /all of them
      def below(text, member)
        own = text[MEMBER, 1] or return
        before = text.sub(MEMBER, "")
        there(before, member || own) || address(before, member || own)
      end

      # socket_dir: a process of it knows the others.
      def directory(path, member)
        pids = Dir.children(path).map(&:b).filter_map { |name| name[/\A([1-9]\d*(?:-[1-9]\d*)?)\.sock\z/, 1] }.sort_by(&:to_i)
        if member && member != "all"
          # its namespace is in the name only if another process has the name without it
          member = member[/\A\d+/] unless pids.include?(member)
          pids.include?(member) or raise Failure, "#{path}: no process #{member}: #{known(pids)}"
          return socket(File.join(path, "#{member}.sock"), nil)
        end
        pids = pids.select { |pid| listens?(File.join(path, "#{pid}.sock")) }
        raise Failure, "#{path}: no process listens there: start one with MWRAP=socket_dir:#{path}" if pids.empty?
        raise Failure, "#{path}: has several processes: give --all, or --pid with one of #{pids.join(", ")}" if pids.size > 1 && !member
        socket(File.join(path, "#{pids[0]}.sock"), member)
      end

      def known(pids) = pids.empty? ? "there is none" : "known are #{pids.join(", ")}"

      def address(text, member)
        m = ADDRESS.match(text) or return
        port = m[2].to_i
        port.between?(1, 65_535) or raise Failure, "#{text}: wrong port: write 1 to 65535"
        at(text.chomp("/"), member, host: m[1].delete("[]"), port: port)
      end

      # A port, or the mount of a Rack app
      def url(text, member)
        uri = URI.parse(text)
        uri.host.to_s.empty? and raise Failure, "#{text}: no host: write http://HOST:PORT/PATH"
        base = uri.path.sub(%r{/+\z}, "")
        # a page's address, copied from a browser
        base = base.delete_suffix("/flame")
        member ? base = base.sub(MEMBER, "") : (own = base[MEMBER, 1] and base = base.sub(MEMBER, ""))
        login = [uri.user, uri.password].map { |s| URI.decode_www_form_component(s.to_s) } if uri.user
        at(shown(uri), member || own, host: uri.hostname, port: uri.port, ssl: uri.scheme == "https", login: login).tap { |e| e.base = base }
      rescue URI::InvalidURIError
        raise Failure, "#{text}: not a URL: write http://HOST:PORT/PATH"
      end

      # Without the password
      def shown(uri) = uri.dup.tap { |u| u.userinfo = nil if u.userinfo }.to_s

      # --- a process by its number -------------------------------------------------------

      # The server that its options name. A child of a process to which mwrapctl attached has its parent's.
      def process(pid, member)
        environment(pid) # there is such a process, and it may be looked into
        from = attached(pid)&.pid&.to_s || pid
        options = environment(from)
        path = options["socket"] || options["socket_dir"]
        port = options["listen"] unless options["listen"]&.end_with?(":0") # any free one: not known here
        port = nil unless Target.same_namespace?(pid, "net") # that of another process here
        inner = member || Target.member(pid)
        found = path ? there(inside(from, path), inner) : port && address(port, inner)
        found ||= listening(pid)
        found or raise Failure, "process #{pid}: #{without(pid, options)}"
        found.token_file ||= options["token_file"]&.then { |file| inside(from, file) }
        found
      end

      # Why a process has no server that is found
      def without(pid, options)
        require_relative "tracked"
        return "its server isn't in sight: name its socket or HOST:PORT" if options.keys.intersect?(%w[socket socket_dir listen])
        Tracked.tracker?(pid) ? "is tracked without a server: run mwrapctl attach #{pid}" : "isn't tracked: start it with mwrap, or run mwrapctl attach #{pid}"
      end

      FORKS = 8
      private_constant :FORKS

      # The nearest of it and its ancestors to which mwrapctl attached, as a Target; nil: none
      def attached(pid)
        FORKS.times do
          target = Target.new(pid)
          return target if Request.new(target).record
          pid = target.parent
          return if pid < 2
        end
        nil
      rescue Failure # somebody else's
        nil
      end

      def same_root?(pid)
        Target.same_namespace?(pid, "mnt") && File.readlink("/proc/#{pid}/root") == File.readlink("/proc/self/root")
      rescue SystemCallError
        true # not told
      end

      # One that started tracking by itself: its environment doesn't say where it listens.
      def listening(pid)
        require_relative "tracked"
        Tracked.new(pid.to_i).server if Tracked.tracker?(pid)
      rescue SystemCallError
        nil
      end

      def environment(pid)
        options(pid)
      rescue Errno::ENOENT, Errno::ESRCH
        raise Failure, "process #{pid}: no such process: name a socket, a PID or HOST:PORT"
      rescue Errno::EACCES
        raise Failure, "process #{pid}: permission denied: run mwrapctl as its user"
      end
    end
  end
end
