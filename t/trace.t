#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# trace.t - mwrap-replay reads recordings, whole, cut and broken: text, pack, heaptrack, info, peak. The recordings
# are made from text (t/programs/write_trace.c), but for one of a Ruby program.
require_relative "lib/tap"

class TraceTest < Minitest::Test
  TOOL = File.join(LIB, "mwrap/mwrap-replay")
  HEADER = 48
  META = %(meta {"version":1,"pid":70,"command":"ruby app.rb \\u003e \\"é\\"\\n","ticks_per_second":1000000,"page_size":4096}\n)

  def tool(*args, **rest) = run_command(TOOL, *args, **rest)

  # The path of a recording that the text describes.
  def made(text, *options, name: "a.mwtrace")
    @dir ||= Dir.mktmpdir("mwrap-trace")
    path = File.join(@dir, name)
    assert_success run_command(File.join(BUILT, "programs/write_trace"), *options, path, stdin: text)
    path
  end

  def teardown
    FileUtils.rm_rf(@dir) if @dir
    super
  end

  # Rows of text, each an Array of Strings: thread, call, block, size, extra, location, without the time.
  def rows(path, stderr: "")
    run = tool("text", path)
    assert_success run
    assert_equal stderr, run.stderr.gsub(path, "FILE")
    run.stdout.lines(chomp: true).drop(1).map { |line| line.split("\t").drop(1) }
  end

  # The same, shorter: "1 malloc 3".
  def calls(path, **rest) = rows(path, **rest).map { |row| row.take(3).join(" ") }

  def info(path)
    run = tool("info", path)
    assert_success run
    assert_empty run.stderr
    JSON.parse(run.stdout)
  end

  def packed(path, stderr: "")
    to = "#{path}.packed"
    run = tool("pack", path, "-o", to)
    assert_success run
    assert_equal stderr, run.stderr.gsub(path, "FILE")
    to
  end

  # --- one order of several streams -------------------------------------------------------

  def test_the_order_is_that_of_ticks
    path = made(META + <<~TEXT)
      stream 1
      at 10
      thread 70
      malloc 1 8 0
      at 30
      malloc 2 8 0
      stream 2
      at 20
      thread 71
      malloc 3 8 0
      at 40
      malloc 4 8 0
    TEXT
    assert_equal ["0 malloc 1", "1 malloc 2", "0 malloc 3", "1 malloc 4"], calls(path)
    assert_equal %w[0.000000 0.000010 0.000020 0.000030], tool("text", path).stdout.lines.drop(1).map { |l| l[/\A\S+/] }
  end

  def test_at_the_same_ticks_a_stream_goes_on
    path = made(META + "at 5\n" + [1, 2].map { |n| "stream #{n}\nthread #{69 + n}\n" + (1..3).map { |i| "malloc #{n * 10 + i} 8 0\n" }.join }.join)
    assert_equal ["0 malloc 1", "0 malloc 2", "0 malloc 3", "1 malloc 4", "1 malloc 5", "1 malloc 6"], calls(path)
  end

  def test_an_end_waits_for_its_birth
    path = made(META + <<~TEXT)
      at 5
      stream 1
      thread 70
      free 9
      malloc 1 8 0
      stream 2
      thread 71
      malloc 2 8 0
      malloc 9 8 0
      malloc 3 8 0
    TEXT
    assert_equal ["1 malloc 1", "1 malloc 2", "1 malloc 3", "0 free 2", "0 malloc 4"], calls(path)
  end

  def test_a_birth_waits_for_the_end_of_the_block_before
    path = made(META + <<~TEXT)
      at 5
      stream 1
      thread 70
      malloc 9 8 0
      malloc 1 8 0
      malloc 9 16 0
      stream 2
      thread 71
      free 9
    TEXT
    assert_equal ["0 malloc 1", "0 malloc 2", "1 free 1", "0 malloc 3"], calls(path)
  end

  def test_a_realloc_waits_for_both
    path = made(META + <<~TEXT)
      at 5
      stream 1
      thread 70
      malloc 9 8 0
      realloc 9 16 0 4
      stream 2
      thread 71
      malloc 4 8 0
      stream 3
      thread 72
      free 9
    TEXT
    assert_equal [%w[0 malloc 1 8 - -], %w[1 malloc 2 8 - -], %w[2 free 1 - - -], %w[0 realloc 3 16 2 -]], rows(path)
  end

  # The end of what was lost is left out, a moved block is a new one, and a ref that is born again ended.
  def test_what_was_lost_is_made_up_for
    path = made(META + <<~TEXT)
      stream 1
      at 5
      thread 70
      free 7
      malloc 1 8 0
      realloc 2 16 0 77
      resident 8 3
      at 6
      malloc 1 9 0
      free 1
      stream 2
      at 7
      thread 71
      malloc 7 10 0
    TEXT
    assert_equal [%w[0 malloc 1 8 - -], %w[0 malloc 2 16 - -], %w[0 free 1 - - -], %w[0 malloc 3 9 - -], %w[0 free 3 - - -],
                  %w[1 malloc 4 10 - -]], rows(path)
    assert_equal({ "unknown" => 3, "ended" => 1 }, info(packed(path))["meta"]["packed"].slice("unknown", "ended"))
  end

  # Each waits for the other: neither can be right.
  def test_streams_that_wait_for_each_other
    path = made(META + "at 5\nstream 1\nthread 70\nfree 2\nmalloc 1 8 0\nstream 2\nthread 71\nfree 1\nmalloc 2 8 0\n")
    assert_equal 1, calls(path).grep(/free/).size
    assert_equal 2, calls(path).grep(/malloc/).size
  end

  def test_what_lived_before_comes_first_by_address
    path = made(META + <<~TEXT)
      at 5
      stream 1
      thread 71
      free 2
      malloc 4 64 0
      malloc 2 8 0
      stream 0
      live 1 8 0 0x3000
      live 2 16 0 0x1000
      live 4 64 0 0x2000
      live 3 32 0 0x4000
    TEXT
    assert_equal [%w[0 live 1 16 4096 -], %w[0 live 2 8 12288 -], %w[0 live 3 32 16384 -], %w[1 free 1 - - -], %w[1 malloc 4 64 - -],
                  %w[1 malloc 5 8 - -]], rows(path), "4 was born while the others were listed"
  end

  def test_threads
    path = made(META + <<~TEXT)
      at 5
      stream 1
      thread 71
      malloc 1 8 0
      at 6
      thread 72
      malloc 2 8 0
      thread_end
      thread 72
      malloc 3 8 0
      stream 2
      at 7
      thread 71
      malloc 4 8 0
      thread 70
      malloc 5 8 0
      thread 71
      trim 0
      own 100
    TEXT
    assert_equal ["1 malloc 1", "2 malloc 2", "2 thread_end -", "3 malloc 3", "1 malloc 4", "0 malloc 5", "1 trim -", "1 own 6"], calls(path)
    assert_equal 4, info(packed(path))["meta"]["packed"]["threads"]
  end

  # Without its process's id the first thread is taken for the main one.
  def test_without_a_first_frame
    path = made("at 5\nthread 71\nmalloc 1 8 0\nstream 1\nat 6\nthread 70\nmalloc 2 8 0\n")
    assert_equal ["0 malloc 1", "1 malloc 2"], calls(path)
    assert_equal calls(path), calls(packed(path))
    assert_nil info(path)["meta"]
  end

  def test_names
    path = made(META + <<~TEXT)
      at 5
      malloc 1 8 3
      location 1 app.rb:1
      malloc 2 8 1
      location 3 three\tand a tab
      frame
      location 1 app.rb:2
      malloc 3 8 1
      calloc 4 8 9
    TEXT
    names = ["three?and a tab", "app.rb:1", "app.rb:2", "(location 9)"]
    assert_equal names, rows(path).map(&:last)
    assert_equal names, rows(packed(path)).map(&:last)
  end

  # --- any process ------------------------------------------------------------------------

  # A process's calls in their order, with a clock that tells them apart: the text of its recording, and the rows.
  def random_process(seed, calls: 3000, threads: 4)
    random = Random.new(seed)
    live = {} # ref => birth
    births = 0
    streams = Array.new(threads) { |t| "stream #{t}\nat 1\nthread #{70 + t}\n" }
    numbers = {}
    spare = (1..500).to_a
    rows = []
    calls.times do |i|
      t = random.rand(threads)
      number = t.zero? ? 0 : (numbers[t] ||= numbers.size + 1)
      op, *rest = random_call(random, live, spare)
      streams[t] << "at #{10 + i}\n#{op} #{rest.join(" ")}\n"
      streams[t] << "frame\n" if random.rand(100).zero?
      birth = %w[malloc calloc aligned realloc].include?(op)
      from = op == "realloc" ? live.delete(rest[3]) : nil
      block = birth ? births += 1 : live[rest[0]]
      op.start_with?("free") ? live.delete(rest[0]) : (live[rest[0]] = block)
      extra = from || (birth ? rest[3] : rest[1]) || "-"
      rows << [number, op, block, birth ? rest[1] : "-", extra, birth ? "file#{rest[2]}.rb:#{rest[2]}" : "-"].map(&:to_s)
    end
    [META + (1..20).map { |n| "location #{n} file#{n}.rb:#{n}\n" }.join + streams.join, rows]
  end

  def random_call(random, live, spare)
    old = live.keys.sample(random: random)
    location = 1 + random.rand(20)
    size = random.rand(10).zero? ? random.rand(10**7) : random.rand(300)
    case spare.size < 100 ? 9 : old ? random.rand(12) : 0
    when 0..3 then [random.rand(3).zero? ? "calloc" : "malloc", spare.pop, size, location]
    when 4 then ["aligned", spare.pop, size, location, 64]
    when 5 then ["realloc", old, size, location, old]
    when 6 then ["realloc", spare.pop.tap { spare.push(old) }, size, location, old]
    when 7 then spare.push(old) && ["free_large", old, random.rand(1000)]
    when 8 then ["resident", old, random.rand(1000)]
    else spare.push(old) && ["free", old]
    end
  end

  # The same, but it shows only where they begin to differ.
  def assert_same_rows(expected, got, name = nil)
    at = expected.zip(got).index { |a, b| a != b } || expected.size
    assert_equal expected[at, 3], got[at, 3], "#{name}, from row #{at} on"
    assert_equal expected.size, got.size, name
  end

  def test_random_processes
    5.times do |seed|
      text, expected = random_process(seed)
      path = made(text, *("--plain" if seed.odd?))
      assert_same_rows expected, rows(path), "seed #{seed}"
      assert_same_rows expected, rows(packed(path)), "seed #{seed}, packed"
    end
  end

  def test_sums_of_a_packed_file
    text, expected = random_process(42)
    path = made(text + "sample 1500 4000 3000 2000\nsample 900 1 2 3\nsample 2500 5000 3000 2000\n" + %(end {"reason":"exit","events":3000}\n))
    to = info(packed(path))
    births = expected.count { |row| %w[malloc calloc aligned realloc].include?(row[1]) }
    lives = expected.map { |row| { "malloc" => 1, "calloc" => 1, "aligned" => 1, "free" => -1, "free_large" => -1 }.fetch(row[1], 0) }
    most = lives.each_with_object([0]) { |n, all| all << all.last + n }.max
    assert_equal({ "ticks_per_second" => 1_000_000, "first" => 10, "last" => 3009, "events" => 3000, "births" => births, "threads" => 4,
                   "live_most" => most, "lost" => 0, "missing" => 0, "repaired" => 0, "unknown" => 0, "ended" => 0 }, to["meta"].delete("packed"))
    assert_equal info(path)["meta"], to["meta"]
    assert_equal({ "reason" => "exit", "events" => 3000 }, to["end"])
    assert_equal 2, to["samples"], "one went back in time"
  end

  # --- the peak ---------------------------------------------------------------------------

  # What lives after each row: [bytes by location, blocks by location]. ends: all goes at last.
  def ledger(rows, ends: false)
    blocks = {}
    now = [Hash.new(0), Hash.new(0)]
    moves = lambda do |block, sign|
      size, location = blocks.fetch(block)
      now[0][location] += sign * size
      now[1][location] += sign
    end
    states = rows.map do |_, op, block, size, extra, location|
      moves.call(extra, -1) if op == "realloc"
      if size != "-"
        blocks[block] = [size.to_i, location]
        moves.call(block, 1)
      end
      moves.call(block, -1) if op.start_with?("free")
      now.map(&:dup)
    end
    ends ? [*states, [Hash.new(0), Hash.new(0)]] : states
  end

  # { location => [bytes, blocks] } with seconds, bytes and blocks of all
  def peak(*paths)
    run = tool("peak", *paths)
    assert_success run
    assert_empty run.stderr
    head, *lines = run.stdout.lines(chomp: true).map { |line| line.split("\t", -1) }
    sums = Hash.new { |all, name| all[name] = [0, 0] }
    lines.each { |bytes, blocks, name| sums[name] = [sums[name][0] + bytes.to_i, sums[name][1] + blocks.to_i] }
    [sums, *head.map { |n| n.include?(".") ? n.to_f : n.to_i }]
  end

  def of(state) = state[0].keys.to_h { |name| [name, [state[0][name], state[1][name]]] }.select { |_, (_, blocks)| blocks.positive? }

  def test_the_peak_of_random_processes
    8.times do |seed|
      text, rows = random_process(seed, calls: 1500)
      states = ledger(rows)
      most = states.map { |bytes,| bytes.values.sum }.each_with_index.max_by { |sum, i| [sum, -i] }
      sums, seconds, bytes, blocks = peak(packed(made(text)))
      assert_equal [of(states[most[1]]), most[0], states[most[1]][1].values.sum], [sums, bytes, blocks], "seed #{seed}"
      assert_in_delta most[1] / 1e6, seconds, 2e-6, "seed #{seed}: the first event is at 0"
    end
  end

  # By the time of day; what one holds goes with it, unless its recording ended before it did. No two calls are at one time.
  def test_the_peak_of_several_processes
    5.times do |seed|
      reasons = %w[exit stop exit]
      begins = [0, 0.0004005, 0.0031003].shuffle(random: Random.new(seed))
      all = Array.new(3) { |i| random_process(100 * seed + i, calls: 1000) }
      paths = all.each_with_index.map do |(text, _), i|
        packed(made(text.sub('"pid":70', %("pid":70,"started":#{1_700_000_000 + begins[i]})) + %(end {"reason":"#{reasons[i]}"}\n), name: "#{seed}-#{i}"))
      end
      # [time, process, state], a process's end last
      steps = all.each_with_index.flat_map do |(_, rows), i|
        states = ledger(rows, ends: reasons[i] == "exit")
        states.each_with_index.map { |state, n| [begins[i] + [n, rows.size - 1].min / 1e6 + (n == rows.size ? 1e-9 : 0), i, state] }
      end
      now = Array.new(3) { [Hash.new(0), Hash.new(0)] }
      most = nil
      steps.sort_by.with_index { |(at, i), n| [at.round(9), i, n] }.each do |at, i, state|
        now[i] = state
        sum = now.sum { |bytes,| bytes.values.sum }
        most = [sum, at, now.map { |s| of(s) }] if most.nil? || sum > most[0]
      end
      sums, seconds, bytes = peak(*paths)
      assert_equal most[0], bytes, "seed #{seed}"
      assert_in_delta most[1], seconds, 3e-6
      assert_equal most[2].flat_map(&:to_a).group_by(&:first).transform_values { |v| v.map(&:last).transpose.map(&:sum) }, sums, "seed #{seed}"
    end
  end

  def test_the_peak_of_little
    path = packed(made(META + "at 5\nthread 70\nown 100\nmalloc 1 8 0\nfree 1\nmalloc 2 3 0\n"))
    assert_equal [{ "" => [8, 1] }, 0.0, 8, 1], peak(path), "the tracker's own block isn't the app's"
    assert_equal [{}, 0.0, 0, 0], peak(packed(made(META, name: "b")))
    run = tool("peak", made(META, name: "c"))
    assert_equal [1, "", "mwrap-replay: #{@dir}/c: isn't packed: pack it first\n"], [run.status.exitstatus, run.stdout, run.stderr]
    [[], ["--progress"], [path, "-o"]].each { |words| assert_equal 2, tool("peak", *words).status.exitstatus }
    run = tool("peak", path, "#{@dir}/none")
    assert_equal [1, "mwrap-replay: #{@dir}/none: No such file or directory\n"], [run.status.exitstatus, run.stderr]
  end

  def test_info
    path = made(META + "at 100\nmalloc 1 8 0\nlost 7\nframe\nstream 3\nat 600\nfree 1\n" + %(end {"reason":"stop"}\n))
    is = info(path)
    assert_equal({ "pid" => 70, "version" => 1, "command" => "ruby app.rb > \"é\"\n", "ticks_per_second" => 1_000_000, "page_size" => 4096 }, is["meta"])
    assert_equal({ "reason" => "stop" }, is["end"])
    assert_equal [false, false, File.size(path), 4, 4, 2, 7], is.values_at("packed", "cut", "bytes", "frames", "streams", "events", "lost")
    assert_equal [100, 600, 0.0005], is.values_at("first", "last", "seconds")
    assert_in_delta File.size(path) / 2.0, is["bytes_an_event"]
  end

  # --- cut and broken ---------------------------------------------------------------------

  SMALL = META + <<~TEXT
    location 1 app.rb:1
    stream 1
    at 10
    thread 70
    malloc 1 8 1
    malloc 2 8 1
    frame
    at 20
    free 1
    malloc 3 8 1
    stream 2
    thread 71
    at 15
    malloc 4 8 1
    end {"reason":"exit"}
  TEXT

  # Where each frame begins, and the end.
  def bounds(bytes)
    at = 8
    [at].tap { |all| all << (at += HEADER + bytes[at + 16, 4].unpack1("L<")) while at < bytes.bytesize }
  end

  def test_a_file_that_is_cut_at_any_byte
    bytes = File.binread(made(SMALL))
    ends = bounds(bytes)
    assert_equal 6, ends.size - 1
    path = File.join(@dir, "cut")
    whole = {}
    (0..bytes.bytesize).each do |n|
      File.binwrite(path, bytes[0, n])
      run = tool("text", path)
      last = ends.reverse.find { |e| e <= n && e > 8 }
      unless last
        assert_equal 1, run.status.exitstatus
        assert_match(/\Amwrap-replay: \S+: (not a recording|no whole frame in it)\n\z/, run.stderr)
        next
      end
      assert_success run
      said = n == last ? "" : "mwrap-replay: #{path}: its last #{n - last} bytes aren't a whole frame: they are left out\n"
      assert_equal said, run.stderr
      assert_equal (whole[last] ||= run.stdout), run.stdout, "#{n} bytes"
    end
    assert_equal [1, 1, 3, 5, 6, 6], whole.values.map { |text| text.lines.size }
  end

  # A byte that is wrong costs its frame, and no other.
  def test_a_file_with_any_byte_wrong
    bytes = File.binread(made(SMALL))
    ends = bounds(bytes)
    path = File.join(@dir, "broken")
    without = ends.each_cons(2).map do |from, to|
      File.binwrite(path, bytes[0, from] + bytes[to..])
      tool("text", path).stdout
    end
    (8...bytes.bytesize).each do |at|
      File.binwrite(path, bytes.dup.tap { |b| b.setbyte(at, b.getbyte(at) ^ 0x41) })
      run = tool("text", path)
      assert_success run
      frame = ends.rindex { |e| e <= at }
      assert_match(/\Amwrap-replay: \S+: (\d+ bytes in it are broken|its last \d+ bytes aren't a whole frame): they are left out$/, run.stderr)
      assert_equal without[frame], run.stdout, "byte #{at}"
    end
  end

  def test_a_packed_file_that_is_cut_or_broken
    text, expected = random_process(3)
    path = packed(made(text))
    bytes = File.binread(path)
    ends = bounds(bytes)
    cut = File.join(@dir, "cut")
    File.binwrite(cut, bytes[0, ends[1]])
    assert_equal [], rows(cut, stderr: "mwrap-replay: FILE: after 0 events: the rest is missing\n")
    200.times do |i|
      random = Random.new(i)
      File.binwrite(cut, bytes.dup.tap { |b| b.setbyte(random.rand(8...bytes.bytesize), random.rand(256)) })
      run = tool("text", cut)
      assert_includes [0, 1], run.status.exitstatus
      got = run.stdout.lines(chomp: true).drop(1).map { |line| line.split("\t").drop(1).take(5) }
      assert_same_rows expected.take(got.size).map { |row| row.take(5) }, got, "byte #{i}"
    end
  end

  def test_lost_events_and_missing_frames_are_told
    path = made(META + "at 5\nthread 70\nmalloc 1 8 0\nskip\nskip\nlost 12\nmalloc 2 8 0\n")
    lost = "mwrap-replay: FILE: 2 frames of events are missing or broken\nmwrap-replay: FILE: 12 events were lost as they were recorded\n"
    assert_equal ["0 malloc 1", "0 malloc 2"], calls(path, stderr: lost)
    assert_equal [12, 2], info(packed(path, stderr: lost))["meta"]["packed"].values_at("lost", "missing")
  end

  def test_what_is_no_recording
    in_tmp do |dir|
      File.write("#{dir}/text", "no recording\n")
      File.write("#{dir}/empty", "")
      { "text" => "not a recording", "empty" => "not a recording", "none" => "No such file or directory", "." => "not a file" }.each do |name, problem|
        %w[text info heaptrack].each do |command|
          run = tool(command, "#{dir}/#{name}")
          assert_equal [1, "", "mwrap-replay: #{dir}/#{name}: #{problem}\n"], [run.status.exitstatus, run.stdout, run.stderr]
        end
        run = tool("pack", "#{dir}/#{name}", "-o", "#{dir}/to")
        assert_equal [1, "mwrap-replay: #{dir}/#{name}: #{problem}\n"], [run.status.exitstatus, run.stderr]
      end
      assert_equal %w[empty text], Dir.children(dir).sort
    end
  end

  # --- where it goes ----------------------------------------------------------------------

  def test_an_output_that_cant_be
    path = made(SMALL)
    { "/dev/null" => "not a file", "#{@dir}/none/to" => "No such file or directory" }.each do |to, problem|
      run = tool("pack", path, "-o", to)
      assert_equal [1, "mwrap-replay: #{to}: #{problem}\n"], [run.status.exitstatus, run.stderr]
    end
    assert File.chardev?("/dev/null")
    run = tool("text", path, out: "/dev/full")
    assert_equal [1, "mwrap-replay: the output: No space left on device\n"], [run.status.exitstatus, run.stderr]
    run = tool("pack", packed(path), "-o", "#{@dir}/again")
    assert_equal [1, "mwrap-replay: #{path}.packed: it is packed already\n"], [run.status.exitstatus, run.stderr]
    assert_equal %w[a.mwtrace a.mwtrace.packed], Dir.children(@dir).sort
  end

  def test_a_disk_that_is_full_leaves_what_was_there
    path = made(random_process(1)[0])
    to = File.join(@dir, "to")
    File.write(to, "before")
    run = tool("pack", path, "-o", to, rlimit_fsize: 4096)
    assert_equal [1, "mwrap-replay: #{to}: File too large\n"], [run.status.exitstatus, run.stderr]
    assert_equal "before", File.read(to)
    assert_equal %w[a.mwtrace to], Dir.children(@dir).sort
  end

  def test_progress
    path = made(random_process(1)[0])
    run = tool("pack", "--progress", path, "-o", "#{@dir}/to")
    assert_success run
    steps = run.stderr.lines.map { |line| Float(line) }
    assert_equal steps.sort.uniq, steps
    assert_operator steps.size, :>, 50
    assert_equal 1.0, steps.last
  end

  def test_usage
    [[], %w[nothing], %w[text], %w[pack a], %w[pack a b -o c]].each do |args|
      run = tool(*args)
      assert_equal 2, run.status.exitstatus
      assert_match(/\Ausage: mwrap-replay pack /, run.stderr)
    end
  end

  # --- heaptrack --------------------------------------------------------------------------

  # Reads what heaptrack reads: sums at each location, [calls, bytes live at the end], and the peak of all.
  def heaptrack(text)
    strings = []
    ips = []
    traces = []
    kinds = []
    sums = Hash.new { |h, k| h[k] = [0, 0] }
    total = peak = 0
    text.each_line(chomp: true) do |line|
      mode, *rest = line.split(" ", mode_with_text?(line) ? 2 : -1)
      numbers = rest.map { |n| n.to_i(16) } unless mode_with_text?(line)
      case mode
      when "v" then assert_equal 1, numbers[1]
      when "s" then strings << rest[0]
      when "i" then ips << [strings.fetch(numbers[2] - 1), numbers[3].zero? ? nil : "#{strings.fetch(numbers[3] - 1)}:#{numbers[4]}"]
      when "t" then traces << ips.fetch(numbers[0] - 1)
      when "a" then kinds << [numbers[0], traces.fetch(numbers[1] - 1)]
      when "+", "-"
        size, at = kinds.fetch(numbers[0])
        sums[at][0] += 1 if mode == "+"
        sums[at][1] += mode == "+" ? size : -size
        total += mode == "+" ? size : -size
        peak = [peak, total].max
      when "c", "R", "X", "I" then nil
      else flunk line
      end
    end
    [sums, peak]
  end

  def mode_with_text?(line) = line.start_with?("s ", "X ")

  def test_heaptrack
    text, expected = random_process(7)
    path = made(text + "sample 1500 40960000 3000 2000\n")
    run = tool("heaptrack", path)
    assert_success run
    sums = Hash.new { |h, k| h[k] = [0, 0] }
    live = {}
    total = peak = 0
    expected.each do |_, op, block, size, from, name|
      ended = live.delete(op == "realloc" ? from : op.start_with?("free") ? block : nil)
      if ended
        sums[ended[1]][1] -= ended[0]
        total -= ended[0]
      end
      next if size == "-"

      live[block] = [size.to_i, name]
      sums[name][0] += 1
      sums[name][1] += size.to_i
      peak = [peak, total += size.to_i].max
    end
    got, got_peak = heaptrack(run.stdout)
    assert_equal sums, got.transform_keys(&:first)
    assert_equal got.keys.map(&:first), got.keys.map(&:last), "FILE:LINE"
    assert_equal peak, got_peak
    assert_includes run.stdout, "\nR 2710\n"
    assert_includes run.stdout, "\nX ruby app.rb > \"é\" \n"
    assert_equal run.stdout, tool("heaptrack", packed(path)).stdout
  end

  # --- a recording of Ruby ----------------------------------------------------------------

  # Threads that take turns free each other's blocks in their collections: no end is taken for another one.
  def test_a_ruby_program
    in_tmp do |dir|
      path = "#{dir}/a.mwtrace"
      assert_success mwrap_run(RUBY, "-e", <<~'SCRIPT', options: "trace_path:#{path}")
        4.times.map { |k| Thread.new { 300.times { |i| Array.new(100) { |n| "#{k} #{i} #{n}" * 200 }; Thread.pass } } }.each(&:join)
      SCRIPT
      run = tool("pack", path, "-o", "#{dir}/to")
      assert_success run
      assert_empty run.stderr
      sums = info("#{dir}/to")["meta"]["packed"]
      assert_equal [0, 0, 0, 0], sums.values_at("lost", "missing", "unknown", "ended"), sums.to_s
      assert_operator sums["events"], :>, 200_000
      assert_operator sums["threads"], :>=, 5
      text = tool("text", "#{dir}/to").stdout
      assert_operator text.lines.grep(/\t-e:1$/).size, :>, 100_000
      assert_equal text, tool("text", path).stdout
    end
  end
end
