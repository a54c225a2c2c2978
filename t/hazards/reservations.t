#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Address space that is reserved and not used: V8, WebAssembly's engines, sanitizers and others take terabytes of
# it. Each page of the server's answers, and takes neither memory nor page tables for it.
# t/unit/test_map_sparse.c has each way to ask the kernel, and random layouts.

require_relative "../lib/served"
require_relative "../lib/tap"

class ReservationHazards < Minitest::Test
  include HttpdTest
  include Served

  APP = <<~'RUBY'
    require "fiddle"
    $stdout.sync = true
    P, I, N = Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT, Fiddle::TYPE_LONG
    def native(name, *args, to) = Fiddle::Function.new(Fiddle::Handle::DEFAULT[name], args, to)
    MMAP = native("mmap", P, N, I, I, I, N, P)
    PROTECT = native("mprotect", P, N, I, I)
    # private, anonymous, without a reservation of memory
    def reserve(bytes, access) = MMAP.call(nil, bytes, access, 0x4022, -1, 0).to_i
    def write(at) = Fiddle::Pointer.new(at)[0, 1] = "x"
    KEPT = Array.new(1000) { "k" * 1000 }
    puts "ready"
    while (line = $stdin.gets)
      puts eval(line).inspect
    end
  RUBY

  ROUTES = %w[/map.json /map /map/trim /map/whatif?at=none /verdict /verdict.json /stats /stats.json /each/10 /heap_pages /overruns /metrics
              /holders.json /holders /kinds.json /snapshot.tsv /debug/pprof/heap /flame.json /history.json /all/map.json /all/ /all/stats.json].freeze
  # KB that all of these may take, once each has answered without a reservation
  MEMORY = 6 << 10
  TABLES = 512

  def status(app, name) = File.read("/proc/#{app.pid}/status")[/^#{name}:\s+(\d+)/, 1].to_i

  def ask_all
    ROUTES.to_h do |route|
      r = get(route)
      assert_includes [200, 404], r.status, "#{route}: #{r.body}"
      yield route if block_given?
      [route, r]
    end
  end

  # No answer costs more than `memory` after the code ran.
  def costs_nothing(code, memory: MEMORY)
    app = served_ruby(APP)
    assert_equal "ready", app.hear
    usual = ask_all
    made = app.ask(code)
    refute_equal "false", made
    File.write("/proc/#{app.pid}/clear_refs", "5") # from here on VmHWM is the most at once
    before, tables = %w[VmRSS VmPTE].map { |name| status(app, name) }
    answers = ask_all do |route|
      assert_operator status(app, "VmHWM") - before, :<, memory, "#{route}: KB of memory"
      assert_operator status(app, "VmPTE") - tables, :<, TABLES, "#{route}: KB of page tables"
    end
    assert_equal usual.transform_values(&:status), answers.transform_values(&:status)
    map = JSON.parse(answers["/map.json"].body)
    assert_equal 0, map["left_out_bytes"]
    # a map's own memory while it is made counts, too
    assert_in_delta map["rss_bytes"], map["seen_bytes"], map["rss_bytes"] / 20.0 + ((memory - MEMORY) << 10)
    yield app, made, map
  end

  def test_terabytes
    costs_nothing("[reserve(20 << 40, 0), reserve(20 << 40, 3)].all? { |at| at.positive? && at < 1 << 63 }") do |_, _, map|
      if map["unsearched_bytes"].positive? # a kernel that must be asked page by page
        assert_match(/ of address space wasn\u2019t searched for memory, as it takes too long\./, map["sentence"])
      else
        refute_match(/address space/, map["sentence"])
      end
    end
  end

  # A page in each 64 MiB, as nearly empty heaps have.
  def test_a_page_in_each_window
    costs_nothing("at = reserve(2000 << 26, 3); 2000.times { |i| write(at + (i << 26) + 4096 * (i * 7919 % 16384)) }; at") do |_, at, map|
      at = Integer(at)
      spans = map["panels"].flat_map { |p| p["spans"] }.count { |s| Integer(s[0].to_s, 16).between?(at, at + (2000 << 26)) }
      assert_in_delta 2000, spans, 5, "neighbours that the kernel joined with it have some, too"
    end
  end

  # Each other page without access: each of them is a mapping of its own, and takes 200 bytes while a map is made.
  def test_many_mappings
    most = [File.read("/proc/sys/vm/max_map_count").to_i - 1000, 60_000].min / 2
    costs_nothing("at = reserve(#{most} << 13, 3); write(at); #{most}.times { |i| PROTECT.call(at + (i << 13), 4096, 0) }; at", memory: MEMORY + most / 2) do |app, _, _|
      assert_operator File.foreach("/proc/#{app.pid}/maps").count, :>, most
    end
  end
end
