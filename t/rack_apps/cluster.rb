# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# cluster.rb CONFIG - runs an application of this folder under Puma with two workers, on a
# free port that Puma prints. Ends when its standard input does. For t/rack_browser.t.

gems = ENV.fetch("RACK_GEMS")
Gem.use_paths(gems, [*Gem.path, gems])
RACK_APPS_PINS = { "rack" => "3.1.23", "puma" => "6.6.1", "railties" => "7.1.5.1", "sinatra" => "4.1.1" }.freeze
gem "rack", "= #{RACK_APPS_PINS["rack"]}"
gem "puma", "= #{RACK_APPS_PINS["puma"]}"
require "puma/cli"
$stdout.sync = true
Thread.new do
  $stdin.read
  Process.kill(:TERM, Process.pid)
end
Puma::CLI.new(["--environment", "production", "--workers", "2", "--threads", "2:2", "--bind", "tcp://127.0.0.1:0", ARGV.fetch(0)]).run
