# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# ptrace(2) of another process's threads, by the thread that calls: what a tracer may do to one.
require "fiddle"

module Ptrace
  CALL = Fiddle::Function.new(Fiddle::Handle::DEFAULT["ptrace"], [Fiddle::TYPE_LONG] * 4, Fiddle::TYPE_LONG)
  SEIZE = 0x4206
  INTERRUPT = 0x4207
  DETACH = 17
  ALL_THREADS = 0x40000000 # __WALL of waitpid(2)

  # Each returns 0, or -1.
  def self.seize(tid) = CALL.call(SEIZE, tid, 0, 0)
  def self.detach(tid) = CALL.call(DETACH, tid, 0, 0)

  # Stops a thread that was seized, and waits until it stands. True, or false: it can't be stopped.
  def self.stop(tid)
    CALL.call(INTERRUPT, tid, 0, 0).zero? && ::Process.wait(tid, ALL_THREADS) == tid
  end
end
