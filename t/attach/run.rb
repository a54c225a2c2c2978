# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.rb - many starts and stops at random moments of processes that do something, by hand: the long
# form of t/attach.t and t/started.t.
#
#   ruby t/attach/run.rb start 10000     Mwrap.start and Mwrap.stop in the process
#   ruby t/attach/run.rb signal 1000     mwrapctl attach and detach of a process with the gem
#   ruby t/attach/run.rb inject 1000     and of one without
#   ruby t/attach/run.rb hazards 5       each of hazards.rb, so many times, by signal and injection
#   ruby t/attach/run.rb endings 200     processes that end meanwhile, at any moment
#   ruby t/attach/run.rb allocators 100  on jemalloc, mimalloc and tcmalloc
#   ruby t/attach/run.rb puma 60         a Puma cluster under load, for so many seconds
#
# Prints figures, and exits with 1 after a line that says what was wrong.
require "rbconfig"
require "stringio"
require "tmpdir"
require_relative "../../lib/mwrap/ctl"
require_relative "../../lib/mwrap/ctl/attach"
require_relative "../lib/allocators"
require_relative "programs"
require_relative "visits"

class AttachRun
  include Visits

  def start(count)
    done = Subject.open("busy", gem: true, args: [count.to_s]) { |s| s.to_end(3600) }
    puts "start: #{count} starts and stops in the process, #{done}"
  end

  def signal(count) = pairs("signal", count, gem: true)
  def inject(count) = pairs("inject", count, gem: false)

  def hazards(count)
    (ENV["ONLY"]&.split(",") || HAZARDS.keys).each do |name|
      [true, false].each do |gem|
        natively = Subject.open(name, gem: gem) { |s| s.to_end(120) }
        n = 0
        count.times do
          Subject.open(name, gem: gem) do |s|
            n += visit_until_end(s)
            s.to_end(120) == natively or wrong "#{name}: another output"
          end
        end
        puts "hazards: #{name}, #{gem ? "by signal" : "injected"}: #{n} attached and detached in #{count} runs"
      end
    end
  end

  # Without mwrapctl's own time between the visits. Nothing is asked, so the tracker is loaded at most.
  def endings(count)
    visits = 0
    count.times do
      Subject.open("a short life", gem: false) do |s|
        helpers = Array.new(2) do
          Thread.new do
            visits += 1 while system(Mwrap::Ctl::Injection::HELPER, s.pid.to_s, File.join(Subject::LIB, "libmwrap.so"), "5", %i[out err] => File::NULL) ||
                              File.exist?("/proc/#{s.pid}/exe")
          end
        end
        s.to_end(60)
        helpers.each(&:join)
      end
    end
    puts "endings: #{count} processes ended as they should, with #{visits} visits"
  end

  def allocators(count)
    Allocators.each do |name, path, package|
      path or wrong "#{name}: install #{package}"
      pairs("inject on #{name}", count, gem: false, preload: path)
      pairs("signal on #{name}", count, gem: true, preload: path)
    end
  end

  def puma(seconds)
    require_relative "puma"
    AttachToPuma.new(seconds).run
  end

  private

  def pairs(name, count, gem:, preload: nil)
    forget_figures
    Subject.open("busy", gem: gem, preload: preload) do |s|
      count.times { pair(s.pid) }
      stats = s.stats
      bad = stats.values_at("lost", "overruns", "double_frees", "unknown_frees")
      bad.sum.zero? or wrong "#{name}: lost, overruns, double and unknown frees #{bad}"
      done = s.finish
      puts "#{name}: #{count} attached and detached, #{done}#{", #{figures}" if longest}"
    end
  end
end

what, n = ARGV
AttachRun.method_defined?(what.to_s) && n.to_i.positive? or abort File.read(__FILE__)[/^#   ruby.*?(?=^#\n)/m].gsub(/^# +/, "")
AttachRun.new.public_send(what, n.to_i)
