#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# ctl_top.t - mwrapctl top: a frame of text, and on a pseudo terminal its keys, its size, every way in which
# it ends, and the terminal afterwards.
require_relative "lib/served"
require_relative "lib/runs_ctl"
require "io/console"
require "pty"

# A terminal that remembers what is on it: of the sequences those that top uses.
class Terminal
  attr_reader :pid, :status, :cells, :log, :slave

  def initialize(rows, columns, *cmd, env: {})
    @master, @slave = PTY.open
    @slave.winsize = [rows, columns]
    @before = mode
    @log = +"".b
    @cells = Hash.new { |h, k| h[k] = +"" }
    @at = 0
    env = { "TERM" => "xterm", "LC_ALL" => "C.UTF-8", "RUBYOPT" => nil, "RUBYLIB" => nil, "NO_COLOR" => nil, **env }
    # its controlling terminal, so that Ctrl-C is a signal
    @pid = Process.spawn(env, "setsid", "--ctty", *cmd, in: @slave, out: @slave, err: @slave, close_others: true)
  end

  # As stty has it
  def mode = IO.popen(["stty", "-g"], in: @slave, &:read)
  def restored? = mode == @before

  def resize(rows, columns)
    @cells.clear
    @master.winsize = [rows, columns]
  end

  def type(text) = @master.write(text)

  # Takes what is there, or waits a moment for it.
  def read
    return unless @master.wait_readable(0.05)
    text = @master.read_nonblock(1 << 20)
    @log << text
    show(text)
  rescue IO::WaitReadable, Errno::EIO
    nil
  end

  # Rows of the last frame that is drawn to its end: the next one begins with row 1.
  def frame_rows = @log.split("\e[1;1H".b, -1)[1..-2]&.last&.scan(/\e\[(\d+);1H/n)&.flatten&.map(&:to_i)&.max || 1

  def screen = @cells.sort.map { |_, line| line.dup.force_encoding("UTF-8").scrub.rstrip }

  # Has it ended?
  def ended?
    read
    @status ||= Process.wait2(pid, Process::WNOHANG)&.last
    @status && 3.times { read }
    @status
  end

  def kill
    ended? or Process.kill(:KILL, pid) && Process.wait(pid)
  end

  def close = [@master, @slave].each(&:close)

  private

  # Frames are drawn line by line: "ESC [ row ; 1 H", text, end of the line.
  def show(text)
    (@rest ||= +"".b) << text
    while (m = /\A(?:\e\[(\d+);1H|\e\[[\d;]*m|\e\[[KJ2]+|\e\[\?\d+[hl]|([^\e]+))/n.match(@rest))
      @rest = m.post_match
      if m[1]
        @cells[@at = m[1].to_i] = +"".b
      elsif m[2]
        @cells[@at] << m[2]
      end
    end
  end
end

class CtlTopTest < Minitest::Test
  include RunsCtl

  APP = <<~'RUBY'
    $stdout.sync = true
    KEPT = []
    def keep(n) = n.times { KEPT << ("x" * 5000) } # the line
    def spin(n) = n.times { "y" * 3000 } # another one
    GC.disable
    keep(100)
    puts "ready"
    while (line = gets)
      line.start_with?("spin") ? spin(line.split[1].to_i) : keep(line.to_i)
      puts "done"
    end
  RUBY
  LEAVE = "\e[m\e[?25h\e[?1049l".b

  def start(**rest)
    @app = served_ruby(APP, **rest)
    assert_equal "ready", @app.hear
  end

  def teardown
    @top&.kill
    @top&.close
    super
  end

  def top(*args, rows: 24, columns: 120, **rest) = @top = Terminal.new(rows, columns, RUBY, CTL, "top", path, "--interval", "0.1", *args, **rest)

  def shows(what)
    eventually("#{what.inspect} in #{@top.screen.join("\n")}") { @top.read; @top.screen.any? { |line| what === line } }
  end

  # Ended so, and the terminal is as it was.
  def assert_ended(status)
    eventually("its end") { @top.ended? }
    assert_equal status, @top.status.signaled? ? -@top.status.termsig : @top.status.exitstatus, @top.log
    assert_predicate @top, :restored?
    assert_includes @top.log, LEAVE
  end

  def test_a_frame_of_text
    start
    run = ctl("top", path, "--interval", "0.1", "-n", "3")
    assert_written run
    refute_match(/[\e\r]/, run.stdout)
    lines = run.stdout.lines
    assert_equal 9, lines.size
    assert_match(/\AWatching: /, lines[0])
    assert_match(/\ARSS +\d[\d.]* MB  ./, lines[2])
    assert_match(/\Apid #{@app.pid}, up \d+ s, [\d,]+ blocks, growth /, lines[4])
    assert_match(/\A +LIVE +BLOCKS +GROWTH[↓*] +ALLOC\/S  CURVE +LOCATION$/, lines[5])
    assert_includes ctl("top", path, "--interval", "0.1", "-n", "100").stdout, "/app.rb:3"
    once = top("--once", "-n", "1")
    eventually("its end") { once.ended? }
    refute_includes once.log, "\e[?1049h"
    assert_equal 0, once.status.exitstatus
  end

  def test_rates_are_those_of_the_app
    start
    thread = Thread.new { @app.ask("spin 2000") until @stop }
    rate = eventually("a rate") { ctl("top", path, "--interval", "0.3", "-n", "200").stdout[/ ([\d,]+)  \S+ +\S+app\.rb:4$/, 1] }
    assert_operator rate.delete(",").to_i, :>, 1000
  ensure
    @stop = true
    thread&.join
  end

  def test_keys
    start
    top
    shows(/GROWTH↓/)
    @top.type("s")
    shows(/LIVE↓/)
    @top.type("s")
    shows(/ALLOC\/S↓/)
    @top.type("s")
    shows(/GROWTH↓/)
    @top.type("/app.rbx")
    shows(/^filter: app\.rbx_/)
    eventually("no row has that, before Enter") { @top.read; @top.screen.grep(/app\.rb:3$/).empty? }
    @top.type("\x7f")
    shows(/app\.rb:3$/)
    @top.type("\r")
    shows(/with "app\.rb"/)
    shows(/app\.rb:3$/)
    eventually("only these") { @top.read; @top.screen.grep(%r{rubygems|libruby}).empty? }
    @top.type("r")
    shows(/ 0 B .*app\.rb:3$/)
    @app.ask("1000")
    shows(/ \+4\.\d+ MB .*app\.rb:3$/)
    assert_match(/\e\[7m[^\e]*app\.rb:3/n, @top.log, "the first row is chosen")
    @top.type("\e")
    eventually("all of them") { @top.read; !@top.screen.grep(/growth for/).empty? && @top.screen.grep(/with "/).empty? }
    @top.type("\e[B\e[B\eOA")
    eventually("the second row") { @top.read; @top.log[-6000..]&.match?(/\e\[8;1H\e\[7m/n) }
    @top.type("q")
    assert_ended 0
  end

  def test_its_size
    start
    top(rows: 12, columns: 60)
    shows(/q quit/)
    refute(@top.screen.any? { |line| line.size > 60 })
    assert_equal 12, @top.cells.keys.max
    refute(@top.screen.any? { |line| line.include?("CURVE") })
    @top.resize(30, 100)
    eventually("more rows") { @top.read; @top.frame_rows == 30 && @top.screen.grep(/CURVE/).any? }
    @top.resize(2, 10)
    eventually("few rows") { @top.read; @top.frame_rows == 2 }
    @top.resize(1, 1)
    eventually("one") { @top.read; @top.frame_rows == 1 }
    @top.type("q")
    assert_ended 0
  end

  def test_signals
    start
    { INT: 130, TERM: -15, HUP: -1, QUIT: -3 }.each do |signal, status|
      top
      shows(/q quit/)
      Process.kill(signal, @top.pid)
      assert_ended status
      @top.close
    end
    top
    shows(/q quit/)
    @top.type("\x03")
    assert_ended 130
  end

  # Ctrl-Z in a shell: the terminal is the shell's until it is continued.
  def test_a_stop
    start
    # wide: readline writes a command line that fills it in a way that Terminal doesn't read
    @top = Terminal.new(24, 250, "bash", "--norc", "-i", env: { "PS1" => "$ " })
    @top.type("#{RUBY} #{CTL} top #{path} --interval 0.1\n")
    shows(/q quit/)
    @top.type("\x1a")
    eventually("a stop") { @top.read; @top.log.match?(/\e\[\?1049l.*Stopped/mn) }
    eventually("the shell's mode") { IO.popen(["stty", "-a"], in: @top.slave, &:read).match?(/(?<!-)\bopost\b/) } # readline keeps this one
    @top.log.clear
    @top.type("fg\n")
    eventually("it goes on") { @top.read; @top.log.include?("\e[?1049h") && @top.log.include?("q quit") }
    @top.type("q")
    eventually("its end") { @top.read; @top.log.match?(/\e\[\?1049l.*\$ \z/mn) }
    @top.type("exit 3\n")
    eventually("the shell's end") { @top.ended? }
    assert_equal 3, @top.status.exitstatus
  end

  # A file in place of a part of it that fails
  def test_an_error
    start
    File.write(path("break.rb"), "require 'mwrap/ctl'\nrequire 'mwrap/ctl/top_view'\nclass Mwrap::Ctl::TopView\n  def frame(*) = raise('broken')\nend\n")
    @top = Terminal.new(24, 80, RUBY, "-I#{LIB}", "-r#{path("break.rb")}", CTL, "top", path)
    assert_ended 1
    assert_includes @top.log, "broken"
  end

  def test_the_process_ends
    start
    top
    shows(/q quit/)
    @app.kill
    assert_ended 1
    assert_match(/\e\[\?1049lmwrapctl: #{path}: process #{@app.pid} has ended: start top again for another one\r\n\z/, @top.log)
  end

  def test_a_process_that_is_stopped
    start
    @top = Terminal.new(24, 100, RUBY, "-I#{LIB}", "-rmwrap/ctl", "-rmwrap/ctl/top", "-e", "Mwrap::Ctl::Top.send(:remove_const, :SECONDS); Mwrap::Ctl::Top::SECONDS = 0.5; exit Mwrap::Ctl.run(ARGV)", "top", path, "--interval", "0.1")
    shows(/q quit/)
    stop(@app.pid)
    shows(/\Ano answer for \d/)
    Process.kill(:CONT, @app.pid)
    shows(/\Apid #{@app.pid}/)
    stop(@app.pid)
    shows(/\Ano answer for \d/)
    @top.type("q")
    assert_ended 0
  ensure
    Process.kill(:CONT, @app.pid)
  end

  def test_terminals_that_can_do_less
    start
    [{ "TERM" => "dumb" }, { "TERM" => nil }].each do |env|
      t = top(env: env)
      eventually("its end") { t.ended? }
      refute_includes t.log, "\e", env.inspect
      t.close
    end
    top(env: { "NO_COLOR" => "1" })
    shows(/q quit/)
    refute_match(/\e\[[\d;]+m/, @top.log)
    @top.type("q")
    assert_ended 0
    @top.close
    top(env: { "LC_ALL" => "C" })
    shows(/GROWTH\*/)
    assert_predicate @top.log, :ascii_only?
    @top.type("q")
    assert_ended 0
  end

  HOSTILE = "/srv/\e[31m\e]0;x\a\t\n\u202e\xff日本.rb".b

  def test_hostile_names
    served_ruby("eval(\"X = Array.new(500) { 'y' * 20_000 }\", nil, #{HOSTILE.dump}.dup.force_encoding('UTF-8'), 1)\nGC.disable\nputs 'ready'\n$stdout.flush\ngets\n").hear
    top("-n", "50", rows: 60)
    shows(%r{/srv/\\u001b\[31m\\u001b\]0;x\\u0007\\t\\n\\u202e\ufffd日本\.rb:1$})
    @top.type("q")
    assert_ended 0
    refute_match(/\e\[31m\e\]|\a/n, @top.log)
  end
end
