# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# modes.rb - `make check-modes`: programs of many kinds run natively and under each way of tracking, and must do the
# same: their outputs and their ends. It prints a table.
#
#   make check-modes ONLY=regexp   these programs only; SEED=n: the random programs' seed
#
# What differs between two native runs isn't compared. A line about mwrap's server is the user's. An allocator beneath is
# compared with a native run on that allocator.
require "fileutils"
require "open3"
require "rbconfig"
require "timeout"
require "tmpdir"
require_relative "../lib/allocators"

module Modes
  ROOT = File.expand_path("../..", __dir__)
  BUILT = ENV.fetch("BUILT", "#{ROOT}/.build/t")
  RUBY = RbConfig.ruby
  SEED = Integer(ENV.fetch("SEED", Random.new_seed % 100_000)).to_s
  LIMIT = 120 # seconds: a program that takes longer hangs

  # command: Array. stays: it lives until its standard input ends, so that it can be attached to. but: a mode in which
  # it differs, as the documentation says. before: words in front of the command, or of the launcher.
  Program = Struct.new(:name, :command, :stays, :but, :before, keyword_init: true)

  def self.built(name, *words) = Program.new(name: [name, *words.map { |w| File.basename(w) }].join(" "), command: ["#{BUILT}/programs/#{name}", *words])
  def self.other(name, *command) = Program.new(name: name, command: command)
  def self.script(name, text) = Program.new(name: name, command: [RUBY, "-e", text], stays: true)

  WAITS = "$stdout.sync = true; puts :ready; $stdin.gets; "
  CHURN = "20_000.times { |i| (K ||= {})[i % 500] = 'x' * (i % 3000) }; "

  # without its log, whose lines come in any order
  CHROMIUM = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--log-level=3", "--dump-dom", "data:text/html,<p>hello"].freeze

  PROGRAMS = [
    built("rights", SEED), built("threads", "crowd"), built("threads", "keys"), built("exits", "exit"),
    built("stack", "fork"), built("stack", "signal"), built("stack", "cancel"), built("fork_loads", SEED, "40", "#{BUILT}/plugins/hold.so"),
    built("raw_forks", "9"), built("deepbind", "#{BUILT}/plugins/deep.so"), built("dlmopen", "#{BUILT}/plugins/deep.so"), built("unwind", "#{BUILT}/plugins/swap_a.so"), built("cxx"), built("early"), built("ring", "3000"),
    built("sandboxed", SEED), built("memlock"), built("bursts", SEED), built("jit"), built("forks", "child"),
    other("entrypoint, setpriv", "sh", "-c", "cd /; exec setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'id -u; sleep 1.2; id -g'"),
    other("setpriv, capabilities kept", "sh", "-c", "exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all sh -c 'sleep 1.2; id -u'"),
    other("env -i", "env", "-i", "/bin/sh", "-c", "echo $#"),
    other("bubblewrap", "bwrap", "--bind", "/", "/", "--unshare-all", "--uid", "1000", "--gid", "1000", "id", "-u"),
    other("unshare", "unshare", "-Ur", "sh", "-c", "id -u; sleep 1.2; unshare -U true"),
    other("timeout, a signal", "timeout", "-s", "TERM", "1", "sleep", "9"),
    other("pipes", "sh", "-c", "seq 100000 | sort -rn | tail -3; exit 7"),
    other("git", "git", "-C", ROOT, "log", "--oneline", "-3"),
    other("perl", "perl", "-e", "my %h; $h{$_ % 99} .= 'x' x ($_ % 500) for 1 .. 50000; print scalar(keys %h), qq(\\n); fork // die; wait; print qq($?\\n)"),
    other("python", "/usr/bin/python3", "-c", "import threading, subprocess\nt = [threading.Thread(target=lambda: [bytearray(i) for i in range(9000)]) for _ in range(9)]\n[x.start() for x in t]; [x.join() for x in t]\nprint(subprocess.check_output(['id', '-u']))"),
    other("node", "node", "-e", "const a = []; for (let i = 0; i < 1e5; i++) a.push(Buffer.alloc(i % 500)); console.log(a.length, require('child_process').execSync('id -u').toString())"),
    other("java", "java", "-version"),
    other("gdb, follows children", "gdb", "-q", "-batch", "-nx", "-ex", "set follow-fork-mode child", "-ex", "run", "--args", "sh", "-c", "true; echo in gdb"),
    other("fakeroot", "fakeroot", "sh", "-c", "id -u; touch $0.a 2>&1; chown 1:1 . ; stat -c %u ."),
    other("faketime", "faketime", "2001-02-03 04:05:06", "date", "+%F"),
    other("sqlite", "sqlite3", ":memory:", "create table t(a); with recursive c(x) as (select 1 union all select x+1 from c where x<50000) insert into t select x from c; select sum(a) from t;"),
    # its zygote must be the only thread: doc/processes.md
    other("chromium", *CHROMIUM).tap { |p| p.but = "dumps, all children" },
    other("chromium without zygotes", *CHROMIUM, "--no-zygote"),
    script("ruby, forks and threads", "#{WAITS}#{CHURN}t = Array.new(9) { Thread.new { 9.times { 'y' * 9999 } } }; t.each(&:join); 5.times { fork { exit!(3) } }; puts Process.waitall.map { |_, s| s.exitstatus }.inspect"),
    script("ruby, compacts and traps", "#{WAITS}#{CHURN}GC.compact if GC.respond_to?(:compact); trap(:USR1) { puts :got }; Process.kill(:USR1, $$); sleep 0.2; exit 5"),
    script("ruby, daemon", "#{WAITS}r, w = IO.pipe; fork { r.close; Process.daemon; w.puts Process.ppid.class; w.close }; w.close; puts r.read"),
    script("ruby, spawns", "#{WAITS}puts IO.popen(%w[id -u], &:read), system('exit 3').inspect, $?.exitstatus; exec('sh', '-c', 'echo $0; kill -TERM $$')")
  ].freeze

  # MWRAP's value, and the words in front of the command; nil: the way isn't MWRAP's. %DIR% is a new folder.
  MODES = {
    "default" => [""], "socket" => ["socket:%DIR%/s"], "dumps, all children" => ["dump_every:1,dump_path:%DIR%/dump,children:all"],
    "callers, stacks" => ["socket:%DIR%/s,bt:4,stacks:64k"], "sampled" => ["socket:%DIR%/s,counts:sampled"], "record" => [nil],
    "attach, detach" => [nil], "jemalloc" => ["socket:%DIR%/s,malloc:jemalloc"], "mimalloc" => ["socket:%DIR%/s,malloc:mimalloc"],
    "tcmalloc" => ["socket:%DIR%/s,malloc:tcmalloc"]
  }.freeze
  OURS = /^mwrap: (?:listening on .*|the server is off: the application closed its descriptors|recording .*|recorded .*|trace_path: .*(?: when this process was forked|: can't be written: File too large)|(?:the \w+'s thread: can't be created|dump_every: can't create its thread): this process makes a PID namespace for its children)\n/
  # What Ruby says as it starts the launcher without a signal to spare, or a program.
  RUBYS = /^<main>: warning: timer_create failed: .*\n/
  # What programs of the tests say about the tracker: they judge it themselves.
  JUDGED = /^(?:# |ok |NOT OK |expect ).*\n/
  GDB = /^\[(?:New Thread|Thread .* exited|New process).*\n/

  RIGHT = %w[= - d].freeze # see compare

  module_function

  # Numbers that may differ: addresses, PIDs, times. What is said about the tracker is left out.
  def plain(text) = [OURS, RUBYS, JUDGED, GDB].reduce(text) { |t, lines| t.gsub(lines, "") }.gsub(/0x\h{4,}/, "0x").gsub(/\b\d{2,}\b/, "n")

  # [end, stdout, stderr]; the block gets the PID once the program waits.
  def run(program, env, command)
    Open3.popen3(env, *command, pgroup: true, chdir: "/") do |input, out, err, waiter|
      readers = [out, err].map { |io| Thread.new { io.read }.tap { |t| t.report_on_exception = false } }
      yield waiter.pid if block_given?
      begin
        input.puts "go" if program.stays
        input.close
      rescue Errno::EPIPE # it has closed its input, or has ended
      end
      unless waiter.join(LIMIT)
        Process.kill(:KILL, -waiter.pid)
        return ["hangs", "", ""]
      end
      # a daemon may have the pipes still
      said = readers.map { |t| t.join(10) ? plain(t.value.force_encoding("BINARY")) : "open" }
      [waiter.value.to_s.sub(/pid \d+ /, ""), *said]
    end
  rescue SystemCallError => e
    [e.class.name, "", ""]
  end

  def mwrapctl(*words) = Open3.capture2e(RUBY, "-I#{ROOT}/lib", "#{ROOT}/lib/exe/mwrapctl", *words)

  def attached(program)
    run(program, {}, program.command) do |pid|
      sleep 0.5 # it waits for its input from then on
      [["attach", pid.to_s], ["detach", pid.to_s]].each do |words|
        said, status = mwrapctl(*words)
        warn "#{program.name}: #{words[0]}: #{said}" unless status.success?
      end
    end
  end

  def tracked(program, mode, dir)
    return attached(program) if mode == "attach, detach"
    return run(program, {}, [*program.before, RUBY, "-I#{ROOT}/lib", "#{ROOT}/lib/exe/mwrapctl", "record", "-o", "#{dir}/r.%p", "--max-size", "8m", *program.command]) if mode == "record"
    run(program, { "MWRAP" => MODES.fetch(mode)[0].gsub("%DIR%", dir) }, [*program.before, "#{ROOT}/bin/mwrap", *program.command])
  end

  # What two native runs have in common; library: an allocator, or nil
  def native(program, library)
    @native ||= {}
    @native[[program.name, library]] ||= begin
      env = library ? { "LD_PRELOAD" => library } : {}
      command = [*program.before, *program.command]
      first = run(program, env, command)
      first[0] == "hangs" ? first : first.zip(run(program, env, command)).map { |a, b| a if a == b }
    end
  end

  def allocators
    @allocators ||= {}.tap { |all| Allocators.each { |name, path, _| all[name] = path } }
  end

  # "=", "-" where the way can't be tried, also as the program hangs natively, "d" for documented, or what differs. The
  # words of a crash aren't compared.
  def compare(program, mode, dir)
    return "-" if mode == "attach, detach" && !program.stays
    return "-" if allocators.key?(mode) && !allocators[mode]
    want = native(program, allocators[mode])
    return "-" if want[0] == "hangs"
    want = [want[0], nil, nil] if want[0]&.include?("signal")
    got = tracked(program, mode, dir)
    wrong = %w[end stdout stderr].zip(got, want).select { |_, is, should| should && is != should }
    return "=" if wrong.empty?
    return "d" if mode == program.but
    wrong.map { |field, *texts| "#{field}: #{texts.map { |t| t[-200..] || t }.join(" for ")}" }.join("; ")
  end

  def there?(program) = program.command[0].include?("/") ? File.executable?(program.command[0]) : ENV["PATH"].split(":").any? { |d| File.executable?(File.join(d, program.command[0])) }

  # Any user's, as the programs may become another one.
  def in_tmp
    Dir.mktmpdir { |dir| File.chmod(0o1777, dir) && yield(dir) }
  end

  def main
    only = Regexp.new(ENV.fetch("ONLY", ""))
    puts "# SEED=#{SEED}", "", format("%-32s %s", "", MODES.keys.map.with_index(1) { |m, i| "#{i} #{m}" }.join(", "))
    differences = PROGRAMS.select { |p| only.match?(p.name) }.flat_map do |program|
      unless there?(program)
        puts format("%-32.32s not installed", program.name)
        next []
      end
      found = MODES.keys.to_h { |mode| [mode, in_tmp { |dir| compare(program, mode, dir) }] }
      puts format("%-32.32s %s", program.name, found.values.map { |f| RIGHT.include?(f) ? f : "X" }.join("  "))
      $stdout.flush
      found.filter_map { |mode, f| "#{program.name}, #{mode}: #{f}" unless RIGHT.include?(f) }
    end
    puts "", differences, "#{differences.size} differences"
    exit differences.empty?
  end
end

Modes.main if $PROGRAM_NAME == __FILE__
