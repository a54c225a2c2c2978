# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "lone_page"

module Mwrap
  module Ctl
    # The flame graph as one file: web/dist/flame_alone.html with its slots filled (web/README).
    class FlamePage < LonePage # :nodoc: all
      # json: the text of /flame.json
      def initialize(json, client, endpoint)
        super(client, endpoint)
        @json = json
      end

      def to_s = fill("dist/flame_alone.html", @json)
    end
  end
end
