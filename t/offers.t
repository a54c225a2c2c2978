#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# offers.t - the extension calls the server's code in libmwrap_httpd.so (src/server/offers), which is loaded when it
# is needed first, and starts nothing; in a forked child, too; what is said if it can't be loaded.
require_relative "lib/tap"
require "fileutils"
require "json"

class OffersTest < Minitest::Test
  include MwrapTest

  HELPERS = <<~'RUBY'
    require "json"
    require "fiddle"
    require "mwrap"
    def maps = File.readlines("/proc/self/maps").grep(/r-x/).filter_map { |l| l[/[^\/]*(?:mwrap|microhttpd)[^\/]*\.so/] }.uniq.sort
    def tasks = Dir["/proc/self/task/*"].size
    def seen = [maps, tasks]
    def strange = %w[mwrap_offers mw_route mwrap_httpd MHD_start_daemon].select { |s| Fiddle::Handle::DEFAULT[s] rescue nil }
    def app = MwrapRack.new.call("REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => "/stats.json").then { |s, _, b| [s, b.enum_for(:each).to_a.join[0]] }
  RUBY

  def values(code, lib: LIB, env: {})
    run = mwrap_run(RUBY, "-I#{lib}", "-e", HELPERS + code, env: env)
    assert_success run
    JSON.parse(run.stdout)
  end

  # A copy of lib/, which the block changes.
  def changed_lib
    in_tmp do |dir|
      FileUtils.cp_r("#{LIB}/.", dir)
      yield dir
    end
  end

  def test_it_is_loaded_when_it_is_needed_and_starts_nothing
    before, each, loaded, strange = values(<<~RUBY)
      found = [seen, (Mwrap.each.to_a; seen)]
      require "mwrap_rack"
      found << seen
      print JSON.generate([found[0], found.uniq.size, [app, seen], strange])
    RUBY
    assert_equal [["libmwrap.so", "mwrap_ext.so"], 1], [before[0], each]
    assert_equal [200, "{"], loaded[0]
    assert_equal [["libmwrap_httpd.so"], []], [loaded[1][0] - before[0], strange]
  end

  def test_holders_load_it
    assert_equal [true, "Array"], values("K = Array.new(9) { 'h' * 5000 }; a = Mwrap.holders; print JSON.generate([maps.include?('libmwrap_httpd.so'), a.class])")
  end

  # Whether it was loaded before the fork or not; children of children.
  def test_forked_children
    seed = rand(1 << 30)
    puts "# seed #{seed}"
    got = values(<<~RUBY)
      require "mwrap_rack"
      random = Random.new(#{seed})
      ask = ->(depth) do
        app if random.rand(3) == 0
        next app[0] if depth == 0
        r, w = IO.pipe
        pid = fork { w.write(ask.(depth - 1)); w.close; exit!(0) }
        w.close
        r.read.to_i.tap { Process.wait(pid) }
      end
      print JSON.generate(Array.new(8) { ask.(random.rand(1..3)) })
    RUBY
    assert_equal [200] * 8, got
  end

  # A Ractor each, and all of them are the first.
  def test_ractors_at_once
    got = values(<<~'RUBY', env: { "RUBYOPT" => "-W0" })
      ractors = Array.new(4) { Ractor.new { Mwrap.holders("none:1") } }
      print JSON.generate(ractors.map { |r| r.respond_to?(:value) ? r.value : r.take })
    RUBY
    assert_equal [[]] * 4, got
  end

  # Root gives up what it needs for reading our folder, here or in a child, before the first use.
  def test_after_a_loss_of_rights
    skip "only root can lose them" unless Process.uid.zero?
    seed = rand(1 << 30)
    puts "# seed #{seed}"
    random = Random.new(seed)
    losses = ["Dir.chroot(Dir.mktmpdir)", "Process::Sys.setuid(65_534)", "Process::Sys.setgid(65_534); Process::Sys.seteuid(65_534)"]
    changed_lib do |dir|
      losses.product(["Mwrap.holders('none:1').class", "MwrapRack.new.class"]).each do |loss, use|
        forks = random.rand(3)
        got = values(<<~RUBY, lib: dir, env: { "LD_PRELOAD" => "#{dir}/libmwrap.so" })
          require "mwrap_rack"
          require "tmpdir"
          #{"exit!(0) if fork.tap { |pid| pid and Process.wait(pid) }\n" * forks}
          #{loss}
          $stdout.syswrite(JSON.generate([(#{use}).to_s]))
          exit!(0)
        RUBY
        assert_equal [use.start_with?("Mwrap.h") ? "Array" : "MwrapRack"], got, "#{loss}, #{use}, #{forks} forks"
      end
    end
  end

  # One line at once, when the application starts, and the application can go on.
  def test_what_is_said_if_it_cannot_be_loaded
    { ->(so) { File.unlink(so) } => /\Alibmwrap_httpd\.so: can't be loaded: /,
      ->(so) { File.write(so, "nothing") } => /\Alibmwrap_httpd\.so: can't be loaded: /,
      ->(so) { File.binwrite(so, File.binread(so).gsub(version.b, version.tr("0-9", "9").b)) } => /\Alibmwrap_httpd\.so: of another version: restart this process\z/
    }.each do |change, said|
      changed_lib do |dir|
        change.call("#{dir}/libmwrap_httpd.so")
        got = values(<<~'RUBY', lib: dir, env: { "LD_PRELOAD" => "#{dir}/libmwrap.so" })
          require "mwrap_rack"
          tries = [-> { MwrapRack.new }, -> { Mwrap.holders }, -> { Mwrap::Pages.form?("/") }, -> { Mwrap::Pages::Watcher.new },
                   -> { Mwrap::Pages.answer("GET", "/", "", "", {}, nil, false, 0) }, -> { Mwrap::Pages.tick }, -> { Mwrap::Pages.idle? },
                   -> { Mwrap::Pages.page("", "", "", "") }, -> { Mwrap::Pages.passage?("/") }, -> { Mwrap::Pages.pass(9, "/", "", "", nil) }]
          print JSON.generate(tries.map { |t| (t.call; nil) rescue [$!.class, $!.message] })
        RUBY
        assert_equal [10, ["RuntimeError"]], [got.size, got.map { |g| g&.first }.uniq], got.inspect
        assert_match said, got[0][1]
        assert_equal 1, got.uniq.size, got.inspect
      end
    end
  end

  def version = @version ||= File.read("#{ROOT}/src/api/version.h")[/"(.*)"/, 1]

  # MwrapRack may be made before Mwrap.start; without a tracker nothing of it is loaded.
  def test_without_a_tracker_and_after_a_start
    run = run_command(RUBY, "-I#{LIB}", "-e", "#{HELPERS}#{<<~'RUBY'}")
      require "mwrap_rack"
      require "mwrap/objects"
      rack = MwrapRack.new
      ask = -> { rack.call("REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => "/each/0")[0] }
      got = [ask.call, maps, Mwrap::Objects.answer("/objects", nil, "")[0]]
      Mwrap.start
      print JSON.generate(got + [ask.call, maps.include?("libmwrap_httpd.so")])
    RUBY
    assert_success run
    assert_equal [503, ["mwrap_ext.so"], 200, 200, true], JSON.parse(run.stdout)
  end
end
