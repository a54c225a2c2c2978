# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# server.rb - app.rb under Puma with two threads, on a free port of the loopback
# address, which Puma prints. Ends when its standard input does.
File.foreach(File.expand_path("../../lib/gems", __dir__)) do |line|
  level, name, version = line.split
  gem name, "= #{version}" if level == "demo" && name != "redcarpet"
end
require "puma/cli"

Thread.new do
  $stdin.read
  Process.kill(:TERM, Process.pid)
end
Puma::CLI.new(["--environment", "production", "--threads", "2:2", "--bind", "tcp://127.0.0.1:0",
               File.expand_path("config.ru", __dir__)]).run
