# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later

# make.rb [OUT] - writes what is made from the list of options, src/options/options.def:
# in each of FILES the lines between the comments "begin: made by `make doc`" and "end". The
# rest of these files is written by hand. With OUT the files go to that folder and stay as they are here.

require "fileutils"

ROOT = File.expand_path("..", __dir__)
Option = Struct.new(:key, :value, :group, :help, :manual)

# OPTION(key, "text" "text", ...) of C, and its comments; nothing else may be in there.
def options(text)
  rest = text.gsub(%r{/\*.*?\*/}m, "").strip
  found = []
  until rest.empty?
    literals = /"(?:\\.|[^"\\])*"(?:\s+"(?:\\.|[^"\\])*")*/
    m = /\AOPTION\(\s*(\w+),\s*(#{literals}),\s*(#{literals}),\s*(#{literals}),\s*(#{literals})\)\s*/.match(rest) or
      abort "options.def: not an OPTION: #{rest.lines.first}"
    found << Option.new(m[1], *m.captures.drop(1).map { |s| s.scan(/"((?:\\.|[^"\\])*)"/).join.gsub(/\\(.)/) { $1 } })
    rest = m.post_match
  end
  found
end

# --- Ruby ---------------------------------------------------------------------------

def ruby(options)
  options.map { |o| "      [#{[o.key, o.value, o.group, o.help].map(&:dump).join(", ")}]," }.join("\n")
end

# --- mwrap(1) -----------------------------------------------------------------------

# A text with `code` in it, each sentence on a line of its own, as man(7) wants.
def roff(text)
  text.gsub("\\", "\\\\e").gsub("-", "\\-").gsub("^", "\\(ha").gsub(/`([^`]*)`/) { "\\fB#{$1}\\fR" }
      .gsub(/([.:;]) (?=[A-Z(])/) { "#{$1}\n" }.gsub(/(.{1,78})(?: |$)/, "\\1\n").gsub(/\n+/, "\n").chomp
      .gsub(/^(?=[.'])/, "\\\\&")
end

# PATH in italics, the words to be typed in bold.
def form(value)
  value.split(/([:|])/).map { |s| s.match?(/\A[A-Z]+\z/) ? "\\fI#{s}\\fR" : s.match?(/\A[:|]\z/) ? s : "\\fB#{s}\\fR" }.join
end

def man(options)
  options.chunk_while { |a, b| a.group == b.group }.map do |group|
    ".SS #{group[0].group}\n" + group.map { |o| ".TP\n\\fB#{o.key}\\fR:#{form(o.value)}\n#{roff(o.manual)}\n" }.join
  end.join.chomp
end

# --- the shells ---------------------------------------------------------------------

# What may stand behind the colon: words, the name of what the shell itself completes, or nothing.
def kind(option)
  return option.value.split("|") if option.value.match?(/\A[a-z0-9|]+\z/)
  { "PATH" => :file, "DIRECTORY" => :directory, "GROUP" => :group }[option.value]
end

def bash(options)
  values = options.reject { |o| kind(o).nil? }.group_by { |o| kind(o) }.map do |kind, group|
    words = { file: "-f", directory: "-d", group: "-g" }.fetch(kind) { "-W '#{kind.join(" ")}'" }
    "\t#{group.map(&:key).join(" | ")}) compgen #{words} -- \"$2\" ;;"
  end
  ["_mwrap_keys='#{options.map(&:key).join(" ")}'", "_mwrap_values() {", "\tlocal IFS=$' \\t\\n'", "\tcase $1 in", *values, "\tesac", "}"].join("\n")
end

def zsh(options)
  actions = { file: "_files", directory: "_files -/", group: "_groups", nil => " " }
  options.map do |o|
    action = kind(o).is_a?(Array) ? "(#{kind(o).join(" ")})" : actions.fetch(kind(o))
    help = o.help.gsub(/[\[\]:\\]/) { "\\#{_1}" }.gsub("'", "'\\\\''")
    "\t'#{o.key}[#{help}]:#{o.value.gsub(":", "\\:")}:#{action}'"
  end.join("\n")
end

def fish(options)
  functions = { file: "__fish_complete_path", directory: "__fish_complete_directories", group: "__fish_complete_groups", nil => "" }
  options.map do |o|
    values = kind(o).is_a?(Array) ? kind(o).join(" ") : functions.fetch(kind(o))
    "    echo '#{[o.key, values, o.help.gsub("'", "\\\\'")].join("|")}'"
  end.join("\n")
end

FILES = {
  "lib/mwrap/options.rb" => :ruby, "doc/mwrap.1" => :man, "doc/completions/mwrap.bash" => :bash,
  "doc/completions/_mwrap" => :zsh, "doc/completions/mwrap.fish" => :fish
}.freeze

list = options(File.read(File.join(ROOT, "src/options/options.def")))
FILES.each do |path, from|
  old = File.read(File.join(ROOT, path))
  blocks = 0
  new = old.gsub(/^([^\n]*begin: made by `make doc`\n)(?:.*?\n)??([ \t]*(?:#|\.\\") end\n)/m) do
    blocks += 1
    "#{$1}#{send(from, list)}\n#{$2}"
  end
  abort "#{path}: has #{blocks} parts for the list of options, not one" unless blocks == 1
  to = File.join(ARGV[0] || ROOT, path)
  FileUtils.mkdir_p(File.dirname(to))
  File.write(to, new) unless File.exist?(to) && File.read(to) == new
end
