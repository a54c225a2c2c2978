# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# judge.rb - is a sentence right about a real life? By the ledger of what its parts keep, and by RSS as it was read.
# The rules are those of made-up lives (t/lives/README), on the process's clock.
module RealLives
  # at: the clock's time when it was asked
  Moment = Struct.new(:at, :verdict, :rss, :outcome, :why, keyword_init: true) do
    def kind = verdict["kind"]
    def sentence = verdict["sentence"]
    def uptime = verdict["now"]
    def since = verdict["since"] && at - (uptime - verdict["since"])
    def location = verdict["at_text"]&.then { |l| File.basename(l) }
  end

  class Judge
    KNOWN_AGE = 300    # seconds of a process, and
    KNOWN_SECONDS = 180 # of a growth, before it can be known
    MB = 1 << 20
    OF_A_PART = %w[heap fragmentation native files stacks tracker].freeze

    # ledger: [time, kept ...]; moments in their order
    def initialize(life, ledger, moments)
      @life = life
      @ledger = ledger
      @moments = moments
      @start = moments[0].at - moments[0].uptime
    end

    def call = @moments.each { |m| m.outcome, m.why = outcome(m) }

    # It has grown for long enough, and enough to be seen
    def known?(i, at)
      member = @life.members[i]
      return false unless member.part.truth == :leaks && at - @start >= KNOWN_AGE && at - @start >= member.drawn.from + KNOWN_SECONDS

      counted?(member) ? kept(i, at) >= 20 : kept(i, at) >= [MB, rss(at) / 50.0].max
    end

    private

    def counted?(member) = (member.part.kinds & %w[threads descriptors]).any?
    def kept(i, at) = (@ledger.bsearch { |row| row[0] >= at } || @ledger.last)[i + 1]
    def rise(i, from, to) = kept(i, to) - kept(i, [from, @ledger[0][0]].max)
    def rss(at) = (@moments.find { |m| m.at >= at } || @moments.last).rss

    # By what is said at least in part, and still at the end
    def rises?(i, from, to, least)
      all = rise(i, from, to)
      late = [90, (to - from) / 4].max
      all.positive? && all >= least && (to - late <= from || rise(i, to - late, to) >= all * late / (to - from) / 10)
    end

    # What a sentence may be about beside bytes: a thread has its stacks, whatever its count
    def weight(i, from, to) = rise(i, from, to) * (counted?(@life.members[i]) ? 50_000 : 1)

    def outcome(m)
      return accusation(m) if m.verdict["growing"]
      return ["MISSED", missed(m)] if missed(m)
      return ["FLAT OVER RISE", "the floor of RSS rose"] if flat_over_rise?(m)

      ["neutral", nil]
    end

    def missed(m)
      late = m.at - 300
      known = @life.members.each_index.select { |i| known?(i, m.at) && rises?(i, [late, @start].max, m.at, 0) }
      known.map { |i| @life.members[i].part.name }.join(", ") unless known.empty?
    end

    def accusation(m)
      from = [m.since || @start, m.at - 5].min
      least = m.verdict["rate_bytes_per_minute"] / 60.0 * (m.at - from) / 5
      rising = @life.members.each_index.select { |i| rises?(i, from, m.at, counted?(@life.members[i]) ? 2 : 0) }
      right = rising.select { |i| right?(@life.members[i], m) }
      return ["FALSE", "nothing rises"] if rising.empty? && m.at - @start > 120
      return ["neutral", nil] if rising.empty?

      if m.kind == "grows" && m.location && (of = @life.members.index { |x| x.of_it?(m.location) })
        return ["FALSE", "#{m.location} doesn't rise"] unless rising.include?(of) && (counted?(@life.members[of]) || rise(of, from, m.at) >= least)
        return ["WRONG LINE", m.location] unless @life.members[of].names?(m.location)
      elsif m.kind == "grows" && m.location && m.at - @start > 120
        return ["FALSE", "#{m.location} is the app's"]
      end
      return ["WRONG KIND", m.kind] if right.empty?

      most = rising.select { |i| known?(i, m.at) }.map { |i| weight(i, from, m.at) }.max.to_i
      return ["WRONG LINE", "another grows by four times as much"] if right.map { |i| weight(i, from, m.at) }.max * 4 < most

      ["right", nil]
    end

    # The part's kind, or a line of it
    def right?(member, m)
      return member.of_it?(m.location) || m.sentence.include?(member.file) if m.kind == "grows" && m.location

      kinds = member.part.kinds
      kinds += %w[explodes] if (kinds & %w[grows native heap stacks disabled]).any?
      kinds.include?(m.kind)
    end

    def flat_over_rise?(m)
      return unless m.sentence.start_with?("Nothing grows") && %w[flat sawtooth].include?(m.kind)

      from = [m.kind == "flat" ? m.since : m.at - (m.uptime - m.verdict["range"]["from"]), @start + 10].max
      return if m.at - from < 30

      third = (m.at - from) / 3
      floors = (0..2).map { |k| floor(from + third * k, from + third * (k + 1)) }
      return if floors.any?(&:nil?)

      least = [MB, floors[2] / 50.0].max
      floors[2] - floors[0] > least && floors[1] - floors[0] > least / 3 && floors[2] - floors[1] > least / 3
    end

    def floor(from, to) = @moments.select { |m| m.at.between?(from, to) }.map(&:rss).min
  end
end
