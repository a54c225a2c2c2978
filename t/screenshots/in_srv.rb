# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A program under mwrap in a mount namespace in which it, its gems and mwrap are in /srv, so that no path of this
# machine is in a picture. That needs root, or user namespaces.
require "fileutils"
require "net/http"
require "rbconfig"

class InSrv
  TOP = File.expand_path("../..", __dir__)
  PATIENCE = 60 # seconds for whatever must happen
  # files that are copied into the folder that becomes /srv, and their names there
  FILES = { "t/demo" => "notes", "t/lib" => "lib", "lib" => "mwrap/lib" }.freeze

  attr_reader :dir

  # dir: an empty folder; args: Ruby's
  def initialize(dir, *args, options:)
    @dir = dir
    FILES.each do |from, to|
      FileUtils.mkdir_p(File.join(@dir, File.dirname(to)))
      FileUtils.cp_r(File.join(TOP, from), File.join(@dir, to))
    end
    FileUtils.mkdir_p(File.join(@dir, "gems"))
    stdin, @alive = IO.pipe
    @log = File.join(@dir, "log")
    namespace = Process.uid.zero? ? %w[unshare --mount] : %w[unshare --user --map-root-user --mount]
    @pid = spawn({ "GEM_HOME" => "/srv/gems", "GEM_PATH" => "/srv/gems", "MWRAP" => options }, *namespace, "sh", "-euc", <<~'SH',
      mount --bind "$2" "$1/gems"
      mount --rbind "$1" /srv
      cd /srv/notes
      ruby=$3
      shift 3
      exec "$ruby" /srv/mwrap/lib/exe/mwrap "$ruby" "$@"
    SH
                 "sh", @dir, ENV.fetch("GEM_HOME"), RbConfig.ruby, *args, in: stdin, %i[out err] => @log, pgroup: true)
    stdin.close
  end

  # The first group of what it writes
  def logged(pattern)
    wait_for(pattern) { File.read(@log)[pattern, 1] }
  end

  # Waits until the block returns something, and returns that.
  def wait_for(what)
    (PATIENCE * 20).times do
      got = yield and return got
      Process.wait(@pid, Process::WNOHANG) and (@pid = nil) if @pid
      @pid or @ended or abort "screenshots: the app ended:\n#{File.read(@log)}"
      sleep 0.05
    end
    abort "screenshots: waited in vain for #{what}\n#{File.read(@log)}"
  end

  # Ends if a path of this machine is in a location.
  def check(locations)
    ours = locations.find { |l| [TOP, @dir, Dir.home].any? { |path| path != "/" && l.start_with?(path) } }
    abort "screenshots: #{ours} is in the picture" if ours
  end

  def stop
    @alive&.close unless @alive&.closed?
    return unless @pid

    @ended = true
    Process.kill(:TERM, @pid)
    Process.wait(@pid)
  ensure
    @pid = nil
  end
end
