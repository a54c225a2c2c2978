#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Counts by location are exact: each program says what its functions did, the
# exit dump must say the same, natively the program must do the same, and a
# counting allocator beneath the tracker must agree on every call and byte.

require_relative "lib/exactly"

include Exactly

# --- one thread ---------------------------------------------------------------
looked?(exactly("counts", "counts"), "counts")
exactly("before main", "early")
exactly("a million blocks", "million")
looked?(exactly("4 GiB and more", "huge"), "huge")
looked?(exactly("5,000 places", "places"), "places")

r = track(program("counts"), witness: :below)
r.rows.each { |row| ok(row["location"].end_with?("]"), "an address ends #{row["location"]}") if place(row)&.[](:function) == "do_malloc" }
is(rows_of(r.rows, "do_malloc").map { |row| place(row)[:module] }, [program("counts")], "the module is the program's path")

# Where there is no Ruby the clock is bytes allocated, which each thread tells the others 64 KiB at a time.
r = track(program("lifespans"))
lives = r.out.scan(/^life (\S+) (\d+)$/)
is(lives.size, 6, "lifespans: six blocks")
lives.each do |function, bytes|
  life = rows_of(r.rows, function).map { |row| row["max_life"] }.max
  ok((life - Integer(bytes)).abs <= 2 * 65_536, "lifespans: of #{function}", "#{life}, not #{bytes}")
end

# --- threads --------------------------------------------------------------------
exactly("a ring of 8 threads", "ring", "50000")
exactly("a ring without witnesses", "ring", "200000", witness: nil)
looked?(exactly("a ring, polled and reset", "ring", "100000", "poll", reset: true, witness: nil), "poll")
looked?(exactly("5,000 threads", "threads", "serial"), "serial")
exactly("200 threads at once", "threads", "crowd")
exactly("thread-specific destructors", "threads", "keys")
exactly("the smallest stack", "threads", "small")

r = track(program("signals"), witness: :below)
is(r.visible, ["exit 0", "ok the handler ran often enough\n", ""], "signals: ends well")
counts?(r, "signals")
sound?(r.rows, "signals")
agrees?(r.lines[0], "signals")

# --- processes ------------------------------------------------------------------
# A child's line of the witness can't be compared with its dump's growth, but
# calls and bytes go on from the parent's.
is(exactly("fork", "forks", "child", fork: true).dumps.size, 2, "fork: two dumps")
is(exactly("fork in a fork", "forks", "nested", fork: true).dumps.size, 3, "fork in a fork: three dumps")
is(exactly("vfork and exec", "forks", "vfork", fork: true, witness: nil).dumps.size, 101, "vfork: 101 dumps")
is(exactly("posix_spawn", "forks", "spawn", fork: true, witness: nil).dumps.size, 101, "posix_spawn: 101 dumps")
is(exactly("exec", "forks", "exec", fork: true).dumps.size, 2, "exec: two dumps")
r = exactly("fork while threads allocate", "forks", "storm", fork: true, witness: nil)
is(r.dumps.size, 101, "fork while threads allocate: half of the children left by _exit")

# All in one file: each dump in one piece.
Dir.mktmpdir do |dir|
  r = track(program("forks"), "spawn", options: "dump_path:#{dir}/all,dump_format:json")
  is(r.ending, "exit 0", "one file for all: ends well")
  all = json_arrays(File.binread("#{dir}/all"))
  is(all.size, 101, "one file for all: 101 whole dumps")
  all.each { |rows| ok(false, "one file for all: a dump adds up") unless rows.all? { |row| sound_row?(row, false) } }
  is(all.count { |rows| !rows_of(rows, "before").empty? }, 1, "one file for all: one of them is the parent's")
end

