# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "growth"

module Mwrap
  class Check
    # A location that keeps blocks of each call, or Ruby objects that have no blocks of their own.
    class Leak
      # As Mwrap.each has it: <tt>"/path/to/file.rb:12"</tt>, or a function of a native library.
      attr_reader :location

      # Mean bytes of a block, as they were asked for; an Integer.
      attr_reader :bytes_per_block

      # Of objects: the name of their class; nil: these are blocks.
      attr_reader :objects

      def initialize(location, growth, bytes_per_block, holders: nil, objects: nil) # :nodoc:
        @location = location
        @growth = growth # in the last series
        @bytes_per_block = bytes_per_block || growth.bytes_per_block
        @holders = holders
        @objects = objects
      end

      # Blocks kept of each call: an Integer if it is the same number in every call, else a Float.
      def blocks_per_call
        @growth.blocks_per_call
      end

      # Calls made in each round of the last series, and the blocks that were kept of them.
      def rounds
        @growth.lengths
      end

      def blocks # :nodoc:
        @growth.blocks
      end

      # The Ruby file and the line, or nil for native code.
      def path_and_line
        /\A(.+?):(\d+)(?: < |\z)/m.match(@location)&.captures&.then { |path, line| [path, line.to_i] }
      end

      # How many live blocks nothing holds, an Integer; nil: not known.
      def held_by_nothing
        @holders&.nothing
      end

      # True if nothing holds most of what was lost: native code forgot it. False also if it isn't known.
      def native?
        !@holders.nil? && @holders.native?(@growth.blocks.sum)
      end

      # True if most of what seems lost was freed, by a free that the tracker didn't see: no leak.
      def freed? # :nodoc:
        !@holders.nil? && @holders.live < @growth.blocks.sum / 2.0
      end

      # One line without "leak: ".
      def to_s
        "#{short}: #{sentence}#{"; #{@holders.text(@growth.blocks.sum)}" if @holders}    rounds #{blocks.join(" ")}"
      end

      # The location, with a path below the current folder if it is there.
      def short # :nodoc:
        Check.short(@location)
      end

      # The loss, as a sentence without its subject.
      def sentence
        k = blocks_per_call
        what = @objects ? "keeps #{number(k)} object#{"s" unless k == 1} (#{@objects})" : "loses #{number(k)} block#{"s" unless k == 1} (#{size(k)})"
        "#{what} of each call"
      end

      # With String keys, as <tt>mwrapctl check --json</tt> prints it.
      def to_h
        { "location" => @location, "blocks_per_call" => blocks_per_call, "bytes_per_block" => bytes_per_block,
          "objects" => @objects, "held" => @holders&.to_h, "rounds" => rounds, "blocks" => blocks }
      end

      private

      def number(k) = k.is_a?(Float) ? "about #{k}" : k.to_s # :nodoc:
      def size(k) = "#{bytes_per_block} bytes#{" each" unless k == 1}" # :nodoc:
    end
  end
end
