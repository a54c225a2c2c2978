# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
# The output's buffer is lost when something can't be dumped (dump), and the table of what was read
# when an object's text ends too early (load).
require_relative "run"
LeakRun.use "ox"
require "ox"

WHOLE = [proc {}].freeze
READ = '<a i="1"><i>2</i><p i="1"/></a>'
CUT = READ.delete_suffix("/a>")
WAYS = {
  "dump" => -> { Ox.dump(WHOLE, effort: :strict) }, # dump leaks here
  "load" => -> { Ox.load(CUT, mode: :object, circular: true) } # load leaks here
}.freeze

way = WAYS.fetch(ARGV.fetch(2))
LeakRun.calls do
  way.call
rescue NotImplementedError
  nil
rescue Ox::ParseError
  # The parser's error leaves an object that marks the parser's place on the stack, and Ruby may still find the object
  # there: a crash. The next call, in the same place, leaves one that marks nothing.
  Ox.load(READ, mode: :object, circular: true)
end
