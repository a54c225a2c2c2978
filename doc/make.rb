# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later

# make.rb [OUT] - writes what is made from the list of options, src/api/options.def, from that of
# columns, src/api/columns.def, and from the list of mwrapctl's commands, lib/mwrap/ctl/commands.rb:
# in each of FILES the lines between the comments "begin: made by `make doc`" and "end". The rest of
# these files is written by hand. With OUT the files go to that folder and stay as they are here.

require "fileutils"
require "json"
require_relative "../lib/mwrap/ctl/commands"

ROOT = File.expand_path("..", __dir__)
Option = Struct.new(:key, :value, :group, :help, :manual)

Column = Struct.new(:name, :tables, :about)

TEXT = /"(?:\\.|[^"\\])*"(?:\s+"(?:\\.|[^"\\])*")*/ # "text" "text" of C

# The captures of each entry of a list in C, texts as they are read. Nothing but comments may be beside them.
def entries(text, form, mistake)
  rest = text.gsub(%r{/\*.*?\*/}m, "").strip
  found = []
  until rest.empty?
    m = /\A#{form}\s*/.match(rest) or abort "#{mistake}: #{rest.lines.first}"
    found << m.captures.map { |s| s.start_with?('"') ? s.scan(/"((?:\\.|[^"\\])*)"/).join.gsub(/\\(.)/) { $1 } : s }
    rest = m.post_match
  end
  found
end

