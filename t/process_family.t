#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# A Ruby app with all that it may start: forks, exec, spawn, a daemon, threads, Ractors. Each
# process serves itself, nobody touches another's socket, counts go on from the fork, and
# every way to end is as it is without the tracker, with nothing left behind.

require_relative "lib/served"

module Family
  SIZE = 5000

  # Line 3 allocates; strings of that size are the script's own.
  APP = <<~'RUBY'
    require "mwrap"; require "rbconfig"
    def keep(n) = Array.new(n) {
      "k" * 5000
    }
    def reply(text) = $stdout.syswrite("#{text}\n")
    def ending(status) = status.signaled? ? "signal #{status.termsig}" : "exit #{status.exitstatus}"
    def child(orders)
      $mine = keep(40)
      reply("child #{Process.pid}")
      case (orders.gets or sleep).chomp # without a parent it waits for its end
      when "exit" then exit 3
      when "exit!" then exit! 4
      when "alone" then Process.setsid; reply("alone"); sleep
      when "raise" then $stderr.reopen(File::NULL); raise "on purpose"
      when "fork"
        pid = fork { $more = keep(20); reply("grandchild #{Process.pid}"); orders.gets }
        Process.wait(pid)
      end
    end
    keep(1)
    $kept = keep(100)
    reply("ready")
    while (command, argument = $stdin.gets&.split(" ", 2))
      case command
      when "fork"
        orders, $to_child = IO.pipe
        $child = fork { $to_child.close; child(orders) }
        orders.close
      when "tell" then $to_child.puts(argument); $to_child.flush
      when "wait" then Process.wait($child); reply(ending($?))
      when "keep" then ($more ||= []) << keep(argument.to_i); reply("kept")
      when "exec" then exec(*argument.chomp.undump.split("\0"))
      when "run" then v = eval(argument); reply("#{$?&.pid} #{[v, $? && ending($?)].inspect}")
      when "daemon" then Process.daemon(true, true); reply("daemon #{Process.pid}")
      end
    end
  RUBY

  def start(**rest)
    @app = served_ruby(APP, **rest)
    assert_equal "ready", @app.hear
    assert_equal @app.pid, stats["pid"]
  end

  def of(pid) = "#{path}.#{pid}"

  # Sockets and locks that there are.
  def sockets = Dir.children(@dir).grep(/\As(\.|\z)/).sort
  def own(*names) = names.flat_map { |n| [n, "#{n}.lock"] }.sort

  def fork_one
    @app.tell("fork")
    @app.hear =~ /\Achild (\d+)\z/ or flunk @app.stderr
    Integer($1).tap { |pid| wait_for_server(of(pid)) }
  end

  def answers(at, pid)
    eventually("#{at} answers for #{pid}") do
      stats(at: at)["pid"] == pid
    rescue SystemCallError, RuntimeError
      false # who was there has just ended, as a shell does that execs
    end
    assert_equal 0o600, File.stat(at).mode & 0o777
  end

  # How many of the script's own strings live, and the row of the line.
  def kept(at: path)
    row = line(at: at)
    [body("/at/#{escape(row.location)}.tsv", at: at).lines.drop(1).map(&:to_i).count { |n| n.between?(SIZE, SIZE + 8) }, row]
  end

  def line(at: path, rows: tsv(at: at))
    found = rows.select { |r| r.location.end_with?("/app.rb:3") }
    assert_equal 1, found.size
    found[0]
  end

  def dead?(pid)
    File.read("/proc/#{pid}/stat").match?(/\) [ZX] /)
  rescue SystemCallError
    true
  end

  def clear(pid) = FileUtils.rm_f([of(pid), "#{of(pid)}.lock"])

  # So many strings more, and what Ruby itself may have allocated there.
  def assert_more(strings, bytes, what = nil) = assert_in_delta(strings * (SIZE + 1), bytes, 4 * SIZE, what)

  def finish(left: [])
    assert @app.finish&.success?, @app.stderr
    assert_equal "", @app.stderr
    assert_equal left, sockets
    @app.dumps
  end
