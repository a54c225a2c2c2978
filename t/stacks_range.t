#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Growth in a range of time, and who called it: /flame with from= and to=, or since=mark. In two phases
# two callers of the same line make it grow; in a third one it shrinks. A range's moments are those of the
# history, which the test waits for.
require_relative "lib/served"
require_relative "lib/two_callers"

class StacksRangeTest < Minitest::Test
  include TwoCallers

  def here = "location=#{escape(line)}"
  def tree(query, at: "") = JSON.parse(body("#{at}/flame.json?by=growth&#{query}"))
  def uptime = stats["uptime"]

  # The second of a moment of the history that is later than all that was done so far. What follows is later by
  # any clock: that of the samples may be behind by the kernel's step, 10 ms at most.
  def moment
    done = uptime.floor
    moment = eventually("a moment of the history after #{done} s") do
      r = get("/flame.json?by=growth&range=all")
      r.status == 200 && JSON.parse(r.body)["range"]["to"].then { |to| to.to_i if to > done }
    end
    eventually("a sample's clock beyond #{moment} s") { uptime > moment + 0.02 }
    moment
  end

  # The line's growth by each method, in the tree.
  def by_caller(tree)
    %w[from_one from_two].to_h do |name|
      i = tree["frame"].index { |f| f >= 0 && bare(tree["names"][tree["frames"][f][0]]) == name }
      [name, i ? tree["value"][i] : 0]
    end
  end

  # The change of each location that the history keeps, by its name
  def changes(from, to)
    rows = JSON.parse(body("/history/locations.json?from=#{from}&to=#{to}&points=300"))["rows"]
    rows.to_h { |r| [r[1], r[4].last - r[4].compact.first] }
  end

  def phase(app, command)
    app.ask(command)
    at_rest(app)
    moment
  end

  # The moments before and after each of the three phases
  def three_phases
    app = served_ruby(APP, options: ["stacks:64k"], env: WITHOUT_JIT)
    begun = moment
    [begun, phase(app, "one 200"), phase(app, "two 300"), phase(app, "drop 200")]
  end

  def test_a_range_names_the_callers_of_its_time
    start, one, two, dropped = three_phases
    first = tree("from=#{start}&to=#{one}&#{here}")
    assert_equal [start, one], first["range"].values_at("from", "to")
    assert_equal changes(start, one).fetch(line), first["total"]
    assert_operator first["total"], :>=, 4_000_000
    # its blocks have died since, so its callers are known by those that live: they are the other's
    assert_equal 0, first["samples"]
    second = tree("from=#{one}&to=#{two}&#{here}")
    assert_equal changes(one, two).fetch(line), second["total"]
    assert_equal({ "from_one" => 0, "from_two" => second["total"] }, by_caller(second))
    assert_operator second["total"], :>=, 6_000_000
    assert_operator second["samples"], :>, 20
    third = tree("from=#{two}&to=#{dropped}&#{here}")
    assert_equal changes(two, dropped).fetch(line), third["total"]
    assert_operator third["total"], :<=, -4_000_000
    both = tree("from=#{start}&to=#{dropped}&#{here}")
    assert_equal first["total"] + second["total"] + third["total"], both["total"]
  end

  def test_while_its_blocks_live
    app = served_ruby(APP, options: ["stacks:64k"])
    start = moment
    one = phase(app, "one 200")
    two = phase(app, "two 300")
    first, second = [start, one, two].each_cons(2).map { |from, to| tree("from=#{from}&to=#{to}&#{here}") }
    assert_equal({ "from_one" => first["total"], "from_two" => 0 }, by_caller(first))
    assert_equal({ "from_one" => 0, "from_two" => second["total"] }, by_caller(second))
    both = tree("from=#{start}&to=#{two}&#{here}")
    assert_equal [first["total"] + second["total"], first["samples"] + second["samples"]], both.values_at("total", "samples")
    # growth since the reset is another thing
    assert_nil JSON.parse(body("/flame.json?by=growth&#{here}"))["range"]
    assert_nil JSON.parse(body("/flame.json?from=#{start}&to=#{one}&#{here}"))["range"], "only growth has a range"
    of_process = tree("from=#{start}&to=#{one}&#{here}", at: "/#{app.pid}")
    assert_equal first.values_at("range", "total", "samples").tap { |r| r[0].delete_if { |k, _| k.start_with?("unix") } },
                 of_process.values_at("range", "total", "samples").tap { |r| r[0].delete_if { |k, _| k.start_with?("unix") } }
    now = JSON.parse(body("/flame.json?by=growth&from=#{start}&to=#{one}"))
    assert_in_delta now["unix"] - now["now"] + start, now["range"]["unix_from"], 0.1
    assert_in_delta now["unix"] - now["now"] + one, now["range"]["unix_to"], 0.1
  end

  # All of a range is what the history has, location by location.
  def test_sums
    app = served_ruby(APP, options: ["stacks:64k"])
    start = moment
    one = phase(app, "one 200")
    all = tree("from=#{start}&to=#{one}")
    assert_equal changes(start, one).values.sum, all["total"]
    live = JSON.parse(body("/history.json?from=#{start}&to=#{one}&points=1440"))["live"]
    # that is of other moments, and in KiB
    assert_in_delta live.last - live.first, all["total"] + all["range"]["elsewhere"], 200_000
  end

  def test_without_scripts
    app = served_ruby(APP, options: ["stacks:64k"])
    start = moment
    one = phase(app, "one 200")
    phase(app, "two 300")
    page = body("/flame?by=growth&from=#{start}&to=#{one}&#{here}").dup.force_encoding("UTF-8")
    assert_match(/Live bytes grew by <[^>]*>3\.8\d.MB<.* of uptime\. Callers are estimated from \d+ samples that were taken in that time and still live\./, page)
    assert_includes page, "<a href=\"/flame?by=growth&amp;location=#{escape(line)}\">Since the last reset</a>"
    assert_includes page, "<input type=\"hidden\" name=\"from\" value=\"#{start}\">\n<input type=\"hidden\" name=\"to\" value=\"#{one}\">"
    assert_includes page, "from_one"
    refute_includes page, "from_two"
    # the form's query if another kind of bytes is chosen
    assert_includes body("/flame?from=#{start}&to=#{one}&by=live&invert=&#{here}"), "from_two"
  end

  def test_since_the_mark
    app = served_ruby(APP, options: ["stacks:64k"])
    app.ask("one 300")
    at_rest(app)
    had = tsv.find { |r| r.location == line }.live_bytes
    assert_line get("/flame.json?by=growth&since=mark"), 400, %r{\Asince: there is no mark: set one with POST /mark$}
    second = uptime.floor
    # the mark's own second counts, also by a sample's clock, which may be behind: see moment
    eventually("a later second") { uptime > second + 1.02 }
    assert_equal 200, post("/mark").status
    app.ask("two 200")
    at_rest(app)
    since = tree("since=mark&#{here}")
    assert_equal tsv.find { |r| r.location == line }.live_bytes - had, since["total"]
    assert_equal ["mark", 0], since["range"].values_at("since", "elsewhere")
    assert_equal({ "from_one" => 0, "from_two" => since["total"] }, by_caller(since))
    assert_match(/since the mark\. Callers are estimated from #{since["samples"]} samples/, body("/flame?by=growth&since=mark&#{here}"))
    assert_nil tree("since=reset&#{here}")["range"]
  end

  def test_refusals
    served_ruby(APP, options: ["stacks:64k"])
    moment
    { "from=x" => /from: seconds of uptime expected, not "x"/, "to=1e3" => /to: seconds of uptime expected/, "from=3&to=2" => /from: must not be later than to or now/,
      "from=999999" => /from: must not be later than to or now/, "range=2h" => /range: 15m, 1h, 6h, 24h or all expected/, "range=1h&from=1" => /range: from or to is given, too/,
      "since=x" => /since: reset or mark expected, not "x"/, "since=mark&to=1" => /since: from, to or range is given, too: leave one of them out/ }.each do |query, like|
      %w[/flame /flame.json].each { |page| assert_line get("#{page}?by=growth&#{query}"), 400, /\A#{like}/ }
    end
  end

  def test_without_a_history
    served_ruby(APP, options: ["stacks:64k", "history:0"])
    assert_line get("/flame.json?by=growth&from=0"), 400, /\Afrom, to: the option history is off: use since=mark$/
    assert_equal 200, get("/flame.json?by=growth").status
  end

  # Without stacks each location stands for itself.
  def test_without_stacks
    app = served_ruby(APP, options: ["stacks:off"])
    phase(app, "one 1") # the history names a line one step after it has met it
    start = moment
    one = phase(app, "one 200")
    got = tree("from=#{start}&to=#{one}&#{here}")
    assert_equal [changes(start, one).fetch(line), 0, 1], [got["total"], got["samples"], got["depth"].max]
    assert_match(/No stacks are kept: the option stacks is off\./, body("/flame?by=growth&from=#{start}&to=#{one}"))
  end
end
