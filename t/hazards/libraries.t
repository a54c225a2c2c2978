#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Hazards of libraries whose files change beneath a running process, as a deploy does it, and of C++'s longest names.

require_relative "../lib/hazard"
require_relative "../lib/served"

class LibraryHazards < Minitest::Test
  include HttpdTest
  include MwrapTest

  # The same code at the same addresses, under other names: one exports, one doesn't.
  CODE = <<~C
    #include <stdlib.h>
    #define KEPT __attribute__((noinline, noclone))
    #define FUNCTION(kind, function, name, more) KEPT kind void *function(size_t) __asm__(name); \\
      KEPT kind void *function(size_t n) { void *p = malloc(n + more); __asm__ volatile("" : "+r"(p)); return p; }
    FUNCTION(static, inner, INNER, 0)
    FUNCTION(, outer, OUTER, 16)
    KEPT void *work(size_t n) { void *p = inner(n), *q = outer(n); __asm__ volatile("" : "+r"(p), "+r"(q)); return p; }
  C
  BYTES = { "in" => 300 * 80_000, "out" => 300 * 80_016 }.freeze

  def library(name, inner, outer)
    File.write(path("#{name}.c"), "#define INNER \"#{inner}\"\n#define OUTER \"#{outer}\"\n#{CODE}")
    assert system("cc", "-O1", "-w", "-fPIC", "-shared", "-Wl,--build-id=none", "-o", path(name), path("#{name}.c"))
    path(name)
  end

  def holding(file)
    app = served(program("holds_library"), file, options: "stacks:4096")
    assert_equal "ready", app.hear
    app
  end

  PAGES = %w[/each/0 /each/0.tsv /each/0.json /stacks.collapsed /stacks.speedscope.json /flame /debug/pprof/heap /map /map.json /verdict].freeze

  # Every page, then a good end: { name => bytes } of the library's functions in stacks, and its rows.
  def seen(app)
    PAGES.each { |page| assert_operator body(page).bytesize, :<, 100_000, page }
    stacks = body("/stacks.collapsed?frames=all").lines(chomp: true).map { |l| l.rpartition(" ") }
    names = stacks.filter_map { |frames, _, bytes| [frames.split(";").last, bytes.to_i] if BYTES.value?(bytes.to_i) }.to_h
    rows = tsv.select { |r| r.location.start_with?(path("used.so")) }
    app.tell ""
    assert_equal 0, app.finish&.exitstatus, app.stderr
    [names, rows]
  end

  # How a deploy may change the file
  WAYS = {
    "not at all" => ->(_, _) {},
    "deleted" => ->(old, _) { File.unlink(old) },
    "renamed over" => ->(old, new) { File.rename(new, old) },
    "deleted, and another one made" => ->(old, new) { File.unlink(old) && FileUtils.cp(new, old) },
    "moved away, and another one made" => ->(old, new) { File.rename(old, "#{old}.bak") && FileUtils.cp(new, old) }
  }.freeze

  def test_files_that_are_replaced
    used = path("used.so")
    WAYS.each do |way, change|
      [old = library("old.so", "old_in", "old_out"), new = library("new.so", "new_in", "new_out")]
      FileUtils.cp(old, used)
      app = holding(used)
      change.call(used, new)
      names, rows = seen(app)
      assert_equal BYTES.values.sort, names.values.sort, way
      names.each { |name, bytes| assert_match(/\A(?:old_#{BYTES.key(bytes)}|used\.so\(\+0x\h+\))\z/, name, way) }
      assert_equal "old_out", names.key(BYTES["out"]), way
      assert_equal(["", "old_out"], rows.map { |r| r.location[/\((\w*)\+0x/, 1] }.sort, way)
    end
  end

  # In place, as cp does it: natively the process goes on as long as it doesn't call the library.
  def test_files_that_are_overwritten
    another = Dir["/usr/lib/*/libz.so.1"][0]
    [->(_) { "" }, ->(old) { old[0, 5000] }, ->(_) { File.binread(another) }, ->(_) { File.binread(library("new.so", "new_in", "new_out")) },
     ->(old) { "\xff" * old.size }].each_with_index do |bytes, i|
      old = library("old.so", "old_in", "old_out")
      FileUtils.cp(old, path("used.so"))
      app = holding(path("used.so"))
      File.binwrite(path("used.so"), bytes.call(File.binread(old)))
      names, rows = seen(app)
      assert_equal [BYTES.values.sort, 2], [names.values.sort, rows.size], i
    end
  end

  # A template's name, whose end tells it from others
  def test_names_of_60_kilobytes
    long = "x" * 60_000
    FileUtils.cp(library("old.so", "_ZN1aI#{long}2inE", "_ZN1aI#{long}3outE"), path("used.so"))
    names, rows = seen(holding(path("used.so")))
    assert_equal BYTES.values.sort, names.values.sort
    names.each { |name, bytes| assert_match(/\A_ZN1aIx{400,}\.\.\.x{400,}\d#{BYTES.key(bytes)}E\z/, name) }
    assert_equal 2, rows.size
    rows.each { |r| assert_match(/\A#{path("used.so")}\(\S*\+0x\h+\) \[0x\h+\]\z/, r.location) }
    assert_match(/\(_ZN1aIx+\.\.\.x+3outE\+0x/, rows.map(&:location).join)
  end
end
