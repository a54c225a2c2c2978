#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Profiles of stacks as others read them: profile.proto by Go's pprof and by Google's library for
# protocol buffers; collapsed stacks as flamegraph.pl takes a line apart; a file for speedscope by
# the rules of its schema. They must read the stacks that t/programs/profile_forms.c was given.
require_relative "lib/tap"
require_relative "lib/go_pprof"

class ProfileFormsTest < Minitest::Test
  include GoPprof

  # Debian's, whose package the library is; another Python may come first in PATH.
  PYTHON = File.executable?("/usr/bin/python3") ? "/usr/bin/python3" : "python3"
  PROTO = File.join(ROOT, "t/lib/profile_proto.py")
  TYPES = %w[alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes ruby_objects/count ruby_object_space/bytes].freeze

  PROGRAM = "/usr/bin/ruby3.1"

  Frame = Struct.new(:kind, :name, :file, :line, :address)
  Location = Struct.new(:kind, :text, :at, :file_len, :objects, :object_bytes)
  # values: allocations, total, live, live_bytes; frames: indexes, innermost first
  Sample = Struct.new(:row, :values, :frames)
  Told = Struct.new(:rows, :frames, :samples)

  ODD = "a;b \"c\" <main> \\ \n\t\u00fc\u{1F418} \xff\xe2\x82 d\x01".b.freeze
  SHOWN = ODD.dup.force_encoding("UTF-8").scrub("\uFFFD").freeze

  TOLD = Told.new(
    [Location.new("ruby", "/srv/app/a.rb:3", 3, 13, 50, 4000),
     Location.new("ruby", "/srv/#{ODD}.rb:9".b, 9, "/srv/#{ODD}.rb".bytesize),
     Location.new("native", "/usr/lib/libx.so.1(f_of_x+0x1f) [0x7f0000001234]", 0x2234, 18)],
    [Frame.new("ruby", "<main>", "/srv/app/a.rb", 30, 0),
     Frame.new("ruby", "block in A::B#run", "/srv/app/a.rb", 3, 0),
     Frame.new("ruby", ODD, "/srv/#{ODD}.rb".b, 9, 0),
     Frame.new("native", "rb_str_resize", "/usr/lib/libruby-3.1.so.3.1", 0, 0x7f0000005678),
     Frame.new("native", "Array#map", "", 0, 0),
     Frame.new("ruby", "block in A::B#run", "/srv/app/a.rb", 4, 0),
     Frame.new("ruby", "in no stack", "/srv/app/none.rb", 4, 0),
     Frame.new("native", "operator new(unsigned long)", "/usr/lib/libruby-3.1.so.3.1", 0, 0x7f0000009abc)],
    [Sample.new(0, [1000, 524_288_000, 7, 3_670_016], [3, 1, 4, 0]),
     Sample.new(0, [20, 2000, 0, 0], [5, 4, 1, 4, 0]),
     Sample.new(0, [1, (1 << 52) + 1, 1, 1 << 52], [7, 1, 4, 0]),
     Sample.new(1, [3, 300, 2, 200], [2, 2, 2, 0]),
     Sample.new(1, [0, 0, 0, 0], [1, 0])]
  )
  # The location without a sample: its figures, and the frame that it becomes. A location's objects have one, too.
  BARE = [[4, 44, 3, 33, 0, 0], Frame.new("native", "f_of_x", "/usr/lib/libx.so.1", 0, 0x7f0000001234)].freeze
  OBJECTS = [[0, 0, 0, 0, 50, 4000], Frame.new("ruby", "/srv/app/a.rb:3", "/srv/app/a.rb", 3, 0)].freeze

  def line(*words) = "#{words.join("\t")}\n"
  def hex(s) = s.unpack1("H*")

  def input(told)
    sums = told.rows.each_index.map do |i|
      of = told.samples.select { |s| s.row == i }
      of.empty? ? BARE[0] : of.map(&:values).transpose.map(&:sum)
    end
    line("program", hex(PROGRAM)) + told.rows.zip(sums).map { |r, s| line("row", r.kind, hex(r.text), r.at, r.file_len, s[1], s[0], s[3], s[2], r.objects.to_i, r.object_bytes.to_i) }.join +
      told.frames.map { |f| line("frame", f.kind, hex(f.name), hex(f.file), f.line, f.address) }.join +
      told.samples.map { |s| v = s.values; line("sample", s.row, v[3], v[1], v[2], v[0], v[2], v[0], *s.frames) }.join
  end

  # The program's output, as bytes.
  def made(*forms, told: TOLD)
    run = run_command(program("profile_forms"), *forms, stdin: input(told))
    assert_success run
    run.stdout.b
  end

  # [values, frames, location] of each sample that is to come.
  def expected
    some = TOLD.samples.reject { |s| s.values.all?(&:zero?) }.map { |s| [s.values + [0, 0], TOLD.frames.values_at(*s.frames), TOLD.rows[s.row].text] }
    some.insert(some.rindex { |_, _, location| location == TOLD.rows[0].text } + 1, [OBJECTS[0], [OBJECTS[1]], TOLD.rows[0].text])
    some << [BARE[0], [BARE[1]], TOLD.rows[2].text]
  end

  def utf8(s) = s.dup.force_encoding("UTF-8").scrub("\uFFFD")

  # --- profile.proto ---------------------------------------------------------------------

  def google(bytes)
    run = run_command(PYTHON, PROTO, stdin: bytes)
    assert run.status.success?, run.stderr
    JSON.parse(run.stdout)
  end

  def test_profile_proto_by_googles_library
    p = google(made("pprof"))
    assert_equal TYPES.map { |t| t.split("/") }, p["types"]
    assert_equal "inuse_space", p["default"]
    assert_equal ["space", "bytes", 524_288], p["period"]
    assert_equal 1_700_000_012_250_000_000, p["time"]
    assert_equal 0, p["duration"], "Parca takes profiles of a duration for differences"
    want = expected.map do |values, frames, location|
      [values, frames.map { |f| [utf8(f.name), utf8(f.file), f.line, f.address, *(f.kind == "native" && f.file != "" ? [f.file, true] : [nil, nil])] },
       [["location", utf8(location)]]]
    end
    assert_equal want, p["samples"].map { |values, frames, labels| [values, frames.map { |name, file, line, address, *rest| [name, file, line, real(address), *rest] }, labels] }
    # the program and two more mappings; the frames of stacks; one function for both lines of a method
    assert_equal [3, 9, 8], p["listed"]
    assert_equal "alloc_space", google(made("pprof_total"))["default"]
    assert_equal "ruby_object_space", google(made("pprof_objects"))["default"]
  end

  # A frame without an address gets one beyond all real ones.
  def real(address) = address >> 62 == 1 ? 0 : address

  # Grafana Alloy tells stacks by their addresses and labels alone when it takes a difference.
  def test_stacks_are_told_apart_by_addresses_alone
    told = Told.new(TOLD.rows, TOLD.frames, [Sample.new(0, [1, 10, 1, 10], [1, 0]), Sample.new(0, [2, 20, 2, 20], [5, 0]), Sample.new(0, [3, 30, 3, 30], [4, 0]), Sample.new(1, [4, 40, 4, 40], [2, 0])])
    samples = google(made("pprof", told: told))["samples"]
    stacks = samples.map { |_, frames, _| frames.map { |f| f[3] } }
    assert_equal stacks.uniq, stacks
    refute_includes stacks.flatten, 0
    # they are the same in the next profile, whatever else is in that
    frames = ->(list) { list.flat_map { |_, fs, _| fs.map { |f| [f.values_at(0, 1, 2), f[3]] } }.uniq }
    others = frames.(google(made("pprof"))["samples"])
    assert_operator (frames.(samples) & others).size, :>=, 5
    assert_equal others.map(&:first).uniq, others.map(&:first)
  end

  def test_what_is_wrong_is_refused
    good = made("pprof")
    bad = { "cut short" => good[0..-2], "a field that there isn't" => good + "\x78\x01".b,
            "a string that isn't UTF-8" => good + "\x32\x01\xff".b, "a string twice" => good + "\x32\x05bytes".b,
            "an id left out" => good + "\x22\x06\x08\x63\x22\x02\x08\x01".b,
            "a location of no function" => good + "\x22\x06\x08\x63\x22\x02\x08\x63\x12\x02\x0a\x00".b + "\x12\x03\x0a\x01\x63".b }
    bad.each { |what, bytes| refute run_command(PYTHON, PROTO, stdin: bytes).status.success?, what }
  end

  def test_raw_by_gos_pprof
    with_file(made("pprof")) do |file|
      raw = pprof("-raw", file)
      assert_includes raw, "PeriodType: space bytes\nPeriod: 524288\n"
      assert_match(/^Time: 2023-11-14 22:13:32\.25 /, raw)
      assert_includes raw, "#{TYPES[0..2].join(" ")} #{TYPES[3]}[dflt] #{TYPES[4..].join(" ")}"
      want = expected.map { |values, _, location| [values, utf8(location)] }
      assert_equal(want, raw_samples(raw).map { |values, _, location| [values, location] })
      # each stack by the lines of Locations, whose names have no newline
      places = raw[/^Locations\n(.*?)^Mappings/m, 1].scan(/^ +(\d+): (0x\h+) (M=\d+ )?(.*?)(?=^ +\d+: 0x|\z)/m).to_h { |id, at, m, rest| [id.to_i, [Integer(at), !m.nil?, rest]] }
      raw_samples(raw).zip(expected) do |(_, ids, _), (_, frames, _)|
        assert_equal frames.size, ids.size
        ids.zip(frames) do |id, f|
          address, mapped, rest = places.fetch(id)
          assert_equal [f.address, f.kind == "native" && f.file != ""], [real(address), mapped], rest
          assert rest.start_with?("#{utf8(f.name)} #{utf8(f.file)}:#{f.line}"), rest
        end
      end
      assert_equal [PROGRAM, "/usr/lib/libruby-3.1.so.3.1", "/usr/lib/libx.so.1"], raw.scan(%r{^\d: 0x0/0x0/0x0 (\S+) +\[FN\]}).flatten
      assert_includes pprof("-top", file), "File: ruby3.1\n"
    end
  end

  # Flat and cumulative bytes of a name: each sample counts once, however often the name is in it.
  def sums(value)
    names = expected.flat_map { |_, frames, _| frames.map(&:name) }.uniq
    names.map do |name|
      flat = expected.sum { |values, frames, _| frames[0].name == name ? values[value] : 0 }
      cum = expected.sum { |values, frames, _| frames.any? { |f| f.name == name } ? values[value] : 0 }
      [flat, cum, name]
    end
  end

  # <main> and C++ names stay as they are; ODD is in two lines.
  def test_top_by_gos_pprof
    with_file(made("pprof")) do |file|
      TYPES.each_with_index do |type, i|
        want = sums(i).reject { |f, c, name| name == ODD || c.zero? }
        assert_equal want.sort, (top("-sample_index=#{type[/\w+/]}", file) & want).sort, type
      end
      assert_equal top("-sample_index=inuse_space", file), top(file), "live bytes unless asked for others"
    end
    with_file(made("pprof_total")) { |file| assert_equal top("-sample_index=alloc_space", file), top(file) }
  end

  def test_labels_and_differences
    with_file(made("pprof")) do |file|
      want = expected.select { |_, _, location| location == "/srv/app/a.rb:3" }.sum { |values, *| values[1] }
      got = top("-sample_index=alloc_space", "-tagfocus=location=^/srv/app/a.rb:3$", file)
      assert_equal [want], got.filter_map { |_, cum, name| cum if name == "<main>" }
      more = Told.new(TOLD.rows, TOLD.frames, TOLD.samples + [Sample.new(0, [5, 500, 5, 500], [1, 0])])
      with_file(made("pprof", told: more)) do |later|
        assert_equal [[0, 500, "<main>"], [500, 500, "block in A::B#run"]],
                     top("-diff_base=#{file}", later).reject { |f, c, _| f.zero? && c.zero? }.sort
      end
    end
  end

  # --- collapsed -------------------------------------------------------------------------

  # As flamegraph.pl takes a line apart.
  def flamegraph(text)
    text.lines.to_h do |l|
      m = /\A(.*)\s+?(\d+(?:\.\d*)?)\n\z/.match(l) or flunk "no line of a flame graph: #{l.inspect}"
      [m[1].split(";"), m[2].to_i]
    end
  end

  def test_collapsed
    shown = SHOWN.tr(";", ":").gsub(/[\x00-\x1f\x7f]/, " ")
    { "collapsed" => 3, "collapsed_total" => 1, "collapsed_objects" => 5 }.each do |form, value|
      want = Hash.new(0)
      expected.each do |values, frames, _|
        path = frames.map { |f| f.name == ODD ? shown : f.name }.reverse
        want[path] += values[value] if values[value] > 0
      end
      text = made(form).force_encoding("UTF-8")
      assert text.valid_encoding?
      assert_equal want, flamegraph(text)
      assert_equal want.size, text.lines.size
    end
  end

  # --- speedscope ------------------------------------------------------------------------

  # Checks a file, and a profile of type "sampled", by the schema; an Array of complaints.
  def complaints(file)
    said = []
    must = ->(good, what) { said << what unless good }
    keys = lambda do |hash, required, optional, where|
      must.(hash.is_a?(Hash) && (required - hash.keys).empty? && (hash.keys - required - optional).empty?, "#{where}: #{hash.keys}")
    end
    keys.(file, %w[$schema shared profiles], %w[name activeProfileIndex exporter], "file")
    must.(file["$schema"] == "https://www.speedscope.app/file-format-schema.json", "$schema")
    must.([file["name"], file["exporter"]].all?(String), "name, exporter")
    must.((0...file["profiles"].size).cover?(file["activeProfileIndex"]), "activeProfileIndex")
    keys.(file["shared"], %w[frames], [], "shared")
    file["shared"]["frames"].each do |f|
      keys.(f, %w[name], %w[file line col], "frame")
      must.(f["name"].is_a?(String) && [NilClass, String].include?(f["file"].class) && [NilClass, Integer].include?(f["line"].class), f.inspect)
    end
    file["profiles"].each do |p|
      keys.(p, %w[type name unit startValue endValue samples weights], [], "profile")
      must.(p["type"] == "sampled" && p["name"].is_a?(String), "type, name")
      must.(%w[bytes microseconds milliseconds nanoseconds none seconds].include?(p["unit"]), "unit")
      must.([p["startValue"], p["endValue"], *p["weights"]].all?(Integer), "numbers")
      must.(p["samples"].all? { |s| s.is_a?(Array) && s.all? { |i| (0...file["shared"]["frames"].size).cover?(i) } }, "samples")
      # not in the schema: what speedscope's import takes for granted
      must.(p["samples"].size == p["weights"].size, "as many weights as samples")
      must.(p["endValue"] - p["startValue"] == p["weights"].sum, "endValue")
    end
    said
  end

  def test_speedscope
    file = JSON.parse(made("speedscope").force_encoding("UTF-8"))
    assert_empty complaints(file)
    assert_equal 'a "title"', file["name"]
    assert_equal ["live bytes", "allocated bytes", "bytes of Ruby's objects"], file["profiles"].map { |p| p["name"] }
    assert_equal %w[bytes bytes bytes], file["profiles"].map { |p| p["unit"] }
    [3, 1, 5].zip(file["profiles"]) do |value, p|
      got = p["samples"].zip(p["weights"]).map { |s, w| [s.map { |i| file["shared"]["frames"][i] }, w] }
      want = expected.reject { |values, *| values[value].zero? }.map do |values, frames, _|
        shown = frames.map { |f| { "name" => utf8(f.name), "file" => (utf8(f.file) unless f.file.empty?), "line" => (f.line if f.line > 0) }.compact }
        [shown.reverse, values[value]]
      end
      assert_equal want, got
    end
  end

  def test_what_speedscope_would_refuse_is_seen
    text = made("speedscope").force_encoding("UTF-8")
    { "\"unit\":\"bytes\"" => "\"unit\":\"pages\"", "\"samples\":[[" => "\"samples\":[[99],[", "\"line\":30" => "\"line\":\"30\"",
      "\"endValue\":" => "\"endValue\":1", "\"type\":\"sampled\"" => "\"type\":\"evented\"", "\"frames\":[" => "\"frames\":[{}," }.each do |from, to|
      assert_includes text, from
      refute_empty complaints(JSON.parse(text.sub(from, to))), to
    end
  end

  # --- the tree, and nothing -------------------------------------------------------------

  def test_the_tree_is_json
    tree = JSON.parse("{#{made("tree").force_encoding("UTF-8")}}")
    assert_equal expected.sum { |values, *| values[3] }, tree["total"]
    assert_includes tree["names"], SHOWN
    assert_equal(%w[frame depth value samples_of].map { tree["frame"].size }, %w[frame depth value samples_of].map { |k| tree[k].size })
    assert_includes tree["groups"], "libruby-3.1.so.3.1"
    main = tree["frame"].index { |f| f >= 0 && tree["names"][tree["frames"][f][0]] == "<main>" }
    assert_equal sums(3).find { |*, name| name == "<main>" }[1], tree["value"][main]
  end

  def test_nothing
    none = Told.new([], [], [])
    p = google(made("pprof", told: none))
    assert_empty p["samples"]
    assert_equal TYPES.map { |t| t.split("/") }, p["types"]
    with_file(made("pprof", told: none)) { |file| assert_empty top(file) }
    assert_empty made("collapsed", told: none)
    assert_empty complaints(JSON.parse(made("speedscope", told: none)))
    assert_equal [0], JSON.parse("{#{made("tree", told: none)}}")["value"]
  end
end
