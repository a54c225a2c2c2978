#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Mwrap::Objects: counts by type, growth since a mark, what stacks hold, and dumps. The numbers are
# those of ObjectSpace, asked at the same moment, or of what was planted.
require_relative "lib/in_ruby"

class ObjectsCountsTest < Minitest::Test
  include InRuby

  # ObjectSpace counts between two calls, without a collection in between.
  def test_types_are_those_of_objectspace
    before, rows, after, facts = value_of(<<~'RUBY')
      require "mwrap/objects"
      require "objspace"
      GC.start
      GC.disable
      ask = -> { ObjectSpace.count_objects.merge(ObjectSpace.count_imemo_objects) }
      ask.call
      Mwrap::Objects.counts
      before = ask.call
      r = Mwrap::Objects.counts
      [before, r.rows, ask.call, r.facts]
    RUBY
    got = rows.to_h { |r| [r[:type].to_sym, r[:count]] }
    assert_equal rows.size, got.size, "each type is there once"
    checked = got.reject { |type,| type == :imemo_other }.each do |type, n|
      assert_operator n, :>=, before.fetch(type, 0), type
      assert_operator n, :<=, after.fetch(type), type
    end
    assert_operator checked.size, :>, 15
    assert_equal before.keys.grep(/\AT_/) - %i[T_IMEMO T_ZOMBIE T_MOVED T_NODE T_RATIONAL T_BIGNUM], before.keys.grep(/\AT_/) & got.keys - %i[T_RATIONAL T_BIGNUM T_ZOMBIE]
    assert_equal got.values.sum, facts[:objects]
    assert_equal rows.sum { |r| r[:memsize] }, facts[:memsize]
    assert_equal rows.sort_by { |r| [-r[:memsize], r[:type]] }, rows
    assert_nil facts[:since]
    assert_equal [nil], rows.map { |r| r[:growth] }.uniq
  end

  # A class's bytes are those of its objects.
  def test_memsize
    rows, want = value_of(<<~'RUBY')
      require "mwrap/objects"
      require "objspace"
      Object.class_eval "class Text < String; end; class List < Array; end; class Map < Hash; end; class Plain; def initialize(n) = n.times { |i| instance_variable_set(%(@v\#{i}), i) }; end"
      $kept = [Array.new(50) { |i| Text.new("x" * i * 7) }, Array.new(50) { |i| List.new(i) }, Array.new(20) { |i| Map.new.merge!((0...i).to_h { |j| [j, j] }) }, Array.new(9) { |i| Plain.new(i * 3) }]
      [Mwrap::Objects.classes.rows, $kept.to_h { |list| [list[0].class.name, [list.size, list.sum { |o| ObjectSpace.memsize_of(o) }]] }]
    RUBY
    got = rows.to_h { |r| [r[:class], r.values_at(:count, :memsize)] }
    assert_equal want, got.slice(*want.keys)
  end

  def test_growth_since_a_mark
    before, marked, after, moved, forked = value_of(<<~'RUBY')
      require "mwrap/objects"
      Object.class_eval "class Grows; end; class Shrinks; end; class Comes; end; class Goes; end"
      $grows, $shrinks, $goes = Array.new(10) { Grows.new }, Array.new(10) { Shrinks.new }, [Goes.new]
      ask = lambda do
        GC.start
        [Mwrap::Objects.classes.then { |r| [r.facts[:since], r.rows.select { |row| %w[Grows Shrinks Comes Goes].include?(row[:class]) }.to_h { |row| [row[:class], row.values_at(:count, :growth)] }] },
         Mwrap::Objects.counts.rows.find { |row| row[:type] == "T_OBJECT" }.values_at(:count, :growth),
         Mwrap::Objects.iseqs.then { |r| [r.facts, r.rows.find { |row| row[:file] == "/srv/made.rb" }&.values_at(:count, :growth)] }]
      end
      eval("def a = 1; def b = 2", TOPLEVEL_BINDING, "/srv/made.rb")
      before = ask.call
      marked = Mwrap::Objects.mark
      Thread.new { $grows.concat(Array.new(25) { Grows.new }); $shrinks = $shrinks.values_at(*0..5); $comes = Array.new(3) { Comes.new }; $goes.clear }.join
      eval("class Made; def c = [1].each { |x| x }; end; def d = begin; 1; rescue; 2; end", TOPLEVEL_BINDING, "/srv/made.rb")
      eval("def e = 1")
      after = ask.call
      reader, writer = IO.pipe
      Process.wait(fork { writer.write(Marshal.dump(ask.call)); exit!(0) })
      writer.close
      forked = Marshal.load(reader)
      Mwrap::Objects.mark
      [before, marked, after, ask.call, forked]
    RUBY
    assert_equal [nil, { "Grows" => [10, nil], "Shrinks" => [10, nil], "Goes" => [1, nil] }], before[0]
    assert_operator marked[:objects], :>, 5000
    assert_operator marked[:iseqs], :>, 100
    assert_kind_of Integer, after[0][0]
    assert_equal({ "Grows" => [35, 25], "Shrinks" => [6, -4], "Comes" => [3, 3] }, after[0][1])
    assert_equal after[1][0] - before[1][0], after[1][1]
    files, made = after[2]
    assert_operator made[1], :>=, 4 # c, its block, d, and what d does for exceptions; a body that has run is garbage
    assert_equal made[0] - before[2][1][0], made[1]
    assert_operator files[:evals], :>=, 1
    assert_includes files[:iseqs] * 9 / 10..files[:iseqs], files.values_at(:methods, :blocks, :bodies, :files, :rescues).sum, "each has a kind, if its label is known"
    %i[blocks rescues].each { |kind| assert_operator files[kind], :>, before[2][0][kind], kind.to_s }
    assert_operator files[:methods], :>, 100
    assert_equal after[0][1], forked[0][1]
    assert_equal({ "Grows" => [35, 0], "Shrinks" => [6, 0], "Comes" => [3, 0] }, moved[0][1])
  end

  def test_posted
    got = value_of(<<~'RUBY', preload: TRACKER)
      require "mwrap_rack"
      Object.class_eval "class Later; end"
      ask = lambda do |app, method, path, **env|
        script = { "REQUEST_METHOD" => method, "PATH_INFO" => path, "SCRIPT_NAME" => "/m", "QUERY_STRING" => "", "HTTP_HOST" => "h" }
        status, headers, body = app.call(script.merge(env.transform_keys(&:to_s)))
        text = +""
        body.each { |s| text << s }
        body.close if body.respond_to?(:close)
        [status, headers, text]
      end
      open, closed, token = MwrapRack.new(authorize: ->(_) { true }), MwrapRack.new, MwrapRack.new(token: "abc")
      none = MwrapRack.new(authorize: ->(_) { true }, read_only: true)
      refused = [ask[closed, "POST", "/objects/mark"], ask[none, "POST", "/objects/mark"], ask[token, "POST", "/objects/mark"], ask[open, "POST", "/objects/mark", HTTP_ORIGIN: "http://elsewhere"],
                 ask[open, "GET", "/objects/mark"], ask[open, "POST", "/objects/counts"]].map { |a| [a[0], a[2].lines.size] }
      still = Mwrap::Objects.classes.facts[:since]
      done = ask[open, "POST", "/objects/mark", HTTP_ORIGIN: "http://h"]
      $later = Array.new(6) { Later.new }
      row = ask[open, "GET", "/objects/classes.tsv"][2].lines(chomp: true).find { |l| l.start_with?("Later\t") }
      json = ask[open, "POST", "/objects/mark", HTTP_ACCEPT: "application/json"]
      back = ask[open, "POST", "/#{$$}/objects/mark", HTTP_ACCEPT: "text/html", HTTP_REFERER: "http://h/m/#{$$}/objects"]
      by_token = ask[token, "POST", "/objects/mark", HTTP_AUTHORIZATION: "Bearer abc"]
      busy = Thread.new { Mwrap::Objects.send(:alone) { $go = true; Thread.stop } }
      Thread.pass until $go
      meanwhile = [ask[open, "POST", "/objects/mark"], ask[open, "GET", "/objects/stacks"]].map { |a| [a[0], a[1]["retry-after"], a[2]] }
      busy.kill.join
      buttons = [open, none, closed].map { |app| ask[app, "GET", "/objects"][2].include?('action="/m/objects/mark"') }
      back[1]["location"].sub!($$.to_s, "PID")
      [refused, still, done, row, json, back, by_token[0], meanwhile, buttons]
    RUBY
    refused, still, done, row, json, back, by_token, meanwhile, buttons = got
    assert_equal [[403, 1], [403, 1], [401, 1], [403, 1], [405, 1], [405, 1]], refused
    assert_nil still, "a refused request marks nothing"
    assert_equal [200, "objects/mark: growth of Ruby's objects counts from now on\n"], done.values_at(0, 2)
    assert_equal "Later\t6\t6\t#{6 * SLOT}", row
    assert_equal [200, true], [json[0], JSON.parse(json[2])["ok"]]
    assert_equal [303, "/m/PID/objects"], [back[0], back[1]["location"]]
    assert_equal 200, by_token
    assert_equal [[503, "1", "another such walk is under way\n"]], meanwhile.uniq
    assert_equal [true, false, false], buttons
  end
