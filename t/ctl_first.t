#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# ctl_first.t - what a newcomer meets: mwrapctl without a command or a SOCKET, verdict, open and doctor, the controls,
# a server for a process that began without one, and each "did you mean". Where no other test's process is seen: in a
# PID namespace of its own.

ALONE = %w[unshare --pid --fork --kill-child --mount-proc].freeze
ENV["MWRAP_TEST_ALONE"] ||= system(*ALONE, "true", out: File::NULL, err: File::NULL) ? "begin" : "no"
exec({ "MWRAP_TEST_ALONE" => "yes" }, *ALONE, "ruby", __FILE__, *ARGV) if ENV["MWRAP_TEST_ALONE"] == "begin"

require_relative "lib/served"
require_relative "lib/runs_ctl"
require "io/console"
require "net/http"
require "pty"

class CtlFirstTest < Minitest::Test
  include RunsCtl

  APP = "$stdout.sync = true\nKEPT = []\ndef grow = KEPT << 'x' * 100_000\nputs 'ready'\nwhile (n = gets)\n  n.to_i.times { grow }\n  puts 'done'\nend\n"
  NOT_TRACKED = "isn't tracked: start it with mwrap, or run mwrapctl attach"

  def setup
    super
    skip "no namespaces may be made here" unless ENV["MWRAP_TEST_ALONE"] == "yes"
  end

  def started(**rest) = served_ruby(APP, **rest).tap { |app| assert_equal "ready", app.hear }

  # By bin/mwrap, without options: no server
  def without_a_server
    File.write(path("app.rb"), APP)
    env = { "RUBYOPT" => nil, "RUBYLIB" => nil, "MWRAP" => nil, "LD_PRELOAD" => nil }
    Served::App.new(LAUNCHER, RUBY, "--disable=gems", path("app.rb"), env: env, err: path("err"), dump_path: nil).tap do |app|
      @fakes << app
      assert_equal "ready", app.hear
    end
  end

  def in_terminal(*words, say: nil, env: {})
    said = +""
    PTY.spawn({ "TERM" => "dumb", "LC_ALL" => "C.UTF-8", "RUBYOPT" => nil, "MWRAP" => nil, "LD_PRELOAD" => nil, **env }, *words) do |out, to, pid|
      to.winsize = [24, 80]
      said << out.readpartial(4096) until say.nil? || said.include?(say[0])
      to.puts(say[1]) if say
      said << out.readpartial(4096) while true
    rescue Errno::EIO, EOFError
      Process.wait(pid)
    end
    said.delete("\r")
  end

  # --- which process ---------------------------------------------------------------------------

  def test_nothing_is_tracked
    none = "no process is tracked: start one with mwrap COMMAND, or run mwrapctl attach PID"
    [[], %w[verdict], %w[top --once], %w[report], %w[reset]].each { |words| assert_refused ctl(*words), none }
  end

  def test_one_is_tracked
    app = started
    said = /\A(?:Watching: the first verdict comes in \d+ s\.|Nothing .*\.)$/
    [[], %w[verdict], ["verdict", app.pid.to_s], ["verdict", path]].each do |words|
      run = ctl(*words)
      assert_written run
      assert_match said, run.stdout
    end
    assert_kind_of String, JSON.parse(ctl("verdict", "--json").stdout)["sentence"]
    assert_match(/^pid #{app.pid}, up /, ctl("top", "--once", "--interval", "0.1").stdout)
    assert_equal app.pid, JSON.parse(ctl("report", "--json").stdout)["pid"]
    assert_match(/mwrapctl top watches it, mwrapctl open shows its page, mwrapctl --help has more\n\z/, in_terminal(RUBY, CTL))
    assert_refused ctl("snap"), "FILE: missing: see mwrapctl help snap", 2
    assert_refused ctl("snap", path), "FILE: missing: see mwrapctl help snap", 2
    assert_written ctl("snap", path("a.tsv"))
    assert_match(/^# .*pid=#{app.pid}/, File.read(path("a.tsv")))
  end

  def test_a_family_is_one
    app = served_ruby("$stdout.sync = true\npid = fork { sleep }\nputs pid\ngets\nProcess.kill(:KILL, pid)\n")
    child = app.hear.to_i
    eventually("both to serve") { JSON.parse(ctl("ps", "--json").stdout)["rows"].count { |r| r["state"] == "answers" } == 2 }
    assert_match(/^2 processes, /, ctl("top", "--once", "--interval", "0.1").stdout)
    assert_written ctl("reset")
    assert_match(/^pid #{child}, /, ctl("top", "--pid", child.to_s, "--once", "--interval", "0.1").stdout)
  end

  def test_several_are_tracked
    apps = [started, started(at: path("other"))]
    run = ctl("verdict")
    lines = run.stderr.lines
    assert_equal ["", 2, 3], [run.stdout, run.status.exitstatus, lines.size]
    apps.zip(lines) { |app, line| assert_match(/\A  #{app.pid}  [\d.]+ MB RSS  \S*ruby/, line) }
    assert_equal "mwrapctl: SOCKET: missing, and 2 processes are tracked: name one by its PID\n", lines[2]
    # a person is asked
    said = in_terminal(RUBY, CTL, "top", "--once", "--interval", "0.1", say: ["[1] ", "2"])
    assert_match(/^  2  #{apps[1].pid}  .*^Which one\? \[1\] 2$.*^pid #{apps[1].pid}, up /m, said)
    assert_match(/mwrapctl: "7": not in the list: write its number$/, in_terminal(RUBY, CTL, "verdict", say: ["[1] ", "7"]))
  end

  # --- a process without a server ------------------------------------------------------------------

  def test_a_server_for_a_process_that_began_without_one
    app = without_a_server
    help = "process #{app.pid}: is tracked without a server: run mwrapctl attach #{app.pid}"
    [[], %w[top --once], ["report", app.pid.to_s]].each { |words| assert_refused ctl(*words), help }
    refused = { ["socket:#{path("no/x")}"] => "socket: #{path("no")} is no directory of the process's: make it",
                ["bt:3"] => "bt: not for a process that is tracked since its start: leave it out" }
    refused.each { |options, message| assert_refused ctl("attach", app.pid.to_s, *options), message, 2 }
    assert_refused ctl("attach", app.pid.to_s, "sokcet:/x,socket:#{path}"), "process #{app.pid}: \"sokcet\": unknown option: did you mean socket?"
    run = ctl("attach", app.pid.to_s, "socket:#{path}")
    assert_written run
    assert_match(/\Aprocess #{app.pid}: has a server from now on .*: socket:#{path}\n\z/, run.stdout)
    # what was counted before is there
    app.ask("3")
    assert_equal "preload", stats["how"]
    assert_operator rows_of("report").find { |r| r["location"].end_with?("app.rb:2") }["live"], :>=, 1, "from before"
    assert_refused ctl("attach", app.pid.to_s), "process #{app.pid}: has a server already: #{path}"
    assert_refused ctl("detach", app.pid.to_s), "process #{app.pid}: runs under mwrap from its start: use mwrapctl pause"
  end

  def test_its_children_have_one_too
    File.write(path("app.rb"), "$stdout.sync = true\nputs 'ready'\ngets\nputs fork { sleep }\ngets\n")
    env = { "RUBYOPT" => nil, "RUBYLIB" => nil, "MWRAP" => nil, "LD_PRELOAD" => nil }
    app = Served::App.new(LAUNCHER, RUBY, "--disable=gems", path("app.rb"), env: env, err: path("err"), dump_path: nil)
    @fakes << app
    app.hear
    assert_written ctl("attach", app.pid.to_s, "socket:#{path}")
    child = app.ask("fork").to_i
    eventually("the child's server") { JSON.parse(body("/family.json"))["processes"].map { |p| p["pid"] }.include?(child) }
    Process.kill(:KILL, child)
  end

  def test_a_line_says_how_to_look
    line = /\Amwrap: no server is asked for: give MWRAP=socket:\/tmp\/mw\.sock, or run mwrapctl attach \d+\nhere\n\z/
    assert_match line, in_terminal(LAUNCHER, "echo", "here")
    assert_equal "here\n", in_terminal(LAUNCHER, "echo", "here", env: { "MWRAP" => "socket:#{path}" })
    assert_equal "", mwrap_run("true", options: "").stderr
  end

  # --- doctor ----------------------------------------------------------------------------------------

  def test_doctor
    app = started
    run = ctl("doctor")
    assert_written run
    assert_match(/\Aok  tracker    in the process since its start\nok  server     #{path}\nok  lines      Ruby's, found the fast way\nok  counting   every block\n/, run.stdout)
    assert_match(/^    cost       (at most [\d.]+ % of its CPU time, and )?[\d.]+ [KM]B$/, run.stdout)
    assert_match(/^    allocator  glibc$/, run.stdout)
    assert_written ctl("pause", app.pid.to_s)
    run = ctl("doctor", app.pid.to_s)
    assert_equal [1, ""], [run.status.exitstatus, run.stderr]
    assert_match(/^bad counting   paused\n               run mwrapctl resume #{app.pid}$/, run.stdout)
    assert_equal [false, "paused"], JSON.parse(ctl("doctor", "--json").stdout).find { |f| f["about"] == "counting" }.values_at("fine", "says")
    assert_written ctl("resume")
    assert_written ctl("doctor")
  end

  def test_doctor_of_what_is_not_tracked
    child = HttpdTest::Child.new({ "LD_PRELOAD" => nil, "MWRAP" => nil }, RUBY, "-e", "puts 'up'; $stdout.flush; gets", log: path("err"))
    @fakes << child
    child.hear
    run = ctl("doctor", child.pid.to_s)
    assert_equal 1, run.status.exitstatus
    assert_match(/\Abad tracker    not in the process: it was started without mwrap\n               run mwrapctl attach #{child.pid}\n    allocator  glibc$/, run.stdout)
    assert_refused ctl("verdict", child.pid.to_s), "process #{child.pid}: #{NOT_TRACKED} #{child.pid}"
    assert_refused ctl("doctor", "x"), 'PID: "x" is not a PID: write digits only', 2
  end

  def test_doctor_names_the_allocator
    found = Dir["/usr/lib/*/libjemalloc.so.2"].first or flunk "libjemalloc.so.2 isn't installed"
    started(env: { "LD_PRELOAD" => "#{TRACKER}:#{found}" })
    assert_match(/^    allocator  jemalloc$/, ctl("doctor").stdout)
  end

  # A large app has thousands of files.
  def test_did_you_mean_one_of_many
    script = "KEPT = (1..2000).map { |i| eval('-> { \"x\" * 100 }', nil, \"/many/some_file_\#{i}.rb\", 1).call }\nputs 'ready'\n$stdout.flush\ngets\n"
    assert_equal "ready", served_ruby(script).hear
    assert_refused ctl("who", path, "some_fill_1999.rb:1", timeout: 20), "some_fill_1999.rb:1: no such location: did you mean /many/some_file_1999.rb:1?"
  end

  # Ruby may be built without it: https alone needs it.
  def test_without_openssl
    started
    File.write(path("openssl.rb"), "raise LoadError, 'cannot load such file -- openssl'")
    env = { "RUBYLIB" => File.dirname(path("openssl.rb")) }
    assert_refused ctl("who", path, "nosuch.rb:7", env: env), "#{path}: no such location: nothing was allocated there"
    assert_refused ctl("verdict", "https://127.0.0.1:9", env: env), "https://127.0.0.1:9: this Ruby has no OpenSSL: name a server of http"
  end

  # --- open ---------------------------------------------------------------------------------------------

  # The App of `mwrapctl open`, and the address that it prints
  def opened(*words, env: {})
    app = HttpdTest::Child.new({ "RUBYOPT" => nil, "BROWSER" => nil, **env }, RUBY, CTL, "open", *words, log: path("open"))
    @opened = app.pid
    @fakes << app
    [app, app.hear]
  end

  # It would go on.
  def teardown
    Process.kill(:TERM, @opened) if @opened
  rescue Errno::ESRCH
    nil
  ensure
    super
  end

  def test_open
    app = started
    browser = path("browser")
    File.write(browser, "#!/bin/sh\necho \"$1\" >#{path("opened")}\n", perm: 0o755)
    _, url = opened(env: { "BROWSER" => browser })
    assert_match %r{\Ahttp://127\.0\.0\.1:\d+/#{app.pid}/\z}, url
    assert_equal url, eventually("the browser") { File.exist?(path("opened")) && File.read(path("opened")).chomp.then { |s| s unless s.empty? } }
    page = Net::HTTP.get_response(URI(url))
    assert_equal ["200", true], [page.code, page.body.include?("data-page=\"home\"")]
    assert_equal app.pid, JSON.parse(Net::HTTP.get(URI("#{url}stats.json")))["pid"]
    # a page of another site can't read it through the port
    port = URI(url).port
    own = "127.0.0.1:#{port}"
    { { "Host" => "evil.example:#{port}" } => "403", { "Host" => own, "Origin" => "http://evil.example" } => "403", { "Host" => own, "Origin" => "null" } => "403",
      { "Host" => own, "Origin" => "http://#{own}" } => "200", { "Host" => "localhost:#{port}" } => "200" }.each do |headers, code|
      assert_equal code, Net::HTTP.start("127.0.0.1", port) { |http| http.post("/reset", "", headers) }.code, headers.inspect
    end
    assert_equal 2, stats["resets"]
    # one connection, several requests: the browser's way
    Net::HTTP.start("127.0.0.1", port) { |http| 2.times { assert_equal "200", http.get("/stats.json").code } }
  end

  def test_open_lets_no_other_user_in
    skip "not as root" unless Process.euid.zero?
    started
    _, url = opened("--print")
    code = "Process::GID.change_privilege(65534); Process::UID.change_privilege(65534); require 'socket'; " \
           "s = TCPSocket.new('127.0.0.1', #{URI(url).port}); s.write(\"GET / HTTP/1.1\\r\\nHost: localhost:#{URI(url).port}\\r\\n\\r\\n\"); begin; print s.read; rescue Errno::ECONNRESET; end"
    assert_equal "", run_command(RUBY, "--disable=gems", "-e", code).stdout
    assert_includes run_command(RUBY, "--disable=gems", "-e", code.sub(/\A.*?; .*?; /, "")).stdout, "200 OK"
  end

  def test_open_of_a_port
    app = started(options: ["listen:127.0.0.1:0"])
    port = port_of(app)
    assert_equal "http://127.0.0.1:#{port}/\n", ctl("open", "127.0.0.1:#{port}", "--print").stdout
    run = ctl("open", "127.0.0.1:#{port}", env: { "BROWSER" => "", "PATH" => "/nowhere" })
    assert_equal ["http://127.0.0.1:#{port}/\n", "mwrapctl: browser: can't be started: open the address yourself\n"], [run.stdout, run.stderr]
  end

  # --- controls --------------------------------------------------------------------------------------------

  def test_controls
    started
    { %w[reset] => "reset: the counters start again from zero\n", %w[mark before] => "mark: set: before\n", ["note", "deploy 17"] => "annotate: the history has it\n",
      %w[pause] => "pause: tracking is off; what is live stays known, and its frees are counted\n", %w[resume] => "resume: tracking is on\n",
      %w[trim] => /\Atrim: .*\n\z/ }.each do |words, line|
      run = ctl(*words)
      assert_written run
      line.is_a?(Regexp) ? assert_match(line, run.stdout) : assert_equal(line, run.stdout)
    end
    assert_equal ["before"], JSON.parse(body("/marks.json"))["marks"].map { |m| m["name"] }
    assert_equal 1, stats["resets"]
    assert_refused ctl("mark"), "NAME: missing: see mwrapctl help mark", 2
  end

  # --- did you mean ---------------------------------------------------------------------------------------------

  COMMANDS = {
    %w[tpo] => "tpo: unknown command: did you mean top?", %w[verdit] => "verdit: unknown command: did you mean verdict?",
    %w[help reprot] => "reprot: unknown command: did you mean report?", %w[dance] => "dance: unknown command: see mwrapctl --help",
    %w[top --intervall 3] => "--intervall: unknown option: did you mean --interval?", %w[top --shoe] => "--shoe: unknown option: see mwrapctl help top",
    %w[top --sort grwoth] => '--sort: "grwoth" is unknown: did you mean growth?', %w[top --sort x] => '--sort: "x" is unknown: use growth, live, rate or objects'
  }.freeze

  def test_commands_and_options
    COMMANDS.each { |words, line| assert_refused ctl(*words), line, 2 }
  end

  MWRAP = {
    "sokcet:/tmp/x" => '"sokcet": unknown option: did you mean socket?', "/tmp/mw.sock" => '"/tmp/mw.sock": names no option: write socket:/tmp/mw.sock',
    "127.0.0.1:9180" => '"127.0.0.1:9180": names no option: write listen:127.0.0.1:9180', "socket=/tmp/x" => '"socket=/tmp/x": has no colon: write socket:/tmp/x',
    "stacks:off;socket:/tmp/x" => 'stacks: "off;socket:/tmp/x" has a semicolon before an option: write a comma there'
  }.freeze

  def test_options_of_mwrap
    MWRAP.each do |text, line|
      run = run_command(LAUNCHER, "true", env: { "MWRAP" => text })
      assert_equal ["mwrap: #{line}\n", 2], [run.stderr, run.status.exitstatus], text
    end
    run = run_command(LAUNCHER, "env", env: { "MWRAP" => "stacks:off, \tread_only:1" })
    assert_equal ["", "MWRAP=stacks:off,read_only:1"], [run.stderr, run.stdout[/^MWRAP=.*/]]
  end

  def test_lines
    app = started
    app.ask("3")
    assert_refused ctl("who", "app.rb:40"), /app\.rb:40: no such location: did you mean #{path("app.rb")}:\d\?/
    assert_refused ctl("who", path, "ap.rb:3"), "ap.rb:3: no such location: did you mean #{path("app.rb")}:3?"
    assert_refused ctl("who", path, "else.rb:3"), "#{path}: no such location: nothing was allocated there"
    run = ctl("who", "app.rb:3")
    assert_written run
    assert_match(/\A#{path("app.rb")}:3   \d+ blocks   /, run.stdout)
  end

  # --- files ----------------------------------------------------------------------------------------------------

  def test_forms_by_the_ending
    started
    first = { "report" => { "html" => "<!DOCTYPE html>", "json" => "{", "tsv" => "live_bytes\t", "txt" => "Watching" }, "map" => { "html" => "<!DOCTYPE html>", "json" => "{", "tsv" => "live_bytes\t" },
              "ps" => { "json" => "{", "tsv" => "pid\t" }, "flame" => { "html" => "<!DOCTYPE html>", "json" => "{" } }
    first.each do |command, forms|
      forms.each do |ending, text|
        file = path("#{command}.#{ending}")
        run = ctl(command, "-o", file)
        assert_equal ["", "", 0], [run.stdout, run.stderr, run.status.exitstatus], file
        assert File.read(file).start_with?(text), file
      end
    end
    wrong = path("x.pdf")
    assert_refused ctl("report", "-o", wrong), "--output: \"#{wrong}\" has no ending that says its form: end it in .html, .tsv, .json or .txt", 2
    assert_refused ctl("ps", "-o", wrong), "--output: \"#{wrong}\" has no ending that says its form: end it in .tsv, .json or .txt", 2
  end

  def test_what_is_not_overwritten
    started
    File.write(path("precious"), "mine\n")
    assert_refused ctl("snap", path("precious")), "#{path("precious")}: is there, and no snapshot: give -f to replace it"
    assert_equal "mine\n", File.read(path("precious"))
    2.times { assert_written ctl("snap", path("a.tsv")) }
    assert_written ctl("snap", "-f", path("precious"))
    assert_match(/\A# mwrap=/, File.read(path("precious")))
  end

  def test_what_is_not_there
    started
    assert_refused ctl("report", path("no.tsv")), "#{path("no.tsv")}: no such file: write one with mwrapctl snap"
    assert_refused ctl("record", "-o", path("no/x"), "true"), "#{path("no")}: no such directory: make it", 2
    run = run_command(LAUNCHER, RUBY, "--disable=gems", "-e", "puts 'here'; sleep 0.1 until $stdin.read", env: { "MWRAP" => "socket:#{path("no/x.sock")}" })
    assert_equal "here\n", run.stdout
  end

  def test_the_server_names_the_directory
    app = served(RUBY, "--disable=gems", "-e", "gets", at: path("no/x.sock"), wait: false)
    assert_equal "mwrap: #{path("no")}: no such directory, so there is no server: make it\n", eventually("its line") { app.stderr.then { |s| s unless s.empty? } }
  end

  # --- help -----------------------------------------------------------------------------------------------------

  def test_help
    run = ctl("help", "SOCKET")
    assert_written run
    assert_match(/\ASOCKET of a command is one of these:\n\n  PATH +a Unix socket/, run.stdout)
    %w[--version -V].each { |flag| assert_match(/\Amwrapctl \d+\.\d+\.\d+\n\z/, ctl(flag).stdout) }
    assert_match(/\Amwrap \d+\.\d+\.\d+\n\z/, run_command(LAUNCHER, "-V").stdout)
    require_relative "../lib/mwrap/ctl"
    Mwrap::Ctl::COMMANDS.each do |c|
      assert_match(/^Example:\n  mwrapctl #{c.name}\b/, c.help, c.name)
      assert_empty c.help.lines.grep(/.{91}/), c.name
    end
  end

  # Everything fits a terminal of 80 columns.
  def test_tables_fit
    app = started
    app.ask("3")
    [%w[ps], %w[report -n 5], %w[map -n 5], ["diff", path("s.tsv"), path, "--per", "3"], %w[top --once -n 5 --interval 0.1]].each do |words|
      ctl("snap", path("s.tsv")) unless File.exist?(path("s.tsv"))
      app.ask("3")
      said = in_terminal(RUBY, CTL, *words)
      assert_operator said.lines.size, :>=, 2
      assert_empty said.force_encoding("UTF-8").lines(chomp: true).select { |l| l.size > 80 && !l.match?(/ (?:by|of|is|are|in) |\A(?:from|to) /) }, words.inspect
    end
  end
end
