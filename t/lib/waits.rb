# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Ways in which a main thread waits, for tests that interrupt it. Each ends by a line on stdin, or after a
# second, and is true if nothing else ended it.

module Waits
  PREPARE = <<~'RUBY'
    require "socket"
    def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    def a_second = (from = clock) && yield && clock - from >= 1
    # The block runs in a thread of its own, once told to
    def when_told(&block) = Thread.new { $told = $stdin.gets == "go on\n"; block&.call }
    $stdout.sync = true
  RUBY

  EACH = {
    "sleep" => "main = Thread.current; when_told { main.wakeup }; sleep; $told",
    "sleep for a second" => "a_second { sleep 1 }",
    "select" => "IO.select([$stdin]) == [[$stdin], [], []] && $stdin.gets == \"go on\\n\"",
    "select for a second" => "a_second { IO.select([$stdin], nil, nil, 1).nil? }",
    "accept" => "s = TCPServer.new('127.0.0.1', 0); when_told { TCPSocket.new('127.0.0.1', s.addr[1]) }; s.accept && $told",
    "a thread" => "when_told { 'its value' }.value == 'its value' && $told",
    "a thread for a second" => "a_second { Thread.new { $stdin.read }.join(1).nil? }",
    "a queue" => "q = Thread::Queue.new; when_told { q << 1 }; q.pop == 1 && $told",
    "a lock" => "m = Mutex.new; q = Thread::Queue.new; Thread.new { m.synchronize { q << 1; when_told.join } }; q.pop; m.synchronize { $told }",
    "a condition" => "m = Mutex.new; c = ConditionVariable.new; when_told { m.synchronize { c.signal } }; m.synchronize { c.wait(m) until $told }; $told",
    "a child" => "Process.wait(fork { exit!($stdin.gets == \"go on\\n\") }) && $?.success?",
    "a read" => "$stdin.gets == \"go on\\n\""
  }.freeze

  # Says "ready" when it is about to wait, and "true" when it has waited as it should.
  def self.script(code) = "#{PREPARE}puts 'ready'\nputs((#{code}).inspect)\nsleep\n"
  def self.timed?(name) = name.end_with?("for a second")
end
