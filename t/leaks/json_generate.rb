# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
# As json.rb, but the leaking C function is called from a Ruby file of the gem.
require_relative "run"
LeakRun.use "json"
require "json"

class Unwilling
  def to_json(*)
    raise ArgumentError
  end
end
LIST = [Unwilling.new].freeze
JSON.generator.name == "JSON::Ext::Generator" or abort "not the C extension"

LeakRun.calls do
  JSON.generate(LIST)
rescue ArgumentError
  nil
end