end

class ObjectsStacksTest < Minitest::Test
  include InRuby

  SETUP = <<~'RUBY'
    require "mwrap/objects"
    Object.class_eval <<~'X'
      class Local; end
      class Argument; end
      class Receiver; def wait = (local = Local.new; $ready << 1; sleep; local); end
      class Captured; end
      class Iterated; end
      class Fiberish; end
      class FiberVariable; end
      class Outside; end
      class Inside; end
      class Asked; end
      class Machine; end
      def work(argument) = (a, b = Local.new, Local.new; $ready << 1; sleep; [a, b, argument])
      def of(r, name) = r.rows.select { |row| row[:class] == name }.map { |row| [row[:stack].sub(/ at .*|(?<=thread |fiber )\/.*/, ""), row[:count]] }
    X
    $ready = Thread::Queue.new
  RUBY

  def test_what_threads_and_fibers_hold
    got = value_of(<<~RUBY)
      #{SETUP}
      threads = { "args" => -> { work(Argument.new) }, "self" => -> { Receiver.new.wait }, "block" => -> { c = Captured.new; l = proc { c }; $ready << 1; sleep; l },
                  "machine" => -> { [Machine.new].each { |m| m = nil; $ready << 1; sleep } }, "storage" => -> { Thread.current[:v] = FiberVariable.new; $ready << 1; sleep },
                  "fibers" => -> { o = Outside.new; Fiber.new { i = Inside.new; $ready << 1; sleep; i }.resume; o }, "asked" => -> { a = Asked.new; Fiber.current; $ready << 1; sleep; a } }
      threads = threads.map { |name, code| Thread.new(&code).tap { |t| t.name = name } }
      threads.size.times { $ready.pop }
      Thread.pass until threads.all?(&:stop?)
      fiber = Thread.new { Fiber.new { f = Fiberish.new; Fiber.yield; f }.tap(&:resume) }.value
      never = Fiber.new { 1 }
      done = Fiber.new { 1 }.tap(&:resume)
      GC.start
      r = Mwrap::Objects.stacks
      [%w[Local Argument Receiver Captured Machine Fiberish FiberVariable Outside Inside Asked].to_h { |c| [c, of(r, c)] }, r.rows.map { |row| row.values_at(:stack, :status, :location) }.uniq, r.facts]
    RUBY
    classes, stacks, facts = got
    classes["Outside"].delete(["fiber of a C function", 1]) # the thread's first Fiber: Ruby 3.1 doesn't tell whose it is
    assert_equal({ "Local" => [["thread args", 2], ["thread self", 1]], "Argument" => [["thread args", 1]], "Receiver" => [["thread self", 1]], "Captured" => [["thread block", 1]],
                   "Fiberish" => [["fiber ", 1]], "FiberVariable" => [["thread storage", 1]], "Outside" => [["thread fibers", 1]], "Inside" => [["thread fibers", 1]],
                   "Asked" => [["thread asked", 1]] }, classes.except("Machine"))
    names = stacks.map(&:first)
    assert_equal 1, names.count("main thread")
    assert_equal %w[args asked block fibers machine self storage], names.grep(/\Athread /).map { |n| n.delete_prefix("thread ") }.sort
    assert_operator names.grep(/\Afiber/).size, :>=, 1
    assert_equal ["sleep"], stacks.select { |name,| name.start_with?("thread") }.map { |s| s[1] }.uniq
    stacks.each { |_, _, line| assert_match(/:\d+\z|\A\(no Ruby code\)\z/, line) }
    assert_operator facts[:stacks], :>=, 9
  end

  # The object has no variable any more, but the array that C code iterates over has it.
  def test_what_c_code_holds
    got = value_of(<<~RUBY)
      #{SETUP}
      Object.class_eval "class Kept < Array; end"
      t = Thread.new { Kept.new(3) { 1 }.each { $ready << 1; sleep } }
      t.name = "each"
      $ready.pop
      Thread.pass until t.stop?
      GC.start
      [ObjectSpace.each_object(Kept).count, of(Mwrap::Objects.stacks, "Kept")]
    RUBY
    assert_equal [1, [["thread each", 1]]], got
  end

  # Deep, many, dead and dying ones.
  def test_other_stacks
    got = value_of(<<~RUBY, preload: TRACKER)
      #{SETUP}
      def deep(n) = n == 0 ? ($ready << 1; sleep) : (x = Local.new; deep(n - 1); x)
      deep = Thread.new { deep(3000) }.tap { |t| t.name = "deep" }
      $ready.pop
      Thread.pass until deep.stop?
      first = of(Mwrap::Objects.stacks, "Local")
      many = Array.new(100) { |i| Thread.new { l = Local.new; $ready << 1; sleep; l }.tap { |t| t.name = "t\#{i}" } }
      100.times { $ready.pop }
      Thread.pass until many.all?(&:stop?)
      second = of(Mwrap::Objects.stacks, "Local").map(&:last).tally
      stop = false
      dying = Thread.new { until stop; Thread.new { Fiber.new { Fiber.yield }.resume }; Fiber.new { x = Local.new; Fiber.yield; x }.resume; Thread.pass; end }
      fine = 0
      20.times { fine += 1 if Mwrap::Objects.stacks.rows.any? { |r| r[:stack] == "main thread" }; GC.start if rand(5) == 0 }
      stop = true
      dying.join
      [first, second, fine]
    RUBY
    first, second, fine = got
    # words that are left behind on a stack may hold others' (Ruby 4.0)
    assert_equal [[["thread deep", 3000]], 1, 100, 20], [first, second[3000], second.except(3000).values.sum, fine], second.inspect
    assert_operator second[1], :>=, 95
  end
