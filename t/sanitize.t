#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The core, which runs within a program as well as preloaded (t/core/), under
# AddressSanitizer with UndefinedBehaviorSanitizer and under ThreadSanitizer, and
# the unit tests under the former: no report of theirs, and all counts right.
# Nothing is suppressed.

require_relative "lib/c_tests"

include CTests

FATAL = "abort_on_error=0:exitcode=66:handle_abort=1"
SANITIZERS = {
  # the tables' memory is mapped, where LeakSanitizer doesn't look for pointers
  "asan" => { "ASAN_OPTIONS" => "#{FATAL}:detect_leaks=0:detect_stack_use_after_return=1",
              "UBSAN_OPTIONS" => "#{FATAL}:print_stacktrace=1" },
  "tsan" => { "TSAN_OPTIONS" => "#{FATAL}:halt_on_error=1:second_deadlock_stack=1:history_size=4" }
}.freeze
# MODE and what is beneath, of t/core/core.c. TSan keeps signals back until a
# thread blocks, so that none interrupts the tracker.
MODES = [%w[ring plain], %w[ring glibc], %w[ring ruby], %w[poll plain], %w[poll ruby], %w[sweep plain],
         %w[sweep ruby], %w[threads plain], %w[threads glibc], %w[fork glibc], %w[fork ruby],
         %w[signals glibc], %w[signals ruby], %w[refuse plain], %w[sizes plain]].freeze
NOT_FOR = { "tsan" => ["signals glibc", "signals ruby", "refuse plain", "sweep plain"] }.freeze

def driver(sanitizer, mode, beneath)
  name = "#{sanitizer}: #{mode} #{beneath}"
  r = run("#{ROOT}/.build/#{sanitizer}/core", mode, beneath, env: SANITIZERS[sanitizer], limit: 900)
  bad = r.out.lines.grep(/\ANOT OK/)
  good = r.out.lines.grep(/\Aok /).size
  ok(r.ending == "exit 0" && r.err.empty? && r.out.end_with?("done #{mode}\n"), "#{name}: no report",
     "#{r.ending}\n#{short(r.err)}")
  ok(bad.empty? && good > 3, "#{name}: #{good} checks hold", bad.join)
end

def unit(path)
  name = "asan: #{File.basename(path)}"
  r = run(path, env: SANITIZERS["asan"].merge("ASAN_OPTIONS" => FATAL.dup, "CMOCKA_MESSAGE_OUTPUT" => "TAP"), limit: 900)
  plan = r.out[/^1\.\.(\d+)$/, 1].to_i
  ok(r.ending == "exit 0" && r.err !~ /Sanitizer|runtime error/, "#{name}: no report, no leak",
     "#{r.ending}\n#{short(r.err)}")
  ok(plan.positive? && r.out.scan(/^ok /).size == plan && r.out !~ /^not ok/, "#{name}: its #{plan} tests pass", short(r.out))
end

built = run("make", "-j2", "asan", "tsan", "RUBY=#{RbConfig.ruby}", dir: ROOT, limit: 1800)
ok(built.ending == "exit 0", "the core is built with sanitizers", short(built.out + built.err))

# A report of each kind ends a program in a way that is seen here.
{ "asan" => %w[overrun overflow], "tsan" => %w[race] }.each do |sanitizer, faults|
  faults.each do |fault|
    r = run("#{ROOT}/.build/#{sanitizer}/core", "plant", fault, env: SANITIZERS[sanitizer])
    ok(r.ending != "exit 0" && r.err =~ /Sanitizer|runtime error/, "#{sanitizer}: a planted #{fault} is reported",
       "#{r.ending} #{r.err}")
  end
end

SANITIZERS.each_key do |sanitizer|
  MODES.each { |mode, beneath| driver(sanitizer, mode, beneath) unless NOT_FOR[sanitizer]&.include?("#{mode} #{beneath}") }
end

units = Dir["#{ROOT}/t/unit/*.c"].map { |f| "#{ROOT}/.build/asan/unit/#{File.basename(f, ".c")}" }
ok(!units.empty?, "there are unit tests")
units.sort.each { |u| unit(u) }

done_testing
