# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# kinds.rb [APP...]: how much of the live memory has a kind, and which. Not a test: it prints a table.
#
#   RATE=2k ruby t/accuracy/kinds.rb many_kinds.rb
#
# GEM_HOME must have sinatra and puma for sinatra.rb.
require "json"
require "open3"
require "rbconfig"
require "tmpdir"

HERE = __dir__
TRACKER = ENV.fetch("TRACKER") { File.expand_path("../../lib/libmwrap.so", HERE) }
RATE = ENV.fetch("RATE", "64k")

def get(path, target) = IO.popen(["curl", "-s", "--unix-socket", path, "http://0#{target}"], &:read)

def kinds(app)
  Dir.mktmpdir do |dir|
    path = File.join(dir, "s")
    env = { "LD_PRELOAD" => TRACKER, "MWRAP" => "socket:#{path},stacks:#{RATE}", "RUBYLIB" => nil }
    Open3.popen2(env, RbConfig.ruby, File.join(HERE, app)) do |_, output, _|
      raise "#{app}: it ended before it was ready" unless output.gets.to_s.start_with?("ready")

      JSON.parse(get(path, "/each/0.json?group=kind&sort=live_bytes")).map { |h| h.values_at("location", "live_bytes", "kind_samples") }
    end
  end
end

(ARGV.empty? ? %w[many_kinds.rb script.rb sinatra.rb] : ARGV).each do |app|
  found = kinds(app)
  all = found.sum { |_, live, _| live }
  part = ->(name) { format("%.1f %%", 100.0 * found.sum { |kind, live, _| kind == name ? live : 0 } / all) }
  puts "| #{app} | #{RUBY_VERSION} | #{all / 1_000_000} MB | #{found.sum { |_, _, n| n }} | #{part["other"]} | #{part["(no stack)"]} |"
  found.first(8).each { |kind, live, samples| puts "    #{kind}: #{format("%.1f %%", 100.0 * live / all)}, #{samples} samples" }
end
