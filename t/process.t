#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Ordinary commands behave as they do without the tracker: output, errors, exit
# status, descriptors, threads, environment.

require_relative "lib/c_tests"

include CTests

SCRIPT = 'i=0; while [ $i -lt 50 ]; do i=$((i+1)); x=$(echo $i); done; echo $x; echo oops >&2; exit 3'
PERL = 'my %h = map { $_ => "x" x $_ } 1..500; my @k = sort { $a <=> $b } keys %h; print scalar(@k), "\n"; ' \
       'print STDERR "err\n"; my $p = fork; if (!$p) { print "child\n"; exit 4 } waitpid $p, 0; print $? >> 8, "\n"; exit 7'
COMMANDS = [
  %w[/bin/true], %w[/bin/false], ["sh", "-c", SCRIPT], ["sh", "-c", "kill -9 $$"], ["sh", "-c", "kill -TERM $$"],
  ["perl", "-e", PERL], %w[git --version], %w[git help -a], %w[ruby -v],
  ["ruby", "-e", 'puts (1..1000).map { |x| x.to_s * 3 }.join.sum; system("exit 5"); puts $?.exitstatus; exit 6'],
  ["ls", "-la", "/usr"], ["sort", "/etc/passwd"], ["awk", "BEGIN { for (i = 0; i < 1000; i++) a[i] = i; print length(a) }"],
  ["sh", "-c", "seq 20000 | sort -n | tail -1"], ["sh", "-c", "echo a | tar -cf - /etc/passwd 2>/dev/null | wc -c"],
  ["make", "--version"], [ENV["CC"] || "cc", "--version"], %w[nosuchcommand-x]
].freeze
PRESENT = COMMANDS + [%w[cmake --version], %w[gdb --version]].select { |c| system("command -v #{c[0]} >/dev/null") }

def attempt(*argv, tracked:, options: nil, **rest)
  tracked ? track(*argv, options: options, **rest) : run(*argv, **rest)
rescue Errno::ENOENT => e
  e.class
end

PRESENT.each do |argv|
  name = argv.join(" ")[0, 40]
  native = attempt(*argv, tracked: false)
  if native.is_a?(Class)
    ok(argv[0] =~ /nosuch/, "#{argv[0]} is installed")
    next
  end
  # with a dump, and without any option at all
  dumped = attempt(*argv, tracked: true)
  bare = attempt(*argv, tracked: true, options: "")
  is(dumped.visible, native.visible, "#{name}: the same, with a dump")
  is(bare.visible, native.visible, "#{name}: the same, without options")
  # a shell may leave by _exit
  ok(argv[0] == "sh" || !dumped.dumps.empty?, "#{name}: there is a dump")
  dumped.dumps.each { |pid, rows| ok(false, "#{name}: #{pid} adds up") unless rows.all? { |r| sound_row?(r, true) } }
end

# nothing in the environment but what was put there
env = ->(r) { r.out.lines.grep_v(/\A(LD_PRELOAD|MWRAP)=/) }
is(env.call(track("env", dir: "/")), env.call(run("env", dir: "/")), "env: the environment is the same")

# no descriptor stays open, no thread is started
%w[/proc/self/fd /proc/self/task].each do |dir|
  native = run("sh", "-c", "ls #{dir} | wc -l")
  is(track("sh", "-c", "ls #{dir} | wc -l").visible, native.visible, "#{dir}: as many as without")
end
r = track("/bin/true", witness: :below)
is(r.lines.map { |l| l["tasks"] }, [1], "/bin/true has one thread")
ok(r.rows.size >= 0 && r.lines[0]["stats"]["allocations"] == r.lines[0]["below"]["calls"], "/bin/true is counted exactly", r.lines.inspect)
signals = ["grep", "-E", "^Sig(Blk|Cgt|Ign|Pnd)", "/proc/self/status"]
is(track(*signals).visible, run(*signals).visible, "signals: blocked, caught and ignored as without")

# closed standard descriptors stay closed, and the dump doesn't end up in one
r = track("sh", "-c", "exec 0<&- 1>&- 2>&-; exec true")
is(r.ending, "exit 0", "all descriptors closed: ends well")
is(r.dumps.values.map { |rows| rows.all? { |row| sound_row?(row, false) } }.uniq, [true], "all descriptors closed: a dump")

# where nothing can be written the app doesn't care
r = track("perl", "-e", 'print "fine\n"', options: "dump_path:/nonexistent/x")
is([r.ending, r.out], ["exit 0", "fine\n"], "an impossible dump: the app is fine")
ok(r.err.lines.size.between?(1, 2) && r.err.lines.all? { |l| l.start_with?("mwrap: ") }, "an impossible dump: a line says so", r.err)
r = track("sh", "-c", "echo fine", options: "dump_pth:/tmp/x")
is([r.ending, r.out], ["exit 0", "fine\n"], "a wrong option: the app is fine")
ok(r.err.lines.any? && r.err.lines.all? { |l| l.start_with?("mwrap: ") && l.include?("dump_pth") }, "a wrong option: a line says so", r.err)

# every command's counts agree with the witness beneath
[["perl", "-e", 'my %h = map { $_ => "x" x $_ } 1..500; print scalar keys %h'], %w[ls -la /usr], %w[git --version], ["sort", "/etc/passwd"]].each do |argv|
  r = track(*argv, witness: :both)
  ok(!r.lines.empty?, "#{argv[0]}: there is a witness")
  r.lines.each { |l| agrees?(l, argv[0]) }
end

done_testing
