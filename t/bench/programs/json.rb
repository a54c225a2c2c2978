# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# json.rb - a document of 200 records, some 60 KB, is parsed and generated again.
require "json"
require_relative "measure"

TEXT = JSON.generate(
  Array.new(200) { |i|
    { "id" => i, "name" => "Customer number #{i}", "email" => "customer#{i}@example.org", "active" => i.odd?,
      "balance" => i * 1.25, "tags" => %w[new regular abroad].first(i % 4),
      "address" => { "street" => "#{i} Long Street in the Old Town", "city" => "Springfield", "zip" => format("%05d", i) },
      "note" => "A sentence or two of text with a \"quote\" and a line's end\n, as people write. " * (i % 3) }
  }
)

Measure.run do |rounds|
  rounds.times { JSON.generate(JSON.parse(TEXT)) }
end
