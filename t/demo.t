#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# demo.t - bin/demo names redcarpet's leaking line, finds no leak with the fixed
# version, and leaves nothing behind however it ends.
require_relative "lib/tap"
require "socket"

class DemoTest < Minitest::Test
  APP = File.join(ROOT, "t/demo/app.rb")
  LINE = "#{APP}:#{File.foreach(APP).find_index { |line| line.include?("Render::HTML.new") } + 1}".freeze

  # Runs bin/demo with a temporary folder of its own, which must be empty when
  # it has ended.
  def demo(*args, **rest)
    in_tmp do |dir|
      run = run_command(File.join(ROOT, "bin/demo"), *args, env: { "TMPDIR" => dir, "RUBY" => RUBY }, timeout: 600, **rest)
      assert_empty Dir.children(dir)
      yield run
    end
  end

  def number(text)
    Integer(text.delete(","), 10)
  end

  def test_the_leaking_line_is_named
    demo("--once") do |run|
      assert_success run
      assert_match(%r{^  curl --unix-socket \S+/mwrap\.sock 'http://localhost/each/}, run.stdout)
      assert_match(/^ +growth +live_bytes +live +allocations +frees +location\n +[\d,]+ .* #{Regexp.escape(LINE)}$/, run.stdout)
      said = /^redcarpet's leak: (.*) grew by ([\d,]+) bytes over ([\d,]+) requests$/.match(run.stdout)
      assert said, run.stdout
      assert_equal LINE, said[1]
      # 14 renderers a request, of more than 200 bytes each
      assert_operator number(said[2]), :>, number(said[3]) * 14 * 200
      row = run.stdout.lines.find { |line| line.end_with?(" #{LINE}\n") }
      assert_equal said[2], row.split.first
    end
  end

  def test_the_fixed_version_does_not_leak
    demo("--fixed", "--once") do |run|
      assert_success run
      refute_match(/^redcarpet's leak/, run.stdout)
      assert_match(/^No leak: .* grew by -?[\d,]+ bytes over 3000 requests \(-?\d+ blocks\)$/, run.stdout)
    end
  end

  def test_it_goes_on_until_interrupted_and_cleans_up
    %w[INT TERM].each { |signal| assert_ends_by signal }
  end

  def assert_ends_by(signal)
    in_tmp do |dir|
      IO.popen([{ "TMPDIR" => dir, "RUBY" => RUBY, "LD_PRELOAD" => nil, "MWRAP" => nil },
                File.join(ROOT, "bin/demo"), { pgroup: true, err: %i[child out] }]) do |demo|
        said = Timeout.timeout(600) { demo.each_line.take_while { |line| !line.start_with?("Ctrl-C") }.join }
        assert_match(/^redcarpet's leak: /, said)
        socket = Dir[File.join(dir, "*/mwrap.sock")]
        assert_equal 1, socket.size, said
        app, page = said.scan(%r{http://(127\.0\.0\.1:\d+)/}).flatten
        assert_includes said, "  open http://#{page}/ in a browser\n"
        [app, page].each { |address| TCPSocket.new(*address.split(":")).close }
        Process.kill(signal, demo.pid)
        Timeout.timeout(60) { demo.read }
        [app, page].each { |address| assert_raises(Errno::ECONNREFUSED) { TCPSocket.new(*address.split(":")) } }
      end
      assert_equal signal == "INT", $?.success?, "#{signal}: #{$?}"
      assert_empty Dir.children(dir)
    end
  end

  def test_a_wrong_argument_is_told
    run = run_command(File.join(ROOT, "bin/demo"), "--forever")
    assert_equal 2, run.status.exitstatus
    assert_equal "mwrap: --forever: unknown option: see bin/demo --help\n", run.stderr
  end
end
