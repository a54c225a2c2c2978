# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# figures.rb - the figures of a process of an idle cluster: descriptors, threads, memory,
# and whether its counts are consistent.
require_relative "cluster"
require_relative "rows"

class Figures
  TRIES = 100
  UNKNOWN = "(ruby, line not known)"
  NONE = Rows::COLUMNS.to_h { |name| [name, 0] }.freeze
  SUMS = %w[total allocations frees live_bytes live].freeze

  # One process of a cluster; what is wrong with its counts is added to `wrong`.
  def initialize(cluster, pid)
    @cluster = cluster
    @pid = pid
    @wrong = []
  end

  attr_reader :pid, :wrong

  # Kinds of open descriptors and how many of each.
  def descriptors
    Dir.children("/proc/#{@pid}/fd").filter_map { |fd| File.readlink("/proc/#{@pid}/fd/#{fd}")[/\A[^:\d]+(:\[[a-z]+\])?/] rescue nil }.tally
  end

  def threads = Dir.children("/proc/#{@pid}/task").size

  # Bytes that are the process's alone, after a trim.
  def memory
    @cluster.ask(@pid, "/trim", "POST")
    File.read("/proc/#{@pid}/status")[/^RssAnon:\s+(\d+)/, 1].to_i * 1024
  end

  # [stats, rows by location] of one moment: nothing was counted between the two
  # stats that the rows are between.
  def still
    TRIES.times do
      before, rows, after = @cluster.stats(@pid), rows_now, @cluster.stats(@pid)
      return [after, rows] if before.slice(*SUMS, "freed") == after.slice(*SUMS, "freed")

      sleep 0.05
    end
    raise "#{@pid} is never still"
  end

  # Allocated = freed + live, of a process that never was reset.
  def check_from_start
    stats, rows = still
    off = rows.values.reject { |row| row["allocations"] == row["frees"] + row["live"] }
    complain("never reset", off)
    check_sums(stats, rows)
  end

  # A reset, and what was live at it.
  def begin_count
    TRIES.times do
      @cluster.ask(@pid, "/reset", "POST")
      stats, @before = still
      return if stats.values_at("allocations", "frees") == [0, 0]
    end
    raise "#{@pid} is never still after a reset"
  end

  # Since then: what is live is what was, and what was allocated, less what was freed.
  #
  # A location without a row has no bytes, neither allocated nor live: all blocks that it
  # had were freed. Blocks that were allocated where Ruby could not be asked move to their line
  # when that becomes known: as much as other lines have too much, UNKNOWN has too little.
  def end_count
    stats, rows = still
    over = rows.to_h { |name, row| [name, surplus(row)] }
    unknown = over.delete(UNKNOWN)
    moved = over.values.transpose.map(&:sum)
    off = over.reject { |_, by| by == [0, 0] || (unknown_before? && by.all? { |n| n >= 0 }) }.keys
    off << UNKNOWN if unknown && unknown != moved.map(&:-@)
    complain("since a reset", rows.values_at(*off))
    freed = @before.except(*rows.keys).values.sum { |row| row["live"] }
    freed -= moved[0] unless unknown
    check_sums(stats, rows, "frees" => freed)
  end

  private

  def rows_now = Rows.parse("json", @cluster.ask(@pid, "/each/0.json").body).to_h { |row| [row["location"], row] }

  # How many blocks and bytes are live that weren't, and weren't allocated either.
  def surplus(row)
    was = @before.fetch(row["location"], NONE)
    [row["live"] - was["live"] - row["allocations"] + row["frees"], row["live_bytes"] - was["live_bytes"] - row["growth"]]
  end

  def unknown_before? = @before.key?(UNKNOWN)

  def check_sums(stats, rows, more = {})
    rows.size > 20 or @wrong << "#{@pid}: only #{rows.size} locations"
    SUMS.each do |name|
      sum = rows.values.sum { |row| row[name] } + more.fetch(name, 0)
      @wrong << "#{@pid}: the sum of #{name} is #{sum}, not #{stats[name]}" if sum != stats[name]
    end
  end

  def complain(what, rows)
    @wrong << "#{@pid}: #{rows.size} locations off, #{what}, such as #{rows.first}" unless rows.empty?
  end
end
