# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "json"
require_relative "page"
require_relative "replay_words"

module Mwrap
  module Ctl
    # The outcome of a replay (ReplayWords has its form) as one file: web/dist/replay_alone.html with its slots filled
    # (web/README). Sentences and tables are there without scripts; these draw the curves.
    class ReplayPage # :nodoc: all
      COLOURS = 10 # that replay.css has

      def self.html(outcome) = new(outcome).to_s

      def initialize(outcome)
        @outcome = outcome
        @words = ReplayWords.new(outcome)
      end

      def to_s
        Page.fill("dist/replay_alone.html", "title" => h("replay of #{file}"), "heading" => h("Replay of #{file}"), "process" => h(Text.clean(@outcome["command"].to_s)),
                                            "sentence" => sentence, "table" => table, "peak" => peak, "trusted" => @words.trusted? ? "yes" : "no", "trust" => h(@words.trust), "json" => Page.json(JSON.generate(data)))
      end

      private

      def h(text) = Page.html(text)
      def sentence = "#{h(@words.what)} <b>#{h(@words.verdict.to_s)}</b> #{h(@words.more)}"
      def file = Text.clean(File.basename(@outcome["file"].to_s))
      def settings = @words.settings

      # The recorded setting has the tracker's bytes in it: another row has it without them, if there is one.
      def apart?(setting) = setting.equal?(@words.recorded) && !setting.equal?(@words.base)

      def title(setting)
        name = Text.clean(setting["setting"].to_s)
        setting.equal?(@words.base) && !setting.equal?(@words.recorded) ? "#{name}, as it is" : name
      end

      # --- the table --------------------------------------------------------------------------

      # name, key, kind
      COLUMNS = [["Peak", "peak_rss_bytes", :bytes], ["Mean", "mean_rss_bytes", :bytes], ["CPU in malloc", "cpu_seconds", :seconds]].freeze

      def table
        head = COLUMNS.map { |name,| "<th scope=\"col\" class=\"num\">#{name}</th><th scope=\"col\" class=\"num\" abbr=\"Change of #{name}\">\u00b1</th>" }.join
        "<table class=\"settings\">\n<caption>Each setting, beside the process as it is</caption>\n<thead><tr><th scope=\"col\">Setting</th>#{head}<th scope=\"col\">To set it</th></tr></thead>\n" \
          "<tbody>\n#{settings.each_with_index.map { |s, i| row(s, i) }.join}</tbody>\n</table>"
      end

      # The lines with the most live bytes at the peak
      def peak
        said = @words.at_peak or return ""
        all, rows = @outcome["live_peak"].values_at("bytes", "locations")
        body = rows.first(LIVED).map do |name, bytes, blocks|
          "<tr><td class=\"num\">#{h(Text.bytes(bytes))}</td><td class=\"num\">#{(100.0 * bytes / all).round(1)} %</td><td class=\"num\">#{Text.count(blocks)}</td><td class=\"location\">#{h(Text.clean(name))}</td></tr>\n"
        end
        "<h2>The peak of live blocks</h2>\n<p>#{h(said)}</p>\n" \
          "<div class=\"scroll\" role=\"region\" aria-label=\"At the peak\" tabindex=\"0\">\n<table class=\"peak\">\n<caption>#{Text.count(body.size)} of #{Text.count(rows.size)}, by live bytes</caption>\n" \
          "<thead><tr><th scope=\"col\" class=\"num\">Live</th><th scope=\"col\" class=\"num\">Share</th><th scope=\"col\" class=\"num\">Blocks</th><th scope=\"col\">Location</th></tr></thead>\n<tbody>\n#{body.join}</tbody>\n</table>\n</div>"
      end

      LIVED = 40

      def row(setting, number)
        name = "<th scope=\"row\"><i class=\"swatch\"></i>#{h(title(setting))}#{" <small>with the bytes that the tracker adds</small>" if apart?(setting)}</th>"
        cells = setting["error"] ? "<td class=\"error\" colspan=\"#{2 * COLUMNS.size}\">#{h(Text.clean(setting["error"].to_s))}</td>" : COLUMNS.map { |_, key, kind| cell(setting, key, kind) }.join
        "<tr data-setting=\"#{number}\" data-curve=\"#{number % COLOURS}\"#{" class=\"base\"" if setting.equal?(@words.base)}>#{name}#{cells}<td>#{environment(setting)}</td></tr>\n"
      end

      def cell(setting, key, kind)
        value = setting[key]
        text = value.nil? ? "\u2013" : kind == :bytes ? Text.bytes(value.to_i) : seconds(value.to_f)
        change = @words.change(setting, key)
        way = change && (change <= -0.01 ? " less" : change >= 0.01 ? " more" : "")
        "<td class=\"num\">#{h(text)}</td><td class=\"num change#{way}\">#{h(change ? ReplayWords.percent(change, sign: true) : "")}</td>"
      end

      def seconds(value) = value < 0.995 ? "#{Text.number(value * 1000)} ms" : "#{Text.number(value)} s"

      def environment(setting)
        text = ReplayWords.environment(setting)
        text.empty? ? "" : "<code title=\"One click selects all of it\">#{h(text)}</code>"
      end

      # --- what the script draws --------------------------------------------------------------

      # "drawn": is the setting's curve among the others?
      def data
        { "seconds" => @outcome["seconds"].to_f, "settings" => settings.each_with_index.reject { |s,| s["error"] }.map { |s, i| curve(s, i) },
          "recorded" => { "curve" => points(@outcome.dig("recorded", "curve"), 3), **@outcome["recorded"].to_h.slice("peak", "mean") } }
      end

      def curve(setting, number)
        { "number" => number, "name" => title(setting), "drawn" => !apart?(setting), "base" => setting.equal?(@words.base),
          "peak" => setting["peak_rss_bytes"].to_i, "mean" => setting["mean_rss_bytes"].to_i, "curve" => points(setting["curve"], 2) }
      end

      # Those that are numbers throughout, by time
      def points(curve, size)
        Array(curve).select { |p| p.is_a?(Array) && p.size >= size && p.first(size).all? { |v| v.is_a?(Numeric) && v.to_f.finite? } }
                    .map { |at, *bytes| [at.to_f.round(3), *bytes.first(size - 1).map(&:to_i)] }.sort_by(&:first)
      end
    end
  end
end
