# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "zlib"
require_relative "lone_page"

module Mwrap
  module Ctl
    # The memory map as one file: web/dist/map_alone.html with its slots filled (web/README).
    class MapPage < LonePage # :nodoc: all
      CELLS = 4_000_000 # at most: a page of some megabytes

      # snapshot: a MapSnapshot; level: one of its levels, planes: the cells of that
      def initialize(snapshot, level, planes, client, endpoint)
        super(client, endpoint)
        @snapshot = snapshot
        @level = level
        @planes = planes
      end

      def to_s
        json = %({"level":#{@level},"map":#{@snapshot.text.strip}})
        fill("dist/map_alone.html", json, "cells" => [Zlib.deflate(@planes.join)].pack("m0"))
      end
    end
  end
end
