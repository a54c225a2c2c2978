# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "replay_jobs"
require_relative "replay_progress"

module Mwrap
  module Ctl
    # mwrapctl trace: a recording in another form.
    class Trace # :nodoc: all
      FORMS = %w[text heaptrack pack info].freeze

      def initialize(form, file, given)
        @form = form
        @file = file
        @to = given["output"] || "-"
      end

      def run
        FORMS.include?(@form) or raise Usage, "FORM: \"#{Text.clean(@form)}\" is unknown: use #{FORMS[..-2].join(", ")} or #{FORMS[-1]}"
        raise Usage, "--output: missing: name the file that pack makes" if @form == "pack" && @to == "-"
        ReplayProgram.require_file(@file)
        return exec(ReplayProgram::QUIET, *ReplayProgram.words(@form, @file)) if @to == "-"
        Output.whole(@to) { |path| @form == "pack" ? pack(path) : write(path) }
        nil
      rescue SystemCallError => e
        raise Failure, "#{@to}: #{Executable.reason(e)}"
      end

      private

      def pack(path)
        job = PackJob.new(@file, path)
        ReplayProgress.show { |progress| ReplayJobs.new([job]).run { |done, labels| progress.at(done, labels) } }
        raise Failure, job.problem if job.problem
        $stderr.write("mwrapctl: #{job.note}\n") if job.note
      end

      def write(path)
        Output.busy("reading #{@file}") do
          File.open(path, File::WRONLY | File::CREAT | File::EXCL | File::BINARY) { |f| ReplayProgram.run(@form, @file, out: f) }
        end
      end
    end
  end
end
