#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# ctl_objects.t - mwrapctl objects: Ruby's own heap, asked through a MwrapRack under Puma, and what is
# said where there is none.
require_relative "lib/racked"
require_relative "lib/runs_ctl"
require "net/http"

class CtlObjectsTest < Minitest::Test
  include RunsCtl

  def under_puma
    app, @port = rack_served
    File.write(path("token"), "t\n")
    @url = "http://127.0.0.1:#{@port}/m"
    app
  end

  def keep(n) = Net::HTTP.get(URI("http://127.0.0.1:#{@port}/keep?#{n}&#{"/srv/kept.rb".unpack1("H*")}"))

  def test_views
    under_puma
    assert_written(marked = ctl("objects", @url, "--mark", "--token-file", path("token")))
    assert_equal "objects/mark: growth of Ruby's objects counts from now on\n", marked.stdout
    keep(300)
    classes = rows_of("objects", @url)
    assert_equal %w[count growth memsize class], classes[0].keys
    string = classes.find { |r| r["class"] == "String" }
    assert_includes 300..string["count"], string["growth"]
    assert_operator string["memsize"], :>=, 300 * 9000
    assert_equal classes.map { |r| r["memsize"] }.sort.reverse, classes.map { |r| r["memsize"] }
    assert_includes rows_of("objects", @url, "counts").map { |r| r["type"] }, "T_STRING"
    assert_equal 1, rows_of("objects", @url, "counts", "-n", "1").size
    assert_includes rows_of("objects", @url, "iseqs").map { |r| r["file"] }.join(" "), "rack_serve.rb"
    assert_includes rows_of("objects", @url, "stacks").map { |r| r["stack"] }, "main thread"
    assert_equal %w[slot_size used total percent generation age address], rows_of("objects", @url, "pages", "-n", "1")[0].keys
    found = rows_of("objects", @url, "find/MwrapRack", "--depth", "2")
    assert_equal [1, 2], found.map { |r| r["level"] }.uniq
    again = json_of("objects", @url, "find/#{found.find { |r| r["address"] != "" }["address"]}")
    assert_equal 1, again["objects"]
    assert_match(/\A0x\h+\z/, again["what"])
    assert_equal ["(not traced)"], rows_of("objects", @url, "class/MwrapRack").map { |r| r["location"] }
    text = ctl("objects", @url, "--text", "-n", "2")
    assert_written text
    assert_match(/\AObjects by class\nobjects [\d,]+  memsize [\d.]+ [KMG]B  since \d+\n\n +COUNT +GROWTH +BYTES  CLASS\n/, text.stdout)
    assert_match(/^\d+ more: -n \d+$/, text.stdout)
  end

  def test_what_is_refused
    app = under_puma
    {
      ["objects"] => "SOCKET: missing: see mwrapctl help objects",
      ["objects", @url, "nothing"] => 'VIEW: "nothing" is unknown: use classes, counts, iseqs, stacks, pages, class/NAME or find/NAME',
      ["objects", @url, "find/"] => 'VIEW: "find/" is unknown: use classes, counts, iseqs, stacks, pages, class/NAME or find/NAME',
      ["objects", @url, "classes", "--mark"] => "--mark: not with a VIEW: give one of them",
      ["objects", @url, "classes", "--depth", "2"] => "--depth: only for find/NAME",
      ["objects", @url, "find/X", "--depth", "0"] => '--depth: "0" is not a count: write digits, from 1 on'
    }.each { |words, message| assert_refused ctl(*words), message, 2 }
    assert_refused ctl("objects", @url, "find/No::Such%Class"), "#{@url}: no such object or class"
    assert_refused ctl("objects", @url, "find/X", "--depth", "9"), "#{@url}: depth: 1 to 8 expected"
    assert_refused ctl("objects", @url, "--mark"), "#{@url}: needs a token: give the right file by --token-file"
    assert_refused ctl("objects", "http://127.0.0.1:#{@port}/else"), "http://127.0.0.1:#{@port}/else: Not Found: /else/objects/classes"
    assert_equal "", app.stderr
  end

  # The tracker's own server can't have Ruby's lock.
  def test_where_there_is_no_rack
    serving
    [[], %w[stacks], %w[--mark]].each do |words|
      assert_refused ctl("objects", path, *words), "#{path}: has no views of Ruby's objects: name the address at which the app mounts MwrapRack"
    end
  end
end
