# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

module Mwrap
  module Ctl
    # An option of a command. value: what it takes, as the help shows it, and "a|b" for words; nil
    # for none. manual: its text in mwrapctl(1).
    Option = Struct.new(:name, :letter, :value, :help, :manual, keyword_init: true) do
      # The words that it takes, nil for any text
      def words = value&.match?(/\A[a-z0-9|]+\z/) ? value.split("|") : nil

      # As the help and the manual show it
      def label = [*("-#{letter}," if letter), "--#{name}", *value].join(" ")
    end

    # A command: what it is called, what it takes, and how it is told of.
    # forms: [form of the argument, what it stands for]; action: what runs, with the argument and a
    # Hash of the options that were given, by their names.
    Command = Struct.new(:name, :argument, :summary, :about, :forms, :options, :action, keyword_init: true) do
      def call(args)
        given = {}
        rest = parse(args, given)
        raise Usage, "#{argument}: missing: see #{see}" if rest.empty?
        raise Usage, "#{shown(rest[1])}: one argument too many: see #{see}" if rest.size > 1
        action.call(rest[0], given)
      end

      def help
        <<~HEAD + columns(forms) + "\nOptions:\n" + columns(options.map { |o| [o.label, o.help] })
          usage: mwrapctl #{name} #{argument} [OPTION ...]

          #{about}
          #{argument}:
        HEAD
      end

      private

      def see = "mwrapctl help #{name}"
      def columns(rows) = rows.map { |label, text| Options.line(label, text) }.join

      # A word of the command line in a message
      def shown(word) = word.empty? ? '""' : word

      # The words that aren't options; these go into `given`.
      def parse(args, given)
        rest = []
        args = args.dup
        until args.empty?
          word = args.shift
          return rest.concat(args) if word == "--"
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
        else
          value ||= args.shift or raise Usage, "#{flag}: its value is missing: see #{see}"
          words = option.words
          raise Usage, "#{flag}: \"#{value}\" is unknown: use #{words[..-2].join(", ")} or #{words[-1]}" unless words.nil? || words.include?(value)
        end
        given[option.name] = value || true
      end
    end
  end
end
