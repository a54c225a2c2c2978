# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require_relative "recording"
require_relative "replay_jobs"
require_relative "replay_progress"
require_relative "replay_result"
require_relative "replay_setting"
require_relative "replay_words"

module Mwrap
  module Ctl
    # mwrapctl replay: a recording's calls under other allocators and settings, and what memory each would have taken.
    class Replay # :nodoc: all
      Column = Listing::Column
      COLUMNS = [Column.new("setting", "SETTING", :text), Column.new("peak_rss_bytes", "PEAK", :bytes), Column.new("mean_rss_bytes", "MEAN", :bytes),
                 Column.new("peak_change", "CHANGE", :relative), Column.new("cpu_seconds", "CPU S", :score)].freeze
      AS_RECORDED = "as recorded"

      def initialize(files, given)
        @files = files
        @given = given
      end

      # :found if a setting can't be played
      def run
        settings = ReplaySettings.new(@given).to_a
        require_report if @given["report"]
        @recordings = @files.map { |file| Recording.new(file) }
        results = in_temporary { |dir| pack(dir) && play(settings) }
        report(results)
        results.each { |r| $stderr.write("mwrapctl: #{r.name}: #{r.problem}\n") unless r.fine? }
        :found unless results.all?(&:fine?)
      end

      private

      def require_report
        require_relative "replay_page"
        ReplayPage
      rescue LoadError, NameError
        raise Failure, "--report: this mwrap has no such page: install it again"
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

      # An Array of ReplayResults: as recorded, then as it is without the tracker, then the others
      def play(settings)
        first = @recordings[0].meta
        here = ReplaySettings.recorded(first, "")
        known = settings.find { |s| s.same?(here) }
        unless known || here.problem
          here.name = [here.malloc, *here.environment.map { |pair| pair.join("=") }].join(" ")
          settings = [known = here, *settings]
        end
        @base_setting = known
        rows = [@recordings.map { |r| PlayJob.new(r, ReplaySettings.recorded(r.meta, AS_RECORDED), ["--as-recorded", *pace]) },
                *settings.map { |s| @recordings.map { |r| PlayJob.new(r, s, pace) } }]
        run_all(rows.flatten)
        results = rows.map { |jobs| ReplayResult.new(jobs, @recordings) }
        @base = results.drop(1).find { |r| r.setting.equal?(known) }
        results
      end

      def pace = @given["pace"] ? ["--pace"] : []

      def run_all(jobs)
        return if jobs.empty?
        jobs = ReplayJobs.new(jobs, at_once: @given["jobs"])
        ReplayProgress.show { |progress| jobs.run { |done, labels| progress.at(done, labels) } }
      end

      def report(results)
        words = ReplayWords.new(@recordings, results, @base)
        Output.write(ReplayPage.html(words.document), @given["report"]) if @given["report"]
        return Output.write("#{JSON.generate(words.settings)}\n") if @given["json"]
        rows = results.select(&:fine?).map { |r| [r.name, r.curve.peak, r.curve.mean&.round, words.change(r), r.cpu] }
        Listing.new(COLUMNS, rows, facts: words.facts, empty: "Nothing could be played.").print(@given)
      end
    end
  end
end
