#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Every call of the malloc family does at its edges what it does natively: result,
# errno, alignment, contents; and is counted as the app asked, with one witness
# over the tracker and one beneath.

require_relative "lib/c_tests"

include CTests

%w[malloc calloc realloc posix_memalign aligned pages free cfree usable others].each do |section|
  native = run(program("family"), section)
  ok(native.out.lines.size >= 1 && !native.out.include?("NOT OK"), "#{section}: natively", native.visible.inspect)
  plain = track(program("family"), section)
  same?(native, plain, section)
  sound?(plain.rows, section)
  both = track(program("family"), section, witness: :both)
  same?(native, both, "#{section} between witnesses")
  agrees?(both.lines[0], section)
  from = section == "others" ? /libc/n : /family/n
  ok(plain.rows.any? { |r| r["allocations"].positive? && place(r)&.[](:module) =~ from },
     "#{section}: there is something to count")
  ok(plain.out.include?("# api 1"), "free_sized and free_aligned_sized are there") if section == "free"
end

done_testing
