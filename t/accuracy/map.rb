# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# map.rb [BLOCKS...]: the memory map against the truth, on each allocator. Not a test: it prints a table.
#
#	make && ruby t/accuracy/map.rb 100000 1000000
#
# A process allocates so many blocks of 100 to 599 bytes in 8 threads, and keeps every 20th. The columns:
# RSS as the kernel says it, the map's parts as a share of it, the map's CPU time, then what would be
# empty without the line that has the blocks, beside what is empty or given back once they are cleared (some
# hundred of them stay: Ruby's stacks still have their addresses), then the trim's estimate beside what a trim
# really gives back, and the time that it took. mimalloc: see doc/memory-map.md.
require "json"
require "net/http"
require "rbconfig"
require "socket"
require "tmpdir"
require_relative "../lib/allocators"

TOP = File.expand_path("../..", __dir__)
SCRIPT = <<~'RUBY'
  $stdout.sync = true
  KEPT = []
  lock = Mutex.new
  Array.new(8) do
    Thread.new do
      all = Array.new(ARGV[0].to_i / 8) { |i| "a" * (100 + i % 500) }
      all.each_with_index { |s, i| i % 20 == 0 ? lock.synchronize { KEPT << s } : s.clear }
    end
  end.each(&:join)
  4.times { GC.start }
  puts "ready"
  $stdin.gets
  KEPT.each(&:clear).clear
  4.times { GC.start }
  puts "cleared"
  $stdin.gets
RUBY

def ask(socket, text)
  UNIXSocket.open(socket) do |s|
    s.write("#{text} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    s.read.split("\r\n\r\n", 2)[1]
  end
end

def rss(pid) = File.read("/proc/#{pid}/smaps_rollup")[/^Rss: +(\d+)/, 1].to_i * 1024
def part(map, name) = map["parts"].find { |p| p["name"] == name }["bytes"]
def mb(bytes) = format("%.1f", bytes / 1e6)

def measure(dir, name, library, blocks)
  script = File.join(dir, "map.rb")
  socket = File.join(dir, "#{name}.#{blocks}")
  File.write(script, SCRIPT)
  env = { "LD_PRELOAD" => ["#{TOP}/lib/libmwrap.so", library].compact.join(":"), "MWRAP" => "socket:#{socket}", "RUBYLIB" => nil, "RUBYOPT" => nil }
  IO.popen([env, RbConfig.ruby, "--disable=gems", script, blocks.to_s], "r+") do |app|
    app.gets or abort "#{name}: it ended"
    sleep 1 # until the server listens, and the threads' caches are at rest
    map = JSON.parse(ask(socket, "GET /map.json"))
    truth = rss(app.pid)
    what = JSON.parse(ask(socket, "GET /map/whatif?at=#{script}:6"))
    app.puts
    app.gets
    cleared = JSON.parse(ask(socket, "GET /map.json"))
    before = rss(app.pid)
    # free(3) gave back some itself, at the ends of arenas; Ruby gave back heap pages
    empty = part(cleared, "empty") + part(cleared, "ends") - part(map, "ends") + truth - before - part(map, "ruby") + part(cleared, "ruby")
    from = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    ask(socket, "POST /trim")
    ms = (Process.clock_gettime(Process::CLOCK_MONOTONIC) - from) * 1000
    gave = before - rss(app.pid)
    app.puts
    [name, blocks, mb(truth), format("%.2f %%", 100.0 * map["seen_bytes"] / truth), map["milliseconds"], mb(what["empty_then_bytes"]), mb(empty),
     mb(cleared["trim"]["bytes"]), mb(gave), format("%.0f", ms)]
  end
end

rows = [%w[allocator blocks RSS seen map\ ms what-if real trim gave ms]]
Dir.mktmpdir do |dir|
  (ARGV.empty? ? [100_000] : ARGV.map { |n| Integer(n) }).each do |blocks|
    rows << measure(dir, "glibc", nil, blocks)
    Allocators.each { |name, library,| rows << measure(dir, name, library, blocks) if library }
  end
end
rows.each { |r| puts r.each_with_index.map { |c, i| i.zero? ? c.ljust(10) : c.to_s.rjust(9) }.join("  ") }
