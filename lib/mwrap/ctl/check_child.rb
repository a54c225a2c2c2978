# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The child of mwrapctl check: judges a script, and writes a Mwrap::Check::Result to a descriptor. It loads nothing of
# mwrapctl's, so that the script has the libraries that it asks for.

require "mwrap/check"

module Mwrap
  module Ctl
    # See Check. Arguments: the descriptor, the script, the options by Marshal in hexadecimal.
    class CheckChild # :nodoc: all
      def initialize(descriptor, script, options)
        @to = IO.for_fd(Integer(descriptor), "wb", autoclose: false)
        @to.close_on_exec = true
        @script = script
        @options = Marshal.load([options].pack("H*")) # rubocop:disable Security/MarshalLoad -- mwrapctl's own
      end

      def run
        result = judge
        result.error = nil # it may be anything
        @to.write(Marshal.dump(result))
        @to.flush
      end

      private

      # Tracking has begun with the process, where it can be preloaded; else it begins before the script is loaded.
      def judge
        $stdout.reopen($stderr)
        ARGV.clear
        Mwrap.exact! if Mwrap.sampled?
        Mwrap::Check.start
        load(File.expand_path(@script))
        main = TOPLEVEL_BINDING.receiver
        main.respond_to?(:step, true) or return unknown("#{@script}: defines no step: write def step")
        Mwrap::Check.run(**@options) { main.__send__(:step) }
      rescue Mwrap::Check::Unknown => e
        unknown(e.message)
      rescue Exception => e # rubocop:disable Lint/RescueException
        unknown("#{@script}: raised #{Mwrap::Check.described(e)}")
      end

      def unknown(reason) = Mwrap::Check::Result.new(:unknown, [], reason)
    end
  end
end

Mwrap::Ctl::CheckChild.new(*ARGV).run
