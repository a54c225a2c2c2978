# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# chaos.rb SECONDS [SEED]: t/programs/chaos.c under the tracker, beside 20 clients that ask for every route of
# src/api/routes.def. Prints a report, and fails if anything isn't as it must be.
#
# Every few seconds the application stands still, and its ledger is compared with the tracker's table, to the
# byte. In calm rounds, in which no client resets or pauses, all figures must agree; in wild ones what is live.
#
# SAMPLED=1: clients also change between sampled and exact counts. Then the table has estimates, and only crashes, hangs
# and answers count.
require "json"
require "tmpdir"
require "timeout"
require_relative "app"
require_relative "clients"
require_relative "tally"

class Chaos
  CLIENTS = 20
  OWN = %w[overruns double_frees unknown_frees lost].freeze # of /stats.json: 0
  FULL = %w[locations_full records_full threads_full].freeze

  def initialize(seconds, seed)
    @seconds = seconds
    @tally = Tally.new
    @random = Random.new(seed)
    @seed = seed
    @rounds = { calm: 0, wild: 0 }
    @wrong = []
  end

  # True: all is as it must be.
  def run
    Dir.mktmpdir("chaos") do |dir|
      @app = App.new(dir, @seed)
      @clients = Clients.new(@app, @tally, Array.new(CLIENTS) { @random.rand(1 << 32) })
      over = now + @seconds
      round until now > over || @app.ended?
      @clients.stop
      round unless @app.ended? # nobody asks now
      finish
    ensure
      @app&.kill
    end
  end

  private

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # From one standstill to the next.
  def round
    kind = @random.rand(2).zero? ? :wild : :calm
    @clients.calm
    from = @app.hold
    @app.reset
    @app.go
    @clients.wild if kind == :wild
    sleep [@random.rand(1.0..4.0), @seconds / 4.0].min
    to = @app.hold
    compare(kind, from, to) unless Routes::SAMPLED
    @app.go
    @rounds[kind] += 1
  rescue App::Gone => e
    @wrong << e.message unless @app.ended?
  end

  def compare(kind, from, to)
    table = @app.table(to.keys)
    to.each do |function, counts|
      live = [counts[0] - counts[1], counts[2] - counts[3]]
      want = { live: live[0], live_bytes: live[1] }
      if kind == :calm && @clients.certain?
        a, f, t, = counts.zip(from[function]).map { |b, a| b - a }
        was = from[function]
        want.update(allocations: a, frees: f, total: t, growth: live[1] - (was[2] - was[3]))
      end
      got = table.fetch(function).slice(*want.keys)
      @wrong << "#{kind} round #{@rounds.values.sum}: #{function}: the ledger has #{want}, the table #{got}" if got != want
    end
    stats = @app.stats
    @wrong << "stats: #{stats.slice(*OWN, *FULL)}" if OWN.any? { |k| stats[k] != 0 } || FULL.any? { |k| stats[k] }
  end

  def finish
    status = @app.finish
    did = @app.did
    puts "Chaos of #{@seconds} s, SEED=#{@seed}, 50 threads, #{CLIENTS} clients",
         "  #{did[:children]} children ended: #{did[:exact]} compared exactly, #{did[:wrong]} wrong, #{did[:unsure]} may have been paused",
         "  #{did[:threads]} threads, #{did[:loads]} libraries loaded and unloaded",
         "  ledger against table: #{@rounds[:calm]} calm rounds, #{@rounds[:wild]} wild ones, #{Routes::SAMPLED ? "not compared" : "#{@wrong.size} differences"}",
         *@wrong.first(20).map { |w| "    #{w}" },
         "  faults of the application: #{@app.faults.size}", *@app.faults.first(20).map { |f| "    #{f}" },
         "  its end: #{status}", "  on stderr: #{@app.said.size} lines", *@app.said.tally.first(20).map { |line, n| "    #{n} x #{line}" },
         @tally.to_s, *@tally.wrong.map { |w| "  wrong: #{w}" }
    bad = [*@wrong, *(Routes::SAMPLED ? @app.faults.grep_v(/NOT OK child: /) : @app.faults), *@tally.wrong]
    bad << "its end: #{status}" unless status&.success?
    bad << "no child was compared" if did[:exact].zero? && !Routes::SAMPLED
    puts bad.empty? ? "All is as it must be." : "Not all is as it must be: #{bad.size} faults."
    bad.empty?
  end
end

if $PROGRAM_NAME == __FILE__
  $stdout.sync = true
  seed = Integer(ARGV.fetch(1, ""), exception: false) || Random.new_seed % (1 << 31)
  puts "SEED=#{seed}"
  exit Chaos.new(Float(ARGV.fetch(0)), seed).run
end
