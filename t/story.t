#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# story.t - doc/story.md and doc/tasks.md stay true: their commands are taken from the pages and run, and each ends as the
# page says. A block of code is known by the word after its language: ```sh sentence.
require_relative "lib/tap"
require_relative "lib/patience"
require "fileutils"
require "yaml"

class StoryTest < Minitest::Test
  include Patience

  PAGES = %w[story.md tasks.md].map { |name| File.read(File.join(ROOT, "doc", name)) }
  BLOCKS = PAGES.flat_map { |text| text.scan(/^```\w+ (\S+)\n(.*?)^```$/m) }.to_h

  def setup
    super
    @dir = Dir.mktmpdir("mwrap-story")
    @pids = []
    %w[sessions.rb bloat.rb].each { |name| FileUtils.cp(File.join(ROOT, "t/demo", name), @dir) }
    FileUtils.mkdir_p("#{@dir}/reports")
    FileUtils.mkdir_p("#{@dir}/bin")
    File.symlink(RUBY, "#{@dir}/bin/ruby")
    %w[mwrap mwrapctl].each { |name| File.write("#{@dir}/bin/#{name}", %(#!/bin/sh\nexec "#{RUBY}" "#{ROOT}/lib/exe/#{name}" "$@"\n), perm: 0o755) }
  end

  def teardown
    @pids.each { |pid| Process.kill(:KILL, -pid) rescue nil }
    @pids.each { |pid| Process.wait(pid) rescue nil }
    FileUtils.rm_rf(@dir)
    super
  end

  def env = { "PATH" => "#{@dir}/bin:#{ENV["PATH"]}", "MWRAP" => nil, "RUBYOPT" => nil, "RUBYLIB" => MwrapTest::FIDDLE, "GITHUB_ACTIONS" => nil }

  # A block, with the page's paths in this test's folder
  def here(name) = BLOCKS.fetch(name).gsub("/tmp/mw.sock", "#{@dir}/mw.sock").gsub("/var/mwrap", "#{@dir}/reports")

  def run_block(name, status: 0)
    run = run_command("sh", "-euc", here(name), env: env, chdir: @dir, timeout: 120)
    assert_equal [status, ""], [run.status.exitstatus, status.zero? ? run.stderr : ""], "#{name}: #{run.stdout}#{run.stderr}"
    run.stdout
  end

  # One search for holders at a time: the verdict's own proof may be under way.
  def run_patiently(name)
    eventually("no other search") do
      run = run_command("sh", "-euc", here(name), env: env, chdir: @dir, timeout: 120)
      next if run.stderr.include?("another search is under way")
      assert_equal [0, ""], [run.status.exitstatus, run.stderr], name
      run.stdout
    end
  end

  # A block that ends in &, until the test ends
  def background(name)
    pid = Process.spawn(env, "sh", "-euc", "exec env #{here(name).chomp.delete_suffix(" &")}", chdir: @dir, in: File::NULL, out: "#{@dir}/out", err: "#{@dir}/err", pgroup: true)
    @pids << pid
    eventually("its server") { File.socket?("#{@dir}/mw.sock") }
  end

  def test_the_story
    background("start")
    eventually("the sentence", 400) { run_block("sentence").include?("sessions.rb:9") }
    # a collection may just have freed more blocks than were kept
    eventually("more bytes and blocks") { run_block("line")[/^.*sessions\.rb:9$/]&.match?(/\A *\d+\.\d\d +\+[\d.]+ [KM]B +\+[\d,]+ /) }
    assert_match(/\d+ held by String: vm → Object::Sessions → Sessions::ALL → Hash → String$/, run_patiently("holder"))
    File.write("#{@dir}/check_sessions.rb", BLOCKS.fetch("check_sessions.rb"))
    assert_match(/\Aleak: sessions\.rb:9: loses 1 block \(3\d\d\d bytes\) of each call; held by String: vm → Object::Sessions → Sessions::ALL → Hash → String/, run_block("check", status: 1))
    mend
    assert_equal "clean: check_sessions.rb\n", run_block("check")
    story = PAGES[0]
    assert_includes File.read("#{ROOT}/t/demo/sessions.rb"), story[/^```ruby\n(.*?)^```$/m, 1], "the page shows the program"
  end

  def mend
    path = "#{@dir}/sessions.rb"
    text = File.read(path)
    File.write(path, text.sub("# forgotten: ALL.delete(id)", BLOCKS.fetch("mending").chomp))
    refute_equal text, File.read(path)
  end

  def test_after_a_kill
    File.write("#{@dir}/killed.rb", <<~'RUBY')
      kept = []
      until Dir["#{__dir__}/reports/killed.rb-*Z"].any? && Dir["#{__dir__}/reports/dump.*"].size > 1
        kept << "x" * 100_000 if kept.size < 1000
        sleep 0.005
      end
      Process.kill(:KILL, $$)
    RUBY
    run = run_command("sh", "-uc", here("killed"), env: env, chdir: @dir, timeout: 120)
    refute run.status.success?
    list, rest = run_block("read-report").split(/^(?=.*Written|Process )/, 2)
    assert_match(/killed\.rb-\d+-\d{8}T\d{6}Z/, list)
    first = rest.lines.grep(/killed\.rb:3$/)[0]
    assert_match(/\A *[\d.]+ MB /, first, rest)
    assert_match(/^.*\+.*killed\.rb:3$/, run_block("compare-dumps"))
  end

  def test_no_line_grows
    background("bloat")
    eventually("ready", 120) { File.read("#{@dir}/out").include?("ready") }
    assert_match(/MB \(\d+ %\) is empty pages that malloc keeps and malloc_trim gives back\./, run_block("map"))
    rss = -> { File.read("/proc/#{@pids[0]}/statm").split[1].to_i }
    before = rss.call
    assert_match(/\Atrim: /, run_block("trim"))
    assert_operator rss.call, :<, before / 2
  end

  def test_which_allocator
    File.write("#{@dir}/work.rb", "keep = []\n4.times { Array.new(4) { Thread.new { 3000.times { |i| keep << 'x' * (500 + i); keep.shift if i % 3 > 0 } } }.each(&:join) }\n")
    assert_match(/^(With .* would have peaked at|No other setting would have peaked)/, run_block("record"))
  end

  # The step that looks for leaks, with GitHub's shell
  def look(step)
    run_command("bash", "-e", "-o", "pipefail", "-c", step, env: env.merge("GITHUB_ACTIONS" => "true"), chdir: @dir, timeout: 120)
  end

  def test_the_workflow
    flow = YAML.safe_load(BLOCKS.fetch(".github/workflows/leaks.yml"))
    steps = flow.dig("jobs", "leaks", "steps")
    assert_equal %w[push pull_request], flow[true], "YAML takes the key on for true, and GitHub knows"
    packages = File.readlines("#{ROOT}/t/lib/packages").grep(/\Abuild /).map { |line| line.split[1] }
    assert_empty packages - steps[3]["run"].split - %w[libcmocka-dev ruby ruby-dev], "all that a build needs"
    FileUtils.mkdir_p("#{@dir}/test/leaks")
    FileUtils.mv("#{@dir}/sessions.rb", "#{@dir}/test")
    File.write("#{@dir}/test/leaks/sessions.rb", BLOCKS.fetch("check_sessions.rb").sub('"sessions"', '"../sessions"'))
    run = look(steps[4]["run"])
    assert_equal 1, run.status.exitstatus, run.stderr
    assert_match(/::error file=\S*sessions\.rb,line=9/, run.stdout + run.stderr)
    FileUtils.mv("#{@dir}/test/sessions.rb", @dir)
    mend
    FileUtils.mv("#{@dir}/sessions.rb", "#{@dir}/test")
    assert_success look(steps[4]["run"])
  end
end
