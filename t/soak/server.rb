# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# server.rb preloaded|phased: app.rb under a Puma cluster of two workers with five
# threads each, on a free port of the loopback address, which Puma prints. Puma has
# phased restarts only where the app isn't preloaded. Ends when its standard input does.
File.foreach(File.expand_path("../lib/gems", __dir__)) do |line|
  level, name, version = line.split
  gem name, "= #{version}" if level == "demo" && name != "redcarpet"
end
require "puma"
require "puma/launcher"

# says how each worker ended, which Puma doesn't
Process.singleton_class.prepend(Module.new do
  def wait2(*)
    super.tap do |pid, status|
      warn "worker #{pid} ended: #{status.signaled? ? "SIG#{Signal.signame(status.termsig)}" : "exit #{status.exitstatus}"}" if pid
    end
  end
end)

# says where a worker is that was told to end and is still there, see report.rb
Puma::Server.prepend(Module.new do
  def stop(*)
    @ending ||= Thread.new do
      sleep 5
      Thread.list.each do |thread|
        warn "worker #{Process.pid} is still there: #{thread.inspect[/\w+>\z/]} #{thread.backtrace&.first(3)&.join(" ") || "nowhere"}" if thread != Thread.current
      end
      closing = Thread.list.any? { |thread| thread.backtrace&.first&.match?(%r{/puma/server\.rb:\d+:in [`'](IO#)?close'\z}) }
      warn "worker #{Process.pid} waits in IO#close" if closing
    end
    super
  end
end)

Thread.new do
  $stdin.read
  Process.kill(:TERM, Process.pid)
end
config = Puma::Configuration.new do |c|
  c.environment "production"
  c.bind "tcp://127.0.0.1:0"
  c.workers 2
  c.threads 5, 5
  # With its queue, Puma closes a connection that it took but read nothing of when a worker is to end.
  c.queue_requests false
  c.preload_app! ARGV.fetch(0) == "preloaded"
  c.worker_shutdown_timeout 30 # then it is killed: a busy machine may take some seconds from one that ends
  c.rackup File.expand_path("config.ru", __dir__)
end
Puma::Launcher.new(config, argv: ARGV).run
