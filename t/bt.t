#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The option bt: a line is counted together with its Ruby callers, each chain exactly. Chains are
# written down here, frame by frame, and every block is found at its own.

require_relative "lib/served"
require_relative "lib/allocators"

class TestOfChains < Minitest::Test
  # A case allocates strings of a size of its own. Its chain, innermost first, is below in CHAINS.
  CASES = <<~'RUBY'
    require "json"
    require "mwrap"
    require "fiber"
    KEPT = Array.new(8000)
    $n = 0
    def keep(size) = KEPT[$n += 1] = "x" * size # LINE keep
    def one(size) = keep(size) # LINE one
    def two(size) = one(size) # LINE two
    def three(size) = two(size) # LINE three
    def other(size) = one(size) # LINE other
    def recurse(n, size) = n.zero? ? keep(size) : recurse(n - 1, size) # LINE recurse
    def each(size) = [1, 2].each { keep(size) } # LINE each
    def map(size) = [1, 2, 3].map { |_| keep(size) } # LINE map
    def times(size) = 4.times { keep(size) } # LINE times
    def tap_it(size) = 1.tap { keep(size) } # LINE tap
    def taps(size) = 1.tap { 1.tap { keep(size) } } # LINE taps
    def sent(size) = send(:keep, size) # LINE sent
    def evals(size) = eval("keep(size)", binding, "evaluated.rb", 77) # LINE evals
    def callable(size) = proc { keep(size) }.call # LINE proc
    def rescued(size) # LINE rescued
      raise "no"
    rescue RuntimeError
      keep(size) # LINE rescue
    end
    def sorted(size) = [2, 1].sort_by { |i| keep(size); i } # LINE sort_by
    self.class.define_method(:defined) { |size| keep(size) } # LINE defined
    DUMP = ["\x04\b\"\x02", [5105].pack("v"), "y" * 2552, "y" * 2553].join
    def load_it = KEPT[$n += 1] = Marshal.load(DUMP) # LINE load
    Object.class_eval("def from_string(size) = keep(size)", "from_string.rb", 5)

    20.times { three(5001) } # LINE main
    7.times { other(5001) } # LINE main_other
    recurse(5, 5009) # LINE main_recurse
    each(5017) # LINE main_each
    map(5025) # LINE main_map
    times(5033) # LINE main_times
    tap_it(5041) # LINE main_tap
    taps(5049) # LINE main_taps
    sent(5057) # LINE main_sent
    evals(5065) # LINE main_evals
    callable(5073) # LINE main_proc
    rescued(5081) # LINE main_rescue
    sorted(5089) # LINE main_sort_by
    defined(5097) # LINE main_defined
    load_it # LINE main_load
    from_string(5113) # LINE main_from_string
    keep(5121) # LINE main_keep
    Thread.new { two(5129) }.join # LINE thread
    Fiber.new { two(5137) }.resume # LINE fiber
    Enumerator.new { |y| y << keep(5145) }.next # LINE enumerator
    300.times do |i| # LINE main_churn
      Object.class_eval("def churn(size) = keep(size)", "churn.rb", i + 1)
      2.times { churn(5153) } # LINE churn
    end

    def found
      found = Hash.new { |h, k| h[k] = Hash.new(0) }
      Mwrap.each do |location, |
        next if location.end_with?("]")
        Mwrap[location]&.each { |size, | found[size - 1][location] += 1 }
      end
      found.select { |size, | size.between?(5001, 5200) && size % 8 == 1 }
    end
    result = found
    at_fork = IO.popen("-") do |child| # LINE at_fork
      next child.read if child
      Mwrap.reset
      20.times { three(5161) } # LINE main_forked
      print JSON.dump(found.fetch(5161))
      exit!(0)
    end
    puts JSON.dump([result, JSON.parse(at_fork)])
  RUBY

  # size => [blocks, lines from the innermost outwards]
  MAIN_BLOCK = ->(name) { [name, name] } # a block, and the main program that passed it
  CHAINS = {
    5009 => [1, ["keep", *["recurse"] * 6, "main_recurse"]],
    5017 => [2, %w[keep each each main_each]],
    5025 => [3, %w[keep map map main_map]],
    5033 => [4, %w[keep times times main_times]],
    5041 => [1, %w[keep tap tap main_tap]],
    5049 => [1, %w[keep taps taps taps main_taps]],
    5057 => [1, %w[keep sent main_sent]],
    5065 => [1, %w[keep evaluated.rb:77 evals main_evals]],
    5073 => [1, %w[keep proc proc main_proc]],
    5081 => [1, %w[keep rescue rescued main_rescue]],
    5089 => [2, %w[keep sort_by sort_by main_sort_by]],
    5097 => [1, %w[keep defined main_defined]],
    5105 => [1, %w[load main_load]],
    5113 => [1, %w[keep from_string.rb:5 main_from_string]],
    5121 => [1, %w[keep main_keep]],
    5129 => [1, %w[keep one two thread]],
    5137 => [1, %w[keep one two fiber]],
    5145 => [1, %w[keep enumerator]]
  }.freeze

  LINES = CASES.lines.each_with_index.filter_map { |l, i| [$1, i + 1] if l =~ /# LINE (\w+)$/ }.to_h

  # The location of the first n + 1 of these lines of the script at `path`.
  def chain(names, n, path)
    names.first(n + 1).map { |name| (line = LINES[name] || name.to_s[/\Aown_line_(\d+)/, 1]) ? "#{path}:#{line}" : name }.join(" < ")
  end

  # other: chains of some sizes that are other ones in this way.
  def assert_chains(n, env: {}, preload: [], flags: [], other: {})
    in_tmp do |dir|
      path = File.join(dir, "cases.rb")
      File.write(path, CASES)
      r = mwrap_run(MwrapTest::RUBY, "--disable=gems", "-I#{MwrapTest::LIB}", *flags, path, options: "bt:#{n}", env: env, preload: preload)
      assert_success r
      assert_equal "", r.stderr
      found, forked = JSON.parse(r.stdout)
      found.transform_keys!(&:to_i)
      what = "bt:#{n} #{env} #{preload}"
      want = CHAINS.merge(other).transform_values { |blocks, lines| { chain(lines, n, path) => blocks } }
      want[5001] = Hash.new(0).tap do |h|
        h[chain(%w[keep one two three main main], n, path)] += 20
        h[chain(%w[keep one other main_other main_other], n, path)] += 7
      end
      want[5153] = (1..300).to_h { |i| [chain(["keep", "churn.rb:#{i}", "churn", "churn", "main_churn"], n, path), 2] }
      want.each { |size, places| assert_equal places, found[size], "#{what}: #{size}" }
      assert_equal({ chain(%w[keep one two three main_forked main_forked at_fork], n, path) => 20 }, forked, "#{what}: forked")
      assert_sound r.processes[0]
    end
  end

  [1, 2, 3, 16].each do |n|
    define_method(:"test_fast_#{n}") { assert_chains(n) }
  end

  # These name the method around a caller's evaluated code, with the code's line.
  def test_by_public_calls
    other = { 5065 => [1, ["keep", :own_line_77, "evals", "main_evals"]] }
    [2, 16].each { |n| assert_chains(n, env: { "MWRAP_RUBY_PUBLIC" => "1" }, other: other) }
  end

  def test_with_yjit
    has = system(MwrapTest::RUBY, "--yjit", "-e", "exit RubyVM::YJIT.enabled?", out: File::NULL, err: File::NULL)
    skip "this Ruby has no YJIT" unless has
    [2, 16].each { |n| assert_chains(n, flags: %w[--yjit --yjit-call-threshold=1]) }
  end

  Allocators.each do |name, path, package|
    define_method(:"test_on_#{name}") do
      assert path, "#{package} is not installed"
      assert_chains(3, preload: [path])
    end
  end

  # --- in a process that is asked ------------------------------------------------------------

  APP = <<~'RUBY'
    require "mwrap"
    $stdout.sync = true
    $kept = []
    def keep(s) = $kept << s
    def leaf
      keep "k" * 5000 # LINE leaf
    end
    def busy = "b" * 1_000_000 # LINE busy
    def first(n) = n.times { busy } # LINE first
    def second(n) = n.times { busy } # LINE second
    def once = leaf # LINE once
    def twice = once # LINE twice
    100.times { $kept.clear; twice; busy } # what a JIT allocates to compile them comes now
    $kept.clear
    puts "ready"
    while (line = $stdin.gets&.chomp)
      case line
      when "once" then 10.times { once }; puts "ok"
      when "twice" then 10.times { twice }; puts "ok"
      when "forget" then $kept.clear; GC.start; puts "ok"
      when "threads"
        $stop = false
        $made = Array.new(4, 0)
        $t = 4.times.map { |i| Thread.new { until $stop; i.even? ? (first(50); second(50)) : second(100); $made[i] += 100; end } }
        puts "ok"
      when "join" then $stop = true; $t.each(&:join); $t = nil; GC.start; puts $made.sum
      else puts eval(line).inspect
      end
    end
  RUBY
  AT = APP.lines.each_with_index.filter_map { |l, i| [$1, i + 1] if l =~ /# LINE (\w+)$/ }.to_h

  def start(*options, script: APP, **rest)
    app = served_ruby(script, options: options, **rest)
    assert_equal "ready", app.hear
    app
  end

  # The rows whose innermost line is this one of the app.
  def rows_at(name, rows = tsv) = rows.select { |r| r.location.split(" < ")[0].end_with?("/app.rb:#{AT.fetch(name)}") }
  def chain_of(location) = location.split(" < ").map { |l| AT.key(l[/app\.rb:(\d+)\z/, 1].to_i) || "?" }

  # { [lines of the chain] => strings of 5,000 bytes }, since the last reset; what Ruby itself allocates there is small
  def made_at(name) = rows_at(name).to_h { |r| [chain_of(r.location), r.total / 5001] }.reject { |_, n| n.zero? }

  def test_changed_over_http
    app = start
    assert_equal 0, stats["bt"]
    [[{ "X-Mwrap-BT" => "1" }, "", 1], [{ "Content-Type" => "application/x-www-form-urlencoded" }, "bt=2", 2]].each do |headers, body, n|
      assert_line post("/ctl", headers, body), 200, /\Abt is #{n}$/
      assert_equal n, stats["bt"]
    end
    post("/reset")
    %w[once twice].each { |w| assert_equal "ok", app.ask(w) }
    assert_equal({ %w[leaf once ?] => 10, %w[leaf once twice] => 10 }, made_at("leaf"))
    # a live block keeps its location, and is freed there
    assert_line post("/ctl?bt=0"), 200, /\Abt is 0$/
    assert_equal "ok", app.ask("once")
    assert_equal({ %w[leaf once ?] => 10, %w[leaf once twice] => 10, %w[leaf] => 10 }, made_at("leaf"))
    assert_equal "ok", app.ask("forget")
    # the last ones may still be on the machine's stack
    assert_operator rows_at("leaf").sum(&:live_bytes), :<, 3 * 5001
    assert_sound tsv
    assert app.finish.success?
  end

  def test_of_a_process_by_its_number_and_of_all
    app = start
    assert_line post("/#{app.pid}/ctl", { "Content-Type" => "application/x-www-form-urlencoded" }, "bt=3"), 200, /\Abt is 3$/
    assert_equal 3, stats["bt"]
    child = app.ask("fork { Process.kill(:STOP, 0) if false; $stdin.close; sleep }").to_i
    other = "#{path}.#{child}"
    eventually("the child's server") { File.exist?(other) && connects?(other) }
    assert_equal 3, stats(at: other)["bt"], "a child inherits it"
    assert_line post("/#{child}/ctl", { "Content-Type" => "application/x-www-form-urlencoded" }, "bt=5"), 200, /\Abt is 5$/
    assert_equal [3, 5], [stats["bt"], stats(at: other)["bt"]]
    assert_line post("/#{child}/ctl", { "X-Mwrap-BT" => "6" }), 200, /\Abt is 6$/
    assert_equal [3, 6], [stats["bt"], stats(at: other)["bt"]]
    assert_line post("/all/ctl", { "Content-Type" => "application/x-www-form-urlencoded" }, "bt=1"), 200, /\A2 of 2 processes: bt is 1$/
    assert_equal [1, 1], [stats["bt"], stats(at: other)["bt"]]
    assert_line post("/all/ctl", { "X-Mwrap-BT" => "0" }), 200, /\A2 of 2 processes: bt is 0$/
    assert_equal [0, 0], [stats["bt"], stats(at: other)["bt"]]
  ensure
    Process.kill(:KILL, child) if child&.positive?
    app&.finish
  end

  NOTHING = "ctl: nothing to change: give bt=0 to 16, or stacks=auto, off or BYTES"
  NUMBER = "is not a number of callers: write digits only, from 0 to 16"
  FORM = { "Content-Type" => "application/x-www-form-urlencoded" }.freeze

  def test_refusals
    app = start
    assert_equal 405, get("/ctl").status
    assert_line post("/ctl"), 400, /\A#{NOTHING}$/
    assert_line post("/ctl?other=1", FORM, "callers=3"), 400, /\A#{NOTHING}$/
    ["17", "-1", "4x", "99999999999999999999", " 4"].each do |n|
      line = /\Abt: "#{Regexp.escape(n)}" #{NUMBER}$/
      assert_line post("/ctl?bt=#{escape(n)}"), 400, line
      assert_line post("/ctl", FORM, "bt=#{escape(n)}"), 400, line
    end
    assert_line post("/ctl", { "X-Mwrap-BT" => "many" }), 400, /\Abt: "many" #{NUMBER}$/
    assert_line post("/ctl?bt="), 400, /\Abt: the value is missing$/
    assert_line post("/ctl?stacks=some&bt=4"), 400, /\Astacks: "some" is not auto, off or a number of bytes: /
    assert_line post("/ctl", FORM, "bt=4&bt"), 400, /missing/
    assert_line post("/ctl", FORM, "bt=4\r\nX-Mwrap-No-Post: x"), 400, /\Athe form isn't percent-encoded$/
    assert_line post("/ctl", FORM, "bt=4&x=#{"y" * 5000}"), 413, /\Athe form is larger than 4096 bytes$/
    assert_line post("/ctl", { "Content-Type" => "text/plain" }, "bt=4"), 400, /\A#{NOTHING}$/
    assert_line post("/ctl?bt=4", { "Origin" => "http://evil.example" }), 403, /another origin/
    assert_line post("/ctl?bt=4", { "Sec-Fetch-Site" => "cross-site" }), 403, /another origin/
    assert_equal 0, stats["bt"], "nothing of that was done"
    assert app.finish.success?
  end

  def test_read_only
    app = start("read_only:1")
    assert_line post("/ctl?bt=4"), 403, /read_only/
    assert_line post("/#{app.pid}/ctl", { "X-Mwrap-BT" => "4" }), 403, /read_only/
    assert_equal 0, stats["bt"]
    assert app.finish.success?
  end

  def test_stacks
    app = start("stacks:off")
    assert_equal 0, stats["stacks_rate"]
    assert_line post("/ctl", FORM, "stacks=4k&bt=1"), 200, /\Abt is 1, stacks is 4k$/
    assert_equal [4096, 1], stats.fetch_values("stacks_rate", "bt")
    eventually("samples") { app.ask("once"); stats["stacks_samples"].positive? }
    json = post("/ctl?stacks=auto", { "Accept" => "application/json" })
    assert_equal [true, "stacks is auto"], JSON.parse(json.body).fetch_values("ok", "said")
    assert_operator stats["stacks_rate"], :>=, 65_536
    assert_line post("/ctl?stacks=off"), 200, /\Astacks is off$/
    assert_equal 0, stats["stacks_rate"]
    events = JSON.parse(body("/history.json"))["events"].select { |e| e["kind"] == "ctl" }
    assert_equal ["bt is 1, stacks is 4k", "stacks is auto", "stacks is off"], events.map { |e| e["text"] }
    assert app.finish.success?
  end

  def test_from_ruby
    app = start("bt:1")
    assert_equal "[1, 1]", app.ask("[Mwrap.bt, Mwrap.stats[:bt]]")
    assert_equal "[16, 16, 16]", app.ask("[Mwrap.bt = 16, Mwrap.bt, Mwrap.stats[:bt]]")
    { "17" => 'RangeError, "bt: 17 is not from 0 to 16"', "-1" => 'RangeError, "bt: -1 is not from 0 to 16"', "nil" => "TypeError, ",
      "1 << 70" => "RangeError, " }.each do |value, raised|
      assert app.ask("begin; Mwrap.bt = #{value}; rescue => e; [e.class, e.message]; end").start_with?("[#{raised}"), value
    end
    assert_equal 16, stats["bt"]
    assert_equal "[0, 0]", app.ask("[Mwrap.bt = 0, Mwrap.bt]")
    assert app.finish.success?
    r = run_command(MwrapTest::RUBY, "-I#{MwrapTest::LIB}", "-rmwrap", "-e", "p [Mwrap.bt, Mwrap.bt = 3, Mwrap.bt]")
    assert_equal ["[0, 3, 0]\n", ""], [r.stdout, r.stderr], "without the tracker"
  end

  # Wherever each change comes: the sum over a line's chains is exact.
  def test_changed_while_threads_allocate
    app = start
    before = [rows_at("busy").sum(&:allocations), rows_at("busy").sum(&:total)]
    assert_equal "ok", app.ask("threads")
    random = Random.new(17)
    80.times do |i|
      assert_equal 200, post("/ctl?bt=#{[0, random.rand(0..16)].sample(random: random)}").status
      eventually("some to be made") { app.ask("$made.sum").to_i > i * 20 } if i % 8 == 0
    end
    made = app.ask("join").to_i
    rows = same = nil
    eventually("both of one moment") { same, rows = stats, tsv; %w[allocations frees].all? { |k| same[k] == stats[k] } }
    assert_sound rows
    mine = rows_at("busy", rows)
    # Ruby allocates there, too, small blocks: its heap grows, and from 3.3 on each collection makes one of 24 bytes.
    # A string that is lost, or there twice, is more than all of them
    assert_operator mine.sum(&:allocations) - before[0], :>=, made
    assert_includes 0...1_000_000, mine.sum(&:total) - before[1] - made * 1_000_001
    mine.each { |r| assert_equal r.allocations, r.frees + r.live, r.inspect }
    assert_operator mine.sum(&:live), :<=, 50
    assert_operator mine.map { |r| chain_of(r.location).size }.uniq.size, :>, 1
    assert_sums rows, same
    assert app.finish.success?
  end

  def test_every_form_has_the_chains
    app = start("bt:2")
    %w[once twice].each { |w| assert_equal "ok", app.ask(w) }
    at_rest(app)
    rows = tsv
    chains = rows_at("leaf", rows).map(&:location)
    assert_equal 2, rows_at("leaf", rows).count { |r| r.location.match?(/ < .* < /) && r.total > 5000 }, chains.inspect
    [csv, json, html[0]].each do |others|
      others.each { |r| r.location.gsub!(/\A\u200b|\u200b/, "") }
      assert_equal chains.sort, rows_at("leaf", others).map(&:location).sort
    end
    chains.each do |c|
      at = JSON.parse(body("/at/#{escape(c)}.json"))
      assert_equal [c, rows.find { |r| r.location == c }.live], [at["location"], at["live"]]
      assert_equal "[#{c.inspect}, #{at["live"]}]", app.ask("[Mwrap[#{c.inspect}].name, Mwrap[#{c.inspect}].live]") if c.include?(" < ")
      assert_includes body("/source?location=#{escape(c)}"), "LINE leaf"
    end
    at_rest(app)
    file = tsv("/each/0.tsv?group=file").find { |r| r.location == path("app.rb") }
    lines = tsv.select { |r| r.location.start_with?("#{path("app.rb")}:") }
    assert_equal lines.sum(&:allocations), file.allocations
    assert app.finish.success?
    dumped = app.dumps[0].map(&:location)
    assert_equal [], chains - dumped
  end

  ODD = ["a.rb:1 < b.rb", "1 < 2", "< c.rb", "<< c.rb", "x 5 << y", "tab\tand\nline", "100% & \"more\"", "\u00e4\u2028", "\xff\xfe", "(eval)", "a < b", "", " <", "7 <"].freeze

  # Whatever bytes a path has, each chain has a text of its own, which finds it again.
  def test_odd_paths
    script = <<~'RUBY'
      require "mwrap"
      $stdout.sync = true
      KEPT = Array.new(300)
      $n = 0
      odd = Marshal.load([ARGV[0]].pack("H*"))
      odd.each_with_index do |path, i|
        Object.class_eval("def inner#{i} = KEPT[$n += 1] = 'x' * 6000", path, 3)
        Object.class_eval("def outer#{i}(j) = send(:\"inner\#{j}\")", path, 1)
      end
      Mwrap.bt = 1
      odd.size.times { |i| odd.size.times { |j| send(:"outer#{i}", j) } }
      Mwrap.bt = 0
      odd.size.times { |j| send(:"inner#{j}") }
      puts "ready"
      $stdin.gets
      puts Mwrap.each.map { |l, *| Mwrap[l]&.each&.count { |s, *| s == 6001 } }.tally[1]
    RUBY
    app = start(script: script, args: [Marshal.dump(ODD.map(&:b)).unpack1("H*")])
    sizes = ->(r) { JSON.parse(body("/at/#{escape(r.location)}.json"))["lives"].map { |l| l["size"] } }
    rows = tsv.select { |r| r.live_bytes.between?(6001, 20_000) && sizes.(r).count(6001) == 1 }
    n = ODD.size
    assert_equal n * n + n, rows.size
    assert_equal rows.size, rows.map { |r| r.location.b }.uniq.size, "no two have the same text"
    assert_sound tsv
    assert_equal rows.size.to_s, app.ask("")
    assert app.finish.success?
  end

  # Chains that are used no more leave the table, and their texts go: an app that evals for ever.
  def test_old_chains_are_retired
    script = <<~'RUBY'
      $stdout.sync = true
      def leaf = "x" * 40_000 # LINE
      puts "ready"
      while (n = $stdin.gets&.to_i)
        n.times do |i|
          Object.class_eval("def middle = leaf", "middle.rb", $i = ($i || 0) + 1)
          middle
        end
        GC.start
        puts "ok"
      end
    RUBY
    app = start("bt:2", "memory_max:6m", script: script, env: WITHOUT_JIT)
    rounds = 0
    eventually("some to be retired") { app.ask("3000"); (rounds += 1) && stats["retired"] > 3000 }
    app.ask("50") # there is room again, for some at least
    rows = same = nil
    eventually("both of one moment") { same, rows = stats, tsv; %w[allocations frees].all? { |k| same[k] == stats[k] } }
    assert_sums rows, same
    assert_operator same["tracker_bytes"], :<=, 6 << 20
    # whatever left the table, and what found no room: each string is in one row
    strings = rows.select { |r| r.location.match?(%r{/app\.rb:2(?: < |\z)}) || %w[(gone) (other)].include?(r.location) }
    assert_operator strings.sum(&:total), :>=, rounds * 3000 * 40_001
    assert_operator rows.sum(&:total), :<, rounds * 3000 * 40_001 * 2
    kept = rows.map(&:location).grep(/app\.rb:2 < middle\.rb:\d+ < /)
    refute_empty kept
    assert_equal kept, kept.select { |l| JSON.parse(body("/at/#{escape(l)}.json"))["location"] == l }
    assert app.finish.success?
  end
end
