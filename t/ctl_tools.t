#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# ctl_tools.t - mwrapctl snap, diff and report: exact growth between two moments, in any mix of files and processes;
# files that are cut off or hostile; what is written to a terminal, a pipe and a program.
require_relative "lib/served"
require_relative "lib/runs_ctl"
require_relative "../lib/mwrap/ctl"
require_relative "../lib/mwrap/ctl/moment"
require "digest"
require "io/console"
require "pty"

module CtlToolsTest
  include RunsCtl

  # "keep N" leaves N blocks of 5,001 bytes at one line; "table N" makes one block of N bytes at another.
  APP = <<~'RUBY'
    $stdout.sync = true
    KEPT = Array.new(100_000)
    TABLE = [nil]
    AT = [0]
    def keep(n) = n.times { KEPT[AT[0] += 1] = "x" * 5000 } # the leak
    def table(n) = TABLE[0] = "y" * n # the table
    GC.disable
    3.times { keep(10) } # the caches of its code are there then
    table(1000)
    puts "ready"
    while (line = gets)
      name, n = line.split
      name == "keep" ? keep(n.to_i) : table(n.to_i)
      puts "done"
    end
  RUBY
  LEAK = APP.lines.index { |l| l.include?("# the leak") } + 1
  TABLE = APP.lines.index { |l| l.include?("# the table") } + 1

  def start(**rest)
    @app = served_ruby(APP, env: MwrapTest::WITHOUT_JIT, **rest)
    assert_equal "ready", @app.hear
    @app
  end

  def leak = "#{path("app.rb")}:#{LEAK}"

  def snap(name, *options)
    assert_written ctl("snap", path, path(name), *options)
    path(name)
  end

  # Rows of a made-up snapshot: {location => [live_bytes, live]}
  def write(name, rows, **head)
    lines = ["# mwrap=4.0 #{{ rows: rows.size, **head }.map { |k, v| "#{k}=#{v}" }.join(" ")}", "live_bytes\tlive\tlocation"]
    File.binwrite(path(name), [*lines, *rows.map { |l, (bytes, n)| "#{bytes}\t#{n}\t#{l}" }].join("\n") + "\n")
    path(name)
  end

  # The text that a command writes to a terminal
  def on_terminal(*args, env: {})
    said = +"".b
    env = { "RUBYOPT" => nil, "TERM" => "xterm", "LC_ALL" => "C.UTF-8", "NO_COLOR" => nil, **env }
    PTY.spawn(env, MwrapTest::RUBY, CTL, *args) do |out, _, pid|
      out.winsize = [50, 200]
      Timeout.timeout(HttpdTest::PATIENCE) do
        loop do
          said << out.readpartial(65_536)
          yield said if block_given?
        end
      end
    rescue Errno::EIO # its end
      ::Process.wait(pid)
    end
    said.force_encoding("UTF-8")
  end
end

class CtlDiffTest < Minitest::Test
  include CtlToolsTest

  def test_exact_growth
    start
    a = snap("a.tsv")
    @app.ask("keep 600")
    @app.ask("table 9000000")
    b = snap("b.tsv")
    row = rows_of("diff", a, b, "--per", "600")[0]
    assert_equal leak, row["location"], "before the table, which grew more"
    # Ruby may allocate for itself there, such as what describes a page of its heap
    assert_in_delta 600 * 5001, row["growth"], 4096
    assert_in_delta 600, row["growth_blocks"], 1
    assert_equal row.values_at("growth", "growth_blocks").map { |n| (n / 600.0).round(4) }, row.values_at("bytes_each", "blocks_each").map { |n| n.round(4) }
    at_rest(@app)
    now = tsv.find { |r| r.location == leak }
    assert_equal [now.live_bytes - row["growth"], now.live_bytes, now.live - row["growth_blocks"], now.live], row.values_at("from_bytes", "to_bytes", "from_blocks", "to_blocks")
    by_growth = rows_of("diff", a, b, "--sort", "growth")
    assert by_growth[0]["location"].end_with?("app.rb:#{TABLE}")
    assert_equal rows_of("diff", a, b).map { |r| r["location"] }.sort, rows_of("diff", a, b, "--sort=location").map { |r| r["location"] }
    back = rows_of("diff", b, a).find { |r| r["location"] == leak }
    assert_equal [-row["growth"], -row["growth_blocks"], 0], back.values_at("growth", "growth_blocks", "score")
  end

  # A reset between them makes no difference.
  def test_any_mix
    start
    a = snap("a.tsv")
    @app.ask("keep 100")
    post("/reset")
    @app.ask("keep 20")
    b = snap("b.tsv")
    at_rest(@app)
    [[a, path], [a, @app.pid.to_s], [a, b], [a, "#{path}/#{@app.pid}"], ["-", path], [a, path, "--pid", @app.pid.to_s]].each do |words|
      row = rows_of("diff", *words, **(words[0] == "-" ? { stdin: File.binread(a) } : {})).find { |r| r["location"] == leak }
      assert_equal [120 * 5001, 120], row.values_at("growth", "growth_blocks"), words.inspect
    end
    assert_equal 120, rows_of("diff", a, path, "--all").find { |r| r["location"] == leak }["growth_blocks"]
    assert_empty rows_of("diff", b, b)
    run = run_command("bash", "-c", '"$0" "$1" diff <(cat "$2") <(cat "$3") -n 1', RUBY, CTL, a, b)
    assert_written run
    assert_includes run.stdout, "\t120\t"
  end

  # A snapshot of now and a mark are of one moment, but for what was allocated between them.
  def test_marks
    start
    file = snap("a.tsv", "--mark", "before")
    assert_match(/\A# mwrap=\S+ mark=before time=\S+ unix=\S+ .* rows=\d+\n/, File.read(file))
    @app.ask("keep 40")
    snap("b.tsv", "--mark", "between, @ 1/2")
    @app.ask("keep 60")
    at_rest(@app)
    { [file, path] => 100, ["#{path}@before", path] => 100, ["#{path}@before", "#{path}@between, @ 1/2"] => 40, ["#{path}@between, @ 1/2", path] => 60,
      ["#{path}@before", path("b.tsv")] => 40 }.each do |words, n|
      row = rows_of("diff", *words, "--per", n.to_s)[0]
      assert_equal [leak, n, n * 5001, n], row.values_at("location", "growth_blocks", "growth", "allocations"), words.inspect
    end
    post("/reset")
    assert_equal ["", 100], rows_of("diff", "#{path}@before", path)[0].values_at("allocations", "growth_blocks")
    rows = rows_of("score", "#{path}@before", "#{path}@between, @ 1/2", path, "--x", "0,40,100")
    assert_equal [leak, 5001.0], [rows[0]["location"], rows[0]["slope"].to_f]
    assert_refused ctl("diff", "#{path}@none", path), "#{path}: no mark none: it has before, between, @ 1/2"
    assert_refused ctl("snap", path, path("x"), "--mark", "now"), /#{path}: name: .*/
    json = json_of("diff", "#{path}@before", path)
    assert_equal ["before", "", @app.pid], [json["from"]["mark"], json["to"]["mark"], json["from"]["pid"]]
  end

  # The tracker's own exit dumps, of several processes in one file
  def test_exit_dumps
    File.write(path("app.rb"), "def keep(n) = Array.new(n) { 'x' * 5000 }\nX = keep(ARGV[0].to_i)\nfork { Y = keep(5) }\nProcess.wait\n")
    [10, 30].each do |n|
      run = mwrap_run(RUBY, "--disable=gems", path("app.rb"), n.to_s, env: MwrapTest::WITHOUT_JIT, options: "dump_path:#{option_value(path("d#{n}"))},dump_format:tsv")
      assert_success run
    end
    assert_equal 2, File.read(path("d10")).scan(/^total\t/).size
    row = rows_of("diff", path("d10"), path("d30")).find { |r| r["location"].end_with?("app.rb:1") }
    assert_equal 40, row["growth_blocks"], "20 more in each of the two processes"
  end

  def test_native_rows_without_their_addresses
    a = write("a", { "/lib/x.so(f+0x1f) [0x7f0000001000]" => [10, 1], "/lib/x.so(f+0x2f) [0x7f0000001010]" => [7, 1], "/lib/x.so(g) [0x7f0000001020]" => [1, 1] })
    b = write("b", { "/lib/x.so(f+0x1f) [0x7e0000001000]" => [15, 2], "/lib/x.so(f+0x2f)" => [7, 1], "/lib/x.so(g) [0x7f0000003020]" => [1, 1], "x [0x" => [3, 1] })
    assert_equal [["/lib/x.so(f+0x1f)", 5], ["x [0x", 3]], rows_of("diff", a, b, "--sort", "growth").map { |r| r.values_at("location", "growth") }
  end

  # Noise has more bytes, but less of what makes a leak.
  def test_the_score_puts_noise_last
    before = { "busy.rb:1" => [50_000_000, 100_000], "table.rb:1" => [1_000_000, 1], "leak.rb:1" => [60_000, 600], "few.rb:1" => [1000, 10], "shrinks.rb:1" => [9000, 90], "odd.rb:1" => [100, 1] }
    after = { "busy.rb:1" => [50_250_000, 100_170], "table.rb:1" => [9_000_000, 1], "leak.rb:1" => [120_000, 1200], "few.rb:1" => [900_000, 13], "shrinks.rb:1" => [8000, 100], "odd.rb:1" => [20_000, 251] }
    a = write("a", before)
    b = write("b", after)
    [%w[--per 600], []].each { |options| assert_equal "leak.rb:1", rows_of("diff", a, b, *options)[0]["location"], options.inspect }
    scores = rows_of("diff", a, b, "--per", "600").to_h { |r| [r["location"], r["score"]] }
    assert_operator scores["leak.rb:1"], :>, 4 * scores.except("leak.rb:1").values.max
    assert_equal [0, 0], scores.values_at("table.rb:1", "shrinks.rb:1")
    assert_equal "table.rb:1", rows_of("diff", a, b, "--sort", "growth")[0]["location"]
  end

  def test_fail_above
    a = write("a", { "x.rb:1" => [10, 1] })
    b = write("b", { "x.rb:1" => [60_010, 601] })
    run = ctl("diff", a, b, "--per", "600", "--fail-above", "2")
    assert_equal [1, "", 2], [run.status.exitstatus, run.stderr, run.stdout.lines.size]
    assert_written ctl("diff", a, b, "--per", "600", "--fail-above", "100")
    assert_written ctl("diff", b, a, "--fail-above", "0.01")
  end

  def test_its_forms
    start
    a = snap("a.tsv")
    @app.ask("keep 50")
    b = snap("b.tsv", "--mark", "after the deploy")
    object = json_of("diff", a, b, "--per", "50")
    assert_equal [@app.pid, @app.pid, "after the deploy", 50, "a.tsv"], [*%w[from to].map { |k| object[k]["pid"] }, object["to"]["mark"], object["per"], File.basename(object["from"]["name"])]
    row = object["rows"].find { |r| r["location"] == leak }
    assert_equal [50 * 5001, 50, 5001.0, 1.0], row.values_at("growth", "growth_blocks", "bytes_each", "blocks_each")
    text = ctl("diff", a, b, "--text", "-n", "1").stdout
    assert_match(/^from  #{a}: \d{4}-\d\d-\d\dT\S+Z, pid #{@app.pid}, live [\d.]+ MB, RSS [\d.]+ MB$/, text)
    assert_match(/^to    #{b}: \S+Z, mark after the deploy, pid/, text)
    assert_match(/^SCORE +GROWTH +BLOCKS +LIVE +IN BLOCKS +LOCATION\n +[\d.]+ +\+244 KB +\+50 +\d+ KB +\d+  #{leak}$/, text)
    refute_includes text, "\e"
    assert_match(/\e\[1mSCORE.*\e\[31m *\+244 KB\e\[m/m, on_terminal("diff", a, b, "-n", "1"))
    refute_includes on_terminal("diff", a, b, "-n", "1", env: { "NO_COLOR" => "1" }), "\e[1m"
    refute_includes on_terminal("diff", a, b, env: { "TERM" => "dumb" }), "\e"
    assert_match(/^Nothing changed\.$/, ctl("diff", a, a, "--text").stdout)
  end

  STRANGE = "/srv/a\\tb\\nc\\\\d\xff\e[31m日本.rb:1".b

  def test_strange_locations
    a = write("a", {})
    b = write("b", { STRANGE => [500, 10] })
    run = ctl("diff", a, b)
    assert_written run
    assert_equal "/srv/a\\tb\\nc\\\\d\ufffd\e[31m日本.rb:1", run.stdout.lines[1].chomp.split("\t")[-1], "as in a snapshot"
    assert_equal "/srv/a\tb\nc\\d\ufffd\e[31m日本.rb:1", json_of("diff", a, b)["rows"][0]["location"]
    assert_includes on_terminal("diff", a, b), "/srv/a\\tb\\nc\\d\ufffd\\u001b[31m日本.rb:1"
    assert_includes ctl("report", b, "--html").stdout, "/srv/a\\tb\\nc\\d\ufffd\\u001b[31m日本.rb:1"
  end

  def test_wrong_command_lines
    a = write("a", {})
    { [a] => "B: missing: see mwrapctl help diff", [a, a, a] => "#{a}: one argument too many: see mwrapctl help diff",
      [a, a, "--per", "0"] => '--per: "0" is not a count: write digits, from 1 on',
      ["-", "-"] => "A and B: both are stdin: name a file for one of them", [a, "#{path("x")}@"] => "#{path("x")}@: no mark behind the @: write SOCKET@NAME" }.each do |words, message|
      assert_refused ctl("diff", *words), message, 2
    end
    assert_refused ctl("diff", a, path("none")), "#{path("none")}: no such socket: name the one that MWRAP has, a PID or HOST:PORT"
  end

  def test_nobody_reads_it
    rows = Array.new(30_000) { |i| ["/srv/some/file.rb:#{i}", [i + 1, 1]] }.to_h
    a = write("a", {})
    b = write("b", rows)
    [["diff", a, b], ["diff", a, b, "--json"], ["report", b], ["report", b, "--html", "-n", "30000"]].each do |words|
      run = run_command("bash", "-c", '"$@" | head -c 10 >/dev/null; echo "${PIPESTATUS[0]}"', "-", RUBY, CTL, *words)
      assert_equal ["1\n", ""], [run.stdout, run.stderr], words.inspect
    end
    assert_refused run_command("bash", "-c", '"$@" >/dev/full', "-", RUBY, CTL, "diff", a, b), "stdout: No space left on device"
  end
end

class CtlSnapTest < Minitest::Test
  include CtlToolsTest

  def test_a_file
    start
    File.write(path("a.tsv"), "# mwrap=old\n")
    text = File.read(snap("a.tsv"))
    assert_match(/\A# mwrap=\S+ .*\bpid=#{@app.pid} .*\brows=#{text.lines.size - 2}$/, text.lines[0])
    assert_equal body("/each/0.tsv").lines[0], text.lines[1]
    assert_includes text, "#{leak}\t"
    assert_equal ["a.tsv", "app.rb"], Dir.children(@dir).grep(/\.tsv|\.rb|#{::Process.pid}/).sort, "nothing else is left"
    assert_equal 0o666 & ~File.umask, File.stat(path("a.tsv")).mode & 0o777
    run = ctl("snap", path, "-")
    assert_written run
    assert_match(/\A# mwrap=/, run.stdout)
    File.symlink("a.tsv", path("link"))
    snap("link")
    assert File.symlink?(path("link"))
  end

  def test_a_file_that_cannot_be_written
    start
    assert_refused ctl("snap", path, path("none/x")), "#{path("none/x")}: No such file or directory"
    assert_refused ctl("snap", path, "/dev/full"), "/dev/full: No space left on device"
    assert_refused ctl("snap", path, @dir), "#{@dir}: Is a directory"
    File.write(path("kept"), "old")
    run = run_command("bash", "-c", 'ulimit -f 1; "$@"', "-", RUBY, CTL, "snap", path, path("kept"))
    refute_predicate run.status, :success?
    assert_equal "old", File.read(path("kept"))
    assert_empty Dir.children(@dir).grep(/kept\./)
  end

  def test_of_a_process_without_a_server
    assert_refused ctl("snap", ::Process.pid.to_s, path("x")), "process #{::Process.pid}: isn't tracked: start it with mwrap, or run mwrapctl attach #{::Process.pid}"
    refute_path_exists path("x")
  end
end

# A server that keeps marks: what it is asked, and what it answers
class CtlMarksTest < Minitest::Test
  include CtlToolsTest

  HEAD = "# mwrap=4.0 mark=deploy%2017 unix=100.5 pid=7 start=7-1 resets=0\nallocations\tfrees\tlive_bytes\tlive\tlocation\n".freeze
  NOW = "# mwrap=4.0 mark= unix=160.5 pid=7 start=7-1 resets=0\ntotal\tallocations\tfrees\tlive_bytes\tlive\tlocation\n".freeze

  # Answers by the request line; what it got is in @asked.
  def answering(answers)
    server = UNIXServer.new(path("marks"))
    @asked = []
    thread = Thread.new do
      loop do
        s = server.accept
        @asked << s.gets.chomp.delete_suffix(" HTTP/1.1")
        nil until s.gets == "\r\n"
        status, text = answers.fetch(@asked.last) { |line| answers.default_proc ? answers[line] : ["404 Not Found", "no such page\n"] }
        s.write("HTTP/1.1 #{status}\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n#{text}")
        s.close
      end
    rescue IOError
      nil
    end
    yield path("marks")
  ensure
    server.close
    thread.join
    File.unlink(path("marks"))
  end

  def test_a_mark
    answering("GET /snapshot.tsv?mark=deploy+17" => ["200 OK", "#{HEAD}10\t0\t5000\t10\ta.rb:1\n3\t0\t30\t3\t/lib/x.so(f+0x1)\n"],
              "GET /snapshot.tsv" => ["200 OK", "#{NOW}9\t110\t0\t55000\t110\ta.rb:1\n9\t3\t0\t30\t3\t/lib/x.so(f+0x1) [0x7f12]\n9\t40\t38\t20\t2\tnew.rb:1\n"],
              "GET /marks.json" => ["200 OK", '{"marks":[{"name":"deploy 16"},{"name":"deploy 17"}]}']) do |at|
      object = json_of("diff", "#{at}@deploy 17", at, "--per", "100")
      assert_equal ["deploy 17", "", 60.0, 50_020], [object["from"]["mark"], object["to"]["mark"], object["seconds"], object["growth"]]
      assert_equal [["a.rb:1", 100, 100], ["new.rb:1", 2, 40]], object["rows"].map { |r| r.values_at("location", "growth_blocks", "allocations") }
      assert_empty rows_of("diff", "#{at}@now", at)
      assert_refused ctl("diff", "#{at}@none", at), "#{at}: no mark none: it has deploy 16, deploy 17"
      assert_refused ctl("report", "#{at}@none"), "#{at}: no mark none: it has deploy 16, deploy 17"
      assert_equal 30, rows_of("report", "#{at}@deploy 17").find { |r| r["location"].start_with?("/lib") }["live_bytes"]
    end
  end

  # Anything in place of an answer: a line, and no more is written.
  def test_odd_answers
    File.write(path("f"), NOW)
    table = NOW + "9\t40\t38\t20\t2\tnew.rb:1\n"
    odd = ["[]", "{}", "null", "", "<html>", "\xff\n", '{"pid":{},"uptime":[]}', '{"pid":1,"uptime":1,"t":3,"rows":5,"rss":"x","parts":[1],"sentence":{},"start":[]}',
           '{"pid":1,"uptime":1,"t":[0,{}],"rows":[5,{},[1,"a",2,3,["x",null,7]]],"rss":[1,"x"],"live":[{},null],"parts":{"rss":1,"live":{}},"sentence":null}', table, table[0..-3]]
    odd.product([false, true]).each do |text, known|
      answers = Hash.new { ["200 OK", text] }
      # a table, so that it comes to the rest
      answers.merge!("GET /snapshot.tsv" => ["200 OK", table], "GET /each/0.tsv?sort=live_bytes&limit=1000&q=" => ["200 OK", table]) if known
      answering(answers) do |at|
        [["top", at, "--once", "--interval", "0.1"], ["report", at], ["report", at, "--html"], ["snap", at, path("out")], ["diff", path("f"), at], ["score", at, at, at]].each do |words|
          status, said = in_process(words)
          assert_match(/\A(mwrapctl: [^\n]*marks: the answer is not mwrap's: [^\n]*\n)?\z/, said, [words, text].inspect)
          assert_equal said.empty? ? 0 : 1, status, [words, text].inspect
          (@seen ||= Hash.new(0))[[words[0], status]] += 1
        end
      end
    end
    assert_equal 10, @seen.size, "each of five both ways: #{@seen}"
  end

  # The server answers once the terminal says that it is waited for.
  def test_what_takes_long_is_told
    told = Queue.new
    answers = Hash.new { told.pop && ["200 OK", NOW] }
    answering(answers) do |at|
      said = on_terminal("snap", at, path("f")) { |text| told << true if text.include?("reading #{at} ...") }
      assert_match(/\A\r\e\[Kreading \S+ \.\.\.\r\e\[K\z/, said)
      assert_operator File.size(path("f")), :>, 100
    end
  end

  # [status, stderr] of a command that this process runs
  def in_process(words)
    out, err = $stdout, $stderr
    $stdout, $stderr = StringIO.new, StringIO.new
    status = Mwrap::Ctl.run(words)
    [status, $stderr.string]
  ensure
    $stdout, $stderr = out, err
  end

  def test_a_mark_is_set
    answering("POST /mark?name=a+%26b" => ["200 OK", "marked\n"], "GET /snapshot.tsv" => ["200 OK", NOW], "POST /mark?name=now" => ["400 Bad Request", "name: not now\n"],
              "POST /all/mark?name=x" => ["200 OK", "marked\n"], "GET /all/snapshot.tsv" => ["200 OK", NOW]) do |at|
      assert_written ctl("snap", at, path("f"), "--mark", "a &b")
      assert_equal ["POST /mark?name=a+%26b", "GET /snapshot.tsv"], @asked
      assert_match(/\A# mwrap=4\.0 mark=a%20%26b unix=160\.5 pid=7 start=7-1 resets=0 rows=0\ntotal\t/, File.read(path("f")))
      assert_refused ctl("snap", at, path("g"), "--mark", "now"), "#{at}: name: not now"
      refute_path_exists path("g")
      assert_written ctl("snap", "--all", at, "-", "--mark", "x")
      assert_equal ["POST /all/mark?name=x", "GET /all/snapshot.tsv"], @asked.last(2)
    end
  end
end

# Any bytes in a file: a snapshot, or one line that says that it isn't.
class CtlSnapshotTest < Minitest::Test
  include CtlToolsTest
  Snapshot = Mwrap::Ctl::Snapshot
  TEXT = "# mwrap=4.0 mark=a%20b pid=7 rows=3\ntotal\tallocations\tfrees\tgrowth\tlive_bytes\tlive\tmean_life\tmax_life\tlocation\n" \
         "10\t2\t1\t5\t5\t1\t0.5\t1\ta.rb:1\n20\t2\t0\t20\t20\t2\t\t\tb.rb:2\n30\t\t\t\t30\t3\t\t\tc\\td\\\\.rb:3\n".b.freeze

  def read(text) = Snapshot.new("it", StringIO.new(text))

  def test_a_whole_one
    s = read(TEXT)
    assert_equal ["a b", 7, 3, 55, 6], [s.mark, s.pid, s.rows.size, s.live_bytes, s.live]
    assert_equal [30, 3, 30], s.rows["c\td\\.rb:3".b].to_a.compact
  end

  def test_cut_off_anywhere
    TEXT.size.times do |n|
      error = assert_raises(Mwrap::Ctl::Failure, "after #{n} bytes") { read(TEXT[0, n]) }
      assert_match(/\Ait: (cut off behind line|no snapshot)/, error.message)
    end
    File.binwrite(path("cut"), TEXT[0..-20])
    assert_refused ctl("report", path("cut")), "#{path("cut")}: cut off behind line 5: write it again"
  end

  def test_other_bytes
    random = Random.new(4)
    whole = 0
    3000.times do
      text = TEXT.dup
      rand = random.rand(1..4)
      rand.times { text[random.rand(text.size), random.rand(3)] = random.bytes(random.rand(3)) }
      begin
        read(text)
        whole += 1
      rescue Mwrap::Ctl::Failure => e
        assert_match(/\Ait: (cut off behind line|no snapshot)/, e.message)
      end
    end
    assert_includes 1..2999, whole
  end

  def test_what_is_none
    { "" => "no snapshot: write one with mwrapctl snap SOCKET FILE", "\0\0\0" => "cut off behind line 1: write it again", "hello\n" => "no snapshot: write one with mwrapctl snap SOCKET FILE",
      TEXT.sub("live_bytes", "other") => "no snapshot: write one with mwrapctl snap SOCKET FILE", TEXT.sub("\t5\t5\t", "\t5\t-5\t") => "no snapshot from line 3 on: write it again",
      TEXT.sub("\t5\t5\t", "\t5\t\t") => "no snapshot from line 3 on: write it again", TEXT.sub("\t5\t5\t", "\t5\t1e9\t") => "no snapshot from line 3 on: write it again",
      TEXT.sub("a.rb", "x\ty") => "no snapshot from line 3 on: write it again", "x" * 3_000_000 => "cut off behind line 1: write it again",
      TEXT.sub("rows=3", "rows=4") => "cut off behind line 5: write it again" }.each do |text, message|
      assert_equal "it: #{message}", assert_raises(Mwrap::Ctl::Failure) { read(text) }.message
    end
    assert_refused ctl("report", RUBY), /#{RUBY}: (no snapshot|cut off behind line \d).*/
    assert_refused ctl("report", "/dev/null"), "/dev/null: no snapshot: write one with mwrapctl snap SOCKET FILE"
  end

  def test_where_a_mark_begins
    split = ->(text) { Mwrap::Ctl::Moment.split(text) }
    File.write(path("a@b"), "")
    { "/x.sock" => ["/x.sock", nil], "/x.sock@v1" => ["/x.sock", "v1"], "/x.sock@a@b" => ["/x.sock", "a@b"], "/x.sock@now" => ["/x.sock", nil], "4711@x/y" => ["4711", "x/y"],
      path("a@b") => [path("a@b"), nil], "#{path("a@b")}@c" => [path("a@b"), "c"], "http://u:p@h:1/m" => ["http://u:p@h:1/m", nil], "http://u:p@h:1/m@x" => ["http://u:p@h:1/m", "x"],
      "http://h:1/@x" => ["http://h:1/", "x"] }.each { |text, parts| assert_equal parts, split.call(text), text }
  end
end

class CtlReportTest < Minitest::Test
  include CtlToolsTest

  def test_text
    start
    @app.ask("keep 1000")
    run = ctl("report", path, "--text", "-n", "2000")
    assert_written run
    assert_match(/\AWatching: .*\n(?:.*\n)?Process #{@app.pid}  Time \S+  Uptime \d+ s  RSS [\d.]+ MB  Live [\d.]+ MB  Blocks [\d,]+  Locations \d+$/, run.stdout)
    assert_match(/^ +LIVE +SHARE +BLOCKS +GROWTH +ALLOCATED +CALLS  FILE$/, run.stdout)
    assert_match(/^4\.\d+ MB +\d+ % +1,0\d\d +\+4\.\d+ MB +4\.\d+ MB +1,0\d\d  #{leak}$/, run.stdout)
    at_rest(@app)
    row = rows_of("report", path).find { |r| r["location"] == leak }
    now = tsv.find { |r| r.location == leak }
    %w[live_bytes live total allocations frees growth].each { |name| assert_equal now[name], row[name], name }
    first = STARTING ? 2 : 1
    object = json_of("report", path, "-n", first.to_s)
    assert_equal [@app.pid, first, leak], [object["pid"], object["rows"].size, object["rows"].last["location"]]
    assert_match(/\AWatching/, object["sentence"])
    from_file = json_of("report", snap("a.tsv"))
    assert_equal [@app.pid, nil], from_file.values_at("pid", "sentence")
  end

  def test_a_page
    start
    @app.ask("keep 1000")
    eventually("a history") { JSON.parse(body("/history.json?range=all&points=3"))["t"].size > 1 }
    assert_written ctl("report", path, "--html", "-o", path("r.html"))
    page = File.read(path("r.html"), encoding: "UTF-8")
    assert_match(/\A<!DOCTYPE html>.*<\/html>\n\z/m, page)
    refute_match(/\{\{|<script|https?:|src=|style=|@import|url\(/, page)
    style = page[%r{<style>(.*?)</style>}m, 1]
    assert_includes page, "default-src 'none'; style-src 'sha256-#{[Digest::SHA256.digest(style)].pack("m0")}'"
    assert_includes style, "prefers-color-scheme: dark"
    assert_includes page, "<title>report of process #{@app.pid} - mwrap</title>"
    assert_match(/<path class="rss" d="M0\.0 [\d.]+L/, page)
    assert_match(%r{<td class="location">#{leak}</td>}, page)
    # axes, and parts by the live page's names
    axes = page.scan(%r{<p class="axis">(.*?)</p>}).flatten
    assert_match(/\A<span>[\d.]+ MB<\/span>\z/, axes[0])
    assert_match(/\A<span>\d+ s.* before<\/span><span>the report<\/span>\z/, axes[1])
    assert_equal ["RSS", "live blocks", "Ruby heap"], page[%r{<caption>RSS and its parts.*?</table>}m].scan(%r{<th scope="row">([^<]*)</th>}).flatten.first(3)
    # most rows are folded
    locations = page[%r{<caption>Locations: .*}m]
    assert_equal 40, locations[%r{<tbody>.*?</tbody>}m].scan("<tr>").size
    assert_match(%r{<details>\n<summary>[\d,]+ more</summary>\n.*?<caption>Locations, from row 41 on</caption>}m, locations)
    at_rest(@app)
    assert_match(%r{title="#{Mwrap::Ctl::Text.count(tsv.find { |r| r.location == leak }.live_bytes)} bytes">4\.\d+ MB<}, page)
    assert_refused ctl("report", path, "--output", "x"), '--output: "x" has no ending that says its form: end it in .html, .tsv, .json or .txt', 2
    assert_match(/\Amwrapctl: stdout: is a terminal: give -o FILE\r\n\z/, on_terminal("report", path, "--html"))
  end

  def test_a_page_of_a_file_with_hostile_names
    file = write("a", { "</td><script>alert(1)</script>{{tables}}&amp;'\"" => [10, 1] }, pid: "</title><script>", mark: "<b>", time: "<i>")
    page = ctl("report", file, "--html").stdout
    refute_match(/<script|<b><b>|<i>/, page)
    assert_includes page, "&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;{{tables}}&amp;amp;&#39;&quot;"
    assert_includes page, "<title>report - mwrap</title>"
  end
end
