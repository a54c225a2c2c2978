#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# /verdict of real processes of known behaviour. They all run at once and are
# watched once, from their start on: none may ever accuse an innocent line. Shapes that are played
# through the function, over hours and days: shapes.txt.

require_relative "lib/comes_first"
require_relative "lib/racked"
require_relative "lib/allocators"

class VerdictTest < Minitest::Test
  NATIVE = <<~'RUBY'
    require "fiddle"
    module Native
      POINTER, SIZE, INT = Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_INT
      FUNCTION = ->(name, from, to) { Fiddle::Function.new(Fiddle::Handle::DEFAULT[name], from, to) }
      MALLOC = FUNCTION.("malloc", [SIZE], POINTER)
      REALLOC = FUNCTION.("realloc", [POINTER, SIZE], POINTER)
      MEMSET = FUNCTION.("memset", [POINTER, INT, SIZE], POINTER)
      MMAP = FUNCTION.("mmap", [POINTER, SIZE, INT, INT, INT, Fiddle::TYPE_LONG], POINTER)
    end
  RUBY

  # Ten times a second until its stdin ends, and as often on a machine that doesn't run it for a while.
  EVERY_TENTH = <<~'RUBY'
    def every_tenth
      start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      File.write("#{__dir__}/runs", "")
      (0..).each do |i|
        wait = start + i / 10.0 - Process.clock_gettime(Process::CLOCK_MONOTONIC)
        exit if $stdin.wait_readable([wait, 0].max)
        yield i
      end
    end
  RUBY

  # The right verdict in the end; early: one that is right before. lines: those that may be named; at: the one that must be.
  Shape = Struct.new(:script, :is, :early, :at, :lines, :command, :env, :options, keyword_init: true)
  QUIET = %w[watching warming flat sawtooth uncollected].freeze # accuse nobody

  SHAPES = {
    # three quarters of the 400 MB are never touched: a busy machine would take seconds for them, which is more than a start
    small_leak_in_400_mb: Shape.new(is: %w[grows], at: "app.rb:4", script: <<~'RUBY'),
      BOOT = Array.new(400) { |i| i % 4 == 0 ? "x" * (1 << 20) : String.new(capacity: 1 << 20) }
      KEPT = []
      every_tenth do |i|
        KEPT << ("x" * 1_740)
      end
    RUBY
    leak_beneath_teeth: Shape.new(is: %w[grows], at: "app.rb:4", script: <<~'RUBY'),
      KEPT = []
      GC.disable
      every_tenth do |i|
        KEPT << ("x" * 5_000)
        100.times { "y" * 5_000 }
        GC.start if i % 70 == 69
      end
    RUBY
    small_objects: Shape.new(is: %w[heap], at: "app.rb:3", options: "objects:on", script: <<~'RUBY'),
      list = nil
      every_tenth do |i|
        1000.times { list = [list, i] }
      end
    RUBY
    mmap_outside_malloc: Shape.new(is: %w[native], script: <<~'RUBY'),
      every_tenth do |i|
        Native::MEMSET.call(Native::MMAP.call(nil, 1 << 18, 3, 0x22, -1, 0), 1, 1 << 18) if i % 10 == 0
      end
    RUBY
    # from Ruby 3.3 on a thread's VM stack is 1 MB of malloc; threads are counted for 90 s before they are told of
    threads_that_stay: Shape.new(is: %w[threads stacks], early: %w[grows], lines: [/app\.rb:3\z/], script: <<~'RUBY'),
      DEEPER = ->(n) { [0].each { n.zero? ? sleep : DEEPER.(n - 1) } }
      every_tenth do |i|
        Thread.new { DEEPER.(150) } if i % 5 == 0
      end
    RUBY
    # each hole has a small block before it, which makes it too small for what comes later; none of the
    # blocks is large enough for a mapping of its own
    fragmentation: Shape.new(is: %w[fragmentation], script: <<~'RUBY'),
      used = []
      bytes = 0
      every_tenth do
        2.times do
          size = 40_000
          Native::MEMSET.call(block = Native::MALLOC.call(size), 1, size)
          bytes += size
          used << [block, size]
          bytes -= Native::REALLOC.call(used[0][0], 24) && used.shift[1] while bytes > 4_000_000
        end
      end
    RUBY
    cache_that_filled: Shape.new(is: %w[flat filled grew], lines: %w[app.rb:3], script: <<~'RUBY'),
      CACHE = []
      every_tenth do |i|
        CACHE << ("x" * 50_000) if i < 450
      end
    RUBY
    flat: Shape.new(is: %w[flat], script: <<~'RUBY'),
      BOOT = Array.new(50) { "x" * (1 << 20) }
      every_tenth { }
    RUBY
    garbage: Shape.new(is: %w[sawtooth flat], script: <<~'RUBY'),
      GC.disable
      every_tenth do |i|
        100.times { "y" * 5_000 }
        GC.start if i % 90 == 89
      end
    RUBY
    # It is old when it becomes garbage: minor collections leave it. With Ruby 4.0 RSS keeps most of what a major one frees,
    # and creeps for five minutes.
    old_garbage: Shape.new(is: RUBY_VERSION < "3.4" ? %w[uncollected sawtooth flat] : %w[uncollected sawtooth flat warming filled],
                            lines: %w[app.rb:4], script: <<~'RUBY'),
      GC.disable
      queue = []
      every_tenth do |i|
        queue << Array.new(20) { "x" * 5_000 }
        queue.shift if queue.size > 50
        GC.start(full_mark: i == 300) if i % 10 == 0
      end
    RUBY
    step: Shape.new(is: %w[flat step], lines: %w[app.rb:3], script: <<~'RUBY'),
      BOOT = Array.new(50) { "x" * (1 << 20) }
      every_tenth do |i|
        MORE = Array.new(25) { "x" * (1 << 20) } if i == 650
      end
    RUBY
    falls: Shape.new(is: %w[falls], script: <<~'RUBY'),
      KEPT = Array.new(600) { "x" * 200_000 }
      every_tenth do |i|
        KEPT.pop.clear if i > 50 && i % 10 == 0 && KEPT.any?
      end
    RUBY
    two_leaks: Shape.new(is: %w[grows], at: "app.rb:3", lines: %w[app.rb:4], script: <<~'RUBY'),
      KEPT = []
      every_tenth do |i|
        KEPT << ("x" * 24_000)
        KEPT << ("x" * 16_000)
      end
    RUBY
    native_leak: Shape.new(is: %w[grows], at: "app.rb:2", script: <<~'RUBY'),
      every_tenth do |i|
        Native::MEMSET.call(Native::MALLOC.call(10_000), 1, 10_000)
      end
    RUBY
    c_program: Shape.new(is: %w[grows], at: /leaks/, command: "leaky"),
    without_history: Shape.new(is: %w[grows], options: "history:0", script: <<~'RUBY'),
      KEPT = []
      every_tenth do |i|
        KEPT << ("x" * 10_000)
      end
    RUBY
    on_jemalloc: Shape.new(is: %w[grows], at: "app.rb:3", env: "jemalloc", script: <<~'RUBY'),
      KEPT = []
      every_tenth do |i|
        KEPT << ("x" * 10_000)
      end
    RUBY
    on_mimalloc: Shape.new(is: %w[grows], at: "app.rb:3", env: "mimalloc", script: <<~'RUBY'),
      KEPT = []
      every_tenth do |i|
        KEPT << ("x" * 10_000)
      end
    RUBY
    # every eighth one is of no label
    labelled: Shape.new(is: %w[grows], at: "app.rb:5", options: "stacks:64k", script: <<~'RUBY'),
      require "mwrap"
      KEPT = []
      every_tenth do |i|
        Mwrap.label(i % 8 == 0 ? nil : "POST /orders") do
          KEPT << ("x" * 20_000)
        end
      end
    RUBY
    # the parent does nothing
    forked_child: Shape.new(is: %w[grows], at: "app.rb:4", lines: %w[app.rb:2], script: <<~'RUBY'),
      BOOT = []
      BOOT << "x" * 3_000_000 until BOOT.size == 10
      File.write("#{__dir__}/child", fork { every_tenth do |i|
        BOOT << ("x" * 10_000)
      end }.to_s)
      $stdin.read
    RUBY
  }.freeze
  # idle at first: it says when it begins
  LATE = Shape.new(script: <<~'RUBY')
    KEPT = []
    every_tenth do |i|
      File.write("#{__dir__}/began", Process.clock_gettime(Process::CLOCK_MONOTONIC).to_s) if i == 150
      KEPT << ("x" * 10_000) if i > 150
    end
  RUBY
  # five children; each makes half as much as the one before it
  CLUSTER = Shape.new(script: <<~'RUBY')
    LEAK = ->(bytes) do
      kept = []
      every_tenth { kept << ("x" * bytes) }
    end
    children = Array.new(5) { |i| [fork { LEAK.(20_000 >> i) }, 20_000 >> i] }
    File.write("#{__dir__}/children", children.map { |pid, bytes| %([#{pid},#{bytes}]) }.join(","))
    $stdin.read
  RUBY
  # as soon as it is told to
  EXPLOSION = Shape.new(script: <<~'RUBY')
    BOOT = Array.new(30) { "x" * (1 << 20) }
    KEPT = []
    every_tenth do |i|
      next if KEPT.size > 2000 || !File.exist?("#{__dir__}/go")
      3.times { KEPT << ("x" * 50_000) }
      KEPT << ("y" * 50_000)
    end
  RUBY
  SECONDS = 100 # of uptime that are watched
  # They end then, since no other test asks them: all together take a lot of memory.
  ASKED_ONCE = %i[small_leak_in_400_mb threads_that_stay cache_that_filled garbage old_garbage step falls c_program].freeze

  Said = Struct.new(:kind, :sentence, :line, :now)

  # All of them, and what they said until now.
  class Scene
    include MwrapTest
    include HttpdTest
    include Served
    include Racked
    include Minitest::Assertions
    attr_accessor :assertions
    attr_reader :said, :apps, :minute, :explosion

    def self.watched = @watched ||= new.tap { |s| Minitest.after_run { s.teardown } }.tap(&:watch)

    def initialize
      self.assertions = 0
      setup
      @said = Hash.new { |h, k| h[k] = [] }
      @apps = SHAPES.to_h { |name, shape| [name, start(name, shape)] }
      @ending = { close: :native_leak, TERM: :native_leak, tsv: :native_leak }.to_h do |how, shape|
        [how, start(:"ending_#{how}", SHAPES[shape], format: how == :tsv ? "tsv" : "text")]
      end
      start(:late, LATE)
      start(:cluster, CLUSTER)
      @explosion = start(:explosion, EXPLOSION)
      @rack = racked(rack: nil)
      leak = "Thread.new { kept = []; loop { kept << ('x' * 10_000); sleep 0.1 } }; 0"
      @rack.eval("eval(#{leak.dump}, TOPLEVEL_BINDING, '/srv/leak.rb', 7)")
      eventually("the child") { File.size?(path("forked_child.d/child")) }
      @child = File.read(path("forked_child.d/child")).to_i
      wait_for_server(at(:forked_child))
    end

    attr_reader :child, :ending, :rack

    def start(name, shape, format: "tsv")
      own = path("#{name}.d")
      Dir.mkdir(own)
      script = File.join(own, "app.rb")
      File.write(script, shape.script)
      File.write(lib = File.join(own, "lib.rb"), NATIVE + EVERY_TENTH)
      command = shape.command ? [program(shape.command)] : [MwrapTest::RUBY, "--disable=gems", "-I#{MwrapTest::LIB}", "-rio/wait", "-r#{lib}", script]
      env = { "LD_PRELOAD" => [MwrapTest::TRACKER, *library(shape.env)].join(":") }
      app = served(*command, format: format, options: shape.options, env: env, at: path("#{name}.sock"), wait: false)
      # one after another, so that none starts for long
      eventually("#{name} to run") { File.exist?(File.join(own, "runs")) } unless shape.command
      app
    end

    def library(name)
      return unless name
      Allocators.each { |n, file, package| return file || flunk("#{name} isn't installed: apt-get install #{package}") if n == name }
    end

    def at(name) = "#{path("#{name}.sock")}#{".#{@child}" if name == :forked_child && @child}"

    def verdict(name, query = "") = JSON.parse(body("/verdict.json#{query}", at: at(name)))

    # Asks each of them each second until all have been up for that long.
    def watch
      SHAPES.each_key { |name| wait_for_server(at(name)) }
      eventually("#{SECONDS} seconds of each", 600) do
        sleep 1
        SHAPES.each_key { |name| ask(name) }
        SHAPES.each_key.all? { |name| said[name].last.now > SECONDS }
      end
      SHAPES.each { |name, shape| patiently { ask(name) && shape.is.include?(said[name].last.kind) } }
      @minute = minute_of(:small_leak_in_400_mb)
      ASKED_ONCE.each { |name| apps[name].finish }
    end

    # Its verdict about a minute, which ended some seconds ago.
    def minute_of(name)
      from = said[name].last.now.to_i - 65
      [from, verdict(name, "?from=#{from}&to=#{from + 60}")]
    end

    def ask(name)
      v = verdict(name)
      said[name] << Said.new(v["kind"], v["sentence"], v["at_text"], v["now"])
    end
  end

  def scene = Scene.watched

  # One line grows. On a slow machine the app's own comings and goings may hide that live memory does, or RSS be late.
  def grows(at, held = nil)
    held &&= "(, #{held})?"
    rate = "grows by [\\d.]+ [KM]B a minute for .*"
    /(Live memory #{rate} at #{Regexp.escape(at)}#{held}(; (it explains|RSS doesn't grow yet).*)?|#{Regexp.escape(at)} #{rate}, beneath memory that comes and goes#{held})/
  end

  # Does the text name one of its own lines?
  def names(shape, text) = [*shape.at, *shape.lines].any? { |l| l === text }

  SHAPES.each do |name, shape|
    define_method("test_#{name}") do
      all = scene.said[name]
      assert_operator all.size, :>=, 20, "it was asked"
      # never an accusation of another kind or of an innocent line
      wrong = all.reject { |s| [*QUIET, *shape.is, *shape.early].include?(s.kind) && (!s.line || names(shape, s.line)) }
      assert_empty wrong.map { |s| [s.now, s.sentence] }
      assert_includes shape.is, all.last.kind, all.map(&:to_a).join("\n")
      assert_operator shape.at, :===, all.last.line, all.last.sentence if shape.at
    end
  end

  # The sentence's evidence: rate and shares of the same window.
  def test_two_leaks_have_their_shares
    v = scene.verdict(:two_leaks)
    assert_equal %w[app.rb:3 app.rb:4], v["locations"].first(2).map { |l| File.basename(l["location"]) }
    assert_in_delta 0.6, v["locations"][0]["share"], 0.1
    assert_in_delta 0.4, v["locations"][1]["share"], 0.1
    assert_in_delta v["rate_bytes_per_minute"], v["locations"].sum { |l| l["rate_bytes_per_minute"] }, v["rate_bytes_per_minute"] * 0.2
    assert_operator v["locations"][0]["location"], :end_with?, v["at_text"]
    assert_equal v["at"], v["locations"][0]["location"]
  end

  def clock = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)

  # Live memory was idle for 15 s; the verdict tells of the time since then only.
  def test_since_when
    v = eventually("growth") { scene.verdict(:late).then { |x| x if x["kind"] == "grows" } }
    # its clock's zero is between these two, however long the answer takes
    asked, now, answered = clock, scene.verdict(:late)["now"], clock
    began = File.read(scene.path("late.d/began")).to_f
    slack = v["range"].then { |r| r["to"] - r["from"] } / 90 + 5
    assert_includes began - answered + now - slack..began - asked + now + slack, v["since"], v["sentence"]
  end

  # Rate and shares are of the same time, as long as the explosion is one. RSS rises by a little more than live
  # memory, and may be what explodes first; the shares are of live memory's rise, the sentence's is of the rate.
  def test_an_explosion
    eventually("two minutes", 600) { scene.verdict(:explosion)["now"] > 125 }
    File.write(scene.path("explosion.d/go"), "")
    rates = []
    v = eventually("the explosion") { scene.verdict(:explosion).then { |x| x if x["kind"] == "explodes" && x["at"] } }
    while v["kind"] == "explodes" && v["at"]
      first, second = v["locations"]
      assert_equal %w[app.rb:5 app.rb:6], [first, second].map { |l| File.basename(l["location"]) }
      assert_in_delta 0.75, first["share"], 0.07, v.to_s
      assert_in_delta 0.25, second["share"], 0.07, v["sentence"]
      rate = v["rate_bytes_per_minute"]
      rates << v["rate_of"]
      live = v["rate_of"] == "live" ? rate : first["rate_bytes_per_minute"] / first["share"]
      [first, second].each { |l| assert_in_delta live * l["share"], l["rate_bytes_per_minute"], live * 0.02, v.to_s }
      assert_in_delta 100.0 * first["rate_bytes_per_minute"] / rate, v["sentence"][/rose by .* (\d+) % of it at app\.rb:5[.;]/, 1].to_i, 1, v.to_s
      sleep 2
      v = scene.verdict(:explosion)
    end
    assert_includes rates, "live"
  ensure
    scene.explosion.finish
  end

  def test_the_right_line_from_a_minute
    at, v = scene.minute
    assert_equal ["grows", "app.rb:4"], v.values_at("kind", "at_text"), v["sentence"]
    assert_operator v["range"]["from"], :>=, at
    assert_operator v["range"]["to"], :<=, at + 60
    assert_in_delta 1_020_000, v["rate_bytes_per_minute"], 300_000
  end

  def test_a_label
    v = eventually("a label") { scene.verdict(:labelled).then { |x| x if x["evidence"]["label"] } }
    label = v["evidence"]["label"]
    assert_equal [%w[name share error samples], "POST /orders"], [label.keys, label["name"]]
    assert_operator label["samples"], :>=, 30
    assert_in_delta 0.875, label["share"], 1.5 * label["error"]
    assert_match(/; the line's memory is for POST \/orders, \d+ % \(\u00b1 \d+\)/, v["sentence"])
    assert_nil scene.verdict(:native_leak)["evidence"]["label"]
  end

  # What the sentence accuses grows for the table, too; where nothing grows, no row does.
  def test_the_growers
    v = scene.verdict(:two_leaks)
    lines = v["growers"].map { |g| File.basename(g["location"]) }
    assert_equal %w[app.rb:3 app.rb:4], lines.first(2)
    assert_equal %w[location since change rate_bytes_per_minute], v["growers"][0].keys
    assert_in_delta 24_000 * 600, v["growers"][0]["rate_bytes_per_minute"], 24_000 * 600 / 4.0
    flat = scene.verdict(:flat)
    assert_equal flat["sentence"].start_with?("Nothing grows"), flat["growers"].empty?, flat["sentence"]
  end

  MEMBERS = %w[start now unix kind growing sentence next at at_text rate_bytes_per_minute rate_of since range limit confidence
               watch_seconds evidence parts locations together growers proofs journal].freeze

  def test_members
    v = scene.verdict(:leak_beneath_teeth)
    assert_equal MEMBERS, v.keys
    assert_equal %w[rss live heap free anon files stacks tracker], v["parts"].keys
    assert(v["parts"].values.all? { |p| p.keys == %w[now change] })
    assert_in_delta Time.now.to_f, v["unix"], 600
    assert_equal [true, 0], v.values_at("growing", "watch_seconds")
    assert_includes v["range"]["from"]..v["range"]["to"], v["since"]
    assert_operator v["range"]["to"], :<=, v["now"]
    assert_includes 0.5..1, v["confidence"]
    calm = scene.verdict(:flat)
    assert_equal [false, nil, nil, 0, nil], calm.values_at("growing", "at", "at_text", "rate_bytes_per_minute", "rate_of")
    # another allocator's arenas aren't known
    assert_equal [true, false, false], %i[flat on_jemalloc on_mimalloc].map { |n| scene.verdict(n)["parts"]["free"]["now"].is_a?(Integer) }
    assert_equal [], scene.verdict(:without_history)["locations"]
  end

  # The sentence begins with what the rate is of.
  def test_whose_rate_it_is
    v = eventually("the leak grows") { scene.verdict(:leak_beneath_teeth).then { |y| y if y["growing"] } }
    words = { "location" => "app.rb:4 grows by ", "live" => "Live memory grows by ", "heap" => "Ruby's heap grows by ", "rss" => "RSS grows by " }
    assert_operator v["sentence"], :start_with?, words.fetch(v["rate_of"])
    { native_leak: "live", small_objects: "heap", mmap_outside_malloc: "rss" }.each do |name, of|
      x = eventually("#{name} grows") { scene.verdict(name).then { |y| y if y["growing"] } }
      assert_equal of, x["rate_of"], x["sentence"]
      assert_operator x["sentence"], :start_with?, words[of]
    end
  end

  def test_text_and_json_say_the_same
    r = nil
    at = scene.at(:native_leak)
    eventually("the same verdict twice") do
      r = scene.get("/verdict", at: at)
      scene.verdict(:native_leak).then { |v| r.body.dup.force_encoding("UTF-8") == "#{v["sentence"]}\n#{v["next"]}\n" }
    end
    assert_equal [200, "text/plain; charset=utf-8"], [r.status, r.headers["content-type"]]
    %w[/verdict /verdict.json /verdict?range=15m].each do |target|
      head = scene.request("HEAD", target, at: at)
      assert_equal [200, ""], [head.status, head.body]
      assert_equal scene.get(target, at: at).headers["content-type"], head.headers["content-type"]
      assert_line scene.post(target, at: at), 405
    end
  end

  # For the two kinds that no location explains, the memory map says more.
  def test_the_map_explains
    v = eventually("fragmentation") { scene.verdict(:fragmentation).then { |y| y if y["kind"] == "fragmentation" } }
    line = v["map"]["lines"].find { |l| l["location"].end_with?("/fragmentation.d/app.rb:9") }
    assert_operator line["holds_bytes"], :>, 3 * line["live_bytes"]
    text = scene.get("/verdict", at: scene.at(:fragmentation)).body.dup.force_encoding("UTF-8").lines
    assert_match(/\ANow [\d.]+ [KM]B is empty pages, .* holes beside live blocks\./, text[2])
    v = eventually("native") { scene.verdict(:mmap_outside_malloc).then { |y| y if y["kind"] == "native" } }
    assert_operator v["map"]["mappings"][0]["location"], :end_with?, "/mmap_outside_malloc.d/app.rb:2"
    text = scene.get("/verdict", at: scene.at(:mmap_outside_malloc)).body.dup.force_encoding("UTF-8").lines
    assert_match(%r{\AIn memory of what was mapped: [\d.]+ MB at \S+/app\.rb:2}, text[2])
    refute scene.verdict(:flat).key?("map")
  end

  def test_ranges
    at = scene.at(:native_leak)
    %w[range=15m range=1h range=6h range=24h range=all from=0 to=99999 from=30&to=90].each do |q|
      v = scene.verdict(:native_leak, "?#{q}")
      assert_equal ["grows", "app.rb:2"], v.values_at("kind", "at_text"), "#{q}: #{v["sentence"]}"
    end
    # a range of a few seconds, and one of which nothing is known
    assert_equal ["watching", nil, nil], scene.verdict(:native_leak, "?from=20&to=23").values_at("kind", "at", "since")
    { "range=2h" => /range: 15m, 1h, 6h, 24h or all expected/, "from=x" => /from: seconds of uptime expected/, "to=-1" => /to: seconds/,
      "from=99999" => /from: must not be later/, "from=1&range=1h" => /range: from or to/, "from=9&to=3" => /from/ }.each do |q, like|
      %w[/verdict /verdict.json].each { |target| assert_line scene.get("#{target}?#{q}", at: at), 400, like }
    end
  end

  # The parent answers for its child, and has a verdict of its own.
  def test_a_forked_child
    at = scene.path("forked_child.sock")
    v = eventually("the child by its number") { JSON.parse(scene.body("/#{scene.child}/verdict.json", at: at)).then { |x| x if x["kind"] == "grows" } }
    assert_equal "app.rb:4", v["at_text"]
    assert_match(/\A#{grows("app.rb:4", "kept by BOOT, an Array")}\.\n/, scene.body("/#{scene.child}/verdict", at: at).force_encoding("UTF-8"))
    parent = JSON.parse(scene.body("/verdict.json", at: at))
    # on a busy machine pages of its files may come late: a step of theirs, of no line
    assert_includes [["flat", nil], ["step", nil]], parent.values_at("kind", "at"), "#{parent["sentence"]}\n#{scene.body("/history.json", at: at)}"
    assert_operator v["since"], :>=, JSON.parse(scene.body("/#{scene.child}/history.json", at: at))["fine"]["t"].first
    # all of them in one sentence, from either
    [at, scene.at(:forked_child)].each do |one|
      text = eventually("both to say it") { scene.body("/all/verdict", at: one).force_encoding("UTF-8").then { |x| x if x.start_with?("1 of 2") } }
      assert_match(%r{\A1 of 2 processes grows\. Process #{scene.child}: #{grows("app.rb:4", "kept by BOOT, an Array")}\.\nNext step: /#{scene.child}/verdict\.\n\z}, text)
    end
    all = JSON.parse(scene.body("/all/verdict.json", at: at))
    assert_equal %w[self growing sentence next processes grow silent kinds fastest pid kind rate_bytes_per_minute], all.keys
    assert_equal [{ "pid" => scene.child, "kind" => "grows", "rate_bytes_per_minute" => all["rate_bytes_per_minute"] }], all["fastest"]
    assert_equal [true, 2, 1, 0, scene.child, "grows"], all.values_at("growing", "processes", "grow", "silent", "pid", "kind")
    assert_includes [{ "flat" => 1, "grows" => 1 }, { "step" => 1, "grows" => 1 }], all["kinds"]
    assert_in_delta v["rate_bytes_per_minute"], all["rate_bytes_per_minute"], v["rate_bytes_per_minute"] / 4.0
    assert_line scene.get("/all/verdict?range=1h", at: at), 400, /of one process only/
    assert_line scene.post("/all/verdict", at: at), 405
    assert_equal [200, ""], scene.request("HEAD", "/all/verdict", at: at).then { |r| [r.status, r.body] }
  end

  # Six processes, of which five grow: the fastest one's sentence, three by name, and one more.
  def test_all_that_grow
    at = scene.path("cluster.sock")
    speeds = JSON.parse("[#{File.read(scene.path("cluster.d/children"))}]").to_h
    all = eventually("five to grow") { JSON.parse(scene.body("/all/verdict.json", at: at)).then { |x| x if x["grow"] == 5 } }
    named = all["fastest"]
    # of equal steps of speed each is told from its neighbours
    assert_equal speeds.keys.sort_by { |pid| -speeds[pid] }.first(4), named.map { |p| p["pid"] }
    assert_equal [named[0]["pid"], "grows", named[0]["rate_bytes_per_minute"]], all.values_at("pid", "kind", "rate_bytes_per_minute")
    amount = /[\d.]+ [KM]B/
    first, *others = named.map { |p| p["pid"] }
    assert_match(/\A5 of 6 processes grow\. Process #{first}: #{grows("app.rb:3", "kept by a variable of a Thread, an Array")}\. Process #{others[0]} /, all["sentence"])
    assert_match(/ grows by #{amount} a minute, #{others[1]} by #{amount}, #{others[2]} by #{amount}, and 1 more\.\z/, all["sentence"])
  end

  def test_without_growth_all_say_so
    text = eventually("a sentence") { scene.body("/all/verdict", at: scene.at(:flat)).then { |x| x unless x.include?(",") } }
    assert_equal "Nothing grows in 1 process.\n", text
    all = JSON.parse(scene.body("/all/verdict.json", at: scene.at(:flat)))
    assert_equal [false, nil, nil, 0, "", []], all.values_at("growing", "pid", "kind", "rate_bytes_per_minute", "next", "fastest")
  end

  # Behind MwrapRack without a server: the process's own thread keeps the history.
  def test_behind_rack
    v = eventually("its verdict") { JSON.parse(scene.rack.get("/verdict.json").body).then { |x| x if x["kind"] == "grows" } }
    assert_equal [MEMBERS, "leak.rb:7", "/srv/leak.rb:7"], [v.keys, *v.values_at("at_text", "at")]
    assert_match(/\A#{grows("leak.rb:7")}\. No proof says what is kept: mwrap's own server doesn't run here\.\nThat line's page/, scene.rack.get("/verdict?from=30").body.force_encoding("UTF-8"))
    assert_equal 400, scene.rack.get("/verdict?range=2h").status
  end

  # The last line of a text dump; whoever sorts or sums the columns doesn't notice it.
  def test_the_exit_dump
    dumps = scene.ending.to_h do |how, app|
      how == :TERM ? app.kill(:TERM) : app.finish
      [how, File.read(app.dump_path)]
    end
    %i[close TERM].each do |how|
      rows = dumps[how].lines(chomp: true)
      assert_match(/\A# #{grows("app.rb:2", "held by nothing: a native leak")}\.\z/, last = rows.pop)
      refute(rows.any? { |l| l.start_with?("#") })
      file = scene.path("table")
      File.write(file, dumps[how])
      sorted = IO.popen({ "LC_ALL" => "C" }, ["sort", "-k1,1rn", file], &:readlines).map(&:chomp)
      assert_equal last, sorted.last
      sum = IO.popen(["awk", '{ n += $1; k += $2 } END { printf "%d %d", n, k }', file], &:read)
      assert_equal rows.map { |l| l.split.first(2).map(&:to_i) }.transpose.map(&:sum).join(" "), sum
    end
    refute_match(/^#/, dumps[:tsv])
    assert_match(%r{/app\.rb:2\t}, dumps[:tsv])
  end

  # --- a process of its own ---------------------------------------------------------------

  def test_first_words
    app = served_ruby("$stdin.read", format: "text")
    v = JSON.parse(body("/verdict.json"))
    assert_equal ["watching", false, nil], v.values_at("kind", "growing", "since")
    assert_includes 1..31, v["watch_seconds"]
    assert_match(/\AWatching: the first verdict comes in \d+ s\.\n\z/, body("/verdict"))
    assert_match(/\ANo verdict yet on 1 process, 1 has not been watched long enough\. Process #{app.pid}: Watching: the first verdict comes in \d+ s\.\n\z/, body("/all/verdict"))
    app.finish
    refute_match(/^#/, File.read(app.dump_path), "too young for a verdict")
  end

  def test_pause
    served_ruby("$stdin.read", options: "read_only:0")
    post("/pause")
    v = eventually("the verdict") { JSON.parse(body("/verdict.json")).then { |x| x if x["kind"] == "paused" } }
    assert_equal [false, "Tracking is paused: growth can't be attributed to a line.", "POST /resume turns tracking on."], v.values_at("growing", "sentence", "next")
    assert_equal "No verdict yet on 1 process, 1 is paused.\n", body("/all/verdict")
    post("/resume")
    assert_equal "watching", eventually("a verdict") { JSON.parse(body("/verdict.json"))["kind"].then { |k| k unless k == "paused" } }
  end
end
