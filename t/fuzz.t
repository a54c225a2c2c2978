#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Each fuzz target (t/fuzz/) is fed its seeds and what libFuzzer makes of them,
# a fixed number of inputs, and finds nothing. `make fuzz` does it for long.

require_relative "lib/c_tests"

include CTests

# how many inputs, and fewer branches of the code than the seeds alone take
INPUTS = { "options" => [50_000, 120], "location" => [8_000, 300], "routes" => [12_000, 300],
           "family" => [12_000, 1_200], "trace" => [8_000, 500] }.freeze

targets = Dir["#{ROOT}/t/fuzz/*.c"].map { |f| File.basename(f, ".c") }.sort
is(targets, INPUTS.keys.sort, "each target has a number of inputs")

built = run("make", "-j2", "fuzzers", "RUBY=#{RbConfig.ruby}", dir: ROOT, limit: 1800)
ok(built.ending == "exit 0", "the targets are built", short(built.out + built.err))

INPUTS.each do |name, (runs, branches)|
  seeds = Dir["#{ROOT}/t/fuzz/corpus/#{name}/*"]
  ok(seeds.size >= 8, "#{name}: there are seeds", seeds.size.to_s)
  Dir.mktmpdir do |dir|
    Dir.mkdir("#{dir}/new") # what is worth keeping goes to the first corpus
    r = run("#{ROOT}/.build/fuzz/#{name}", "-runs=#{runs}", "-seed=1", "-max_len=#{name == "options" ? 20_000 : 4096}", "-timeout=60", "-print_final_stats=1",
            "-dict=#{ROOT}/t/fuzz/#{name}.dict", "-artifact_prefix=#{dir}/found-", "#{dir}/new",
            "#{ROOT}/t/fuzz/corpus/#{name}", *("#{ROOT}/.build/fuzz/pages" if name == "routes"), dir: dir, limit: 900)
    done = r.err[/^stat::number_of_executed_units: +(\d+)/, 1].to_i
    edges = r.err.scan(/ cov: (\d+)/).flatten.last.to_i
    ok(r.ending == "exit 0" && Dir["#{dir}/found-*"].empty?, "#{name}: no fault", "#{r.ending}\n#{r.err.lines.last(60).join}")
    ok(done >= runs, "#{name}: #{runs} inputs were tried", done.to_s)
    ok(edges >= branches, "#{name}: and led to most of the code", edges.to_s)
  end
  is(Dir["#{ROOT}/t/fuzz/corpus/#{name}/*"].sort, seeds.sort, "#{name}: the seeds are as they were")
end

done_testing
