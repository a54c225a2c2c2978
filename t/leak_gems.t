#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The leak test on real gems (t/leaks/gems.rb), each in a process that tracks itself: what an old
# version loses is found at its line, with the number of blocks, and the mended version is clean.
require_relative "lib/tap"
require_relative "leaks/gems"

class LeakGemsTest < Minitest::Test
  HOME = LeakGems.install(ROOT)

  def check(leak, version)
    run = run_command(RUBY, "-W0", "-I#{LIB}", *leak.command(version, 0), env: LeakGems.env(HOME).merge("MWRAP_LEAK_CHECK" => "1"))
    assert_success run
    JSON.parse(run.stdout).tap { |found| assert_equal "#{leak.gem_name}-#{version}", found["gem"] }
  end

  LeakGems::ALL.each do |leak|
    define_method("test_#{leak.name}") do
      skip leak.refused if leak.refused
      old = check(leak, leak.leaks)
      found = old["leaks"].find { |l| l["location"] == leak.location(HOME, leak.leaks) } or flunk old["lines"].join("\n")
      assert_equal "leak", old["outcome"], old["lines"].join("\n")
      assert_operator leak.blocks, :===, found["blocks_per_call"], old["lines"].join("\n")
      # msgpack loses a small block of each call, and a chunk of 128 KiB of every 32nd
      assert_in_epsilon leak.bytes, found["blocks_per_call"] * found["bytes_per_block"], 0.01 unless leak.gem_name == "msgpack"
      assert_operator found.dig("held", "by_nothing"), :>=, found["blocks"].sum * 1.9, old["lines"].join("\n") # of two series
      assert_equal ["clean", []], check(leak, leak.fixed).values_at("outcome", "lines")
    end
  end

  def test_there_are_enough_of_them
    assert_empty LeakGems.missing(HOME)
    assert_operator LeakGems::ALL.count { |leak| leak.gem_name != "redcarpet" && !leak.refused }, :>=, 8
  end
end
