#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The kernel kills a process that leaks, at the limit of a real cgroup: its report is there, complete, and names the
# line. RUNS=50 does it 50 times.
require_relative "lib/cgroup"
require_relative "lib/reports"

class TestOfReportsOom < Minitest::Test
  include MakesCgroups
  include ReadsReports

  RUNS = Integer(ENV.fetch("RUNS", "3"))
  # 20 MB in a second, without an end
  SCRIPT = <<~'RUBY'
    $keep = []
    $stdin.gets
    loop do
      $keep << ("x" * 1_000_000)
      sleep 0.05
    end
  RUBY

  def run_once(run)
    group = made = make_cgroup(120 << 20, name: "mwrap-test-#{Process.pid}-#{run}")
    skip "no memory cgroup can be made here: #{made}" if made.is_a?(String)
    dir = path("run#{run}")
    Dir.mkdir(dir)
    app = reporting(SCRIPT, "report_at:90%", dir: dir)
    File.write(group.procs, app.pid.to_s)
    app.tell("go")
    status = app.wait
    assert_equal 9, status&.termsig, "run #{run}: the kernel killed it: #{app.stderr}"
    assert_operator group.kills, :>=, 1, "for want of memory"
    assert_equal 1, reports(dir).size, "run #{run}: #{Dir.children(dir)}"
    assert_complete reports(dir)[0], "/app.rb:4"
    assert_nothing_half dir
    assert_match(/memory reached 90% of its limit/, File.read("#{reports(dir)[0]}/verdict.txt"))
    assert_equal "", app.stderr
  ensure
    app&.kill
    remove_cgroup(group)
  end

  def test_a_leak_to_the_kill
    RUNS.times { |run| run_once(run) }
  end
end
