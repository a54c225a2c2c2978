# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "exact"

module Mwrap
  module Ctl
    # mwrapctl sampled: samples allocations from now on.
    class Sampled < Exact # :nodoc: all
      PATH = "/sampled"
    end
  end
end
