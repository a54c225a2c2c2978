# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# works.rb - what is done under each subject, in the order of the table.
require "rbconfig"
require_relative "work"
require_relative "puma"

module Works
  def self.all
    [
      ruby("strings", "Ruby: a short string", 1.15, 10_000),
      ruby("appends", "Ruby: a string that grows", nil, 2_500),
      ruby("json", "Ruby: JSON parse + generate, 60 KB", 1.05, 2),
      ruby("erb", "Ruby: ERB page, 12 KB", 1.05, 12),
      pair("pair", "C: malloc + free", 1, 20),
      pair("pair16", "C: malloc + free, 16 threads", 16, nil),
      MemoryWork.new("live", Figure.new(title: "C: a million live blocks, peak RSS", key: "rss", unit: "MB",
                                        scale: 1.024e-3, mode: :ratio, most: 1.10),
                     [File.join(Work::PROGRAMS, "live"), "1000000"]),
      PumaWork.new
    ]
  end

  # slice: rounds of some 3 ms
  def self.ruby(key, title, most, slice)
    TurnWork.new(key, Figure.new(title: title, key: "cpu", unit: "µs", scale: 1e6, mode: :ratio, most: most),
                 [RbConfig.ruby, "--disable=gems", File.join(Work::SOURCES, "#{key}.rb")], slice: slice, turns: 300)
  end

  def self.pair(key, title, threads, most)
    TurnWork.new(key, Figure.new(title: title, key: "cpu", unit: "ns", scale: 1e9, mode: :plus, most: most),
                 [File.join(Work::PROGRAMS, "pair"), threads.to_s],
                 **(threads == 1 ? { slice: 80_000, turns: 300 } : { slice: 800_000, turns: 60, one_cpu: false }))
  end
  private_class_method :ruby, :pair
end
