# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require_relative "recording"
require_relative "replay_jobs"
require_relative "replay_outcome"
require_relative "replay_page"
require_relative "replay_progress"
require_relative "replay_setting"

module Mwrap
  module Ctl
    # mwrapctl replay: a recording's calls under other allocators and settings, and what memory each would have taken.
    class Replay # :nodoc: all
      Column = Listing::Column
      COLUMNS = [Column.new("setting", "SETTING", :text), Column.new("peak_rss_bytes", "PEAK", :bytes), Column.new("mean_rss_bytes", "MEAN", :bytes),
                 Column.new("peak_change", "CHANGE", :relative), Column.new("cpu_seconds", "CPU S", :score)].freeze
      AS_RECORDED = "as recorded"
      LIVED = [Column.new("bytes", "LIVE", :bytes), Column.new("share", "SHARE", :share), Column.new("blocks", "BLOCKS", :count), Column.new("location", "LOCATION", :text)].freeze
      LIVED_SHOWN = 10

      FORMS = ["html", *Listing::FORMS].freeze

      def initialize(files, given)
        @files = files
        @given = given
      end

      # :found if a setting can't be played
      def run
        Output.form(@given, FORMS) # before hours of work
        settings = ReplaySettings.new(@given).to_a
        @recordings = @files.map { |file| Recording.new(file) }
        results = in_temporary { |dir| pack(dir) && play(settings) }
        report(results)
        problems = [*results.map { |r| [r.name, r.problem] }, [@peak.label, @peak.problem]].select(&:last)
        problems.each { |name, problem| $stderr.write("mwrapctl: #{name}: #{problem}\n") }
        :found unless problems.empty?
      end

      private

      # Lines below the table: what lived at the peak
      def at_peak(outcome)
        rows = outcome.lived
        return [] if rows.empty?
        more = rows.size - LIVED_SHOWN
        ["", outcome.words.at_peak, *Listing.new(LIVED, rows).table(rows.first(LIVED_SHOWN)), *(Output.paint("#{Text.count(more)} more: --json", :dim) if more.positive?)]
      end

      def in_temporary
        dir = nil
        dir = Dir.mktmpdir("mwrapctl-replay")
        yield dir
      rescue SystemCallError => e
        raise Failure, "#{Dir.tmpdir}: #{Executable.reason(e)}"
      ensure
        FileUtils.rm_rf(dir) if dir
      end

      def pack(dir)
        jobs = @recordings.each_with_index.filter_map { |r, i| [r, PackJob.new(r.file, File.join(dir, "#{i}.mwtrace"))] unless r.packed? }
        run_all(jobs.map(&:last))
        jobs.each do |recording, job|
          raise Failure, job.problem if job.problem
          recording.packed!(job.to, job.note)
        end
      end

      # An Array of ReplayResults: as recorded, then the others. One of these has the recorded variables, without the
      # tracker's bytes: what others are compared with.
      def play(settings)
        here = ReplaySettings.recorded(@recordings[0].meta, AS_RECORDED)
        settings = [here.under_its_name, *settings] unless here.problem || settings.any? { |s| s.same?(here) }
        rows = [@recordings.map { |r| PlayJob.new(r, ReplaySettings.recorded(r.meta, AS_RECORDED), ["--as-recorded", *pace]) },
                *settings.map { |s| @recordings.map { |r| PlayJob.new(r, s, pace) } }]
        @peak = PeakJob.new(@recordings)
        run_all([@peak, *rows.flatten])
        rows.map { |jobs| ReplayResult.new(jobs, @recordings) }
      end

      def pace = @given["pace"] ? ["--pace"] : []

      def run_all(jobs)
        return if jobs.empty?
        jobs = ReplayJobs.new(jobs, at_once: @given["jobs"])
        ReplayProgress.show { |progress| jobs.run { |done, labels| progress.at(done, labels) } }
      end

      def report(results)
        outcome = ReplayOutcome.new(@recordings, results, @peak.peak)
        Output.write(ReplayPage.html(outcome.document), @given["report"]) if @given["report"]
        return Output.write(ReplayPage.html(outcome.document), @given["output"]) if Output.form(@given, FORMS) == "html"
        return Output.write("#{JSON.generate(outcome.settings)}\n", @given.fetch("output", "-")) if @given["json"] || Output.form(@given, FORMS) == "json"
        Listing.new(COLUMNS, outcome.rows, facts: outcome.facts, below: at_peak(outcome), empty: "Nothing could be played.").print(@given)
      end
    end
  end
end
