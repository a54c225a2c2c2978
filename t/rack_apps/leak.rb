# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# Both applications keep 50 strings of 10 kB for each request, at line 8.
module Leak
  KEPT = []
  def self.more
    50.times { KEPT << ("x" * 10_000) }
    "#{Process.pid} keeps #{KEPT.size}"
  end
end
