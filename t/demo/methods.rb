# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# methods.rb: a leak of methods. A cache of settings defines its readers anew whenever it is asked, each
# under another name, so no method is ever replaced. Ruby has no object that grows: the memory is that of
# compiled methods. doc/stacks.md shows who is told. Ends when its standard input does.

module Settings
  @version = 0

  def self.define_readers
    @version += 1
    1000.times { |i| module_eval("def value_#{@version}_#{i} = @values.fetch(#{i}) { |n| n.to_s }") }
  end

  def self.refresh = define_readers
end

class Request
  def initialize(number) = @number = number

  def serve
    Settings.refresh if (@number % 100).zero?
    "hello #{@number}" * 100
  end
end

1000.times { |n| Request.new(n).serve }
$stdout.sync = true
puts "ready"
$stdin.read
