# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
# A number whose exponent is too large has its digits allocated when that is found.
require_relative "run"
LeakRun.use "bigdecimal"
require "bigdecimal"

NUMBER = "#{"1" * 900}E#{"1" * 20}"
BigDecimal.mode(BigDecimal::EXCEPTION_OVERFLOW, true) # for this thread
BigDecimal(NUMBER) rescue OVERFLOW = $!
OVERFLOW.is_a?(FloatDomainError) or abort "no overflow"

LeakRun.calls do
  BigDecimal.mode(BigDecimal::EXCEPTION_OVERFLOW, true)
  BigDecimal(NUMBER) rescue nil # leaks here
end