# --- ends -------------------------------------------------------------------------
%w[return exit thread atexit].each { |mode| exactly("end by #{mode}", "exits", mode) }
exactly("end of the last thread", "exits", "last")
native = run(program("exits"), "library", env: { "LD_PRELOAD" => built("plugins/late.so") })
r = track(program("exits"), "library", below: [built("plugins/late.so")])
same?(native, r, "a library's destructor")
counts?(r, "a library's destructor")
sound?(r.rows, "a library's destructor")
5.times do |i|
  r = track(program("exits"), "running")
  is(r.visible, ["exit 0", "expect early 5 1 50 4 40 40\n", ""], "end while threads run, #{i}")
  is(sum(rows_of(r.rows, "early")), [5, 1, 50, 4, 40, 40], "end while threads run, #{i}: counts")
end
{ "_exit" => "exit 0", "abort" => "signal 6" }.each do |mode, ending|
  r = track(program("exits"), mode)
  is([r.visible, r.dumps.size], [[ending, "expect early 5 1 50 4 40 40\n", ""], 0], "end by #{mode}: no dump, no word")
end

# --- places ------------------------------------------------------------------------
def special(rows)
  %w[(gone) (other)].map { |name| sum(rows.select { |r| r["location"] == name })[0] }
end

%w[drop again].each do |mode|
  r = exactly("code made at run time, #{mode}", "jit", mode)
  looked?(r, mode)
  ok(special(r.rows)[0].positive?, "jit #{mode}: some are gone", special(r.rows).inspect)
end
r = exactly("code made at run time, kept", "jit", "keep")
looked?(r, "keep")
ok(special(r.rows)[1].positive?, "jit keep: some don't fit", special(r.rows).inspect)
# each stub allocates once, and the freed ones may have been folded since
ok(r.rows.size + special(r.rows)[0] > 100_000, "jit keep: but most do", r.rows.size.to_s)
stubs = r.rows.reject { |row| row["location"].include?("/") }
is(sum(stubs + rows_of(r.rows, "last_place"))[3], 150_010, "jit keep: all that live are known")

libs = %w[a b].map { |x| built("plugins/swap_#{x}.so") }
["", "stays", "twice", "threads"].each do |mode|
  name = "libraries at the same address#{", #{mode}" unless mode.empty?}"
  native = run(program("reload"), *libs, *mode)
  ok(!native.out.include?("NOT OK"), "#{name}: natively", native.out)
  r = track(program("reload"), *libs, mode)
  same?(native, r, name)
  sound?(r.rows, name)
  modules = r.out.scan(/^module (\S+) (\d+) (\d+) (\d+)$/)
  is(modules.size, 2, "#{name}: two")
  modules.each do |file, *figures|
    rows = r.rows.select { |row| row["location"].include?("/#{file}(") }
    is(sum(rows)[0, 3], figures.map(&:to_i), "#{name}: what #{file} allocated is its own")
    # of what no thread read while others closed libraries, a function's name is certain
    shown = rows.map { |row| row["location"][/\((.*)\+0x/, 1] }.uniq.sort
    own = { "swap_a.so" => %w[alpha alpha_ends], "swap_b.so" => %w[bravo bravo_ends] }.fetch(file)
    is(shown - own - [""], [], "#{name}: #{file} has no other's name")
    ok(mode == "threads" || shown.include?(own[0]), "#{name}: #{file} keeps its own", shown.inspect)
  end
end

# --- no memory left -----------------------------------------------------------------
%w[big small full thread].each do |mode|
  native = run(program("limits"), mode)
  r = track(program("limits"), mode)
  same?(native, r, "no memory left, #{mode}")
  ok(!native.out.include?("NOT OK"), "no memory left, #{mode}: natively", native.out)
  sound?(r.rows, "no memory left, #{mode}") if r.dumps.size == 1
end

# --- seen from inside --------------------------------------------------------------------
r = track(program("inproc"))
is(r.ending, "exit 0", "from inside: ends well")
seen = r.out.lines
ok(seen.size > 30, "from inside: all was looked at", r.out)
seen.each { |l| ok(l.start_with?("ok "), "from inside: #{l.chomp.sub(/\A(NOT OK|ok) /, "")}") }

done_testing
