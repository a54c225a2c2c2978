# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.rb - `make bench` runs this once all is installed and built (run.sh): the
# cost table, as text.
#
#   PAIRS=15                runs of each work with and without mwrap, in turns
#   OTHERS=3                the same for all subjects but mwrap; 0 leaves them out
#   ONLY=strings,json       these works alone: strings appends json erb pair pair16
#                           couple couple8 live lines puma cluster start page latency
#   BELOW=jemalloc          that allocator beneath all of them, native too: or mimalloc, tcmalloc
#   SUBJECTS=mwrap,mwrap2   these beside native alone: mwrap socket (mwrap with the
#                           server, under Puma only) sampled sampled_socket recording (mwrap with trace_path: up to
#                           1 GB of files a run, so only if it is named)
#                           mwrap2 mwrap3 heaptrack
#
# A pair is one run with and one without, each a new process; what counts is the
# ratio (or difference) within a pair. Where it is of CPU time, both run at once and
# take turns of a few milliseconds, in a random order (turns.rb); memory is measured of
# one after the other. Printed are the median over the pairs and the interval that
# holds it with 95 %; of fewer than six pairs the least and the greatest.
#
# "grows to 16 threads": by how much a round's CPU time grows natively, and how much
# more or less than that it grows with the tracker; ×1 is no growth but the
# allocator's own. Two pairs, one with few threads, one with many, give one value.
require "etc"
require_relative "stats"
require_relative "subjects"
require_relative "works"
require_relative "serving"
require_relative "latency"

# The cost of a round with many threads, in terms of its cost with few.
module Growth
  # ×1 is meant; this is as finely as it can be measured.
  MOST = 1.05

  # few, many: [[native, other], …], each a hash of figures. The growth of each native
  # one, and how many times that the other one's is.
  def self.of(few, many, key)
    native, other = [0, 1].map do |side|
      few.zip(many).map { |pair_of_few, pair_of_many| pair_of_many[side].fetch(key) / pair_of_few[side].fetch(key) }
    end
    [native, native.zip(other).map { |a, b| b / a }]
  end
end

