# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
# The output's buffer is lost when something can't be dumped (dump), and the table of what was read
# when an object's text ends too early (load).
require_relative "run"
LeakRun.use "ox"
require "ox"

WHOLE = [proc {}].freeze
CUT = '<a i="1"><i>2</i><p i="1"/><'
WAYS = {
  "dump" => -> { Ox.dump(WHOLE, effort: :strict) }, # dump leaks here
  "load" => -> { Ox.load(CUT, mode: :object, circular: true) } # load leaks here
}.freeze

way = WAYS.fetch(ARGV.fetch(2))
LeakRun.calls do
  way.call
rescue NotImplementedError, Ox::ParseError
  nil
end
