#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# Allocations that are sampled: the estimates against a ledger, on each allocator; the change to exact counting and back.

require_relative "lib/served"
require_relative "lib/allocators"

class SampledTest < Minitest::Test
  RATE = 16_384
  SEED = Integer(ENV.fetch("SEED", Random.new_seed % 100_000)).tap { |s| puts "# SEED=#{s}" }
  LIVE = /^# (\w+) live (\w+) (-?\d+) (\d+) (\d+)$/

  # An estimate's variance is the rate times the true bytes at most, whatever the sizes.
  def assert_near(bytes, estimate, what)
    assert_in_delta bytes, estimate, 6 * Math.sqrt(RATE * bytes) + 6 * RATE, what
  end

  def assert_told(run)
    told = run.stdout.scan(LIVE).map { |part, function, *numbers| [part, function, *numbers.map(&:to_i)] }
    assert_equal 6 * 12, told.size
    told.each do |part, function, bytes, estimate, error|
      next assert_near(bytes, estimate, "#{part} #{function}") unless function.start_with?("exact_") && part == "exact"
      assert_equal [bytes, 0], [estimate, error], "#{part} #{function}"
    end
    # each says how far it may be off: two standard deviations
    sure = told.reject { |part, function, *| function.start_with?("exact_") && part == "exact" }.reject { |_, _, bytes, *| bytes < 20 * RATE }
    wrong = sure.reject { |_, _, bytes, estimate, error| (estimate - bytes).abs <= error }
    refute_empty sure
    assert_operator wrong.size, :<=, [sure.size / 5, 3].max, wrong.inspect
  end

  Allocators.with_libc do |name, path, package|
    define_method("test_ledger_on_#{name}") do
      assert path, "#{package} is not installed" if package
      run = run_command(program("sampled"), SEED.to_s, timeout: 300,
                        env: { "LD_PRELOAD" => [TRACKER, *path].join(":"), "MWRAP" => "counts:sampled,sample:#{RATE}" })
      assert_success run
      refute_includes run.stdout, "NOT OK"
      assert_equal "", run.stderr
      assert_told run
    end
  end
end

