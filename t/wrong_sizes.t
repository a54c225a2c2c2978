#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Blocks freed with another size than was asked for: each is counted at the location that allocated it, and
# nothing else is. Random programs with a ledger (t/programs/sizes.cc; SEED=N repeats them) on each allocator,
# with threads; at a Ruby line; none while allocations are sampled. The program goes on on
# jemalloc and tcmalloc, too, whose own heap a wrong size corrupts.
require_relative "lib/served"
require_relative "lib/c_tests"
require_relative "lib/allocators"

class WrongSizesTest < Minitest::Test
  include Served

  SEED = Integer(ENV.fetch("SEED") { Random.new_seed % 1_000_000 })
  warn "# SEED=#{SEED}"
  LINE = /\Amwrap: a block of \d+ bytes? from \S+\(\+0x\h+\) \[0x\h+\] was freed as one of \d+\n\z/
  FUNCTIONS = 6

  def sizes(seed, threads, below, env = {})
    run_command(CTests.program("sizes"), seed.to_s, threads.to_s, env: { "LD_PRELOAD" => [TRACKER, *below].join(":"), **env }, timeout: 120)
  end

  Allocators.with_libc do |name, path, package|
    define_method("test_a_ledger_on_#{name}") do
      assert path, "#{package} is not installed" if package
      [1, 1, 1, 4].each_with_index do |threads, i|
        run = sizes(SEED + i, threads, path)
        assert run.status.success?, run.stderr
        assert_operator run.stdout.scan(/^ok/).size, :>, FUNCTIONS
        refute_includes run.stdout, "NOT OK", "SEED=#{SEED + i}, #{threads} threads:\n#{run.stdout}"
        assert run.stderr.lines.all?(LINE), run.stderr
        assert_operator run.stderr.lines.size, :<=, FUNCTIONS, "a line for each location"
      end
    end
  end

  def test_none_is_looked_at_while_allocations_are_sampled
    run = sizes(SEED, 4, nil, "MWRAP" => "counts:sampled,sample:4k")
    assert run.status.success?, run.stderr
    assert_empty run.stderr
    assert_equal FUNCTIONS, run.stdout.scan(/^# found 0, want/).size, run.stdout
  end

  APP = <<~'RUBY'
    require "fiddle"
    lib = Fiddle.dlopen("libstdc++.so.6")
    make = Fiddle::Function.new(lib["_Znwm"], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_VOIDP)
    DROP = Fiddle::Function.new(Fiddle.dlopen(nil)["_ZdlPvm"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T], Fiddle::TYPE_VOID)
    blocks = Array.new(100) { make.call(48) }
    blocks.each_with_index { |p, i| DROP.call(p, i < 7 ? 16 : 48) }
    $stdout.sync = true
    puts "done"
    $stdin.gets
  RUBY

  def test_a_ruby_line_on_each_page
    app = served_ruby(APP)
    assert_equal "done", app.hear
    at = "#{path("app.rb")}:5"
    all = JSON.parse(get("/overruns.json").body)
    assert_equal [7, 0], all.values_at("wrong_sizes", "overruns")
    row = all["rows"].find { |r| r["location"] == at } or flunk(all.inspect)
    assert_equal [7, 48, 16, 0], row.values_at("wrong_sizes", "asked_size", "given_size", "count")
    assert_equal 7, JSON.parse(get("/stats.json").body)["wrong_sizes"]
    assert_match(/^mwrap_wrong_sizes(_total)? 7$/, get("/metrics").body)
    assert_match(/7 blocks were freed with a wrong size/, get("/").body)
    assert_match(/\b7 blocks were freed with another size/, get("/overruns").body)
  end
end
