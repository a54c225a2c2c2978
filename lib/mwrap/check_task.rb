# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "rake"
require "rake/tasklib"
require "rbconfig"

module Mwrap
  # A Rake task that runs <tt>mwrapctl check</tt> for each script, and fails if one leaks, or if it can't
  # be told.
  #
  #   require "mwrap/check_task"
  #   Mwrap::CheckTask.new(:leaks) do |t|
  #     t.scripts = FileList["test/leaks/*.rb"]
  #     t.warmup = 50
  #   end
  class CheckTask < ::Rake::TaskLib
    # The task's name; <tt>:leaks</tt>.
    attr_accessor :name
    # Paths of scripts that define +step+; <tt>leaks/*.rb</tt>.
    attr_accessor :scripts
    # As in Mwrap::Check.run; nil: its defaults.
    attr_accessor :warmup, :rounds, :native, :suppressions

    # Defines the task, after the block has set the attributes of what it is given.
    def initialize(name = :leaks)
      super()
      @name = name
      @scripts = ::Rake::FileList["leaks/*.rb"]
      yield self if block_given?
      define
    end

    private

    def define
      desc "Look for leaks" unless ::Rake.application.last_description
      task(@name) { run }
    end

    def run
      scripts = @scripts.to_a
      raise "#{@name}: no scripts: set scripts" if scripts.empty?
      bad = scripts.reject { |script| system(*command(script)) }
      raise "#{@name}: #{bad.join(", ")}: not clean" if bad.any?
    end

    def command(script)
      [RbConfig.ruby, File.expand_path("../exe/mwrapctl", __dir__), "check", *options, "--", script]
    end

    def options
      [*(["--warmup", @warmup.to_s] if @warmup), *(["--rounds", Array(@rounds).join(",")] if @rounds),
       *("--native" if @native), *(["--suppressions", @suppressions.to_s] if @suppressions)]
    end
  end
end
