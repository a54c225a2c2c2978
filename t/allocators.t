#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The tracker on top of another preloaded allocator: programs do what they do with
# that allocator alone, and counts are as exact. A missing allocator is a failure:
# bin/check installs all three.

require_relative "lib/c_tests"
require_relative "lib/allocators"

include CTests

def on(allocator, path, *argv, dies: false)
  name = "#{allocator}: #{File.basename(argv[0])} #{argv[1..].map { |a| File.basename(a) }.join(" ")}".strip
  native = run(*argv, env: { "LD_PRELOAD" => path })
  tracked = track(*argv, below: [path])
  # mimalloc 2.0 doesn't always align as asked; with the tracker it must
  ok(!tracked.out.include?(" aligned 0 "), "#{name}: aligned", tracked.out.lines.grep(/ aligned 0 /).first)
  native.out = native.out.gsub(" aligned 0 ", " aligned 1 ")
  # jemalloc leaves errno alone where libc's reallocarray calls its realloc; ENOMEM is right
  native.out = native.out.sub(/^(reallocarray too much: 0 errno) \d+/, '\1 12')
  same?(native, tracked, name, dies: dies)
  return if dies

  ok(tracked.dumps[tracked.status.pid], "#{name}: leaves a dump")

  counts?(tracked, name) unless expected(tracked.out).empty?
  # a function of the allocator's that gets its block from a hook would count it twice, and a free once
  own = tracked.dumps.values.flatten.select { |row| row["live"].positive? && [path, File.realpath(path)].include?(place(row)&.[](:module)) }
  # tcmalloc's constructor allocates one byte, and frees it past the hooks
  own.reject! { |row| place(row)[:function].include?("TCMallocGuard") && row["live"] == 1 }
  is(own.map { |row| row["location"] }, [], "#{name}: no block of the allocator's own functions is left")
  tracked.dumps.each_value { |rows| sound?(rows, name, reset: argv.include?("poll") || argv.include?("child")) }
end

Allocators.each do |allocator, path, package|
  next unless ok(path, "#{allocator} is installed", "needs the Debian package #{package}")

  maps = track("/bin/cat", "/proc/self/maps", below: [path])
  ok(maps.out.include?(File.basename(File.realpath(path))) && maps.out.include?("libmwrap.so"), "#{allocator}: both are in the process")
  on(allocator, path, program("counts"))
  on(allocator, path, program("early"))
  # before the allocator's own constructor ran
  first = track("/bin/true", below: [path, built("preload/constructor.so")])
  is([first.ending, first.out, first.err], ["exit 0", "whole\n", ""], "#{allocator}: a constructor allocates")
  sound?(first.dumps[first.status.pid] || [], "#{allocator}: a constructor allocates")
  on(allocator, path, program("ring"), "30000")
  on(allocator, path, program("ring"), "30000", "poll")
  on(allocator, path, program("threads"), "crowd")
  on(allocator, path, program("threads"), "keys")
  on(allocator, path, program("forks"), "child")
  on(allocator, path, program("cxx"))
  # mimalloc's operator new, where it has no exceptions, aborts
  on(allocator, path, program("cxx"), "fail", dies: allocator == "mimalloc")
  on(allocator, path, program("cxxhost"), built("plugins/cxxplug.so"), *("calm" if allocator == "mimalloc"))
  on(allocator, path, program("classes"), *("unaligned" if path.include?("libmimalloc.so.3")))
  on(allocator, path, program("old_tails"))
  on(allocator, path, program("million"))
  %w[malloc calloc realloc aligned posix_memalign usable free others].each { |s| on(allocator, path, program("family"), s) }
end

# Allocators that nobody knows: one that insists on what C11 wants of aligned_alloc, one without a free. A process on
# scudo hung: it maps memory while it holds a lock.
scudo = Dir["/usr/lib/llvm-*/lib/clang/*/lib/*/libclang_rt.scudo_standalone*.so"].grep(/standalone(-#{RbConfig::CONFIG["host_cpu"]})?\.so\z/).max
{ "scudo" => scudo, "bump" => built("preload/bump.so") }.each do |allocator, path|
  next unless ok(path, "#{allocator} is installed", "needs the Debian package libclang-rt-dev")

  [%w[counts], %w[early], %w[ring 3000], %w[threads crowd], %w[forks child], %w[cxx]].each do |name, *words|
    on(allocator, path, program(name), *words)
  end
end
%w[malloc calloc realloc aligned posix_memalign usable free].each { |s| on("scudo", scudo, program("family"), s) } if scudo

done_testing
