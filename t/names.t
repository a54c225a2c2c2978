#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# A profile, a debugger or a backtrace shows a function's name, and often a file's without its folder. So names
# in src tell functions and files apart.
require_relative "lib/tap"

class NamesTest < Minitest::Test
  SOURCES = Dir.glob("src/**/*.c", base: ROOT).sort.freeze
  MOST = 3 # files in which one name of static functions may stand
  # Named after what they show, which another file makes.
  FRONTS = %w[src/extension/ src/server/pages/].freeze

  # { name => files with a static function of it }
  def self.functions(texts)
    texts.each_with_object(Hash.new { |h, name| h[name] = [] }) do |(file, text), names|
      text.scan(/^static (?:__attribute__\(\(.*?\)\)\s*)?(?!inline\b.*=)[\w *]*?\b(\w+)\(/) { |(name)| names[name] |= [file] }
    end.except("__attribute__")
  end

  # Files of the same name, the fronts and main.c apart.
  def self.alike(files)
    files.reject { |f| f.start_with?(*FRONTS) || f.end_with?("/main.c") }.group_by { |f| File.basename(f) }.values.select { |same| same.size > 1 }
  end

  def test_functions
    names = NamesTest.functions(SOURCES.to_h { |f| [f, File.read(File.join(ROOT, f))] })
    assert_operator names.size, :>, 2000
    assert_empty(names.select { |_, files| files.size > MOST })
  end

  def test_files
    assert_operator SOURCES.size, :>, 400
    assert_empty NamesTest.alike(SOURCES)
  end

  def test_planted_names_are_noticed
    text = "static const struct row *find(const char *s)\n{\n}\nstatic int n = find(1);\n"
    assert_equal({ "find" => %w[a.c b.c] }, NamesTest.functions({ "a.c" => text, "b.c" => text, "c.c" => "int find(int);\n" }))
    assert_equal [%w[src/a/x.c src/b/x.c]], NamesTest.alike(%w[src/a/x.c src/b/x.c src/server/pages/x.c src/a/main.c src/b/main.c])
  end
end
