# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For tests that run programs natively and under the tracker: TAP, runs with a
# time limit, the exit dump and the witness read back, and the rules that any
# run must satisfy. Needs the standard library only. Used by t/*.t.

require "json"
require "tmpdir"
require "fileutils"
require_relative "columns"

module CTests
  ROOT = File.expand_path("../..", __dir__)
  BUILT = File.join(ROOT, ".build/t")
  TRACKER = File.join(ENV.fetch("MWRAP_TEST_LIB", "#{ROOT}/lib"), "libmwrap.so") # see tap.rb
  COLUMNS = MwrapTest::COLUMNS
  PLACE = /\A(?<module>.*)\((?<function>\w*)\+0x\h+\) \[0x\h+\]\z/n

  Result = Struct.new(:out, :err, :status, :dumps, :lines, keyword_init: true) do
    # "exit 0", "signal 11"
    def ending
      return "timed out" if status.nil?

      status.signaled? ? "signal #{status.termsig}" : "exit #{status.exitstatus}"
    end

    # must be the same natively
    def visible
      [ending, out.lines.reject { |l| l.start_with?("#") }.join, err]
    end

    # the only process's rows
    def rows
      raise "#{dumps.size} dumps where one was expected" if dumps.size != 1

      dumps.values[0]
    end
  end

  module_function

  # --- TAP -----------------------------------------------------------------
  def ok(good, name, why = nil)
    @count = (@count || 0) + 1
    @bad = true unless good
    $stdout.puts "#{good ? "ok" : "not ok"} #{@count} - #{name.to_s.tr("#\n", "  ")}"
    why.to_s.scrub.each_line { |l| $stdout.puts "#   #{l.chomp}" } if !good && why
    $stdout.flush
    good
  end

  def is(got, want, name)
    ok(got == want, name, "got:  #{short(got)}\nwant: #{short(want)}")
  end

  # Everything is wrong if nothing was tested.
  def done_testing
    @finished = true
    ok(false, "there are tests") if @count.to_i.zero?
    $stdout.puts "1..#{@count}"
    exit(@bad ? 1 : 0)
  end

  # A test file that dies halfway says so rather than looking short.
  def bail_out(error)
    ok(false, "ran to the end", "#{error.class}: #{error.message}\n#{error.backtrace.first(5).join("\n")}")
    done_testing
  end

  def short(v)
    text = v.is_a?(String) ? v : v.inspect
    text.size > 3000 ? "#{text[0, 3000]}..." : text
  end

  # --- running -------------------------------------------------------------
  def program(name)
    path = File.join(BUILT, "programs", name)
    raise "#{path} is not built: run make check-programs" unless File.exist?(path)

    path
  end

  def built(path)
    path = File.join(BUILT, path)
    raise "#{path} is not built: run make check-programs" unless File.exist?(path)

    path
  end

  CLEAN = { "MWRAP" => nil, "LD_PRELOAD" => nil, "WITNESS_OUT" => nil,
            "MALLOC_ARENA_MAX" => nil, "RUBYOPT" => nil, "BUNDLE_GEMFILE" => nil }.freeze

  # Runs argv, at most `limit` seconds; its status is nil if it took longer.
  def run(*argv, env: {}, limit: 300, dir: nil, **redirect)
    Dir.mktmpdir("mwrap-t") do |tmp|
      opts = { out: "#{tmp}/out", err: "#{tmp}/err", in: "/dev/null", pgroup: true }.merge(redirect)
      opts[:chdir] = dir if dir
      pid = Process.spawn(CLEAN.merge(env), *argv, **opts)
      status = wait(pid, limit)
      read = ->(f) { File.exist?(f) ? File.binread(f) : "" }
      Result.new(out: read.call("#{tmp}/out"), err: read.call("#{tmp}/err"), status: status, dumps: {}, lines: [])
    end
  end

  def wait(pid, limit)
    ending = Process.clock_gettime(Process::CLOCK_MONOTONIC) + limit
    pause = 0.001
    loop do
      return $? if Process.wait(pid, Process::WNOHANG)
      break if Process.clock_gettime(Process::CLOCK_MONOTONIC) > ending

      sleep(pause)
      pause = [pause * 1.5, 0.05].min
    end
    Process.kill(:KILL, -pid) # its own group: it and what it started
    Process.wait(pid)
    nil
  end

  # Under the tracker. below: what is preloaded after it (an allocator). witness:
  # nil, :below, or :both for one over and one under the tracker. dumps are by
  # pid, in the order of the processes' ends.
  def track(*argv, below: [], above: [], witness: nil, env: {}, options: nil, format: "json", **rest)
    Dir.mktmpdir("mwrap-d") do |tmp|
      chain = [*above, TRACKER, *below]
      chain.unshift(built("preload/above.so")) if witness == :both
      chain.insert(chain.index(TRACKER) + 1, built("preload/witness.so")) if witness
      vars = { "LD_PRELOAD" => chain.join(":"),
               "MWRAP" => options || "dump_path:#{tmp}/dump.%p,dump_format:#{format}" }
      vars["WITNESS_OUT"] = "#{tmp}/witness" if witness
      result = run(*argv, env: vars.merge(env), **rest)
      result.dumps = read_dumps(tmp, format)
      result.lines = File.exist?("#{tmp}/witness") ? File.readlines("#{tmp}/witness").map { |l| JSON.parse(l) } : []
      result
    end
  end

  def read_dumps(dir, format)
    Dir["#{dir}/dump.*"].sort_by { |f| File.mtime(f) }.to_h do |f|
      text = File.binread(f)
      [f[/\d+\z/].to_i, format == "json" ? json_arrays(text).flatten(1) : text]
    end
  end

  # One file may hold the dumps of several processes, one after the other. A raw
  # newline between brackets can't be inside a JSON string.
  def json_arrays(text)
    text.split(/(?<=\])\n+(?=\[)/n).map { |part| JSON.parse(part.dup.force_encoding("UTF-8")) }
  end

  # --- reading -------------------------------------------------------------
  def place(row)
    PLACE.match(row["location"].b)
  end

  # the rows of a function, in whatever module
  def rows_of(rows, function)
    rows.select { |r| (m = place(r)) && m[:function] == function }
  end

  def sum(rows)
    %w[allocations frees total live live_bytes growth].map { |c| rows.sum { |r| r.fetch(c) } }
  end

  Expected = Struct.new(:pid, :function, :figures)

  # the program's own figures; pid nil: the process that was started
  def expected(out)
    out.lines.filter_map do |l|
      next unless l =~ /\A(?:# (\d+) )?expect (\S+)((?: -?\d+){6})\Z/

      Expected.new($1&.to_i, $2, $3.split.map(&:to_i))
    end
  end

  # --- rules ---------------------------------------------------------------
  # The same natively and tracked, nothing printed by the tracker, no NOT OK.
  # dies: what is tested is that it dies in the same way.
  def same?(native, tracked, name, dies: false)
    ok(native.visible == tracked.visible, "#{name}: same as natively",
       "native:  #{short(native.visible)}\ntracked: #{short(tracked.visible)}")
    return if dies

    is(tracked.ending, "exit 0", "#{name}: ends well") && ok(!tracked.out.include?("NOT OK"), "#{name}: says ok", tracked.out)
  end

  # Each function's rows add up to what the program says, for each process.
  def counts?(result, name)
    all = expected(result.out)
    ok(!all.empty?, "#{name}: the program says what it did", result.out)
    main = result.status&.pid
    all.each do |e|
      rows = result.dumps[e.pid || main]
      next ok(false, "#{name}: #{e.function} has a dump", "pids #{result.dumps.keys}") unless rows

      got = sum(rows_of(rows, e.function))
      ok(got == e.figures, "#{name}: #{e.function}#{" in a child" if e.pid}",
         "allocations, frees, total, live, live_bytes, growth\ngot:  #{got}\nwant: #{e.figures}\n" +
         rows_of(rows, e.function).map(&:to_s).join("\n"))
    end
  end

  # Is true of any row. reset: something was reset, or it is a fork's child;
  # empty: a process that may have allocated nothing; torn: a child, whose parent's other
  # threads may have been in the middle of an operation each.
  def sound?(rows, name, reset: false, empty: false, torn: false)
    bad = rows.reject { |r| sound_row?(r, reset, torn) }
    ok((empty || !rows.empty?) && bad.empty?, "#{name}: every row adds up", short(bad.first(5).join("\n")))
    names = rows.map { |r| r["location"] }
    ok(names.uniq.size == names.size, "#{name}: a location has one row", names.tally.select { |_, n| n > 1 }.first(5).inspect)
  end

  def sound_row?(r, reset, torn = false)
    return false unless r.keys.sort == COLUMNS.sort
    return false if %w[total allocations frees live_bytes live].any? { |c| !r[c].between?(0, 1 << 60) }
    return false if !torn && r["live"].zero? && r["live_bytes"] != 0
    return false if r["allocations"].zero? && r["total"] != 0
    return false if r["mean_life"].nil? != r["frees"].zero?
    return true if reset

    r["allocations"] - r["frees"] == r["live"] && r["growth"] == r["live_bytes"] && r["live_bytes"] <= r["total"]
  end

  # The witness's line agrees with the tracker: calls, frees and bytes, exactly.
  def agrees?(line, name)
    return ok(false, "#{name}: the witness wrote a line") unless line && line["stats"]

    s, low, up = line.values_at("stats", "below", "above")
    is(line["rows"].values_at("total", "allocations", "freed", "frees", "live_bytes", "live"),
       s.values_at("total", "allocations", "freed", "frees", "live_bytes", "live"), "#{name}: rows add up to the totals")
    is([s["allocations"], s["frees"]], low.values_at("calls", "frees"), "#{name}: calls as the witness counts them")
    is(s["lost"], 0, "#{name}: no record was lost")
    is(s["strays"], 0, "#{name}: no overrun, no double free, no unknown one")
    if up
      is(s.values_at("allocations", "total", "frees"), up.values_at("calls", "bytes", "frees"), "#{name}: bytes as the app asked")
      is(low["bytes"], up["padded"], "#{name}: bytes asked for beneath")
    else
      spare = low["bytes"] - 8 * low["calls"] - s["total"]
      ok(spare.between?(0, 8 * low["small"]), "#{name}: bytes as the witness counts them", "#{spare} more beneath, #{low}")
    end
    lives_agree?(line["lives"], low, s, name)
  end

  def lives_agree?(lives, low, stats, name)
    is(lives.values, [stats["live"]] * 3, "#{name}: the same live blocks, one by one")
    is(low["untidy"], 0, "#{name}: only known blocks are freed")
  end
end

at_exit { CTests.bail_out($!) if $! && !$!.is_a?(SystemExit) }
