# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

module Mwrap
  module Ctl
    # Amounts and locations as people read them, and text that is safe on a terminal.
    module Text # :nodoc: all
      UNITS = %w[KB MB GB TB PB EB].freeze # 1 KB is 1,024 bytes, as on the pages
      BARS = "▁▂▃▄▅▆▇█"
      PLAIN_BARS = "_.-=+*%#" # where the terminal's encoding isn't UTF-8
      ESCAPES = { "\t" => "\\t", "\n" => "\\n", "\r" => "\\r", "\\" => "\\\\" }.freeze
      UNESCAPES = ESCAPES.to_h { |char, text| [text[1], char] }.freeze
      # Characters that take two columns of a terminal
      WIDE = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/

      module_function

      # Does the terminal show more than ASCII?
      def utf8? = Encoding.default_external == Encoding::UTF_8
      def cut = utf8? ? "…" : "~"

      # "4.88 KB": three digits at most before the unit
      def bytes(n, sign: false)
        return "-" if n.nil?
        front = n.negative? ? "-" : sign && n.positive? ? "+" : ""
        n = n.abs
        return "#{front}#{n.is_a?(Float) ? number(n) : n} B" if n < 1000
        unit = -1
        (n /= 1024.0) && unit += 1 until n < 999.5 && unit >= 0
        "#{front}#{number(n)} #{UNITS[unit] || "ZB"}"
      end

      # Three digits, without zeros at the end of a fraction that has no more
      def number(n)
        digits = n >= 99.95 ? 0 : n >= 9.995 ? 1 : 2
        n.round(digits).then { |r| r == r.to_i && digits.zero? ? r.to_i.to_s : format("%.#{digits}f", r) }
      end

      # "1,234,567"
      def count(n, sign: false)
        return "-" if n.nil?
        text = n.is_a?(Float) ? format("%.2f", n) : n.to_s
        text = text.gsub(/(?<=\d)(?=(\d{3})+(?!\d))/, ",") unless text.include?(".")
        sign && n.positive? ? "+#{text}" : text
      end

      # "12 s", "3 m 5 s", "3 h 12 m", "2 d 3 h", as the pages have it
      def duration(seconds)
        seconds = seconds.to_i
        big, small, from = [["d", "h", 86_400], ["h", "m", 3600], ["m", "s", 60]].find { |*, n| seconds >= n }
        return "#{seconds} s" unless big
        "#{seconds / from} #{big} #{seconds % from / { "h" => 3600, "m" => 60, "s" => 1 }[small]} #{small}"
      end

      # Valid UTF-8 of any bytes
      def utf8(text) = text.dup.force_encoding(Encoding::UTF_8).scrub("\ufffd")

      # On one line of a terminal: nothing in it moves the cursor or ends the line.
      def clean(text)
        utf8(text).gsub(/[\t\n\r]/) { |c| ESCAPES[c] }.gsub(/[[:cntrl:]\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/) { |c| format("\\u%04x", c.ord) }
      end

      # A field of TSV, as the server writes it, and back
      def escape(text) = utf8(text).gsub(/[\t\n\r\\]/, ESCAPES)
      def unescape(text) = text.include?("\\") ? text.gsub(/\\(.)/mn) { UNESCAPES.fetch($1, $&) } : text

      # Columns of a terminal
      def width(text) = text.ascii_only? ? text.size : text.size + text.scan(WIDE).size - text.scan(/\p{Mn}/).size

      # In so many columns; what is cut off at the front leaves a sign there: a path's end says more.
      def tail(text, columns)
        return text if width(text) <= columns
        return "" if columns < 1
        text = text[-columns, columns] if text.size > columns
        text = text[1..] while width(text) > columns - 1
        "#{cut}#{text}"
      end

      # The same at the end
      def head(text, columns)
        return text if width(text) <= columns
        return "" if columns < 1
        text = text[0, columns]
        text = text[0..-2] while width(text) > columns - 1
        "#{text}#{cut}"
      end

      # A bar for each value, nil for a blank, from the least to the largest.
      def spark(values, bars = BARS)
        known = values.compact
        return "" if known.empty?
        low, high = known.minmax
        values.map { |v| v.nil? ? " " : high == low ? bars[0] : bars[((v - low) * (bars.size - 1) / (high - low).to_f).round] }.join
      end

      # So many values of a longer list: the last one of each part.
      def thin(values, size)
        return values if values.size <= size
        Array.new(size) { |i| values[(i + 1) * values.size / size - 1] }
      end
    end
  end
end
