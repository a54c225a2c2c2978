#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Hazards of waiting: an application that uses RCU itself, and a machine that keeps the
# tracker's thread from running while it reads or resets. No allocation waits for anybody,
# and a fork only for so long (src/tracker/README).

require_relative "../lib/hazard"
require_relative "../lib/served"

class WaitHazards < Minitest::Test
  include HttpdTest
  include Served

  # liburcu's own recipe for fork, and sections around allocations at more places than the table has.
  def uses(flavour)
    assert_equal 21, twice(program("urcu_#{flavour}"), "fork").dumps.size
    tracked = twice(program("urcu_#{flavour}"), "section")
    gone = tracked.rows.select { |r| r.location == "(gone)" }.sum(&:allocations)
    assert_operator gone, :>, 1000, "the table was swept meanwhile" unless SAMPLED
    twice(program("urcu_#{flavour}"), "beside")
    assert_adds_up twice(program("urcu_#{flavour}"), "tables")
    twice(program("urcu_#{flavour}"), "fork", options: ->(d) { "socket:#{d}/s,memory_max:4m" }, open_files: false)
  end

  def test_an_application_with_urcu_bp
    uses("bp")
  end

  def test_an_application_with_urcu_memb
    uses("memb")
  end

  def test_an_application_with_urcu_mb
    uses("mb")
  end

  def test_an_application_with_urcu_qsbr
    uses("qsbr")
  end

  SCRIPT = <<~'RUBY'
    require "mwrap"
    $stdout.sync = true
    puts "ready"
    i = 0
    while (line = $stdin.gets&.chomp)
      case line
      when "fork"
        r, w = IO.pipe
        pid = fork do
          kept = Array.new(1000) { "k" * 700 } # the fork's line
          at = Mwrap.each.find { |location, *| location.end_with?("app.rb:10") }
          w.puts(kept.size, at && (1000..1100).cover?(at[2]), Mwrap.stats.fetch(:live) > 1000)
          exit!(0)
        end
        w.close
        puts r.read.split.join(" ")
        Process.wait(pid)
      when "lines"
        40_000.times { eval("'x' * 700\n", binding, "/made/up/#{i / 50}.rb", i % 50 + 1); i += 1 }
        puts Mwrap.paused?
      when "heap" then puts (Array.new(300_000) { Object.new }.size + (GC.start; 1))
      when "threads" then puts 50.times.map { Thread.new { "t" * 700 } }.sum { |t| t.value.size }
      when "read" then puts Mwrap.each.count > 100 && Mwrap.stats.fetch(:live) > 1000 && !Mwrap["/no/such:1"]
      when "ask"
        $asking = [-> { Mwrap.reset }, -> { Mwrap.stats }, -> { Mwrap["/no/such:1"] }, -> { Mwrap.total_bytes_freed }].map do |what|
          Thread.new { what.call; true }
        end
        puts $asking.none? { |t| t.join(0.05) }
      when "asked" then puts $asking.all?(&:value)
      when "retired" then puts Mwrap.stats.fetch(:retired)
      else puts line.upcase
      end
    end
  RUBY

  # objects:on, as where a Ruby has all that is needed: then Ruby's collections call us in the app's threads.
  def stalled_app(at)
    served_ruby(SCRIPT, options: "objects:on", env: {
      "LD_PRELOAD" => "#{MwrapTest::TRACKER} #{preload("stall")}", "STALL_AT" => at,
      "STALL_WHILE" => path("stall"), "STALL_SAYS" => path("says")
    }).tap { |app| assert_equal "ready", app.hear }
  end

  # Somebody asks the server for it, which then can't go on. Yields, lets it go on, returns the answer.
  def while_stalled(verb, target)
    File.write(path("stall"), "")
    asker = Thread.new { request(verb, target) }
    eventually("it can't go on") { File.exist?(path("says")) }
    yield
    File.delete(path("stall"))
    asker.value
  end

  # An application goes on beside a server that stands still.
  def assert_goes_on(app)
    3.times { assert_equal "1000 true true", app.ask("fork") }
    3.times { assert_equal "false", app.ask("lines") }
    assert_equal "300001", app.ask("heap")
    assert_equal "35000", app.ask("threads")
    assert_equal "HELLO", app.ask("hello")
  end

  def test_a_reader_that_is_kept_from_running
    app = stalled_app("mmap")
    3.times { app.ask("lines") }
    assert_operator app.ask("retired").to_i, :>, 0
    answer = while_stalled("GET", "/each/0.tsv") do
      assert_goes_on(app)
      assert_equal "true", app.ask("read"), "readers don't wait for each other"
    end
    assert_equal 200, answer.status
    before = app.ask("retired").to_i
    eventually("locations are retired again") { app.ask("lines") && app.ask("retired").to_i > before }
    assert_ends_well app
  end

  def test_a_reset_that_is_kept_from_running
    app = stalled_app("membarrier")
    app.ask("lines")
    answer = while_stalled("POST", "/reset") do
      assert_goes_on(app)
      assert_equal "true", app.ask("ask"), "they wait for the reset, without Ruby's lock"
      assert_equal "WORLD", app.ask("world")
    end
    assert_equal 200, answer.status
    assert_equal "true", app.ask("asked")
    assert_equal "true", app.ask("read")
    assert_ends_well app
  end
end