end

class ObjectsDumpTest < Minitest::Test
  include InRuby

  SECRET = <<~'RUBY'
    require "mwrap/objects"
    require "json"
    Object.class_eval "class Holder; def initialize(v) = @v = v; end"
    $kept = [+"secret-1", "secret-2, \"value\":\"secret-3\"", "a\\\", \"value\":\"secret-4", "\"secret-5\n", :"secret-#{6}", "secret-7\u00e9\xff", "secret-8" * 1000,
             { "secret-9" => "secret-a" }, /secret-b/, Struct.new(:x).new("secret-c"), 12345.6789e200, Holder.new("secret-d"), "secret-e".encode("UTF-16LE"), "}, \"value\":\"secret-f\", {"]
  RUBY

  def test_no_contents
    text, n, objects, file = value_of(<<~RUBY)
      #{SECRET}
      GC.start # what Ruby's start left behind may be most of the heap
      out = StringIO.new
      n = Mwrap::Objects.dump(out)
      with = StringIO.new
      Mwrap::Objects.dump(with, contents: true)
      [out.string, n, with.string.include?("secret-1"), Mwrap::Objects.counts.facts[:objects]]
    RUBY
    assert_equal [text.bytesize, true], [n, objects]
    refute_match(/secret|1\.23457e\+204|"value"/, text.b)
    lines = text.lines.map { |l| JSON.parse(l) }
    assert_operator lines.size, :>, 5000
    assert_in_delta file, lines.count { |l| l["address"] }, file / 2 # the dumps themselves make objects
    by = lines.to_h { |l| [l["address"], l] }
    name = lines.find { |l| l["name"] == "Holder" }
    holder = lines.find { |l| l["class"] == name["address"] && l["type"] == "OBJECT" }
    assert_includes holder["references"].map { |a| by[a]&.fetch("type") }, "STRING"
    assert_operator lines.count { |l| l["memsize"] }, :>, 5000
  end

  def test_traced
    text = value_of(<<~'RUBY')
      require "mwrap/objects"
      require "objspace"
      ObjectSpace.trace_object_allocations_start
      eval("$kept = Object.new", TOPLEVEL_BINDING, "/srv/traced.rb", 7)
      StringIO.new.tap { |io| Mwrap::Objects.dump(io) }.string
    RUBY
    line = JSON.parse(text.lines.find { |l| l.include?("/srv/traced.rb") && l.include?('"OBJECT"') })
    assert_equal ["/srv/traced.rb", 7], line.values_at("file", "line")
    assert_kind_of Integer, line["generation"]
  end

  def test_limits_and_failures
    got = value_of(<<~'RUBY')
      require "mwrap/objects"
      open = -> { Dir["/proc/self/fd/*"].size }
      before = open.call
      ask = ->(io, **rest) { begin; Mwrap::Objects.dump(io, **rest); rescue => e; [e.class.name, e.message.sub(/\d+ objects/, "N objects")]; end }
      failing = Object.new.tap { |o| def o.write(*) = raise(IOError, "no more") }
      large = ask[StringIO.new, limit: 100]
      failed = ask[failing]
      # a file system that has no nameless files
      class << File; alias_method :opens, :open; def open(path, mode = "r", *rest, **more, &block) = mode.is_a?(Integer) && mode & File::TMPFILE == File::TMPFILE ? raise(Errno::EOPNOTSUPP) : opens(path, mode, *rest, **more, &block); end
      files = -> { Dir.children(Dir.tmpdir).grep(/\Amwrap-#{$$}-/).size }
      written = ask[StringIO.new]
      left = files.call
      class << Mwrap::Objects; def nameless = raise(Errno::ENOSPC); end
      [large, failed, written.is_a?(Integer), left, ask[StringIO.new], open.call - before, Mwrap::Objects.counts.rows.any?]
    RUBY
    assert_equal [["Mwrap::Objects::TooLarge", "N objects: more than the limit of 100"], ["IOError", "no more"], true, 0, ["Errno::ENOSPC", "No space left on device"], 0, true], got
  end

  def test_in_rack
    got = value_of(<<~'RUBY', preload: TRACKER)
      require "mwrap_rack"
      $secret = "secret-xyz"
      ask = lambda do |app, method = "GET", path = "/objects/dump", **env|
        status, headers, body = app.call({ "REQUEST_METHOD" => method, "PATH_INFO" => path, "SCRIPT_NAME" => "", "QUERY_STRING" => "", "HTTP_HOST" => "h" }.merge(env.transform_keys(&:to_s)))
        parts = []
        body.each { |s| parts << s }
        body.close if body.respond_to?(:close)
        [status, headers["content-type"], parts.join, parts.size]
      end
      yes = ->(env) { env["X"] != "no" }
      apps = { plain: MwrapRack.new, allowed: MwrapRack.new(authorize: yes), dump: MwrapRack.new(dump: true), token: MwrapRack.new(dump: true, token: "abc"), both: MwrapRack.new(authorize: yes, dump: true) }
      lines = apps.except(:both).transform_values { |app| ask[app].values_at(0, 2) }
      full = ask[apps[:both]]
      own = ask[apps[:both], "GET", "/#{$$}/objects/dump"][0]
      bearer = ask[apps[:token], HTTP_AUTHORIZATION: "Bearer abc"][0]
      head = ask[apps[:both], "HEAD"].values_at(0, 2)
      post = ask[apps[:both], "POST"][0]
      no = ask[apps[:both], "X" => "no"][0] rescue 0
      class << Mwrap::Objects; def dump_file(*) = raise(Mwrap::Objects::TooLarge, "9 objects: more than the limit of 5"); end
      large = ask[apps[:both]].values_at(0, 2)
      class << Mwrap::Objects; def dump_file(*) = raise(Errno::ENOSPC); end
      [lines, [full[0], full[1], full[3] > 1, full[2].include?("secret"), full[2].lines.size], own, bearer, head, post, large, ask[apps[:both]].values_at(0, 2)]
    RUBY
    lines, full, own, bearer, head, post, large, space = got
    refused = "refused: a dump shows every object: give MwrapRack.new dump: true to allow it\n"
    assert_equal [[403, refused]] * 2, lines.values_at(:plain, :allowed)
    assert_equal [403, 403], lines.values_at(:dump, :token).map(&:first)
    assert_equal [200, "application/x-ndjson", true, false], full[0, 4]
    assert_operator full[4], :>, 5000
    assert_equal [200, 200, [200, ""], 405], [own, bearer, head, post]
    assert_equal [413, "9 objects: more than the limit of 5\n"], large
    assert_equal [503, true], [space[0], space[1].include?("No space left on device")], space
  end
end
