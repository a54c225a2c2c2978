# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For t/hazards/*.t: runs the same command natively and under the tracker, says
# where it behaved differently (output, ending, descriptors open at its end),
# and whether the counts afterwards are what the program knows of itself.
#
#	tracked = twice(program("counts"), "mode")     # a C program that says "expect ..." (t/lib/site.h)
#	tracked = twice_ruby(<<~'RUBY')                # a script
#	  KEEP = Array.new(200) { "k" * 5000 }         # keeps 200 of 5000
#	RUBY
#
# "# keeps N of SIZE" at the end of a script's line: N strings of SIZE bytes
# made there live at the end. In both runs ENV["DIR"] is an empty folder.

require_relative "tap"

module Hazard
  # make check-allocators: the library of an allocator beneath every program, natively and tracked.
  ALLOCATOR = ENV["HAZARDS_ON"]

  # make check-sampled: bytes from sample to sample, while every program's allocations are sampled.
  SAMPLED = ENV["HAZARDS_SAMPLED"]&.then { |n| Integer(n) }

  # For what only exact counting knows.
  def of_exact_counts
    skip "of exact counts" if SAMPLED
  end

  FIGURES = %i[allocations frees total live live_bytes growth].freeze

  # For what holds of the C library's malloc only, or of an allocator that the test chooses.
  def of_the_c_librarys_malloc
    skip "of the C library's malloc" if ALLOCATOR
  end

  # One run. dumps: rows by PID; open_files: a line for each process that ended by exit.
  Once = Struct.new(:run, :pid, :dumps, :open_files, keyword_init: true) do
    def stdout = run.stdout
    def stderr = run.stderr
    def rows = dumps.fetch(pid) { raise Minitest::Assertion, "no dump of #{pid} but #{dumps.keys}: #{stderr}" }

    # "exit 0", "signal 11"
    def ending
      s = run.status
      s.signaled? ? "signal #{s.termsig}" : "exit #{s.exitstatus}"
    end

    # The tracker's lines.
    def said = stderr.lines.grep(/\Amwrap: /)

    # Must be the same natively.
    def visible = [ending, stdout.lines.reject { |l| l.start_with?("#") }.join, (stderr.lines - said).join]
  end

  # options: what MWRAP has besides the dump; nil for `dump`: there is none.
  def once(*cmd, tracked:, options: nil, below: [], above: [], env: {}, dump: true, files: {}, **spawn)
    in_tmp do |dir|
      File.chmod(0o755, dir)
      Dir.mkdir("#{dir}/own", 0o777)
      Dir.mkdir("#{dir}/dumps")
      [dir, "#{dir}/own", "#{dir}/dumps"].drop(1).each { |d| File.chmod(0o777, d) } # whoever the program becomes
      files.each { |name, text| File.binwrite("#{dir}/#{name}", text, perm: 0o755) }
      File.write("#{dir}/open", "")
      File.chmod(0o666, "#{dir}/open")
      chain = [*above, *(MwrapTest::TRACKER if tracked), *below, *ALLOCATOR, preload("open_files")]
      vars = { "DIR" => "#{dir}/own", "OPEN_FILES" => "#{dir}/open", "LD_PRELOAD" => chain.join(":") }
      options = options.call("#{dir}/own") if options.respond_to?(:call)
      dump &&= "dump_path:#{dir}/dumps/%p,dump_format:tsv"
      sampled = "counts:sampled,sample:#{SAMPLED}" if SAMPLED
      vars["MWRAP"] = [*options, *sampled, *dump].join(",") if tracked
      run = run_command(*cmd.map { |c| c.gsub("%DIR%", dir) }, env: vars.merge(env), **spawn)
      [run.stdout, run.stderr].each { |s| s.gsub!(dir, "DIR") }
      dumps = Dir["#{dir}/dumps/*"].to_h { |f| [File.basename(f).to_i, MwrapTest::Dump.tsv(File.binread(f)).flatten] }
      Once.new(run: run, pid: run.status.pid, dumps: dumps, open_files: File.readlines("#{dir}/open").sort)
    end
  end

  # Natively, then tracked; the latter is returned. said: what the tracker's only line
  # on stderr must match, nil for no line. open_files: compare the descriptors;
  # ends: how both must end, nil: however it does natively.
  def twice(*cmd, said: nil, open_files: true, ends: "exit 0", **rest)
    native = once(*cmd, tracked: false, **rest.except(:options, :dump, :above))
    tracked = once(*cmd, tracked: true, **rest)
    assert_equal native.visible, tracked.visible, cmd.inspect
    assert_equal ends, tracked.ending, tracked.stderr if ends
    refute_includes tracked.stdout, "NOT OK"
    if said
      assert_equal 1, tracked.said.size, tracked.stderr
      assert_match said, tracked.said[0]
    else
      assert_empty tracked.said
    end
    if open_files
      refute_empty native.open_files
      assert_equal native.open_files, tracked.open_files, "open descriptors at the end"
    end
    assert_expected tracked
    tracked
  end

  # For a process that ends before its server begins, after 100 ms. One that was stopped for longer
  # has a server, whose descriptors may be open at its end if that is stopped, too: an exit waits
  # for it for 200 ms. Then, which its time shows, it says nothing and is run again.
  def before_a_server(tries = 20)
    from = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    yield
  rescue Minitest::Assertion
    raise if Process.clock_gettime(Process::CLOCK_MONOTONIC) - from < 0.3 || (tries -= 1).zero?
    retry
  end

  # A script given as text; its rows are checked as its comments say.
  def twice_ruby(script, *flags, args: [], counts: true, files: {}, **rest)
    tracked = twice(MwrapTest::RUBY, "--disable=gems", "-I#{MwrapTest::LIB}", *flags, "%DIR%/script.rb", *args,
                    files: { "script.rb" => script, **files }, **rest)
    assert_kept script, tracked.rows if counts
    tracked
  end

  # --- counts ----------------------------------------------------------------

  # Lines "expect FUNCTION six figures" (t/lib/site.h), for a child "# PID expect ...".
  def assert_expected(tracked)
    tracked.stdout.scan(/^(?:# (\d+) )?expect (\S+)((?: -?\d+){6})$/) do |pid, function, figures|
      rows = tracked.dumps[pid ? pid.to_i : tracked.pid] or flunk "#{function} has no dump: #{tracked.dumps.keys}"
      mine = rows.select { |r| r.location.include?("(#{function}+0x") }
      next assert_estimates figures.split[FIGURES.index(:live_bytes)].to_i, mine, function if SAMPLED
      assert_equal figures.split.map(&:to_i), FIGURES.map { |c| mine.sum(&c) },
                   "#{function}: #{FIGURES.join(", ")}\n#{mine.map(&:inspect).join("\n")}"
    end
  end

  # Of every process that left a dump: what was allocated was freed or lives.
  def assert_adds_up(tracked)
    refute_empty tracked.dumps
    tracked.dumps.each_value { |rows| rows.each { |r| assert_equal r.allocations, r.frees + r.live, r.inspect } }
  end

  # A sum of estimates has a variance of SAMPLED times the true bytes at most. more: bytes that may be there besides.
  def assert_estimates(bytes, rows, what, more = 0)
    error = 6 * Math.sqrt(SAMPLED * bytes) + 6 * SAMPLED
    assert_includes bytes - error..bytes + error + more, rows.sum(&:live_bytes), "#{what}: #{rows.map(&:inspect).join("\n")}"
  end

  # More than these may be allocated at the line by Ruby itself, but not much.
  def assert_kept(script, rows)
    kept = script.lines.each_with_index.filter_map do |l, i|
      l =~ /# keeps (\d+) of (\d+)$/ && [i + 1, $1.to_i, $2.to_i]
    end
    refute_empty kept, "the script keeps something"
    kept.each { |line, n, size| assert_kept_at rows, line, n, size }
    rows.each { |r| assert_equal r.allocations, r.frees + r.live, r.inspect }
  end

  def assert_kept_at(rows, line, n, size)
    at = rows.select { |r| r.location.end_with?("/script.rb:#{line}") }
    bytes = n * (size + 1) # with the NUL
    return assert_estimates bytes, at, line, 1 << 20 if SAMPLED
    assert_equal 1, at.size, "one row at line #{line}"
    assert_operator at[0].live, :>=, n, at[0].inspect
    # YJIT's data about a line's code is kept there, if all programs have it
    more = ENV["RUBY_YJIT_ENABLE"] == "1" ? 192 << 10 : 64 << 10
    assert_includes bytes..bytes + 32 * n + more, at[0].live_bytes, at[0].inspect
    assert_operator at[0].total, :>=, bytes, at[0].inspect
  end
end

Minitest::Test.include(Hazard)
