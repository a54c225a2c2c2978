#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Reports that a process writes by itself: when, what is in them, what a kill or a bad disk leaves, and whose are
# removed. t/reports_oom.t has the kernel's kill.
require_relative "lib/clusters"
require_relative "lib/reports"
require_relative "lib/runs_ctl"
require "net/http"

class TestOfReports < Minitest::Test
  include ReadsReports
  include RunsCtl

  LINE = "/app.rb:4"

  # Without a server.
  def test_rss
    app = reporting(LEAK, "report_at:100m")
    assert_equal "ready", app.hear
    assert_equal "10", app.ask("10")
    assert_equal "1000", app.ask("990")
    report = a_report
    assert_complete report, LINE
    assert_match(/\Aapp\.rb-#{app.pid}-\d{8}T\d{6}Z\z/, File.basename(report))
    assert_match(/^Written because RSS reached 100m, at .*, by process #{app.pid} \(app\.rb\)/, File.read("#{report}/verdict.txt"))
    assert_equal ["100m"], JSON.parse(File.read("#{report}/stats.json")).dig("options", "report_at")
    assert_equal [0o700, 0o600], [report, "#{report}/each.tsv"].map { |f| File.stat(f).mode & 0o7777 }
    app.finish
    assert_equal "", app.stderr
    assert_nothing_half
    assert_equal [report], reports, "one in ten minutes"
  end

  def test_again_after_a_while
    app = reporting(LEAK, "report_at:50m", "report_every:1", "file_mode:0640")
    app.hear
    app.ask("1000")
    first, second = [1, 2].map { |n| a_report(number: n) }
    refute_equal first, second
    assert_complete second, LINE
    assert_equal [0o750, 0o640], [second, "#{second}/each.tsv"].map { |f| File.stat(f).mode & 0o7777 }
    assert_match(/\A# .*\bfrom=\d/, File.read("#{second}/diff.tsv"), "since the first one")
  end

  def test_exit
    app = reporting(LEAK, "report_at:exit")
    app.hear
    app.ask("100")
    assert_equal 0, app.finish.exitstatus
    assert_complete reports[0], LINE
    assert_match(/because the process exits/, File.read("#{reports[0]}/verdict.txt"))
    assert_nothing_half
  end

  def test_on_demand
    app = served_ruby(LEAK, options: ["report_dir:#{reports_dir}", "report_at:exit"])
    app.hear
    app.ask("100")
    r = request("POST", "/report")
    assert_equal [200, "report: is being written into #{reports_dir}\n"], [r.status, r.body]
    assert_complete a_report, LINE
    assert_match(/because somebody asked/, File.read("#{reports[0]}/verdict.txt"))
    eventually("the event") { JSON.parse(body("/history.json"))["events"].any? { |e| e["text"] == File.basename(reports[0]) } }
  end

  # --- one line instead of a directory ---------------------------------------

  # The reports in what a process wrote
  def lines(text) = text.lines.grep(/"mwrap":/).map { |line| JSON.parse(line.tap { assert_operator line.bytesize, :<=, 4096 }) }

  def test_a_line_on_stderr
    app = reporting(LEAK, "report_at:50m", dir: "stderr")
    app.hear
    app.ask("1000")
    line = eventually("the line") { lines(app.stderr)[0] if app.stderr.end_with?("}\n") }
    assert_equal ["app.rb", app.pid, "RSS reached 50m"], line.values_at("report", "pid", "cause")
    assert_match(/\AWatching|\AStill|grow/, line["sentence"])
    assert_match(/\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/, line["time"])
    assert_operator line["rss_bytes"], :>, 50 << 20
    assert_operator line["live_bytes"], :<=, line["peak_bytes"] * 51 / 50, "2 % more than the peak replaces it"
    row = line["rows"][0]
    assert_equal [true, true], [row["location"].end_with?(LINE), row["live_bytes"] > 10_000_000]
    assert_operator line["rows"].size, :>, 20, "as many as there is room for"
    assert_equal line["rows"].map { |r| r["live_bytes"] }.sort.reverse, line["rows"].map { |r| r["live_bytes"] }
    app.finish
    assert_equal 1, lines(app.stderr).size
    refute File.exist?("stderr")
  end

  # A process that ends within some milliseconds has no server yet, and so no report of its exit: so it waits for that.
  SERVED = "Thread.pass until File.socket?(ENV.fetch('AT')); "

  def stdout_of(script, *options, env: {}, **rest)
    run_command(RUBY, "--disable=gems", "-e", script, env: { "LD_PRELOAD" => TRACKER, "MWRAP" => ["report_dir:stdout", *options].join(","), **env }, timeout: 60, **rest)
  end

  # What many processes write at once isn't mixed: each line is one write. At an exit a busy machine may leave one out.
  def test_lines_of_a_family
    run = stdout_of("20.times { fork { $0 = 'x'; sleep 0.2 } }; Process.waitall; puts 'end'", "report_at:exit")
    assert_success run
    assert_equal "", run.stderr
    all = lines(run.stdout)
    assert_operator all.size, :>=, 5
    assert_equal [all.size, "end\n"], [all.map { |l| l["pid"] }.uniq.size, run.stdout.lines.grep_v(/mwrap/).join]
    assert_equal ["the process exits"], all.map { |l| l["cause"] }.uniq
  end

  def test_a_line_of_long_locations
    script = "40.times { |i| eval('\$a%d = \"x\" * 1000' % i, nil, '/' + 'd\u20ac' * 300 + i.to_s, 1) }"
    run = stdout_of(SERVED + script, "report_at:exit", "socket:#{path}", env: { "AT" => path })
    assert_success run
    all = lines(run.stdout)
    assert_equal 1, all.size
    assert_operator all[0]["rows"].size, :>=, 1
  end

  # Neither a reader that has gone nor one that doesn't read holds up the app, or kills it.
  def test_nobody_reads_the_line
    reader, gone = IO.pipe
    reader.close
    _, full = pipe = IO.pipe
    nil until full.write_nonblock("x" * 4096, exception: false) == :wait_writable
    [[gone, "mwrap: report_dir stdout: Broken pipe\n"], [full, ""]].each_with_index do |(out, said), i|
      env = { "LD_PRELOAD" => TRACKER, "MWRAP" => "report_dir:stdout,report_at:exit,socket:#{path}", "AT" => path }
      pid = Process.spawn(env, RUBY, "--disable=gems", "-e", "#{SERVED}exit #{3 + i}", out: out, err: path("err"))
      assert_equal [3 + i, said], [Process.wait2(pid)[1].exitstatus, File.read(path("err"))]
    end
    pipe.each(&:close)
  end

  # A socket that the app opened where stdout was is not stdout.
  def test_another_file_in_its_place
    run = stdout_of(%(require "socket"; sleep 0.5; a, b = UNIXSocket.pair; $stdout.reopen(a); b.close_write; at_exit { sleep 0.1 }; $b = b), "report_at:exit")
    assert_success run
    assert_equal ["", "mwrap: report_dir stdout: Bad file descriptor\n"], [run.stdout, run.stderr]
  end

  def test_a_line_on_demand
    served_ruby(LEAK, options: ["report_dir:stderr"]).hear
    assert_equal "report: is being written to stderr\n", post("/report").body
    eventually("the line") { lines(@fakes.last.stderr)[0] }
  end

  def test_nobody_named_a_directory
    served_ruby(LEAK)
    assert_equal 409, request("POST", "/report").status
  end

  def test_read_only
    served_ruby(LEAK, options: ["report_dir:#{reports_dir}", "read_only:1"])
    assert_equal 403, request("POST", "/report").status
  end

  # --- disks -----------------------------------------------------------------

  def stuck_env = { "STUCK_WHILE" => path("hangs"), "STUCK_SAYS" => path("says") }
  def stuck_preload = "#{MwrapTest::TRACKER}:#{preload("stuck")}"

  # Neither the app nor the server waits for a disk that hangs, nor does the exit.
  def test_a_disk_that_hangs
    FileUtils.touch(path("hangs"))
    app = served_ruby(LEAK, options: ["report_dir:#{reports_dir}", "report_at:exit"], env: stuck_env.merge("LD_PRELOAD" => stuck_preload))
    app.hear
    app.ask("100")
    request("POST", "/report")
    eventually("the write hangs") { File.exist?(path("says")) }
    20.times do |i|
      assert_equal((i + 101).to_s, app.ask("1"), "the app goes on")
      assert_equal 200, get("/verdict").status
    end
    assert_empty reports
    File.delete(path("hangs"))
    assert_complete a_report, LINE
    FileUtils.touch(path("hangs"))
    request("POST", "/report")
    eventually("it hangs again") { File.read(path("says")).lines.size > 1 }
    assert_equal 0, app.finish.exitstatus
    assert_equal 1, reports.size
  end

  # A kill comes when the first part is there: it stays, whole. The next process removes the rest.
  def test_a_kill_between
    app = reporting(LEAK, "report_at:50m", env: stuck_env.merge("LD_PRELOAD" => stuck_preload))
    app.hear
    watcher = Thread.new do
      sleep 0.0005 until Dir["#{reports_dir}/*.first"].any?
      FileUtils.touch(path("hangs"))
    end
    app.ask("1000")
    watcher.join
    eventually("the first part") { Dir["#{reports_dir}/*.first"].any? || reports.any? }
    app.kill
    if reports.empty? # else it was faster than the watcher
      first = Dir["#{reports_dir}/*.first"]
      assert_equal 1, first.size
      assert_equal FIRST.sort, Dir.children(first[0]).sort
      assert_match(/blocks at \S*#{LINE}$/, File.read("#{first[0]}/verdict.txt"))
      assert_first_row first[0], LINE
    end
    File.delete(path("hangs"))
    app = reporting(LEAK, "report_at:exit")
    app.hear
    app.ask("100")
    app.finish
    assert_empty Dir.children(reports_dir).grep(/\A\./), "what was half written is gone"
    assert_complete reports.last, LINE
  end

  def mount(options)
    skip "no file system can be mounted here" unless system("mount", "-t", "tmpfs", "-o", options, "none", reports_dir, err: File::NULL)
    yield
  ensure
    @fakes.each(&:kill)
    system("umount", "-l", reports_dir, err: File::NULL)
  end

  def test_a_full_disk
    mount("size=64k") do
      app = reporting(LEAK, "report_at:50m", "report_every:1")
      app.hear
      app.ask("1000")
      line = "mwrap: report_dir #{reports_dir}: No space left on device\n"
      eventually("the line") { app.stderr.include?(line) }
      assert_equal "1001", app.ask("1"), "the app goes on"
      assert system("mount", "-o", "remount,size=16m", reports_dir)
      assert_complete a_report, LINE
      assert_equal line, app.stderr, "one line"
      assert_empty Dir.children(reports_dir).grep(/\A\./)
      assert_operator Dir.children(reports_dir).size, :<=, 5, "first parts of failed ones are removed as reports are"
    end
  end

  def test_a_read_only_disk
    mount("ro") do
      app = reporting(LEAK, "report_at:50m", "report_every:1")
      app.hear
      app.ask("1000")
      line = "mwrap: report_dir #{reports_dir}: Read-only file system\n"
      eventually("the line") { app.stderr.include?(line) }
      assert_equal "1001", app.ask("1"), "the app goes on"
      assert system("mount", "-o", "remount,rw", reports_dir)
      assert_complete a_report, LINE
      assert_equal line, app.stderr
    end
  end

  def test_no_directory
    app = reporting(LEAK, "report_at:exit", dir: path("nosuch"))
    app.hear
    assert_equal 0, app.finish.exitstatus
    assert_equal "mwrap: report_dir #{path("nosuch")}: No such file or directory\n", app.stderr
  end

  # --- mwrapctl, without the process -------------------------------------------------

  def test_mwrapctl
    app = served_ruby(LEAK, options: ["report_dir:#{reports_dir}", "report_at:exit"])
    app.hear
    app.ask("100")
    assert_equal "report: is being written into #{reports_dir}\n", ctl("report", "--now", path).tap { |run| assert_written run }.stdout
    a_report
    app.ask("300")
    app.finish
    copy = path("copy")
    FileUtils.mv(reports_dir, copy)
    FileUtils.mkdir("#{copy}/other")
    first, last = reports(copy)
    FileUtils.mv(last, "#{last}.first")
    list = ctl("report", copy).tap { |run| assert_written run }.stdout.lines(chomp: true).map { |l| l.split("\t") }
    assert_equal %w[time app pid bytes whole report sentence], list.shift
    assert_equal [["app.rb", app.pid.to_s, "no", "#{File.basename(last)}.first"], ["app.rb", app.pid.to_s, "yes", File.basename(first)]], list.map { |l| l.values_at(1, 2, 4, 5) }
    assert_match(/\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\z/, list[0][0])
    Dir.mkdir("#{copy}/with \u00e4")
    FileUtils.cp_r(first, odd = "#{copy}/with \u00e4/#{File.basename(first)}")
    pages = [first, copy, odd].map { |dir| ctl("open", "--print", dir).tap { |run| assert_written run }.stdout }
    assert_equal ["file://#{last}.first/report.html\n", "file://#{copy}/with%20%C3%A4/#{File.basename(first)}/report.html\n"], pages.drop(1), "the newest one's"
    assert_equal "file://#{first}/report.html\n", pages[0]
    shown = ctl("report", "--text", first).tap { |run| assert_written run }.stdout
    assert_match(/\AWatching: /, shown)
    assert_match(/^ *9\.\d+ MB .*#{LINE}$/, shown)
    diff = ctl("diff", "--json", first, "#{last}.first").tap { |run| assert_written run }.stdout
    row = JSON.parse(diff)["rows"].find { |r| r["location"].end_with?(LINE) }
    # (the report may have some blocks more, of what the line allocates for itself and frees later)
    assert_equal true, [[300, row["growth_blocks"]], [100, row["from_blocks"]]].all? { |n, is| (n - 30..n + 30).cover?(is) }, row.inspect
  end

  # --- others ------------------------------------------------------------------

  # Only reports of this app go; of these only what a report has.
  def test_what_is_removed
    outside = path("outside")
    Dir.mkdir(outside)
    FileUtils.touch("#{outside}/each.tsv")
    old = Array.new(3) { |i| "app.rb-#{i + 1}-2020010#{i + 1}T000000Z" }
    foreign = ["other.rb-1-20200101T000000Z", "app.rb-1-20200101T00000Z", "app.rb-x-20200101T000000Z", "my-app.rb-1-20200101T000000Z", "app.rb-4-20200101T000000Z"]
    (old + foreign).each do |name|
      Dir.mkdir("#{reports_dir}/#{name}")
      FileUtils.touch("#{reports_dir}/#{name}/each.tsv")
    end
    FileUtils.touch("#{reports_dir}/app.rb-4-20200101T000000Z/note")
    File.symlink(outside, "#{reports_dir}/app.rb-5-20200101T000000Z")
    File.symlink("#{outside}/each.tsv", "#{reports_dir}/#{old[0]}/stats.json")
    FileUtils.touch("#{reports_dir}/app.rb-6-20200101T000000Z")
    app = reporting(LEAK, "report_at:exit", "report_keep:2")
    app.hear
    app.finish
    there = Dir.children(reports_dir)
    assert_equal [old[2]], there & old, "the newest two stay: this one and another"
    assert_equal foreign.sort, (there & foreign).sort
    assert_equal %w[each.tsv note], Dir.children("#{reports_dir}/app.rb-4-20200101T000000Z").sort
    assert_includes there, "app.rb-5-20200101T000000Z"
    assert_includes there, "app.rb-6-20200101T000000Z"
    assert_equal ["each.tsv"], Dir.children(outside)
  end

  def test_their_size
    3.times do |i|
      Dir.mkdir("#{reports_dir}/app.rb-#{i + 1}-2020010#{i + 1}T000000Z")
      File.write("#{reports_dir}/app.rb-#{i + 1}-2020010#{i + 1}T000000Z/each.tsv", "x" * (1 << 20))
    end
    app = reporting(LEAK, "report_at:exit", "report_max:3m")
    app.hear
    app.finish
    assert_equal %w[20200102T000000Z 20200103T000000Z], reports[0..-2].map { |r| r[-16..] }
  end

  # One at a time, each of them whole; the app's waits don't see the program.
  def test_a_family_and_a_command
    File.write(path("command"), "#!/bin/sh\necho \"$# $1 $LD_PRELOAD\" >> #{path("told")}\n")
    File.chmod(0o700, path("command"))
    script = <<~'RUBY'
      signals = 0
      trap(:CHLD) { signals += 1 }
      $keep = []
      pids = Array.new(3) { fork { ($keep << ("x" * 100_000)) while $keep.size < 1000; sleep } }
      $stdin.gets
      early = begin Process.wait2(-1, Process::WNOHANG) rescue $!.class end
      puts [early.inspect, signals].join(" ")
      $stdout.flush
      Process.kill(:KILL, *pids)
      pids.each { |pid| Process.wait(pid) }
    RUBY
    app = reporting(script, "report_at:80m", "report_command:#{path("command")}")
    eventually("three reports") { reports.size == 3 }
    eventually("three calls") { File.exist?(path("told")) && File.readlines(path("told")).size == 3 }
    assert_equal reports.map { |r| "1 #{r} \n" }.sort, File.readlines(path("told")).sort
    reports.each { |r| assert_complete r, "/app.rb:4" }
    assert_equal 3, reports.map { |r| File.basename(r)[/-(\d+)-/, 1] }.uniq.size
    app.tell("go")
    assert_equal "nil 0", app.hear, "no child has ended, and no signal came"
    app.finish
  end

  def test_a_command_that_is_missing
    app = reporting(LEAK, "report_at:exit", "report_command:/nosuch/program")
    app.hear
    app.ask("100")
    assert_equal 0, app.finish.exitstatus
    assert_complete reports[0], LINE
    assert_equal "mwrap: report_command /nosuch/program: No such file or directory\n", app.stderr
  end
end

# A Puma cluster whose requests leak.
class TestOfReportsPuma < Minitest::Test
  include Clusters
  include ReadsReports

  LEAKED = "family_server.rb:#{File.readlines(Clusters::SERVER).index { |l| l.include?("LEAKED <<") } + 1}"

  # Its port, and its workers' PIDs, as it says them at its start.
  def started(app)
    port, workers = nil, []
    until port && workers.size == 2
      line = app.hear or flunk "it ended: #{app.stderr}"
      port ||= line[/Listening on http:.*:(\d+)/, 1]
      workers << $1.to_i if line =~ /Worker \d+ \(PID: (\d+)\) booted/
    end
    [port.to_i, workers]
  end

  def test_each_worker_and_the_sum
    app = launched(*server_command(leak: 500_000), options: "socket:#{path},report_dir:#{reports_dir},report_at:100m")
    port, workers = started(app)
    eventually("a report of each worker") do
      20.times { Net::HTTP.get(URI("http://127.0.0.1:#{port}/")) }
      (workers - reports.map { |r| File.basename(r)[/-(\d+)-/, 1].to_i }).empty?
    end
    reports.each { |r| assert_complete r, LEAKED }
    assert_equal 200, request("POST", "/report").status
    whole = eventually("the first process's") { reports.find { |r| File.basename(r).include?("-#{app.pid}-") } }
    head, *rows = File.readlines("#{whole}/each-all.tsv", chomp: true).map { |l| l.split("\t") }
    assert rows[0][head.index("location")].end_with?(LEAKED), rows[0].inspect
    assert_operator rows[0][head.index("live_bytes")].to_i, :>, 100 << 20
    assert_equal ["", [true]], [app.stderr, reports.map { |r| File.basename(r).start_with?("family_server.rb-") }.uniq]
  end
end
