# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# sides.rb - `make bench-sides` runs this (run.sh): mwrap on several allocators, and other
# tools, side by side.
#
#   PAIRS=11       runs of each work with and without mwrap, in turns
#   OTHERS=3       the same for the other tools
#   ONLY=puma      these works alone: strings json erb pair live puma
#
# A round measures one pair in every column, so all columns see the same hours of the machine.
# The ratio is always to the same work on the same allocator without the tool. Printed are the
# medians side by side, for README, and each with its native figure and its interval.
require_relative "run"

class Sides
  WORKS = %w[strings json erb pair live puma].freeze
  ALLOCATORS = %w[libc jemalloc mimalloc].freeze
  OTHERS = %w[mwrap2 mwrap3 heaptrack].freeze

  # title, native subject, other subject, pairs
  Column = Struct.new(:title, :native, :other, :pairs)

  def initialize(env)
    @random = Random.new(1)
    only = env["ONLY"].to_s.split(",")
    @works = Works.all.select { |work| WORKS.include?(work.key) && (only.empty? || only.include?(work.key)) }
    abort "bench: ONLY=#{env["ONLY"]}: no such work: give some of #{WORKS.join(",")}" if @works.empty?
    @columns = columns(Integer(env["PAIRS"] || 11), Integer(env["OTHERS"] || 3))
  end

  def run
    head
    results = @works.to_h { |work| [work, measure(work)] }
    puts "", "Medians", ""
    line("", *@columns.map { |c| c.title.delete_prefix("mwrap ") }, "budget")
    results.each { |work, columns| work.figures.each { |figure| medians(figure, columns) } }
  end

  private

  def columns(pairs, others)
    mine = ALLOCATORS.map { |name| Column.new(name == "libc" ? "glibc" : name, *Subject.both(name), pairs) }
    mine << Column.new("sampled", *Subject.both("libc", env: Subject::SAMPLED), pairs)
    all = Subject.all
    theirs = all.select { |s| OTHERS.include?(s.key) }.map { |s| Column.new(s.title, all.first, s, others) }
    mine + theirs.reject { |column| column.pairs.zero? }
  end

  def head
    cpu = File.read("/proc/cpuinfo")[/^model name\s*:\s*(.+)/, 1]
    puts RUBY_DESCRIPTION, "#{Etc.nprocessors} × #{cpu}; #{@columns.map { |c| "#{c.title} #{c.pairs}" }.join(", ")} pairs"
    puts "load average #{File.read("/proc/loadavg").split.first(3).join(" ")} at the start"
    $stdout.flush
  end

  # column => pairs, or nil: it can't be measured there
  def measure(work)
    runs = @columns.to_h { |column| [column, column.other.missing ? nil : []] }
    @columns.map(&:pairs).max.times do |i|
      runs.each { |column, pairs| add(work, column, runs) if pairs && i < column.pairs }
    end
    work.figures.each { |figure| intervals(figure, runs) }
    runs
  end

  def add(work, column, runs)
    runs[column] << work.pair(column.native, column.other, @random)
  rescue RuntimeError => e
    warn "bench: #{e.message.lines.first}"
    runs[column] = nil
  end

  def stats(figure, pairs)
    Stats.new(pairs.map { |a, b| figure.compare(a.fetch(figure.key), b.fetch(figure.key)) })
  end

  def intervals(figure, runs)
    puts "", figure.title
    runs.each do |column, pairs|
      next puts(format("    %-18s %s", column.title, column.other.missing || "failed")) unless pairs

      native = Stats.new(pairs.map { |a, _| a.fetch(figure.key) * figure.scale }).median
      s = stats(figure, pairs)
      form = figure.mode == :ratio ? "×%.3f [%.3f, %.3f]" : "%+.1f [%+.1f, %+.1f]"
      puts format("    %-18s %10.3g %-2s  #{form}%s", column.title, native, figure.unit, s.median, s.low, s.high, plus(figure, pairs))
    end
    $stdout.flush
  end

  # Of memory, the difference as well.
  def plus(figure, pairs)
    return "" unless figure.or_plus

    s = Stats.new(pairs.map { |a, b| (b.fetch(figure.key) - a.fetch(figure.key)) * figure.scale })
    format("  %+.1f [%+.1f, %+.1f] %s", s.median, s.low, s.high, figure.unit)
  end

  def medians(figure, runs)
    cells = runs.map do |column, pairs|
      next column.other.missing ? "-" : "failed" unless pairs

      format(figure.mode == :ratio ? "×%.3f" : "%+.0f #{figure.unit}", stats(figure, pairs).median)
    end
    line(figure.title, *cells, budget(figure))
  end

  def budget(figure)
    format(figure.mode == :ratio ? "≤ ×%.2f" : "≤ %+d #{figure.unit}", figure.most)
  end

  def line(title, *cells)
    puts (title.ljust(35) + cells.map { |text| text.rjust(11) }.join).rstrip
  end
end

$stdout.sync = true
Sides.new(ENV).run if $PROGRAM_NAME == __FILE__
