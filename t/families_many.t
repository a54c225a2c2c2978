#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# A thousand children that live for a moment, and end in every way: they leave no file, and
# no descriptor, thread or memory in the process that has the path.

require_relative "lib/clusters"

class FamiliesManyTest < Minitest::Test
  include Served

  # One in five of each; 25 at a line of stdin, then says how many had a socket.
  APP = <<~'RUBY'
    $stdout.sync = true
    socket = ARGV.fetch(0)
    served = lambda do
      n = 0
      sleep 0.005 until File.socket?("#{socket}.#{Process.pid}") || (n += 1) > 4000
      $had.syswrite(".") if n <= 4000
    end
    ways = [
      -> { served[]; exit },
      -> { exit! },
      -> { exit },
      -> { served[]; Process.kill(:TERM, Process.pid); sleep },
      -> { sleep } # the parent ends it: by TERM, or one in five by KILL, at once or once it serves
    ]
    made = 0
    while $stdin.gets
      r, $had = IO.pipe
      batch = Array.new(25) do
        i = made += 1
        pid = fork { r.close; ways[i % 5][] }
        [pid, i]
      end
      batch.each do |pid, i|
        next unless i % 5 == 4
        if (i / 5).even?
          n = 0
          sleep 0.005 until File.socket?("#{socket}.#{pid}") || (n += 1) > 4000
          $had.syswrite("!") if n <= 4000
        end
        Process.kill((i / 5) % 5 < 2 ? :KILL : :TERM, pid)
      end
      batch.each { |pid,| Process.wait(pid) }
      $had.close
      puts r.read.size
      r.close
    end
  RUBY

  # Forks all the time, until its server is there and a bit longer.
  EARLY = <<~'RUBY'
    $stdout.sync = true
    more = 5
    children = []
    while more > 0 && children.size < 400
      more -= 1 if File.socket?(ARGV[0])
      children << fork { sleep }
    end
    puts children.join(" ")
    $stdin.gets
    children.each { |pid| Process.kill(:KILL, pid) }
    Process.waitall
  RUBY

  def open_in(pid) = Dir["/proc/#{pid}/fd/*"].filter_map { |fd| File.readlink(fd) rescue nil }

  # Where one keeps the socket that its parent listens on, a killed parent seems to answer.
  def test_who_is_forked_as_the_server_starts_keeps_nothing_of_it
    forked = 0
    5.times do |i|
      at = path("e#{i}")
      app = served_ruby(EARLY, args: [at], at: at, wait: false)
      children = app.hear.split.map { |pid| Integer(pid) }
      forked += children.size
      wait_for_server(at)
      # those that listen: flags 00010000. A child closes what it inherited as its first act.
      ours = File.readlines("/proc/net/unix").map(&:split).select { |l| l[7] == at && l[3] == "00010000" }.map { |l| "socket:[#{l[6]}]" }
      all = [app.pid, *children]
      eventually("one process that listens") { all.count { |pid| (ours & open_in(pid)).any? } == 1 }
      # the one it may have is its own look at who has the path, which has two numbers while it moves to a high one
      eventually("no second one") { children.none? { |pid| open_in(pid).count("#{at}.lock") > 1 } }
      app.finish
    end
    assert_operator forked, :>=, 25
  end

  def state(pid)
    {
      descriptors: Dir.children("/proc/#{pid}/fd").map { |fd| File.readlink("/proc/#{pid}/fd/#{fd}") rescue nil }.compact,
      threads: Dir.children("/proc/#{pid}/task").size,
      tracker: JSON.parse(body("/stats.json"))["tracker_bytes"]
    }
  end

  # Open descriptors but for the connection that asks, in no order.
  def same(descriptors) = descriptors.map { |d| d[/\A(socket|pipe)/] || d }.tally

  # The tracker keeps 72 kB for each thread that there ever was at once. A slow machine may have more of the
  # server's at once than others do; so that they don't count, there are some here from the start: each waits
  # for a relative that doesn't answer.
  def many_threads_at_once
    silent = UNIXServer.new("#{path}.999999984")
    Array.new(4) { Thread.new { family } }.each(&:join)
  ensure
    silent&.close
    FileUtils.rm_f("#{path}.999999984")
  end

  def test_they_leave_nothing
    app = served_ruby(APP, args: [path])
    list([app.pid])
    # of processes that were killed before they had a socket, or as they wrote to its lock; and others' files
    { 999_999_981 => "", 999_999_982 => "mwrap 999999982\n", 999_999_983 => "others'", "nobody" => "mwrap 1\n" }.each do |who, text|
      File.write(path("s.#{who}.lock"), text)
    end
    many_threads_at_once
    # the least of some: a connection of ours may still be open
    before = Array.new(10) { sleep 0.05; state(app.pid) }.min_by { |s| s[:descriptors].size + s[:threads] }
    after = Array.new(4) do
      had = Array.new(10) { Integer(app.ask("go")) }.sum
      # 100 that end once they serve and 25 or so that are told to; a slow one counts, too
      assert_equal 125, had
      list([app.pid])
      state(app.pid)
    end
    # those that were killed, or left by _exit, couldn't remove their own; whoever has the path does
    eventually("the files to go") { Dir.children(@dir).grep(/\As(\.|\z)/).sort == %w[s s.999999983.lock s.lock s.nobody.lock] }
    list([app.pid])
    was = same(before[:descriptors])
    more = Array.new(600) do
      now = state(app.pid)
      left = [same(now[:descriptors]).reject { |d, n| n <= was.fetch(d, 0) }, now[:threads] - before[:threads]]
      break if left == [{}, 0]
      sleep 0.1
      left
    end
    assert_nil more, "more than before, for a minute: #{more&.tally}"
    assert_operator after.last[:tracker], :<=, after.first[:tracker] + (64 << 10)
    assert_equal "", app.stderr
    assert app.finish.success?
    assert_equal %w[s.999999983.lock s.nobody.lock], Dir.children(@dir).grep(/\As(\.|\z)/).sort
  end
end
