# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
# The output's buffer is lost when an object's own to_json raises. The leaking C function
# is called from here (to_json), or from a Ruby file of the gem (generate).
require_relative "run"
LeakRun.use "json"
require "json"

class Unwilling
  def to_json(*)
    raise ArgumentError
  end
end
LIST = [Unwilling.new].freeze
WAYS = {
  "to_json" => -> { LIST.to_json }, # to_json leaks here
  "generate" => -> { JSON.generate(LIST) }
}.freeze
JSON.generator.name == "JSON::Ext::Generator" or abort "not the C extension"

way = WAYS.fetch(ARGV.fetch(2))
LeakRun.calls do
  way.call
rescue ArgumentError
  nil
end