class SampledOverHttpTest < Minitest::Test
  include HttpdTest
  include Served

  APP = <<~'RUBY'
    require "mwrap"
    $stdout.sync = true
    KEPT = []
    def keep(n) = n.times {
      KEPT << "k" * 2000
    }
    puts "ready"
    $stdin.each_line { |line| puts eval(line).inspect }
  RUBY

  def start(options)
    File.write(path("app.rb"), APP)
    @app = served(MwrapTest::RUBY, "-I#{LIB}", path("app.rb"), options: options)
    assert_equal "ready", @app.hear
  end

  def tell(code) = @app.ask(code)

  def row = tsv.find { |r| r.location.end_with?("/app.rb:5") }
  def stats = JSON.parse(get("/stats.json").body)

  # Without Ruby the table's samples are those whose stacks were kept, too: as many, and with the weight that they have.
  # Bytes that live vary by sqrt(rate * bytes) at most. Blocks vary more, since a small one is seldom a sample.
  def test_exact_counts_become_estimates_without_ruby
    [[1, 16_384], [1, 65_536], [3, 65_536]].each do |threads, rate|
      app = served(program("keeps"), SampledTest::SEED.to_s, threads.to_s, options: ["stacks:#{rate}"])
      assert_equal "done", app.hear
      exact = stats
      assert_equal 200, post("/sampled").status
      estimate = stats
      bytes = exact["live_bytes"]
      assert_operator bytes, :>, threads * 120_000_000
      # three threads drop some samples; what these stood for is estimated, too
      assert_in_delta bytes, estimate["live_bytes"], 6 * Math.sqrt(rate * bytes) + (threads > 1 ? bytes / 20 : 0), "#{threads}, #{rate}"
      assert_in_delta exact["live"], estimate["live"], exact["live"] * 0.3, "#{threads}, #{rate}"
      app.finish
    end
  end

  def test_estimates_and_the_way_to_exact_counting
    start "counts:sampled,sample:16k"
    tell "keep 5000"
    assert_in_delta 10_005_000, row.live_bytes, 2_000_000
    assert_operator row.live_samples, :>, 100
    assert_includes 2..40, row.live_error
    assert_equal ["sampled", 16_384, true], stats.values_at("counts", "sample_rate", "estimated")
    %w[/overruns /overruns.tsv].each { |page| assert_equal 409, get(page).status, page }
    assert_match(/exact counting is off: POST \/exact/, post("/trace/start").body)
    assert_includes get("/").body, "all figures are estimates"
    # its lists have each sample once
    one = get("/at/#{escape(row.location)}").body.force_encoding("UTF-8")
    ["Sampled live blocks by size", "Sampled live blocks by age", "of #{row.live_samples} sampled live blocks", "The sums and how they are divided are estimated"].each { |text| assert_includes one, text }
    before = row
    assert_equal 200, post("/exact").status
    assert_equal "exact", stats["counts"]
    tell "keep 1000"
    now = row
    # the Array's own block, too, and what dies of the samples' time
    assert_in_delta 1000, now.live - before.live, 30
    assert_in_delta 2_001_000, now.live_bytes - before.live_bytes, 100_000
    assert_equal 200, get("/overruns").status
    tell "KEPT.clear; 2.times { GC.start }; 0"
    assert_operator row.live, :<, 300 # a stack may keep some, and each of those may stand for eight
    assert_equal 200, post("/sampled").status
    assert_equal "sampled", stats["counts"]
  end

  def test_from_ruby_and_by_commands
    start "stacks:off"
    assert_equal "[false, true, true, \"sampled\", 32768]", tell("[Mwrap.sampled?, Mwrap.sampled!(32768), Mwrap.sampled?, *Mwrap.stats.values_at(:counts, :sample_rate)]")
    tell "keep 5000"
    assert_in_delta 10_005_000, row.live_bytes, 4_000_000
    assert_equal "[nil, false, \"exact\", nil]", tell("[Mwrap.exact!, Mwrap.sampled?, *Mwrap.stats.values_at(:counts, :sample_rate)]")
    ctl = ->(*words) { run_command(RUBY, File.join(ROOT, "lib/exe/mwrapctl"), *words, path) }
    said = -> { [ctl["top", "--once"].stdout[/up .*, figures are estimates, .* blocks/], ctl["who"].stdout[/^Allocations are sampled: only the blocks that are samples are known\.$/], JSON.parse(body("/holders.json"))["estimated"] || nil] }
    tell "KEPT.clear; 2.times { GC.start }; 0"
    assert_match(/\Asampled: /, ctl["sampled"].stdout)
    assert_equal "true", tell("Mwrap.sampled?")
    told = said[]
    assert told.all?, told.inspect
    assert_includes run_command(RUBY, File.join(ROOT, "lib/exe/mwrapctl"), "ps", "--text", "-n", "10000").stdout, "#{path} (sampled)"
    assert_match(/\Aexact: /, ctl["exact"].stdout)
    assert_equal "false", tell("Mwrap.sampled?")
    assert_match(/RangeError/, tell("begin; Mwrap.sampled!(0); rescue => e; e.class; end"))
  end

  def test_growth_makes_counts_exact
    swift
    start ["counts:sampled", "sample:16k", "exact:growth"]
    tell "Thread.new { loop { keep 200; sleep 0.1 } }; 0"
    eventually("it counts exactly", 180) { get("/verdict").body && stats["counts"] == "exact" }
    assert_includes get("/history.json").body, "growth"
    before = row
    eventually("more are counted") { row.live - before.live >= 200 }
  end

  # A method's instructions are freed, and others take their place: no line may be one of before.
  def test_lines_of_code_that_comes_and_goes
    start "counts:sampled,sample:4k"
    tell "(1..300).each { |i| eval(\"def m\#{i % 3} = ('x' * 3000)\\n\", TOPLEVEL_BINDING, \"/gone\#{i}.rb\", i); 20.times { send(\"m\#{i % 3}\") }; GC.start if i % 50 == 0 }; 0"
    lines = tsv.filter_map { |r| r.location[%r{\A/gone\d+\.rb:\d+}] }
    assert_operator lines.size, :>, 100
    assert_empty(lines.reject { |l| l =~ /gone(\d+)\.rb:(\d+)/ && $1 == $2 })
  end
end
