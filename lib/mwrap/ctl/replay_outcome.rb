# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "replay_result"
require_relative "replay_words"

module Mwrap
  module Ctl
    # The results of all settings: as JSON, for the page, and above the table.
    class ReplayOutcome # :nodoc: all
      attr_reader :words

      # results: the first one as recorded; peak: as PeakJob has it
      def initialize(recordings, results, peak)
        @recordings = recordings
        @results = results
        @peak = peak
        @any = results.find(&:fine?) # each has the recorded curve, too
        @words = ReplayWords.new(document)
      end

      # For the page, and for ReplayWords, which says what it has
      def document
        @document ||= { "file" => Text.utf8(@recordings.map(&:name).join(", ")), "command" => command, "events" => @recordings.sum(&:events), "threads" => @recordings.sum(&:threads),
                        "seconds" => (@any ? @any.curve.seconds : @recordings.map(&:seconds).max).round(3),
                        "recorded" => { "curve" => recorded_points, "peak" => recorded&.peak, "mean" => recorded&.mean&.round }, "live_peak" => @peak, "settings" => @results.map(&:to_h) }
      end

      # For --json
      def settings
        errors = @words.errors || {}
        document["settings"].map(&:dup).tap do |all|
          all[0].merge!("recorded_peak_bytes" => recorded&.peak, "recorded_mean_bytes" => recorded&.mean&.round, **%w[peak mean].to_h { |k| ["#{k}_error", errors[k]&.round(4)] },
                        "live_peak" => @peak&.merge("locations" => @peak["locations"].map { |name, bytes, blocks| { "location" => name, "bytes" => bytes, "blocks" => blocks } }))
        end
      end

      # Rows of the table
      def rows
        @results.zip(document["settings"]).select { |r,| r.fine? }.map do |r, setting|
          change = @words.change(setting, "peak_rss_bytes") unless r.equal?(@results[0])
          [r.name, setting["peak_rss_bytes"], setting["mean_rss_bytes"], change&.round(4), r.cpu]
        end
      end

      # Of the peak, rows of Replay::LIVED
      def lived = (@peak ? @peak["locations"].map { |name, bytes, blocks| [bytes, (bytes / @peak["bytes"].to_f).round(4), blocks, name] } : [])

      # Lines above it: how far to trust it comes first.
      def facts
        verdict = Output.paint(@words.verdict, :bold) if @words.verdict
        lines = [@words.trust, *lost, *failed, "", *about, @words.what, *verdict, *(@words.more unless @words.more.empty?), *floor]
        Text.utf8? ? lines : lines.map { |line| line.tr("\u2212\u2019", "-'") }
      end

      private

      def command = @recordings.map(&:command).uniq.join("; ")
      def recorded = @any && !@any.recorded.empty? ? @any.recorded : nil

      # [seconds, bytes of malloc, bytes of live blocks]
      def recorded_points
        return [] unless recorded
        live = @any.recorded_live.points
        recorded.thin(ReplayResult::POINTS).map do |at, heap|
          after = live.bsearch_index { |t, _| t > at } || live.size
          [at, heap, after.zero? ? 0 : live[after - 1][1]]
        end
      end

      def about
        parts = [*("#{Text.count(@recordings.size)} processes" if @recordings.size > 1), *(Text.clean(command) unless command.empty?)]
        [*("#{parts.join(" of ")}:" unless parts.empty?)]
      end

      def lost
        lost = @recordings.sum(&:lost)
        [*@recordings.filter_map(&:note).map { |note| "#{note}." }, *("#{Text.count(lost)} events were lost while it was recorded." if lost.positive?),
         *("The recording has no end: the process was killed, or the file was cut." if @recordings.any?(&:cut?))]
      end

      def failed
        bad = @results.select { |r| r.fine? && r.failed.positive? }
        bad.map { |r| "#{r.name}: #{Text.count(r.failed)} allocations failed: its figures are too low." }
      end

      # The peak below which no allocator can stay
      def floor = [*("The live blocks alone peaked at #{Text.bytes(@any.live.peak)}." if @any && !@any.live.empty?)]
    end
  end
end
