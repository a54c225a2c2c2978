# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "curve"

module Mwrap
  module Ctl
    # One setting's result: of one process, or of several added up.
    class ReplayResult # :nodoc: all
      POINTS = 2000 # of a curve that is handed on

      attr_reader :setting, :jobs

      # jobs: a PlayJob for each recording, in the same order
      def initialize(jobs, recordings)
        @jobs = jobs
        @recordings = recordings
        @setting = jobs[0].setting
      end

      def name = @setting.name
      def problem = @jobs.filter_map { |job| "#{"#{job.recording.name}: " if @jobs.size > 1}#{job.problem}" if job.problem }.first
      def fine? = @jobs.none?(&:problem)
      def malloc = fine? ? @jobs[0].result[:malloc] : @setting.malloc
      def cpu = sum(:cpu_seconds)
      def failed = sum(:failed)

      def curve = @curve ||= added(@jobs.map(&:curve))
      def live = @live ||= added(@jobs.map(&:live))
      # Of the app when it was recorded
      def recorded = @recorded ||= added(@jobs.map { |job| job.recorded.map { |at, heap,| [at, heap] } })
      def recorded_live = @recorded_live ||= added(@jobs.map { |job| job.recorded.map { |at, _, live| [at, live] } })

      def to_h
        head = { "setting" => name, "malloc" => malloc, "environment" => @setting.environment, "library" => @setting.library }.compact
        return { **head, "peak_rss_bytes" => nil, "mean_rss_bytes" => nil, "cpu_seconds" => nil, "error" => problem } unless fine?
        { **head, "peak_rss_bytes" => curve.peak, "mean_rss_bytes" => curve.mean&.round, "cpu_seconds" => cpu.round(6),
          "failed_allocations" => failed, "curve" => curve.thin(POINTS) }
      end

      private

      def sum(key) = @jobs.sum { |job| job.result[key] }

      def added(all)
        Curve.sum(all.zip(@recordings).map { |points, r| Curve.new(points, ended: r.ended?) }, @recordings.map(&:started))
      end
    end
  end
end
