# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "json"
require "tempfile"
require_relative "../executable"

module Mwrap
  module Ctl
    # mwrapctl check: whether a script's `def step` leaks.
    #
    # The script runs in a child: however it ends, this process sees that. What it prints goes to stderr.
    class Check # :nodoc: all
      def initialize(script, given)
        @script = script
        @given = given
        @options = { warmup: given["warmup"], rounds: given["rounds"], native: given["native"],
                     suppressions: given["suppressions"] }.compact
      end

      # :found, :unknown, or nil
      def run
        require_file(@script)
        @given["suppressions"]&.then { |path| require_file(path) }
        require_check
        report(in_child { judge })
      end

      private

      def require_file(path)
        File.file?(path) or raise Usage, "#{path}: #{File.exist?(path) ? "is not a file: name one" : Executable.reason(Errno::ENOENT.new)}"
        File.open(path, &:close)
      rescue SystemCallError => e
        raise Usage, "#{path}: #{Executable.reason(e)}"
      end

      # Before the child: what is wrong with the options is said once.
      def require_check
        require_relative "../check"
        Mwrap::Check.new(**@options)
      rescue LoadError => e
        raise Usage, "the Ruby extension: can't be loaded (#{e.message.lines.first.chomp}): install mwrap again"
      rescue ArgumentError => e
        raise Usage, e.message
      end

      # In the child, tracking begins before the script is loaded.
      def judge
        $stdout.reopen($stderr)
        ARGV.clear
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

      # What the block returns in a child. It comes through a file: a pipe would also be open in
      # whatever the script leaves behind.
      def in_child
        file = Tempfile.new("mwrapctl-check", binmode: true).tap(&:unlink)
        pid = fork do
          result = yield
          result.error = nil # it may be anything
          file.write(Marshal.dump(result))
          file.flush
        end
        _, status = Process.wait2(pid)
        pid = nil
        file.rewind
        bytes = file.read
        bytes.empty? ? unknown("#{@script}: ended before the rounds did (#{ending(status)})") : Marshal.load(bytes) # our own child's
      ensure
        stop(pid) if pid
        file&.close
      end

      def ending(status) = status.signaled? ? "signal #{Signal.signame(status.termsig) || status.termsig}" : "status #{status.exitstatus}"

      def stop(pid)
        Process.kill(:TERM, pid)
        Process.wait(pid)
      rescue Errno::ESRCH, Errno::ECHILD
        nil
      end

      def report(result)
        json = @given["json"]
        $stderr.puts(result.lines) if result.unknown?
        if json
          $stdout.puts(result.leaks.empty? ? "[]" : JSON.pretty_generate(result.leaks.map(&:to_h)))
        elsif !result.unknown?
          $stdout.puts(result.clean? ? "clean: #{@script}" : result.lines)
        end
        Mwrap::Check::Annotations.print(result, json ? $stderr : $stdout)
        { leak: :found, unknown: :unknown }[result.outcome]
      end
    end
  end
end
