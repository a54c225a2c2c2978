# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

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
    #             "FILE...", "[FILE...]". Only the last one may be optional or a list.
    # forms::     for each argument by its name: its meaning, or an Array of [form, meaning].
    # action::    what runs, with an Array of the arguments and a Hash of the options that were given,
    #             by their names. It returns :found or :unknown for the exit status 1 or 2; anything
    #             else is 0. nil: the class of the command's name does, of the file of that name.
    Command = Struct.new(:name, :arguments, :summary, :about, :forms, :options, :action, keyword_init: true) do
      def call(args)
        given = {}
        rest = parse(args, given)
        missing = takes[rest.size]
        raise Usage, "#{missing.name}: missing: see #{see}" unless missing.nil? || missing.optional
        raise Usage, "#{shown(rest[takes.size])}: one argument too many: see #{see}" if rest.size > takes.size && !takes.last&.many
        Command::STATUS.fetch((action || method(:perform)).call(rest, given), 0)
      end

      # The Arguments
      def takes = @takes ||= arguments.scan(/\S+/).map { |word| Argument.parse(word) }

      # Does it run another command, whose options are its own?
      def runs? = takes[0]&.name == "COMMAND"

      # Is its help asked for?
      def help?(args) = (runs? ? args.take_while { |word| word.start_with?("-") } : args).intersect?(%w[--help -h])

      # The name and the arguments
      def line = [name, *(arguments unless arguments.empty?)].join(" ")

      def help
        <<~HEAD + meanings + "\nOptions:\n" + columns(options.map { |o| [o.label, o.help] })
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

      # Of the arguments: those with several forms below their own names
      def meanings
        short, long = forms.partition { |_, meaning| meaning.is_a?(String) }
        long.unshift(["Arguments", short]) unless short.empty?
        long.map { |head, rows| "\n#{head}:\n#{columns(rows)}" }.join
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
          raise Usage, "#{flag}: unknown option: see #{see}"
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
    # Arguments that no file is, for the completions
    Command::NO_FILES = %w[LOCATION PID NAME VIEW FORM].freeze
  end
end
