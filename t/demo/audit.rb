# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The most common leak of all: a class keeps its records, and nobody takes them out. They are too small for malloc.

class Impression
  def initialize(picture, visitor)
    @picture = picture
    @visitor = visitor
  end
end

class Audit
  @impressions = []

  class << self
    def note(picture, visitor)
      @impressions << Impression.new(picture, visitor) # the leak
    end
  end
end
