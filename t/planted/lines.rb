# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# lines.rb OUT N: allocates at known lines, in three rounds: 50 blocks at each to
# begin with; then an offset may be set wrong (mw_plant_now in plant.c), and N
# blocks at each follow, while that is to be noticed; then 40 of a size that only
# this line has. Writes to the file OUT, as JSON, how many blocks were counted at
# each line in the second round, where the third's were, and which way is in use.
require "mwrap"
require "json"
require "fiddle"

OUT = ARGV.fetch(0)
MANY = Integer(ARGV.fetch(1))
RACTOR_VALUE = Ractor.method_defined?(:value) ? :value : :take

module Cases
  module_function

  def plain(n, size)
    all = []
    while all.size < n
      all << "p" * size # LINE plain
    end
    all
  end

  def block(n, size) = (1..n).map { |_| [1].map { "b" * size }[0] } # LINE block

  # called back from C, which has frames of its own
  def callback(n, size)
    all = []
    n.times do
      [3, 1, 2].sort_by do |x|
        all << "c" * size if x == 1 # LINE callback
        x
      end
    end
    all
  end

  # two lines that the same instruction calls
  def left(size) = "l" * size # LINE left
  def right(size) = "r" * size # LINE right
  def either(n, size, name) = Array.new(n) { public_send(name, size) }

  def in_thread(n, size)
    Thread.new do
      Array.new(n) { "t" * size } # LINE in_thread
    end.value
  end

  def in_fiber(n, size)
    f = Fiber.new do
      all = []
      loop do
        all << "f" * size # LINE in_fiber
        Fiber.yield(all)
      end
    end
    n.times.map { f.resume }.last
  end

  def in_fibers(n, size)
    Array.new(n) { Fiber.new { "g" * size }.resume } # LINE in_fibers
  end

  def in_fiber_of_thread(n, size)
    Thread.new { Array.new(n) { Fiber.new { "h" * size }.resume } }.value # LINE in_fiber_of_thread
  end

  def in_enumerator(n, size)
    e = Enumerator.new { |y| loop { y << "e" * size } } # LINE in_enumerator
    Array.new(n) { e.next }
  end

  def in_ractor(n, size)
    Ractor.new(n, size) do |k, s|
      Array.new(k) { "a" * s } # LINE in_ractor
    end.public_send(RACTOR_VALUE)
  end

  def in_eval(n, size) = eval("Array.new(n) { 'v' * size } # LINE in_eval", binding, __FILE__, __LINE__)

  # code that comes and goes
  def redefined(n, size)
    Array.new(n) do |i|
      define_singleton_method(:again) { i } if i % 10 == 0
      again
      "d" * size # LINE redefined
    end
  end
end

LINES = File.readlines(__FILE__, chomp: true).each_with_index.filter_map do |l, i|
  [l[/# LINE (\w+)/, 1].to_sym, "#{__FILE__}:#{i + 1}"] if l.match?(/# LINE \w+("|\z)/)
end.to_h
NAMES = LINES.keys.freeze

def run(name, n, size)
  %i[left right].include?(name) ? Cases.either(n, size, name) : Cases.public_send(name, n, size)
end

NAMES.each { |name| run(name, 50, 900) }
plant = Fiddle::Handle::DEFAULT["mw_plant_now"] rescue nil # rubocop:disable Style/RescueModifier
planted = plant && Fiddle::Function.new(plant, [], Fiddle::TYPE_INT).call

before = LINES.transform_values { |at| Mwrap[at]&.allocations.to_i }
NAMES.each { |name| run(name, MANY, 1000) }
second = LINES.to_h { |name, at| [name, Mwrap[at]&.allocations.to_i - before[name]] }

begin
  GC.compact
rescue NotImplementedError
  GC.start
end

kept = NAMES.each_with_index.to_h do |name, i|
  from = GC.count
  all = run(name, 40, 2000 + i * 17)
  [name, [all, from, GC.count]]
end
kept.each { |name, (all, _)| puts "#{name} #{all.size} #{all.sum(&:size)} #{all[7][0]}" }

wanted = kept.to_h { |name, (all, *gcs)| [all[0].size + 1, [name, gcs]] }
third = NAMES.to_h { |name| [name, Hash.new(0)] }
wrong_generations = 0
Mwrap.each do |location, |
  # native: what is missing at a line was counted there; of Ruby's start: any sizes
  next if location.end_with?("]") || location.start_with?("(ruby, starting")

  Mwrap[location]&.each do |size, generation|
    name, gcs = wanted[size]
    next unless name

    third[name][location] += 1
    wrong_generations += 1 unless generation.between?(*gcs)
  end
end
File.write(OUT, { lines: LINES, planted: planted, second: second, third: third, wrong_generations: wrong_generations,
                  how: Mwrap.stats[:ruby_lookup], why: Mwrap.stats[:ruby_why] }.to_json)
exit 3