end

class ForkTest < Minitest::Test
  include Family

  def test_a_fork_has_its_own_socket_and_counts_from_there
    start
    born, before = kept
    assert_equal 100, born - kept_of_warm_up(born)
    pid = fork_one
    answers(path, @app.pid)
    answers(of(pid), pid)
    assert_equal own("s", "s.#{pid}"), sockets
    living, row = kept(at: of(pid))
    assert_equal born + 40, living
    assert_more 40, row.growth, "growth counts from the fork"
    assert_more 40, row.total - before.total, "totals go on"
    assert_more 40, row.live_bytes - before.live_bytes, "what lived, lives"
    assert_operator row.allocations, :>=, before.allocations + 40
    assert_equal [born, before], kept, "the parent's are as before"

    # neither one's reset is the other's
    assert_equal 200, post("/reset", at: of(pid)).status
    assert_equal 0, line(at: of(pid)).total
    assert_equal [born, before], kept
    assert_equal "kept", @app.ask("keep 7")
    assert_equal born + 7, kept[0]
    assert_equal born + 40, kept(at: of(pid))[0]

    @app.tell("tell exit")
    assert_equal "exit 3", @app.ask("wait")
    assert_equal own("s"), sockets
    answers(path, @app.pid)
    assert_equal born + 7, kept[0]
    dumps = finish
    assert_equal 2, dumps.size
    child, parent = dumps.map { |rows| line(rows: rows) } # in the order of their ends
    assert_more 107, parent.total, "the parent's dump"
    assert_equal [0, 0], [child.total, child.allocations], "the child's, reset"
    # a later fork's dump has its parent's totals
    start
    fork_one
    @app.tell("tell exit")
    assert_equal "exit 3", @app.ask("wait")
    child, parent = finish.map { |rows| line(rows: rows) }
    assert_more 40, child.total - parent.total, "the child's dump"
    assert_more 40, child.growth
  end

  # The one string of the start may have been freed, or may not.
  def kept_of_warm_up(born) = (born - 100).tap { |n| assert_includes 0..1, n }

  def test_a_childs_end_leaves_the_parents_socket_alone
    start
    { "exit!" => "exit 4", "raise" => "exit 1" }.each do |how, ending|
      pid = fork_one
      @app.tell("tell #{how}")
      ended(pid)
      # exit! means: at once
      assert_equal how == "exit!" ? own("s", "s.#{pid}") : own("s"), sockets
      assert_equal ending, @app.ask("wait"), how
      answers(path, @app.pid)
      clear(pid)
    end
    { KILL: 9, TERM: 15, HUP: 1, INT: 2 }.each do |signal, number|
      pid = fork_one
      Process.kill(signal, pid)
      ended(pid)
      assert_equal signal == :KILL ? own("s", "s.#{pid}") : own("s"), sockets, signal
      assert_equal "signal #{number}", @app.ask("wait"), signal
      File.truncate(path("err0"), 0) # Ruby may say what interrupted it
      answers(path, @app.pid)
      clear(pid)
    end
    finish
  end

  # Until it is dead. While nobody has waited for it the parent, who has the path, leaves its files: those of
  # processes that have gone are removed every 20 seconds.
  def ended(pid) = eventually("the end of #{pid}") { dead?(pid) }

  def test_a_fork_of_a_fork
    start
    pid = fork_one
    @app.tell("tell fork")
    @app.hear =~ /\Agrandchild (\d+)\z/ or flunk @app.stderr
    grandchild = Integer($1)
    wait_for_server(of(grandchild))
    answers(path, @app.pid)
    answers(of(pid), pid)
    answers(of(grandchild), grandchild)
    living = [path, of(pid), of(grandchild)].map { |at| kept(at: at)[0] }
    assert_equal [living[0], living[0] + 40, living[0] + 60], living
    assert_more 20, line(at: of(grandchild)).growth
    @app.tell("tell end")
    assert_equal "exit 0", @app.ask("wait")
    assert_equal own("s"), sockets
    assert_equal 3, finish.size
  end

  # Nothing of a killed parent stays in the way, though its child lives.
  # The child would take it within a second: it is stopped until the next one has it.
  def test_the_path_of_a_killed_parent_is_free
    start
    pid = fork_one
    answers(of(pid), pid)
    @app.tell("tell alone")
    assert_equal "alone", @app.hear # else the kernel continues it as its parent dies
    stop(pid)
    @app.kill
    first, @app = @app, nil
    start
    answers(path, @app.pid)
    refute_equal first.pid, @app.pid
    Process.kill(:CONT, pid)
    answers(of(pid), pid)
    answers(path, @app.pid)
    Process.kill(:KILL, pid)
    eventually("the child is gone") { !connects?(of(pid)) }
    clear(pid)
    finish
  end

  # As on a busy machine: the child looks before its parent can.
  # Its server may start first. Before, one early child after the other had the path, and its end was a gap.
  def test_a_child_is_not_before_its_parent
    pid = Process.spawn({ "MWRAP" => "socket:#{path}", "LD_PRELOAD" => MwrapTest::TRACKER }, "#{MwrapTest::BUILT}/programs/early_fork")
    first = eventually("a server") { sockets.grep_v(/lock/)[0] }
    child = Integer(first[/\As\.(\d+)\z/, 1] || flunk("it has the path"))
    answers(path(first), child)
    Process.kill(:CONT, pid)
    eventually("the parent's server") { sockets.include?("s.#{pid}") || stats["pid"] == pid rescue false }
    Process.kill(:KILL, child)
    answers(path, pid)
  ensure
    [child, pid].compact.each { |p| Process.kill(:KILL, p) }
    Process.wait(pid)
  end

  def test_a_child_leaves_a_shells_path_to_its_parent
    forker = <<~RUBY
      pid = fork { sleep }
      $stdout.syswrite("\#{pid} \#{Process.pid}\n")
      Process.kill(:STOP, Process.pid)
      $stdin.gets
      Process.kill(:KILL, pid)
    RUBY
    File.write(path("forker.rb"), forker)
    @app = served("sh", "-c", "read x; '#{MwrapTest::RUBY}' --disable=gems '#{path("forker.rb")}'; exit 3")
    answers(path, @app.pid)
    @app.tell("go on")
    child, parent = @app.hear.split.map(&:to_i)
    wait_for_server(of(child))
    answers(of(child), child)
    answers(path, @app.pid)
    Process.kill(:CONT, parent)
    answers(path, parent)
    answers(of(child), child)
    @app.tell("end")
    assert_equal 3, @app.finish.exitstatus, @app.stderr
    clear(child)
  end
