#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The table of hazards in t/README names tests that exist, and all of t/hazards.

require_relative "lib/tap"

class ReadmeTest < Minitest::Test
  Row = Struct.new(:hazard, :tests, :result)

  def rows
    @rows ||= File.readlines(File.join(__dir__, "README"), chomp: true).grep(/\A\|/).drop(2).map do |line|
      cells = line.split("|", -1).map(&:strip)
      assert_equal 5, cells.size, line
      Row.new(cells[1], cells[2].split("; ").map { |t| t.split(": ", 2) }, cells[3])
    end
  end

  def source(file)
    (@sources ||= {})[file] ||= File.read(File.join(__dir__, file))
  end

  # Is there a test method, or a test's name in a string?
  def test?(file, name)
    text = source(file)
    text.match?(/^\s*def test_#{Regexp.escape(name.tr(" ", "_"))}$/) || text.match?(/"[^"\n]*#{Regexp.escape(name)}[^"\n]*"/) ||
      text.match?(/^\s*define_method\(:"test_#{Regexp.escape(name.tr(" ", "_"))}/)
  end

  def test_every_row_is_complete
    assert_operator rows.size, :>=, 55
    rows.each { |r| refute(r.hazard.empty? || r.tests.empty? || r.result.empty?, r.hazard) }
    assert_equal rows.map(&:hazard).uniq, rows.map(&:hazard)
  end

  def test_every_test_that_is_named_exists
    rows.each do |r|
      r.tests.each do |file, name|
        assert name && File.executable?(File.join(__dir__, file)), "#{r.hazard}: #{file}"
        assert test?(file, name), "#{r.hazard}: #{file} has no #{name.inspect}"
      end
    end
  end

  def test_every_test_of_a_hazard_is_named
    named = rows.flat_map(&:tests)
    files = Dir.children(File.join(__dir__, "hazards")).grep(/\.t\z/)
    assert_operator files.size, :>=, 5
    files.each do |f|
      methods = source("hazards/#{f}").scan(/^\s*def test_(\w+)$/).flatten
      refute_empty methods
      assert_empty methods.map { |m| ["hazards/#{f}", m.tr("_", " ")] } - named
    end
  end
end
