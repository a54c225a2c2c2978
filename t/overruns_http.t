#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# A Ruby app that writes past the end of blocks: /overruns and stderr name the lines that
# allocated them, and the table still adds up. t/overruns.t has all the ways to do so, in C.

require_relative "lib/served"

class OverrunsHttpTest < Minitest::Test
  # Lines 6, 8 and 10 allocate. The end of a block's room is where the tracker's bytes are.
  APP = <<~'RUBY'
    require "fiddle"
    require "mwrap"
    USABLE = Fiddle::Function.new(Fiddle::Handle::DEFAULT["malloc_usable_size"], [Fiddle::TYPE_UINTPTR_T], Fiddle::TYPE_SIZE_T)
    def overrun(p) = Fiddle::Pointer.new(p)[USABLE.call(p), 8] = "overrun!"
    def first
      Fiddle.malloc(64)
    end; def second
      Fiddle.malloc(100_000)
    end; def third
      Fiddle.malloc(64)
    end
    $stdout.sync = true
    while (line = $stdin.gets)
      case line.chomp
      when "overrun"
        5.times { first.then { |p| overrun(p); Fiddle.free(p) } }
        2.times { second.then { |p| overrun(p); Fiddle.free(Fiddle.realloc(p, 300_000)) } }
        3.times { Fiddle.free(third) }
      when "reset" then Mwrap.reset
      when "more lines than the table has room for"
        140_000.times { |i| eval("'x' * 1000", nil, "/gone.rb", i + 1) }
        GC.start
        puts Mwrap.stats[:retired]
        next
      when "fork"
        Process.wait(fork { overrun(p = third); Fiddle.free(p); puts Mwrap.stats.slice(:overruns, :double_frees, :unknown_frees).inspect })
        next
      end
      puts Mwrap.stats.slice(:overruns, :double_frees, :unknown_frees).values.inspect
    end
  RUBY

  # [count, last_size, location] from each form, which must agree.
  def overruns
    tsv = body("/overruns.tsv").lines(chomp: true).map { |l| l.split("\t") }
    assert_equal %w[count last_size wrong_sizes asked_size given_size location], tsv.shift
    assert tsv.all? { |r| r[2, 3] == %w[0 0 0] }, "no block was freed with a wrong size"
    rows = tsv.map { |n, size, *, name| [n.to_i, size.to_i, name] }
    json = JSON.parse(body("/overruns.json"))
    assert_equal rows, json["rows"].map { |r| r.values_at("count", "last_size", "location") }
    assert_equal rows.sum(&:first), json["overruns"]
    html = cells(body("/overruns")[%r{<tbody>(.*?)</tbody>}m, 1]).reject { |c| c.size == 1 }
    assert_equal rows, html.map { |n, size, *, name| [n.delete(",").to_i, size.delete(",").to_i, name] }
    rows
  end

  def line(size, at) = "mwrap: a block of #{size} bytes from #{path("app.rb")}:#{at} was written past its end\n"

  def test_lines_of_ruby
    app = served_ruby(APP)
    assert_equal "[0, 0, 0]", app.ask("nothing")
    assert_equal [], overruns
    refute_includes body("/"), "past the end"
    assert_equal "[7, 0, 0]", app.ask("overrun")
    want = [[5, 64, "#{path("app.rb")}:6"], [2, 100_000, "#{path("app.rb")}:8"]]
    assert_equal want, overruns
    assert_equal [line(64, 6), line(100_000, 8)].join, app.stderr
    assert_includes body("/"), "7 blocks were written past the end"
    { 6 => 5, 8 => 2, 10 => 3 }.each do |at, blocks|
      row = tsv.find { |r| r.location == "#{path("app.rb")}:#{at}" }
      assert_operator row.allocations, :>=, blocks
      assert_equal row.allocations, row.frees + row.live, row.inspect
      # live blocks there are Ruby's own: it may collect garbage, and need room for that, at any line
      sizes = body("/at/#{escape(row.location)}.tsv").lines.drop(1).map(&:to_i)
      assert_equal row.live, sizes.size
      assert_empty sizes & [64, 100_000], "all of ours are freed: #{row.inspect}"
    end
    # a reset hides none, and they add up; the lines are not said again
    app.ask("reset")
    assert_equal "[14, 0, 0]", app.ask("overrun")
    assert_equal [[10, 64, want[0][2]], [4, 100_000, want[1][2]]], overruns
    assert_equal [line(64, 6), line(100_000, 8)].join, app.stderr
    # a child has its parent's, and says what it finds
    assert_includes app.ask("fork"), "15"
    assert_equal line(64, 10), app.stderr.lines.last
    assert_equal 3, app.stderr.lines.size
    assert_equal "[14, 0, 0]", app.ask("nothing")
    assert app.finish.success?, app.stderr
    app.dumps.first(1).each { |rows| assert_sound rows }
  end

  # A location with nothing live makes room for others, but not one that is shown here.
  def test_a_line_with_overruns_is_not_retired
    app = served_ruby(APP)
    assert_equal "[7, 0, 0]", app.ask("overrun")
    before = overruns
    assert_equal [5, 2], before.map(&:first)
    assert_operator app.ask("more lines than the table has room for").to_i, :>, 10_000
    assert_equal before, overruns
    assert_equal 200, get("/at/#{escape(before[1][2])}").status
    assert app.finish.success?, app.stderr
  end

  # As the tracker has it in the middle of a free, without the symbol.
  def test_what_stderr_says_is_accepted_back
    app = served(program("overruns"), "served")
    assert_equal "done", app.hear
    place = app.stderr[/\Amwrap: a block of 64 bytes from (.*) was written past its end\n\z/, 1]
    refute_nil place, app.stderr
    assert_match(/\(\+0x\h+\) \[0x\h+\]\z/, place)
    page = body("/at/#{escape(place)}")
    assert_includes page, "make_text+0x"
    assert_equal 404, get("/at/#{escape(place.sub("[0x", "[0x1"))}").status
    assert_equal overruns.map(&:last), [CGI.unescapeHTML(page[%r{<h1 class="location">(.*?)</h1>}, 1].gsub("<wbr>", ""))]
    assert app.finish.success?
  end

  # Ruby's usual work is no overrun.
  ORDINARY = <<~'RUBY'
    require "json"
    require "erb"
    require "set"
    require "socket"
    require "stringio"
    require "zlib"
    require "openssl"
    require "tempfile"
    require "digest"
    require "mwrap"
    50.times do |i|
      JSON.parse(JSON.generate((1..500).to_h { |k| ["k#{k}" * (i % 7 + 1), [k.to_s, nil, 1.5]] }))
      ERB.new("<% 50.times do |i| %><%= i %>, <% end %>").result
      Zlib::Inflate.inflate(Zlib::Deflate.deflate("x" * 10_000 + i.to_s))
      Digest::SHA256.hexdigest("y" * i)
      eval("def m#{i}(a, b: 2) = a + b; m#{i}(1)")
      "ab" * i =~ /(a|b)*c?/
      Fiber.new { Fiber.yield "z" * 1000 }.resume
      Array.new(4) { |k| Thread.new { "t" * 10_000 * k } }.each(&:join)
    end
    OpenSSL::PKey::EC.generate("prime256v1").to_pem
    Tempfile.create("x") { |f| f.write("x" * 100_000); f.rewind; f.read }
    Mwrap.quiet { @kept = Array.new(1000) { |i| "q" * (i + 24) } }
    @kept.each { |s| s << "more" * 20 }
    @kept = nil
    system("true")
    Process.wait(fork { GC.start })
    4.times { GC.start }
    GC.compact if GC.respond_to?(:compact)
    puts Mwrap.stats.fetch_values(:overruns, :double_frees, :unknown_frees).inspect
  RUBY

  def test_ordinary_ruby
    [[], ["--yjit"]].each do |flags|
      compiled = run_command(MwrapTest::RUBY, *flags, "-e", "exit RubyVM::YJIT.enabled?").status.success?
      next unless flags.empty? || compiled
      File.write(path("ordinary.rb"), ORDINARY)
      run = mwrap_run(MwrapTest::RUBY, "-I#{MwrapTest::LIB}", *flags, path("ordinary.rb"))
      assert_success run
      assert_equal "[0, 0, 0]\n", run.stdout
      assert_equal "", run.stderr
    end
  end
end
