# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# rack_serve.rb SERVER PORT - a MwrapRack at /m, and an app that leaks when it is told to,
# under a real server on the loopback address. Ends when its stdin does. For t/rack_servers.t.

server, port = ARGV
port = Integer(port)
gems = ENV.fetch("RACK_GEMS")
Gem.use_paths(gems, [*Gem.path, gems])
pins = File.readlines(File.join(__dir__, "gems")).map(&:split).reject { |l| l.empty? || l[0].start_with?("#") }
# Falcon asks for an older openssl than Ruby 4.0 has, and works with it
Gem::Specification.each { |spec| spec.dependencies.reject! { |other| other.name == "openssl" } } if server == "falcon"
rack = server == "webrick-of-rack-2" ? "2.2.20" : "3.1.23"
gem "rack", "= #{rack}"
pins.each { |_, name, version| gem name, "= #{version}" if name == server || (name == "rackup" && server == "webrick") }
require "rack"
require "mwrap_rack"

KEPT = []
APP = Rack::Builder.app do
  map("/m") { run MwrapRack.new(token: "t") }
  map("/keep") do
    run(lambda do |env|
      n, name = env["QUERY_STRING"].split("&")
      n.to_i.times { KEPT << eval('"k" * 9000', nil, [name].pack("H*").force_encoding("UTF-8"), 7) }
      [200, { "content-type" => "text/plain" }, ["kept by #{Process.pid}, #{Thread.list.count { |t| t.name == "mwrap" }} threads for watchers"]]
    end)
  end
end

parent = Process.pid
Thread.new do
  $stdin.read
  Process.kill(:KILL, parent)
end

case server
when "puma"
  require "puma"
  require "puma/server"
  puma = Puma::Server.new(APP, nil, min_threads: 2, max_threads: 2)
  puma.add_tcp_listener("127.0.0.1", port)
  GC.start # else a later collection takes more Strings of the start than a test makes
  puma.run.join
when "webrick"
  require "rackup/handler/webrick"
  Rackup::Handler::WEBrick.run(APP, Host: "127.0.0.1", Port: port, AccessLog: [], Logger: WEBrick::Log.new(nil, 0))
when "webrick-of-rack-2" # which decodes paths
  require "rack/handler/webrick"
  Rack::Handler::WEBrick.run(APP, Host: "127.0.0.1", Port: port, AccessLog: [], Logger: WEBrick::Log.new(nil, 0))
when "pitchfork", "unicorn"
  require server
  Object.const_get(server.capitalize)::HttpServer.new(APP, listeners: ["127.0.0.1:#{port}"], worker_processes: 1, logger: Logger.new($stderr, level: 4)).start.join
when "falcon"
  require "async"
  require "async/http/endpoint"
  require "falcon/server"
  Async { Falcon::Server.new(Falcon::Server.middleware(APP, cache: false), Async::HTTP::Endpoint.parse("http://127.0.0.1:#{port}")).run }
end
