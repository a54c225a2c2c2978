#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Mwrap.label: which endpoint or job allocated. An app works at random in nested labels, threads and Fibers,
# with exceptions, and keeps a ledger of one line's bytes by label. All allocations are sampled, so each figure is
# the ledger's to the byte. Names are bounded, forked children keep theirs, and profiles have them.
# SEED=7 ruby t/labels.t -n /ledger/: other work.
require_relative "lib/served"
require_relative "lib/go_pprof"
require_relative "lib/two_callers"

class LabelsTest < Minitest::Test
  include Served
  include GoPprof

  SEED = Integer(ENV.fetch("SEED") { rand(1..1_000_000) })
  puts "# SEED=#{SEED}"

  KEEP = <<~'RUBY'
    require "json"
    require "mwrap"
    $stdout.sync = true
    Array.new(100_000) { Object.new } # leaves slots for the texts: Ruby 4.0 makes its first pages when they are needed
    GC.start
    GC.disable
    LIVE, TOTAL, KEPT, LOCK = Hash.new(0), Hash.new(0), [], Mutex.new
    def keep(n, label)
      text = "x" * n # the line
      LOCK.synchronize do
        TOTAL[label] += n + 1
        LIVE[label] += n + 1
        KEPT << [text, label]
      end
    end
    keep(0, nil) # what Ruby keeps for the calls on that line
    Mwrap.reset
    [TOTAL, LIVE, KEPT].each(&:clear)
  RUBY
  LINE = KEEP.lines.index { |l| l.include?("# the line") } + 1
  WORK = KEEP + <<~'RUBY'
    NAMES = ["orders#show", "orders#index", "ReportJob", :symbol, "ünïcode \" <&>", nil]
    # What a thread or Fiber does under `label`. pool: this thread's Fibers that wait.
    def work(rng, depth, label, pool, fiber: false)
      rng.rand(2..5).times do
        case rng.rand(9)
        when 0..2 then keep(rng.rand(1000..5000), label)
        when 3 then drop(rng)
        when 4..5
          next if depth.zero?
          name = NAMES.sample(random: rng)
          Mwrap.label(name) { work(rng, depth - 1, name&.to_s, pool, fiber: fiber) }
        when 6
          next if depth.zero?
          name = NAMES.sample(random: rng)
          begin
            Mwrap.label(name) { work(rng, depth - 1, name&.to_s, pool, fiber: fiber); raise "out" }
          rescue RuntimeError
            keep(rng.rand(1000..5000), label)
          end
        when 7
          one = pool.delete_at(rng.rand(pool.size)) if pool.size > 5 || (depth.zero? && pool.any?)
          one ||= Fiber.new { |at| work(rng, depth - 1, at, pool, fiber: true); :ended } if depth > 0
          pool << one if one && one.resume(label) != :ended
        else
          Fiber.yield(:waits) if fiber
        end
      end
    end
    def drop(rng)
      LOCK.synchronize do
        next if KEPT.size < 20
        text, label = KEPT.delete_at(rng.rand(KEPT.size))
        LIVE[label] -= text.bytesize + 1
        text.clear
      end
    end
    def works(seed)
      rng, pool = Random.new(seed), []
      60.times { work(rng, 4, nil, pool) }
    end
    while (line = gets)
      seed = Integer(line)
      3.times.map { |i| Thread.new { works(seed + i) } }.each(&:join)
      works(seed + 3)
      # ended within a label, and within a Fiber of one: the next thread has none
      4.times do
        Thread.new { Mwrap.label("killed") { Fiber.new { Thread.exit }.resume } }.join
        Thread.new { keep(1000, nil) }.join
      end
      puts JSON.generate([LIVE, TOTAL])
    end
  RUBY

  # Objects have room, so that the line allocates texts and nothing else.
  ROOM = { "RUBY_GC_HEAP_INIT_SLOTS" => "600000", "RUBY_GC_HEAP_0_INIT_SLOTS" => "600000" }.freeze

  # Of each block of YJIT's a sample would be taken, too: their stacks are more than there is room for.
  def app(script, options = "stacks:1") = served_ruby(script, options: options, env: { **ROOM, **WITHOUT_JIT })
  def line(name = "app.rb") = "#{path(name)}:#{LINE}"

  # The line's bytes of a label, as the flame graph has them.
  def at_line(label, by, raw: false, at: path)
    r = get("/flame.json?by=#{by}#{"&raw=1" if raw}&label=#{CGI.escape(label)}&location=#{CGI.escape(line)}", at: at)
    r.status == 404 ? 0 : JSON.parse(r.body).fetch("total")
  end

  # By label, "" for none, as a table of /labels.
  def labels(at: path, prefix: "")
    head, *rows = body("#{prefix}/labels.tsv", at: at).force_encoding("UTF-8").lines(chomp: true).map { |l| l.split("\t") }
    rows.to_h { |r| [r.last, head.zip(r).to_h.transform_values { |v| v[/\A-?\d+\z/] ? Integer(v) : v }] }
  end

  def test_a_ledger_of_random_work
    process = app(WORK)
    at_rest(process)
    before = at_line("(no label)", "live")
    live, total = JSON.parse(process.ask(SEED.to_s))
    at_rest(process)
    stats = JSON.parse(body("/stats.json"))
    assert_equal 0, stats["stacks_dropped"], "samples were lost"
    assert_operator total.size, :>=, 6
    total.each_key do |name|
      label = name.empty? ? "(no label)" : name
      live[name] += before if name.empty?
      assert_equal [total[name], live[name]], [at_line(label, "total"), at_line(label, "live")], "SEED=#{SEED}: #{label}"
    end
    assert_equal 0, at_line("killed", "total"), "a thread that ended within a label"
  end

  def test_all_labels_add_up_to_the_table
    process = app(WORK, "stacks:64k")
    process.ask(SEED.to_s)
    at_rest(process)
    rows = labels.values
    all = tsv
    %w[live_bytes live total allocations].each do |column|
      assert_in_delta all.sum { |r| r.public_send(column) }, rows.sum { |r| r[column] }, 200_000, column # the server's own frees
    end
    assert_equal "(no label)", rows.last["label"]
    page = body("/labels")
    assert_includes page, "orders#show</a>"
    assert_includes page, "label=orders%23show"
    json = JSON.parse(body("/labels.json"))
    assert_equal rows.map { |r| r["label"] }.sort, json.map { |r| r["label"] }.sort
    assert_equal "label: no stack has it: /labels lists those that have bytes\n", get("/flame.json?label=nobody").body
  end

  APP = KEEP + <<~'RUBY'
    def in_kid
      Mwrap.label("of parent") do
        fork do
          keep(40_000, "of parent")
          Mwrap.label("of kid") { keep(50_000, "of kid") }
          puts Mwrap.labels.transform_values { |v| v[:live_bytes] }.then { |h| JSON.generate(h) }
          $stdin.gets
          exit!
        end
      end
    end
    while (line = gets)
      case line.chomp
      when "many"
        5000.times { |i| Mwrap.label("name #{i}") { keep(1999, "") } }
        Mwrap.label("ü" * 100) { keep(70_000, "") }
      when "long" then Mwrap.label("ü" * 100) { keep(70_000, "") }
      when "wrong"
        puts [(Mwrap.label("x") rescue $!.class), (Mwrap.label(7) { } rescue $!.class), Mwrap.label("x") { |*a| 42 }].inspect
        next
      when "kid"
        in_kid
        next
      when "enumerator"
        e = Mwrap.label("maker") { Enumerator.new { |y| 3.times { |i| keep(10_000, ""); y << i } }.tap(&:next) }
        Mwrap.label("user") { e.next }
        e.next
      end
      puts "done"
    end
  RUBY

  def test_names_are_bounded
    process = app(APP)
    process.ask("long")
    process.ask("many")
    at_rest(process)
    assert_equal 70_001 * 2, at_line("ü" * 64, "live"), "a name is cut between two characters"
    # the long one is one of the 4,096
    assert_equal 2000 * (5000 - 4095), at_line("(other)", "total")
    assert_equal 2000, at_line("name 4094", "total")
    assert_equal 0, at_line("name 4095", "total")
  end

  def test_wrong_arguments
    process = app(APP)
    assert_equal "[LocalJumpError, TypeError, 42]", process.ask("wrong")
  end

  def test_a_fiber_keeps_the_label_that_it_began_with
    process = app(APP)
    process.ask("enumerator")
    at_rest(process)
    assert_equal [30_003, 0, 0], ["maker", "user", "(no label)"].map { |l| at_line(l, "total") }
  end

  def test_a_forked_child_keeps_its_label
    process = app(APP)
    kid = JSON.parse(process.ask("kid"))
    assert_operator kid.fetch("of parent"), :>=, 40_001
    assert_operator kid.fetch("of kid"), :>=, 50_001
    eventually("both processes in the sum") { labels(prefix: "/all")["of kid"] }
    all = labels(prefix: "/all")
    assert_operator all.fetch("of kid")["live_bytes"], :>=, 50_001
    assert_operator all.fetch("of parent")["live_bytes"], :>=, 40_001
    refute labels.key?("of kid"), "the parent's own"
  end

  def test_profiles_have_them
    process = app(APP)
    process.ask("long")
    at_rest(process)
    with_file(body("/debug/pprof/heap")) do |file|
      labelled = pprof("-raw", file).force_encoding("UTF-8").lines.count { |l| l.include?("label:[#{"ü" * 64}]") }
      assert_operator labelled, :>, 0
    end
    only = body("/stacks.collapsed?label=#{CGI.escape("ü" * 64)}").lines
    assert(only.any? { |l| l.end_with?(" 70001\n") }, only.join)
  end

  # Requests to Puma, an action of Rails' and a job, as Sidekiq calls its middleware.
  PUMA = KEEP + <<~'RUBY'
    gems = ENV.fetch("RACK_GEMS")
    Gem.use_paths(gems, [*Gem.path, gems])
    { "rack" => "3.1.23", "puma" => "6.6.1", "actionpack" => "7.1.5.1" }.each { |name, version| gem name, "= #{version}" }
    require "logger"
    require "rack"
    require "puma"
    require "puma/server"
    module Sidekiq
      CHAIN = []
      def self.configure_server = yield(self)
      def self.server_middleware = yield(self)
      def self.prepend(*given) = given[0].is_a?(Class) ? CHAIN.unshift(*given) : super
    end
    require "mwrap/sidekiq"
    require "mwrap/rails"
    require "mwrap/label"
    require "action_controller"
    class OrdersController < ActionController::Base
      def show
        keep(params[:n].to_i, "") if params[:n]
        render(plain: "shown")
      end
    end
    rack = lambda do |env|
      keep(env["QUERY_STRING"].to_i, "")
      [200, {}, ["kept"]]
    end
    named = ->(env) { env["HTTP_X_NAME"] }
    # A thread looks up after 64 KiB, whatever the new rate is.
    def warm = 4.times { "w" * 40_000 }
    APP = Rack::Builder.app do
      map("/warm") { run ->(_env) { warm; [200, {}, []] } }
      map("/rails") { run OrdersController.action(:show) }
      map("/named") { use(Mwrap::Label, &named); run rack }
      map("/rack") { use Mwrap::Label; run rack }
    end
    puma = Puma::Server.new(APP, nil, min_threads: 1, max_threads: 1)
    port = puma.add_tcp_listener("127.0.0.1", 0).addr[1]
    puma.run
    puts port
    while (line = gets)
      warm
      job, n = line.split
      Sidekiq::CHAIN.fetch(0).new.call(nil, { "class" => "Adapter", "wrapped" => job }, "default") { keep(n.to_i, "") }
      puts "done"
    end
  RUBY

  def test_endpoints_under_puma
    gems = File.join(MwrapTest::ROOT, ".build/gems-#{RUBY_ENGINE}-#{RUBY_VERSION}-#{RUBY_PLATFORM}")
    File.write(path("app.rb"), PUMA)
    process = served(MwrapTest::RUBY, "-I#{MwrapTest::LIB}", path("app.rb"), options: "stacks:off", env: ROOM.merge("RACK_GEMS" => gems))
    port = Integer(process.hear || flunk(process.stderr))
    assert_equal 200, get("/rails", at: port).status
    # not before: what Rails loads has more stacks than there is room for
    assert_equal 200, post("/ctl?stacks=1").status
    assert_equal 200, get("/warm", at: port).status
    3.times { |i| assert_equal 200, get("/rack/orders/4#{i}/show?20000", at: port).status }
    assert_equal 200, get("/rack/a/b/c/d/e?30000", at: port).status
    assert_equal 200, get("/rails?n=40000", at: port).status
    assert_equal 200, get("/named?50000", { "X-Name" => "by hand" }, at: port).status
    assert_equal "done", process.ask("ReportJob 60000")
    at_rest(process)
    { "GET /orders/*/show" => 3 * 20_001, "GET /a/b/c/d/*" => 30_001, "orders#show" => 40_001, "by hand" => 50_001, "ReportJob" => 60_001 }.each do |label, bytes|
      assert_equal bytes, at_line(label, "live", raw: true), label
    end
  end

  def test_without_the_tracker
    r = run_command(MwrapTest::RUBY, "-I#{MwrapTest::LIB}", "-e", 'require "mwrap"; p Mwrap.label("x") { 7 }, Mwrap.labels', env: { "LD_PRELOAD" => nil, "RUBYOPT" => nil })
    assert_equal "7\n{}\n", r.stdout
  end
end
