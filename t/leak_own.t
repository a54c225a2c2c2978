#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# This project's own extension under its own leak test: each call that reads the table keeps nothing.
# Each in a process of its own.
require_relative "lib/tap"
require_relative "leaks/gems"

class LeakOwnTest < Minitest::Test
  CALLS = {
    "each" => "Mwrap.each { |location, *| location.size }",
    "each of many" => "Mwrap.each(1000).first(5); Mwrap.each.size",
    "each that is left" => "Mwrap.each { break }; (Mwrap.each { raise 'x' }) rescue nil; Mwrap.each.next",
    "a location" => "l = Mwrap[AT]; l.each { |size, _| size }; l.each { break }; [l.total, l.live, l.mean_lifespan, l.name]; Mwrap['none']; Mwrap[\"x\\t[0x1]\"]",
    "dump" => "Mwrap.dump(StringIO.new, 100); File.open(File::NULL, 'w') { |f| Mwrap.dump(f) }; Mwrap.dump(1) rescue nil",
    "stats" => "Mwrap.stats; Mwrap.total_bytes_allocated",
    "stacks" => "Mwrap.stacks; Mwrap.stacks(AT); Mwrap.stacks(by: :total)",
    "holders" => "Mwrap.holders(AT)",
    "quiet" => "Mwrap.quiet { 'x' * 50 }; (Mwrap.quiet { raise 'x' }) rescue nil",
    "heap pages" => "Mwrap::HeapPageBody.each { |a, g| a + g }; Mwrap::HeapPageBody.stat; Mwrap::HeapPageBody.each { break }",
    "reset and options" => "Mwrap.bt = 2; Mwrap.bt = 0; Mwrap.check_options('socket:/tmp/x,nonsense:1'); Mwrap.start('nonsense') rescue nil",
    "objects" => "Mwrap::Objects.pages; Mwrap::Objects.classes",
  }.freeze
  ANSWERS = {
    200 => %w[/ /each/0 /each/0.json /each/0.csv /stats.json /heap_pages /verdict.json /metrics /overruns.json /flame.json /stacks.collapsed /debug/pprof/heap],
    404 => %w[/nothing], 400 => %w[/each/0?sort=x]
  }.freeze

  # Runs a step, and what comes before it.
  def assert_clean(before, step)
    script = <<~RUBY
      require "mwrap/check"
      require "stringio"
      Mwrap.start
      KEPT = Array.new(50) { "kept" * 100 }
      AT = "\#{__FILE__}:4"
      #{before}
      result = Mwrap::Check.run { #{step} }
      abort result.lines.join("\\n") unless result.clean?
    RUBY
    in_tmp do |dir|
      File.write("#{dir}/own.rb", script)
      run = run_command(RUBY, "-W0", "-I#{LIB}", "#{dir}/own.rb", env: LeakGems.env(LeakGems.home(ROOT)))
      assert run.status.success?, "#{run.status}\n#{run.stderr}"
    end
  end

  CALLS.each do |name, step|
    define_method("test_#{name}") { assert_clean(step.include?("Objects") ? 'require "mwrap/objects"' : "", step) }
  end

  ANSWERS.flat_map { |status, paths| paths.map { |path| [status, path] } }.each do |status, path|
    define_method("test_rack: #{path}") do
      assert_clean(<<~RUBY, <<~RUBY)
        require "mwrap_rack"
        APP = MwrapRack.new
      RUBY
        env = { "REQUEST_METHOD" => "GET", "PATH_INFO" => #{path.split("?")[0].inspect}, "QUERY_STRING" => #{path.split("?")[1].to_s.inspect}, "SCRIPT_NAME" => "" }
        status, _, body = APP.call(env)
        status == #{status} or raise "status \#{status}"
        body.each(&:size)
        body.close if body.respond_to?(:close)
      RUBY
    end
  end
end
