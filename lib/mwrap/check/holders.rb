# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

module Mwrap
  class Check
    # The holders of the blocks that a location has allocated since a generation and that live, as the check needs
    # them. The one place that asks Mwrap.holders.
    #
    # nothing:: blocks that nothing holds: native code forgot them.
    # by::      the holder of most of the others; nil: nothing holds all blocks.
    # path::    from the root to that, an Array.
    # live::    all blocks. Those whose memory is another block's by now aren't among them: they were freed past the tracker.
    Holders = Struct.new(:nothing, :by, :path, :live) do # :nodoc: all
      class << self
        # nil: it isn't known
        def of(location, since)
          rows = Mwrap.holders(location, since: since)
          nothing, rest = rows.partition { |row| row[:by] == :nothing }
          most = rest.first
          new(nothing.sum { |row| row[:blocks] }, most && most[:holder], most ? most[:path] : [], rows.sum { |row| row[:blocks] })
        rescue Mwrap::Objects::Busy, Mwrap::Objects::Unavailable, RuntimeError
          nil
        end
      end

      # Does nothing hold most of so many blocks?
      def native?(lost) = nothing >= lost / 2.0

      # Behind "loses ... of each call"
      def text(lost)
        return "#{nothing} held by nothing" if native?(lost) || by.nil?
        "held by #{by}#{": #{path.join(" → ")}" if path.size > 1}"
      end

      # With String keys
      def to_h = { "by_nothing" => nothing, "by" => by, "path" => path }
    end
  end
end
