#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The core under ThreadSanitizer, and the unit tests under AddressSanitizer with
# UndefinedBehaviorSanitizer: no report of theirs, and all counts right. t/core.t runs the
# core under the latter.

require_relative "lib/sanitized"

include Sanitized

def unit(path)
  name = "asan: #{File.basename(path)}"
  r = run(path, env: OPTIONS["asan"].merge("ASAN_OPTIONS" => FATAL.dup), limit: 900)
  plan = r.out[/^1\.\.(\d+)$/, 1].to_i
  ok(r.ending == "exit 0" && r.err !~ /Sanitizer|runtime error/, "#{name}: no report, no leak",
     "#{r.ending}\n#{short(r.err)}")
  ok(plan.positive? && r.out.scan(/^ok /).size == plan && r.out !~ /^not ok/, "#{name}: its #{plan} tests pass", short(r.out))
end

built = run("make", "-j2", "asan", "tsan", "RUBY=#{RbConfig.ruby}", dir: ROOT, limit: 1800)
ok(built.ending == "exit 0", "the core is built with sanitizers", short(built.out + built.err))
run_core("tsan")

units = Dir["#{ROOT}/t/unit/*.c"].map { |f| "#{ROOT}/.build/asan/unit/#{File.basename(f, ".c")}" }
ok(!units.empty?, "there are unit tests")
units.sort.each { |u| unit(u) }

done_testing
