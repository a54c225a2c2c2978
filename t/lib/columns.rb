# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The list of columns, src/api/columns.def, for tests. Standard library only: any test may ask.
# t/unit/test_escape.c has the names as scripts know them.

module MwrapTest
  columns = File.read(File.expand_path("../../src/api/columns.def", __dir__))
  LISTED_COLUMNS = columns.scan(/^COLUMN\((\w+), ([A-Z]+), ([A-Z_]+), /).map { |words| words.map(&:freeze).freeze }.freeze
  raise "columns.def has another form" unless LISTED_COLUMNS.size == columns.scan(/^COLUMN\(/).size && LISTED_COLUMNS.assoc("location")

  OVERRUN_COLUMNS = columns.scan(/^OVERRUN_COLUMN\((\w+), [A-Z]+, /).flatten.freeze
  # Names, in order: of every table, then what a family's sum has too, and a process that keeps stacks.
  COLUMNS, FAMILY_COLUMNS, KIND_COLUMNS = %w[EVERY FAMILY KINDS].map { |tables| LISTED_COLUMNS.select { |_, t| t == tables }.map(&:first).freeze }
  # Of every table: the numbers; means, which are nil or have decimals; whole numbers.
  NUMBER_COLUMNS = (COLUMNS - LISTED_COLUMNS.select { |*, type| type == "TEXT" }.map(&:first)).freeze
  MEAN_COLUMNS = (NUMBER_COLUMNS & LISTED_COLUMNS.select { |*, type| type.start_with?("MEAN") }.map(&:first)).freeze
  WHOLE_COLUMNS = (NUMBER_COLUMNS - MEAN_COLUMNS - LISTED_COLUMNS.select { |*, type| type == "ERROR" }.map(&:first)).freeze
  # Estimated once a second: two answers may differ. Then the others, and those that sums add up.
  ESTIMATED_COLUMNS = COLUMNS.grep(/\Aobject/).freeze
  EXACT_COLUMNS = (COLUMNS - ESTIMATED_COLUMNS).freeze
  SUM_COLUMNS = (EXACT_COLUMNS & LISTED_COLUMNS.select { |*, type| %w[BYTES COUNT].include?(type) }.map(&:first)).freeze
end
