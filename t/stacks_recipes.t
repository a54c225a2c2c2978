#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# doc/stacks.md stays true: what it tells to do with pprof is run, and the example of methods that are defined
# for ever; the configurations of Alloy and of Parca ask for an address, a token and pages that there are.
# A block of code is known by the word after its language: ```sh pprof.
require_relative "lib/served"
require_relative "lib/access"
require_relative "lib/go_pprof"
require_relative "lib/routes"
require "yaml"

class StacksRecipesTest < Minitest::Test
  include AccessTest

  PAGE = File.read(File.join(ROOT, "doc/stacks.md"))
  BLOCKS = PAGE.scan(/^```(\w+) (\S+)\n(.*?)^```$/m).to_h { |language, name, text| [name, [language, text]] }
  APP = <<~RUBY
    $stdout.sync = true
    KEPT = []
    def keep = KEPT << ("x" * 20_000)
    def from_one(n) = n.times { keep }
    def from_two(n) = n.times { keep }
    GC.disable
    from_one(400)
    puts "ready"
    while $stdin.gets
      from_two(300)
      puts "done"
    end
  RUBY

  def block(name) = BLOCKS.fetch(name)[1]

  # A block of the page with the socket and the port that are here; what it printed.
  def shell(text, port: nil)
    in_tmp do |dir|
      text = text.gsub("/tmp/mw.sock", path).gsub("127.0.0.1:9180", "127.0.0.1:#{port}")
      env = { "PATH" => "#{ROOT}/bin:#{ENV["PATH"]}", "HOME" => dir, "PPROF_TMPDIR" => dir, "GOTOOLCHAIN" => "local", "GOCACHE" => GoPprof::CACHE, "GOFLAGS" => "" }
      run = run_command("sh", "-euc", text, env: env, chdir: dir)
      assert_success run
      run.stdout
    end
  end

  # Cumulative bytes of a method in what `pprof -top -cum` prints
  def cum(text, method)
    amount, unit = text[/^ *\S+ +\S+% +\S+% +(\S+) +\S+%  #{Regexp.escape(method)}$/, 1].to_s.match(/\A([\d.]+)(B|kB|MB|)\z/)&.captures
    amount.to_f * { "kB" => 1 << 10, "MB" => 1 << 20 }.fetch(unit, 1)
  end

  def start(*options, stacks: "64k")
    served_ruby(APP, options: ["stacks:#{stacks}", *options]).tap { |app| assert_equal "ready", app.hear }
  end

  def test_pprof
    start
    out = shell(block("pprof"))
    assert_in_delta 8_000_000, cum(out, "Object#from_one"), 400_000
    assert_equal 0, cum(out, "Object#from_two")
  end

  def test_a_difference
    app = start(stacks: "8k") # at 64k one run in fifteen was 11 % off: too few samples
    text = block("difference")
    assert_equal 1, text.scan(/^sleep 600$/).size
    first, last = text.split(/^sleep 600\n/)
    in_tmp do |dir|
      shell(first.gsub("before.pb", "#{dir}/before.pb"))
      app.ask("more")
      out = shell(last.gsub("before.pb", "#{dir}/before.pb"))
      # the first method's bytes may be estimated a little otherwise now
      assert_in_delta 6_000_000, cum(out, "Object#from_two") + cum(out, "Object#from_one"), 600_000
      assert_operator cum(out, "Object#from_two"), :>, 4_500_000
    end
  end

  def test_a_port
    app = start("listen:127.0.0.1:0")
    assert_in_delta 8_000_000, cum(shell(block("port"), port: port_of(app)), "Object#from_one"), 400_000
  end

  # --- the others' configurations ---------------------------------------------------------

  # Of the line that starts the cluster
  def cluster = block("cluster")[/MWRAP=(\S+)/, 1].split(",").to_h { |item| item.split(":", 2) }

  # address, token's file and path of what a scraper asks for
  def assert_asks(address, token, path)
    assert_equal cluster.values_at("listen", "token_file"), [address, token]
    assert_equal "/all", path[%r{\A/[^/]+}]
    assert_includes MwrapTest::ROUTES.map(&:pattern), path.delete_prefix("/all")
  end

  def test_alloy
    text = block("config.alloy")
    on = text.scan(/^    profile\.(\w+) \{\n(.*?)^    \}/m).reject { |_, inside| inside.include?("enabled = false") }
    assert_equal %w[memory], on.map(&:first)
    assert_equal %w[block goroutine mutex process_cpu], (text.scan(/profile\.(\w+) \{/).flatten - %w[memory]).sort
    value = ->(key) { text[/\b#{key}"? *= *"([^"]*)"/, 1] }
    assert_asks(value.("__address__"), value.("bearer_token_file"), value.("path_prefix") + value.("path"))
    assert_equal text.count("{"), text.count("}")
  end

  def test_parca
    jobs = YAML.safe_load(block("parca.yaml"))["scrape_configs"]
    assert_equal 1, jobs.size
    pprof = jobs[0]["profiling_config"]["pprof_config"]
    assert_equal %w[block goroutine memory mutex process_cpu], pprof.keys.sort
    assert_equal %w[memory], pprof.reject { |_, c| c["enabled"] == false }.keys
    assert_asks(jobs[0].dig("static_configs", 0, "targets", 0), jobs[0].dig("authorization", "credentials_file"), jobs[0]["profiling_config"]["path_prefix"] + pprof["memory"]["path"])
  end

  # Asks as they would: a cluster by one port, with the token in a header
  def test_what_they_ask_for_is_answered
    app = start("listen:127.0.0.1:0", "token_file:#{token_file}")
    %w[heap allocs].each do |name|
      eventually("an answer for all") { get("/all/debug/pprof/#{name}", bearer, at: port_of(app)).status == 200 }
      r = get("/all/debug/pprof/#{name}", bearer, at: port_of(app))
      assert_equal ["application/octet-stream", "\x1f\x8b".b], [r.headers["content-type"], r.body.b[0, 2]]
      assert_equal 401, get("/all/debug/pprof/#{name}", at: port_of(app)).status
    end
  end

  def test_every_block_of_shell_parses
    found = BLOCKS.values.select { |language, _| language == "sh" }
    assert_operator found.size, :>=, 6
    found.each { |_, text| assert_success run_command("sh", "-nc", text) }
  end

  # --- the example -------------------------------------------------------------------------

  # The page's figures are of one run; the same hold here, a little larger or smaller.
  def test_methods_for_ever
    script = "#{ROOT}/t/demo/methods.rb"
    app = served(RUBY, "--disable=gems", script, options: ["stacks:64k"])
    assert_equal "ready", app.hear
    at_rest(app)
    number, = PAGE.match(/`methods\.rb:(\d+)` holds [\d.]+ MB in [\d,]+ blocks/).captures
    worst = tsv.reject { |r| r.location == STARTING }.max_by(&:live_bytes)
    assert_equal "#{script}:#{number}", worst.location
    assert_operator worst.live, :>, 100_000
    out = shell(block("methods"))
    shown = PAGE[/-hide=\^libruby heap\.pb\n```\n\n(.*?)\n\n/m, 1].lines.drop(1).map { |l| l[/.*%  (.*)$/, 1] }
    # the functions' names are those of this Ruby, and which it exports
    shown = shown.grep_v(/\Arb_/) unless RUBY_VERSION.start_with?("3.1.")
    assert_operator shown.size, :>=, 5
    shown.each { |name| assert_operator cum(out, name), :>, 0, "#{name}\n#{out}" }
    ["Request#serve", "Settings.define_readers"].each { |name| assert_includes 6..20, cum(out, name) / 1_000_000, "#{name}\n#{out}" }
  end
end
