# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# programs.rb - programs that work while they are attached to and detached from. Each says "ready", and at the
# end something that doesn't depend on that.

# Results of Integers, Floats and strings: each time the same.
def sum
  f = 0.0
  n = 1
  2000.times { |i| f += Math.sin(i) * 1.5; n = (n * 31 + i) & 0xffff_ffff; "#{f}#{n}".hash if (i % 100).zero? }
  [f, n, (0...300).map { |i| i.to_s * 3 }.join.sum, Array.new(50) { |i| { i => "v" * (i * 40) } }.sum { |h| h.values[0].size }]
end

SUM = sum
LONG = 3 # seconds
def check = sum == SUM || abort("a wrong sum")
def seconds(n) = (from = Process.clock_gettime(Process::CLOCK_MONOTONIC)) && (yield while Process.clock_gettime(Process::CLOCK_MONOTONIC) - from < n)
def strings(n) = Array.new(n) { |i| "s" * (10 + i * 37 % 5000) }

HAZARDS = {
  "a short life" => -> { KEPT = Array.new(20_000) { |i| i.to_s * 3 }; at_exit { strings(100) }; sleep(rand * 0.02) },
  "threads" => -> { Array.new(5) { Thread.new { seconds(LONG) { check; strings(20) } } }.each(&:join) },
  "thread churn" => -> { seconds(LONG) { Array.new(8) { Thread.new { strings(5).size } }.sum(&:value) == 40 || abort("threads") } },
  "forks" => -> { seconds(LONG) { pid = fork { strings(10); check; exit!(0) }; Process.wait2(pid)[1].success? || abort("a child failed") } },
  "forks in threads" => -> { Array.new(3) { Thread.new { seconds(LONG) { Process.wait2(fork { strings(10); exit!(0) })[1].success? || abort("a child failed") } } }.each(&:join) },
  "spawns" => -> { seconds(LONG) { system("true") || abort("system") } },
  "fibers" => -> { seconds(LONG) { Array.new(50) { |i| Fiber.new { Fiber.yield("f" * 700); i } }.each { |f| f.resume; f.resume }; check } },
  "compaction" => -> { kept = strings(2000); seconds(LONG) { GC.compact rescue NotImplementedError; strings(200); check }; kept.sum(&:size) == strings(2000).sum(&:size) || abort("strings") },
  "gc stress" => -> { seconds(LONG) { GC.stress = true; strings(5); GC.stress = false; check } },
  "eval" => -> { i = 0; seconds(LONG) { i += 1; eval("def m#{i % 50}(x) = \"#{"a" * (i % 90)}\#{x}\" * 9"); send("m#{i % 50}", i).size.positive? || abort("eval") } },
  "signal storm" => lambda do
    got = 0
    %w[USR1 USR2 WINCH CHLD].each { |s| trap(s) { got += 1; "t" * 900 } }
    pid = fork { exec("sh", "-c", "i=0; while [ $i -lt 3000 ]; do kill -USR1 #{Process.ppid}; kill -USR2 #{Process.ppid}; kill -WINCH #{Process.ppid}; i=$((i+1)); done") }
    seconds(LONG) { check }
    Process.wait(pid)
    got.positive? || abort("no signal")
  end,
  "timers" => -> { trap("ALRM") { "a" * 900 }; seconds(LONG) { Thread.new { Process.kill(:ALRM, $$) }.join; sleep 0.0005; check } },
  "exceptions" => -> { seconds(LONG) { begin; raise "e" * 100; rescue => e; e.backtrace.size; end; catch(:a) { throw :a }; check } },
  "native calls" => lambda do
    require "fiddle"
    c = Fiddle.dlopen(nil)
    qsort = Fiddle::Function.new(c["qsort"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID)
    compare = Fiddle::Closure::BlockCaller.new(Fiddle::TYPE_INT, [Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP]) { |a, b| a[0, 4].unpack1("l") <=> b[0, 4].unpack1("l") }
    seconds(LONG) { s = (0...50).to_a.shuffle.pack("l*"); qsort.call(s, 50, 4, compare); s.unpack("l*") == (0...50).to_a || abort("qsort") }
  end,
  "libraries" => lambda do
    require "fiddle"
    plugin = File.expand_path("../../.build/t/plugins/swap_a.so", __dir__)
    threads = Array.new(2) { Thread.new { seconds(LONG) { Fiddle.dlopen(plugin).close } } }
    %w[socket json zlib openssl erb set bigdecimal digest].each { |l| require l rescue LoadError; sleep 0.05; strings(50) }
    threads.each(&:join)
  end,
  "pipes" => lambda do
    r, w = IO.pipe
    t = Thread.new { seconds(LONG) { w.write("p" * 3000) }; w.close }
    n = 0
    while (s = r.read(3000)) do n += s.size; end
    t.join
    (n % 3000).zero? || abort("pipe")
  end,
  "ractors" => -> { $VERBOSE = nil; Warning[:experimental] = false; seconds(LONG) { Array.new(2) { Ractor.new { Array.new(50) { |i| "r" * (i * 30) }.sum(&:size) } }.each { |r| (r.respond_to?(:value) ? r.value : r.take) == 36_750 || abort("ractor") } } },
  "deep stacks" => -> { def deep(n) = n.zero? ? "d" * 800 : deep(n - 1); seconds(LONG) { begin; deep(1_000_000); rescue SystemStackError; deep(500); end; check } }
}.freeze

# Until stdin ends, or for so many starts and stops of its own.
BUSY = lambda do |count|
  over = false
  turns = 0
  Thread.new { $stdin.read; over = true }
  threads = Array.new(3) { Thread.new { until over; check; turns += 1; eval("'e' * 900"); Thread.pass; end } }
  threads << Thread.new { until over; Process.wait2(fork { strings(5); exit!(0) })[1].success? || abort("a child failed"); sleep 0.02; end }
  if count
    random = Random.new(3)
    count.to_i.times { Mwrap.start; sleep(random.rand * 0.0005); Mwrap.stop; strings(3) }
    over = true
  else
    (check; strings(20); sleep 0.0002) until over
  end
  threads.each(&:join)
  turns.positive? || abort("no turns")
  "the process did its work"
end

if $PROGRAM_NAME == __FILE__
  name, count = ARGV
  $stdout.sync = true
  puts "ready"
  said = name == "busy" ? BUSY.call(count) : HAZARDS.fetch(name).call && "done"
  puts said || "done"
  exit
end
