# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "replay_result"

module Mwrap
  module Ctl
    # What is said of the results: in sentences, as JSON, and for the page.
    class ReplayWords # :nodoc: all
      LEAST = 0.02 # a difference that is worth a sentence, at the least
      ROUGH = 0.1 # an error from which on figures are rough

      # results: the first one as recorded. base: the one that others are compared with, or nil
      def initialize(recordings, results, base)
        @recordings = recordings
        @results = results
        @first = results[0]
        @any = results.find(&:fine?) # each has the recorded curve, too
        @base = base if base&.fine?
      end

      # Of the peak, to the same allocator and variables; nil: there is nothing to compare with
      def change(result)
        return if @base.nil? || result.equal?(@base) || result.equal?(@first) || @base.curve.peak.to_i.zero?
        result.curve.peak.fdiv(@base.curve.peak) - 1
      end

      # Lines above the table: how far to trust it comes first.
      def facts
        [trust_sentence, *lost, *failed, "", work, Output.paint(sentence, :bold), floor].compact
      end

      def trust_sentence
        return "Nothing says how far to trust this: #{@first.problem}." unless @first.fine?
        return "Nothing says how far to trust this: the recording has no samples of memory." if trust.value?(nil)
        said = "How far to trust it: played again on the recorded allocator, the peak is #{off("peak_error")} the recorded #{Text.bytes(@first.recorded.peak)}, and the mean #{off("mean_error")}."
        trust.values.map(&:abs).max > ROUGH ? "#{said} Take the figures below as rough." : said
      end

      # What to choose
      def sentence
        others = @results.drop(1).select { |r| r.fine? && !r.equal?(@base) }
        best = others.min_by { |r| r.curve.peak }
        return unless best
        peak = Text.bytes(best.curve.peak)
        return "With #{best.setting.phrase(nil)} the same work would have peaked at #{peak}." unless @base
        base = Text.bytes(@base.curve.peak)
        return "No other setting would have peaked clearly lower than #{@base.name}, at #{base}." if -change(best) <= margin
        "With #{best.setting.phrase(@base.setting.malloc)} the same work would have peaked at #{peak} instead of #{base}."
      end

      # For --json
      def settings
        @results.map(&:to_h).tap { |all| all[0].merge!("recorded_peak_bytes" => recorded&.peak, "recorded_mean_bytes" => recorded&.mean&.round, **trust) }
      end

      # For the page
      def document
        curve = recorded ? recorded.thin(ReplayResult::POINTS).map { |at, heap| [at, heap, live_at(at)] } : []
        { "file" => Text.utf8(@recordings.map(&:name).join(", ")), "command" => @recordings.map(&:command).uniq.join("; "), "events" => events, "threads" => threads, "seconds" => seconds,
          "recorded" => { "curve" => curve, "peak" => recorded&.peak, "mean" => recorded&.mean&.round }, "trust" => trust,
          "settings" => @results.map(&:to_h) }
      end

      # How far the first one is from what was recorded, as parts of that
      def trust
        @trust ||= { "peak_error" => error(&:peak), "mean_error" => error(&:mean) }
      end

      private

      def events = @recordings.sum(&:events)
      def threads = @recordings.sum(&:threads)
      def seconds = (@any ? @any.curve.seconds : @recordings.map(&:seconds).max).round(3)
      def recorded = @any && !@any.recorded.empty? ? @any.recorded : nil

      def error
        was = yield(recorded).to_f if @first.fine? && recorded
        was&.positive? ? (yield(@first.curve) / was - 1).round(4) : nil
      end

      # A difference as small as this says nothing.
      def margin = [LEAST, *trust.values.compact.map(&:abs)].max

      def off(key)
        part = trust[key]
        part.abs < 0.0005 ? "the same as" : format("%.1f %% %s", part.abs * 100, part.positive? ? "above" : "below")
      end

      def work
        files = "#{Text.count(@recordings.size)} processes, " if @recordings.size > 1
        command = @recordings.map(&:command).uniq.join("; ")
        "#{files}#{Text.count(events)} events of #{Text.count(threads)} thread#{"s" if threads != 1} in #{Text.duration(seconds.round)}#{": #{Text.clean(command)}" unless command.empty?}"
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

      # What no allocator can do without
      def floor
        "The live blocks alone peaked at #{Text.bytes(@any.live.peak)}." if @any && !@any.live.empty?
      end

      def live_at(seconds)
        @live_points ||= @any.recorded_live.points
        i = @live_points.bsearch_index { |at, _| at > seconds } || @live_points.size
        i.zero? ? 0 : @live_points[i - 1][1]
      end
    end
  end
end
