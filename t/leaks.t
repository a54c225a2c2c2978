#!/usr/bin/env ruby
# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# leaks.t - real gems whose old versions leak what they get from malloc
# (t/leaks/gems.rb) are told apart from their fixed versions, at the right line.
#
#	t/leaks.t [NAME ...]     only these
require "json"
require "open3"
require "tmpdir"
require_relative "leaks/gems"

TOP = File.expand_path("..", __dir__)
TRACKER = File.join(TOP, "lib", "libmwrap.so")

# one run's rows in the dump
Run = Struct.new(:problem, :rows, :printed) do
  def growth(location)
    rows.sum { |row| row["location"] == location ? row["growth"] : 0 }
  end

  def allocations(location)
    rows.sum { |row| row["location"] == location ? row["allocations"] : 0 }
  end

  def top
    rows.max_by { |row| row["growth"] }
  end
end

def run(leak, version, calls)
  Dir.mktmpdir("mwrap-leaks") do |dir|
    dump = File.join(dir, "dump")
    env = LeakGems.env(HOME).merge("LD_PRELOAD" => TRACKER, "MWRAP" => "dump_path:#{dump},dump_format:json")
    out, status = Open3.capture2e(env, RbConfig.ruby, "-I", File.join(TOP, "lib"), *leak.command(version, calls))
    next Run.new("#{status}: #{out}", [], "") unless status.success?

    Run.new(nil, JSON.parse(File.read(dump)), out)
  rescue SystemCallError, JSON::ParserError => e
    Run.new("no dump: #{e.message[0, 200]}; printed: #{out}", [], "")
  end
end

def ok(good, what, *more)
  @count = @count.to_i + 1
  @failed = true unless good
  puts "#{"not " unless good}ok #{@count} - #{what}"
  more.each { |text| text.to_s.lines.first(12).each { |line| puts "# #{line.chomp}" } } unless good
  good
end

# Is this growth what so many calls leak?
def leaked?(leak, growth, calls)
  all = leak.bytes * calls
  (growth - all).abs <= all * leak.tolerance
end

def ran?(run, leak, version, calls)
  ok run.problem.nil? && run.printed.start_with?("#{leak.gem_name}-#{version} #{calls} "),
     "#{leak.name}: #{calls} calls with #{version}", run.problem, run.printed
end

def check(leak)
  calls = leak.calls || 10_000
  old = leak.location(HOME, leak.leaks)
  new = leak.location(HOME, leak.fixed)
  once = run(leak, leak.leaks, calls)
  twice = run(leak, leak.leaks, 2 * calls)
  fixed = run(leak, leak.fixed, calls)
  ran?(once, leak, leak.leaks, calls)
  ran?(twice, leak, leak.leaks, 2 * calls)
  ran?(fixed, leak, leak.fixed, calls)
  ok [once, twice].all? { |run| run.top && run.top["location"] == old },
     "#{leak.name} #{leak.leaks}: #{File.basename(old)} has the most growth", once.top, twice.top
  ok leaked?(leak, once.growth(old), calls), "#{leak.name} #{leak.leaks}: by #{leak.bytes} bytes a call",
     "growth #{once.growth(old)}"
  ok leaked?(leak, twice.growth(old) - once.growth(old), calls),
     "#{leak.name} #{leak.leaks}: and by as much for as many calls more", "growth #{twice.growth(old)}"
  ok fixed.rows.any? && fixed.allocations(new) >= calls && fixed.growth(new) < 0.05 * once.growth(old),
     "#{leak.name} #{leak.fixed}: #{File.basename(new)} allocates, and does not grow",
     "growth #{fixed.growth(new)}, allocations #{fixed.allocations(new)}"
  puts format("# %-16s %s: %.1f bytes a call, %s: %.1f", leak.name, leak.leaks, once.growth(old).fdiv(calls),
              leak.fixed, fixed.growth(new).fdiv(calls))
end

$stdout.sync = true
HOME = LeakGems.install(TOP)
refused, leaks = LeakGems::ALL.select { |leak| ARGV.empty? || ARGV.include?(leak.script) }.partition(&:refused)
puts "1..#{1 + refused.size + 7 * leaks.size}"
missing = LeakGems.missing(HOME)
if ok(missing.empty? && (leaks + refused).any?, "the gems are installed",
      *missing.map { |name, version| "#{name} #{version}: see #{HOME}/leaks-#{name}-#{version}.log" })
  refused.each { |leak| ok true, "#{leak.name} # SKIP #{leak.refused}" }
  leaks.each { |leak| check(leak) }
end
exit !@failed
