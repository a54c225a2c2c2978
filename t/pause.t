#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# Tracking that is turned off and on: over HTTP, from Ruby, in C, and while threads allocate.

require_relative "lib/served"

class TestOfPause < Minitest::Test
  APP = <<~'RUBY'
    require "mwrap"
    $stdout.sync = true
    $kept = []
    def keep(s) = $kept << s
    def known
      keep "k" * 5000
    end
    def other
      keep "o" * 6000
    end
    def busy(n = 200) = n.times {
      "b" * 3000
    }
    100.times { known && other } # what a JIT allocates to compile them comes now
    $kept.clear && GC.start; busy
    def added(at = "#{__FILE__}:9")
      before = Mwrap[at].allocations
      yield
      Mwrap[at].allocations - before
    end
    puts "ready"
    while (line = $stdin.gets&.chomp)
      case line
      when "known" then 100.times { known }; puts "ok"
      when "other" then 100.times { other }; puts "ok"
      when "forget" then $kept.clear; GC.start; puts "ok"
      when "threads" then $stop = false; $t = 4.times.map { Thread.new { busy until $stop } }; puts "ok"
      when "join" then $stop = true; $t.each(&:join); $t = nil; GC.start; puts "ok"
      when "fork"
        r, w = IO.pipe
        pid = fork { w.puts [Mwrap.paused?, added { 100.times { other } }, Mwrap.resume, Mwrap.paused?].inspect; exit!(0) }
        w.close
        puts r.read
        Process.wait(pid)
      else puts eval(line).inspect
      end
    end
  RUBY

  KNOWN, OTHER, BUSY = 6, 9, 12 # lines

  def row(line) = tsv.find { |r| r.location.end_with?("/app.rb:#{line}") }
  def counts(line) = row(line).then { |r| [r.allocations, r.frees, r.live] }

  # The block's additions to a line's allocations, frees and live blocks.
  def added(line)
    before = counts(line)
    yield
    counts(line).zip(before).map { |a, b| a - b }
  end

  def start(*options)
    app = served_ruby(APP, options: options)
    assert_equal "ready", app.hear
    app
  end

  def test_over_http
    app = start
    assert_equal [100, 0, 100], added(KNOWN) { assert_equal "ok", app.ask("known") }
    assert_equal false, stats["paused"]
    assert_line post("/pause"), 200, /off/
    assert_equal true, stats["paused"]
    [KNOWN, OTHER].each do |line|
      assert_equal [0, 0, 0], added(line) { 2.times { %w[known other].each { |w| assert_equal "ok", app.ask(w) } } }
    end
    %w[/ /each/0 /each/2000?group=gem].push("/at/#{escape(row(KNOWN).location)}").each do |page|
      assert_includes body(page).force_encoding("UTF-8"), "Tracking is paused"
    end
    assert_includes body("/"), %(action="/resume")
    made, freed, live = added(KNOWN) { assert_equal "ok", app.ask("forget") }
    assert_equal 0, made
    assert_includes 90..101, freed, "frees of what is known are counted"
    assert_equal(-freed, live)
    assert_line post("/resume"), 200, /on/
    assert_equal false, stats["paused"]
    assert_equal [100, 0, 100], added(OTHER) { assert_equal "ok", app.ask("other") }
    assert_includes body("/"), %(action="/pause")
    refute_includes body("/").force_encoding("UTF-8"), "Tracking is paused"
    assert_exact tsv.select { |r| r.location.include?("/app.rb:") }
    assert app.finish.success?
  end

  def test_get_doesnt_and_read_only_refuses
    app = start("read_only:1")
    %w[/pause /resume].each do |t|
      assert_equal 405, get(t).status
      assert_line post(t), 403, /read_only/
    end
    assert_equal false, stats["paused"]
    assert app.finish.success?
  end

  def test_from_ruby
    app = start
    assert_equal "[false, nil, true, nil, true, nil, false, nil, false]",
      app.ask("[Mwrap.paused?, Mwrap.pause, Mwrap.paused?, Mwrap.pause, Mwrap.stats[:paused], Mwrap.resume, Mwrap.paused?, Mwrap.resume, Mwrap.stats[:paused]]")
    assert_equal "nil", app.ask("Mwrap.pause")
    assert_equal [0, 0, 0], added(OTHER) { assert_equal "ok", app.ask("other") }
    assert_equal "[true, 0, nil, false]", app.ask("fork"), "a child inherits it, and has its own"
    assert_equal "true", app.ask("Mwrap.paused?")
    assert_equal "nil", app.ask("Mwrap.resume")
    assert_equal [100, 0, 100], added(OTHER) { assert_equal "ok", app.ask("other") }
    assert app.finish.success?
  end

  def test_without_the_tracker
    r = run_command(MwrapTest::RUBY, "-I#{MwrapTest::LIB}", "-rmwrap", "-e",
                    "p [Mwrap.paused?, Mwrap.pause, Mwrap.paused?, Mwrap.resume, Mwrap.stats[:paused]]")
    assert_equal ["[false, nil, false, nil, false]\n", ""], [r.stdout, r.stderr]
  end

  # Whatever is switched when: each block is counted twice, once each way, or never.
  def test_while_threads_allocate
    app = start
    assert_equal "ok", app.ask("threads")
    60.times { |i| assert_equal 200, post(i.even? ? "/pause" : "/resume").status }
    eventually("some were counted") { row(BUSY).allocations.to_i > 1000 }
    assert_equal "ok", app.ask("join")
    # a native thread that Ruby had kept for another of its threads ends some seconds later, and frees then
    rows = same = nil
    eventually("both of one moment") { same, rows = stats, tsv; %w[allocations frees].all? { |k| same[k] == stats[k] } }
    assert_sound rows
    rows.each { |r| assert_equal r.allocations, r.frees + r.live, r.inspect }
    r = row(BUSY)
    assert_operator r.live, :<=, 50, r.inspect
    assert_sums rows, same
    assert app.finish.success?
    assert_exact app.dumps[0]
  end

  # The same in C, where every call is accounted for; also above an allocator whose heap can't be read.
  def test_every_call
    jemalloc = Dir["/usr/lib/*/libjemalloc.so.2"].first
    [[], *([[jemalloc]] if jemalloc)].each do |beneath|
      { "calm" => 20, "threads" => 7, "fork" => 6 }.each do |what, least|
        r = mwrap_run(program("pauses"), what, preload: beneath)
        assert_success r
        assert_includes r.stdout, "# api 1\n"
        assert_equal "", r.stdout.lines.grep(/NOT OK/).join
        assert_operator r.stdout.lines.grep(/\Aok /).size, :>=, least, what
        assert r.stdout.end_with?("ok done\n")
        next if what != "calm"
        sum = r.rows.select { |x| x.location.include?("(site_known+") }
        assert_equal [1000, 1000, 0], [sum.sum(&:allocations), sum.sum(&:frees), sum.sum(&:live)]
      end
    end
  end
end
