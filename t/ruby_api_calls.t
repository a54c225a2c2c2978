#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Every call of the Ruby API, with a stand-in for the tracker whose table is
# known and which tells what wasn't given back.

require_relative "lib/in_ruby"

class TestWithStandIn < Minitest::Test
  include InRuby

  # As the stand-in has them, less those with nothing but zeros.
  BIG = 2**64 - 1
  ROWS = [
    ["/srv/h\u00fcge.rb:1", BIG, BIG, BIG, BIG, BIG],
    ["/srv/app.rb:3", 51_200_000, 100_000, 50_000, 150_000, 9],
    ["/srv/lib/x.rb:10", 600, 6, 3, 5, 4],
    ["/usr/lib/libfoo.so(fn+0x1f) [0x7f0012345678]", 500, 5, 5, 10, 3],
    ["/srv/\xff\xfe.rb:1".b, 400, 4, 0, 0, 0],
    ["/srv/kept.rb:7", 0, 0, 7, 70, 10],
  ].freeze
  NATIVE = ROWS[3][0]

  # Also: nothing is kept, nothing given back twice, and quiet is paired.
  def value_of(code, env: {}, **rest)
    super(code, preload: preload("fake_api"), env: env, **rest).tap do
      refute_empty @log
      # a child that was forked in a block may end in it
      @log.each { |line| assert_match(/\A(process .* quiet=0|fork .* quiet=[01]) unpaired=0\z/, line) }
      @log.each { |line| assert_includes line, " kept=0 twice=0 " }
    end
  end

  def test_each_yields_all_columns
    rows = value_of("Mwrap.each.to_a")
    assert_equal ROWS.sort_by { |r| r[0].b }, rows.sort_by { |r| r[0].b }
    assert_equal true, value_of("Mwrap.tracking?")
  end

  def test_each_is_sorted_by_total
    assert_equal ROWS.map { |r| r[0] }, value_of("Mwrap.each.map { |l,| l }")
  end

  def test_each_gives_frozen_strings_that_say_their_encoding
    encodings = value_of("Mwrap.each.map { |l,| [l.frozen?, l.encoding.name, l.valid_encoding?] }")
    assert_equal [[true, "UTF-8", true]] * 4 + [[true, "ASCII-8BIT", true], [true, "UTF-8", true]],
      encodings.map { |f, e, v| [f, e == "BINARY" ? "ASCII-8BIT" : e, v] }
  end

  def test_each_returns_mwrap_or_an_enumerator
    assert_equal [true, true], value_of("[Mwrap.each {}.equal?(Mwrap), Mwrap.each.is_a?(Enumerator)]")
    assert_equal [6, 4, 1], value_of("[Mwrap.each.size, Mwrap.each(599).size, Mwrap.each(2**64 - 2).size]")
    assert_equal ROWS[0, 2].map { |r| r[0] }, value_of("Mwrap.each.lazy.map { |l,| l }.first(2)")
    assert_equal ROWS.map { |r| r[0] }, value_of("Mwrap.each.with_index.map { |(l, *), _i| l }")
  end

  # The largest of total, live_bytes and object_bytes is compared, so that a reset hides no
  # live memory, and no objects.
  def test_min_is_compared_with_total_live_and_object_bytes
    names = ->(min) { value_of("Mwrap.each(#{min}).map { |l,| l }") }
    all = ROWS.map { |r| r[0] }
    assert_equal all, names["nil"]
    assert_equal all, names[0]
    assert_equal all, names[399]
    assert_equal all - [ROWS[4][0]], names[400]
    assert_equal [all[0], all[1], all[2], all[5]], names[4095]
    assert_equal all[0, 3], names[4096]
    assert_equal all[0, 3], names["4096.9"]
    assert_equal all[0, 1], names[51_200_000]
    assert_equal [], names[2**64 - 1]
  end

  def test_a_wrong_min_is_refused
    ["-1", "2**64", "-2**80", "2**80"].each do |min|
      assert_equal ["RangeError", "min: #{eval(min)} is out of range: give 0 to 2**64 - 1"], value_of(raised("Mwrap.each(#{min}) {}"))
      assert_equal "RangeError", value_of(raised("Mwrap.dump(StringIO.new, #{min})"))[0]
    end
    ["'5'", "Object.new", ":a"].each do |min|
      assert_equal "TypeError", value_of(raised("Mwrap.each(#{min}) {}"))[0]
    end
    ["Mwrap.each(1, 2) {}", "Mwrap.dump(1, 2, 3)", "Mwrap[]", "Mwrap.reset(1)"].each do |call|
      assert_equal "ArgumentError", value_of(raised(call))[0]
    end
  end

  # Each of these leaves the block in another way; value_of checks that what
  # was read is given back.
  def test_each_may_be_left_in_any_way
    assert_equal 7, value_of("Mwrap.each { break 7 }")
    assert_equal 8, value_of("Mwrap.each { return 8 }")
    assert_equal 9, value_of("catch(:x) { Mwrap.each { throw :x, 9 } }")
    assert_equal ["RuntimeError", "x"], value_of(raised("Mwrap.each { raise 'x' }"))
    assert_equal 6, value_of("n = 0; Mwrap.each { n += 1; Thread.new { Mwrap.each { Thread.exit } }.join }; n")
    assert_equal [], value_of("t = Thread.new { Mwrap.each { sleep } }; Thread.pass until t.stop?; t.kill.join; []")
    assert_equal 3, value_of("begin; Mwrap.each { exit 3 }; rescue SystemExit; $!.status; end")
  end

  def test_an_enumerator_may_be_abandoned
    assert_equal ROWS[1][0], value_of("e = Mwrap.each; e.next; e.next[0]")
    assert_equal [100, 1], value_of("Mwrap['/srv/lib/x.rb:10'].each.next")
    assert_equal 1000, value_of("1000.times { Mwrap.each.next }.tap { GC.start }")
  end

  def test_the_block_may_do_anything
    assert_equal 36, value_of("n = 0; Mwrap.each { Mwrap.each { n += 1 } }; n")
    assert_equal ROWS.map { |r| r[0] }, value_of(<<~RUBY)
      a = []
      Mwrap.each { |l,| GC.start; GC.compact if GC.respond_to?(:compact); Array.new(10_000) { +"x" * 100 }; a << l }
      a
    RUBY
    assert_equal ROWS.map { |r| r[0] }, value_of("a = []; GC.stress = true; Mwrap.each { |l,| a << l }; GC.stress = false; a")
    assert_equal 6, value_of("n = 0; Mwrap.each { Mwrap.reset; n += 1 }; n")
  end

  def test_the_block_may_fork
    rows = value_of(<<~'RUBY')
      r, w = IO.pipe
      Mwrap.each { |l,| fork { GC.start; w.syswrite("#{l.bytesize}\n") }; Process.wait }
      w.close
      r.readlines.map(&:to_i)
    RUBY
    assert_equal ROWS.map { |r| r[0].bytesize }, rows
    assert_equal 6, @log.grep(/\Afork /).size
    # and a child may go on with the loop
    assert_equal 6, value_of(<<~'RUBY')
      n = pid = 0
      Mwrap.each { n += 1; pid = fork if n == 3; break if pid != 0 && pid }
      exit!(n) if pid.nil?
      Process.wait(pid)
      $?.exitstatus
    RUBY
  end

  def test_threads_read_and_fork_at_once
    assert_equal 0, value_of(<<~'RUBY')
      stop = false
      threads = Array.new(4) { Thread.new { Mwrap.each {} until stop } }
      bad = 0
      30.times { Process.wait(fork { GC.start; exit!(Mwrap.each.count == 6) }); bad += 1 unless $?.success? }
      stop = true
      threads.each(&:join)
      bad
    RUBY
  end

  def test_threads_killed_while_they_read_leak_nothing
    # each has read before it is killed, however late it begins
    value_of("200.times { n = 0; t = Thread.new { loop { Mwrap.each {}; Mwrap.dump(StringIO.new); n += 1 } }; " \
             "Thread.pass until n > 0; sleep 0.001; t.kill.join }; 1")
    made = @log[0][/made=(\d+)/, 1].to_i
    assert_operator made, :>, 200
  end

  def test_ractors_may_call
    code = "Ractor.new { [Mwrap.each.count, Mwrap['/srv/app.rb:3'].total, Mwrap.quiet { |d| d }, " \
           "Mwrap.dump(StringIO.new), Mwrap.total_bytes_freed] }"
    assert_equal [6, 51_200_000, 1, nil, 1234], value_of("r = #{code}; r.respond_to?(:value) ? r.value : r.take", flags: ["-W0"])
    assert_equal true, value_of("Ractor.shareable?(Mwrap['/srv/app.rb:3'])")
  end

  # As the stand-in has them: two stacks of one location, in the ratio of 3 to 1; of another one only
  # blocks that were freed were sampled; others have no sample.
  KEEP, BLOCK, TIMES, NEW = "/srv/app.rb:3:in `keep'", "/srv/app.rb:9:in `block in <main>'", "in `Integer#times'", "/usr/lib/libruby.so:in `rb_str_new'"
  BY_LIVE = [
    [[NEW, KEEP, TIMES, BLOCK], 19_200_000, 37_500, 3],
    [[NEW, KEEP, "/srv/\xff.rb:in `h\u00fcge'".b, "in `(no name)'"], 6_400_000, 12_500, 1],
    [["/srv/kept.rb:7"], 4096, 1, 0],
    [[KEEP], 400, 3, 0],
    [["/srv/\xff\xfe.rb:1".b], 400, 4, 0]
  ].freeze

  def test_stacks
    got = value_of("Mwrap.stacks")
    assert_equal BY_LIVE, got.sort_by { |frames, bytes,| [-bytes, frames.map(&:b)] }
    assert_equal got.map { |s| s[1] }.sort.reverse, got.map { |s| s[1] }
    assert_equal BY_LIVE.first(2), value_of("Mwrap.stacks('/srv/app.rb:3')")
    assert_equal [], value_of("Mwrap.stacks('/srv/app.rb:4')")
    assert_equal [[[KEEP], 400, 3, 0]], value_of("Mwrap.stacks('/srv/lib/x.rb:10', by: :live)")
    assert_equal BY_LIVE.sum { |s| s[1] }, got.sum { |s| s[1] }
  end

  def test_stacks_by_total
    got = value_of("Mwrap.stacks(by: :total)")
    assert_equal [["/srv/h\u00fcge.rb:1"], BIG, BIG, 0], got[0]
    assert_equal [[BY_LIVE[0][0], 38_400_000, 75_000, 30], [BY_LIVE[1][0], 12_800_000, 25_000, 10], [[KEEP], 600, 6, 2],
                  [["/usr/lib/libfoo.so:in `fn'"], 500, 5, 0], [["/srv/\xff\xfe.rb:1".b], 400, 4, 0]], got.drop(1)
    assert_equal ROWS.map { |r| r[1, 2] }.reject { |r| r == [0, 0] }.transpose.map(&:sum), got.map { |s| s[1, 2] }.transpose.map(&:sum)
  end

  def test_frames_are_frozen_strings_that_say_their_encoding
    frames = value_of("Mwrap.stacks('/srv/app.rb:3').flat_map { |f,| f }.map { |f| [f.frozen?, f.encoding.name, f.valid_encoding?] }")
    assert_equal [[true, "UTF-8", true]] * 6 + [[true, "BINARY", true], [true, "UTF-8", true]], frames.map { |f, e, v| [f, e == "ASCII-8BIT" ? "BINARY" : e, v] }
    assert_equal true, value_of("a, b = Mwrap.stacks('/srv/app.rb:3').map(&:first); a[0].equal?(b[0]) && a[1].equal?(b[1])")
  end

  def test_wrong_arguments_of_stacks
    assert_equal ["ArgumentError", "by: :growth isn't known: give :live, :total or :objects"], value_of(raised("Mwrap.stacks(by: :growth)"))
    assert_equal ["ArgumentError", 'by: "live" isn\'t known: give :live, :total or :objects'], value_of(raised("Mwrap.stacks(by: 'live')"))
    { "Mwrap.stacks('a', 'b')" => "ArgumentError", "Mwrap.stacks(of: 1)" => "ArgumentError", "Mwrap.stacks(by: nil)" => "ArgumentError",
      "Mwrap.stacks(1)" => "TypeError", "Mwrap.stacks(:a)" => "TypeError" }.each do |call, error|
      assert_equal error, value_of(raised(call))[0], call
    end
    assert_equal 5, value_of("Mwrap.stacks(nil, by: :live).size")
  end

  def test_stacks_in_a_ractor_a_thread_that_is_killed_and_a_child
    assert_equal BY_LIVE.first(2), value_of("r = Ractor.new { Mwrap.stacks('/srv/app.rb:3') }; r.respond_to?(:value) ? r.value : r.take", flags: ["-W0"])
    assert_equal 5, value_of("20.times { n = 0; t = Thread.new { loop { Mwrap.stacks; n += 1 } }; Thread.pass until n > 0; t.kill.join }; Mwrap.stacks.size")
    assert_equal 5, value_of("r, w = IO.pipe; Process.wait(fork { w << Mwrap.stacks.size }); w.close; r.read.to_i")
  end

  def test_no_memory_is_an_exception
    ["Mwrap.each {}", "Mwrap.stacks", "Mwrap.each.size", "Mwrap['x']", "Mwrap.dump(StringIO.new)"].each do |call|
      assert_equal ["NoMemoryError", "mwrap: the table: can't be read: out of memory"], value_of(raised(call), env: { "FAKE_API" => "nomem" })
    end
  end

  # As the stand-in has them: 64 bits, also of a generation.
  PAGES = [[0x7ffffffe0000, 3], [0x7fffffff0000, 1 << 40]].freeze

  def test_heap_pages
    assert_equal PAGES, value_of("a = []; Mwrap::HeapPageBody.each { |addr, generation| a << [addr, generation] }; a")
    assert_equal [2, 2, true, PAGES], value_of("h = Mwrap::HeapPageBody; [h.each {}, h.each.size, h.each.is_a?(Enumerator), h.each.to_a]")
    assert_equal [:left, PAGES[0, 1]], value_of("[Mwrap::HeapPageBody.each { break :left }, Mwrap::HeapPageBody.each.first(1)]")
    assert_equal ["ArgumentError", "stop"], value_of(raised("Mwrap::HeapPageBody.each { raise ArgumentError, 'stop' }"))
    assert_equal PAGES.size, value_of("$p = Mwrap::HeapPageBody.each { Process.wait(fork { exit! }); GC.start }")
    assert_equal ["NoMemoryError", "mwrap: the table: can't be read: out of memory"],
      value_of(raised("Mwrap::HeapPageBody.each {}"), env: { "FAKE_API" => "nomem" })
    assert_equal %w[NoMethodError TypeError], value_of("[#{raised("Mwrap::HeapPageBody.new")}, #{raised("Mwrap::HeapPageBody.allocate")}].map(&:first)")
  end

  def test_heap_page_statistics
    infinite = Float::INFINITY
    want = { lifespan_max: (1 << 40) - 5, lifespan_min: 5, lifespan_mean: (1 << 39).to_f, lifespan_stddev: (1 << 39) - 5.0,
             deathspan_max: infinite, deathspan_min: infinite, deathspan_mean: infinite, deathspan_stddev: 0.0, resurrects: 0 }
    assert_equal want.to_a, value_of("Mwrap::HeapPageBody.stat.to_a")
    assert_equal want.values.map(&:class), value_of("Mwrap::HeapPageBody.stat.values.map { |v| v.class.name }").map { |n| Object.const_get(n) }
    assert_equal [true, want.merge(mine: 1)], value_of("h = { mine: 1, resurrects: 7 }; [Mwrap::HeapPageBody.stat(h).equal?(h), h]")
    assert_equal want, value_of("Mwrap::HeapPageBody.stat(nil)")
    { "1" => "TypeError", ":lifespan_max" => "TypeError", "{}.freeze" => "FrozenError", "{}, {}" => "ArgumentError" }.each do |args, error|
      assert_equal error, value_of(raised("Mwrap::HeapPageBody.stat(#{args})"))[0]
    end
    # a reset is none of theirs
    assert_equal want, value_of("Mwrap.reset; Mwrap.clear; Mwrap::HeapPageBody.stat")
    assert_equal want, value_of("Ractor.new { Mwrap::HeapPageBody.stat }.then { |r| r.respond_to?(:take) ? r.take : r.value }")
  end

  def test_a_tracker_of_another_version_is_told_of_and_not_used
    assert_equal [false, []], value_of("[Mwrap.tracking?, Mwrap.each.to_a]", env: { "FAKE_API" => "version" })
    assert_match(/\Amwrap: the preloaded tracker is of another version .*\n\z/, @run.stderr)
    value_of("1", env: { "FAKE_API" => "version" }, flags: ["-W0"])
    assert_equal "", @run.stderr
  end

  def test_aref_finds_what_each_yields
    assert_equal ROWS.map { |r| r[0] }, value_of("Mwrap.each.map { |l,| Mwrap[l].name }")
    assert_equal NATIVE, value_of('Mwrap["/usr/lib/libfoo.so(fn+0x1f)\t[0x7f0012345678]"].name')
    assert_equal "/srv/app.rb:3", value_of("o = Object.new; def o.to_str = '/srv/app.rb:3'; Mwrap[o].name")
    assert_equal "Mwrap::SourceLocation", value_of("Mwrap['/srv/app.rb:3'].class.name")
    assert_equal [true, "UTF-8"], value_of("n = Mwrap['/srv/app.rb:3'].name; [n.frozen?, n.encoding.name]")
  end

  # mwrap 2.x looked for the address alone.
  def test_aref_finds_an_address_whatever_its_name
    ['"anything\t[0x7f0012345678]"', '"\t" * 20_000 + "[0x7f0012345678]"', '"x\t[0x" + "0" * 20_000 + "7F0012345678]"'].each do |name|
      assert_equal NATIVE, value_of("Mwrap[#{name}].name"), name
    end
  end

  def test_aref_of_anything_else_is_nil
    ["''", "'/srv/app.rb'", "'/srv/app.rb:33'", "'srv/app.rb:3'", "'a' * 20_000", "'a' * 20_000_000", '"/srv/app.rb:3\0"', '"\0"',
     '"\0" * 20_000', '"\xff" * 20_000', "'[0x' + 'f' * 20_000 + ']'", '"x\t[0x]"', '"[0xdeadbeef]"', "'%s%n' * 1000",
     '"/srv/app.rb:3\n"', '"/srv/app.rb:3".encode("UTF-16LE")', '"x" * 20_000 + " [0x7f0012345678]"', '"x\t[0x7f0012345679]"',
     '"x\t[0x17f0012345678]"', '"x\t[0x" + "0" * 20_000 + "]"'].each do |name|
      assert_nil value_of("Mwrap[#{name}]&.name"), name
    end
  end

  # Whatever is found has a name that each yields.
  def test_aref_of_random_bytes_does_no_harm
    found = value_of(<<~'RUBY')
      r = Random.new(4)
      seeds = ["/srv/app.rb:3", "/usr/lib/libfoo.so(fn+0x1f) [0x7f0012345678]", "x\t[0x7f]", ""].map(&:b)
      Array.new(5000) do
        s = seeds.sample(random: r).dup
        r.rand(1..5).times { s.insert(r.rand(0..s.bytesize), r.bytes(r.rand(1..3))) }
        s[r.rand(0..s.bytesize), r.rand(0..3)] = "" if r.rand(2) == 1
        Mwrap[s]&.name
      end
    RUBY
    assert_equal 5000, found.size
    assert_operator found.count(nil), :>, 4000
    assert_empty found.compact.uniq - ROWS.map { |row| row[0] }
  end

  def test_aref_of_no_string_is_a_type_error
    %w[nil 3 :a [] Object.new 1.5].each do |x|
      assert_equal "TypeError", value_of(raised("Mwrap[#{x}]"))[0]
    end
  end

  def test_a_source_location_has_all_numbers
    keys = %i[name total allocations frees growth live_bytes live mean_lifespan max_lifespan objects object_bytes object_samples object_error
              live_samples live_error]
    get = ->(name) { value_of("l = Mwrap[#{name.inspect}]; h = l.to_h; h == h.keys.to_h { |k| [k, l.public_send(k)] } && h") }
    [["/srv/app.rb:3", 51_200_000, 100_000, 50_000, 25_600_000, 25_600_000, 50_000, 3.0, 9],
     ["/srv/lib/x.rb:10", 600, 6, 3, 400, 400, 3, 5 / 3.0, 4, 2000, 80_000, 50, 10.0],
     ["/srv/kept.rb:7", 0, 0, 7, -700, 4096, 1, 10.0, 10],
     [ROWS[4][0], 400, 4, 0, 400, 400, 4, Float::INFINITY, 0],
     [ROWS[0][0], BIG, BIG, BIG, -2**63, 0, 0, 1.0, BIG]].each do |row|
      row += [0, 0, 0, nil] if row.size < 13 # no sample
      row += [0, 0.0] # all counted
      assert_equal keys.zip(row).to_h, get[row[0]]
    end
  end

  def test_a_source_location_yields_what_is_live
    assert_equal [[1, 2**40], [100, 1], [299, 12]], value_of("Mwrap['/srv/lib/x.rb:10'].each.to_a.sort")
    assert_equal [[4096, 2]], value_of("a = []; Mwrap['/srv/kept.rb:7'].each { |size, generation| a << [size, generation] }; a")
    assert_equal [], value_of("Mwrap[#{NATIVE.inspect}].each.to_a")
    assert_equal [true, 3], value_of("l = Mwrap['/srv/lib/x.rb:10']; [l.each {}.equal?(l), l.each.size]")
    assert_equal 5, value_of("Mwrap['/srv/lib/x.rb:10'].each { break 5 }")
    assert_equal 9, value_of("n = 0; l = Mwrap['/srv/lib/x.rb:10']; l.each { GC.start; l.each { n += 1 } }; n")
    assert_equal 6, value_of("catch(:x) { Mwrap['/srv/lib/x.rb:10'].each { throw :x, 6 } }")
    assert_equal [], value_of("t = Thread.new { Mwrap['/srv/lib/x.rb:10'].each { sleep } }; Thread.pass until t.stop?; t.kill.join; []")
  end

  def test_a_source_location_can_only_be_looked_up
    ["Mwrap::SourceLocation.new", "Mwrap::SourceLocation.allocate", "Mwrap['/srv/app.rb:3'].dup", "Marshal.dump(Mwrap['/srv/app.rb:3'])"].each do |code|
      assert_includes %w[NoMethodError TypeError], value_of(raised(code))[0], code
    end
    assert_equal '#<Mwrap::SourceLocation "/srv/app.rb:3" total=51200000 allocations=100000 frees=50000 live_bytes=25600000>',
      value_of("Mwrap['/srv/app.rb:3'].inspect")
    assert_match(/SourceLocation.*xFF/, value_of('Mwrap["/srv/\xff\xfe.rb:1"].inspect'))
  end

  def test_numbers_are_those_of_the_moment
    assert_equal [600, 0, 3], value_of("l = Mwrap['/srv/lib/x.rb:10']; a = [l.total]; Mwrap.reset; a << l.total << l.live")
  end

  def test_reset_and_clear
    assert_equal [2**64 - 1, 1234, nil, 0, 0], value_of(
      "[Mwrap.total_bytes_allocated, Mwrap.total_bytes_freed, Mwrap.reset, Mwrap.total_bytes_allocated, Mwrap.total_bytes_freed]"
    )
    assert_equal [nil, 0], value_of("[Mwrap.clear, Mwrap.total_bytes_allocated]")
  end

  TEXT = ROWS.map { |l, total, n| format("%16d %12d ", total, n).b + l.b + "\n" }.freeze

  def test_dump_writes_three_columns
    assert_equal TEXT.sort, value_of("s = StringIO.new; s.set_encoding('BINARY'); Mwrap.dump(s); s.string.lines").sort
    assert_equal TEXT[0, 3], value_of("s = StringIO.new; Mwrap.dump(s, 4096); s.string.lines").map(&:b)
    assert_equal "", value_of("s = StringIO.new; Mwrap.dump(s, 2**64 - 1); s.string")
  end

  def test_dump_goes_to_stderr
    assert_equal [nil, nil], value_of("[Mwrap.dump, Mwrap.dump(nil, 4096)]")
    assert_equal TEXT.sum(&:bytesize) + TEXT[0, 3].sum(&:bytesize), @run.stderr.bytesize
    assert_equal TEXT[0, 3].join, value_of("$stderr = StringIO.new; Mwrap.dump(nil, 4096); $stderr.string").b
    assert_equal "", @run.stderr
  end

  def test_dump_takes_anything_that_can_be_written_to
    in_tmp do |dir|
      ["$f", "o = Object.new; def o.write(s) = $f.write(s); o", "o = Object.new; def o.fileno = $f.fileno; o",
       "o = Object.new; def o.to_io = $f; o"].each do |code|
        value_of("$f = File.open('#{dir}/out', 'w'); Mwrap.dump((#{code}), 4096); GC.start; $f.write('end'); $f.close; 1")
        assert_equal TEXT[0, 3].join + "end", File.binread("#{dir}/out"), code
        File.unlink("#{dir}/out")
      end
    end
  end

  def test_dump_refuses_the_rest
    ["3", "Object.new", "'x'", ":a"].each do |io|
      name, message = value_of(raised("Mwrap.dump(#{io})"))
      assert_equal "TypeError", name
      assert_match(/\A(Integer|Object|String|Symbol): can't be written to: give an object with write, to_io or fileno\z/, message)
    end
    assert_equal "IOError", value_of(raised("f = File.open('/dev/null', 'w'); f.close; Mwrap.dump(f)"))[0]
    assert_equal "IOError", value_of(raised("Mwrap.dump(File.open('/dev/null'))"))[0]
    assert_equal "Errno::EBADF", value_of(raised("o = Object.new; def o.fileno = 999; Mwrap.dump(o)"))[0]
    assert_equal ["RuntimeError", "full"], value_of(raised("o = Object.new; def o.write(s) = raise('full'); Mwrap.dump(o)"))
  end

  def test_quiet_yields_its_depth_and_returns_the_value
    assert_equal [1, 2, 3, 2, 1, 1], value_of(<<~RUBY)
      a = []
      Mwrap.quiet { |d| a << d; Mwrap.quiet { |e| a << e; Mwrap.quiet { |f| a << f }; a << e }; a << d }
      Mwrap.quiet { |d| a << d }
      a
    RUBY
    assert_equal :x, value_of("Mwrap.quiet { :x }")
    assert_equal [1, 1], value_of("Mwrap.quiet { |d| [d, Thread.new { Mwrap.quiet { |e| e } }.value] }")
  end

  # value_of checks the pairs.
  def test_quiet_may_be_left_in_any_way
    assert_equal 4, value_of("Mwrap.quiet { break 4 }")
    assert_equal 5, value_of("Mwrap.quiet { return 5 }")
    assert_equal 6, value_of("catch(:x) { Mwrap.quiet { Mwrap.quiet { throw :x, 6 } } }")
    assert_equal ["RuntimeError", "x"], value_of(raised("Mwrap.quiet { raise 'x' }"))
    assert_equal ["LocalJumpError", "no block given"], value_of(raised("Mwrap.quiet"))
    assert_equal 1, value_of("t = Thread.new { Mwrap.quiet { sleep } }; Thread.pass until t.stop?; t.kill.join; Mwrap.quiet { |d| d }")
    assert_equal 1, value_of("require 'timeout'; begin; Timeout.timeout(0.05) { Mwrap.quiet { sleep } }; rescue Timeout::Error; end; Mwrap.quiet { |d| d }")
    assert_equal [2, 1], value_of("[Mwrap.quiet { Fiber.new { Mwrap.quiet { |d| d } }.resume }, Mwrap.quiet { |d| d }]")
    assert_equal 1, value_of("Mwrap.quiet { Process.wait(fork { Mwrap.quiet { |d| exit!(d == 2) } }) }; $?.success? ? 1 : 0")
  end

  # Also where Ruby threads aren't native threads.
  def test_quiet_is_paired_under_mn_threads
    assert_equal [1] * 40, value_of(<<~RUBY, env: { "RUBY_MN_THREADS" => "1" })
      Array.new(40) { Thread.new { Mwrap.quiet { |d| 5.times { sleep 0.001; Thread.pass }; d } } }.map(&:value)
    RUBY
  end
end
