# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "replay_program"

module Mwrap
  module Ctl
    # A file of mwrapctl record's, or one that is packed.
    class Recording # :nodoc: all
      attr_reader :file, :meta
      # The packed file's path
      attr_accessor :packed
      # The parts of the file that the packed one lacks: a line, or nil
      attr_reader :note
      # The most that malloc had in memory, in bytes, once that is known
      attr_accessor :heap_most

      def initialize(file)
        @file = file
        read(ReplayProgram.info(file))
        @packed = file if @meta.key?("packed")
      end

      # After it was packed. note: what that left out, or nil
      def packed!(path, note)
        read(ReplayProgram.info(path))
        @packed = path
        @note = note
      end

      def packed? = !@packed.nil?
      def name = File.basename(@file)
      def command = Text.utf8(@meta["command"].to_s)
      def events = sum("events")
      def threads = sum("threads")
      def lost = sum("lost")
      # Seconds since 1970; 0: not known
      def started = @meta["started"].to_f
      # Has the process ended with it?
      def ended? = @end.nil? || @end["reason"] == "exit"
      # Was it cut, or was the process killed?
      def cut? = @end.nil?

      def seconds
        per = sum("ticks_per_second")
        per.zero? ? 0.0 : (sum("last") - sum("first")) / per.to_f
      end

      private

      def sum(name) = @meta["packed"].is_a?(Hash) ? @meta["packed"][name].to_i : 0

      def read(info)
        @meta = info["meta"].is_a?(Hash) ? info["meta"] : {}
        @end = info["end"].is_a?(Hash) ? info["end"] : nil
      end
    end
  end
end
