#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Code that only reports run isn't mapped in a process that nobody looks at (src/shared/sys/border.h).

require "etc"
require_relative "lib/served"

class BorderTest < Minitest::Test
  include Served

  # kB of a library's code in memory: of its mappings, in their order.
  def code(pid, library)
    inside = false
    File.foreach("/proc/#{pid}/smaps").filter_map do |line|
      inside = line.match?(/ r-xp .*\/#{library}\.so$/) if line.match?(/\A\h+-\h+ /)
      Integer(line[/\d+/]) if inside && line.start_with?("Rss:")
    end
  end

  def setup
    super
    skip "pages are larger than 4 kB" unless Etc.sysconf(Etc::SC_PAGESIZE) == 4096
  end

  # How much of the last part is mapped differs from run to run, from 4 to 52 kB: it isn't asserted.
  def assert_apart(parts)
    assert_equal 3, parts.size, "the page between the two is a mapping of its own"
    assert_operator parts[0], :>=, 64
    assert_operator parts[1], :<=, 4
    assert_operator parts[2], :<, parts[0]
  end

  SCRIPT = "KEEP = Array.new(20_000) { |i| 'x' * (i % 700) }; GC.start; puts 'ready'; $stdout.flush; $stdin.gets"

  def test_the_tracker
    app = served_ruby(SCRIPT, options: ["stacks:64k"])
    app.hear
    assert_apart code(app.pid, "libmwrap")
  end

  def test_the_server
    app = served_ruby(SCRIPT)
    app.hear
    eventually("its socket") { File.socket?(path) }
    at_rest(app)
    assert_apart code(app.pid, "libmwrap_httpd")
  end

  def test_what_is_asked_for_is_there
    app = served_ruby(SCRIPT)
    app.hear
    assert_includes body("/each/0.tsv"), "location"
    assert_operator code(app.pid, "libmwrap_httpd").last, :>, 16
  end
end