class Bench
  WIDTHS = [38, 10, 26, 8, 5].freeze

  def initialize(env)
    @pairs = Integer(env["PAIRS"] || 15)
    @others = Integer(env["OTHERS"] || 3)
    @only = env["ONLY"].to_s.split(",")
    wanted = env["SUBJECTS"].to_s.split(",")
    @native, @mine, *others = Subject.all
    @compared = [@mine, *others].select { |s| wanted.empty? ? s.key != "recording" : wanted.include?(s.key) }
    check_names(wanted)
    check_counts
    @random = Random.new(1)
    @results = {} # key of a work => { subject => pairs }
  end

  # Prints the table; a last line says whether all figures are within the budget.
  def run
    head
    works = Works.all.select { |work| wanted?(work.key) }
    ok = works.flat_map { |work| measure(work) }
    ok += Serving.all.select { |s| wanted?(s.key) }.flat_map { |s| s.run(@pairs) } if @compared.include?(@mine)
    over = ok.count(false)
    puts "", over.zero? ? "All within the budget." : "#{over} of #{ok.size} over the budget."
  end

  private

  def wanted?(key)
    @only.empty? || @only.include?(key)
  end

  def check_names(subjects)
    unknown = @only - Works.all.map(&:key) - Serving.all.map(&:key)
    unknown += subjects - Subject.all.map(&:key)
    abort "bench: no such name: #{unknown.join(", ")}" unless unknown.empty?
  end

  # A median needs a value.
  def check_counts
    abort "bench: PAIRS=#{@pairs}: measures nothing: give 1 or more" if @pairs < 1
    @compared &= [@mine] if @others < 1
    abort "bench: OTHERS=#{@others}: leaves out all of SUBJECTS: add mwrap, or give 1 or more" if @compared.empty?
  end

  def head
    cpu = File.read("/proc/cpuinfo")[/^model name\s*:\s*(.+)/, 1]
    puts "#{RUBY_DESCRIPTION}", "#{Etc.nprocessors} × #{cpu}; #{@pairs} pairs (the others: #{@others})"
    @compared.each { |s| puts "#{s.title} #{s.missing}#{s.why && ": #{s.why}"}" if s.missing }
    puts "load average #{File.read("/proc/loadavg").split.first(3).join(" ")} at the start", ""
    line("", "native", "median [95 % interval]", "budget", "")
  end

  def line(*cells)
    puts cells.each_with_index.map { |text, i| i.zero? ? text.ljust(WIDTHS[i]) : text.rjust(WIDTHS[i]) }.join("  ").rstrip
    $stdout.flush
  end

  # Returns, for each figure, whether it is within the budget.
  def measure(work)
    compared = @compared.select { |subject| !subject.key.end_with?("socket") || work.socket? }
    results = compared.to_h do |subject|
      [subject, subject.missing ? nil : pairs(work, subject, subject == @mine ? @pairs : @others)]
    end
    @results[work.key] = results
    within = work.figures.map do |figure|
      natives = results.values.compact.flatten(1).map { |native, _| native.fetch(figure.key) * figure.scale }
      results.map { |subject, runs| show(figure, natives, subject, runs) }.all?
    end
    fewer = @results[work.grows_from]
    within + (fewer ? [growth(work.figures.first.key, fewer, results)] : [])
  end

  # The rows about what more threads cost; is that within the budget?
  def growth(key, fewer, more)
    more.map { |subject, many|
      few = fewer[subject]
      next subject != @mine unless few && many

      native, ratio = Growth.of(few, many, key).map { |values| Stats.new(values) }
      show_growth(subject, native, ratio)
    }.all?
  end

  def show_growth(subject, native, ratio)
    text = format("×%.3f [%.3f, %.3f]", ratio.median, ratio.low, ratio.high)
    good = ratio.median <= Growth::MOST
    if subject == @mine
      line("    grows to 16 threads", format("×%.2f", native.median), text, format("≤ ×%.2f", Growth::MOST), good ? "ok" : "over")
    else
      line("    #{subject.title}", "", text, "", "")
    end
    good || subject != @mine
  end

  # [[native, other], …], each a hash of figures
  def pairs(work, subject, count)
    Array.new(count) { work.pair(@native, subject, @random) }
  rescue RuntimeError => e
    raise if subject == @mine

    warn "bench: #{e.message.lines.first}"
    nil
  end

  def show(figure, natives, subject, runs)
    mine = subject == @mine
    title = mine ? figure.title : "    #{subject.title}"
    native = mine && runs ? format("%.3g %s", Stats.new(natives).median, figure.unit) : ""
    unless runs
      line(title, native, subject.missing || "failed", "", "")
      return !mine
    end
    stats = Stats.new(runs.map { |a, b| figure.compare(a.fetch(figure.key), b.fetch(figure.key)) })
    more = figure.or_plus && Stats.new(runs.map { |a, b| (b.fetch(figure.key) - a.fetch(figure.key)) * figure.scale })
    line(title, native, range(figure, stats), mine ? budget(figure) : "", mine ? verdict(figure, stats, more) : "")
    line("", "", format("%+.1f %s", more.median, figure.unit), "", "") if more
    !mine || verdict(figure, stats, more) != "over"
  end

  def range(figure, stats)
    form = figure.mode == :ratio ? "×%.3f [%.3f, %.3f]" : "%+.1f [%+.1f, %+.1f] #{figure.unit}"
    format(form, stats.median, stats.low, stats.high)
  end

  def budget(figure)
    return "" unless figure.most

    format(figure.mode == :ratio ? "≤ ×%.2f" : "≤ %+d #{figure.unit}", figure.most)
  end

  # more: Stats of the difference, or nil
  def verdict(figure, stats, more)
    return "" unless figure.most

    (figure.surely ? stats.high : stats.median) <= figure.most || (more && more.median <= figure.or_plus) ? "ok" : "over"
  end
end

$stdout.sync = true
Bench.new(ENV).run if $PROGRAM_NAME == __FILE__
