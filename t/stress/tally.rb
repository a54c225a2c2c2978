# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tally.rb - how many answers of which kind there were to which route, and how long they took.

class Chaos
  class Tally
    FAR = 100 # answers for each time-out at least
    EXPECTED = [200, 204, 303, 400, 401, 403, 404, 405, 409, 410, 429, 501, 503].freeze
    GONE = [502, 504].freeze # of other processes, which end meanwhile
    ALONE = { "GET /" => [302] }.freeze # a process that has no child just then shows its own page
    SHOWN = 8

    def initialize
      @lock = Mutex.new
      @took = Hash.new { |h, k| h[k] = [] }
      @statuses = Hash.new { |h, k| h[k] = Hash.new(0) }
      @timeouts = Hash.new(0)
      @broken = Hash.new(0)
    end

    def answer(method, target, status, seconds)
      @lock.synchronize do
        @took[name(method, target)] << seconds
        @statuses[name(method, target)][status] += 1
      end
    end

    def timeout(method, target) = count(@timeouts, name(method, target))
    def broken(method, target, why) = count(@broken, why.delete_prefix("#{method} #{target}: "))

    def wrong
      answers = @took.values.sum(&:size)
      bad = []
      bad << "#{answers} answers, #{@timeouts.values.sum} time-outs" if answers <= FAR * @timeouts.values.sum
      bad.concat(@broken.map { |what, n| "#{n} answers were no whole ones: #{what}" })
      bad + @statuses.flat_map { |route, n| (n.keys - EXPECTED - ALONE.fetch(route, []) - (route.match?(%r{ /(PID|all)/}) ? GONE : [])).map { |status| "#{route}: #{n[status]} times #{status}" } }
    end

    def to_s
      all = @took.values.flatten
      return "  no answer" if all.empty?

      ["  #{all.size} answers: #{kinds}; #{@timeouts.values.sum} time-outs of #{Clients::PATIENCE} s; #{@broken.values.sum} broken",
       "  latency: #{latency(all)}",
       *@timeouts.map { |route, n| "    #{n} time-outs: #{route}" }, *@broken.map { |what, n| "    #{n} broken: #{what}" },
       "  slowest routes:", *slowest, "  refused or busy:", *refused].join("\n")
    end

    private

    # Of the many addresses that one route has, one.
    def name(method, target)
      path = target.sub(%r{\A/(\d+)(?=/)}, "/PID").sub(/\?.*/m, "").sub(%r{/at/.*}m, "/at/*").sub(%r{/map/page/.*}, "/map/page/*").sub(%r{/map/\d+/.*}, "/map/ID/*")
      "#{method} #{path}"
    end

    # nil, so that a caller may return it for "no answer"
    def count(where, what)
      @lock.synchronize { where[what] += 1 }
      nil
    end

    def kinds
      sums = @statuses.values.each_with_object(Hash.new(0)) { |n, all| n.each { |status, k| all[status] += k } }
      sums.sort.map { |status, n| "#{n} x #{status}" }.join(", ")
    end

    def latency(values)
      sorted = values.sort
      format("median %.0f ms, p99 %.0f ms, longest %.0f ms", *[sorted[sorted.size / 2], sorted[sorted.size * 99 / 100], sorted.last].map { |s| s * 1000 })
    end

    def slowest
      @took.sort_by { |_, took| -took.sort[took.size * 99 / 100] }.first(SHOWN).map { |route, took| "    #{route}: #{took.size}, #{latency(took)}" }
    end

    def refused
      busy = @statuses.transform_values { |n| n.reject { |status, _| status == 200 } }.reject { |_, n| n.empty? }
      busy.sort_by { |_, n| -n.values.sum }.first(2 * SHOWN).map { |route, n| "    #{route}: #{n.sort.map { |status, k| "#{k} x #{status}" }.join(", ")}" }
    end
  end
end