# OPTION(key, SHOW(field), "value", "group", "help", "manual")
def options(text)
  form = /OPTION\(\s*(\w+),\s*[A-Z]+\(\w+\),\s*(#{TEXT}),\s*(#{TEXT}),\s*(#{TEXT}),\s*(#{TEXT})\)/
  entries(text, form, "options.def: not an OPTION").map { |captures| Option.new(*captures) }
end

# COLUMN(name, TABLES, TYPE, order, room, "title", "about"), those of /overruns apart
def columns(text)
  form = /COLUMN\(\s*(\w+),\s*(EVERY|FAMILY|KINDS),\s*[A-Z_]+,\s*-?1,\s*[0-6],\s*#{TEXT},\s*(#{TEXT})\)/
  entries(text[/^#ifdef COLUMN\n(.*?)^#endif$/m, 1].to_s, form, "columns.def: not a COLUMN").map { |captures| Column.new(*captures) }
end

# --- Ruby ---------------------------------------------------------------------------

def ruby(options)
  options.map { |o| "      [#{[o.key, o.value, o.group, o.help].map(&:dump).join(", ")}]," }.join("\n")
end

# --- the page -----------------------------------------------------------------------

def javascript(columns)
  columns.map { |c| "\t[#{[c.name, c.tables, c.about].map(&:to_json).join(", ")}]," }.join("\n")
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

# The words that may follow the colon, or what the shell completes there. nil if there are neither.
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

# --- mwrapctl -----------------------------------------------------------------------

# The label in the manual: what is typed in bold, what stands for something in italics.
def ctl_label(text)
  text.split(/([ |,=]+)/).map do |s|
    s.match?(/\A[ |,=]+\z/) ? s : s.match?(/\A[A-Z]+\z/) ? "\\fI#{s}\\fR" : "\\fB#{s.gsub("-", "\\-")}\\fR"
  end.join
end

def ctl_entries(rows) = rows.map { |label, text| ".TP\n#{ctl_label(label)}\n#{roff("#{text.sub(/\A\w/, &:upcase).chomp(".")}.")}\n" }.join

# The forms of an argument that several commands take follow them, once.
def ctl_man(commands)
  texts = commands.map do |c|
    ".SS #{c.line}\n#{roff(c.about.tr("\n", " ").strip)}\n" +
      ctl_entries(c.forms.select { |_, meaning| meaning.is_a?(String) }.to_a + c.options.map { |o| [o.label, o.manual] })
  end
  forms = commands.flat_map { |c| c.forms.reject { |_, meaning| meaning.is_a?(String) }.to_a }.uniq
  (texts + forms.map { |name, rows| ".SH #{name}\n#{ctl_entries(rows)}" }).join.chomp
end

def ctl_kind(option) = option.words || (:file if option.value == "FILE")
def ctl_flags(option) = ["--#{option.name}", *("-#{option.letter}" if option.letter)]

def ctl_bash(commands)
  valued = commands.flat_map do |c|
    c.options.select(&:value).map do |o|
      words = case ctl_kind(o)
              when Array then "compgen -W '#{o.words.join(" ")}' -- \"$3\""
              when :file then "compgen -f -- \"$3\""
              else ":"
              end
      "\t#{ctl_flags(o).map { |f| "'#{c.name} #{f}'" }.join(" | ")}) #{words} ;;"
    end
  end
  ["_mwrapctl_commands='#{commands.map(&:name).join(" ")}'",
   "_mwrapctl_no_files=' #{commands.reject { |c| c.takes.any?(&:file?) }.map { |c| "#{c.name} " }.join}'",
   "_mwrapctl_options() {", "\tcase $1 in", *commands.map { |c| "\t#{c.name}) echo '#{c.options.flat_map { |o| ctl_flags(o) }.join(" ")} --help' ;;" }, "\tesac", "}",
   "# Prints the words that may follow an option. Fails if the option takes no value.",
   "_mwrapctl_values() {", "\tcase \"$1 $2\" in", *valued, "\t*) return 1 ;;", "\tesac", "\treturn 0", "}"].join("\n")
end

def ctl_quote(text) = text.gsub(/[\[\]:\\]/) { "\\#{_1}" }.gsub("'", "'\\\\''")

# "1:SOCKET:_files" "2::LOCATION: " "*:FILE:_files"
def ctl_zsh_arguments(command)
  command.takes.each_with_index.map do |a, i|
    " '#{a.many ? "*" : i + 1}:#{":" if a.optional && !a.many}#{a.name}:#{a.file? ? "_files" : " "}'"
  end.join
end

def ctl_zsh(commands)
  names = commands.map { |c| "\t'#{c.name}:#{ctl_quote(c.summary)}'" }
  options = commands.map do |c|
    specs = c.options.map do |o|
      action = { Array => "(#{o.words&.join(" ")})", Symbol => "_files", NilClass => " " }.fetch(ctl_kind(o).class)
      takes = ":#{o.value.gsub(":", "\\:")}:#{action}" if o.value
      long = "--#{o.name}#{"=" if o.value}"
      many = "*" if o.many
      next "'*'{-#{o.letter}+,#{long}}'[#{ctl_quote(o.help)}]#{takes}'" if o.letter && many
      o.letter ? "'(-#{o.letter} --#{o.name})'{-#{o.letter}#{"+" if o.value},#{long}}'[#{ctl_quote(o.help)}]#{takes}'" : "'#{many}#{long}[#{ctl_quote(o.help)}]#{takes}'"
    end
    "#{c.name}) _arguments -s -S \\\n#{specs.map { |s| "\t#{s} \\\n" }.join}\t'--help[show this command]'#{ctl_zsh_arguments(c)} ;;"
  end
  ["commands=(", *names, ")", "_mwrapctl_options() {", "case $1 in", *options, "esac", "}"].join("\n")
end

def ctl_fish(commands)
  help = "complete -c mwrapctl -n '__fish_seen_subcommand_from help' -f -a '#{commands.map(&:name).join(" ")}'"
  [help] + commands.flat_map do |c|
    ["complete -c mwrapctl -n __mwrapctl_first -f -a #{c.name} -d '#{c.summary.gsub("'", "\\\\'")}'",
     *("complete -c mwrapctl -n '__fish_seen_subcommand_from #{c.name}' -f" if c.takes.none?(&:file?)),
     *c.options.map do |o|
       takes = case ctl_kind(o)
               when Array then " -x -a '#{o.words.join(" ")}'"
               when :file then " -r -F"
               else o.value ? " -x" : ""
               end
       "complete -c mwrapctl -n '__fish_seen_subcommand_from #{c.name}'#{" -s #{o.letter}" if o.letter} -l #{o.name}#{takes} -d '#{o.help.gsub("'", "\\\\'")}'"
     end]
  end
end

OPTIONS = options(File.read(File.join(ROOT, "src/api/options.def")))
COLUMNS = columns(File.read(File.join(ROOT, "src/api/columns.def")))
COMMANDS = Mwrap::Ctl::COMMANDS

FILES = {
  "lib/mwrap/options.rb" => [:ruby, OPTIONS], "doc/mwrap.1" => [:man, OPTIONS], "doc/completions/mwrap.bash" => [:bash, OPTIONS],
  "doc/completions/_mwrap" => [:zsh, OPTIONS], "doc/completions/mwrap.fish" => [:fish, OPTIONS],
  "web/src/server_columns.js" => [:javascript, COLUMNS],
  "doc/mwrapctl.1" => [:ctl_man, COMMANDS], "doc/completions/mwrapctl.bash" => [:ctl_bash, COMMANDS],
  "doc/completions/_mwrapctl" => [:ctl_zsh, COMMANDS], "doc/completions/mwrapctl.fish" => [:ctl_fish, COMMANDS]
}.freeze

FILES.each do |path, (from, list)|
  old = File.read(File.join(ROOT, path))
  blocks = 0
  new = old.gsub(/^([^\n]*begin: made by `make doc`\n)(?:.*?\n)??([ \t]*(?:#|\/\/|\.\\") end\n)/m) do
    blocks += 1
    "#{$1}#{[*send(from, list)].join("\n")}\n#{$2}"
  end
  abort "#{path}: has #{blocks} parts for the list, not one" unless blocks == 1
  to = File.join(ARGV[0] || ROOT, path)
  FileUtils.mkdir_p(File.dirname(to))
  File.write(to, new) unless File.exist?(to) && File.read(to) == new
end
