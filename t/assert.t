#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# A tracker with assertions (t/tests.mk), and its server and writer of recordings: what the headers state,
# and the order of locks, hold in a process that uses all of them. t/unit/test_assert.c plants violations.

require_relative "lib/tap"
require_relative "lib/allocators"
require "fileutils"

class AssertTest < Minitest::Test
  include MwrapTest

  ASSERTED = File.join(ROOT, ".build/assert")
  OBJECTS = %w[libmwrap.so libmwrap_httpd.so libmwrap_mhd.so libmwrap_record.so].freeze

  # lib/ with these objects, as Mwrap.start loads what lies beside it.
  def lib_in(dir)
    FileUtils.mkdir_p("#{dir}/mwrap")
    FileUtils.cp(OBJECTS.map { |name| File.join(ASSERTED, name) }, dir)
    Dir.chdir(LIB) { Dir["**/*.rb", "mwrap/mwrap_ext.so"].each { |f| FileUtils.mkdir_p(File.dirname("#{dir}/#{f}")); FileUtils.cp(f, "#{dir}/#{f}") } }
    dir
  end

  APP = <<~'RUBY'
    require "socket"
    require "mwrap"
    def get(path, tries = 600)
      s = UNIXSocket.new(ARGV[0])
      s.write("GET #{path} HTTP/1.0\r\n\r\n")
      s.read[/\AHTTP\S+ (\d+)/, 1]
    rescue Errno::ENOENT, Errno::ECONNREFUSED
      raise if (tries -= 1) == 0
      sleep 0.05
      retry
    end
    def child = fork { $kept = Array.new(300) { |i| "c" * i * 9 }; exit!(0) }
    def work(seed)
      kept = []
      20.times { |i| kept << ("x" * (seed * 37 + i * 501)) << [i] * 90; kept.shift if i.odd? }
      Thread.new { kept.map(&:dup) }.join
      eval("def made_#{seed} = '#{'y' * seed}' * 40; made_#{seed}")
      GC.start if seed % 8 == 0
    end
    Mwrap.start("socket:#{ARGV[0]},stacks:700") unless Mwrap.tracking?
    answers = []
    readers = Array.new(2) { |n| Thread.new { %w[/stats.json /each/1 /flame.html /metrics /heap_pages /].rotate(n).each { |p| answers << get(p) } } }
    Array.new(3) { |n| Thread.new { 12.times { |i| work(n * 12 + i); Process.wait(child) if i % 4 == n } } }.each(&:join)
    readers.each(&:join)
    Mwrap.snapshot { Mwrap.each { |_, _| break } } if Mwrap.respond_to?(:snapshot)
    Mwrap.reset
    p Mwrap.stats[:locations].positive?, answers.size, answers.include?("200")
    Process.wait(child)
    p $?.success?
  RUBY

  def run_app(lib, env = {}, dir:)
    File.write("#{dir}/app.rb", APP)
    run = run_command(RUBY, "--disable=gems", "-I#{lib}", "#{dir}/app.rb", "#{dir}/socket", env: env)
    assert_equal ["", "true\n12\ntrue\ntrue\n"], [run.stderr, run.stdout], run.status.to_s
  end

  def test_a_preloaded_one
    in_tmp do |dir|
      run_app(LIB, { "LD_PRELOAD" => "#{ASSERTED}/libmwrap.so", "MWRAP" => "socket:#{dir}/socket,stacks:700,dump_path:#{dir}/dump,dump_every:1" }, dir: dir)
    end
  end

  # A step that loads the server calls dlsym, which leads the calls of new libraries here: also while a thread forks.
  def test_a_start_in_a_running_process
    in_tmp { |dir| run_app(lib_in("#{dir}/lib"), dir: dir) }
  end

  def test_a_recording
    in_tmp do |dir|
      run_app(LIB, { "LD_PRELOAD" => "#{ASSERTED}/libmwrap.so", "MWRAP" => "socket:#{dir}/socket,trace_path:#{dir}/trace" }, dir: dir)
      refute_empty Dir["#{dir}/trace*"]
    end
  end

  # The least blocks of an allocator are aligned to 8, and a record has no room for that bit: also the first block.
  def test_the_first_block
    Allocators.each do |name, path, package|
      assert path, "needs the Debian package #{package}"
      run = run_command("/bin/true", env: { "LD_PRELOAD" => ["#{ASSERTED}/libmwrap.so", path, preload("constructor")].join(":") })
      assert_equal ["", "whole\n"], [run.stderr, run.stdout], name
    end
  end

  def test_what_is_installed_has_none
    OBJECTS.each do |name|
      [LIB, ASSERTED].each { |lib| assert File.exist?(File.join(lib, name)), "run make check-programs" }
      refute_includes File.binread(File.join(LIB, name)), "must stay true", name
    end
    assert_includes File.binread(File.join(ASSERTED, OBJECTS[0])), "must stay true"
  end
end
