# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# rows.rb - the table as TSV, CSV and JSON, read strictly, and what must be true of
# it whatever the app does meanwhile. Anything else raises Rows::Wrong.
require "json"
require_relative "../lib/columns"

module Rows
  Wrong = Class.new(StandardError)
  COLUMNS = MwrapTest::COLUMNS
  KINDED = [*COLUMNS, *MwrapTest::KIND_COLUMNS].freeze # while stacks are kept
  SANE = 0..(1 << 60) # of a number below zero, or that wrapped around, nobody has so many

  module_function

  # Hashes by column. form: "tsv", "csv" or "json".
  def parse(form, body)
    text = body.dup.force_encoding(Encoding::UTF_8)
    text.valid_encoding? or raise Wrong, "not UTF-8"
    rows = form == "json" ? JSON.parse(text) : table(form == "tsv" ? tsv(text) : csv(text))
    rows.each { |row| [COLUMNS, KINDED].include?(row.keys) or raise Wrong, "columns #{row.keys}" }
  rescue JSON::ParserError => e
    raise Wrong, "not JSON: #{e.message[0, 80]}"
  end

  def tsv(text)
    text.end_with?("\n") or raise Wrong, "the last line breaks off"
    text.split("\n").map { |line| line.split("\t", -1).map { |cell| cell.gsub(/\\(.)/) { { "t" => "\t", "n" => "\n", "r" => "\r" }.fetch($1, $1) } } }
  end

  # RFC 4180; the library is a gem of its own since Ruby 3.4.
  def csv(text)
    lines = [[]]
    until text.empty?
      found = /\A(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\n|\z)/.match(text) or raise Wrong, "not CSV: #{text[0, 40].inspect}"
      lines.last << (found[1] ? found[1].gsub('""', '"') : found[2])
      lines << [] unless found[3] == ","
      text = found.post_match
    end
    lines.reject(&:empty?)
  end

  def table(lines)
    columns = [COLUMNS, KINDED].find { |names| names == lines[0] } or raise Wrong, "no header line"
    lines.drop(1).map do |cells|
      cells.size == columns.size or raise Wrong, "#{cells.size} columns"
      columns.zip(cells).to_h { |name, cell| [name, value(name, cell)] }
    end
  end

  def value(name, cell)
    case name
    when "location", "kind" then cell
    when *(MwrapTest::NUMBER_COLUMNS - MwrapTest::WHOLE_COLUMNS) then cell.empty? ? nil : Float(cell)
    else Integer(cell, 10)
    end
  rescue ArgumentError
    raise Wrong, "#{name} is #{cell.inspect}"
  end

  # asked: what the query said, by its names.
  def check(rows, asked)
    rows.each { |row| check_numbers(row) }
    names = rows.map { |row| row["location"] }
    names.uniq.size == names.size or raise Wrong, "a location has two rows"
    rows.size <= asked.fetch("limit") or raise Wrong, "#{rows.size} rows of at most #{asked["limit"]}"
    rows.all? { |row| row.values_at("total", "live_bytes", "object_bytes").max > asked.fetch("min") } or raise Wrong, "rows of less than min"
    asked["group"] != "line" || names.all? { |name| name.include?(asked.fetch("q")) } or raise Wrong, "rows without q"
    check_order(rows, asked)
  end

  def check_numbers(row)
    good = %w[total allocations frees live_bytes live max_life].all? { |name| SANE.cover?(row[name]) } &&
           SANE.cover?(row["growth"].abs) && row["mean_life"].nil? == row["frees"].zero?
    good or raise Wrong, "numbers of #{row}"
  end

  # Of rounded numbers, no more is known than that they don't go the wrong way.
  def check_order(rows, asked)
    name = asked.fetch("sort")
    values = rows.map { |row| row[name] }
    up = asked["order"] == "asc" || (asked["order"].nil? && name == "location")
    known = values.compact
    sorted = known.each_cons(2).all? { |a, b| up ? a <= b : a >= b }
    sorted && values.drop(known.size).all?(&:nil?) or raise Wrong, "not sorted by #{name} #{asked["order"]}"
  end
end
