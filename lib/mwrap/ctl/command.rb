# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "nearest"

module Mwrap
  module Ctl
    # An option of a command.
    #
    # value:: what it takes, as the help shows it, and "a|b" for words; nil for none.
    # type::  what the action gets of it: nil the text itself, :count and :pid an Integer from 1 on,
    #         :number a Float above 0, :counts and :numbers Arrays of "1,2,3" (numbers may be 0 and below).
    # many::  true: the option may repeat, and the action gets an Array, a value for each time.
    # manual:: its text in mwrapctl(1).
    Option = Struct.new(:name, :letter, :value, :type, :many, :help, :manual, keyword_init: true) do
      # The words that it takes, nil for any text
      def words = type.nil? && value&.match?(/\A[a-z0-9|]+\z/) ? value.split("|") : nil

      # As the help and the manual show it
      def label = [*("-#{letter}," if letter), "--#{name}", *value].join(" ")

      # The value that the action gets of a text. flag: as the option was written.
      def read(text, flag)
        case type
        when :pid then count(text) or raise Usage, "#{flag}: \"#{text}\" is not a PID: write digits only"
        when :count then count(text) or raise Usage, "#{flag}: \"#{text}\" is not a count: write digits, from 1 on"
        when :number then number(text)&.then { |n| n if n.positive? } or raise Usage, "#{flag}: \"#{text}\" is not a number above 0: write one such as 2 or 0.5"
        when :counts then list(text) { |s| count(s) } or raise Usage, "#{flag}: \"#{text}\" is not a list of counts: write one such as 10,30,20"
        when :numbers then list(text) { |s| number(s) } or raise Usage, "#{flag}: \"#{text}\" is not a list of numbers: write one such as 0,1.5,3"
        else word(text, flag)
        end
      end

      private

      def word(text, flag)
        words = self.words
        return text if words.nil? || words.include?(text)
        near = Nearest.of(text, words)
        raise Usage, "#{flag}: \"#{text}\" is unknown: did you mean #{near}?" if near
        raise Usage, "#{flag}: \"#{text}\" is unknown: use #{words[0]}" if words.size == 1
        raise Usage, "#{flag}: \"#{text}\" is unknown: use #{words[..-2].join(", ")} or #{words[-1]}"
      end

      def count(text) = text.match?(/\A[1-9]\d{0,9}\z/) ? text.to_i : nil
      def number(text) = text.match?(/\A-?\d{1,15}(\.\d{1,9})?\z/) ? text.to_f : nil

      def list(text)
        found = text.split(",", -1).map { |s| yield s }
        found unless found.empty? || found.include?(nil)
      end
    end

    # An argument of a command. many: one or more of them.
    Argument = Struct.new(:name, :optional, :many) do
      def self.parse(word) = new(word[/[A-Z][A-Z0-9]*/], word.start_with?("["), word.include?("..."))

      # May it be a file? A socket is one.
      def file? = !Command::NO_FILES.include?(name)
    end

    # A command: its name, its words and its help.
    #
    # arguments:: what the usage line has behind the name: "", "SOCKET", "SOCKET [LOCATION]",
    #             "FILE...", "[FILE...]". Only the last one may be optional or a list. A first one that is optional,
    #             and is a process (Command::PROCESS), may be left out: Choice then finds the process that is meant.
    # forms::     for each argument by its name: its meaning, or an Array of [form, meaning].
    # example::   a command line.
    # action::    what runs, with an Array of the arguments and a Hash of the options that were given,
    #             by their names. It returns :found or :unknown for the exit status 1 or 2; anything
    #             else is 0. nil: the class of the command's name does, of the file of that name.
    Command = Struct.new(:name, :arguments, :summary, :about, :forms, :options, :example, :action, keyword_init: true) do
      def call(args)
        given = {}
        rest = parse(args, given)
        implied = left_out?(rest)
        missing = takes[rest.size + (implied ? 1 : 0)]
        raise Usage, "#{missing.name}: missing: see #{see}" unless missing.nil? || missing.optional
        raise Usage, "#{shown(rest[takes.size])}: one argument too many: see #{see}" if rest.size > takes.size && !takes.last&.many
        rest.unshift(process(given)) if implied
        Command::STATUS.fetch((action || method(:perform)).call(rest, given), 0)
      end

      # The Arguments
      def takes = @takes ||= arguments.scan(/\S+/).map { |word| Argument.parse(word) }

      # Is its process to be found?
      def left_out?(rest)
        return false unless takes[0]&.optional && Command::PROCESS.include?(takes[0].name)
        return location?(rest[0]) if rest.size == 1 && takes[1]&.name == "LOCATION"
        required = takes.count { |a| !a.optional }
        rest.size < required || (rest.size == required && (rest.empty? || !server?(rest[0])))
      end

      # Does it run another command, whose options are its own?
      def runs? = takes[0]&.name == "COMMAND"

      # Is its help asked for?
      def help?(args) = (runs? ? args.take_while { |word| word.start_with?("-") } : args).intersect?(%w[--help -h])

      # The name and the arguments
      def line = [name, *(arguments unless arguments.empty?)].join(" ")

      def help
        <<~HEAD + meanings + "\nOptions:\n" + columns(options.map { |o| [o.label, o.help] }) + ("\nExample:\n  #{example}\n" if example).to_s
          usage: mwrapctl #{line} [OPTION ...]

          #{about.chomp}
        HEAD
      end

      private

      def perform(rest, given)
        require_relative name
        Ctl.const_get(name.capitalize).new(*(takes.last&.many ? [rest] : rest.values_at(0...takes.size)), given).run
      end

      def see = "mwrapctl help #{name}"
      def columns(rows) = rows.map { |label, text| Options.line(label, text) }.join

      # Those of several forms are explained once: mwrapctl help SOCKET.
      def meanings
        rows = forms.map do |name, meaning|
          next [name, meaning] if meaning.is_a?(String)
          [name, "see mwrapctl help #{name}#{"; without it, the process that is tracked" if takes[0]&.optional && takes[0].name == name}"]
        end
        rows.empty? ? "" : "\nArguments:\n#{columns(rows)}"
      end

      def process(given)
        require_relative "choice"
        Choice.socket(given, adds_up: options.any? { |o| o.name == "all" }, pid: takes[0].name == "PID")
      end

      # A server, where only the word behind it is missing
      def server?(text) = text.match?(%r{\A[1-9]\d*\z|\Ahttps?://}) || File.socket?(text) || File.directory?(text)

      # A line, where SOCKET or LOCATION may stand? A host with a port isn't one.
      def location?(text) = !File.exist?(text) && text.match?(/\.(?:rb|ru|erb|haml|slim|rake|gemspec):\d+\z|\(.*\+0x\h+\)/)

      # The remedy for an unknown option
      def meant(flag)
        near = flag.start_with?("--") && Nearest.of(flag.delete_prefix("--"), options.map(&:name))
        near ? "did you mean --#{near}?" : "see #{see}"
      end

      # A word of the command line in a message
      def shown(word) = word.empty? ? '""' : word

      # The words that aren't options; these go into `given`.
      def parse(args, given)
        rest = []
        args = args.dup
        until args.empty?
          word = args.shift
          return rest.concat(args) if word == "--"
          return rest.push(word, *args) if runs? && !word.start_with?("-")
          next rest << word if word == "-" || !word.start_with?("-")
          flag, value = word.start_with?("--") ? word.split("=", 2) : [word[0, 2], *(word[2..] if word.size > 2)]
          take(flag, value, args, given)
        end
        rest
      end

      def take(flag, value, args, given)
        option = options.find { |o| flag == "--#{o.name}" || flag == "-#{o.letter}" } or
          raise Usage, "#{flag}: unknown option: #{meant(flag)}"
        if option.value.nil?
          raise Usage, "#{flag}: takes no value: see #{see}" if value
          given[option.name] = true
        else
          value ||= args.shift or raise Usage, "#{flag}: its value is missing: see #{see}"
          value = option.read(value, flag)
          option.many ? (given[option.name] ||= []) << value : given[option.name] = value
        end
      end
    end

    # The exit status for what an action returns
    Command::STATUS = { found: 1, unknown: 2 }.freeze
    # Arguments that are a process
    Command::PROCESS = %w[SOCKET SOURCE PID].freeze
    # Arguments that no file is, for the completions
    Command::NO_FILES = %w[LOCATION PID NAME TEXT VIEW FORM].freeze
  end
end
