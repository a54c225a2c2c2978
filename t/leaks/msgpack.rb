# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
# When a recursive unpacker raises, the page with its parent's stack is lost. The
# gem cuts such pages from larger blocks: it calls malloc once for 32 of them, and
# those that the GC finds late keep a block, too; so it runs more often here.
require_relative "run"
LeakRun.use "msgpack"
require "msgpack"

Point = Class.new
FACTORY = MessagePack::Factory.new
FACTORY.register_type(1, Point, recursive: true,
                      packer: ->(_, to) { to.write(1) },
                      unpacker: ->(_) { raise ArgumentError })
POINTS = FACTORY.dump([Point.new]).freeze
FACTORY.load(POINTS) rescue RAISED = $!
RAISED.is_a?(ArgumentError) or abort "not raised"

LeakRun.calls(batch: 50) do
  FACTORY.unpacker.feed(POINTS).read # leaks here
rescue ArgumentError
  nil
end
