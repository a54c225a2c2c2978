#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# One server in a Ruby process, as `mwrap` starts it: known lines have known counts on every
# page, in a forked child, and in the exit dump; a reset and a mark do what they say. With
# Ruby's standard library only: t/httpd*.t and t/agree.t look closer.

require_relative "lib/c_tests"
require_relative "lib/patience"
require "socket"
require "timeout"

include CTests
include Patience

LIMIT = 300
APP = <<~RUBY
  $stdout.sync = true
  kept = Array.new(300) { nil }
  300.times { |i| kept[i] = "x" * 10_000 }
  200.times { "y" * 20_000 }
  GC.start
  puts "ready"
  while (line = gets)
    case line
    when "fork\\n" then puts fork { 5.times { kept << ("z" * 30_000) }; puts "child"; sleep }
    when "more\\n" then 100.times { kept << ("m" * 40_000) }; puts "more"
    end
  end
RUBY

def hear(io) = Timeout.timeout(LIMIT) { io.gets&.chomp }

# The status and the body.
def ask(path, target, method = "GET")
  UNIXSocket.open(path) do |s|
    s.write("#{method} #{target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n#{"Content-Length: 0\r\n" if method == "POST"}\r\n")
    head, body = Timeout.timeout(LIMIT) { s.read }.split("\r\n\r\n", 2)
    [head[/\AHTTP\/1\.1 (\d+)/, 1].to_i, body]
  end
end

def json(path, target) = JSON.parse(ask(path, target)[1])
def line(path, number) = json(path, "/each/0.json").find { |r| r["location"].end_with?("/app.rb:#{number}") } || {}
def figures(row, *names) = row.values_at(*names)

Dir.mktmpdir("mwrap-t") do |dir|
  app = File.join(dir, "app.rb")
  File.write(app, APP)
  socket = File.join(dir, "s")
  dump = File.join(dir, "dump")
  env = CLEAN.merge("MWRAP" => "socket:#{socket},dump_path:#{dump}.%p,dump_format:json")
  words, w = IO.pipe
  r, orders = IO.pipe
  pid = Process.spawn(env, RbConfig.ruby, File.join(ROOT, "lib/exe/mwrap"), RbConfig.ruby, app,
                      in: r, out: w, err: "#{dir}/err", close_others: true)
  [r, w].each(&:close)

  is(hear(words), "ready", "the app runs")
  eventually("a server", LIMIT) { ask(socket, "/stats.json")[0] == 200 rescue false }
  is(File.stat(socket).mode & 0o777, 0o600, "its socket is the user's only")
  is(json(socket, "/stats.json")["pid"], pid, "it is the app's")

  # A string of 10,000 bytes is one block; of each line at most a few others are Ruby's own.
  kept = line(socket, 3)
  ok(kept["live"]&.between?(300, 310) && kept["live_bytes"].between?(3_000_000, 3_050_000), "what lives is known", kept.inspect)
  gone = line(socket, 4)
  ok(gone["allocations"]&.between?(200, 210) && gone["frees"].between?(150, gone["allocations"]), "what was freed is known", gone.inspect)
  is(figures(kept, "allocations", "growth"), [kept["frees"] + kept["live"], kept["live_bytes"]], "a row adds up")

  status, tsv = ask(socket, "/each/0.tsv")
  rows = tsv.lines(chomp: true).map { |l| l.split("\t") }
  is([status, rows[0]], [200, COLUMNS + MwrapTest::KIND_COLUMNS], "the table as TSV")
  same = rows.map { |cells| rows[0].zip(cells).to_h }.find { |row| row["location"].end_with?("/app.rb:3") } || {}
  names = %w[total allocations frees live_bytes live]
  is(figures(same, *names).map(&:to_i), figures(kept, *names), "the same row")
  page = ask(socket, "/each/0")
  ok(page[0] == 200 && page[1].include?("app.rb:3"), "the table as a page")
  ok(ask(socket, "/")[1].include?("<title>"), "the page")
  at = ask(socket, "/at/#{kept["location"].gsub(/[^A-Za-z0-9\-._~]/) { |c| format("%%%02X", c.ord) }}.json")[1]
  is(at.scan(/"size":\s*10001\b/).size, 300, "its live blocks, one by one")
  is(ask(socket, "/nothing")[0], 404, "no such page")
  is(ask(socket, "/reset")[0], 405, "a reset wants a POST")
  ok(ask(socket, "/metrics")[1].include?("mwrap_"), "for Prometheus")

  orders.puts "fork"
  lines = Array.new(2) { hear(words) }
  child = lines.find { |l| l =~ /\A\d+\z/ }.to_i
  of_child = "#{socket}.#{child}"
  eventually("the child's server", LIMIT) { ask(of_child, "/stats.json")[0] == 200 rescue false }
  is(json(of_child, "/stats.json")["pid"], child, "a forked child has a server of its own")
  ok(line(of_child, 9)["live_bytes"]&.between?(150_000, 160_000), "with counts of its own", line(of_child, 9).inspect)
  ok(!json(socket, "/each/0.json").any? { |row| row["location"].end_with?("/app.rb:9") && row["total"] > 100_000 }, "which aren't its parent's")

  is(ask(socket, "/mark", "POST")[0], 200, "a mark")
  is(ask(socket, "/reset", "POST")[0], 200, "a reset")
  orders.puts "more"
  is(hear(words), "more", "the app goes on")
  more = line(socket, 10)
  ok(more["allocations"]&.between?(100, 110) && more["growth"].between?(4_000_000, 4_100_000), "what came since is known", more.inspect)
  is(figures(line(socket, 3), "allocations", "total", "live_bytes"), [0, 0, kept["live_bytes"]], "after a reset what lives stays known")

  last = line(socket, 10)
  Process.kill(:KILL, child)
  orders.close
  status = Timeout.timeout(LIMIT) { Process.wait2(pid)[1] }
  is(status.exitstatus, 0, "the app ends well")
  is(File.read("#{dir}/err"), "", "without a word of ours")
  dumped = JSON.parse(File.read("#{dump}.#{pid}")).find { |row| row["location"].end_with?("/app.rb:10") }
  is(figures(dumped, "allocations", "total"), figures(last, "allocations", "total"), "the exit dump has the same")
  freed = %w[RUBY_YJIT_ENABLE RUBY_ZJIT_ENABLE].any? { |name| ENV[name] } ? 100 : 0 # a JIT's end frees what Ruby allocated for it
  ok((last["growth"] - dumped["growth"]).between?(0, freed), "and as much live", dumped["growth"])
  is(Dir["#{socket}*"].reject { |f| f.end_with?(".#{child}") || f.include?(".#{child}.") }, [], "its socket is gone")
end
done_testing
