# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "json"
require "rbconfig"
require "tempfile"
require_relative "../executable"

module Mwrap
  module Ctl
    # mwrapctl check: whether a script's `def step` leaks.
    #
    # A child runs the script (check_child.rb), and this process sees how that ends. The script's output goes to
    # stderr.
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
        report(in_child)
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

      def unknown(reason) = Mwrap::Check::Result.new(:unknown, [], reason)

      # check_child.rb's answer. It comes through a file: processes that the script leaves behind would keep
      # a pipe open.
      def in_child
        file = Tempfile.new("mwrapctl-check", binmode: true).tap(&:unlink)
        pid = Process.spawn(environment, *command(file.fileno), file.fileno => file.fileno)
        _, status = Process.wait2(pid)
        pid = nil
        file.rewind
        bytes = file.read
        bytes.empty? ? unknown("#{@script}: ended before the rounds did (#{ending(status)})") : Marshal.load(bytes) # our own child's
      ensure
        stop(pid) if pid
        file&.close
      end

      LIB = File.expand_path("../..", __dir__)

      # Tracked from its start: of a block from before, nobody would know what it leads to.
      def environment
        tracker = Executable.tracker(LIB)
        return {} if !tracker || !Executable.preloadable?(tracker) || ENV["LD_PRELOAD"].to_s.include?("libmwrap.so")
        { "LD_PRELOAD" => [Executable.for_preload(tracker), ENV["LD_PRELOAD"]].compact.reject(&:empty?).join(":"), "MWRAP" => ENV["MWRAP"] || "stacks:off" }
      end

      # With this Ruby, and with the folders that its command line named (-I).
      def command(descriptor)
        paths = $LOAD_PATH.grep(String).reject { |path| Gem.path.any? { |dir| path.start_with?("#{dir}/") } || path.start_with?(RbConfig::CONFIG["prefix"]) }
        options = [LIB, *paths].uniq.flat_map { |path| ["-I", path] }
        [RbConfig.ruby, *options, File.join(__dir__, "check_child.rb"), descriptor.to_s, @script, Marshal.dump(@options).unpack1("H*")]
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
