# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

module Mwrap
  module Ctl
    # The word that was meant. src/shared/options/near.c has the same rule for options of MWRAP.
    module Nearest # :nodoc: all
      LONGEST = 40
      LETTERS_A_SLIP = 3

      module_function

      # The one with the fewest slips of the fingers; nil: none is near.
      def of(word, words)
        word = word.to_s.b
        return if word.size > LONGEST
        most = word.size / LETTERS_A_SLIP
        words.map { |w| [slips(word, w.b), w] }.select { |n, _| n <= most }.min_by(&:first)&.last
      end

      # Letters that were left out, added, replaced, or swapped with their neighbours
      def slips(a, b)
        rows = [(0..b.size).to_a]
        (1..a.size).each do |i|
          rows << [i]
          (1..b.size).each do |j|
            n = [rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), rows[i - 1][j] + 1, rows[i][j - 1] + 1].min
            n = [n, rows[i - 2][j - 2] + 1].min if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]
            rows[i] << n
          end
        end
        rows[-1][-1]
      end
    end
  end
end
