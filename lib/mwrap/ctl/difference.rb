# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

module Mwrap
  module Ctl
    # The changes between two Snapshots, by location.
    #
    # confidence, from 0 to 1: how much the growth of a location looks like a leak. It is the product of
    # signs that noise lacks:
    #
    # many::    n/(n+8) for n more blocks: a table that is resized is one block.
    # above::   n/(n+2√m) if m blocks were there: that is how far a population that comes and goes moves.
    # alike::   the new blocks are as large as those that were there; 0.5 at least.
    # kept::    of the blocks allocated meanwhile, the share that lives; only if both snapshots are of one
    #           process without a reset between them.
    # whole::   n is a whole multiple of the requests (per), or 0.5 if they are one of n, within 2 %; less up to 10 %,
    #           and 0.15 beyond. Without their number: another location has as many more blocks, which happens
    #           if one request leaves blocks at several lines; else 0.6.
    #
    # A moment at which blocks aren't known (Snapshot#at_peak) leaves growth alone: growth_blocks is nil, and score 0.
    #
    # score is confidence × log2(1 + KB): size counts, but confidence counts more. A location's score and confidence are the
    # better ones of its blocks and its Ruby objects. Of objects only many, above and whole count, and how far their
    # number is above the error of its estimate:
    #
    # certain:: (n-e)/n if n may be off by e: nothing if there may be none.
    class Difference # :nodoc: all
      Row = Struct.new(:location, :growth, :growth_blocks, :from_bytes, :to_bytes, :from_blocks, :to_blocks, :allocations, :growth_objects, :growth_object_bytes,
                       :growth_objects_error, :from_objects, :to_objects, :confidence, :score)
      LEAST = 8 # blocks, from which on equal numbers are a sign

      attr_reader :rows, :growth, :growth_blocks

      # per: how many requests were served between the two, nil if that isn't known
      def initialize(from, to, per = nil)
        @per = per
        @objects = from.objects? && to.objects?
        continues = to.continues?(from)
        @rows = (from.rows.keys | to.rows.keys).filter_map { |location| row(location, from.rows[location], to.rows[location], continues) }
        @alike = @rows.filter_map(&:growth_blocks).tally
        @rows.each { |r| r.confidence, r.score = [judge(confidence(r), r.growth), judge(of_objects(r), r.growth_object_bytes.to_i)].max_by(&:last) }
        @growth = to.live_bytes - from.live_bytes
        @growth_blocks = to.live && from.live && to.live - from.live
      end

      SORTS = { "score" => ->(r) { [-r.score, -r.growth] }, "growth" => ->(r) { [-r.growth] }, "blocks" => ->(r) { [-r.growth_blocks.to_i] },
                "live" => ->(r) { [-r.to_bytes] }, "location" => ->(_) { [] } }.freeze

      # Ties are ordered by location.
      def sorted(by) = @rows.sort_by { |r| [*SORTS.fetch(by).call(r), r.location] }

      private

      def judge(confidence, growth) = [confidence, confidence * Math.log2(1 + [growth, 0].max / 1024.0)]

      def row(location, a, b, continues)
        growth = b.live_bytes - a.live_bytes
        blocks = a.live && b.live && b.live - a.live
        objects = objects(a, b)
        return if growth.zero? && blocks.to_i.zero? && objects.first(2).all? { |n| n.to_i.zero? }
        # a location that isn't in the first one has counted from 0
        allocations = b.allocations - a.allocations.to_i if continues && b.allocations && (a.allocations || a.equal?(Snapshot::NONE))
        Row.new(location, growth, blocks, a.live_bytes, b.live_bytes, a.live, b.live, allocations, *objects)
      end

      # Their change, that of their bytes, its error, and how many there were and are; nil if a snapshot doesn't have them.
      def objects(a, b)
        return [nil] * 5 unless @objects
        [b.objects.to_i - a.objects.to_i, b.object_bytes.to_i - a.object_bytes.to_i, Math.hypot(a.object_error.to_f, b.object_error.to_f).round, a.objects.to_i, b.objects.to_i]
      end

      def confidence(r)
        n = r.growth_blocks
        return 0.0 unless n&.positive? && r.growth.positive?
        many = n / (n + 8.0)
        above = n / (n + 2 * Math.sqrt(r.from_blocks))
        many * above * alike(r) * kept(r) * whole(n)
      end

      def of_objects(r)
        n = r.growth_objects.to_i
        return 0.0 unless n.positive? && n > r.growth_objects_error
        n / (n + 8.0) * n / (n + 2 * Math.sqrt(r.from_objects)) * 0.6 * (n - r.growth_objects_error) / n
      end

      def alike(r)
        return 1.0 if r.from_blocks < LEAST || r.from_bytes.zero?
        ratio = (r.growth / r.growth_blocks.to_f) / (r.from_bytes / r.from_blocks.to_f)
        [[ratio, 1 / ratio].min, 0.5].max
      end

      def kept(r)
        return 1.0 unless r.allocations&.positive?
        0.25 + 0.75 * [r.growth_blocks / r.allocations.to_f, 1.0].min
      end

      def whole(n)
        return n >= LEAST && @alike[n] > 1 ? 1.0 : 0.6 unless @per
        return [n >= LEAST ? 0.5 * multiple(@per, n) : 0, 0.15].max if n < @per / 2
        [multiple(n, @per), 0.15].max
      end

      # From 0 to 1: how near is n to a whole number of times `of`?
      def multiple(n, of)
        away = [(n - (n / of.to_f).round * of).abs - 1, 0].max / of.to_f
        (1.0 - 10 * (away - 0.02)).clamp(0.0, 1.0)
      end
    end
  end
end
