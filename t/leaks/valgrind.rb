# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# valgrind.rb - the leaks of t/leaks/gems.rb, found by mwrap's leak test and by valgrind's memcheck: the
# table of doc/leak-tests.md. No test runs it: it takes half an hour.
#
#	ruby t/leaks/valgrind.rb [NAME ...]
#
# mwrap finds a leak if it names its line and its blocks a call. memcheck finds it if one record of
# "definitely lost" has as many blocks as there were calls, and a stack through the gem's own code.
# A mended version must have neither. Seconds are the CPU's, of the whole process.
require "json"
require "open3"
require_relative "gems"

TOP = File.expand_path("../..", __dir__)
HOME = LeakGems.install(TOP)
CALLS = 120
MEMCHECK = %w[valgrind --leak-check=full --show-leak-kinds=definite --num-callers=30 --error-limit=no].freeze
Outcome = Struct.new(:found, :records, :seconds)

def cpu = Process.times.then { |t| t.cutime + t.cstime }

def timed(env, *command)
  from = cpu
  out, status = Open3.capture2e(LeakGems.env(HOME).merge(env), *command)
  status.success? or abort "#{command.join(" ")}: #{status}\n#{out.lines.last(5).join}"
  [out, cpu - from]
end

def by_mwrap(leak, version)
  out, seconds = timed({ "MWRAP_LEAK_CHECK" => "1" }, RbConfig.ruby, "-I", "#{TOP}/lib", *leak.command(version, CALLS))
  leaks = JSON.parse(out)["leaks"]
  at = leaks.find { |l| l["location"] == leak.location(HOME, version) && leak.blocks === l["blocks_per_call"] }
  Outcome.new(!at.nil?, leaks.size, seconds)
end

def by_memcheck(leak, version)
  out, seconds = timed({}, *MEMCHECK, RbConfig.ruby, *leak.command(version, CALLS))
  records = out.gsub(/^==\d+== ?/, "").split(/\n\s*\n/).grep(/are definitely lost in loss record/)
  files = Dir["#{HOME}/gems/#{leak.gem_name}-#{version}/{ext,lib}/**/*.{c,h,so}"].map { |path| File.basename(path) }.uniq
  own = /\((?:in \S*\/)?#{Regexp.union(files)}[:)]/ # with and without debugging information
  found = records.any? { |record| record[/in ([\d,]+) blocks/, 1].delete(",").to_i >= CALLS && record.match?(own) }
  Outcome.new(found, records.size, seconds)
end

def word(outcome) = outcome.found ? "found" : "-"

$stdout.sync = true
puts "| leak | version | mwrap | leaks | s | memcheck | records | s |\n| --- | --- | --- | --- | --- | --- | --- | --- |"
LeakGems::ALL.reject(&:refused).select { |leak| ARGV.empty? || ARGV.include?(leak.script) }.each do |leak|
  [leak.leaks, leak.fixed].each do |version|
    ours, theirs = by_mwrap(leak, version), by_memcheck(leak, version)
    puts format("| %s | %s%s | %s | %d | %.1f | %s | %d | %.0f |", leak.name, version, (" (mended)" if version == leak.fixed),
                word(ours), ours.records, ours.seconds, word(theirs), theirs.records, theirs.seconds)
  end
end
