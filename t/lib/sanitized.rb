# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For tests that run what is built with a sanitizer: the core within a program
# (t/core/core.c). Nothing is suppressed.

require_relative "c_tests"

module Sanitized
  include CTests

  FATAL = "abort_on_error=0:exitcode=66:handle_abort=1"
  OPTIONS = {
    # the tables' memory is mapped, where LeakSanitizer doesn't look for pointers
    "asan" => { "ASAN_OPTIONS" => "#{FATAL}:detect_leaks=0:detect_stack_use_after_return=1",
                "UBSAN_OPTIONS" => "#{FATAL}:print_stacktrace=1" },
    "tsan" => { "TSAN_OPTIONS" => "#{FATAL}:halt_on_error=1:second_deadlock_stack=1:history_size=4" }
  }.freeze
  # MODE and what is beneath, of core.c. TSan keeps signals back until a thread
  # blocks, so that none interrupts the tracker.
  MODES = [%w[ring plain], %w[ring glibc], %w[ring ruby], %w[poll plain], %w[poll ruby], %w[sweep plain],
           %w[sweep ruby], %w[threads plain], %w[threads glibc], %w[fork glibc], %w[fork ruby],
           %w[signals glibc], %w[signals ruby], %w[refuse plain], %w[sizes plain]].freeze
  # The same with the option stacks: samples of about every allocation, and of some.
  STACKED = [["ring plain", 700], ["ring ruby", 700], ["poll plain", 4096], ["poll ruby", 700], ["sweep ruby", 700],
             ["threads glibc", 700], ["fork glibc", 4096], ["fork ruby", 700], ["signals glibc", 4096], ["signals ruby", 700]].freeze
  NOT_FOR = { "tsan" => ["signals glibc", "signals ruby", "refuse plain", "sweep plain"] }.freeze
  PLANTED = { "asan" => %w[overrun overflow], "tsan" => %w[race] }.freeze

  def core(sanitizer)
    path = File.join(ROOT, ".build", sanitizer, "core")
    raise "#{path} is not built: run make check-programs" unless File.exist?(path)

    path
  end

  # A report of each kind ends a program in a way that is seen here.
  def reports_what_is_planted(sanitizer)
    PLANTED.fetch(sanitizer).each do |fault|
      r = run(core(sanitizer), "plant", fault, env: OPTIONS[sanitizer])
      ok(r.ending != "exit 0" && r.err =~ /Sanitizer|runtime error/, "#{sanitizer}: a planted #{fault} is reported",
         "#{r.ending} #{r.err}")
    end
  end

  def run_core(sanitizer)
    reports_what_is_planted(sanitizer)
    MODES.each { |mode, beneath| mode(sanitizer, mode, beneath) unless NOT_FOR[sanitizer]&.include?("#{mode} #{beneath}") }
    STACKED.each { |m, rate| mode(sanitizer, *m.split, "stacks:#{rate}") unless NOT_FOR[sanitizer]&.include?(m) }
  end

  def mode(sanitizer, mode, beneath, options = nil)
    name = "#{sanitizer}: #{mode} #{beneath} #{options}".strip
    r = run(core(sanitizer), mode, beneath, env: { **OPTIONS[sanitizer], "MWRAP" => options }, limit: 900)
    bad = r.out.lines.grep(/\ANOT OK/)
    good = r.out.lines.grep(/\Aok /).size
    ok(r.ending == "exit 0" && r.err.empty? && r.out.end_with?("done #{mode}\n"), "#{name}: no report",
       "#{r.ending}\n#{short(r.err)}")
    ok(bad.empty? && good > 3, "#{name}: #{good} checks hold", bad.join)
  end
end
