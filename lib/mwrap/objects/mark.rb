# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

#--
# Growth since a moment. Needs lib/mwrap/objects.rb.
#++
module Mwrap::Objects
  # The numbers at that moment, by the column that names the rows.
  Mark = Struct.new(:at, :type, :class, :file)
  private_constant :Mark
  @mark = nil

  class << self
    # Counts growth from now on: +growth+ of counts, classes and iseqs is the present number less
    # the one at this mark. Another call moves the mark. A forked child keeps its parent's. Returns
    # the numbers of objects and of instruction sequences: { objects: 41000, iseqs: 9000 }.
    #
    # While other Ractors run, sequences aren't counted: :iseqs is nil, and so is their growth.
    #
    # It takes as long as counts and iseqs together. It keeps a number for each class, type and
    # file: some hundred bytes each. Raises as counts does.
    def mark
      alone do
        (types, classes), (files,) = by_type_and_class, (by_file unless other_ractors?)
        numbers = [[types, :type], [classes, :class], [files, :file]].map { |rows, column| rows&.to_h { |r| [r[column], r[:count]] }&.tap { |h| h.default = 0 } }
        @mark = Mark.new(Process.clock_gettime(Process::CLOCK_MONOTONIC), *numbers)
        { objects: @mark.type.sum { |_, n| n }, iseqs: @mark.file&.sum { |_, n| n } }
      end
    end

    private

    # Adds the growth to each row, after the number. A row whose last object is gone isn't shown.
    def grown(rows, column)
      before = @mark && @mark[column]
      rows.map { |r| { column => r[column], count: r[:count], growth: before && r[:count] - before[r[column]], memsize: r[:memsize] } }
    end

    def since
      @mark && (Process.clock_gettime(Process::CLOCK_MONOTONIC) - @mark.at).round
    end
  end
end
