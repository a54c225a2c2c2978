#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# bin/mwrapctl: its command line; which server it finds by what it is told; what it writes, and in which
# words it refuses. t/browser_mwrapctl.t opens the page that it writes.
require_relative "lib/access"
require_relative "lib/racked"
require_relative "lib/go_pprof"
require_relative "lib/runs_ctl"
require_relative "lib/two_callers"
require "io/console"
require "pty"
require "zlib"

module MwrapctlTest
  include TwoCallers
  include RunsCtl

  # Two methods call its line, one four times as often as the other.
  APP = TwoCallers::METHODS + <<~RUBY
    GC.start
    from_one(400)
    from_two(100)
    puts "ready"
    $stdin.gets
  RUBY

  def start(*options, **rest) = served_ruby(APP, options: ["stacks:64k", *options], **rest).tap { |app| assert_equal "ready", app.hear }

  # The JSON of `mwrapctl flame ...`
  def tree(*args, **rest)
    run = ctl("flame", "--format", "json", *args, **rest)
    assert_written run
    JSON.parse(run.stdout)
  end

  # Bytes of the outermost frames of a method
  def value_of(tree, method)
    i = tree["frame"].index { |f| f >= 0 && tree["names"][tree["frames"][f][0]].match?(/(\A|#)#{method}\z/) }
    i ? tree["value"][i] : 0
  end
end

class MwrapctlCommandLineTest < Minitest::Test
  include MwrapctlTest

  def test_help_and_version
    %w[--help -h help].each do |word|
      run = ctl(word)
      assert_written run
      assert_match(/\Ausage: mwrapctl \[COMMAND /, run.stdout)
      assert_match(/^  flame \[SOCKET\]\s+\w/, run.stdout)
      assert_empty run.stdout.lines.grep(/.{82}/), "fits a terminal"
    end
    assert_equal "mwrapctl #{File.read("#{ROOT}/src/api/version.h")[/"(.*)"/, 1]}\n", ctl("--version").stdout
    runs = [%w[help flame], %w[flame --help], %w[flame x -h]].map { |words| ctl(*words) }
    runs.each { |run| assert_written run }
    assert_equal 1, runs.map(&:stdout).uniq.size
    help = runs[0].stdout
    ["-o, --output FILE", "--by live|total|growth|objects", "--location LOCATION", "--invert", "--format html|json|collapsed|speedscope|pprof",
     "--pid PID", "--all", "--token-file FILE", "SOCKET"].each { |label| assert_match(/^  #{Regexp.escape(label)}(\s+\w|\n {24}\w)/, help) }
    assert_empty help.lines.grep(/.{82}/)
  end

  # Before anything is built, in a checkout or a gem
  def test_it_needs_neither_the_tracker_nor_the_extension
    start
    in_tmp do |dir|
      Dir.chdir(ROOT) do
        ["lib/exe/mwrapctl", "web/dist/flame_alone.html", *Dir["lib/**/*.rb"]].each do |file|
          FileUtils.mkdir_p(File.dirname("#{dir}/#{file}"))
          FileUtils.cp(file, "#{dir}/#{file}")
        end
      end
      run = run_command(RUBY, "--disable=gems", "#{dir}/lib/exe/mwrapctl", "flame", path)
      assert_written run
      assert_includes run.stdout, "from_one"
      File.unlink("#{dir}/web/dist/flame_alone.html")
      assert_refused run_command("#{dir}/lib/exe/mwrapctl", "flame", path), /\S+flame_alone\.html: No such file or directory: install mwrap again/
    end
  end

  WRONG = {
    %w[flames] => "flames: unknown command: did you mean flame?",
    %w[help flames] => "flames: unknown command: did you mean flame?",
    %w[--flame] => "--flame: unknown option: see mwrapctl --help",
    %w[diff] => "A: missing: see mwrapctl help diff",
    %w[diff --] => "A: missing: see mwrapctl help diff",
    %w[flame a b] => "b: one argument too many: see mwrapctl help flame",
    ["flame", "a", ""] => '"": one argument too many: see mwrapctl help flame',
    %w[flame a --bye] => "--bye: unknown option: did you mean --by?",
    %w[flame a -x] => "-x: unknown option: see mwrapctl help flame",
    %w[flame a -o] => "-o: its value is missing: see mwrapctl help flame",
    %w[flame a --invert=1] => "--invert: takes no value: see mwrapctl help flame",
    %w[flame a --by all] => '--by: "all" is unknown: use live, total, growth or objects',
    %w[flame a --by=] => '--by: "" is unknown: use live, total, growth or objects',
    %w[flame a --frames c] => '--frames: "c" is unknown: use folded, ruby or all',
    %w[flame a --startup no] => '--startup: "no" is unknown: use show or hide',
    %w[flame a --format svg] => '--format: "svg" is unknown: use html, json, collapsed, speedscope or pprof',
    %w[flame a --pid x] => '--pid: "x" is not a PID: write digits only',
    %w[flame a --pid 1 --all] => "--pid and --all: exclude each other: give one of them",
    %w[flame a --format pprof --by growth] => "--by growth: not for --format pprof: use html or json",
    %w[flame a --format pprof --invert] => "--invert: not for --format pprof: use html or json",
    %w[flame a --format collapsed --location x:1] => "--location: not for --format collapsed: use html or json",
    ["flame", "a", "--by", "\xff\n\u2028"] => /--by: "\xff\?.*" is unknown: .*/n
  }.freeze

  def test_a_wrong_command_line_is_told
    WRONG.each do |words, message|
      run = ctl(*words)
      run.stderr.force_encoding(Encoding::BINARY) if message.is_a?(Regexp)
      assert_refused run, message, 2
    end
  end

  def test_no_page_floods_a_terminal
    start
    [[[], /\Amwrapctl: stdout: is a terminal: give -o FILE\r\n\z/], [%w[-o -], /<!DOCTYPE html>.*from_one/m]].each do |words, expected|
      said = +""
      PTY.spawn({ "RUBYOPT" => nil }, RUBY, CTL, "flame", path, *words) do |out, _, pid|
        Timeout.timeout(HttpdTest::PATIENCE) { loop { said << out.readpartial(65_536) } }
      rescue Errno::EIO # its end
        ::Process.wait(pid)
      end
      assert_match expected, said.force_encoding("UTF-8")
    end
  end
end

class MwrapctlFlameTest < Minitest::Test
  include MwrapctlTest
  include GoPprof

  def test_a_page
    app = start
    out = path("flame.html")
    File.write(out, "old")
    assert_written ctl("flame", path, "-o", out)
    page = File.read(out, encoding: "UTF-8")
    assert_match(/\A<!DOCTYPE html>.*<\/html>\n\z/m, page)
    refute_match(/\{\{/, page)
    assert_match(%r{<title>.*app\.rb.* \(#{app.pid}\) - mwrap</title>}, page)
    assert_match(/<p class="process">pid #{app.pid}, up \d+ s: .*app\.rb/, page)
    tree = JSON.parse(page[%r{<script type="application/json" id="tree">(.*?)</script>}m, 1])
    assert_equal JSON.parse(body("/flame.json"))["total"], tree["total"]
    assert_operator value_of(tree, "from_one"), :>, value_of(tree, "from_two")
    assert_operator value_of(tree, "from_two"), :>, 0
  end

  def test_what_is_asked_for
    start
    assert_equal ["live", false, nil], tree(path).values_at("by", "inverted", "location")
    found = tree(path, "--by", "total", "--invert", "--location", line)
    assert_equal ["total", true, line], found.values_at("by", "inverted", "location")
    row = tsv.find { |r| r.location == line }
    assert_equal row.total, found["total"]
    assert_equal row.growth, tree(path, "--by=growth", "--location=#{line}")["total"]
    assert_includes tree(path)["names"], "#{RUBY_FILE}, internal"
    refute_includes tree(path, "--frames", "ruby")["names"], "#{RUBY_FILE}, internal"
    shown, hidden = tree(path), tree(path, "--startup", "hide")
    assert_equal shown["total"], hidden["total"] + hidden.fetch("startup")
    assert_refused ctl("flame", path, "--location", "/no/such.rb:1"), "#{path}: location: no such location"
  end

  def test_forms_for_other_viewers
    start
    run = ctl("flame", path, "--format=collapsed")
    assert_written run
    assert_match(/;\S*from_one;\S.* \d+$/, run.stdout)
    more = ctl("flame", path, "--format=collapsed", "--frames=all", "--startup=hide")
    assert_written more
    assert_equal [false, true], [run, more].map { |r| r.stdout.match?(/\S\(\+0x\h+\)[; ]/) }
    assert_equal [true, false], [run, more].map { |r| r.stdout.match?(/^\(ruby, starting\) /) }
    run = ctl("flame", path, "--format=speedscope")
    assert_written run
    assert_equal "https://www.speedscope.app/file-format-schema.json", JSON.parse(run.stdout)["$schema"]
    { "live" => :live_bytes, "total" => :total }.each do |by, column|
      assert_written ctl("flame", path, "--format=pprof", "--by", by, "-o", path("x.pb"))
      got = top("-tagfocus=location=^#{Regexp.escape(line)}$", path("x.pb")).find { |*, name| name == "<main>" }
      assert_equal tsv.find { |r| r.location == line }[column], got[1], by
    end
  end

  # Says how to turn them on; what was there stays.
  def test_without_stacks
    served_ruby(APP, options: ["stacks:off"]).hear
    File.write(path("out"), "old")
    %w[html json collapsed speedscope pprof].each do |format|
      assert_refused ctl("flame", path, "--format", format, "-o", path("out")), "#{path}: no stacks are kept: start the process with MWRAP=...,stacks:auto"
    end
    assert_equal "old", File.read(path("out"))
  end

  def test_an_output_that_cannot_be_written
    start
    assert_refused ctl("flame", path, "-o", path("none/x")), "#{path("none/x")}: No such file or directory"
    assert_refused ctl("flame", path, "-o", "/dev/full"), "/dev/full: No space left on device"
    assert_refused run_command("sh", "-c", '"$@" >/dev/full', "-", RUBY, CTL, "flame", path), "stdout: No space left on device"
  end

  # Names that would end the script, comments, slots of the page, ends of lines, bytes that are no UTF-8.
  HOSTILE = "/srv/</script><script>alert(1)</script><!--{{json}}{{title}}\u2028\u2029\xff\x01&amp;.rb".b

  def test_hostile_names
    more = "eval(\"def odd(n) = n.times { KEPT << ('y' * 20_000) }\", nil, #{HOSTILE.dump}.force_encoding('UTF-8'), 1)\nodd(300)\n$0 = '</title><!--{{json}}'\n"
    app = served_ruby(APP.sub("puts", "#{more}puts"), options: ["stacks:64k"])
    assert_equal "ready", app.hear
    run = ctl("flame", path)
    assert_written run
    page = run.stdout
    assert_predicate page, :valid_encoding?
    json = page[%r{<script type="application/json" id="tree">(.*?)</script>}m, 1]
    refute_match(/[<\u2028\u2029]/, json)
    assert_equal 2, page.scan("<script").size
    refute_includes page, "<!--"
    assert_includes page, "<title>&lt;/title&gt;&lt;!--{{json}} (#{app.pid}) - mwrap</title>"
    tree = JSON.parse(json)
    assert_equal JSON.parse(body("/flame.json"))["files"].grep(%r{</script>}), tree["files"].grep(%r{</script>})
    assert_equal 1, tree["files"].grep(/\{\{json\}\}\{\{title\}\}\u2028\u2029\uFFFD/).size, tree["files"].inspect
  end
end

class MwrapctlEndpointTest < Minitest::Test
  include MwrapctlTest
  include AccessTest

  FAMILY = <<~RUBY
    $stdout.sync = true
    KEPT = []
    def keep = KEPT << ("x" * 20_000)
    def in_worker(n) = n.times { keep }
    def in_parent(n) = n.times { keep }
    GC.disable
    in_parent(100)
    worker = fork do
      in_worker(300)
      puts ::Process.pid
      sleep
    end
    $stdin.gets
    Process.kill(:KILL, worker)
  RUBY

  # With just these options
  def run_under(options, *script)
    env = { "RUBYOPT" => nil, "RUBYLIB" => nil, "MWRAP" => options, "LD_PRELOAD" => TRACKER, "RACK_GEMS" => Racked::GEMS }
    Served::App.new(RUBY, "-I#{LIB}", *script, env: env, err: path("err"), dump_path: nil).tap { |app| @fakes << app }
  end

  # The parent and its worker; both answer.
  def family(at: path)
    app = served_ruby(FAMILY, options: ["stacks:64k"], at: at)
    worker = Integer(app.hear)
    eventually("two processes that answer") { JSON.parse(body("/family.json", at: at))["processes"].count { |p| p["state"] == "answers" } == 2 }
    [app.pid, worker]
  end

  def test_processes_of_a_family
    parent, worker = family
    [[path, "--pid", worker.to_s], ["#{path}/#{worker}"], ["#{path}/#{worker}/"], [worker.to_s]].each do |words|
      found = tree(*words)
      assert_operator value_of(found, "in_worker"), :>, 4_000_000, words.inspect
    end
    [[path], ["#{path}/#{parent}"], [parent.to_s]].each { |words| assert_equal 0, value_of(tree(*words), "in_worker"), words.inspect }
    assert_refused ctl("flame", path, "--pid", "1"), "#{path}: no such process in this family"
    # a process that can't run for a second and a half is left out; the worker has what its parent had before it
    [[path, "--all"], ["#{path}/all"], [parent.to_s, "--all"]].each do |words|
      eventually("all of them") do
        page = ctl("flame", *words).tap { |run| assert_written run }.stdout
        found = JSON.parse(page[%r{id="tree">(.*?)</script>}m, 1])
        page.include?("<title>all processes - mwrap</title>") && page.include?("sum of 2 processes") &&
          value_of(found, "in_worker") > 4_000_000 && value_of(found, "in_parent") > value_of(tree(path), "in_parent")
      end
    end
  end

  def test_a_directory_of_sockets
    dir = path("sockets")
    File.write(path("app.rb"), APP)
    app = run_under("socket_dir:#{dir},stacks:64k", path("app.rb"))
    assert_equal "ready", app.hear
    own = "#{dir}/#{app.pid}.sock"
    wait_for_server(own)
    UNIXServer.new("#{dir}/1.sock").close # what one left that was killed
    File.write("#{dir}/2.sock.lock", "")
    [[dir], ["#{dir}/#{app.pid}"], [dir, "--pid", app.pid.to_s], [own], [app.pid.to_s], ["#{dir}/all"]].each do |words|
      assert_operator value_of(tree(*words), "from_one"), :>, 0, words.inspect
    end
    assert_refused ctl("flame", dir, "--pid", "77"), "#{dir}: no process 77: known are 1, #{app.pid}"
    UNIXServer.open("#{dir}/3.sock") do
      assert_refused ctl("flame", dir), "#{dir}: has several processes: give --all, or --pid with one of 3, #{app.pid}"
    end
    FileUtils.mkdir_p(path("none"))
    assert_refused ctl("flame", path("none")), "#{path("none")}: no process listens there: start one with MWRAP=socket_dir:#{path("none")}"
    assert_refused ctl("flame", path("none"), "--pid", "1"), "#{path("none")}: no process 1: there is none"
  end

  def test_a_port_with_a_token
    app = start("listen:127.0.0.1:0", "token_file:#{token_file}")
    address = origin_of(app).delete_prefix("http://")
    ["127.0.0.1:#{port_of(app)}", "localhost:#{port_of(app)}", "http://#{address}", "http://#{address}/flame", "#{address}/#{app.pid}", "http://#{address}/#{app.pid}/"].each do |where|
      assert_operator value_of(tree(where, "--token-file", token_file), "from_one"), :>, 0, where
    end
    assert_refused ctl("flame", address), "#{address}: needs a token: give the right file by --token-file"
    assert_refused ctl("flame", address, "--token-file", token_file(OTHER, name: "other")), "#{address}: refuses this token: give the right file by --token-file"
    assert_refused ctl("flame", address, "--token-file", path("none")), "#{path("none")}: No such file or directory"
    File.write(path("empty"), "\n")
    assert_refused ctl("flame", address, "--token-file", path("empty")), "#{path("empty")}: no token: write it in the first line"
    # by its number: the token's file is in its environment, too
    assert_operator value_of(tree(app.pid.to_s), "from_one"), :>, 0
  end

  def test_a_mount_in_a_rack_app
    app, port = rack_served(options: "stacks:64k")
    ["http://127.0.0.1:#{port}/m", "http://127.0.0.1:#{port}/m/", "http://localhost:#{port}/m/flame"].each do |where|
      run = ctl("flame", where)
      assert_written run
      assert_includes run.stdout, "rack_serve.rb"
      assert_match(/<p class="process">pid #{app.pid}, up /, run.stdout)
    end
    assert_refused ctl("flame", "http://127.0.0.1:#{port}/other"), /\S+: .*/
  end

  # Targets that aren't there, or are something else: [words, message]
  def refusals
    UNIXServer.new(path("dead")).close
    File.write(path("file"), "")
    long = path("x" * 120)
    Dir.chdir(@dir) { UNIXServer.new("y" * 90) } # bound by a short name
    FileUtils.mkdir_p(path("d" * 60))
    File.rename(path("y" * 90), path("#{"d" * 60}/#{"y" * 90}"))
    free = TCPServer.open("127.0.0.1", 0) { |s| s.addr[1] }
    { [path("none")] => "#{path("none")}: no such socket: name the one that MWRAP has, a PID or HOST:PORT",
      [long] => "#{long}: no such socket: name the one that MWRAP has, a PID or HOST:PORT",
      [path("#{"d" * 60}/#{"y" * 90}")] => "#{path("#{"d" * 60}/#{"y" * 90}")}: too long for a socket: change to its directory and name it from there",
      [path("dead")] => "#{path("dead")}: no process listens: start one with MWRAP=socket:#{path("dead")}",
      ["#{path("dead")}/4711"] => "#{path("dead")}: no process listens: start one with MWRAP=socket:#{path("dead")}",
      [path("file")] => "#{path("file")}: not a socket: name the one that MWRAP has",
      ["127.0.0.1:#{free}"] => "127.0.0.1:#{free}: no process listens: start one with MWRAP=listen:127.0.0.1:#{free}",
      ["http://127.0.0.1:#{free}/m"] => "http://127.0.0.1:#{free}/m: no process listens there",
      ["127.0.0.1:0"] => "127.0.0.1:0: wrong port: write 1 to 65535",
      ["localhost:123456"] => "localhost:123456: wrong port: write 1 to 65535",
      ["http:///x"] => "http:///x: no host: write http://HOST:PORT/PATH",
      ["http://a b/"] => "http://a b/: not a URL: write http://HOST:PORT/PATH",
      [""] => "SOCKET: empty: name a socket, a PID or HOST:PORT",
      ["\xff\xfe"] => "??: no such socket: name the one that MWRAP has, a PID or HOST:PORT",
      ["4194305"] => "process 4194305: no such process: name a socket, a PID or HOST:PORT",
      [::Process.pid.to_s] => "process #{::Process.pid}: isn't tracked: start it with mwrap, or run mwrapctl attach #{::Process.pid}" }
  end

  def test_what_is_not_there_is_told
    refusals.each do |words, message|
      run = ctl("flame", *words)
      run.stderr.replace(run.stderr.b.gsub(/[\x80-\xff]/n, "?")) if words[0] == "\xff\xfe"
      assert_refused run, message
    end
  end

  def test_of_another_user
    skip "not as root" unless root?
    start
    code = "Process::GID.change_privilege(#{NOBODY}); Process::UID.change_privilege(#{NOBODY}); exec(*ARGV)"
    File.chmod(0o755, @dir)
    # a folder that this user may read: the checkout may be closed to it
    Dir.mktmpdir("mwrap-c") do |dir|
      File.chmod(0o755, dir)
      %w[lib/exe web].each { |name| FileUtils.mkdir_p(File.join(dir, name)) }
      FileUtils.cp(CTL, "#{dir}/lib/exe")
      Dir.chdir(LIB) { Dir["**/*.rb"].each { |f| FileUtils.mkdir_p(File.dirname("#{dir}/lib/#{f}")); FileUtils.cp(f, "#{dir}/lib/#{f}") } }
      run = run_command(RUBY, "-e", code, RUBY, "#{dir}/lib/exe/mwrapctl", "flame", path)
      assert_refused run, "#{path}: permission denied: run mwrapctl as the user of the process"
      run = run_command(RUBY, "-e", code, RUBY, "#{dir}/lib/exe/mwrapctl", "flame", @fakes[0].pid.to_s)
      assert_refused run, "process #{@fakes[0].pid}: permission denied: run mwrapctl as its user"
    end
  end

  # --- servers that answer oddly ---------------------------------------------------------

  TREE = JSON.generate({ by: "live", names: ["f"], frames: [], frame: [-1], samples: 3, rate: 1, total: 5 })

  # Answers each connection with these bytes, whatever it asks for.
  def odd(bytes)
    server = UNIXServer.new(path("odd"))
    thread = Thread.new do
      loop do
        s = server.accept
        s.readpartial(65_536)
        s.write(bytes)
        s.close
      end
    rescue IOError, SystemCallError
      nil
    end
    yield path("odd")
  ensure
    server.close
    thread.join
    File.unlink(path("odd"))
  end

  def http(body, *headers, status: "200 OK") = "HTTP/1.1 #{status}\r\n#{["Connection: close", *headers].map { |h| "#{h}\r\n" }.join}\r\n#{body}".b

  def test_chunks_and_gzip
    packed = Zlib.gzip(TREE)
    chunks = packed.b.scan(/.{1,7}/mn).map { |c| "#{c.bytesize.to_s(16)}\r\n#{c}\r\n" }.join + "0\r\n\r\n"
    [http(TREE), http(TREE, "Content-Length: #{TREE.bytesize}"), http(packed, "Content-Encoding: gzip"),
     http(chunks, "Transfer-Encoding: chunked", "Content-Encoding: gzip")].each do |bytes|
      odd(bytes) { |at| assert_equal 5, tree(at)["total"] }
    end
  end

  def test_odd_answers_are_told
    nothing = /\S+odd: the answer is not mwrap's: name the server of a process that runs under it/
    { "" => nothing, "SSH-2.0-x\r\n" => nothing, http("<html>") => nothing, http("[1]") => nothing, http("{}") => nothing, http("{\"names\":3}") => nothing,
      http("{\"names\":\"\xff\"}") => nothing, http("xx", "Content-Encoding: gzip") => nothing, http("zz\r\n", "Transfer-Encoding: chunked") => nothing,
      http("{", "Content-Length: 100") => nothing,
      http("", "Location: https://example.com/m/", status: "302 Found") => %r{\S+odd: moved: use https://example\.com/m/},
      http("out of memory\n", "Content-Type: text/plain", status: "500 X") => /\S+odd: out of memory/,
      http("<b>no</b>", "Content-Type: text/html", status: "404 X") => /\S+odd: the answer is not mwrap's/,
      http("a\e[31m\nb\xff" + "c" * 9999, "Content-Type: text/plain", status: "404 X") => /\S+odd: a \[31m b\?c{100,200}/ }.each do |bytes, message|
      odd(bytes) { |at| assert_refused ctl("flame", at), message }
    end
  end
end
