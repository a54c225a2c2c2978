#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Hazards of what else is preloaded: libraries that interpose functions of files and clocks,
# and can't be called any more when their destructors have run.

require_relative "../lib/hazard"

class PreloadHazards < Minitest::Test
  # Allocates, waits for what $WAIT names, if anything does, and ends.
  SCRIPT = <<~'RUBY'
    KEEP = Array.new(200) { "k" * 5000 }
    100.times { GC.start }
    sleep 0.01 until !ENV["WAIT"] || Dir[ENV["WAIT"]].any?
    puts "fine"
    exit 3
  RUBY

  OPTIONS = {
    "a dump of each format" => %w[text tsv csv json].map { |f| "dump_path:%DIR%/dump,dump_format:#{f}" },
    "of Ruby's heap" => ["dump_path:%DIR%/dump,dump_heap:3"],
    "of those that go at the end" => ["dump_path:%DIR%/dump,dump_every:1"],
    "a server" => ["dump_path:%DIR%/dump,socket:%DIR%/s"],
    "both" => ["dump_path:%DIR%/dump,dump_every:1,socket_dir:%DIR%/s"]
  }.freeze

  # The file that shows that the threads which options ask for are at work.
  def at_work(options, dir)
    return "#{dir}/dump.*Z" if options.include?("dump_every")
    return "#{dir}/s/*.sock" if options.include?("socket_dir")
    "#{dir}/s" if options.include?("socket")
  end

  # The same ending and output as natively, with a dump; no thread of ours calls what is gone.
  def assert_survives(library, options, env: {})
    native = run_command(MwrapTest::RUBY, "-e", SCRIPT, env: { "LD_PRELOAD" => library, **env })
    assert_equal [3, "fine\n", ""], [native.status.exitstatus, native.stdout, native.stderr]
    [[MwrapTest::TRACKER, library], [library, MwrapTest::TRACKER]].each do |order|
      in_tmp do |dir|
        given = options.gsub("%DIR%", dir)
        vars = { "LD_PRELOAD" => order.join(":"), "MWRAP" => given, "WAIT" => at_work(options, dir), **env }
        run = run_command(MwrapTest::RUBY, "-e", SCRIPT, env: vars)
        what = "#{options}, #{order.map { |f| File.basename(f) }}: #{run.status}"
        assert_equal [native.stdout, native.stderr, native.status.to_s.sub(/\d+/, "")],
                     [run.stdout, run.stderr, run.status.to_s.sub(/\d+/, "")], what
        assert_includes File.read("#{dir}/dump"), "-e:1", what
        assert_empty Dir["#{dir}/dump.*Z"], what
      end
    end
  end

  def test_a_library_that_is_gone_before_the_dump
    OPTIONS.each_value { |all| all.each { |options| assert_survives(preload("gone"), options) } }
  end

  # An overrun that is found at a free after all destructors, and a descriptor for the dump.
  def test_a_library_that_is_gone_before_the_last_free
    gone = preload("gone")
    [[MwrapTest::TRACKER, gone], [gone, MwrapTest::TRACKER]].each do |order|
      in_tmp do |dir|
        File.open("#{dir}/dump", "w") do |to|
          run = run_command(program("lastfree"), env: { "LD_PRELOAD" => order.join(":"), "MWRAP" => "dump_fd:#{to.fileno}" },
                                                 to => to)
          assert_equal ["", true], [run.stdout, run.status.success?], "#{order}: #{run.status} #{run.stderr}"
          assert_match(/\Amwrap: a block of 24 bytes from .* was written past its end\n\z/, run.stderr)
        end
        refute_empty File.read("#{dir}/dump")
      end
    end
  end

  TEXTS = <<~'RUBY'
    require "fiddle"
    require "mwrap"
    text = Fiddle::Function.new(Fiddle::Handle::DEFAULT["strerror"], [Fiddle::TYPE_INT], Fiddle::TYPE_VOIDP)
    ask = -> { text.call(2).to_s }
    p ask.call, Mwrap.quiet { ask.call }, Thread.new { Mwrap.quiet { ask.call } }.value
    p Mwrap.quiet { SystemCallError.new(nil, 99_999).message }
  RUBY

  # The app's language, in Mwrap.quiet as well; ours is always the same, and asks nobody.
  def test_texts_of_errors
    in_tmp do |dir|
      env = { "MWRAP" => "dump_path:#{dir}/none/dump,dump_every:1", "LD_PRELOAD" => "#{MwrapTest::TRACKER}:#{preload("translated")}" }
      run = run_command(MwrapTest::RUBY, "-I#{MwrapTest::LIB}", "-e", TEXTS, env: env)
      assert_equal [*['"2: translated"'] * 3, '"99999: translated"'], run.stdout.lines(chomp: true).map { |l| l.sub("unknown error - ", "") }
      # one for each second that it took, too
      assert_equal "mwrap: dump_path #{dir}/none/dump: No such file or directory\n", run.stderr.gsub("mwrap: dump_every #{dir}/none/dump: No such file or directory\n", "")
      run = run_command(MwrapTest::RUBY, "-e", "sleep 0.01 until $stderr.stat.size > 0", env: env)
      assert_match(/\Amwrap: dump_every .*: No such file or directory$/, run.stderr)
    end
  end

  def test_libfaketime
    found = Dir["/usr/lib/*/faketime/libfaketime.so.1"][0] or flunk "libfaketime isn't installed (Debian: faketime)"
    ["-1d", "+1000d"].each do |time|
      OPTIONS.each_value { |all| assert_survives(found, all[0], env: { "FAKETIME" => time }) }
    end
  end
end
