# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "etc"

module Mwrap
  # Moments that processes in several time namespaces compare. Not for use elsewhere.
  module Moments # :nodoc: all
    # By how many ticks /proc shows starts of processes later here than in the first time namespace
    def self.boot_offset
      File.read("/proc/self/timens_offsets")[/^boottime\s+(-?\d+)/, 1].to_i * Etc.sysconf(Etc::SC_CLK_TCK)
    rescue SystemCallError # a kernel without time namespaces
      0
    end
  end
end
