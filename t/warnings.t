#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# gcc and clang read all of src/ without a warning; shell scripts pass shellcheck. A planted
# mistake of each kind is found. gem.t looks for warnings that gcc gives only as it optimises.

require_relative "lib/c_tests"

include CTests

# Enums are the names of whole numbers here, which doubles are compared with: newer versions of clang warn of it.
WARN = %w[-Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes
          -Wpointer-arith -Wno-enum-float-conversion -Werror].freeze
BASE = %w[-std=gnu11 -fPIC -fvisibility=hidden -fno-strict-aliasing -D_GNU_SOURCE -Isrc].freeze
COMPILERS = %w[gcc clang].freeze

rb = RbConfig::CONFIG
# Ruby's headers, and its way of defining methods, are as they are
RUBY_FLAGS = ["-isystem", rb["rubyhdrdir"], "-isystem", rb["rubyarchhdrdir"], "-Wno-unused-parameter"].freeze

def flags(file)
  file.start_with?("src/extension/") ? RUBY_FLAGS : []
end

# Two at a time; what was said, by file.
def compile(compiler, files)
  queue = Queue.new
  files.each { |f| queue << f }
  queue.close
  said = {}
  Array.new(2) do
    Thread.new do
      while (f = queue.pop)
        r = run(compiler, "-fsyntax-only", *BASE, *WARN, *flags(f), f, dir: ROOT)
        said[f] = r.ending + "\n" + r.err unless r.ending == "exit 0" && r.err.empty?
      end
    end
  end.each(&:join)
  said
end

sources = Dir.chdir(ROOT) { Dir["src/**/*.c"].sort }
ok(sources.size > 40, "there are sources", sources.size.to_s)

MISTAKES = {
  "unused" => "int f(void); int f(void) { int unused = 1; return 2; }",
  "shadow" => "int f(int a); int f(int a) { for (int i = 0; i < a; i++) { int a = i; (void)a; } return a; }",
  "conversion" => "char f(long a); char f(long a) { return a; }",
  "sign-conversion" => "unsigned f(int a); unsigned f(int a) { return a; }",
  "missing-prototypes" => "int f(void) { return 1; }"
}.freeze

COMPILERS.each do |compiler|
  Dir.mktmpdir do |dir|
    planted = MISTAKES.map { |name, text| "#{dir}/#{name}.c".tap { |f| File.write(f, "#{text}\n") } }
    missed = planted - compile(compiler, planted).keys
    is(missed, [], "#{compiler}: sees what is planted")
  end
  said = compile(compiler, sources)
  ok(said.empty?, "#{compiler}: #{sources.size} files, no warning", said.values.join("\n"))
end

# --- shell ------------------------------------------------------------------------------
scripts = Dir.chdir(ROOT) { Dir["bin/*", ".ci/*", "doc/completions/*.bash", "t/**/*.{sh,t}"].select { |f| File.file?(f) && File.foreach(f, mode: "rb").first.to_s =~ /\A#!.*\b(ba)?sh\b/ || f.end_with?(".sh", ".bash") } }.sort
ok(scripts.size >= 5, "there are shell scripts", scripts.inspect)
r = run("shellcheck", "-x", *scripts, dir: ROOT)
ok(r.ending == "exit 0" && r.out.empty?, "shellcheck finds nothing in #{scripts.join(" ")}", r.out + r.err)
Dir.mktmpdir do |dir|
  File.write("#{dir}/x.sh", "#!/bin/sh\nrm -rf $1/lib\n")
  r = run("shellcheck", "#{dir}/x.sh")
  ok(r.ending == "exit 1" && r.out.include?("SC2086"), "shellcheck sees what is planted", r.out + r.err)
end

done_testing
