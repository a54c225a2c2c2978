# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# works.rb - what is done under each subject, and how the results compare.
require "rbconfig"
require "tmpdir"
require_relative "puma"

# One figure of a work.
#   key     its name in what the work's program writes
#   unit    of the native figure; scale: it is multiplied by that to be in that unit
#   mode    :ratio, or :plus, the difference in `unit`
#   most    the budget: the greatest ratio or difference that is all right
#   or_plus with :ratio, a difference that is all right whatever the ratio
Figure = Struct.new(:title, :key, :unit, :scale, :mode, :most, :or_plus, keyword_init: true) do
  def compare(native, other)
    mode == :ratio ? other / native : (other - native) * scale
  end
end

class Work
  PROGRAMS = File.expand_path("../../.build/t/bench", __dir__)
  SOURCES = File.join(__dir__, "programs")

  attr_reader :key, :figures

  def initialize(key, figures, command)
    @key = key
    @figures = figures
    @command = command
  end

  # Runs once; a hash of what the program wrote.
  def run(subject)
    Dir.mktmpdir("mwrap-bench-") do |dir|
      out = File.join(dir, "out")
      ok = system(subject.env.merge("BENCH_OUT" => out), *@command, out: File::NULL, chdir: dir)
      ok or raise "#{key} under #{subject.title} failed (#{$?})"
      Work.parse(File.read(out))
    end
  end

  def self.parse(text)
    text.lines.to_h { |line| line.split.then { |name, number| [name, Float(number)] } }
  end

  def self.ruby(key, title, most, rounds)
    new(key, [Figure.new(title: title, key: "cpu", unit: "µs", scale: 1e6 / rounds, mode: :ratio, most: most)],
        [RbConfig.ruby, "--disable=gems", File.join(SOURCES, "#{key}.rb")])
  end

  def self.pair(key, title, threads, count, most)
    new(key, [Figure.new(title: title, key: "ns", unit: "ns", scale: 1, mode: :plus, most: most)],
        [File.join(PROGRAMS, "pair"), threads.to_s, count.to_s])
  end

  def self.all
    [
      ruby("strings", "Ruby: a short string", 1.15, 3_000_000),
      ruby("appends", "Ruby: a string that grows", nil, 700_000),
      ruby("json", "Ruby: JSON parse + generate, 60 KB", 1.05, 500),
      ruby("erb", "Ruby: ERB page, 12 KB", 1.05, 1500),
      pair("pair", "C: malloc + free", 1, 5_000_000, 20),
      pair("pair16", "C: malloc + free, 16 threads", 16, 2_000_000, nil),
      new("live", [Figure.new(title: "C: a million live blocks, peak RSS", key: "rss", unit: "MB", scale: 1.024e-3,
                              mode: :ratio, most: 1.10)], [File.join(PROGRAMS, "live"), "1000000"]),
      PumaWork.new
    ]
  end
end
