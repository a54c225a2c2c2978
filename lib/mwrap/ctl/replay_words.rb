# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "shellwords"
require_relative "text"

module Mwrap
  module Ctl
    # A replay's outcome, in sentences.
    #
    # The outcome is a Hash: "file", "command", "events", "threads", "seconds"; "recorded" with "peak", "mean" (bytes) and
    # "curve" ([seconds, heap bytes, live bytes]); "settings", each with "setting" (its name), "malloc", "environment", and
    # "peak_rss_bytes", "mean_rss_bytes", "cpu_seconds", "curve" ([seconds, bytes]), or "error"; and "library", if one is
    # preloaded; and "live_peak": as PeakJob has it. The first setting is the recorded one, played with the sizes that the recorded process asked for.
    class ReplayWords # :nodoc: all
      TRUSTED = 0.05 # an error of peak and mean that is good
      GAIN = 0.02 # below it one peak is as good as the other
      COSTS = 0.1 # of CPU: worth a sentence
      OTHERS = 5 # named in the sentence

      attr_reader :settings

      def initialize(outcome)
        @outcome = outcome
        @settings = outcome["settings"]
      end

      def recorded = @settings[0]
      def played = @settings.reject { |s| s["error"] }

      # The recorded process without the tracker's bytes: what others are compared with. nil: it could not be played
      def base
        @base ||= @settings.drop(1).find { |s| s["error"].nil? && same?(s, recorded) } || (recorded unless recorded["error"])
      end

      # The other settings that were played, the least peak first
      def others = played.reject { |s| s.equal?(base) || s.equal?(recorded) }.sort_by { |s| [s["peak_rss_bytes"], s["mean_rss_bytes"]] }

      # A part of base's figure: -0.4 is 40 % less; nil: not known, or base itself
      def change(setting, key)
        return if base.nil? || setting["error"] || setting.equal?(base) || !base[key].to_f.positive?
        setting[key].to_f / base[key] - 1
      end

      def sentence = [what, verdict, more].reject { |s| s.to_s.empty? }.join(" ")

      # Three parts of it: how much was recorded, the setting that would do best, the others
      def what = "#{events} of #{threads}, recorded in #{time(@outcome["seconds"].to_f)}."

      # nil: what was recorded could not be played
      def verdict
        return unless base
        return "As it is, the peak is #{peak(base)}." unless others[0]
        return "No other setting would have peaked at clearly less than the #{peak(base)} that it has as it is." unless better?
        less = change(others[0], "peak_rss_bytes")
        text = "With #{name(others[0])} the same work would have peaked at #{peak(others[0])} instead of #{peak(base)} (#{percent(less)})."
        text += " The replay\u2019s own error is larger than that." if errors && errors["peak"].abs > less.abs
        text
      end

      def more = [cost, rest, *failures].compact.join(" ")

      # Of the replay of what was recorded, as parts: {"peak" => 0.01, "mean" => -0.03}; nil: not known
      def errors
        return if recorded["error"]
        found = %w[peak mean].to_h { |k| [k, @outcome.dig("recorded", k).to_f.then { |was| recorded["#{k}_rss_bytes"].to_f / was - 1 if was.positive? }] }
        found if found.values.all?
      end

      def trusted? = errors&.values&.all? { |e| e.abs < TRUSTED }

      def trust
        return "The recorded setting could not be played (#{said(recorded["error"])}), so nothing says how far the other figures can be trusted." if recorded["error"]
        return "The recording has no curve to compare the replay with." unless errors
        found = "Replayed as it was recorded, the peak is #{beside("peak")} and the mean #{beside("mean")}."
        return "#{found} Both errors are below #{percent(TRUSTED)}: the figures can be trusted." if trusted?
        "#{found} That is more than #{percent(TRUSTED)}: differences of less than #{percent(errors.values.map(&:abs).max)} say nothing."
      end

      # The line above what lived at the peak; nil: that isn't known
      def at_peak
        peak = @outcome["live_peak"] or return
        blocks = peak["blocks"] == 1 ? "one block" : "#{Text.count(peak["blocks"])} blocks"
        "Live blocks were most #{time(peak["seconds"])} after the beginning, call by call: #{Text.bytes(peak["bytes"])} in #{blocks}."
      end

      # How to set it: "MALLOC_ARENA_MAX=2", for a shell; "": nothing is set
      def self.environment(setting) = pairs({ "LD_PRELOAD" => setting["library"] }.compact.merge(setting["environment"] || {}))
      def self.pairs(environment) = environment.map { |name, value| "#{name}=#{Shellwords.escape(Text.clean(value.to_s))}" }.join(" ")

      # "+4.2 %", "-41 %"
      def self.percent(part, sign: false)
        part *= 100
        text = (part.abs >= 9.95 ? part.abs.round.to_s : format("%.1f", part.abs)).delete_suffix(".0")
        "#{part.negative? ? "\u2212" : sign ? "+" : ""}#{text} %"
      end

      private

      def percent(part, **how) = self.class.percent(part, **how)
      def same?(one, other) = allocator(one) == allocator(other) && (one["environment"] || {}) == (other["environment"] || {})
      def allocator(setting) = setting["malloc"].to_s[/\A\S*/]
      def peak(setting) = Text.bytes(setting["peak_rss_bytes"].to_i)
      def said(text) = Text.clean(text.to_s).chomp(".")

      # The variables alone, if the allocator is the one that was recorded
      def name(setting)
        variables = self.class.pairs(setting["environment"] || {})
        allocator(setting) == allocator(recorded) && !variables.empty? ? variables : Text.clean(setting["setting"].to_s)
      end

      def events = "#{amount(@outcome["events"].to_i)} #{@outcome["events"] == 1 ? "event" : "events"}"
      def threads = @outcome["threads"] == 1 ? "one thread" : "#{Text.count(@outcome["threads"].to_i)} threads"
      def amount(n) = n >= 1_000_000 ? "#{Text.number(n / 1e6)} million" : Text.count(n)
      def time(seconds) = seconds < 10 ? "#{Text.number(seconds)} s" : Text.duration(seconds)

      def better? = others[0] && change(others[0], "peak_rss_bytes") <= -GAIN

      def cost
        return unless base && better?
        more = change(others[0], "cpu_seconds")
        "Its calls take #{percent(more.abs)} #{more.positive? ? "more" : "less"} CPU." if more && more.abs >= COSTS
      end

      def rest
        left = base && better? ? others.drop(1) : others
        return if left.empty?
        named = left.first(OTHERS).map { |s| "#{name(s)} #{peak(s)}" }
        named << (left.size == OTHERS + 1 ? "one more is below" : "#{left.size - OTHERS} more are below") if left.size > OTHERS
        "The peaks of the others: #{named.join(", ")}."
      end

      def failures = @settings.drop(1).select { |s| s["error"] }.map { |s| "#{name(s)} could not be played: #{said(s["error"])}." }

      def beside(key)
        error = errors[key]
        was = Text.bytes(@outcome["recorded"][key].to_i)
        error.abs < 0.0005 ? "as recorded (#{was})" : "#{percent(error.abs)} #{error.positive? ? "above" : "below"} the recorded #{was}"
      end
    end
  end
end
