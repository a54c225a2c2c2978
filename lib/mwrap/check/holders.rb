# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

module Mwrap
  class Check
    # What Mwrap.holders says, as the check needs it: the one place that calls it.
    module Holders # :nodoc: all
      module_function

      def available? = Mwrap.respond_to?(:holders)

      # [blocks that nothing holds, what holds most of the others or nil]; nil: not known
      def of(location)
        nil unless available?
      end
    end
  end
end
