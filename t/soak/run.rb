# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.rb SECONDS: both soaks at the same time, each in a process of its own; prints
# their reports, and fails if anything isn't as it must be.
require_relative "soak"

seconds = Float(ARGV.fetch(0))
$stdout.sync = true
puts "Soak of #{seconds.round} s, #{RUBY_DESCRIPTION}"
soaks = %w[preloaded phased].map do |kind|
  out, text = IO.pipe
  pid = fork do
    out.close
    report = Soak.new(kind, seconds).run
    text.write(report.to_s)
    text.close
    exit!(report.good?)
  end
  text.close
  [pid, out]
end
good = soaks.map do |pid, out|
  puts "", out.read
  Process.wait2(pid).last.success?
end
puts "", good.all? ? "All is as it must be." : "Not all is as it must be."
exit good.all?
