#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# When calls fail beneath the tracker (t/preload/failing.c). Allocations: the
# application sees each failure exactly where it would have, and nothing is lost
# or counted twice, as a witness beneath confirms. Calls of the tracker's and its
# server's own: one line on stderr at most, that feature is off, and the
# application runs to the same output and the same end.

require_relative "lib/c_tests"

include CTests

FAILING = built("preload/failing.so")

def natively(*argv, **rest) = run(*argv, env: { "LD_PRELOAD" => FAILING }, **rest)

# The tracker with failing.so beneath. seen: how many calls there were to fail.
def failing(*argv, env: {}, **rest)
  seen = nil
  r = Dir.mktmpdir do |dir|
    track(*argv, below: [FAILING], env: env.merge("FAILING_SEEN" => "#{dir}/seen"), **rest).tap do
      seen = File.exist?("#{dir}/seen") ? File.read("#{dir}/seen").split.map(&:to_i) : [0, 0]
    end
  end
  [r, *seen]
end

# faults.c's figures: calls, bytes, frees, bytes freed, by its own count and the tracker's; lost.
def counts(out)
  did = out[/^did (.*)$/, 1].to_s.split.map(&:to_i)
  counted, lost = out[/^# counted (.*)$/, 1].to_s.split(" lost ")
  [did, counted.to_s.split.map(&:to_i), lost.to_i]
end

def one_line?(text) = text.empty? || text.match?(/\Amwrap: [ -~]+\n\z/)

# --- the n-th allocation, for each n -------------------------------------------------
native = natively(program("faults"))
want = native.out.lines.grep(/ of /)
ok(native.ending == "exit 0" && want.size > 35, "natively each call fails in its turn", native.visible.inspect)
ok(want.grep(/ \d+:12/).size > 30 && !native.out.include?("NOT OK"), "natively the failures are seen", native.out)

r, = failing(program("faults"), witness: :below)
is(r.visible, native.visible, "the application sees the same failures, at the same calls, with the same errno")
did, counted, lost = counts(r.out)
ok(did.size == 4 && did[0] > 400, "blocks were had between the failures", r.out)
is([counted, lost], [did, 0], "every call is counted once, none that failed")
ok(r.out.include?("# live 0 listed 0\n"), "nothing lives afterwards", r.out)
agrees?(r.lines[0], "failing allocations")
sound?(r.rows, "failing allocations")

# --- the tracker's own n-th allocation -----------------------------------------------
_, _, own = failing(program("faults"), env: { "FAILING_OWN" => "1000000" })
ok(own > 15, "the tracker allocates by itself", own.to_s)
no_dump = 0
bad = (1..own + 20).reject do |n| # the dump, which is written last, isn't in `own`
  r, = failing(program("faults"), env: { "FAILING_OWN" => n.to_s })
  did, counted, lost = counts(r.out)
  no_dump += 1 if r.err.match?(/\Amwrap: dump_path [ -~]+: Cannot allocate memory\n\z/)
  [r.ending, r.visible[1]] == [native.ending, native.out] && did == counted && did.size == 4 && lost.zero? &&
    (r.err.empty? ? r.dumps.size == 1 : one_line?(r.err))
end
is(bad, [], "its own failures change nothing for the application, and all is counted")
ok(no_dump.positive?, "a dump for which there is no memory is told", no_dump.to_s)

# --- Ruby, late ------------------------------------------------------------------------
LATE = <<~'RUBY'
  $stdout.sync = true
  # once: Ruby collects garbage and tries again; twice: NoMemoryError
  def fail_at(n, twice) = Process.getpriority(Process::PRIO_PROCESS, (twice ? 0x50000000 : 0x60000000) + n)
  RESULTS = Array.new(5)

  def try(k)
    RESULTS[k] = yield
  rescue NoMemoryError
    RESULTS[k] = :none
  end

  def work
    try(0) { ("a" * 500).size }
    try(1) { Array.new(300, 1).sum }
    try(2) { (b = +"x"; b << "y" * 300; b.size) }
    try(3) { ("b" * 5000).upcase.size }
    try(4) { ("c" * 100_000).size }
  end
  GC.disable
  2.times { work }
  [false, true].product((0..12).to_a) do |twice, n|
    fail_at(n, twice)
    work
    fail_at(0, false)
    puts "#{n} #{twice} #{RESULTS.inspect}"
    GC.enable
    GC.start
    GC.disable
  end
  puts "end"
RUBY
ENV.update("RUBY_YJIT_ENABLE" => nil, "RUBY_ZJIT_ENABLE" => nil) # a JIT aborts without memory, also natively
Dir.mktmpdir do |dir|
  File.write("#{dir}/late.rb", LATE)
  native = natively(RbConfig.ruby, "#{dir}/late.rb")
  ok(native.ending == "exit 0" && native.out.scan(/:none/).size >= 5 && native.out.end_with?("end\n"),
     "natively Ruby meets NoMemoryError", native.visible.inspect)
  r, = failing(RbConfig.ruby, "#{dir}/late.rb", witness: :below)
  is(r.visible, native.visible, "Ruby: the same failures, at the same places")
  agrees?(r.lines[0], "Ruby")
  sound?(r.rows, "Ruby")
  # "b" * 5000 is one allocation for each time that it went well
  lines = r.rows.select { |row| row["location"].end_with?("/late.rb:16") }
  ok(lines.size == 1 && lines[0]["allocations"] >= 2 * 23, "Ruby: the lines are known", lines.inspect)
end

# --- mmap ---------------------------------------------------------------------------------
native = natively(program("faults"))
_, maps, = failing(program("faults"), env: { "FAILING" => "mmap:1000000" })
ok(maps > 5, "the tracker maps memory", maps.to_s)
said = []
[*1..maps + 1].product(["", "+"]).each do |n, on|
  name = "mmap #{n}#{on} fails"
  r, = failing(program("faults"), env: { "FAILING" => "mmap:#{n}#{on}" })
  is([r.ending, r.visible[1]], [native.ending, native.out], "#{name}: the application goes on")
  ok(one_line?(r.err), "#{name}: one line at most", r.err)
  said << r.err unless r.err.empty?
  did, counted, lost = counts(r.out)
  ok(counted.empty? || counted == [0] * 4 || (counted[0] + lost == did[0] && counted[0] - counted[2] <= lost),
     "#{name}: what isn't counted is said to be lost", r.out.lines.last(3).join)
end
ok(said.any? { |s| s.include?("the tables: out of memory") }, "without tables the tracker says so", said.uniq.inspect)

r, = failing(RbConfig.ruby, "-I#{ROOT}/lib", "-rmwrap", "-e", <<~'RUBY', env: { "FAILING" => "mmap:1" })
  print Mwrap.each(0).to_a.inspect, Mwrap["-e:1"].inspect, Mwrap.total_bytes_allocated, Mwrap.dump($stdout).inspect
  Mwrap.reset
  Process.wait(fork { exit!(Mwrap.each.count) })
  puts $?.exitstatus
RUBY
is(r.visible, ["exit 0", "[]nil0nil0\n", "mwrap: the tables: out of memory: nothing is counted\n"],
   "without tables Mwrap finds nothing, and Ruby goes on")

# --- the server's calls -------------------------------------------------------------------
# how many the server makes before it answers, and what is to be said
SERVER_CALLS = { "pthread_create" => [1, /thread/], "dlopen" => [1, /loaded/], "socket" => [1, /socket/],
                 "bind" => [1, /Permission denied/], "listen" => [1, /listen/], "epoll_create1" => [1, /descriptors/],
                 "epoll_ctl" => [2, /watch/] }.freeze

def server_fails(name, app, native, failing_call, why)
  what = "#{name}: #{failing_call} fails"
  Dir.mktmpdir do |dir|
    r, seen = failing(*app, env: { "FAILING" => failing_call }, limit: 150,
                            options: "socket:#{dir}/s,dump_path:#{dir}/dump.%p,dump_format:tsv")
    is([r.ending, r.visible[1]], [native.ending, native.out], "#{what}: the application goes on")
    ok(seen.positive? && r.err.match?(/\Amwrap: [ -~]+\n\z/) && r.err.match?(why), "#{what}: one line says so", r.err)
    is(Dir["#{dir}/s*"].reject { |f| f.end_with?(".lock") }, [], "#{what}: there is no socket")
    is(Dir["#{dir}/dump.*"].size, 1, "#{what}: there is a dump")
  end
end

RUBY_LINGERS = "puts (1..1000).map(&:to_s).join.size; $stdout.flush; " \
               "6000.times { break if !ENV['LD_PRELOAD'].include?('libmwrap') || $stderr.stat.size > 0; sleep 0.01 }; puts 'end'"
apps = { "C" => [program("faults"), "linger"], "Ruby" => [RbConfig.ruby, "-e", RUBY_LINGERS] }
apps.each do |name, app|
  native = natively(*app)
  ok(native.ending == "exit 0" && native.err.empty?, "#{name}: natively", native.visible.inspect)
  SERVER_CALLS.each do |call, (calls, why)|
    (1..calls).each { |n| ["", "+"].each { |on| server_fails(name, app, native, "#{call}:#{n}#{on}", why) } }
  end
end

done_testing
