# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "growth"

module Mwrap
  class Check
    # Ruby objects that are kept of each call, by the lines that made them. A small object has no block of
    # its own, and up to Ruby 3.2 the collector moves the content of arrays and hashes to malloc. So the
    # lines come from Ruby's own trace of allocations, which is slow: it runs only once objects are known
    # to grow.
    class Objects # :nodoc: all
      def initialize(rounds)
        require "objspace"
        @rounds = rounds
      end

      # {location => Growth} of the lines that keep objects of each call.
      def series(lengths)
        ObjectSpace.trace_object_allocations_start
        @rounds.series(lengths) { read }.select { |_, growth| growth.linear? }
      ensure
        ObjectSpace.trace_object_allocations_stop
        ObjectSpace.trace_object_allocations_clear
      end

      # The name of the class that most of a location's objects are of; nil: it has none.
      def class_name(location) = @classes.fetch(location).max_by(&:last)[0]

      private

      # [location, objects, bytes, location, ...]
      def read
        @rounds.collect
        Mwrap.quiet do
          found = living.flat_map { |path, lines| lines.map { |line, counts| ["#{path}:#{line}", *counts] } }
          @classes = found.to_h { |location, *, classes| [location, classes] }
          found.flat_map { |row| row.first(3) }
        end
      end

      # {path => {line => [objects, bytes, {class name => objects}]}}
      def living
        found = Hash.new { |files, path| files[path] = Hash.new { |lines, line| lines[line] = [0, 0, Hash.new(0)] } }
        ObjectSpace.each_object do |object|
          path = ObjectSpace.allocation_sourcefile(object)
          next if path.nil? || path == __FILE__ # these readings
          at = found[path][ObjectSpace.allocation_sourceline(object)]
          at[0] += 1
          at[1] += ObjectSpace.memsize_of(object)
          at[2][NAME.bind_call(CLASS.bind_call(object))] += 1
        end
        found
      end

      CLASS = Kernel.instance_method(:class) # a BasicObject hasn't got it
      NAME = Module.instance_method(:name)
      private_constant :CLASS, :NAME
    end
  end
end
