# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# bloat.rb: why RSS may be fifty times what is live. 16 threads work on strings as requests do, and keep one
# block in some hundred. Nothing leaks, but each kept block holds a page. The picture in
# doc/memory-map.md is of this:
#
#   MWRAP=socket:/tmp/mw.sock mwrap ruby t/demo/bloat.rb &
#   mwrapctl map /tmp/mw.sock -o map.png
require "json"

KEPT = Queue.new

def request(number)
  buffers = Array.new(300) { |i| "y" * (500 + (i * 53 + number) % 4000) }
  answer = JSON.parse(JSON.generate(Array.new(200) { |i| "x" * (200 + (i * 37 + number) % 3000) }))
  KEPT << buffers[number % 300] << answer[number % 200]
end

Array.new(16) { Thread.new { 120.times { |number| request(number) } } }.each(&:join)
4.times { GC.start }
puts "ready"
$stdout.flush
sleep
