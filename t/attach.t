#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# mwrapctl attach and detach: a process that began without the tracker is asked from outside to track
# itself. Here it has loaded the gem, and is asked by SIGURG.

require_relative "lib/served"

module AttachTest
  include HttpdTest
  include Served

  CTL = File.join(MwrapTest::ROOT, "bin/mwrapctl")

  def ctl(*args, **rest) = run_command(MwrapTest::RUBY, CTL, *args, **rest)

  # A script without the tracker. It says its PID first.
  def app(script, gem: true, env: {}, flags: [])
    n = @fakes.size
    File.write(path("app#{n}.rb"), "#{"require 'mwrap'" if gem}\n$stdout.sync = true\n#{script}")
    app = Served::App.new(MwrapTest::RUBY, "--disable=gems", *flags, "-I#{MwrapTest::LIB}", path("app#{n}.rb"),
                          env: { "MWRAP" => nil, "LD_PRELOAD" => nil, "RUBYOPT" => nil }.merge(env), err: path("err#{n}"), dump_path: path("dump"))
    @fakes << app
    app
  end

  def ready(...) = app(...).tap { |a| assert_equal "ready", a.hear }

  def assert_done(run, text = //)
    assert_equal ["", 0], [run.stderr, run.status.exitstatus]
    assert_match(text, run.stdout)
  end

  def assert_refused(run, message, status = 1)
    assert_equal ["", status], [run.stdout, run.status.exitstatus]
    assert_match(/\Amwrapctl: #{message}\n\z/, run.stderr)
  end

  # Its directory, and what is left of a request
  def requests(pid) = Dir["/tmp/mwrap-#{Process.euid}/attach-#{pid}-*"].map { |f| f[/[^.]*\z/] }.sort

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
      def make(n) = Array.new(n) { "x" * 700 }
      puts "ready"
      $stdin.each_line do |line|
        GC.disable
        kept = make(line.to_i)
        puts Mwrap.tracking?, Mwrap["#{__FILE__}:3"]&.each&.count { |size, _| size == 701 }.inspect
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
    assert a.finish.success?
    assert_equal "", a.stderr
  end

  # Each of these blocks its main thread in another way.
  WAITS = { "sleep" => "sleep", "select" => "IO.select([$stdin])", "a thread" => "Thread.new { $stdin.read }.join", "a lock" => "Thread::Queue.new.tap { |q| Thread.new { $stdin.read; q << 1 } }.pop",
            "read" => "$stdin.read", "a child" => "Process.wait(fork { $stdin.read })", "work" => "i = 0; loop { i += 1; 'x' * 100 }" }.freeze

  def test_a_main_thread_that_waits
    WAITS.each do |what, code|
      a = ready("puts 'ready'\n#{code}")
      at_rest(a) unless what == "work"
      assert_done ctl("attach", a.pid.to_s, "socket:#{path("w")},stacks:off"), /: socket:/
      assert_equal "attached", JSON.parse(body("/stats.json", at: path("w")))["how"], what
      assert_nil Process.wait(a.pid, Process::WNOHANG), what
      a.kill
    end
  end

  def test_options_are_refused_by_the_process_and_change_nothing
    a = ready("puts 'ready'\n$stdin.each_line { p Mwrap.tracking? }")
    assert_refused ctl("attach", a.pid.to_s, "bt:99"), /process #{a.pid}: bt: .*/
    assert_refused ctl("attach", a.pid.to_s, "malloc:jemalloc"), /process #{a.pid}: malloc: not for a running process: start it with mwrap/
    assert_equal "false", a.ask("")
    assert_refused ctl("detach", a.pid.to_s), /process #{a.pid}: the tracker: doesn't run: .*/
    assert_done ctl("attach", a.pid.to_s, "bt:2,socket:#{path("s")}")
    assert_equal 2, JSON.parse(body("/stats.json", at: path("s")))["bt"]
    assert_refused ctl("attach", a.pid.to_s), /process #{a.pid}: the tracker: runs already/
  end

  # The handler of an app is never called, whether it came before the gem's or after it.
  def test_an_app_that_uses_the_signal
    ["trap('URG') { puts 'mine' }; require 'mwrap'", "require 'mwrap'; trap('URG') { puts 'mine' }; 50.times { 'x' * 9000 }; GC.start",
     "trap('URG', 'IGNORE'); require 'mwrap'"].each do |code|
      a = ready("#{code}\ndef deep(n) = n.zero? ? nil : deep(n - 1)\ndeep(100)\nGC.start\nputs 'ready'\n$stdin.each_line { puts 'still' }", gem: false)
      assert_refused ctl("attach", a.pid.to_s), /process #{a.pid}: has no mwrap that sleeps: .*/
      assert_equal "still", a.ask(""), code
    end
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

  def test_refusals_before_anything_is_sent
    a = ready("puts 'ready'\n$stdin.read")
    stop(a.pid)
    assert_refused ctl("attach", a.pid.to_s), /process #{a.pid}: is stopped: continue it first \(kill -CONT #{a.pid}\)/
    Process.kill(:CONT, a.pid)
    assert_refused ctl("attach", "0"), /PID: "0" is none: write digits only/, 2
    assert_refused ctl("attach", "x"), /PID: "x" is none: write digits only/, 2
    gone = fork { exit!(0) }
    assert_refused(eventually("a zombie") { ctl("attach", gone.to_s).then { |r| r if r.stderr.include?("ended") } }, /process #{gone}: has ended: name one that runs/)
    Process.wait(gone)
    assert_refused ctl("attach", gone.to_s), /process #{gone}: no such process: name one that runs/
    b = served_ruby("$stdin.read", at: path("pre"))
    assert_refused ctl("attach", b.pid.to_s), /process #{b.pid}: runs under mwrap from its start: use its server/
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
    c("pthread_mutex_timedlock", mutex, [Time.now.to_i + 3, 0].pack("qq")) # goes on after a signal
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

  # What another user could have put there is never read.
  def test_a_directory_and_files_that_are_not_private
    a = ready("puts 'ready'\n$stdin.each_line { puts Mwrap.tracking? }")
    dir = "/tmp/mwrap-#{Process.euid}"
    ticks = File.read("/proc/#{a.pid}/stat").sub(/\A.*\) /m, "").split[19]
    ask = "#{dir}/attach-#{a.pid}-#{ticks}.ask"
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
