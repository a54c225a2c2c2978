# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# trim.rb [TIMES]: the estimate of a trim against the truth, on glibc. Not a test: it prints a table.
#
#	make && make check-programs && ruby t/accuracy/trim.rb 5
#
# t/programs/fragment.c makes the holes. Of so many runs it shows the one whose trim took least CPU time: what GET
# /map/trim said, and what the trim did. Pages are of 4 KiB.
require "json"
require "socket"
require "tmpdir"

TOP = File.expand_path("../..", __dir__)
CASES = [[1, 100_000, 300, 20], [8, 100_000, 300, 20], [8, 1_000_000, 300, 20], [1, 1_000_000, 300, 20], [4, 300_000, 2000, 20],
         [4, 100_000, 100, 3], [4, 1_000_000, 100, 3], [4, 1_000_000, 60, 2], [4, 60_000, 8000, 5], [8, 200_000, 700, 10]].freeze
PAGE = 4096

def ask(socket, text)
  UNIXSocket.open(socket) do |s|
    s.write("#{text} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    s.read.split("\r\n\r\n", 2)[1]
  end
end

def pages(pid) = File.read("/proc/#{pid}/statm").split[1].to_i

def once(dir, args)
  socket = File.join(dir, "s")
  env = { "LD_PRELOAD" => "#{TOP}/lib/libmwrap.so", "MWRAP" => "socket:#{socket},children:all" }
  IO.popen([env, "#{TOP}/.build/t/programs/fragment", *args.map(&:to_s)], "r+") do |app|
    app.gets
    sleep 0.05 until File.socket?(socket)
    said = JSON.parse(ask(socket, "GET /map/trim"))
    before = pages(app.pid)
    app.puts
    ms = Float(app.gets)
    gave = before - pages(app.pid)
    app.puts
    [said["milliseconds"], ms, said["least_bytes"] / PAGE, said["bytes"] / PAGE, gave]
  end
end

rows = [%w[threads blocks size kept said\ ms ms least most gave]]
Dir.mktmpdir do |dir|
  CASES.each do |args|
    best = Array.new(Integer(ARGV.fetch(0, 3))) { once(dir, args) }.min_by { |r| r[1] }
    rows << [*args, *best]
  end
end
rows.each { |r| puts r.map { |c| c.to_s.rjust(8) }.join("  ") }
