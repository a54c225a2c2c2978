# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "etc"

# How large Ruby's heap pages are. If the system's are larger, it takes them from malloc, and none is listed.
module HeapPageSize
  SIZE = GC::INTERNAL_CONSTANTS[:HEAP_PAGE_SIZE] || GC::INTERNAL_CONSTANTS.fetch(:HEAP_PAGE_OBJ_LIMIT) * 40

  def setup
    super
    skip "Ruby takes its heap pages from malloc here" if Etc.sysconf(Etc::SC_PAGESIZE) > SIZE
  end
end
