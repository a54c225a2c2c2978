# SPDX-License-Identifier: GPL-2.0-or-later
# Each case allocates a size of its own, which no other line uses, N times,
# at the line whose comment names the case. lines.t looks where the sizes
# were counted. Allocations are kept, so that sizes can be looked up.
require "fiddle"

N = 40
KEEP = []
SIZES = {}
GROUND = 1_000_003

# Strings of this size are malloc'ed whole, in every Ruby: size + 1 bytes.
def size_of(name) = SIZES[name] ||= GROUND / 50 + SIZES.size * 17

def grab(name) = KEEP << ("x" * size_of(name)) # LINE grab

N.times { grab(:grab) }

N.times do
  KEEP <<
    "b" * size_of(:block) # LINE block
end

[1].each { |_| N.times { KEEP << "c" * size_of(:nested_block) } } # LINE nested_block

# eval with a file and line of its own, and without
N.times { KEEP << eval("'e' * size_of(:eval)", binding, "evaluated.rb", 77) } # evaluated.rb:77
N.times { eval("\n\nKEEP << 'e' * size_of(:eval_moved)", binding, __FILE__, __LINE__ + 100) } # __LINE__ + 102

# Methods defined anew in a loop: iseqs die, and their memory is used again
# for others, with other lines. Each round has its own line in the text.
ROUNDS = 300
ROUNDS.times do |i|
  Object.class_eval "\n" * (i % 10) + "def redefined = ('r' * #{size_of(:"redefined#{i % 10}")}).tap { |s| KEEP << s }",
    "redefined.rb", 1
  redefined
  GC.start if i % 50 == 49
end

# a C function that calls back into Ruby
N.times do |i|
  [3, 1, 2].sort_by do |x|
    KEEP << "s" * size_of(:callback) if x == 1 # LINE callback
    x
  end
end

# exceptions: the line of the rescue, after unwinding
def raises
  KEEP << "r" * size_of(:before_raise) # LINE before_raise
  raise "x"
ensure
  KEEP << "r" * size_of(:ensure) # LINE ensure
end
N.times do
  raises
rescue RuntimeError
  KEEP << "r" * size_of(:rescue) # LINE rescue
end

# Fibers
fiber = Fiber.new do
  loop do
    KEEP << "f" * size_of(:fiber) # LINE fiber
    Fiber.yield
  end
end
N.times { fiber.resume }
N.times { Fiber.new { KEEP << "f" * size_of(:fibers) }.resume } # LINE fibers
enum = Enumerator.new { |y| loop { y << "e" * size_of(:enumerator) } } # LINE enumerator
N.times { KEEP << enum.next }

2.times.map do
  Thread.new { (N / 2).times { KEEP << Fiber.new { "g" * size_of(:fiber_of_thread) }.resume } } # LINE fiber_of_thread
end.each(&:join)

# threads
4.times.map do
  Thread.new { (N / 4).times { KEEP << "t" * size_of(:thread) } } # LINE thread
end.each(&:join)

# a blocking call without the GVL: Fiddle releases it around each call
MALLOC = Fiddle::Function.new(Fiddle::Handle::DEFAULT["malloc"], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_VOIDP)
N.times do
  MALLOC.call(size_of(:no_gvl) + 1) # LINE no_gvl
end
2.times.map do
  Thread.new { (N / 2).times { MALLOC.call(size_of(:no_gvl_thread) + 1) } } # LINE no_gvl_thread
end.each(&:join)

# Ruby's own methods that are written in Ruby: the caller's line counts
N.times { [1].each { |_| KEEP << "i" * size_of(:array_each) } } # LINE array_each
[1].tap { |_| N.times { KEEP << "k" * size_of(:kernel_tap) } } # LINE kernel_tap
N.times { Integer.sqrt(4).times { |i| KEEP << "m" * size_of(:integer_times) if i == 0 } } # LINE integer_times

# define_method, method_missing, procs, refinements of the same name on one line
define_singleton_method(:defined) { KEEP << "d" * size_of(:define_method) } # LINE define_method
N.times { defined }
handler = proc { KEEP << "p" * size_of(:proc) } # LINE proc
N.times(&handler)

# a line far down, over 65,535
eval "\n" * 70_000 + "N.times { KEEP << 'l' * size_of(:far) }", binding, "far.rb", 1 # far.rb:70001

# compaction moves the objects that code consists of, not the code; also below a Fiber that waits
def compact
  GC.compact
rescue NotImplementedError
  GC.start
end

def compacted = KEEP << ("c" * size_of(:compacted)) # LINE compacted
waiting = Fiber.new do
  loop do
    KEEP << "w" * size_of(:fiber_compacted) # LINE fiber_compacted
    Fiber.yield
  end
end
N.times do |i|
  compacted
  waiting.resume
  compact if i % 10 == 5
end
begin
  GC.auto_compact = true
rescue NotImplementedError
  # then there is nothing to be tried
end
N.times do |i|
  KEEP << "a" * size_of(:auto_compact) # LINE auto_compact
  GC.start if i % 10 == 5
end
begin
  GC.auto_compact = false
rescue NotImplementedError
  # nor is it switched on: on pages of 64 KiB Ruby doesn't compact
end

# Ractors, last: Ruby goes other ways once there is one
value = Ractor.method_defined?(:value) ? :value : :take
size = size_of(:ractor)
KEEP.concat(Array.new(4) do
  Ractor.new(N / 4, size) { |n, s| Array.new(n) { "r" * s } } # LINE ractor
end.flat_map { |r| r.public_send(value) })
size = size_of(:ractor_fiber)
KEEP.concat(Ractor.new(N, size) do |n, s|
  Array.new(n) { Fiber.new { "q" * s }.resume } # LINE ractor_fiber
end.public_send(value))
N.times { KEEP << "m" * size_of(:main_of_ractors) } # LINE main_of_ractors

puts Marshal.dump(SIZES).unpack1("H*")
