# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Has a process nothing to do? A program's answer is out before its next steps are done: between its
# answer and its wait for the next order it may be stopped for seconds, and allocates then.

module AtRest
  # How often each thread has run; nil: one of them is awake, or came or went.
  def self.look(pid)
    Dir.children("/proc/#{pid}/task").to_h do |tid|
      text = File.read("/proc/#{pid}/task/#{tid}/status")
      return nil unless text[/^State:\s+(\w)/, 1] == "S"
      [tid, text.scan(/^\w*voluntary_ctxt_switches:\s+(\d+)/)]
    end
  rescue SystemCallError
    nil
  end

  # All sleep, and none ran between two looks: so there was an instant at which all slept. One that
  # the machine keeps from running doesn't count as asleep.
  def self.now?(pid) = (before = look(pid)) && before == look(pid)
end
