# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "../ctl/text"

module Mwrap
  class Check
    # The most memory that lived at one moment of a block, above what lived when it began.
    #
    #   peak = Mwrap::Check::Peak.of { Report.new.render }
    #   puts peak.bytes, peak.lines
    #
    # It is malloc's memory, exact within 64 KiB a thread, and the pages that Ruby's heap gained. Garbage
    # counts until Ruby frees it, as the system counts it. A collection before the block frees what was garbage then.
    class Peak
      SHOWN = 3 # lines
      HEAP = "Ruby's heap"
      private_constant :SHOWN, :HEAP

      # An Integer.
      attr_reader :bytes

      # [location, bytes] of each location that had more at the peak than at the beginning, the most first. The pages
      # of Ruby's heap have the location "Ruby's heap".
      attr_reader :lines

      def initialize(bytes, lines) # :nodoc:
        @bytes = bytes
        @lines = lines
      end

      # One line for people: the bytes, and where most of them are.
      def to_s
        of = @lines.first(SHOWN).map { |location, bytes| "#{Check.short(location)} #{Ctl::Text.bytes(bytes)}" }
        "#{Ctl::Text.bytes(@bytes)}#{": #{of.join(", ")}" if of.any?}"
      end

      class << self
        # call-seq: Mwrap::Check::Peak.of { ... } -> Peak
        #
        # Calls the block once, and raises what it raises. Memory of other threads counts, too. Tracking begins
        # by itself, as by Mwrap.start, and goes on afterwards. The peak in Mwrap.stats begins anew. Raises RuntimeError
        # if the peak can't be told: tracking is paused or stopped meanwhile, blocks are sampled, or the tracker has
        # no memory.
        def of
          raise ArgumentError, "no block given: nothing to call" unless block_given?
          raise ThreadError, "a check within a check: call it outside" if LOCK.owned? || Rounds.running == Thread.current
          Check.start
          LOCK.synchronize do
            before = watch
            begin
              yield
            ensure
              after = look
            end
            made(before, after)
          end
        rescue Unknown => e
          raise e.message
        end

        private

        def watch
          GC.start
          Mwrap.quiet do
            Mwrap.__send__(:watch_peak, true) or raise Unknown, "the peak isn't known while blocks are sampled: call Mwrap.exact!"
            read
          end
        end

        def look
          Mwrap.quiet do
            Mwrap.__send__(:watch_peak, false)
            read
          end
        end

        def read = [Mwrap.__send__(:peak_bytes), GC.stat(:heap_allocated_pages), Mwrap.stats[:lost]]

        def made(before, after)
          raise Unknown, "tracking was stopped meanwhile" if Mwrap.paused? || !Mwrap.tracking?
          raise Unknown, "the tracker has no memory for more blocks: raise memory_max" if after[2] > before[2]
          heap = [after[1] - before[1], 0].max * GC::INTERNAL_CONSTANTS.fetch(:HEAP_PAGE_SIZE)
          lines = after[0].map { |location, bytes| [location, bytes - before[0].fetch(location, 0)] } << [HEAP, heap]
          all = after[0].sum { |_, bytes| bytes } - before[0].sum { |_, bytes| bytes } + heap
          new(all, lines.select { |_, bytes| bytes.positive? }.sort_by { |location, bytes| [-bytes, location] })
        end
      end
    end
  end
end
