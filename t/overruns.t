#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Blocks that were written past their end, freed twice, or never allocated here:
# programs go on, or die, as they do without the tracker, each block is counted
# as freed, and what was found is exactly what was done (t/programs/overruns.c
# looks that up), with one line on stderr for each location.

require "io/nonblock"
require_relative "lib/c_tests"
require_relative "lib/allocators"

include CTests

LINE = /\Amwrap: a block of (\d+) bytes? from (\S+)\(\+0x(\h+)\) \[0x(\h+)\] was written past its end\n\z/

# [function, blocks, last size, location], as the program saw them
def found(result)
  result.out.scan(/^# found (\w+) (\d+) (\d+) (.*)$/)
end

# One line for each location, about it, and nothing else is said.
def lines?(result, name)
  said = result.err.lines.map { |l| LINE.match(l) }
  return ok(false, "#{name}: only lines on overruns", result.err) unless said.all?

  is(said.map { |m| "0x#{m[4]}" }.sort, found(result).map { |f| f[3][/0x\h+(?=\]\z)/] }.sort,
     "#{name}: one line for each location")
  is(said.map { |m| m[2] }.uniq - [program("overruns")], [], "#{name}: by module")
end

# allocator: what is preloaded beneath, nil for glibc. lines: locations that are reported.
def overruns(name, *args, allocator: nil, lines: nil, counts: true)
  argv = [program("overruns"), *args]
  below = [*allocator]
  native = run(*argv, env: { "LD_PRELOAD" => allocator })
  r = track(*argv, below: below, limit: 90)
  ok(native.ending == "exit 0" && !native.out.include?("NOT OK"), "#{name}: natively", native.visible.inspect)
  # natively nobody finds anything, so that all but stderr is the same
  is([r.ending, r.out.gsub(/^#.*\n/, "")], [native.ending, native.out], "#{name}: as natively")
  ok(!r.out.include?("NOT OK"), "#{name}: found what was done, counted as freed", r.out)
  ok(r.dumps.size == 1, "#{name}: leaves a dump") && sound?(r.rows, name)
  counts?(r, name) if counts
  lines?(r, name)
  is(found(r).size, lines, "#{name}: so many locations") if lines
  r
end

def all_ways(name, library, allocator)
  overruns("#{name}: free", "free", allocator: allocator, lines: 7)
  overruns("#{name}: realloc", "realloc", allocator: allocator, lines: 8)
  overruns("#{name}: a realloc that fails", "failing", allocator: allocator, lines: 1)
  overruns("#{name}: threads", "threads", allocator: allocator, lines: 1)
  overruns("#{name}: signal handlers", "interrupted", allocator: allocator, lines: 2, counts: false)
  overruns("#{name}: blocks allocated in quiet mode", "quiet", allocator: allocator, lines: 0)
  overruns("#{name}: where blocks without a tail were", "reused", allocator: allocator, lines: 1)
  overruns("#{name}: unknown blocks", "unknown", library, allocator: allocator, lines: 0, counts: false)
  overruns("#{name}: blocks freed past us", "past", library, allocator: allocator, lines: 0)
end

# As far as the allocator goes along: whatever it does, it does with the tracker.
def twice(name, size, allocator)
  native = run(program("overruns"), "twice", size, env: { "LD_PRELOAD" => allocator })
  r = track(program("overruns"), "twice", size, below: [*allocator])
  is(r.visible, native.visible, "#{name}: a block of #{size} bytes freed twice")
  ok(native.out.start_with?("freed\n"), "#{name}: #{size}: was freed", native.out)
  return native.status.signaled? unless native.ending == "exit 3"

  is(r.out.lines.grep(/^# double/), ["# double 1 unknown 0 overruns 0\n"], "#{name}: #{size}: is counted")
end

all_ways("glibc", "libc.so.6", nil)
# the larger ones share a page with nothing that another may have taken meanwhile
%w[24 100 1000 2000 10000 100000].each do |size|
  ok(twice("glibc", size, nil) == true, "glibc: #{size}: it aborts")
end
# one by one it would take a minute and more
overruns("many unknown blocks", "many", "libc.so.6", lines: 1, counts: false)

Allocators.each do |name, path, package|
  next unless ok(path, "#{name} is installed", "needs the Debian package #{package}")

  all_ways(name, path, path)
  %w[24 100 2000 10000].each { |size| twice(name, size, path) }
  overruns("#{name}: made larger in place", "grown", path, allocator: path, lines: 0) if name == "jemalloc"
end

# --- stderr --------------------------------------------------------------------
def without(how, **redirect)
  native = run(program("overruns"), "stderr", how, **redirect)
  r = track(program("overruns"), "stderr", how, **redirect)
  is(r.visible, native.visible, "stderr #{how}: as natively")
  ok(r.ending == "exit 0" && !r.out.include?("NOT OK"), "stderr #{how}: nothing happens", r.out)
  is(r.dumps.size, 1, "stderr #{how}: leaves a dump")
end

# closed, or something of the app's own; a pipe that is full, and one that nobody reads
%w[closed file pipe].each { |how| without(how) }
IO.pipe do |r, w|
  loop { w.write_nonblock("x") }
rescue IO::WaitWritable
  w.nonblock = false
  without("full", err: w)
  r.close
  without("broken", err: w)
end
IO.pipe do |reader, w|
  r = track(program("overruns"), "stderr", "there", err: w)
  w.close
  said = reader.read
  ok(r.ending == "exit 0" && said.lines.size == 1 && LINE.match?(said), "stderr there: a line for five", said)
end
r = track("sh", "-c", "exec \"$0\" free 2>/dev/null", program("overruns"))
ok(r.ending == "exit 0" && !r.out.include?("NOT OK"), "stderr in /dev/null", r.out)
Dir.mktmpdir do |dir|
  r = track("sh", "-c", "exec \"$0\" free 2>>#{dir}/log", program("overruns"))
  ok(r.ending == "exit 0" && !r.out.include?("NOT OK"), "stderr in a log", r.out)
  is(File.readlines("#{dir}/log").grep(LINE).size, 7, "stderr in a log: a line for each location")
end

done_testing
