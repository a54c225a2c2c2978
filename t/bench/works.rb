# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# works.rb - the works done under each subject, in the order of the table.
require "rbconfig"
require_relative "work"
require_relative "puma"

module Works
  def self.all
    [
      ruby("strings", "Ruby: a short string", 1.12, 10_000),
      ruby("appends", "Ruby: a string that grows", nil, 2_500),
      ruby("json", "Ruby: JSON parse + generate, 60 KB", 1.03, 2),
      ruby("erb", "Ruby: ERB page, 12 KB", 1.03, 12),
      c("pair", "C: malloc + free", "pair", 1, most: 12, slice: 80_000, turns: 300),
      c("pair16", "C: malloc + free, 16 threads", "pair", 16, grows_from: "pair", slice: 800_000, **THREADS),
      c("couple", "C: one thread allocates, one frees", "couples", 1, slice: 400_000, **THREADS),
      c("couple8", "C: same, 8 such couples", "couples", 8, grows_from: "couple", slice: 400_000, **THREADS),
      memory("live", "C: a million live blocks, peak RSS", "rss", { most: 1.10 },
             [File.join(Work::PROGRAMS, "live"), "1000000"]),
      memory("lines", "100 threads, each 5,000 lines: PSS", "pss", { mode: :plus, most: 12 },
             [RbConfig.ruby, "--disable=gems", File.join(Work::SOURCES, "lines.rb"), "100"]),
      PumaWork.new,
      ClusterWork.new
    ]
  end

  # Long slices, in which all threads get to work at the same time.
  THREADS = { turns: 40, one_cpu: false }.freeze

  # slice: rounds of some 3 ms
  def self.ruby(key, title, most, slice)
    TurnWork.new(key, Figure.new(title: title, key: "cpu", unit: "µs", scale: 1e6, mode: :ratio, most: most),
                 [RbConfig.ruby, "--disable=gems", File.join(Work::SOURCES, "#{key}.rb")], slice: slice, turns: 300)
  end

  # argument: how many threads, or couples of them
  def self.c(key, title, program, argument, most: nil, **how)
    TurnWork.new(key, Figure.new(title: title, key: "cpu", unit: "ns", scale: 1e9, mode: :plus, most: most),
                 [File.join(Work::PROGRAMS, program), argument.to_s], **how)
  end

  # figure: what is special about it
  def self.memory(key, title, name, figure, command)
    MemoryWork.new(key, Figure.new(title: title, key: name, unit: "MB", scale: 1.024e-3, mode: :ratio, **figure), command)
  end
  private_class_method :ruby, :c, :memory
end
