# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "shellwords"
require_relative "version"
require_relative "options"

module Mwrap
  # The work of bin/mwrapctl. Its commands are in ctl/, a file each.
  module Ctl # :nodoc: all
    # One line on stderr, and the status to exit with.
    class Failure < StandardError
      attr_reader :code

      # code: the status that a server answered, if it did
      def initialize(message, code: nil)
        super(message)
        @code = code
      end

      def status = 1
    end

    # The command line is wrong: nothing was asked.
    class Usage < Failure
      def status = 2
    end
  end
end

require_relative "ctl/commands"

module Mwrap
  module Ctl
    class << self
      # Returns the exit status. Words may have any bytes.
      def run(argv)
        call(*argv.map(&:b))
      rescue Failure => e
        $stderr.write("mwrapctl: #{e.message.b.gsub(/[\x00-\x1f\x7f]/n, "?")}\n")
        e.status
      rescue Errno::EPIPE # nobody reads the help any more
        1
      rescue Interrupt
        130 # as shells have it for SIGINT
      end

      private

      def call(name = nil, *args)
        case name
        when "--help", "-h" then print(help)
        when "--version", "-V", "-v" then print("mwrapctl #{VERSION}\n")
        when "help" then print(args.empty? ? help : about(args[0]))
        when nil then alone
        when /\A-/ then raise Usage, "#{name}: unknown option: see mwrapctl --help"
        else
          command = find(name)
          command.help?(args) ? print(command.help) : command.call(args)
        end
      end

      def print(text)
        $stdout.write(text)
        $stdout.flush
        0
      end

      # The sentence about the process that is tracked
      def alone
        status = find("verdict").call([])
        $stderr.write("mwrapctl top watches it, mwrapctl open shows its page, mwrapctl --help has more\n") if $stderr.tty?
        status
      end

      # The help of a command, or of an argument of several forms
      def about(name)
        forms = COMMANDS.filter_map { |c| c.forms[name] if c.forms[name].is_a?(Array) }.first or return find(name).help
        ["#{name} of a command is one of these:", "", *forms.map { |form, meaning| Options.line(form, meaning).chomp }, ""].join("\n")
      end

      def find(name)
        COMMANDS.find { |c| c.name == name } or
          raise Usage, "#{name}: unknown command: #{(near = Nearest.of(name, COMMANDS.map(&:name))) ? "did you mean #{near}?" : "see mwrapctl --help"}"
      end

      def help
        <<~HEAD + COMMANDS.map { |c| Options.line(c.line, c.summary) }.join + <<~TAIL
          usage: mwrapctl [COMMAND [ARG ...]]
                 mwrapctl help COMMAND | SOCKET
                 mwrapctl --help | --version

          Asks a process that runs under mwrap, from outside. Without SOCKET it is the
          process that is tracked. Without COMMAND it is verdict.

        HEAD

          The manual:  #{manual}
        TAIL
      end

      # RubyGems doesn't install manuals where man looks.
      def manual
        page = File.expand_path("../../doc/mwrapctl.1", __dir__)
        File.file?(page) ? "man #{page.shellescape}" : "man mwrapctl"
      end
    end
  end
end
