#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The C and C++ code is laid out as .clang-format says, to the letter. One version of
# clang-format, since they differ: 19, which every Debian has from 12 on. To lay out what
# you changed: clang-format-19 -i FILE. Tables and macros that a hand lays out better stand
# between "clang-format off" and "on".

require_relative "lib/c_tests"

include CTests

TOOL = "clang-format-19"
CHECK = [TOOL, "--style=file", "--dry-run", "-Werror"].freeze

def complaints(*files)
  run(*CHECK, *files, dir: ROOT)
end

version = run(TOOL, "--version")
ok(version.out.include?("version 19."), "it is version 19", version.out + version.err)

# where it finds the style by itself, as an editor does
Dir.mktmpdir("format", "#{ROOT}/.build") do |dir|
  { "indent" => "int f(void)\n{\n    return 1;\n}\n",
    "brace" => "int f(void) {\n\treturn 1;\n}\n",
    "pointer" => "int f(char* p)\n{\n\treturn *p;\n}\n",
    "space" => "int f(int a)\n{\n\tif(a)\n\t\treturn 1;\n\treturn 0;\n}\n" }.each do |name, text|
    File.write("#{dir}/#{name}.c", text)
    r = complaints("#{dir}/#{name}.c")
    ok(r.ending == "exit 1" && r.err.include?("[-Wclang-format-violations]"), "sees what is planted: #{name}",
       r.ending + r.err)
  end
  File.write("#{dir}/right.c", "int f(char *p)\n{\n\tif (p)\n\t\treturn 1;\n\treturn 0;\n}\n")
  r = complaints("#{dir}/right.c")
  ok(r.ending == "exit 0" && r.err.empty?, "and nothing in what is right", r.ending + r.err)
end

sources = Dir.chdir(ROOT) { Dir["{src,t}/**/*.{c,cc,h}"].sort }
ok(sources.size > 150, "there are sources", sources.size.to_s)
sources.group_by { |path| File.dirname(path) }.each do |folder, files|
  r = complaints(*files)
  ok(r.ending == "exit 0" && r.err.empty?, "#{folder}: #{files.size} files", r.ending + "\n" + r.err.lines.grep(/error:/).join)
end

done_testing
