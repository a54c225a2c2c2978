#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# The socket's file: who may connect, who owns the path, what is replaced and what never,
# and what becomes of all that after fork, kill and exit.

require_relative "lib/httpd"

class HttpdSocketTest < Minitest::Test
  def mode(file) = File.lstat(file).mode & 0o7777

  def sockets(pid)
    Dir.children("/proc/#{pid}/fd").count { |fd| File.readlink("/proc/#{pid}/fd/#{fd}").start_with?("socket:") rescue false }
  end

  # Ends it at once; what it said on stderr.
  def refused(*options)
    f = fake(*options)
    eventually("a line on stderr") { f.said.end_with?("\n") }
    assert_equal "stopped 1", f.ask("stop")
    assert_match(/\Amwrap: [^\n]+\n\z/, f.said)
    f.said.delete_prefix("mwrap: ").chomp
  end

  # of the process that serves there: / shows all of its family
  def pid_at(at) = JSON.parse(get("/verdict.json", at: at).body)["start"].to_i

  def test_modes_whatever_the_umask
    %w[000 022 077 0777 0177 0277].each_with_index do |umask, i|
      at = path("s#{i}")
      fake("umask=#{umask}", "socket=#{at}", at: at)
      assert_equal 0o600, mode(at), umask
      assert_equal 0o600, mode("#{at}.lock"), umask
      assert_equal 200, get("/", at: at).status
    end
  end

  def test_nothing_is_left_after_stop_and_after_exit
    f = serving
    assert_equal "stopped 1", f.ask("stop")
    assert_equal ["log0"], Dir.children(@dir)
    f = serving
    assert f.finish.success?
    assert_equal %w[log0 log1], Dir.children(@dir).sort
  end

  # The thread of a busy machine gets no time before the process is gone.
  def test_an_end_without_the_servers_thread_leaves_nothing
    10.times do
      f = fake("listen=127.0.0.1:0")
      eventually("its sockets") { Dir.glob(path("mwrap-*/*")).size == 2 }
      f.tell("leave")
      assert f.finish.success?
    end
    assert_empty Dir.children(@dir).grep_v(/\Alog/)
  end

  def test_a_stale_socket_is_replaced
    UNIXServer.open(path, &:close) # bound, then closed: the file stays
    assert File.socket?(path)
    serving
    assert_equal 200, get("/").status
    assert_equal 0o600, mode(path)
  end

  def test_a_killed_owners_socket_is_replaced
    serving.kill
    assert File.socket?(path)
    assert File.exist?("#{path}.lock")
    f = serving
    assert_equal 200, get("/").status
    f.finish
    assert_empty Dir.children(@dir).grep_v(/log/)
  end

  # connect() works on this one, but its owner is dead.
  def test_a_killed_owners_socket_is_replaced_while_its_child_lives
    f = serving
    child = f.ask("fork leaky")[/child (\d+) has [1-9]/, 1].to_i
    assert_operator child, :>, 0
    f.kill
    assert connects?(path), "the child holds the listening socket"
    old = File.stat(path).ino
    successor = fake("socket=#{path}")
    eventually("another socket at the path") do
      File.stat(path).ino != old
    rescue Errno::ENOENT # the old one is gone, the new one isn't bound yet
      false
    end
    wait_for_server(path)
    assert_equal successor.pid, pid_at(path)
  ensure
    Process.kill(:KILL, child) if child&.positive?
  end

  # A child that let go keeps nothing alive.
  def test_a_killed_owners_socket_is_dead_while_its_child_lives
    f = serving
    child = f.ask("fork quiet")[/child (\d+) has 0\z/, 1].to_i
    assert_operator child, :>, 0
    f.kill
    refute connects?(path)
  ensure
    Process.kill(:KILL, child) if child&.positive?
  end

  def test_a_live_socket_is_never_taken
    first = serving
    second = fake("socket=#{path}")
    beside = "#{path}.#{second.pid}"
    wait_for_server(beside)
    assert_equal 0o600, mode(beside)
    assert_equal first.pid, pid_at(path)
    assert_equal second.pid, pid_at(beside)
    second.finish
    assert_equal first.pid, pid_at(path)
    refute File.exist?(beside)
    refute File.exist?("#{beside}.lock")
    assert_equal "", second.said
    first.finish
    third = serving
    assert_equal third.pid, pid_at(path)
  end

  def test_many_processes_race_for_one_path
    all = Array.new(12) { fake("socket=#{path}") }
    all.each { |f| eventually("a server of #{f.pid}") { pids.include?(f.pid) } }
    assert_equal all.map(&:pid).sort, pids.sort
    all.each(&:finish)
    assert_empty Dir.children(@dir).grep_v(/log/)
  end

  # Of all that serve in the directory.
  def pids
    Dir.children(@dir).grep(/\As(\.\d+)?\z/).map { |n| pid_at(path(n)) }
  rescue Errno::ECONNREFUSED, Errno::ENOENT
    []
  end

  def test_another_programs_socket_is_never_taken
    UNIXServer.open(path) do |theirs|
      assert_match(/another program's socket: remove it or choose another path\z/, refused("socket=#{path}"))
      assert_equal theirs.path, path
      assert connects?(path)
    end
    refute File.exist?("#{path}.lock")
  end

  def test_what_is_not_a_socket_is_never_touched
    File.write(path, "precious")
    assert_match(/not a socket: remove it or choose another path\z/, refused("socket=#{path}"))
    assert_equal "precious", File.read(path)
    File.unlink(path)
    File.symlink(path("elsewhere"), path)
    assert_match(/not a socket: remove it or choose another path\z/, refused("socket=#{path}"))
    assert File.symlink?(path)
    refute File.exist?(path("elsewhere"))
    File.unlink(path)
    Dir.mkdir(path)
    assert_match(/not a socket: remove it or choose another path\z/, refused("socket=#{path}"))
    refute File.exist?("#{path}.lock")
  end

  def test_what_is_not_a_lock_is_never_touched
    lock = "#{path}.lock"
    File.write(lock, "precious")
    assert_match(/not a lock/, refused("socket=#{path}"))
    assert_equal "precious", File.read(lock)
    File.unlink(lock)
    File.symlink(path("elsewhere"), lock)
    assert_match(/: can't open its lock: /, refused("socket=#{path}"))
    refute File.exist?(path("elsewhere"))
    File.unlink(lock)
    File.mkfifo(lock)
    assert_match(/not a lock/, refused("socket=#{path}"))
    refute File.exist?(path)
  end

  def test_impossible_paths
    assert_match(/missing: no such directory, so there is no server: make it\z/, refused("socket=#{path("missing/s")}"))
    assert_match(/longer than the 107 bytes/, refused("socket=#{path("x" * 108)}"))
    file = path("file")
    File.write(file, "")
    assert_match(/file: not a directory, so there is no server: choose another path\z/, refused("socket=#{file}/s"))
    assert_match(/: not a directory: remove it or choose another path\z/, refused("socket_dir=#{file}"))
    assert_match(/: can't create the directory: /, refused("socket_dir=#{path("a/b/c")}"))
  end

  def test_the_longest_path
    at = path("x" * (107 - @dir.bytesize - 1))
    assert_equal 107, at.bytesize
    fake("socket=#{at}", at: at)
    assert_equal 200, get("/", at: at).status
    assert_match(/longer than the 107 bytes/, refused("socket=#{at}")) # no room for .PID beside it
  end

  def test_percent_p
    f = fake("socket=#{path}.%p.x%%")
    assert wait_for_server(path("s.#{f.pid}.x%"))
  end

  def test_socket_dir
    dir = path("dir")
    f = fake("umask=0", "socket_dir=#{dir}")
    at = "#{dir}/#{f.pid}.sock"
    wait_for_server(at)
    assert_equal 0o700, mode(dir)
    assert_equal 0o600, mode(at)
    second = fake("socket_dir=#{dir}")
    wait_for_server("#{dir}/#{second.pid}.sock")
    assert_equal second.pid, pid_at("#{dir}/#{second.pid}.sock")
    [f, second].each(&:finish)
    assert_empty Dir.children(dir)
  end

  def test_one_that_fails_leaves_the_others
    File.write(path, "")
    f = fake("socket=#{path}", "socket_dir=#{path("d")}", "listen=127.0.0.1:0")
    wait_for_server("#{path("d")}/#{f.pid}.sock")
    port = eventually("a port") { f.said[/127.0.0.1:(\d+)/, 1] }.to_i
    assert_equal 200, get("/", at: port).status
    assert_match(/not a socket/, f.said)
    assert_equal 2, f.said.lines.size
  end

  # --- fork -----------------------------------------------------------------

  def test_a_child_gets_its_own_socket
    f = serving
    child = f.ask("fork serving")[/child (\d+) has 0\z/, 1].to_i
    beside = "#{path}.#{child}"
    wait_for_server(beside)
    assert_equal child, pid_at(beside)
    assert_equal f.pid, pid_at(path)
    f.finish # the child sees that its parent is gone, and ends
    eventually("an empty directory") { Dir.children(@dir).grep_v(/log/).empty? }
  end

  # One for both, without a word of the child's, which has it after its parent.
  def test_a_child_shares_its_parents_port
    f = fake("listen=127.0.0.1:0")
    port = eventually("a port") { f.said[/127.0.0.1:(\d+)/, 1] }.to_i
    child = f.ask("fork serving")[/child (\d+) has 0\z/, 1].to_i
    eventually("both") { get("/family.tsv", at: port).body.scan(/^\d+/).map(&:to_i).sort == [f.pid, child].sort }
    assert_match(/pid #{child}\b/, get("/#{child}/", at: port).body)
    assert_equal f.pid, pid_at(port)
    assert_equal 1, f.said.lines.size, f.said
    f.finish # the child sees that its parent is gone, and ends
    eventually("an empty directory") { Dir.glob(path("mwrap-*")).empty? }
  end

  def test_a_childs_end_leaves_the_parents_socket
    f = serving
    child = f.ask("fork serving")[/child (\d+)/, 1].to_i
    wait_for_server("#{path}.#{child}")
    Process.kill(:KILL, child)
    assert_equal f.pid, pid_at(path)
    assert_equal "forks 5 bad 0", f.ask("forks 5")
    assert_equal f.pid, pid_at(path)
  end

  # A fork at any moment of the server's life: clients come and go all the time.
  def test_children_keep_no_descriptor
    f = serving("rows=2000", "listen=127.0.0.1:0")
    port = eventually("a port") { f.said[/127.0.0.1:(\d+)/, 1] }.to_i
    idle = Array.new(20) { connect }
    stop = false
    clients = Array.new(4) do |i|
      Thread.new { (i.odd? ? get("/each/0.tsv") : get("/stats.json", at: port)) until stop }
    end
    assert_equal "forks 300 bad 0", f.ask("forks 300")
    stop = true
    clients.each(&:join)
    assert_equal 200, get("/").status
  ensure
    stop = true
    idle&.each(&:close)
  end

  def test_clients_of_the_parent_survive_a_fork
    f = serving
    s = connect
    s.write("GET /stats.json HTTP/1.1\r\nHost: x\r\n")
    child = f.ask("fork quiet")[/child (\d+)/, 1].to_i
    s.write("Connection: close\r\n\r\n")
    assert_equal 200, parse(drain(s)).status
  ensure
    Process.kill(:KILL, child) if child&.positive?
  end

  # --- descriptors ----------------------------------------------------------

  def test_three_thousand_descriptors_before_the_server
    skip "too few descriptors may be opened here" if Process.getrlimit(:NOFILE)[1] < 4096
    f = serving("nofile=4096", "fds=3000")
    conns = Array.new(30) { connect }
    assert_equal 200, get("/each/0").status
    conns.each { |s| s.write("GET /stats.json HTTP/1.0\r\n\r\n") }
    conns.each { |s| assert_equal 200, parse(drain(s)).status }
    assert_equal "forks 3 bad 0", f.ask("forks 3")
  end

  def test_no_descriptor_left_for_the_application_to_use
    f = serving("nofile=256")
    assert_match(/\Aate [1-9]/, f.ask("eat"))
    before = f.ask("cpu")[/\d+/].to_i
    s = connect # waits in the backlog
    s.write("GET / HTTP/1.0\r\n\r\n")
    sleep 1
    spent = f.ask("cpu")[/\d+/].to_i - before
    assert_operator spent, :<, 500, "it spins: ms of CPU in a second"
    assert_equal "spat", f.ask("spit")
    assert_equal 200, parse(drain(s)).status
  end

  # Daemons close everything. The application's own files get those numbers next.
  def test_an_application_that_closes_everything
    f = serving
    s = connect
    assert_equal "closed", f.ask("close all")
    before = f.ask("files")
    begin
      s.write("GET / HTTP/1.0\r\n\r\n")
    rescue Errno::EPIPE
      nil
    end
    sleep 0.5
    assert_equal before, f.ask("files")
    f.tell("stop")
    assert_match(/\Astopped [01]\z/, f.hear)
    assert_equal before, f.ask("files")
    assert_empty Dir.children(@dir).grep_v(/log/)
    assert f.finish.success?
  end

  def test_an_application_that_closes_all_but_the_listeners
    f = serving
    s = connect
    s.write("GET / HTTP/1.1\r\n")
    eventually("the server has it in its hands") { sockets(f.pid) > 1 }
    assert_equal "closed", f.ask("close some")
    f.tell("stop") # now libmicrohttpd closes a descriptor that isn't there, and panics
    assert_match(/\Astopped [01]\z/, f.hear)
    assert_match(/\A(mwrap: [^\n]+ the server is off\n)?\z/, f.said)
    assert f.finish.success?
    assert_empty Dir.children(@dir).grep_v(/log/)
  end

  def test_files_that_were_removed_or_replaced_meanwhile
    f = serving
    File.unlink(path)
    File.write(path, "precious")
    f.finish
    assert_equal "precious", File.read(path)
    File.unlink(path)
    f = serving
    File.unlink("#{path}.lock")
    f.finish
    refute File.exist?(path)
  end

  def test_a_relative_path
    f = Dir.chdir(@dir) { fake("socket=s", at: path) }
    assert_equal 200, get("/").status
    f.finish
    assert_empty Dir.children(@dir).grep_v(/log/)
  end
end
