#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The verdicts about real Ruby programs by chance (t/lives/README): six by today's date, for two minutes and a half.
# `make lives-real` runs more of them, for as long as growths take to be known; there and in this test sentences are
# judged by what the programs' parts keep.

require_relative "lib/tap"
require_relative "lives/real"

class LivesRealTest < Minitest::Test
  LIVES = 6
  MINUTES = 2.5
  # A leak of a MB a minute from the start on, at leak.rb:4, and an app beside it
  LEAK = RealLives::Member.new(part: RealLives::ALL.find { |p| p.name == "class_array" }, name: "Leak", file: "leak.rb", lines: ["leak.rb:4"],
                               drawn: RealLives::Drawn.new(from: 0))
  CACHE = RealLives::Member.new(part: RealLives::ALL.find { |p| p.name == "lru" }, name: "Lru", file: "lru.rb", lines: ["lru.rb:8"],
                                drawn: RealLives::Drawn.new(from: 0))
  MB = 1 << 20

  def test_lives_by_chance
    seed = Integer(Time.now.strftime("%Y%m%d"))
    in_tmp do |dir|
      processes = RealLives.watch((1..LIVES).map { |k| RealLives::Life.new(seed, k) }, MINUTES, dir)
      said, = capture_io { processes.each { |p| RealLives.report(p) } }
      message = "SEED=#{seed}\n#{said}"
      assert_empty processes.map(&:trouble).reject(&:empty?), message
      outcomes = processes.flat_map { |p| p.moments.map(&:outcome) }
      assert_operator outcomes.size, :>=, LIVES * 5, message
      # a young process is judged by what it has; a growth that isn't told is no fault yet
      assert_operator outcomes.count("FALSE"), :<=, outcomes.size / 10, message
      assert_empty outcomes & ["MISSED"], message
    end
  end

  def test_a_seed_gives_the_same_life_again
    texts = Array.new(2) do
      in_tmp do |dir|
        life = RealLives::Life.new(7, 3)
        life.write(dir)
        Dir["#{dir}/*.rb"].sort.map { |file| File.read(file).gsub(dir, "") } << life.to_s
      end
    end
    assert_equal(*texts)
  end

  # Each part is a program that runs, and has lines that may be named.
  def test_all_parts
    in_tmp do |dir|
      RealLives::ALL.each do |part|
        Dir.mkdir(own = "#{dir}/#{part.name}")
        life = RealLives::Life.new(1, 1, only: part.name)
        life.write(own)
        assert_includes life.members.map { |m| m.part.name }, part.name
        refute_empty life.members[0].lines, part.name
        run = run_command(RUBY, "-rio/wait", "#{own}/app.rb")
        assert_equal ["", 0], [run.stderr, run.status.exitstatus], part.name
      end
    end
  end

  # A sentence at 600 s about a leak of 10 MB and a cache that was full after a minute
  def judged(verdict, age: 600)
    life = Struct.new(:members).new([LEAK, CACHE])
    ledger = (0..age).map { |t| [t.to_f, t * MB / 60, [t, 60].min * MB / 60] }
    moments = (10..age).step(10).map do |t|
      said = t == age ? verdict : { "kind" => "watching", "sentence" => "" }
      RealLives::Moment.new(at: t.to_f, rss: 50 * MB + t * MB / 60, verdict: { "now" => t.to_f, "growing" => false }.merge(said))
    end
    RealLives::Judge.new(life, ledger, moments).call
    moments.last.outcome
  end

  def grows(line, since: 0, rate: MB) = { "kind" => "grows", "growing" => true, "since" => since, "rate_bytes_per_minute" => rate, "sentence" => "", "at_text" => line }

  def test_the_judge
    assert_equal "right", judged(grows("/srv/leak.rb:4"))
    assert_equal "WRONG LINE", judged(grows("/srv/leak.rb:9"))
    assert_equal "FALSE", judged(grows("/srv/lru.rb:8"))
    assert_equal "FALSE", judged(grows("/srv/app.rb:1"))
    assert_equal "FALSE", judged(grows("/srv/leak.rb:4", rate: 6 * MB))
    assert_equal "WRONG KIND", judged(grows(nil).merge("kind" => "native"))
    assert_equal "MISSED", judged({ "kind" => "flat", "since" => 0, "sentence" => "Nothing grows: RSS has been flat" })
    assert_equal "FLAT OVER RISE", judged({ "kind" => "flat", "since" => 0, "sentence" => "Nothing grows: RSS has been flat" }, age: 290)
    assert_equal "neutral", judged({ "kind" => "warming", "sentence" => "Warming up" }, age: 290)
  end
end
