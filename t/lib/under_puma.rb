# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# under_puma.rb - runs a Rack application as the demo's is run: under Puma with two
# threads or more, on a free port of the loopback address, which Puma prints. The process
# ends when its standard input does, so that it doesn't outlive whoever started it,
# whatever happens to them. The gems are those of t/lib/gems, and no other versions.
module UnderPuma
  # config: path of the config.ru; redcarpet: that gem's version, nil for an
  # application without it. Returns when Puma has ended.
  def self.run(config, redcarpet: nil, threads: 2)
    use_gems
    gem "redcarpet", "= #{redcarpet}" if redcarpet
    require "puma/cli"
    Thread.new do
      $stdin.read
      Process.kill(:TERM, Process.pid)
    end
    Puma::CLI.new(["--environment", "production", "--threads", "#{threads}:#{threads}", "--bind", "tcp://127.0.0.1:0", config]).run
  end

  def self.use_gems
    File.foreach(File.expand_path("gems", __dir__)) do |line|
      level, name, version = line.split
      gem name, "= #{version}" if level == "demo" && name != "redcarpet"
    end
  end
  private_class_method :use_gems
end
