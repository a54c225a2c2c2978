# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# lines.rb THREADS - memory of threads that each use all of 5,000 lines, and live on.
#
# Every line allocates a string that the C library's malloc serves on each Ruby, and
# empties it at once: when the GC came to it would be seen in the memory. So would what
# compiling the lines leaves, megabytes more or less by when the last GC was: it is
# collected, and given back to the system.
# Writes "pss N", the process's memory in kB when all threads have been through all
# lines and nothing of theirs is left, to the file that BENCH_OUT names.
require "fiddle"

LINES = 5000

eval(Array.new(LINES) { |i| "def line#{i} = ('x' * 700).clear" }.join("\n"), TOPLEVEL_BINDING, "lines-of-code.rb", 1)
names = Array.new(LINES) { |i| :"line#{i}" }
done = Queue.new
go_on = Queue.new
threads = Array.new(Integer(ARGV.fetch(0))) do
  Thread.new do
    names.each { |name| send(name) }
    done << 1
    go_on.pop
  end
end
threads.size.times { done.pop }
GC.start
Fiddle::Function.new(Fiddle.dlopen(nil)["malloc_trim"], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_INT).call(0)
File.write(ENV.fetch("BENCH_OUT"), "pss #{File.read("/proc/self/smaps_rollup")[/^Pss:\s+(\d+)/, 1]}\n")