end

class OtherProcessesTest < Minitest::Test
  include Family

  def test_exec_begins_anew
    start
    kept_before, = kept
    assert_operator kept_before, :>=, 100
    again = [MwrapTest::RUBY, "--disable=gems", "-I#{MwrapTest::LIB}", path("second.rb")]
    File.write(path("second.rb"), <<~RUBY)
      $kept = Array.new(9) { "e" * 6000 }
      $stdout.syswrite("second \#{Process.pid}\\n")
      $stdin.gets
    RUBY
    @app.tell("exec #{again.join("\0").dump}")
    assert_equal "second #{@app.pid}", @app.hear
    wait_for_server(path)
    answers(path, @app.pid)
    assert_empty tsv.select { |r| r.location.include?("/app.rb:") }
    row = tsv.find { |r| r.location.end_with?("/second.rb:1") }
    assert_equal 9, body("/at/#{escape(row.location)}.tsv").lines.drop(1).count { |l| l.start_with?("6001\t") }
    assert_equal own("s"), sockets
    assert_equal 1, finish.size
  end

  RUNS = ["system('true')", "system('exit 7')", "system('nosuchcommand-x')", "`echo hi`", "`echo hi; exit 3`",
          "Process.wait(spawn('sh', '-c', 'exit 5')) && nil", "IO.popen(['cat'], 'r+') { |c| c.write('a'); c.close_write; c.read }",
          "Process.wait(spawn('kill -TERM $$')) && nil", "system(RbConfig.ruby, '--disable=gems', '-e', 'exit 6')"].freeze

  def test_spawn_system_and_backticks
    native = RUNS.map do |code|
      run_command(MwrapTest::RUBY, "--disable=gems", "-rrbconfig", "-e", "v = #{code}; s = $?; " \
        "print [v, s && (s.signaled? ? \"signal \#{s.termsig}\" : \"exit \#{s.exitstatus}\")].inspect").stdout
    end
    assert_includes native, '["hi\n", "exit 3"]'
    start(options: "children:all")
    RUNS.each_with_index do |code, i|
      pid, said = @app.ask("run #{code}").split(" ", 2)
      assert_equal native[i], said, code
      answers(path, @app.pid)
      # a shell leaves by _exit, before it has a server unless the machine is very slow
      clear(pid) if code.match?(/exit 7|echo|'sh'|kill/)
    end
    assert_equal own("s"), sockets
    # a process that lives for long has a server, as children:all says
    pid = value_of("spawn('exec cat', in: ($out, $in = IO.pipe)[0])")[/\d+/].to_i
    # its shell may have had one, too, if that took long
    eventually("a cat") { File.read("/proc/#{pid}/comm") == "cat\n" }
    wait_for_server(of(pid))
    answers(of(pid), pid)
    assert_operator tsv(at: of(pid)).size, :>, 0
    assert_equal own("s", "s.#{pid}"), sockets
    assert_equal "[#{pid}, \"exit 0\"]", value_of("$out.close; $in.close; Process.wait(#{pid})")
    assert_equal own("s"), sockets
    answers(path, @app.pid)
    assert_operator finish.size, :>=, 3
  end

  def value_of(code) = @app.ask("run #{code}").split(" ", 2)[1]

  # Its end may come at any moment of its server's start.
  def test_who_ends_at_once_leaves_nothing
    60.times do |i|
      run = run_command(MwrapTest::RUBY, "--disable=gems", "-e", "exit 6",
                        env: { "MWRAP" => "socket:#{path}", "LD_PRELOAD" => MwrapTest::TRACKER })
      assert_equal [6, "", ""], [run.status.exitstatus, run.stdout, run.stderr]
      assert_empty sockets, "run #{i}"
    end
  end

  def test_a_daemon_keeps_its_counts_and_serves
    start
    born, before = kept
    @app.tell("daemon")
    @app.hear =~ /\Adaemon (\d+)\z/ or flunk @app.stderr
    pid = Integer($1)
    refute_equal @app.pid, pid
    status = Timeout.timeout(HttpdTest::PATIENCE) { Process.wait2(@app.pid)[1] }
    @fakes.delete(@app)
    assert status.success?
    at = eventually("the daemon serves") do
      [path, of(pid)].find { |p| connects?(p) && stats(at: p)["pid"] == pid }
    rescue SystemCallError, RuntimeError
      nil # it is just taking the path over
    end
    living, row = kept(at: at)
    assert_equal born, living
    assert_equal before.total, row.total
    assert_equal 0, row.growth
    assert_equal "kept", @app.ask("keep 5")
    assert_more 5, line(at: at).growth
    @app.tell("run exit") # it isn't our child: its end shows in its dump, which comes last
    eventually("the daemon is gone") { dead?(pid) }
    assert_empty sockets - own("s") if at != path # the parent left by _exit
    assert_empty sockets if at == path
    assert_equal 1, @app.dumps.size
    assert_more 5, line(rows: @app.dumps[0]).growth
    assert_equal "", @app.stderr
  end

  def test_threads_and_ractors
    app = served_ruby(<<~'RUBY', "-W:no-experimental", name: "app.rb")
      ready = Queue.new
      def in_thread = Array.new(50) {
        "t" * 7000
      }
      ractors = Array.new(4) do |i|
        Ractor.new(Ractor.current) do |main|
          mine = Array.new(50) {
            "r" * 6000
          }
          main.send(mine.size)
          Ractor.receive
          mine.size
        end
      end
      threads = Array.new(8) { Thread.new { mine = in_thread; ready << mine.size; Thread.stop; mine } }
      8.times { ready.pop }
      4.times { Ractor.receive }
      $stdout.syswrite("ready\n")
      $stdin.gets
    RUBY
    assert_equal "ready", app.hear
    at_rest(app) # threads and Ractors have said so before they sleep
    { 3 => [7001, 400], 8 => [6001, 200] }.each do |line, (size, count)|
      row = tsv.find { |r| r.location.end_with?("/app.rb:#{line}") } or flunk "nothing at #{line}"
      sizes = body("/at/#{escape(row.location)}.tsv").lines.drop(1).map(&:to_i).tally
      assert_equal count, sizes[size], row.inspect
      assert_operator row.allocations, :>=, count
      assert_operator row.growth, :>=, count * size
    end
    rows = tsv
    assert_sound rows
    assert_sums rows, stats
    app.tell("end")
    assert_ends_well app
    rows = app.dumps[0]
    assert_operator rows.find { |r| r.location.end_with?("/app.rb:8") }.total, :>=, 200 * 6001
    assert_empty Dir.children(@dir).grep(/\As(\.|\z)/)
  end
