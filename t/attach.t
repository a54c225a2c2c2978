#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# mwrapctl attach and detach: a process that began without the tracker is asked from outside to track
# itself. If it has loaded the gem it is asked by SIGURG, else it is made to load the tracker (src/tools/attach).

require_relative "../lib/mwrap/ctl"
require_relative "../lib/mwrap/ctl/attach"
require_relative "lib/allocators"
require_relative "lib/ptrace"
require_relative "lib/served"
require_relative "lib/waits"
require "minitest/mock"

module AttachTest
  include HttpdTest
  include Served

  CTL = File.join(MwrapTest::ROOT, "lib/exe/mwrapctl")

  def ctl(*args, **rest) = run_command(MwrapTest::RUBY, CTL, *args, **rest)

  # A script without the tracker. It says its PID first.
  def app(script, gem: true, env: {}, flags: [])
    n = @fakes.size
    File.write(path("app#{n}.rb"), "#{"require 'mwrap'" if gem}\n$stdout.sync = true\n#{script}")
    app = Served::App.new(MwrapTest::RUBY, "--disable=gems", *flags, "-I#{MwrapTest::LIB}", path("app#{n}.rb"),
                          env: { "MWRAP" => nil, "LD_PRELOAD" => nil, "RUBYOPT" => nil, "RUBYLIB" => MwrapTest::FIDDLE }.merge(env), err: path("err#{n}"), dump_path: path("dump"))
    @fakes << app
    app
  end

  def ready(...) = app(...).tap { |a| assert_equal "ready", a.hear }

  def assert_done(run, text = //)
    assert_equal ["", 0], [run.stderr, run.status.exitstatus], -> { where_they_wait(run.stderr[/process (\d+): no answer/, 1]) }
    assert_match(text, run.stdout)
  end

  # Why there was no answer: what is left of the request, and where each thread is.
  def where_they_wait(pid)
    return "" unless pid
    tasks = Dir["/proc/#{pid}/task/*"].map { |t| %w[comm wchan syscall].map { |f| File.read("#{t}/#{f}").strip rescue "?" }.join(" ") }
    [requests(pid).join(" "), *tasks].join("\n")
  end

  def assert_refused(run, message, status = 1)
    assert_equal ["", status], [run.stdout, run.status.exitstatus]
    assert_match(/\Amwrapctl: #{message}\n\z/, run.stderr)
  end

  # Its directory, and what is left of a request
  INJECTED = /\Aprocess \d+: tracked from now on \(its main thread stood still (once|\d+ times), for \d+ µs at most\): socket:/

  def requests(pid) = Dir["/tmp/mwrap-#{Process.euid}/attach-#{pid}-*"].map { |f| f[/[^.]*\z/] }.sort

  # Each main thread waits in another way, or works. It goes on as if nothing had been.
  def attach_to_each_wait(gem: true)
    { **Waits::EACH, "work" => "i = 0; i += 1 until (IO.select([$stdin], nil, nil, 0) if (i % 100).zero?); true" }.each do |what, code|
      a = ready(Waits.script(code), gem: gem)
      at_rest(a) unless what == "work" || Waits.timed?(what)
      yield ctl("attach", a.pid.to_s, "socket:#{path("w")},stacks:off")
      assert_equal "attached", JSON.parse(body("/stats.json", at: path("w")))["how"], what
      a.tell("go on") unless Waits.timed?(what)
      assert_equal "true", a.hear, what
      a.kill
    end
  end

  # A request that comes meanwhile has to wait until Ruby has compiled the file.
  def attach_while_a_file_is_compiled(gem: true)
    File.write(path("large.rb"), "if false\n#{"large(1, [2, '3'], 4 => 5)\n" * 40_000}end\n")
    a = ready("puts 'ready'\nload #{path("large.rb").dump} until IO.select([$stdin], nil, nil, 0)\nputs 'done'", gem: gem)
    3.times do
      yield ctl("attach", a.pid.to_s)
      assert_done ctl("detach", a.pid.to_s)
    end
    assert_equal "done", a.ask("")
    assert_equal "", a.stderr
  end

  # mwrapctl in a PID namespace sees few processes. Files of the others aren't old to it.
  def test_files_of_another_namespace_stay
    inside = %w[unshare --pid --fork --kill-child --mount-proc]
    skip "no namespaces may be made here" unless system(*inside, "true", out: File::NULL, err: File::NULL)
    a = ready("puts 'ready'\n$stdin.gets")
    assert_done ctl("attach", a.pid.to_s)
    assert_equal ["options"], requests(a.pid)
    old = "/tmp/mwrap-#{Process.euid}/attach-%d-1-%d.options"
    gone = fork { exit! }.tap { |pid| Process.wait(pid) }
    both = [File.stat("/proc/self/ns/pid").ino, 7].map { |ns| format(old, gone, ns).tap { |file| File.write(file, "") } }
    code = <<~SH
      #{MwrapTest::RUBY} -e 'puts; $stdout.flush; sleep' > #{path("ready")} &
      until [ -s #{path("ready")} ]; do sleep 0.1; done
      #{MwrapTest::RUBY} #{CTL} attach $!
      kill $!
    SH
    run = run_command(*inside, "sh", "-c", code)
    assert_match(/\Aprocess \d+: tracked from now on/, run.stdout, run.stderr)
    assert_equal [["options"], [true, true]], [requests(a.pid), both.map { |file| File.exist?(file) }]
    assert_done ctl("attach", ready("puts 'ready'\n$stdin.gets").pid.to_s)
    assert_equal [["options"], [false, true]], [requests(a.pid), both.map { |file| File.exist?(file) }]
    assert_done ctl("detach", a.pid.to_s)
  ensure
    FileUtils.rm_f(both.to_a)
  end

  def how(pid) = JSON.parse(body("/stats.json", at: "/tmp/mwrap-#{Process.euid}/#{pid}.sock"))

  def teardown
    super
    @fakes.each { |a| FileUtils.rm_f(Dir["/tmp/mwrap-#{Process.euid}/{attach-#{a.pid}-*,#{a.pid}.sock*}"]) }
  end
end

class AttachBySignalTest < Minitest::Test
  include AttachTest

  # From the start to the line, in threads that were there before; found by the PID.
  def test_a_process_with_the_gem
    a = ready(<<~'RUBY')
      def make(n) = Array.new(n) { "x" * 1700 }
      puts "ready"
      $stdin.each_line do |line|
        GC.disable
        kept = make(line.to_i)
        puts Mwrap.tracking?, Mwrap["#{__FILE__}:3"]&.each&.count { |size, _| size == 1701 }.inspect
      end
    RUBY
    assert_equal "false", a.ask("10")
    assert_equal "nil", a.hear
    assert_done ctl("attach", a.pid.to_s), /\Aprocess #{a.pid}: tracked from now on: socket:\/tmp\/mwrap-#{Process.euid}\/#{a.pid}\.sock\n\z/
    assert_equal %w[true 100], [a.ask("100"), a.hear]
    stats = how(a.pid)
    assert_equal "attached", stats["how"]
    assert_operator stats["since"], :>, 0.001
    assert_done ctl("flame", a.pid.to_s, "--format", "json"), /"total":/
    assert_done ctl("detach", a.pid.to_s), /\Aprocess #{a.pid}: not tracked any more/
    assert_equal %w[true 100], [a.ask("50"), a.hear]
    assert_done ctl("attach", a.pid.to_s), /#{a.pid}\.sock/
    assert_equal %w[true 30], [a.ask("30"), a.hear]
    assert_equal ["options"], requests(a.pid)
    assert_ends_well a
  end

  def test_a_main_thread_that_waits
    attach_to_each_wait { |done| assert_done(done, /: socket:/) }
  end

  def test_while_a_file_is_compiled
    attach_while_a_file_is_compiled { |done| assert_done(done, /: socket:/) }
  end

  def test_options_are_refused_by_the_process_and_change_nothing
    a = ready("puts 'ready'\n$stdin.each_line { p Mwrap.tracking? }")
    assert_refused ctl("attach", a.pid.to_s, "bt:99"), /process #{a.pid}: bt: .*/
    assert_refused ctl("attach", a.pid.to_s, "malloc:jemalloc"), /process #{a.pid}: malloc: not for a running process: start it with mwrap/
    assert_equal "false", a.ask("")
    assert_refused ctl("detach", a.pid.to_s), /process #{a.pid}: the tracker isn't running: .*/
    assert_done ctl("attach", a.pid.to_s, "bt:2,socket:#{path("s")}")
    assert_equal 2, JSON.parse(body("/stats.json", at: path("s")))["bt"]
    assert_refused ctl("attach", a.pid.to_s), /process #{a.pid}: the tracker is running already/
  end

  # The handler of an app is never called, whether it came before the gem's or after it.
  def test_an_app_that_uses_the_signal
    ["trap('URG') { puts 'mine' }; require 'mwrap'", "require 'mwrap'; trap('URG') { puts 'mine' }; 50.times { 'x' * 9000 }; GC.start",
     "trap('URG', 'IGNORE'); require 'mwrap'"].each do |code|
      a = ready("#{code}\ndef deep(n) = n.zero? ? nil : deep(n - 1)\ndeep(100)\nGC.start\nputs 'ready'\n$stdin.each_line { puts 'still' }", gem: false)
      assert_done ctl("attach", a.pid.to_s), INJECTED
      assert_equal "still", a.ask(""), code
    end
  end

  # It says where the server is once that answers, however long a busy machine takes. Each look
  # takes a second here.
  def test_a_server_that_comes_late
    { 6 => true, 99 => false }.each do |looks, answers|
      attach = Mwrap::Ctl::Attach.new(Process.pid.to_s)
      found = [nil] * looks + [true]
      time = 0
      attach.stub(:now, -> { time += 1 }) do
        attach.stub(:listens?, -> { found.shift }) { assert_equal answers, attach.send(:answers?, "socket:/s") }
      end
    end
  end

  # The process says why there is no server, and mwrapctl that it can't be asked.
  def test_a_server_that_never_comes
    a = ready("puts 'ready'\n$stdin.each_line { p Mwrap.tracking? }")
    taken = path("taken")
    File.write(taken, "somebody's")
    assert_done ctl("attach", a.pid.to_s, "socket:#{taken}", "--wait", "1"), %r{: socket:#{taken}, which doesn't answer yet: the process's stderr may say why\n\z}
    assert_equal "true", a.ask("")
    eventually("its reason") { a.stderr.match?(%r{mwrap: .*#{taken}}) }
  end

  # From before, the gem's handler costs nothing, and answers to nobody but mwrapctl.
  def test_a_stray_signal_does_nothing
    a = ready("puts 'ready'\n$stdin.each_line { p Mwrap.tracking?, File.read('/proc/self/maps').include?('libmwrap.so') }")
    5.times { Process.kill(:URG, a.pid) }
    assert_equal %w[false false], [a.ask(""), a.hear]
  end

  def test_a_forked_child_and_its_parent
    a = ready("puts 'ready'\nr, w = IO.pipe\npid = fork { w.close; r.read }\nr.close\nputs pid\n$stdin.read")
    child = a.hear
    assert_done ctl("attach", child), /process #{child}: tracked/
    assert_equal "attached", how(child)["how"]
    refute_includes File.read("/proc/#{a.pid}/maps"), "libmwrap.so"
    assert_done ctl("attach", a.pid.to_s)
    FileUtils.rm_f(Dir["/tmp/mwrap-#{Process.euid}/{attach-#{child}-*,#{child}.sock*}"])
  end

  # Children of an attached process are found by their own PID.
  def test_children_of_an_attached_process
    a = ready("puts 'ready'\n$stdin.gets\nr, w = IO.pipe\npid = fork { w.close; r.read }\nputs pid\n$stdin.read")
    assert_done ctl("attach", a.pid.to_s)
    child = a.ask("")
    seen = eventually("the child to answer") { r = ctl("flame", child, "--format", "json"); r.stdout if r.status.success? }
    assert_includes seen, %("start":"#{child}-)
  end

  # malloc's bytes for Ruby itself: up to 3.2 also the 32 MB that it reserves for young arrays.
  def bytes_of_ruby
    a = ready("puts 'ready'\n$stdin.read")
    assert_done ctl("attach", a.pid.to_s)
    how(a.pid)["before_bytes"].tap { a.finish }
  end

  # 30 MB that the tracker never sees, and 20 MB that it counts until it is asked to begin again.
  def test_bytes_from_before
    own = bytes_of_ruby
    a = ready("$before = Array.new(3000) { 'b' * 10_000 }\nputs 'ready'\n$stdin.each_line { |l| eval(l); puts 'done' }")
    assert_done ctl("attach", a.pid.to_s)
    stats = how(a.pid)
    first = stats["before_bytes"]
    assert_in_delta 30_000_000, first - own, 2_000_000
    assert_includes body("/stats", at: "/tmp/mwrap-#{Process.euid}/#{a.pid}.sock"), "Before the start"
    assert_includes body("/", at: "/tmp/mwrap-#{Process.euid}/#{a.pid}.sock"), "<li>before the start <b>"
    assert_equal true, JSON.parse(body("/holders.json", at: "/tmp/mwrap-#{Process.euid}/#{a.pid}.sock"))["started_late"]
    map = JSON.parse(body("/map.json", at: "/tmp/mwrap-#{Process.euid}/#{a.pid}.sock"))
    assert_equal [true, "before", nil], [*map.values_at("late", "missing"), map["trim"]["bytes"]]
    # it gives back whatever is free
    assert_match(/\Atrim: resident memory fell by /, post("/map/trim", at: "/tmp/mwrap-#{Process.euid}/#{a.pid}.sock").body)
    assert_includes ctl("ps").stdout, "attached"
    assert_equal first, JSON.parse(ctl("ps", "--json").stdout).fetch("rows").find { |p| p["pid"] == a.pid }["before_bytes"]
    assert_equal "done", a.ask("$later = Array.new(2000) { 'l' * 10_000 }")
    assert_equal first, how(a.pid)["before_bytes"]
    assert_done ctl("detach", a.pid.to_s)
    assert_done ctl("attach", a.pid.to_s)
    assert_in_delta first + 20_000_000, how(a.pid)["before_bytes"], 4_000_000
  end

  def test_bytes_from_before_on_other_allocators
    Allocators.each do |name, path, package|
      path or flunk "#{name}: install #{package}"
      a = ready("puts 'ready'\n$stdin.read", env: { "LD_PRELOAD" => path })
      assert_done ctl("attach", a.pid.to_s)
      stats = how(a.pid)
      assert_equal ["attached", nil], stats.values_at("how", "before_bytes"), name
      assert_includes stats.keys, "before_bytes"
    end
  end

  def test_a_process_that_ends_meanwhile
    a = ready("puts 'ready'\n$stdin.read")
    visit = Mwrap::Ctl::Attach.new(a.pid.to_s)
    assert_equal :done, visit.send(:while_it_lives) { :done }
    said = assert_raises(Mwrap::Ctl::Failure) { visit.send(:while_it_lives) { raise Errno::EIO } }
    assert_equal "/tmp/mwrap-#{Process.euid}: Input/output error", said.message
    a.kill
    said = assert_raises(Mwrap::Ctl::Failure) { visit.send(:ask, "start\n") }
    assert_equal "process #{a.pid}: has ended: nothing was done", said.message
  end

  # The record of what it was asked for is read a second time when it may have gone.
  def test_the_options_of_a_process_that_ends_meanwhile
    a = ready("puts 'ready'\n$stdin.read")
    assert_done ctl("attach", a.pid.to_s, "stacks:off")
    of = Mwrap::Ctl::Endpoint
    assert_equal "off", of.options(a.pid.to_s)["stacks"]
    found = Mwrap::Ctl::Target.new(a.pid)
    FileUtils.rm_f(Dir["/tmp/mwrap-#{Process.euid}/attach-#{a.pid}-*.options"])
    of = of.clone.tap { |m| m.define_singleton_method(:attached) { |_| found } }
    assert_equal({}, of.options(a.pid.to_s))
  end

  # A process that ends has no memory for a moment in which it is no zombie yet. So has a thread of the
  # kernel, always.
  def test_a_process_without_memory
    a = ready("puts 'ready'\n$stdin.read")
    files = %w[status stat].to_h { |f| [f, File.binread("/proc/#{a.pid}/#{f}")] }
    ends = { "status" => files["status"].sub(/^VmSize.*\n/n, ""), "stat" => files["stat"].sub(/(\) (?:\S+ ){20})\d+/n, '\10') }
    kernels = ends.merge("stat" => ends["stat"].sub(/(\) (?:\S+ ){6})(\d+)/n) { "#$1#{$2.to_i | 0x200000}" })
    target = ->(texts) { Class.new(Mwrap::Ctl::Target) { define_method(:read) { |f| texts.fetch(f) } }.new(a.pid) }
    assert_nil target[files].require_running
    assert_predicate target[files], :alive?
    said = assert_raises(Mwrap::Ctl::Failure) { target[ends].require_running }
    assert_equal "process #{a.pid}: has ended: name one that runs", said.message
    refute_predicate target[ends], :alive?
    said = assert_raises(Mwrap::Ctl::Failure) { target[kernels] }
    assert_equal "process #{a.pid}: belongs to the kernel: name a Ruby process", said.message
  end

  def test_refusals_before_anything_is_sent
    a = ready("puts 'ready'\n$stdin.read")
    stop(a.pid)
    assert_refused ctl("attach", a.pid.to_s), /process #{a.pid}: is stopped: continue it first \(kill -CONT #{a.pid}\)/
    Process.kill(:CONT, a.pid)
    assert_refused ctl("attach", "0"), /PID: "0" is not a PID: write digits only/, 2
    assert_refused ctl("attach", "x"), /PID: "x" is not a PID: write digits only/, 2
    gone = fork { exit!(0) }
    assert_refused(eventually("a zombie") { ctl("attach", gone.to_s).then { |r| r if r.stderr.include?("ended") } }, /process #{gone}: has ended: name one that runs/)
    Process.wait(gone)
    assert_refused ctl("attach", gone.to_s), /process #{gone}: no such process: name one that runs/
    b = served_ruby("$stdin.read", at: path("pre"))
    assert_refused ctl("attach", b.pid.to_s), /process #{b.pid}: has a server already: #{path("pre")}/
  end

  # The main thread is in a C function, with Ruby's lock: one line, in time, and nothing begins later.
  LOCKED = <<~'RUBY'
    require "fiddle"
    C = Fiddle.dlopen(nil)
    def c(name, *args) = Fiddle::Function.new(C[name], args.map { Fiddle::TYPE_VOIDP }, Fiddle::TYPE_INT, need_gvl: true).call(*args)
    mutex = Fiddle::Pointer.malloc(64)
    mutex[0, 64] = "\0" * 64
    c("pthread_mutex_lock", mutex)
    puts "ready"
    c("pthread_mutex_timedlock", mutex, [Time.now.to_i + 6, 0].pack("qq")) # goes on after a signal
    puts "back"
    $stdin.each_line { p Mwrap.tracking? }
  RUBY

  def test_a_process_that_does_not_answer
    a = ready(LOCKED)
    assert_refused ctl("attach", a.pid.to_s, "--wait", "1"),
                   /process #{a.pid}: no answer in 1 seconds, withdrawn: its main thread doesn't return to Ruby, or it is suspended/
    assert_equal %w[back false], [a.hear, a.ask("")]
    assert_empty requests(a.pid)
    assert_done ctl("attach", a.pid.to_s)
  end

  # Files that another user could have put there are never read.
  def test_a_directory_and_files_that_are_not_private
    a = ready("puts 'ready'\n$stdin.each_line { puts Mwrap.tracking? }")
    dir = "/tmp/mwrap-#{Process.euid}"
    ticks = File.read("/proc/#{a.pid}/stat").sub(/\A.*\) /m, "").split[19]
    ask = "#{dir}/attach-#{a.pid}-#{ticks}-#{File.stat("/proc/#{a.pid}/ns/pid").ino}.ask"
    FileUtils.mkdir_p(dir, mode: 0o700)
    [[0o700, 0o644, "start\n"], [0o700, 0o600, "begin\n"], [0o700, 0o600, "start"], [0o700, 0o600, ""], [0o700, 0o600, "start\nbt:1\0"]].each do |dir_mode, mode, text|
      File.write(ask, text)
      File.chmod(mode, ask)
      Process.kill(:URG, a.pid)
      eventually("the file to be taken") { !File.exist?(ask) }
      assert_equal "false", a.ask(""), text.inspect
    end
    File.symlink("/etc/passwd", ask)
    Process.kill(:URG, a.pid)
    assert_equal "false", a.ask("")
    FileUtils.rm_f(Dir["#{dir}/attach-#{a.pid}-*"])
    return unless Process.euid.zero?
    File.write(ask, "start\n")
    File.chmod(0o600, ask)
    File.chown(65_534, nil, ask)
    Process.kill(:URG, a.pid)
    eventually("the file to be taken") { !File.exist?(ask) }
    assert_equal "false", a.ask("")
  end
end

class AttachByInjectionTest < Minitest::Test
  include AttachTest

  HELPER = File.join(MwrapTest::LIB, "mwrap/mwrap-inject")

  def setup
    super
    skip "injection is for x86-64 and arm64" unless %w[x86_64 aarch64].include?(RbConfig::CONFIG["host_cpu"])
  end

  def plain(script, **rest) = ready(script, gem: false, **rest)
  def at_line(pid, line) = tsv(at: "/tmp/mwrap-#{Process.euid}/#{pid}.sock").find { |r| r.location.match?(/app\d+\.rb:#{line}\z/) }

  def test_a_process_that_nobody_prepared
    a = plain(<<~'RUBY', env: MwrapTest::WITHOUT_JIT)
      puts "ready"
      $stdin.each_line do |line|
        GC.disable
        kept = Array.new(line.to_i) { "x" * 1700 }
        puts "done", $LOADED_FEATURES.grep(/mwrap/).size
      end
    RUBY
    assert_done ctl("attach", a.pid.to_s), INJECTED
    assert_equal %w[done 0], [a.ask("1000"), a.hear]
    row = at_line(a.pid, 6)
    assert_includes 1000..1030, row.live
    assert_equal 1, row.live_bytes / 1_701_000
    stats = how(a.pid)
    assert_equal ["attached", "fast", [0, 0, 0]], [stats["how"], stats["ruby_lookup"], stats.values_at("overruns", "double_frees", "unknown_frees")]
    assert_done ctl("detach", a.pid.to_s)
    assert_equal %w[done 0], [a.ask("5000"), a.hear]
    assert_includes 1000..1030, at_line(a.pid, 6).live
    assert_refused ctl("detach", a.pid.to_s), /process #{a.pid}: the tracker isn't running: .*/
    assert_done ctl("attach", a.pid.to_s), INJECTED
    assert_equal %w[done 0], [a.ask("30"), a.hear]
    assert_includes 30..50, at_line(a.pid, 6).live
    assert_refused ctl("attach", a.pid.to_s), /process #{a.pid}: the tracker is running already/
    assert_ends_well a
  end

  def test_a_main_thread_that_waits
    attach_to_each_wait(gem: false) { |done| assert_done(done, INJECTED) }
  end

  def test_while_a_file_is_compiled
    attach_while_a_file_is_compiled(gem: false) { |done| assert_done(done, INJECTED) }
  end

  # Calls that the kernel begins again, made with Ruby's lock: none sees that it was interrupted.
  CALLS = <<~'RUBY'
    require "fiddle"
    C = Fiddle.dlopen(nil)
    def c(name, *args) = Fiddle::Function.new(C[name], args.map { |a| a.is_a?(Integer) ? Fiddle::TYPE_LONG : Fiddle::TYPE_VOIDP }, Fiddle::TYPE_INT, need_gvl: true).call(*args)
    # [result, errno, whether it took its time]
    def timed(seconds)
      from = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      result = yield
      [result, result < 0 ? Fiddle.last_error : 0, Process.clock_gettime(Process::CLOCK_MONOTONIC) - from >= seconds]
    end
    r, w = IO.pipe
    r.fcntl(4, 0) # F_SETFL: it blocks
    events = Fiddle::Pointer.malloc(64)
    puts "ready"
    $stdin.each_line do |line|
      p(case line.chomp
        when "nanosleep" then timed(0.5) { c("nanosleep", [0, 500_000_000].pack("qq"), nil) }
        when "poll" then timed(0.5) { c("poll", nil, 0, 500) }
        when "select" then timed(0.5) { c("select", 0, nil, nil, nil, [0, 500_000].pack("qq")) }
        when "read" then
          pid = fork { sleep 0.5; w.write("x") }
          timed(0.3) { c("read", r.fileno, events, 1) }.tap { Process.wait(pid) }
        when "waitpid" then
          pid = fork { sleep 0.5 }
          timed(0.3) { c("waitpid", pid, nil, 0) - pid }
        end)
    end
  RUBY

  def test_interrupted_calls_go_on
    a = plain(CALLS)
    helper = lambda do # so that each call is interrupted
      6.times { run_command(HELPER, a.pid.to_s, MwrapTest::TRACKER, "1") }
    end
    { "nanosleep" => 0, "poll" => 0, "select" => 0, "read" => 1, "waitpid" => 0 }.each do |call, result|
      a.tell(call)
      helper.call
      assert_equal [result, 0, true].inspect, a.hear, call
    end
    assert a.finish.success?
  end

  # Integers, Floats and strings, computed over and over: each result is the same.
  SUMS = <<~'RUBY'
    def sum
      f = 0.0
      n = 1
      3000.times { |i| f += Math.sin(i) * 1.5; n = (n * 31 + i) & 0xffff_ffff; "#{f}#{n}".hash if i % 100 == 0 }
      [f, n, (0...500).map { |i| i.to_s * 3 }.join.sum]
    end
    first = sum
    stop = false
    threads = Array.new(3) { Thread.new { n = 0; until stop; raise "wrong" if sum != first; n += 1; end; n } }
    Thread.new { $stdin.read; stop = true }
    puts "ready"
    until stop
      raise "wrong" if sum != first
      sleep 0.0001
    end
    puts threads.sum(&:value) > 10
  RUBY

  # The helper is killed at any moment of its work; the process doesn't notice.
  def test_the_helper_is_killed
    a = plain(SUMS)
    random = Random.new(1)
    60.times do
      pid = Process.spawn(HELPER, a.pid.to_s, MwrapTest::TRACKER, "500", out: File::NULL, err: File::NULL)
      sleep(random.rand * 0.004)
      Process.kill(:KILL, pid)
      Process.wait(pid)
    end
    assert_done ctl("attach", a.pid.to_s), INJECTED
    assert a.finish.success?, a.stderr
    assert_equal "true", a.rest.chomp
  end

  # Ruby's VM goes before the process does. Here a handler of exit(3) waits for ever.
  def test_a_process_whose_vm_has_gone
    a = plain(<<~'RUBY')
      require "fiddle"
      c = Fiddle.dlopen(nil)
      Fiddle::Function.new(c["on_exit"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT).call(c["pause"], nil)
      puts "ready"
      $stdin.gets
    RUBY
    a.tell("")
    said = nil
    patiently(20) { (said = run_command(HELPER, a.pid.to_s, MwrapTest::TRACKER, "20").stderr).match?(/\A(the process is ending|Ruby is shutting down there)/) } or flunk "#{said}#{a.stderr}"
    assert_nil Process.wait(a.pid, Process::WNOHANG)
    assert_refused ctl("attach", a.pid.to_s), /process #{a.pid}: (the process is ending: name another one|Ruby is shutting down there, .*)/
    assert_equal "", a.stderr
    a.kill
  end

  def test_again_and_again_while_threads_compute
    a = plain(SUMS)
    assert_done ctl("attach", a.pid.to_s, "stacks:64k"), INJECTED
    8.times do
      assert_done ctl("detach", a.pid.to_s)
      assert_done ctl("attach", a.pid.to_s), INJECTED
    end
    stats = how(a.pid)
    assert_equal [0, 0, 0, 0], stats.values_at("lost", "overruns", "double_frees", "unknown_frees")
    assert a.finish.success?, a.stderr
    assert_equal "true", a.rest.chomp
  end

  def test_a_process_that_does_not_answer
    a = plain(AttachBySignalTest::LOCKED.sub("Mwrap.tracking?", "File.read('/proc/self/maps').include?('libmwrap.so')"))
    assert_refused ctl("attach", a.pid.to_s, "--wait", "1"),
                   /process #{a.pid}: Ruby reached no safe point, so the request was withdrawn: see what its main thread waits for/
    assert_equal %w[back false], [a.hear, a.ask("")]
    assert_done ctl("attach", a.pid.to_s), INJECTED
  end

  def test_refusals
    sleeper = Served::App.new("sleep", "1000", env: {}, err: path("e"), dump_path: path("d")).tap { |s| @fakes << s }
    assert_refused ctl("attach", sleeper.pid.to_s), /process #{sleeper.pid}: Ruby does not run in this process: start it with mwrap/
    sleeper.kill
    a = plain("puts 'ready'\n$stdin.each_line { puts 'here' }")
    assert_equal 0, Ptrace.seize(a.pid)
    assert_refused ctl("attach", a.pid.to_s), /process #{a.pid}: is traced by process #{Process.pid}: let it go first/
    assert Ptrace.stop(a.pid)
    assert_refused ctl("attach", a.pid.to_s), /process #{a.pid}: is stopped by process #{Process.pid}, which traces it: let it go first/
    assert_equal 0, Ptrace.detach(a.pid)
    assert_equal "here", a.ask("")
  end

  def test_another_user
    skip "only root can become another user" unless Process.euid.zero?
    a = plain("puts 'ready'\n$stdin.each_line { puts 'here' }")
    dir = path("readable")
    FileUtils.mkdir_p(dir)
    FileUtils.cp_r([*%w[lib src/api/version.h].map { |f| File.join(ROOT, f) }], dir)
    FileUtils.chmod(0o755, [File.dirname(dir), dir])
    other = ->(*args) { run_command("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", MwrapTest::RUBY, "#{dir}/lib/exe/mwrapctl", *args) }
    assert_refused other.call("attach", a.pid.to_s), /process #{a.pid}: belongs to another user: run mwrapctl as that user, or as root/
    # and root attaches to another user's
    File.write(path("theirs.rb"), "$stdout.sync = true\nputs 'ready'\n$stdin.each_line { puts File.owned?('/tmp/mwrap-65534') }")
    FileUtils.chmod(0o644, path("theirs.rb"))
    b = Served::App.new("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", MwrapTest::RUBY, "--disable=gems", path("theirs.rb"),
                        env: { "MWRAP" => nil, "LD_PRELOAD" => nil }, err: path("err"), dump_path: path("d"))
    @fakes << b
    assert_equal "ready", b.hear, b.stderr
    assert_done ctl("attach", b.pid.to_s), /\Aprocess #{b.pid}: tracked from now on .*socket:\/tmp\/mwrap-65534\/#{b.pid}\.sock/
    assert_equal "true", b.ask("")
    assert_done ctl("flame", b.pid.to_s, "--format", "json")
    FileUtils.rm_rf("/tmp/mwrap-65534")
  end

  # In a mount namespace in which lib isn't what it is here: the libraries are copied.
  def test_a_process_that_sees_other_files
    hide = "mount -t tmpfs none #{MwrapTest::LIB} && exec \"$@\""
    File.write(path("app.rb"), "$stdout.sync = true\nputs 'ready'\n$stdin.each_line { puts Dir.empty?(#{MwrapTest::LIB.inspect}) }")
    a = Served::App.new("unshare", "--mount", "sh", "-c", hide, "sh", MwrapTest::RUBY, "--disable=gems", path("app.rb"),
                        env: { "MWRAP" => nil, "LD_PRELOAD" => nil }, err: path("err"), dump_path: path("d"))
    @fakes << a
    skip "no mount namespace may be made here" unless a.hear == "ready"
    assert_equal "true", a.ask("")
    assert_done ctl("attach", a.pid.to_s), INJECTED
    assert_match %r{/tmp/mwrap-#{Process.euid}/libmwrap\.so$}, File.read("/proc/#{a.pid}/maps")
    assert_done ctl("flame", a.pid.to_s, "--format", "json")
    FileUtils.rm_f(Dir["/tmp/mwrap-#{Process.euid}/libmwrap*.so"])
  end
end
