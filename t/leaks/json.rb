# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
# The output's buffer is lost when an object's own to_json raises.
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
  LIST.to_json # leaks here
rescue ArgumentError
  nil
end
