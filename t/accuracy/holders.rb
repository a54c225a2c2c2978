# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# holders.rb [OBJECTS...]: how many leaked blocks Mwrap.holders takes for held. Not a test: it prints a table.
#
#	make check-programs && ruby t/accuracy/holders.rb 100000 1000000
#
# t/plugins/lose.c leaks 4,000 blocks of many sizes in each way, while the process makes and drops
# objects, and loads code, so that memory is reused. Whatever isn't held by nothing is wrong.
require "json"
require "open3"
require "rbconfig"

TOP = File.expand_path("../..", __dir__)
WAYS = %w[plain ring table structs stack].freeze
BLOCKS = 4000

def measure(objects, way)
  env = { "LD_PRELOAD" => "#{TOP}/lib/libmwrap.so", "MWRAP" => "bt:0", "RUBYLIB" => nil, "RUBYOPT" => nil }
  out, status = Open3.capture2(env, RbConfig.ruby, "-I", "#{TOP}/lib", __FILE__, "--child", objects.to_s, way)
  status.success? or abort "#{way}: #{status}"
  JSON.parse(out)
end

# --- the process that leaks -----------------------------------------------------------

class Item
  def initialize(number)
    @name = "item #{number} " * (1 + number % 5)
    @tags = { number => [number, number.to_s] } if (number % 3).zero?
  end
end

# An application's objects meanwhile. Some of them stay.
def work(kept, number)
  kept << Class.new { 12.times { |i| define_method("m#{number}_#{i}") { i } } }.tap { |c| c.const_set(:LIST, [number]) }
  kept << Regexp.new("a{#{number % 50}}[b-#{(99 + number % 20).chr}]+") << (0..(number % 30)).to_h { |i| [i, i.to_s * 9] }
  kept << eval("-> (a, b = #{number}) { [a, b].map { |x| x.to_s * #{number} } }") << "x" * (number * 7 % 900)
  list = []
  (number % 200).times { |i| list << i }
  kept << list << JSON.generate("a" => list, "b" => kept.last(3).map(&:class).map(&:to_s))
  kept.shift(5) if (number % 4).zero?
end

def child(objects, way)
  require "mwrap"
  require "fiddle"
  lib = Fiddle.dlopen("#{TOP}/.build/t/plugins/lose.so")
  lose = Fiddle::Function.new(lib["lose_#{way}"], [Fiddle::TYPE_SIZE_T, Fiddle::TYPE_SIZE_T], Fiddle::TYPE_VOID)
  items = Array.new(objects / 4) { |i| Item.new(i) }
  kept = []
  call = eval("->(n, size) {\nlose.call(n, size) }", binding, "lost.rb", 1)
  10.times { call.call(0, 16) }
  before = Mwrap.holders("lost.rb:2").sum { |r| r[:blocks] } # what the code itself needs
  (BLOCKS / 20).times do |i|
    work(kept, i)
    call.call(20, 16 + 8 * (i * 37 % 160))
  end
  GC.start
  rows = Mwrap.holders("lost.rb:2")
  held = rows.reject { |r| r[:by] == :nothing }
  puts JSON.generate(blocks: rows.sum { |r| r[:blocks] } - before, held: held.sum { |r| r[:blocks] } - before, items: items.size,
                     holders: held.first(4).map { |r| "#{r[:blocks]} #{r[:holder]}" })
end

if ARGV[0] == "--child"
  child(ARGV[1].to_i, ARGV[2])
else
  (ARGV.empty? ? %w[100000 1000000] : ARGV).each do |objects|
    found = WAYS.map { |way| measure(objects, way).tap { |m| puts format("%9s %-8s %5d blocks %4d held  %.2f %%  %s", objects, way, m["blocks"], m["held"], 100.0 * m["held"] / m["blocks"], m["holders"].join(", ")) } }
    puts format("%9s all      %5d blocks %4d held  %.2f %%", objects, found.sum { |m| m["blocks"] }, held = found.sum { |m| m["held"] }, 100.0 * held / found.sum { |m| m["blocks"] })
  end
end
