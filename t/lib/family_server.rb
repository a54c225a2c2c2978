# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# family_server.rb '{"server": "puma" or "pitchfork", ...}' - a cluster of two workers on a free
# port of the loopback address. Further settings, all of Puma's:
#
#   preload   preload_app!
#   leak      bytes that each request leaks
#   check     worker_check_interval: workers tell the master that they live so often
#   linger    a file: while it is there, a worker goes on after its master has died, as one whose
#             threads native code holds up; else none is left by the time that anybody looks
#
# Ends when its standard input does. For t/lib/clusters.rb, under the tracker or not.

require "json"

SETTINGS = JSON.parse(ARGV.fetch(0))
gems = ENV.fetch("RACK_GEMS")
Gem.use_paths(gems, [*Gem.path, gems])
pins = File.readlines(File.join(__dir__, "gems")).map(&:split).reject { |l| l.empty? || l[0].start_with?("#") }
gem "rack", "= 3.1.23"
pins.each { |_, name, version| gem name, "= #{version}" if name == SETTINGS["server"] }

$stdout.sync = true
master = Process.pid
Thread.new do
  $stdin.read
  Process.kill(:TERM, master)
end

KEPT = Array.new(300) { "m" * 1000 } # made by the master
MINE = []
# each worker's own memory, by its number
def fill(number)
  (number + 1).times { 40.times { MINE << "w" * 2000 } }
end

LEAKED = []
def leak
  LEAKED << "l" * SETTINGS["leak"] if SETTINGS["leak"]
end

case SETTINGS.fetch("server")
when "puma"
  require "puma"
  require "puma/launcher"
  if SETTINGS["linger"]
    Puma::Cluster::Worker.prepend(Module.new do
      def exit!(...)
        sleep 0.05 while File.exist?(SETTINGS["linger"])
        super
      end
    end)
  end
  config = Puma::Configuration.new do |c|
    c.environment "production"
    c.bind "tcp://127.0.0.1:0"
    c.workers 2
    c.threads 2, 2
    c.preload_app! SETTINGS.fetch("preload", false)
    c.worker_check_interval SETTINGS.fetch("check", 5)
    c.worker_timeout 3600
    c.on_worker_boot { |number| fill(number) }
    c.app { |_env| leak; [200, { "content-type" => "text/plain" }, ["#{Process.pid}"]] }
  end
  Puma::Launcher.new(config).run
when "pitchfork"
  require "pitchfork"
  server = Pitchfork::HttpServer.new(->(_env) { [200, { "content-type" => "text/plain" }, ["#{Process.pid}"]] },
                                     listeners: ["127.0.0.1:0"], worker_processes: 2, logger: Logger.new($stderr, level: 4),
                                     after_worker_fork: ->(_server, worker) { fill(worker.nr) })
  server.start.join
end
