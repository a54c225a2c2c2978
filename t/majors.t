#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# /stats.json's major_gc_count, which the tracker reads without asking Ruby, is that of GC.stat.

require_relative "lib/served"

class MajorsTest < Minitest::Test
  include MwrapTest
  include HttpdTest
  include Served

  # For each line, "MINOR MAJOR": that many collections, and what GC.stat says then. "fork" forks.
  SCRIPT = <<~'RUBY'
    $stdout.sync = true
    GC.disable
    GC.stress = false
    600.times { "x" * 9_000 } # some 500 blocks come before the slow way is taken for good
    while (line = $stdin.gets)
      if line == "fork\n"
        puts fork { sleep }
        next
      end
      minor, major = line.split.map(&:to_i)
      minor.times { GC.start(full_mark: false) }
      major.times { GC.start }
      puts GC.stat(:major_gc_count)
    end
  RUBY

  def majors(at: path) = JSON.parse(body("/stats.json", at: at)).fetch("major_gc_count")

  def collect(app, minor, major) = Integer(app.ask("#{minor} #{major}"))

  # It is found by its values: after collections in several seconds.
  def found(app, at: path)
    eventually("major_gc_count") { collect(app, 1, 1) && majors(at: at) }
  end

  def test_it_is_gc_stats
    app = served_ruby(SCRIPT)
    found(app)
    [[0, 1], [5, 0], [3, 7], [0, 100]].each do |minor, major|
      now = collect(app, minor, major)
      eventually("#{now} major collections") { majors == now }
    end
  end

  def test_a_forked_child_has_it
    app = served_ruby(SCRIPT)
    found(app)
    pid = app.ask("fork")
    at = "#{path}.#{pid}"
    wait_for_server(at)
    now = collect(app, 0, 0)
    eventually("the child's") { majors(at: at) == now }
  ensure
    Process.kill(:KILL, Integer(pid)) if pid
  end

  def test_the_slow_way_has_it_too
    app = served_ruby(SCRIPT, env: { "MWRAP_RUBY_PUBLIC" => "1" })
    found(app)
    now = collect(app, 2, 3)
    eventually("#{now} major collections") { majors == now }
  end

  def test_a_process_without_ruby_has_none
    served("/bin/cat")
    assert_nil majors
  end
end
