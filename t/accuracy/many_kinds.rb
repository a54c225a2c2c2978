# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# many_kinds.rb - an app of kinds.rb: each line keeps memory of a kind of its own.
require "zlib"
require "json"
require "set"
require "openssl"
$stdout.sync = true
400.times { [1].each { [2].each { "w" * 70_000 } } }
KEPT = []
module BigModule; end
class Many; end
class Slots; def initialize(n); @a1=@a2=@a3=@a4=@a5=@a6=@a7=@a8=@a9=@b1=@b2=@b3=@b4=n; end; end
S = Struct.new(:a,:b,:c,:d,:e,:f)
200.times { KEPT << ("x" * 20_000) }
300.times { KEPT << (+"" << "y" * 5_000 << "z" * 5_000) }
200.times { KEPT << Array.new(2_500, 1) }
200.times { a = []; 2_000.times { |i| a.push(i) }; KEPT << a }
200.times { a = []; 2_000.times { |i| a << i }; KEPT << a }
300.times { h = {}; 300.times { |i| h[i] = i }; KEPT << h }
150.times { KEPT << Regexp.new("(a|b|c+d)#{"(e|f)" * 60}") }
4000.times { o = Many.new; 60.times { |i| o.instance_variable_set(:"@v#{i}", i) }; KEPT << o }
300.times { KEPT << (3**40_000) }
20.times { KEPT << Zlib::Deflate.new }
3000.times { |i| BigModule.module_eval("def m#{i}; a = [1, 2, i, foo]; b = { x: a }; bar(b, :c); end") }
20000.times { |i| KEPT << Slots.new(i) }
20000.times { |i| KEPT << S.new(1,2,3,4,5,6) }
20000.times { |i| KEPT << "sym_#{i}_#{"p"*40}".to_sym }
20000.times { |i| KEPT << ("interpolated #{i} string of more than that" + "a") }
20000.times { |i| KEPT << [i, i+1, i+2, i+3, i+4] }
10000.times { |i| KEPT << {a: i, b: i, c: i, d: 1, e: 2, f: 3, g: 4, h: 5, i: 6} }
10000.times { |i| KEPT << JSON.parse('{"a":[1,2,3,4,5,6,7,8],"b":"cccccccccccccccccccccccccccccccccccc"}') }
100.times { |i| KEPT << Fiber.new { Fiber.yield }.tap(&:resume) }
3000.times { |i| KEPT << proc { i } }
2000.times { |i| KEPT << Class.new { def a; end; def b; end } }
3000.times { |i| KEPT << (1..5).each_slice(2) }
3000.times { |i| Many.define_method(:"dm#{i}") { i } }
3000.times { |i| begin; raise "x"; rescue => e; KEPT << e; end }
KEPT << Set.new(1..20000)
2000.times { |i| KEPT << Time.now }
2000.times { |i| KEPT << File.open("/dev/null") if i < 500 }
puts "ready"
$stdin.gets
