# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# report.rb - the report on one cluster, a line for each figure, and whether
# each is as it must be.
#
# When memory grows: the tracker's tables are never given back; they grow in pieces (1 MiB
# for 65,536 live blocks, 72 kB for a thread, 176 kB for 1,024 locations) to what the app's
# busiest moment asks for, which may come late. A leak comes with work, and goes on as
# long as that does. So what counts is the second half of the soak: there a worker may take a
# piece for blocks and four for threads, and the master, which does hardly anything but
# answer, one for a thread; either may take one for locations, of which some may be new. In
# ten minutes that shows what costs a worker 40 bytes a request, or the master 4 kB or two
# locations a restart. The memory of the server's pages isn't in the tables; in the master, whose
# app does nothing either, 120 bytes a page would show in the memory of the whole process
# (which changes by a megabyte as Ruby collects its garbage).
require "tmpdir"

class Report
  SHOWN = 5 # mistakes of a kind
  LATE = { "master" => (72 + 176) << 10, "elder worker" => (1024 + (4 * 72) + 176) << 10 }.freeze # bytes of tables
  NEW = { "master" => 100, "elder worker" => 500 }.freeze # locations
  # A worker that is to end may be told so again while a thread of its closes the pipe that the
  # handler of that signal writes to. From Ruby 3.3 on IO#close may then wait for ever, and
  # Puma (issue 3677) kills the worker. Without the tracker: on 3.3.8 2 of 766 workers of these
  # clusters, with it 2 of 300, on 3.4.11 0 of 231 and 2 of 206; and of a script that does nothing else
  # 45 of 1200 on 3.3.8, with the tracker 11; 56 of 800 on 3.4.11; on 3.1.2 0 of 300. So
  # those are told apart from what else may keep a worker from ending (server.rb).
  CLOSING = "SIGKILL, waits in IO#close"
  CLOSES = RUBY_VERSION >= "3.3"
  OWN = { "master" => 3 << 20 }.freeze # bytes, from the warm-up's end to the soak's

  attr_writer :load, :poller, :restarts, :complaints, :missing, :endings, :log

  # kind: as a Cluster's
  def initialize(kind)
    @kind = kind
    @counted = 0
    @off = []
    @looks = []
    @samples = []
  end

  # Runs a check of counts.
  def counts(figures)
    yield
    @counted += 1
    @off.concat(figures.wrong)
    figures.wrong.clear
  end

  # Figures while it is idle: at the start, after the warm-up, at the end. By
  # role: descriptors, threads, and from the second on `own`, bytes of the whole process.
  def look(by_role) = @looks << by_role

  # By role bytes of tables and how many locations are in them, at regular times of the soak.
  def sample(tables) = @samples << tables

  # Is it as it was at the start?
  def settled?(by_role) = by_role.all? { |role, is| no_more_descriptors?(role, is) && no_more_threads?(role, is) }

  # It stopped.
  def ended(status, files)
    @status = status
    @files = files
  end

  # It came to no end.
  def broken(error) = @error = error

  def to_s
    @good = true
    @text = +"#{@kind} app\n"
    tell_work if @poller
    tell_looks if @looks.size == 3
    tell_end if @status
    line("came to its end", @error ? "no" : "yes", !@error, [@error&.full_message(highlight: false)])
    keep_log unless @good
    @text
  end

  # After to_s.
  def good? = @good

  private

  # good: nil if nothing is asked of it.
  def line(name, value, good = nil, mistakes = [])
    @good &&= good != false
    @text << "  #{name.ljust(52)} #{value.to_s.rjust(22)}#{good.nil? ? "" : good ? "  ok" : "  WRONG"}\n"
    return if good != false

    mistakes.first(SHOWN).each { |text| @text << text.to_s.gsub(/^/, "    ") << "\n" }
  end

  def some(name, count) = line(name, count, count.positive?)
  def none(name, list) = line(name, list.size, list.empty?, list)
  def change(name, from, to, *rest) = line(name, "#{from} -> #{to}", *rest)
  def phased? = @kind == "phased"

  def tell_work
    some("requests served", @load.served)
    none("errors", @load.errors)
    some("pages of the tracker's", @poller.pages)
    none("wrong answers", @poller.wrong)
    line("processes visited", @poller.visited.size)
    line("worker gone while it was asked", @poller.gone)
    some("workers restarted", @restarts.done[:worker])
    some("phased restarts", @restarts.done[:phased]) if phased?
    some("hot restarts of the master", @restarts.done[:hot]) if phased?
  end

  # Of each kind; one less is a connection that was still being closed at the start.
  def no_more_descriptors?(role, is)
    was = @looks[0].fetch(role)[:descriptors]
    is[:descriptors].all? { |kind, n| n <= was.fetch(kind, 0) }
  end

  def no_more_threads?(role, is) = is[:threads] <= @looks[0].fetch(role)[:threads]

  def tell_looks
    @looks[2].each do |role, is|
      was = @looks[0].fetch(role)
      change("#{role}: descriptors", was[:descriptors].values.sum, is[:descriptors].values.sum,
             no_more_descriptors?(role, is), ["#{was[:descriptors]} became #{is[:descriptors]}"])
      change("#{role}: threads", was[:threads], is[:threads], no_more_threads?(role, is))
    end
    @samples[0].each_key { |role| tell_memory(role) }
  end

  def tell_memory(role)
    first, half, last = [0, @samples.size / 2, -1].map { |i| @samples[i].fetch(role) }
    line("#{role}: bytes of tables after the warm-up", first[:bytes])
    change("#{role}: from half-time to the end", half[:bytes], last[:bytes], last[:bytes] - half[:bytes] <= LATE.fetch(role))
    change("#{role}: locations from half-time to the end", half[:locations], last[:locations],
           last[:locations] - half[:locations] <= NEW.fetch(role))
    own = @looks.drop(1).map { |look| look.fetch(role)[:own] }
    change("#{role}: bytes of the whole process", *own, OWN[role] && own[1] - own[0] <= OWN[role])
  end

  def tell_end
    some("counts checked", @counted)
    none("counts that don't agree", @off)
    none("live processes never asked", @missing)
    none("lines on stderr", @complaints)
    none("workers that crashed", @endings - ["exit 0", "SIGKILL", CLOSING])
    none("workers that Puma killed since they didn't end", @endings.grep("SIGKILL"))
    waited = @endings.count(CLOSING)
    line("workers that Puma killed in Ruby's IO#close", waited, CLOSES || waited.zero?)
    how = @status.signaled? ? "SIG#{Signal.signame(@status.termsig)}" : @status.exitstatus
    line("ended by", how, [0, "SIGTERM"].include?(how))
    none("files left behind", @files)
  end

  def keep_log
    path = File.join(Dir.tmpdir, "mwrap-soak.#{Process.pid}.log")
    File.write(path, @log)
    @text << "  Puma's log is in #{path}\n"
    @log.lines.grep(/Error|Exception|is still there/).uniq.first(SHOWN).each { |text| @text << "    " << text.scrub("?") }
  end
end
