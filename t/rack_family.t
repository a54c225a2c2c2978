#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Behind MwrapRack, where the processes have sockets: whichever of them a request came to, it
# answers for each by its number and for all. And what Ruby itself has to be asked for.
require_relative "lib/racked"

class RackFamilyTest < Minitest::Test
  # A process with MwrapRack, and two that it forked.
  def cluster(options: "", tracker_options: "socket:#{path("s")}", **rest)
    r = racked(mount: "/m", options: [tracker_options, options].reject(&:empty?).join(","), **rest)
    made = "$kept = Array.new(50) { 'p' * 3000 }; Array.new(2) { |n| fork { STDIN.reopen(IO.pipe[0]); $own = Array.new(10 * (n + 1)) { 'w' * 2000 }; $ready[1].syswrite('.'); sleep } }"
    # their servers answer before they have all of that
    workers = r.eval("$ready = IO.pipe; eval(#{made.dump}, nil, '/srv/made.rb', 1).tap { $ready[0].read(2) }")
    list(r, 3)
    [r, workers]
  end

  def teardown
    super
    @workers&.each { |w| ::Process.kill(:KILL, w) rescue nil }
  end

  def list(r, n, headers = {})
    rows = nil
    eventually("#{n} processes that answer") do
      rows = JSON.parse(r.get("/m/family.json", headers).body)["processes"]
      rows.count { |p| p["state"] == "answers" } == n
    end
    rows
  end

  def test_every_process_and_their_sum
    r, @workers = cluster
    pids = [r.pid, *@workers]
    assert_equal pids.sort, list(r, 3).map { |p| p["pid"] }
    assert_includes r.get("/m/").body, 'href="/m/family"'
    # each has a history, this one, too, though its requests come to Ruby
    eventually("three curves") { list(r, 3).all? { |p| p["curve"]["t"].any? && p["curve"]["rss"].last.to_i > 1_000_000 } }
    { "/m/family" => %(data-base="/m" data-page="family" data-mount="/m"), "/m/all/" => %(data-base="/m/all" data-page="all" data-mount="/m") }.each do |target, has|
      page = r.get(target)
      assert_includes page.body, has
      assert_includes page.headers["content-security-policy"], "script-src 'self'"
    end
    pids.each do |pid|
      assert_equal pid, JSON.parse(r.get("/m/#{pid}/stats.json").body)["pid"]
      page = r.get("/m/#{pid}/")
      assert_equal 200, page.status
      ["data-base=\"/m/#{pid}\"", "href=\"/m/#{pid}/each/2000\"", 'href="/m/family"'].each { |s| assert_includes page.body, s }
      assert_equal 200, r.get(page.body[/href="([^"]*mwrap\.css[^"]*)"/, 1]).status
      assert_equal [200, ""], r.request("HEAD", "/m/#{pid}/each/0").then { |a| [a.status, a.body] }
      assert_equal [404, 405], [r.get("/m/#{pid}/nope").status, r.request("PUT", "/m/#{pid}/each/0").status]
      a = r.get("/m/#{pid}")
      assert_equal [301, "/m/#{pid}/"], [a.status, a.headers["location"]]
    end
    r.eval("GC.disable; 0") # what it frees at that line would be missing from one of the two
    made, parts = nil
    of_it = ->(target) { JSON.parse(r.get(target).body).select { |row| row["location"] == "/srv/made.rb:1" } }
    # a process that couldn't run for a second and a half is left out
    eventually("the sum of all") { (made = of_it["/m/all/each/0.json"]).map { |row| row["processes"] } == [3] }
    parts = pids.flat_map { |pid| of_it["/m/#{pid}/each/0.json"] }
    assert_equal [[3, *%w[live live_bytes].map { |c| parts.sum { |row| row[c] } }]], made.map { |row| row.values_at("processes", "live", "live_bytes") }
    assert_operator made[0]["live"], :>=, 3 * 50 + 30
    html = r.get("/m/all/each/0").body
    assert_includes html, 'data-base="/m/all"'
    refute_includes html, "/objects"
    assert_equal [404, 404, 404], ["/m/4194303/", "/m/all/live", "/m/0/"].map { |t| r.get(t).status }
    # each process's answer, and all: the paths in them have the mount point
    all = JSON.parse(r.get("/m/all/verdict.json").body)
    assert_equal [3, false, 0], all.values_at("processes", "growing", "silent")
    assert_match(/\A(Nothing grows in|No verdict yet on) 3 processes[,.]/, r.get("/m/all/verdict").body)
    assert_equal "text/plain; charset=utf-8", r.get("/m/all/verdict").headers["content-type"]
    pids.each { |pid| assert_includes %w[watching warming flat sawtooth], JSON.parse(r.get("/m/#{pid}/verdict.json").body)["kind"] }
    assert_equal "", r.stderr
    assert_equal 1, r.eval("Thread.list.size")
  end

  def test_a_stream_of_another_process_comes_in_parts
    r, @workers = cluster
    [r.pid, *@workers].each do |pid|
      2.times do
        # the answer may take a second and a half: another process may have been kept from running
        a = eventually("a part with a point") { r.get("/m/#{pid}/live").then { |x| x if pid == r.pid || x.body.match?(/^event: point\n/) } }
        assert_equal [200, "text/event-stream"], [a.status, a.headers["content-type"]]
        assert_match(/\Aevent: hello\n.*"pid":#{pid},.*^event: rows\n.*^event: point\n/m, a.body) unless pid == r.pid
        assert_match(/^event: next\ndata: {"since":"[^"]+"}\n\n\z/, a.body)
      end
    end
  end

  # Where the server gives connections away it goes on, without a thread or a descriptor of Ruby's.
  def test_a_stream_of_another_process_goes_on
    r, @workers = cluster
    r.eval(<<~'RUBY')
      def watch(pid)
        status, headers, = APP.call({ "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "/m", "PATH_INFO" => "/#{pid}/live", "QUERY_STRING" => "", "rack.hijack?" => true })
        return [status, nil] unless headers["rack.hijack"]
        a, b = UNIXSocket.pair
        headers["rack.hijack"].call(b)
        raise "still open" unless b.closed?
        [status, a]
      end
      def text_to(io, match)
        text = +""
        text << io.readpartial(65_536) until text.match?(match)
        text
      end
      # Descriptors, threads, and those of them that are Ruby's. Of a native thread that was joined the
      # kernel may still have a number: only what is new is looked at.
      def there
        fds = Dir.children("/proc/self/fd").map { |fd| [fd, (File.readlink("/proc/self/fd/#{fd}") rescue nil)] }
        [fds.reject { |_, to| to.nil? || to.end_with?("/fd") }, Dir.children("/proc/self/task"), Thread.list]
      end
      def added(before) = there.zip(before).map { |now, was| (now - was).size }
      def settled(want, before)
        400.times { added(before) == want ? break : sleep(0.1) }
        added(before)
      end
      require "socket"
      require "timeout"
      1
    RUBY
    got = r.eval(<<~RUBY)
      before = $before = there
      status, io = watch(#{@workers[0]})
      text = text_to(io, /event: point.*event: point/m)
      [status, text.start_with?("event: hello\n"), text.scan(/"pid":(\\d+)/).uniq, settled([1, 1, 0], before), (io.close; settled([0, 0, 0], before))]
    RUBY
    assert_equal [200, true, [[@workers[0].to_s]], [1, 1, 0], [0, 0, 0]], got
    assert_includes r.eval("_, io = watch(#{@workers[0]}); text_to(io, /event: point/).tap { io.close }"), '"read_only":true'
    # one who talks is dropped
    assert_equal "dropped", r.eval("_, io = watch(#{@workers[0]}); text_to(io, /event: point/); io.write('GET /'); Timeout.timeout(20) { io.read rescue Errno::ECONNRESET }; io.close; 'dropped'")
    # eight may watch, one that doesn't read holds up nobody, and all end with their process
    got = r.eval(<<~RUBY)
      settled([0, 0, 0], $before) # a client's end is noticed within a second
      all = Array.new(8) { watch(#{@workers[1]}) }
      ninth = watch(#{@workers[1]})
      all.drop(1).each { |_, io| text_to(io, /event: point.*event: point/m) }
      forked = fork { exit!(Dir.children("/proc/self/fd").map { |fd| File.readlink("/proc/self/fd/\#{fd}") rescue "" }.grep(/socket/).size) }
      forked = Process.wait2(forked)[1].exitstatus
      Process.kill(:KILL, #{@workers[1]})
      Process.wait(#{@workers[1]})
      all.each { |_, io| Timeout.timeout(20) { io.read }; io.close }
      [all.map(&:first).uniq, ninth, forked]
    RUBY
    assert_equal [[200], [503, nil], 8], got, "of the sockets a child has those that are Ruby's own: its ends of the pairs"
    assert_equal [200, true], r.eval("s, io = watch(#{@workers[0]}); [s, text_to(io, /event: point/).size > 100]")
    assert_equal "", r.stderr
  end

  def test_who_may_post
    r, @workers = cluster
    targets = ["/m/#{r.pid}/reset", "/m/#{@workers[0]}/reset", "/m/all/reset"]
    assert_equal [403], targets.map { |t| r.post(t).status }.uniq
    [r.pid, *@workers].each { |pid| refute_includes r.get("/m/#{pid}/").body, "method=\"post\"" }
    list(r, 3).each { |p| assert_equal 0, JSON.parse(r.get("/m/#{p["pid"]}/stats.json").body)["resets"] }
    r.finish
    @workers.each { |w| ::Process.kill(:KILL, w) }
    r, @workers = cluster(tracker_options: "socket_dir:#{path("d")}", new: { token: "x y" })
    targets = ["/m/#{r.pid}/reset", "/m/#{@workers[0]}/reset", "/m/all/reset"]
    assert_equal [401], targets.map { |t| r.post(t).status }.uniq
    bearer = { "Authorization" => "Bearer x y" }
    assert_equal [403], targets.map { |t| r.post(t, bearer.merge("Origin" => "http://evil.example", "Host" => "localhost")).status }.uniq
    said = "reset: the counters start again from zero\n"
    targets.first(2).each { |t| assert_equal [200, said], r.post(t, bearer).then { |a| [a.status, a.body] } }
    # once, but for a process that couldn't run for a second and a half: it isn't counted, and may have done it
    asked = 0
    eventually("all three in time") do
      asked += 1
      a = r.post(targets[2], bearer)
      assert_equal [200, said], [a.status, a.body[/\A[123] of 3 processes: (.*)\z/m, 1]]
      a.body.start_with?("3 of 3 ")
    end
    assert_includes r.get("/m/#{@workers[0]}/").body, "action=\"/m/#{@workers[0]}/reset\""
    resets = [r.pid, *@workers].map { |pid| JSON.parse(r.get("/m/#{pid}/stats.json").body)["resets"] }
    resets.zip([1, 1, 0]) { |n, own| assert_includes own + 1..own + asked, n, resets.inspect }
  end

  # The relatives' own token is no matter of who comes through the application.
  def test_relatives_that_want_a_token
    File.write(path("token"), "0123456789abcdefX\n", perm: 0o600)
    r, @workers = cluster(options: "token_file:#{path("token")}")
    assert_equal 200, r.get("/m/#{@workers[1]}/each/0.tsv").status
    File.write(path("token"), "another.0123456789\n")
    eventually("the new token everywhere") { r.get("/m/all/each/0.json").then { |a| a.status == 200 && list(r, 3) } }
    assert_equal 200, r.get("/m/#{@workers[0]}/").status
    assert_equal 401, get("/stats.json").status, "by the socket"
  end

  def test_where_there_is_no_socket
    r = racked(mount: "/m")
    assert_equal [404], ["/m/family", "/m/all/each/0", "/m/#{r.pid}/"].map { |t| r.get(t).status }.uniq
    refute_includes r.get("/m/").body, "/family"
  end

  # Nothing of a connection to others is in a child that is forked meanwhile.
  def test_forks_meanwhile
    r, @workers = cluster
    r.eval(<<~'RUBY')
      env = ->(t) { { "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "/m", "PATH_INFO" => t, "QUERY_STRING" => "" } }
      $open_now = -> { Dir.children("/proc/self/fd").map { |fd| (File.readlink("/proc/self/fd/#{fd}") rescue nil)&.sub(/\[\d+\]/, "") }.compact.tally }
      $before = $open_now.call
      $stop = false
      $asking = Array.new(3) { Thread.new { APP.call(env["/all/each/0.tsv"])[2].close until $stop } }
      $sockets = lambda do
        read, write = IO.pipe
        pid = fork { read.close; write.puts(Dir.children("/proc/self/fd").map { |fd| File.readlink("/proc/self/fd/#{fd}") rescue nil }.compact.grep(/socket/).size); write.close; exit!(0) }
        write.close
        n = read.read.to_i
        read.close
        Process.wait(pid)
        n
      end
      0
    RUBY
    # an answer is waited for so long only
    got = Array.new(12) { r.eval("Array.new(5) { $sockets.call }") }
    assert_equal({ 0 => 60 }, got.flatten.tally)
    r.eval("$stop = true; $asking.each(&:join); 0")
    # a thread that asked may still be about to leave the table of all
    eventually("none is left open") { r.eval("$open_now.call.reject { |d, n| n <= $before.fetch(d, 0) }").empty? }
  end
end

class RackObjectsTest < Minitest::Test
  def test_views
    Racked::RACKS.each do |version|
      r = racked(rack: version, mount: "/m")
      home = r.get("/m/")
      assert_includes home.body, 'href="/m/objects"'
      page = r.get("/m/objects")
      assert_equal [200, "text/html; charset=utf-8"], [page.status, page.headers["content-type"]]
      # all of these say what they cost
      links = page.body.scan(%r{href="(/m/objects/[^"]+)"}).flatten.uniq
      assert_equal %w[/m/objects/pages /m/objects/counts /m/objects/classes /m/objects/iseqs /m/objects/stacks /m/objects/holders], links
      links.each do |link|
        a = r.get(link)
        assert_equal [200, a.body.bytesize.to_s], [a.status, a.headers["content-length"]]
        assert_match(link.end_with?("holders") ? /Cost: .*Find holders/m : /Cost: .* This time it took [0-9.]+ ms/m, a.body) # a link forks nothing
        assert_equal home.headers.slice("content-security-policy", "cache-control", "x-content-type-options", "referrer-policy").except("content-security-policy"),
                     a.headers.slice("cache-control", "x-content-type-options", "referrer-policy")
        assert_match(/\Adefault-src 'none';/, a.headers["content-security-policy"])
        assert_equal [200, "", a.headers["content-type"]], r.request("HEAD", link).then { |h| [h.status, h.body, h.headers["content-type"]] }
        %w[json tsv csv].each { |form| assert_equal 200, r.get("#{link}.#{form}").status }
      end
      assert_equal [404, 404, 400, 405], [r.get("/m/objects/no"), r.get("/m/objects/class/No"), r.get("/m/objects/pages?limit=x"), r.post("/m/objects")].map(&:status)
      assert_equal "", r.stderr
    end
  end

  def test_by_the_process_number_and_with_authorize
    r = racked(mount: "/m", authorize: '->(env) { env["HTTP_X_USER"] == "root" }')
    assert_equal 403, r.get("/m/objects/classes.json").status
    assert_equal 200, r.get("/m/objects/classes.json", { "X-User" => "root" }).status
    r = racked(mount: "/m", options: "socket:#{path("s")}")
    wait_for_server(path)
    eventually("a family") { r.get("/m/family").status == 200 }
    page = r.get("/m/#{r.pid}/objects/classes")
    assert_equal 200, page.status
    assert_includes page.body, "href=\"/m/#{r.pid}/objects/class/String\""
    assert_includes page.body, "href=\"/m/family\""
    # the server has no way to ask Ruby, also when it is asked through here
    assert_equal 404, get("/objects").status
  end

  def test_lines_that_allocated_a_class
    r = racked
    r.eval("require 'objspace'; Object.class_eval('class Found; end'); ObjectSpace.trace_object_allocations { eval('$found = Array.new(33) { Found.new }', TOPLEVEL_BINDING, '/srv/found.rb', 4) }; 1")
    rows = JSON.parse(r.get("/objects/class/Found.json").body)["rows"]
    assert_equal [["/srv/found.rb:4", 33]], rows.map { |row| row.values_at("location", "count") }
  end

  # The memory for an answer is neither tracked nor kept, however often it is asked for.
  def test_it_is_not_tracked
    r = racked
    ask = %w[/objects /objects/pages /objects/counts /objects/classes /objects/iseqs.json /objects/stacks /objects/find/Thread /objects/class/Array]
    ask.each { |t| r.times(3, t) }
    r.eval("GC.start; Mwrap.reset; 1")
    ask.each { |t| r.times(5, t) }
    rows = rows(r.get("/each/0.tsv")).select { |row| row.allocations.positive? }
    ours = rows.select { |row| row.location.match?(%r{/lib/mwrap|/json/|mwrap_ext}) }
    # but for Ruby's own part of making a thread
    assert_operator ours.sum(&:total), :<, 60_000, ours.map { |row| [row.location, row.total] }.inspect
    assert_equal [], ours.map(&:location).grep(/answer\.rb/)
  end
end
