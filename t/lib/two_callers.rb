# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# KEEP begins an app of which one line allocates. APP is one whose line two methods call as often as it is
# told: "one N" and "two N". "drop N" frees the oldest N. The line isn't the one that defines the method:
# what a definition allocates has other callers.
module TwoCallers
  KEEP = <<~RUBY
    $stdout.sync = true
    KEPT = []
    def keep
      KEPT << ("x" * 20_000) # the line
    end
  RUBY
  METHODS = KEEP + <<~RUBY
    def from_one(n) = n.times { keep }
    def from_two(n) = n.times { keep }
    GC.disable
  RUBY
  APP = METHODS + <<~RUBY
    while (line = gets)
      what, n = line.split
      case what
      when "one" then from_one(n.to_i)
      when "two" then from_two(n.to_i)
      when "drop" then KEPT.shift(n.to_i).each(&:clear)
      end
      puts "done"
    end
  RUBY
  LINE = APP.lines.index { |l| l.include?("# the line") } + 1

  def line = "#{path("app.rb")}:#{LINE}"
end
