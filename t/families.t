#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# Processes that share a socket's path: one address shows each of them and their sum, and
# another one takes the path over when its owner ends.

require_relative "lib/served"

class FamiliesTest < Minitest::Test
  # Makes blocks before and after it forks two workers; each says its PID when it is done.
  APP = <<~RUBY
    $stdout.sync = true
    KEEP = Array.new(300) { "p" * 1000 }
    def worker(n)
      fork do
        own = Array.new(n) { "w" * 2000 }
        trap(:USR1) { own.concat(Array.new(200) { "m" * 5000 }) }
        puts Process.pid
        sleep
        own.size
      end
    end
    # a worker has the path if it is forked before the server's thread ran, as on a busy machine
    sleep 0.01 until !ENV["MWRAP"].start_with?("socket:") || File.socket?(ENV["MWRAP"][/:([^,]+)/, 1])
    workers = [worker(10), worker(20)]
    trap(:TERM) { exit! 0 }
    $stdin.gets
    workers.each { |w| Process.kill(:KILL, w) rescue nil }
  RUBY

  def family(**rest)
    app = served_ruby(APP, **rest)
    [app, Array.new(2) { Integer(app.hear) }.sort]
  end

  # Until all have a socket: they make it a moment after they were forked.
  def list(n, at: path, headers: {})
    rows = nil
    eventually("#{n} processes that answer") do
      r = get("/family.json", headers, at: at)
      rows = r.status == 200 ? JSON.parse(r.body)["processes"] : []
      rows.count { |p| p["state"] == "answers" } == n
    end
    rows
  end

  def rows(target, at: path, headers: {})
    r = get(target, headers, at: at)
    assert_equal 200, r.status, "#{target}: #{r.body[0, 200]}"
    head, *lines = r.body.split("\n").map { |l| l.split("\t") }
    lines.map { |l| head.zip(l).to_h }
  end

  # The sum's table, of so many processes: one that didn't answer in time isn't in it. All have what was there
  # when they were forked.
  def all_of(n, at: path)
    all = nil
    becomes(n, "processes in the sum") { (all = rows("/all/each/0.tsv", at: at)).map { |r| Integer(r["processes"]) }.max }
    all
  end

  # That, and the tables of these processes, of one moment: each is the same before and after. But for what
  # the server's own requests make.
  def one_moment(pids)
    tables = -> { pids.map { |pid| rows("/#{pid}/each/0.tsv").reject { |r| r["location"].include?("libc.so") } } }
    eventually("an idle moment") do
      before = tables[]
      all = all_of(pids.size)
      [all, before] if before == tables[]
    end
  end

  def row(rows, like) = rows.find { |r| r["location"].end_with?(like) } || flunk("no #{like}")

  def pid_at(at = path, headers: {}) = JSON.parse(get("/stats.json", headers, at: at).body)["pid"]

  def test_each_process_by_its_number
    app, workers = family
    processes = list(3)
    assert_equal [app.pid, *workers].sort, processes.map { |p| p["pid"] }
    assert_equal [app.pid], processes.select { |p| p["owner"] }.map { |p| p["pid"] }
    assert_equal [nil, app.pid, app.pid], processes.map { |p| p["forked_from"] }.sort_by(&:to_i)
    assert processes.all? { |p| p["ruby"] && p["rss_bytes"] > 1_000_000 && p["live_bytes"] > 300_000 }
    [app.pid, *workers].each do |pid|
      assert_equal pid, JSON.parse(get("/#{pid}/stats.json").body)["pid"]
      page = get("/#{pid}/")
      assert_equal 200, page.status
      assert_includes page.body, %(href="/#{pid}/each/2000")
      assert_includes page.body, %(href="/family")
      css = page.body[/href="([^"]*mwrap\.css[^"]*)"/, 1]
      assert_equal 200, get(css).status
      assert_equal "", request("HEAD", "/#{pid}/each/0").body
      assert_equal 404, get("/#{pid}/nothing").status
      assert_equal 301, get("/#{pid}").status
    end
    assert_equal get("/#{workers[0]}/each/0.tsv").headers["content-type"], get("/each/0.tsv").headers["content-type"]
    assert_equal 404, get("/4194303/").status
    assert_equal 200, get("/family").status
    assert_equal 405, post("/family").status
  end

  def test_the_sum_of_all
    app, workers = family
    list(3)
    all, tables = one_moment([app.pid, *workers])
    sums = Hash.new { |h, k| h[k] = [0, 0, 0] }
    tables.each do |t|
      t.each do |r|
        s = sums[r["location"].sub(/ \[0x\h+\]\z/, "")]
        s[0] += Integer(r["live_bytes"])
        s[1] += Integer(r["live"])
        s[2] += 1
      end
    end
    lines = all.reject { |r| r["location"].include?("libc.so") } # whom the server's own requests make
    assert_operator lines.size, :>, 100
    lines.each do |r|
      assert_equal sums[r["location"]], %w[live_bytes live processes].map { |c| Integer(r[c]) }, r["location"]
    end
    # made before the fork: live in three processes, allocated once
    kept = row(all, "/app.rb:2")
    own = row(tables[0], "/app.rb:2")
    assert_equal own["total"], kept["total"]
    assert_equal own["allocations"], kept["allocations"]
    live = tables.map { |t| Integer(row(t, "/app.rb:2")["live_bytes"]) }
    assert_equal live.sum, Integer(kept["live_bytes"])
    # a child may free what Ruby had for itself at that line
    live.each { |bytes| assert_includes 300 * 1001..live[0], bytes }
    # made after it, by each of the two
    made = row(all, "/app.rb:5")
    assert_equal %w[total allocations live_bytes].map { |c| tables[1..].sum { |t| Integer(row(t, "/app.rb:5")[c]) } },
                 %w[total allocations live_bytes].map { |c| Integer(made[c]) }
    assert_operator Integer(made["allocations"]), :>=, 30
    becomes(Integer(made["live"])) { rows("/all/at/#{escape(made["location"])}.tsv").size }
    assert_equal 400, get("/all/each/0.tsv?sort=x").status
    assert_equal %w[200 200 404], %w[/all/ /all/each/0?q=app.rb&sort=processes /all/live].map { |t| get(t).status.to_s }
    becomes([200, "3 of 3 processes: reset: the counters start again from zero\n"]) { post("/all/reset").then { |r| [r.status, r.body] } }
    assert_equal "0", row(all_of(3), "/app.rb:2")["total"]
    assert_equal 403, post("/all/reset", { "Origin" => "http://evil.example" }).status
    %w[/all/mark /all/mark/clear].each { |target| assert_line post(target), 503, %r{marks belong to one process.*: use /PID/mark} }
    assert_equal 403, post("/#{workers[0]}/reset", { "Origin" => "http://evil.example" }).status
  end

  # Each page of all says that figures are estimates. What only exact counts know is told of those that count.
  def test_the_sum_of_such_as_sample
    app, workers = family
    list(3)
    told = -> { get("/all/").body[/Allocations are sampled[^<]*figures are estimates/] }
    assert_nil told[]
    assert_equal 200, post("/#{workers[0]}/sampled").status
    becomes("Allocations are sampled in 1 of 3 processes: their figures are estimates", &told)
    assert_equal 200, get("/all/overruns.json").status
    assert_equal 409, get("/#{workers[0]}/overruns.json").status
    Process.kill(:USR1, workers[0]) # it sleeps: nothing else may come that is a sample
    becomes({ workers[0] => true, workers[1] => false, app.pid => false }) { list(3).to_h { |p| [p["pid"], p["live_error"].positive?] } }
    assert_equal 1, get("/family").body.b.scan("<td class=\"num\">\u2248".b).size
    becomes("3 of 3") { post("/all/sampled").body[/\A3 of 3/] }
    becomes("Allocations are sampled: all figures are estimates", &told)
    becomes(409) { get("/all/overruns.json").status }
    becomes("3 of 3") { post("/all/exact").body[/\A3 of 3/] }
    becomes(true) { told[].nil? }
  end

  # As a daemon's workers are, and Pitchfork's: nobody who forked them is left.
  def test_the_sum_of_such_as_were_forked_twice
    app = served_ruby(<<~RUBY)
      $stdout.sync = true
      KEEP = Array.new(300) { "p" * 1000 }
      sleep 0.01 until File.socket?(ENV["MWRAP"][/:([^,]+)/, 1])
      Array.new(2) { fork { fork { puts Process.pid; sleep }; exit! } }.each { |m| Process.wait(m) }
      $stdin.gets
    RUBY
    workers = Array.new(2) { Integer(app.hear) }.sort
    rows = list(3)
    assert_equal [app.pid], rows.map { |p| p["pid"] } - workers
    refute_includes rows.map { |p| p["forked_from"] }, app.pid
    own = row(rows("/#{app.pid}/each/0.tsv"), "/app.rb:2")
    check = lambda do |n|
      all = row(all_of(n), "/app.rb:2")
      assert_equal [n, n * Integer(own["live_bytes"]), Integer(own["total"]), Integer(own["allocations"])],
                   %w[processes live_bytes total allocations].map { |c| Integer(all[c]) }
    end
    check[3]
    app.kill
    eventually("an owner") { pid_at rescue nil }
    list(2)
    check[2]
  ensure
    workers&.each { |w| Process.kill(:KILL, w) }
  end

  def test_another_one_takes_the_path_over_and_only_one
    app, workers = family
    list(3)
    app.kill
    pids = []
    eventually("an owner") { (pids << (pid_at rescue nil)).last }
    40.times { sleep 0.05; pids << (pid_at rescue nil) }
    owners = pids.compact.uniq
    assert_equal 1, owners.size, owners.inspect
    assert_includes workers, owners[0]
    assert_equal workers, list(2).map { |p| p["pid"] }
    # its parent has gone: what both inherited counts once
    assert_equal row(rows("/#{workers[0]}/each/0.tsv"), "/app.rb:2")["total"],
                 row(all_of(2), "/app.rb:2")["total"]
  ensure
    workers&.each { |w| Process.kill(:KILL, w) }
  end

  def test_a_process_that_does_not_answer
    app, workers = family
    list(3)
    stop(workers[0])
    becomes({ app.pid => "answers", workers[0] => "does not answer", workers[1] => "answers" }) do
      JSON.parse(get("/family.json").body)["processes"].to_h { |p| [p["pid"], p["state"]] }
    end
    assert_equal "2", row(all_of(2), "/app.rb:2")["processes"]
    Process.kill(:CONT, workers[0])
    list(3)
  end

  def test_a_shell_gives_way_to_ruby
    File.write(path("inner.rb"), "$stdout.sync = true\nputs Process.pid\n$stdin.gets\n")
    app = served("sh", "-c", "read x; #{MwrapTest::RUBY} --disable=gems #{path("inner.rb")}; exit 3")
    assert_equal app.pid, pid_at
    app.tell("go on")
    ruby = Integer(app.hear)
    eventually("Ruby to have the path") { (pid_at rescue nil) == ruby }
    assert_equal({ app.pid => [false, false], ruby => [true, true] },
                 list(2).to_h { |p| [p["pid"], p.values_at("ruby", "owner")] })
    assert_equal 3, app.finish.exitstatus
    # a shell ends by _exit(2), at which nothing can be removed: that socket is replaced by who comes next
    assert_empty Dir.children(@dir).grep(/\As(\.|\z)/) - %W[s.#{app.pid} s.#{app.pid}.lock]
  end

  # A master that is root knows its workers by who forked them, and they it by its being root.
  def test_workers_that_are_another_user
    return assert_equal(1, (served_ruby(APP) && list(3)).count { |p| p["owner"] }) unless Process.uid.zero?
    File.chmod(0o1777, @dir)
    app = served_ruby(<<~RUBY)
      $stdout.sync = true
      sleep 0.05 until File.socket?(#{path.dump}) # another user may not reach the server's file
      pid = fork do
        Process.groups = [65_534]
        Process::GID.change_privilege(65_534)
        Process::UID.change_privilege(65_534)
        sleep
      end
      puts pid
      $stdin.gets
      Process.kill(:KILL, pid)
    RUBY
    worker = Integer(app.hear)
    assert_equal [app.pid, worker].sort, list(2).map { |p| p["pid"] }
    # which may not connect to root's socket, and says so
    master = list(1, at: "#{path}.#{worker}").find { |p| p["owner"] }
    assert_equal [nil, "may not be asked"], master.values_at("pid", "state")
    assert_equal worker, JSON.parse(get("/#{worker}/stats.json").body)["pid"]
  end

  # As when Ruby needs so long to start that the server is there before it: nobody waits for its turn.
  def test_a_lock_that_lacks_ruby_is_put_right
    app, = family
    list(3)
    File.open(path("s.lock"), "r+") { |f| f.write("mwrap #{app.pid} without ruby\n") }
    eventually("the lock to be right") { File.binread(path("s.lock"))[/\A[^\0]*/] == "mwrap #{app.pid}\n" }
    sleep 1.5
    assert_equal app.pid, pid_at
  end

  def test_every_way_wants_the_token
    File.write(path("token"), "0123456789abcdefX\n", perm: 0o600)
    app, workers = family(options: ["token_file:#{path("token")}"])
    bearer = { "Authorization" => "Bearer 0123456789abcdefX" }
    list(3, headers: bearer)
    ["/family.json", "/all/each/0.tsv", "/#{workers[0]}/each/0.tsv", "/#{app.pid}/each/0.tsv",
     "/#{workers[0]}/live", "/family/table", "/#{workers[0]}/family/self"].each do |target|
      assert_equal 401, get(target).status, target
      next if target.end_with?("/live")
      assert_equal 200, get(target, bearer).status, target
    end
    assert_equal 401, post("/all/reset").status
    assert_equal 200, post("/all/reset", bearer).status
  end

  def test_a_stream_of_another_process
    _, workers = family
    list(3)
    s = connect
    s.write("GET /#{workers[0]}/live HTTP/1.1\r\nHost: x\r\n\r\n")
    text = +""
    eventually("events") { text << s.readpartial(65_536); text.scan(/^event: point/).size >= 2 }
    assert_includes text, %("pid":#{workers[0]})
    Process.kill(:KILL, workers[0])
    Timeout.timeout(PATIENCE) { s.read }
    s.close
  end

  def test_a_directory
    Dir.mkdir(path("d"), 0o700)
    File.write(path("app.rb"), APP)
    env = { "MWRAP" => "socket_dir:#{path("d")}", "LD_PRELOAD" => MwrapTest::TRACKER, "RUBYOPT" => nil }
    r, w = IO.pipe
    i, o = IO.pipe
    pid = Process.spawn(env, MwrapTest::RUBY, "--disable=gems", path("app.rb"), in: i, out: w, close_others: true)
    w.close
    workers = Array.new(2) { Integer(r.gets) }.sort
    at = path("d/#{pid}.sock")
    wait_for_server(at)
    list(3, at: at)
    one = path("d/#{workers[0]}.sock")
    assert_equal [pid, *workers].sort, list(3, at: one).map { |p| p["pid"] }
    assert_equal pid, JSON.parse(get("/#{pid}/stats.json", at: one).body)["pid"]
    assert_equal "3", row(all_of(3, at: one), "/app.rb:2")["processes"]
  ensure
    o&.close
    Process.wait(pid) if pid
  end
end
