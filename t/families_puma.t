#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# Families with real servers: Puma's clusters and Pitchfork's, started by the launcher. One
# address shows each process and their sum, through phased restarts, when the master is
# killed, behind a shell, with a worker that is stopped, and in a directory.
# families.t has the same with plain forks, families_many.t with a thousand children.

require "etc"
require_relative "lib/clusters"

class FamiliesPumaTest < Minitest::Test
  include Served

  # Nobody asks so seldom: no worker tells its master anything while a test lasts.
  IDLE = { check: 3000 }.freeze
  LINES = File.readlines(Clusters::SERVER)
  # Lines of the server's: what the master made before it forked, and what each worker made
  KEPT = "family_server.rb:#{LINES.index { |l| l.start_with?("KEPT") } + 1}"
  OWN = "family_server.rb:#{LINES.index { |l| l.include?("MINE <<") } + 1}"

  # The sum's table, of so many processes: one that didn't answer in time isn't in it.
  def all_of(n)
    all = nil
    becomes(n, "processes in the sum") { (all = table("/all/each/0.tsv")).map { |r| r["processes"] }.max }
    all
  end

  def at_line(line) = /#{Regexp.escape(line)}\z/

  # Puma ends by the signal that it was told to end by.
  def ended(app) = assert_equal(Signal.list["TERM"], app.finish.termsig, app.stderr)

  # --- who they are -------------------------------------------------------------------------

  # Seconds since a process was started.
  def age(pid)
    ticks = File.read("/proc/#{pid}/stat").rpartition(")").last.split[19].to_f
    Process.clock_gettime(Process::CLOCK_BOOTTIME) - ticks / Etc.sysconf(Etc::SC_CLK_TCK)
  end

  def check_list(rows, app, workers)
    assert_equal [app.pid, *workers].sort, rows.map { |p| p["pid"] }
    assert_equal [app.pid], owners(rows)
    assert_equal [nil, app.pid, app.pid], rows.map { |p| p["forked_from"] }.sort_by(&:to_i)
    assert_match(/\Apuma 6\.6\.1 \(tcp:/, rows.find { |p| p["owner"] }["title"])
    titles = rows.reject { |p| p["owner"] }.map { |p| p["title"][/\Apuma: cluster worker (\d): #{app.pid}/, 1] }
    assert_equal %w[0 1], titles.sort
    rows.each do |p|
      assert_equal [true, "answers"], p.values_at("ruby", "state")
      assert_operator p["age"], :>, 0
      assert_operator p["age"], :<=, age(app.pid), "younger than the master is now" # each row is of its own moment
      assert_in_delta File.read("/proc/#{p["pid"]}/statm").split[1].to_i * 4096, p["rss_bytes"], 16 << 20
      assert_operator p["live_bytes"], :>, 300_000
    end
  end

  def test_each_by_its_number
    app, workers = puma(**IDLE)
    # a worker says that it has booted before it has started its threads
    rows = eventually("an idle moment") do
      now = list([app.pid, *workers])
      now if now.all? { |p| [p["pid"], p["live_bytes"]] == JSON.parse(body("/#{p["pid"]}/stats.json")).values_at("pid", "live_bytes") }
    end
    check_list(rows, app, workers)
    rows.each do |p|
      pid = p["pid"]
      assert_includes body("/#{pid}/"), %(href="/#{pid}/each/2000")
      assert_equal pid, JSON.parse(body("/stats.json", at: pid == app.pid ? path : path("s.#{pid}")))["pid"]
      eventually("a link to #{pid}") { body("/family").include?(%(href="/#{pid}/")) } # to those that answered in time
    end
    # any of them says the same
    workers.each { |w| assert_equal rows.map { |p| p["title"] }, family(at: path("s.#{w}")).map { |p| p["title"] } }
    ended(app)
    assert_empty Dir.children(@dir).grep(/\As(\.|\z)/)
    assert_equal "", app.stderr
  end

  # --- their sum ------------------------------------------------------------------------------

  # Rows of one process by what the sum calls them.
  def by_place(rows)
    rows.group_by { |r| plain(r["location"]) }.transform_values do |same|
      %w[total allocations frees growth live_bytes live object_bytes].to_h { |c| [c, same.sum { |r| r[c] }] }
    end
  end

  # The sum, the processes' tables, and what they inherited, of one moment: what each said of
  # itself before the sum was made, it says after it, too, to the last byte. So nothing happened
  # meanwhile, and the sum has to be that of these very tables; where something did (Ruby
  # may run a thread of Puma's at any time), they are taken again.
  def one_moment(pids, sum: "/all/each/2000.tsv", at: path)
    eventually("an idle moment") do
      before = pids.map { |pid| table("/#{pid}/each/0.tsv", at: at) }
      inherited = pids.map { |pid| fork_baseline(pid, at: yield(pid)) }
      all = table(sum, at: at)
      after = pids.map { |pid| table("/#{pid}/each/0.tsv", at: at) }
      # a process that doesn't answer in time isn't in the sum; KEPT's row, inherited by all, says how many are
      whole = row(all, at_line(KEPT))["processes"] == pids.size
      [all, after.map { |t| by_place(t) }, inherited] if whole && before == after
    end
  end

  # pids: the master first, which inherited nothing; the others are its children.
  def check_sum(pids, at: path, &socket)
    min = 2000
    all, tables, inherited = one_moment(pids, sum: "/all/each/#{min}.tsv", at: at, &socket)
    want = tables.flat_map(&:keys).uniq.to_h do |place|
      parts = tables.filter_map.with_index { |t, i| [t[place], i.zero? ? [0, 0] : inherited[i].fetch(place, [0, 0])] if t[place] }
      [place, {
        "live_bytes" => parts.sum { |r, _| r["live_bytes"] }, "live" => parts.sum { |r, _| r["live"] },
        # a child's inherited memory is its parent's
        "total" => parts.sum { |r, b| r["total"] - b[0] }, "allocations" => parts.sum { |r, b| r["allocations"] - b[1] },
        "object_bytes" => parts.sum { |r, _| r["object_bytes"] }, "processes" => parts.size
      }]
    end
    got = all.to_h { |r| [r["location"], r.slice("live_bytes", "live", "total", "allocations", "object_bytes", "processes")] }
    assert_equal all.size, got.size, "each location is there once"
    bad = got.reject { |place, r| want[place] == r }
    assert_empty bad.first(5).map { |place, r| [place, want[place], r] }
    assert_operator got.size, :>, 100
    # those above the limit that the sum was asked for with, and no others
    assert_equal want.select { |_, r| r.values_at("total", "live_bytes", "object_bytes").max > min }.keys.sort, got.keys.sort
    assert_operator inherited[0].values.map(&:first).sum, :==, 0
    inherited.drop(1).each { |b| assert_operator b.values.map(&:first).sum, :>, 1_000_000 }
    [all, tables]
  end

  [false, true].each do |preload|
    define_method("test_the_sum_is_that_of_their_tables_preload_#{preload}") do
      app, workers = puma(preload: preload, **IDLE)
      pids = [app.pid, *workers]
      list(pids)
      all, tables = check_sum(pids) { |pid| pid == app.pid ? path : path("s.#{pid}") }
      # made before the fork: live in all three, allocated once
      kept = row(all, at_line(KEPT))
      master = tables[0].find { |place, _| at_line(KEPT) === place }[1]
      assert_equal [3 * master["live"], 3 * master["live_bytes"], master["allocations"], master["total"]],
                   kept.values_at("live", "live_bytes", "allocations", "total")
      assert_operator master["live"], :>=, 300
      # made after it
      own = row(all, at_line(OWN))
      assert_operator own["allocations"], :>=, 40 + 80
      assert_equal 2, own["processes"]
      # reset, all begin again, and what they inherited is nothing
      becomes("3 of 3 processes") { post("/all/reset").body[/\A.*?(?=:)/] }
      all = one_moment(pids, sum: "/all/each/0.tsv") { |pid| pid == app.pid ? path : path("s.#{pid}") }[0]
      assert_equal [0, 0, 3 * master["live_bytes"]], row(all, at_line(KEPT)).values_at("total", "allocations", "live_bytes")
      ended(app)
    end
  end

  # --- they come and go -------------------------------------------------------------------------

  # Asks all the time until the block ends, which is given what waits for one more round of questions;
  # returns how often. Each answer must be whole and sane.
  def polling(app)
    over = false
    known = {} # PIDs of workers that were there
    asked = 0
    thread = Thread.new do
      until over
        gone = known.keys.reject { |pid| alive?(pid) }
        rows = family
        pids = rows.map { |p| p["pid"] }
        assert_equal pids.uniq, pids
        assert_equal [app.pid], owners(rows)
        answering = rows.select { |p| p["state"] == "answers" }
        assert_includes answering.map { |p| p["pid"] }, app.pid
        assert_empty answering.map { |p| p["pid"] } & gone
        assert_operator pids.size, :<=, 6
        answering.each { |p| known[p["pid"]] = true unless p["owner"] }
        all = table("/all/each/0.tsv")
        # all have this, since they inherited it: a sum of whole tables is a multiple
        kept = row(all, at_line(KEPT))
        one = row(table("/#{app.pid}/each/0.tsv"), at_line(KEPT))
        assert_equal kept["processes"] * one["live_bytes"], kept["live_bytes"]
        assert_equal one["allocations"], kept["allocations"]
        assert_includes 1..6, kept["processes"]
        assert all.all? { |r| r["processes"].between?(1, 6) && r["total"] >= 0 && r["live"] >= 0 }
        asked += 1
      end
    end
    thread.report_on_exception = false
    yield(lambda do
      was = asked
      eventually("a round of questions") { asked > was || !thread.alive? }
      thread.join unless thread.alive? # which tells why
    end)
    over = true
    thread.join
    asked
  ensure
    thread&.kill
  end

  def test_phased_restarts
    app, workers = puma(check: 1)
    list([app.pid, *workers])
    seen = workers
    asked = polling(app) do |one_more_round|
      3.times do
        Process.kill(:USR1, app.pid)
        workers = booted(app, 2)
        assert_empty seen & workers
        seen += workers
        rows = list([app.pid, *workers])
        check_list(rows, app, workers)
        eventually("the old ones' sockets to go") { (Dir.children(@dir).grep(/\As\.\d+\z/).map { |f| f[2..].to_i } - workers).empty? }
        one_more_round.call
      end
    end
    assert_operator asked, :>=, 3
    assert_equal 8, seen.uniq.size
    ended(app)
    assert_empty Dir.children(@dir).grep(/\As(\.|\z)/)
    assert_equal "", app.stderr
  end

  # Owners of the path, sampled until the block is true: PIDs in turn, without repetitions.
  def owners_until
    pids = []
    eventually("an end of it") do
      pid = JSON.parse(get("/stats.json").body)["pid"] rescue nil
      pids << pid if pid && pid != pids.last
      yield pids
    end
    pids
  end

  # Puma's workers end as soon as their master has; here they do when they are told to, too.
  def test_the_master_is_killed
    File.write(path("linger"), "")
    app, workers = puma(linger: path("linger"), **IDLE)
    list([app.pid, *workers])
    assert_equal [app.pid], owners_until { |seen| !seen.empty? }
    app.kill
    pids = [app.pid] + owners_until { |seen| !seen.empty? }
    assert_equal 2, pids.size, pids.inspect
    assert_includes workers, pids.last
    n = 0
    pids = owners_until do
      rows = [family, *workers.map { |w| family(at: path("s.#{w}")) unless w == pids.last }.compact]
      rows.each do |r|
        assert_equal [pids.last], owners(r)
        assert_equal workers, r.map { |p| p["pid"] }
      end
      (n += 1) == 20
    end
    assert_equal 1, pids.size, pids.inspect
    # the parent has gone: what both inherited counts once
    first = table("/#{workers[0]}/each/0.tsv")
    all = all_of(2)
    assert_equal row(first, at_line(KEPT)).values_at("total", "allocations"), row(all, at_line(KEPT)).values_at("total", "allocations")
    assert_equal 2 * row(first, at_line(KEPT))["live"], row(all, at_line(KEPT))["live"]
    FileUtils.rm(path("linger"))
    eventually("the workers' end") { workers.none? { |w| alive?(w) } }
    eventually("nobody to listen there") { !connects?(path) }
    # the next one has the path, and knows nothing of those
    app, workers = puma(**IDLE)
    check_list(list([app.pid, *workers]), app, workers)
    ended(app)
  end

  def test_the_master_takes_the_path_from_a_shell
    server = server_command(**IDLE).map { |w| "'#{w}'" }.join(" ")
    app = launched("sh", "-c", "read x; #{server}; exit 3")
    wait_for_server(path)
    assert_equal app.pid, JSON.parse(body("/stats.json"))["pid"]
    app.tell("go on")
    pids = owners_until { |p| !p.empty? && p.last != app.pid }
    workers = booted(app, 2)
    rows = nil
    eventually("all four") { (rows = family).count { |p| p["state"] == "answers" } == 4 }
    master = rows.find { |p| p["title"].start_with?("puma 6") }["pid"]
    assert_equal [app.pid, master, *workers].sort, rows.map { |p| p["pid"] }
    assert_equal [master], owners(rows)
    assert_equal master, pids.last, "no worker had it meanwhile"
    assert_equal [app.pid], rows.reject { |p| p["ruby"] }.map { |p| p["pid"] }
    assert_equal 4, rows.map { |p| p["title"] }.uniq.size
    all_of(4)
    assert_equal 3, app.finish.exitstatus, app.stderr
  end

  # --- one that doesn't answer --------------------------------------------------------------------

  def test_a_worker_that_is_stopped
    app, workers = puma(**IDLE)
    pids = [app.pid, *workers]
    list(pids)
    stop(workers[0])
    becomes(pids.to_h { |pid| [pid, pid == workers[0] ? "does not answer" : "answers"] }) { family.to_h { |p| [p["pid"], p["state"]] } }
    silent = family.find { |p| p["pid"] == workers[0] }
    assert_match(/\Apuma: cluster worker/, silent["title"])
    assert_equal [nil, false], [silent["live_bytes"], silent["owner"]]
    assert_operator silent["rss_bytes"], :>, 1_000_000
    assert_equal 2, row(all_of(2), at_line(KEPT))["processes"]
    assert_equal workers[1], JSON.parse(body("/#{workers[1]}/stats.json"))["pid"]
    becomes("2 of 3 processes") { post("/all/reset").body[/\A.*?(?=:)/] }
    Process.kill(:CONT, workers[0])
    list(pids)
    # the master, which has the path: workers' own sockets answer
    stop(app.pid)
    rows = nil
    becomes({ app.pid => "does not answer", workers[0] => "answers", workers[1] => "answers" }) do
      (rows = family(at: path("s.#{workers[0]}"))).to_h { |p| [p["pid"], p["state"]] }
    end
    assert_equal [app.pid], owners(rows)
    Process.kill(:CONT, app.pid)
    list(pids)
    ended(app)
  end

  # --- a directory ------------------------------------------------------------------------------------

  def test_a_directory
    Dir.mkdir(path("d"), 0o700)
    socket = ->(pid) { path("d/#{pid}.sock") }
    app, workers = puma(options: "socket_dir:#{path("d")}", at: ->(a) { socket[a.pid] }, **IDLE)
    pids = [app.pid, *workers]
    pids.each do |asked|
      at = socket[asked]
      rows = list(pids, at: at)
      assert_equal pids.sort, rows.map { |p| p["pid"] }
      assert_equal [], owners(rows)
      pids.each { |pid| assert_equal pid, JSON.parse(body("/#{pid}/stats.json", at: at))["pid"] }
      check_sum(pids, at: at, &socket)
    end
    ended(app)
    assert_empty Dir.children(path("d"))
  end

  # --- another server ------------------------------------------------------------------------------------

  # Its monitor forks a process of which workers are forked twice over.
  def test_pitchfork
    app = launched(*server_command("pitchfork"))
    wait_for_server(path)
    rows = nil
    # and nobody in between them, whom a slow machine may still show
    eventually("the workers") do
      rows = family
      rows.all? { |p| p["state"] == "answers" } && rows.count { |p| p["title"].match?(/ (mold|worker\[[01]\]) - /) } == 3 && rows.size == 4
    end
    assert_equal [app.pid], owners(rows)
    all, tables = nil
    eventually("an idle moment") do
      pids = rows.map { |p| p["pid"] }
      before = pids.map { |pid| table("/#{pid}/each/0.tsv") }
      all = table("/all/each/0.tsv")
      tables = pids.map { |pid| table("/#{pid}/each/0.tsv") }
      before == tables && row(all, at_line(KEPT))["processes"] == rows.size
    end
    kept = row(all, at_line(KEPT))
    parts = tables.map { |t| row(t, at_line(KEPT)) }
    assert_equal [rows.size, *%w[live live_bytes].map { |c| parts.sum { |r| r[c] } }], kept.values_at("processes", "live", "live_bytes")
    assert_equal parts[0].values_at("total", "allocations"), kept.values_at("total", "allocations"), "it was allocated once"
    app.finish
  end
end
