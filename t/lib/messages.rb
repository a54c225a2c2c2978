# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The messages of mwrap, collected from its sources by how they are said: for t/messages.t.
#
#   Messages.of(path)   [[message, ...], [part, ...]] of a source in C, Ruby or for the shell
#
# A message is a whole line without "mwrap: ", "mwrapctl: " or "mwrap-replay: "; inserted values are <>, as in "<>: given twice".
# A part is another text of some words, in a file with messages: it may become one elsewhere.
module Messages
  STRING = /"(?:\\.|[^"\\\n])*"/
  PROSE = /[[:alpha:]'"),] [[:alpha:]'"(%]/ # at least two words

  # How C says a line: the function, what its arguments must match, and the line, in which
  # {2} is the argument with that number.
  C = [
    ["mw_log", { 0 => /"/ }, "{0}"],
    ["rb_raise", {}, "{1}"],
    ["snprintf", { 0 => /\berr\z|wrong\z/ }, "{2}"],
    ["fprintf", { 0 => /\Astderr\z/ }, "{1}"],
    ["dprintf", { 0 => /\A(?:2|STDERR_FILENO)\z/ }, "{1}"],
    ["perror", {}, "{0}: <>"],
    ["mw_option_wrong", { 1 => /\ANULL\z/ }, "<>: {2}"],
    ["mw_option_wrong", { 1 => /\A(?!NULL\z)/ }, "<>: \"<>\" {2}"],
    ["say", { 0 => /\Ap\z/, 1 => /\A".*\w \w.*"\z/ }, "\"<>\"{1}"], # options.c
    ["say", { 0 => /\A&p\z/ }, "{1}"],
    ["path_fits", {}, "<>: \"<>\" {3}"],
    ["from_one", {}, "<>: \"<>\" {4}"],
    ["mw_dump_complain", {}, "{0} <>: {2}"],
    ["mw_dump_complain_errno", {}, "{0} <>: <>"],
    ["complain", {}, "<> <>: {1}"], # dump.c
    ["failed", {}, "<>: {1}: <>"], # socket_lock.c
    ["wrong", {}, "token_file: <> {0}"], # token.c
    ["refuse_visit", { 1 => /\A"/ }, "{1}"], # tools/attach/main.c
    ["refuse_call", { 1 => /\A"/ }, "{1}"], # tracker/process/attach.c
    ["mw_trace_refuse", { 1 => /\A"/ }, "{1}"],
    ["mw_holders_fail", { 2 => /holders/ }, "{2}"] # holders/*.c
  ].freeze

  # And Ruby, in lib/mwrap, bin and the demo.
  RUBY = [
    /\braise (?:Failure|Missing|Usage), ((?:.*\\\n)*.*)/,
    /\braise (?:Failure|Missing)\.new\((.*)/,
    /\bsay\((.*)\)/,
    /\$stderr\.write\((.*)\)/,
    /^ {4}NO_COMMAND = (.*)/
  ].freeze

  # Files whose texts are returned: the line that the caller makes of each.
  RETURNED = {
    "address.c" => "<>: \"<>\" {}", "untracked.c" => "{}", "socket_mode.c" => "<>: stays closed to others: {} (<>)",
    "executable.rb" => "<>{}", "linker.rb" => "{}", "client.rb" => "<>: {}"
  }.freeze

  module_function

  def of(path)
    text = File.read(path)
    messages, parts = path.end_with?(".c") ? c(text) : text.match?(/\A#!.*bash$/) || path.end_with?(".sh") ? [shell(text), []] : ruby(text)
    if (line = RETURNED[File.basename(path)])
      returned, parts = parts.partition { |part| line != "{}" || part.include?(": ") }
      messages += returned.map { |part| line.sub("{}") { part } }
    end
    says = messages.any? || text.match?(/mw_log_(?:line|try)\(&/)
    messages = messages.map { |s| s.sub(/\Amwrap(?:ctl|-replay)?: /, "").strip }
    [messages.grep_v(/\A[<>: ]*\z/).uniq, says ? parts : []]
  end

  def c(text)
    text = without_comments(text).gsub(/(%[-+0-9.]*)"\s*PRI\w+(\s*")?/) { "#{$1}s#{'"' unless $2}" }
    found = []
    said = []
    C.each do |name, where, line|
      calls(text, name) do |arguments|
        next unless where.all? { |i, pattern| pattern.match?(arguments[i].to_s) }
        found.concat(lines(line, arguments))
        said.concat(line.scan(/\{(\d)\}/).flat_map { |(i)| strings(arguments[i.to_i].to_s) })
      end
    end
    text.scan(/\.failed = (#{STRING})/) { |(s)| said << s[1..-2]; found << "#{s[1..-2]}: <>" } # host/threads.h
    [found.map { |s| plain(s) }, (strings(text) - said).grep(PROSE).map { |s| plain(s).strip }.uniq]
  end

  # Comments become blanks, so that places stay.
  def without_comments(text)
    text.gsub(%r{#{STRING}|'(?:\\.|[^'\\\n])'|/\*.*?\*/|//[^\n]*}m) { |s| s.start_with?("/") ? s.gsub(/[^\n]/, " ") : s }
  end

  # The arguments of each call, as they are written.
  def calls(text, name)
    text.scan(/(?<![\w.>])#{name}\(/) do
      from = $~.end(0)
      depth = 1
      at = from
      cuts = [from]
      while depth.positive?
        m = /#{STRING}|'(?:\\.|[^'\\\n])'|[(){},]/.match(text, at) or break
        at = m.end(0)
        depth += { "(" => 1, "{" => 1, ")" => -1, "}" => -1 }.fetch(m[0], 0)
        cuts << at if depth.zero? || (depth == 1 && m[0] == ",")
      end
      yield cuts.each_cons(2).map { |a, b| text[a...b - 1].strip }
    end
  end

  # The line with each text that its arguments may have; none if one has no text.
  def lines(line, arguments)
    line.scan(/\{(\d)\}/).flatten.inject([line]) do |all, i|
      texts = strings(arguments[i.to_i].to_s) - ["%s"]
      all.flat_map { |s| texts.map { |t| s.sub("{#{i}}") { t } } }
    end
  end

  # Each literal; neighbours are one.
  def strings(text)
    text.scan(/#{STRING}(?:\s+(?:PRI\w+\s+)?#{STRING})*/).map { |s| s.scan(STRING).map { |one| one[1..-2] }.join }
  end

  # Inserted values are <>.
  def plain(text)
    text.gsub(/%[-+ #0-9.*]*(?:z|l|ll|h)?[sduxoc]/, "<>").gsub(/%%/, "%").gsub(/\\(.)/) { { "n" => "\n", "t" => "\t" }.fetch($1, $1) }
  end

  def ruby(text)
    text = text.gsub(/^\s*#.*$/, "")
    said = RUBY.flat_map { |pattern| text.scan(pattern).flatten }
    found = said.flat_map { |code| ruby_strings(code) }.map { |s| ruby_plain(s) }.grep(/ /)
    parts = ruby_strings(text).map { |s| ruby_plain(s) }.grep(PROSE)
    [found, (parts - found).uniq]
  end

  # Without what #{} holds; neighbours with a backslash between them are one.
  def ruby_strings(code)
    code = code.gsub(/\\\n\s*/, " ")
    nil while code.gsub!(/#(?<held>\{(?:[^{}"]|"(?:\\.|[^"\\#])*"|\g<held>)*\})/, "<>")
    code.scan(/#{STRING}(?:\s+#{STRING})*/).map { |s| s.scan(STRING).map { |one| one[1..-2] }.join }
  end

  def ruby_plain(text) = text.gsub(/\\(.)/) { $1 == "n" ? "\n" : $1 }

  def shell(text)
    text.scan(/(?:echo "mwrap: |mw_(?:die|say) ")([^"]*)"/).flatten.map { |s| s.gsub(/\$(?:\{[^}]*\}|\w+|\([^)]*\))/, "<>") }
  end
end
