#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# /metrics: both of its forms as Prometheus's own parsers read them, with what the other pages
# say; counters that no reset sets back; locations of any name; and web/grafana.json, whose
# expressions are of metrics that there are. t/unit/test_metrics.c: labels, several processes.
require_relative "lib/served"
require_relative "lib/prometheus"

class MetricsTest < Minitest::Test
  include Served

  OPEN = { "Accept" => "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5" }.freeze
  APP = <<~'RUBY'
    require "mwrap"
    $stdout.sync = true
    $kept = []
    while (line = $stdin.gets&.chomp)
      word, n = line.split
      case word
      when "keep" then n.to_i.times { |i| eval("$kept << 'x' * #{10_000 + i * 100}", nil, "/srv/kept.rb", i + 1) }
      when "odd"
        ["a\"b", "c\\d", "e\nf", "g\th", "\u{1F418}", "x" * 600, "y" * 300 + "\u00fc" * 300, "{}=,# ", "\xff\xfe"].each do |name|
          eval("$kept << 'x' * 50_000", nil, "/srv/#{name}.rb", 7)
        end
      when "work" # with threads that end, resets, and more lines than the table has room for
        begin
          Thread.new do
            4.times.map { Thread.new { 2000.times { |i| "x" * 1000; $kept << "y" * 100 if i % 100 == 0 } } }.each(&:join)
            Mwrap.reset
          end.join
          3000.times { |i| eval("'z' * 1000", nil, "/gone#{$round = ($round || 0) + 1}.rb", i + 1) }
          GC.start
          more = IO.select([$stdin], nil, nil, 0).nil?
        end while more
      end
      puts Mwrap.stats[:retired]
    end
  RUBY

  def metrics(query = "", headers = OPEN)
    r = get("/metrics#{query}", headers)
    assert_equal 200, r.status, r.body
    r
  end

  # An app's work after its answer must not come between two looks.
  def tell_and_rest(app, order)
    said = app.ask(order)
    at_rest(app)
    said
  end

  def open_values(query = "") = values(families(metrics(query).body))

  # Of one moment, if possible: the tracker's own memory may grow between two answers.
  def both_forms(accept)
    forms = nil
    patiently do
      open, text = metrics, metrics("", accept)
      assert_equal "application/openmetrics-text; version=1.0.0; charset=utf-8", open.headers["content-type"]
      assert open.body.end_with?("\n# EOF\n")
      assert_equal "text/plain; version=0.0.4; charset=utf-8", text.headers["content-type"]
      forms = [families(text.body, "text"), families(open.body)]
      figures(forms[0]) == figures(forms[1])
    end
    forms
  end

  # But those of other processes' memory, and times.
  def figures(families) = values(families).reject { |(name, _),| name.match?(/uptime|start_time|rss|_group_|limit_used/) }

  def test_both_forms
    app = served_ruby(APP)
    tell_and_rest(app, "keep 30")
    [{}, { "Accept" => "*/*" }, { "Accept" => "text/plain; version=0.0.4" }].each do |accept|
      old, new = both_forms(accept)
      assert_equal figures(new), figures(old)
      assert_equal new.keys, old.keys
      new.each_value do |f|
        refute_empty f.help
        assert_equal [f.type, f.help], [old[f.name].type, old[f.name].help]
        assert_includes %w[gauge counter], f.type
        assert_equal f.name[/_(bytes|seconds)\z/, 1].to_s, f.unit, f.name
        assert(f.samples.all? { |s| s.name == (f.type == "counter" ? "#{f.name}_total" : f.name) })
      end
      assert_operator new.size, :>=, 27
    end
    # the next second may have a digit more
    eventually("the same length") { get("/metrics").headers["content-length"].to_i == request("HEAD", "/metrics").headers["content-length"].to_i }
    assert app.finish.success?, app.stderr
  end

  # From Debian's package prometheus, of which bin/check unpacks it.
  def test_promtool
    promtool = ENV["PROMTOOL"] || ENV["PATH"].split(":").map { |d| "#{d}/promtool" }.find { |f| File.executable?(f) }
    promtool or flunk "promtool isn't there: bin/check gets it"
    app = served_ruby(APP)
    app.ask("odd")
    run = run_command(promtool, "check", "metrics", stdin: metrics("?top=1000", {}).body)
    assert_equal [true, "", ""], [run.status.success?, run.stdout, run.stderr]
    run = run_command(promtool, "check", "metrics", stdin: "# TYPE a_total gauge\na_total 1\n")
    refute_empty run.stderr, "it sees what is wrong"
    # the dashboard's expressions are PromQL
    rules = everywhere("expr").map.with_index do |e, i|
      { "record" => "x#{i}", "expr" => e.gsub("$__rate_interval", "5m").gsub(/\$(job|instance)/, "x") }
    end
    File.write(path("rules.yml"), JSON.generate("groups" => [{ "name" => "g", "rules" => rules }]))
    run = run_command(promtool, "check", "rules", path("rules.yml"))
    assert_success run
    assert_includes run.stdout, "#{rules.size} rules found"
    assert app.finish.success?
  end

  def test_as_the_other_pages_say
    app = served_ruby(APP)
    tell_and_rest(app, "keep 300")
    got = eventually("a moment in which nothing is allocated") do
      before = stats
      now = [open_values, open_values("?top=1000"), tsv("/each/0.tsv?sort=live_bytes")]
      now if stats.slice("total", "freed") == before.slice("total", "freed")
    end
    now, all, rows = got
    said = stats
    { "allocated_bytes_total" => "total", "allocations_total" => "allocations", "freed_bytes_total" => "freed",
      "frees_total" => "frees", "live_bytes" => "live_bytes", "live_blocks" => "live", "heap_bytes" => "heap_bytes",
      "gc_runs_total" => "generation", "locations" => "locations", "locations_max" => "locations_max",
      "locations_retired_total" => "retired", "lost_records_total" => "lost", "overruns_total" => "overruns",
      "double_frees_total" => "double_frees", "unknown_frees_total" => "unknown_frees", "resets_total" => "resets" }.each do |name, key|
      assert_equal said.fetch(key), now.fetch(["mwrap_#{name}", {}]), name
    end
    assert_equal JSON.parse(body("/heap_pages.json"))["pages"], now.fetch(["mwrap_heap_pages", {}])
    assert_in_delta said["uptime"], now.fetch(["mwrap_uptime_seconds", {}]), 60
    assert_in_delta Time.now.to_f - said["uptime"], now.fetch(["mwrap_start_time_seconds", {}]), 60
    assert_operator now.fetch(["mwrap_rss_bytes", {}]), :>, now.fetch(["mwrap_live_bytes", {}]) - starting(rows)
    assert_equal [1, said["version"], RUBY_VERSION], [now.values.first, *now.keys.first[1].values_at("version", "ruby")]
    refute now.key?(["mwrap_tracker_max_bytes", {}])
    { "bytes" => :live_bytes, "blocks" => :live }.each do |what, column|
      [[now, 20], [all, 1000]].each do |values, top|
        places = values.select { |(name, _),| name == "mwrap_location_live_#{what}" }.to_h { |(_, labels), v| [labels.fetch("location"), v] }
        shown = rows.first(top).select { |r| r.live.positive? }
        assert_equal shown.sum(&column), places.sum { |k, v| k == "(rest)" ? 0 : v }
        assert_equal said[what == "bytes" ? "live_bytes" : "live"], places.values.sum, "and the rest"
        assert_equal shown.map { |r| r.location.sub(/ \[0x\h+\]\z/, "") }, places.keys[0..-2]
        assert_equal "(rest)", places.keys.last
      end
    end
    assert app.finish.success?, app.stderr
  end

  # Exactly where nobody allocates meanwhile; and never less than before where somebody does.
  def test_no_reset_sets_a_counter_back
    app = served_ruby(APP)
    tell_and_rest(app, "keep 300")
    counters = ->(v) { v.select { |(name, _),| name.end_with?("_total") } }
    before = counters[open_values]
    assert_operator before.fetch(["mwrap_allocated_bytes_total", {}]), :>, 3_000_000
    assert_equal 200, post("/reset").status
    assert_operator stats["total"], :<, 1_000_000, "the table's began again"
    after = counters[open_values]
    key = ["mwrap_resets_total", {}]
    assert_equal before.merge(key => before[key] + 1), after
    app.tell("work")
    last = after
    polls = 0
    until polls > 40 && last[["mwrap_resets_total", {}]] > 5
      now = counters[open_values]
      fell = last.reject { |k, v| now.fetch(k) >= v }
      assert_empty fell
      last = now
      polls += 1
    end
    app.tell("stop")
    assert_operator Timeout.timeout(PATIENCE) { app.hear }.to_i, :>=, 0
    assert_operator last[["mwrap_allocations_total", {}]], :>, after[["mwrap_allocations_total", {}]]
    app.hear
    at_rest(app)
    now = open_values
    assert_equal now[["mwrap_live_bytes", {}]], now[["mwrap_allocated_bytes_total", {}]] - now[["mwrap_freed_bytes_total", {}]]
    assert_equal now[["mwrap_live_blocks", {}]], now[["mwrap_allocations_total", {}]] - now[["mwrap_frees_total", {}]]
    assert app.finish.success?, app.stderr
  end

  # Locations that are retired don't count twice, before a reset or after it.
  RETIRES = <<~'RUBY'
    require "mwrap"
    $stdout.sync = true
    Mwrap.quiet { $lines = 140_000 }
    begin
      $lines.times do |i|
        eval("'x' * 1000", nil, "/gone#{ARGV.size}.rb", i + 1)
        puts "goes on" if i % 10_000 == 0 # who waits for a line is patient for a minute
      end
      GC.start
      Mwrap.reset unless ARGV.size > 1
      ARGV << "again"
      puts Mwrap.stats[:retired]
    end while $stdin.gets
  RUBY

  def test_retired_locations_count_once
    app = served_ruby(RETIRES)
    2.times do
      said = app.hear
      said = app.hear while said == "goes on"
      assert_operator said.to_i, :>, 1000
      at_rest(app)
      now = open_values
      assert_equal now[["mwrap_live_bytes", {}]], now[["mwrap_allocated_bytes_total", {}]] - now[["mwrap_freed_bytes_total", {}]]
      assert_equal now[["mwrap_live_blocks", {}]], now[["mwrap_allocations_total", {}]] - now[["mwrap_frees_total", {}]]
      # of each of the lines a string of 1,000 bytes, and what eval itself needs
      assert_operator now[["mwrap_allocated_bytes_total", {}]], :>, 140_000 * 1000
      @before ||= now[["mwrap_allocations_total", {}]]
      app.tell("again")
    end
    now = open_values[["mwrap_allocations_total", {}]]
    assert_in_delta 2.0, now.to_f / @before, 0.25, "the second round is as the first"
    app.kill
  end

  def test_locations_of_any_name
    app = served_ruby(APP)
    tell_and_rest(app, "odd")
    got = families(metrics("?top=1000").body)
    labels = got["mwrap_location_live_bytes"].samples.map { |s| s.labels.fetch("location") }
    ours = labels.grep(%r{\A/srv/.*\.rb:7\z}m)
    assert_equal 9, ours.size
    ["a\"b", "c\\d", "e\nf", "g\th", "\u{1F418}", "{}=,# ", "\ufffd\ufffd"].each { |name| assert_includes ours, "/srv/#{name}.rb:7" }
    assert_equal 2, ours.count { |l| l.include?("…") }
    assert(labels.all? { |l| l.bytesize <= 256 })
    assert(labels.none? { |l| l.match?(/\[0x\h+\]/) })
    # a name that isn't shortened is a location that other pages take
    ours.reject { |l| l.match?(/…|\ufffd/) }.each { |l| assert_equal 200, get("/at/#{escape(l)}").status }
    old = families(metrics("?top=1000", {}).body, "text")
    assert_equal got["mwrap_location_live_bytes"].samples, old["mwrap_location_live_bytes"].samples
    assert app.finish.success?, app.stderr
  end

  def test_parameters
    serving("rows=60")
    count = ->(query) { families(get("/metrics#{query}", OPEN).body)["mwrap_location_live_bytes"].samples.size }
    assert_equal [21, 1, 4, 21, 21], ["", "?top=0", "?top=3", "?top=", "?other=x"].map(&count)
    assert_operator count["?top=1000"], :>, 50
    ["top=1001", "top=-1", "top=x", "top=18446744073709551616", "top=%00", "top=1.0", "x=%zz"].each do |query|
      assert_line get("/metrics?#{query}"), 400
    end
    assert_line post("/metrics"), 405
    %w[/metrics.json /metrics/ /metrics/x].each { |t| assert_line get(t), 404 }
  end

  def test_without_ruby_and_with_a_ceiling
    app = served("sh", "-c", "read x", options: ["memory_max:64m"])
    now = open_values
    assert_equal 64 << 20, now.fetch(["mwrap_tracker_max_bytes", {}])
    assert_equal ["", "none"], now.keys.first[1].values_at("ruby", "ruby_lookup")
    %w[heap_pages heap_bytes gc_runs_total].each { |name| refute now.key?(["mwrap_#{name}", {}]), name }
    assert_operator now.fetch(["mwrap_allocations_total", {}]), :>, 0
    assert app.finish
  end

  # --- the dashboard ----------------------------------------------------------------------------

  def board = @board ||= JSON.parse(File.read(File.join(ROOT, "web/grafana.json")))

  # All values of a key, at any depth.
  def everywhere(key, in_what = board)
    case in_what
    when Hash then in_what.flat_map { |k, v| (k == key ? [v] : []) + everywhere(key, v) }
    when Array then in_what.flat_map { |v| everywhere(key, v) }
    else []
    end
  end

  def test_dashboard_asks_for_metrics_that_there_are
    app = served_ruby(APP, options: "objects:on")
    eventually("Ruby's objects to be sampled") { app.ask("keep 1") && stats["sampled_objects"]["state"] == "on" }
    names = open_values.keys.map(&:first).uniq
    asked = everywhere("expr").grep(String) + everywhere("definition").grep(String) + everywhere("query").grep(String)
    assert_operator asked.size, :>=, 20
    used = asked.flat_map { |e| e.scan(/\bmwrap_\w+/) }.uniq
    # that one is there only while something grows: t/prometheus.t
    assert_empty used - names - %w[mwrap_limit_reached_seconds]
    %w[mwrap_rss_bytes mwrap_live_bytes mwrap_heap_bytes mwrap_location_live_bytes mwrap_allocated_bytes_total].each { |n| assert_includes used, n }
    assert(everywhere("expr").grep(/deriv\(mwrap_live_bytes/).any? && everywhere("expr").grep(/rate\(mwrap_allocated_bytes_total/).any?)
    # a rate is of what only grows, and a derivative of what may shrink
    everywhere("expr").each do |e|
      e.scan(/\b(rate|increase)\((\w+)/) { assert_match(/_total\z/, $2, e) }
      e.scan(/\bderiv\((\w+)/) { refute_match(/_total\z/, $1, e) }
      assert_equal e.count("("), e.count(")"), e
      e.scan(/[{,]\s*(\w+)\s*[=!]~?=?/) { assert_includes %w[job instance process location], $1, e }
    end
    assert app.finish.success?
  end

  def test_dashboard_is_one
    assert_equal %w[datasource job instance process], board["templating"]["list"].map { |v| v["name"] }
    known = board["templating"]["list"].map { |v| v["name"] } + %w[__rate_interval __all]
    JSON.generate(board).scan(/\$\{?(\w+)/) { assert_includes known, $1 }
    panels = board["panels"]
    assert_operator panels.size, :>=, 5
    assert_equal panels.map { |p| p["id"] }.uniq, panels.map { |p| p["id"] }
    assert_equal panels.map { |p| p["title"] }.uniq, panels.map { |p| p["title"] }
    taken = {}
    panels.each do |p|
      at = p.fetch("gridPos")
      assert_operator at["x"] + at["w"], :<=, 24
      at["w"].times { |x| at["h"].times { |y| assert_nil taken[[at["x"] + x, at["y"] + y]], p["title"]; taken[[at["x"] + x, at["y"] + y]] = true } }
      assert_equal "timeseries", p["type"]
      refute_empty p["description"]
      refs = p["targets"].map { |t| t["refId"] }
      assert_equal refs.uniq, refs
      [p, *p["targets"]].each { |o| assert_equal({ "type" => "prometheus", "uid" => "${datasource}" }, o["datasource"]) }
    end
    assert_equal "normal", panels[0].dig("fieldConfig", "defaults", "custom", "stacking", "mode")
    refute JSON.generate(board).match?(%r{https?://}), "nothing comes from elsewhere"
  end
end