end

# Output, errors and status as without the tracker.
class EndingsTest < Minitest::Test
  include Family

  # left over: nothing, or the socket, if there was no time to remove it
  ENDINGS = {
    "puts 1" => [], "exit 3" => [], "abort 'last words'" => [], "raise 'boom'" => [], "raise SystemExit" => [],
    "throw :none" => [], "def f = f\nf" => [], "at_exit { exit 5 }; exit 1" => [], "at_exit { raise 'late' }" => [],
    "Thread.new { exit 6 }.join" => [], "Thread.new { Thread.current.report_on_exception = false; raise 'in a thread' }.join" => [],
    "Thread.new { loop { 'x' * 1000 } }; puts 2; exit 7" => [], "fork { exit 2 }; Process.wait; exit $?.exitstatus" => [],
    "exec 'sh', '-c', 'echo execed; exit 8'" => :any, "trap('TERM') { exit 9 }; Process.kill(:TERM, $$); sleep" => [],
    "trap('EXIT') { puts 'trapped' }; Process.kill(:TERM, $$); sleep" => [],
    "Process.kill(:TERM, $$); sleep" => [], "Process.kill(:INT, $$); sleep" => [], "Process.kill(:HUP, $$); sleep" => [],
    "trap('TERM', 'SYSTEM_DEFAULT'); Process.kill(:TERM, $$); sleep" => :any, "exit! 4" => :any, "Process.kill(:KILL, $$); sleep" => :any,
    "$stdout.close; $stderr.close; exit 3" => [], "Process.setrlimit(:CORE, 0); Signal.trap('ABRT', 'SYSTEM_DEFAULT'); Process.kill(:ABRT, $$); sleep" => :any
  }.freeze

  SERVED = "sleep 0.001 until !ENV['SERVED'] || File.socket?(ENV['SERVED'])\n"

  def test_every_ending
    ENDINGS.each_with_index do |(code, left), i|
      file = path("e#{i}.rb")
      File.write(file, SERVED + code)
      cmd = [MwrapTest::RUBY, "--disable=gems", file]
      native = run_command(*cmd)
      tracked = mwrap_run(*cmd, options: "socket:#{path}", env: { "SERVED" => path })
      assert_equal how(native), how(tracked), code
      if left == []
        assert_empty sockets, code
        refute_empty tracked.processes, code
      else
        FileUtils.rm_f([path, "#{path}.lock"])
      end
      tracked.processes.each { |rows| rows.each { |r| assert_equal r.allocations, r.frees + r.live, "#{code}: #{r.inspect}" } }
    end
  end

  def how(run)
    status = run.status
    [status.signaled? ? "signal #{status.termsig}" : "exit #{status.exitstatus}", run.stdout, run.stderr]
  end
end
