#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The recipes of doc/contributing.md work: the files and names that they name are there, and
# whoever does just what they say has one of each, and turns no test red. That is tried in a copy
# of the checkout, which is built.
require_relative "lib/tap"
require "fileutils"
require "socket"

class ContributingTest < Minitest::Test
  PAGE = File.join(ROOT, "doc/contributing.md")
  RECIPES = %w[column option route metric kind hook].freeze

  # The changes that the recipes name: [file, text that is there, text that goes before it].
  # A file that is missing is made. When a file moves or changes, it is changed here and on the page.
  EDITS = {
    "column" => [
      ["src/api/columns.def", "COLUMN(live_bytes, EVERY", %(COLUMN(example, EVERY, COUNT, -1, 6, "An example", "Twice the allocations.")\n\n)],
      ["src/api/columns.def", "COLUMN(max_life, EVERY", %(COLUMN(mean_size, EVERY, MEAN, -1, 6, "Mean size", "Mean size of the live blocks.")\n\n)],
      ["src/shared/report/columns.c", "static void get_growth(", <<~C],
        static void get_example(const struct mw_row *r, struct mw_cell *c)
        {
        	c->kind = MW_CELL_UINT;
        	c->u = 2 * r->allocations;
        }

        static void get_mean_size(const struct mw_row *r, struct mw_cell *c)
        {
        	c->kind = r->live ? MW_CELL_RATIO : MW_CELL_NONE;
        	c->u = r->live_bytes;
        	c->by = r->live;
        }

      C
      ["web/src/columns.js", "\t{ id: \"live_bytes\"", <<~JS],
        \t{ id: "example", title: "example", wide: 5, get: (r, i) => 2 * r.allocations[i], parts: (v) => [about(v), ""], exact: count },
        \t{ id: "mean_size", title: "size", wide: 5, get: (r, i) => r.liveBytes[i] / r.live[i], parts: bytesParts, exact: count },
      JS
      ["web/src/save.js", "\tlive_bytes: ", "\texample: (r, i) => 2 * r.allocations[i],\n"],
      ["web/src/save.js", "\tmax_life: ", "\tmean_size: (r, i) => (r.live[i] ? (r.liveBytes[i] / r.live[i]).toFixed(3) : \"\"),\n"],
      ["doc/reading-the-numbers.md", "| `live_bytes` | bytes", "| `example` | twice the allocations |\n"],
      ["doc/reading-the-numbers.md", "| `max_life` |", "| `mean_size` | the mean size of the live blocks |\n"]
    ],
    "option" => [
      ["src/api/options.def", "OPTION(source, ", %(OPTION(example, IF(example), "yes", "HTTP server",\n       "an example",\n       "An example.")\n\n)],
      ["src/shared/options/options.h", "\tbool read_only;\n", "\tbool example;\n"],
      ["src/shared/options/keys.c", "const struct mw_key mw_keys[]", <<~C],
        static bool set_example(struct mw_parser *p, const char *value)
        {
        	size_t at;

        	if (!one_of(p, value, &at))
        		return false;
        	p->o->example = true;
        	return true;
        }

      C
      ["t/unit/test_options.c", "TEST(children)\n", <<~C]
        TEST(example)
        {
        	right("example:yes");
        	assert_true(o.example);
        	refused_value("", "example", "no", "is unknown: use yes");
        }

      C
    ],
    "route" => [
      ["src/api/routes.def", "MW_ROUTE(GET | QUERY, \"/metrics\"", "MW_ROUTE(GET | QUERY, \"/example\", mw_page_example, NONE)\n"],
      ["src/server/pages/example.c", nil, <<~C],
        #include "pages.h"

        void mw_page_example(struct mw_call *call)
        {
        	mw_reply(call, 200, "an example");
        }
      C
      ["t/unit/test_routes.c", "TEST(test_metrics)\n", <<~C],
        TEST(test_example)
        {
        	assert_int_equal(ask("GET", "/example", NULL, "", MW_PEER_UNIX), 200);
        	assert_true(has("an example"));
        	assert_int_equal(ask("POST", "/example", NULL, "", MW_PEER_UNIX), 405);
        }

      C
      ["doc/http.md", "| `GET /metrics` |", "| `GET /example` | an example |\n"],
      ["doc/mwrap.1", ".TP\n.B GET /metrics\n", ".TP\n.B GET /example\nAn example.\n"]
    ],
    "metric" => [
      ["src/server/report/metrics.c", "GET(rss,", "GET(example, m->stats.ever_known, 2 * m->stats.live_bytes)\n"],
      ["src/server/report/metrics.c", "\t{ \"mwrap_rss_bytes\"", %(\t{ "mwrap_example_bytes", GAUGE, "bytes", "An example.", get_example },\n)]
    ],
    "kind" => [
      ["src/shared/report/kinds.def", "KIND(LIBC, ", %(KIND(EXAMPLE, "an example")\n)],
      ["src/shared/report/kinds.def", "PASS(\"ruby_x*\")", %(CALL("example_alloc*", EXAMPLE)\n)],
      ["doc/stacks.md", "| `other` | none", "| `an example` | an example |\n"]
    ],
    "hook" => [
      ["src/api/hooks.def", "/* tracker/hooks/sized.c */", "MW_HOOK_NEXT(mallopt, int, (int, int))\n\n"],
      ["src/tracker/hooks/malloc.c", "/* --- aligned", <<~C]
        int mallopt(int, int);
        MW_EXPORT int mallopt(int which, int value)
        {
        	mw_real_init();
        	return mw_next.mallopt ? mw_next.mallopt(which, value) : 0;
        }

      C
    ]
  }.freeze
  # Files that only some hooks concern.
  FOR_SOME = { "hook" => %w[src/tracker/real/real.c] }.freeze
  # Tests that the recipes touch: with all of these made, each of a kind of its own.
  TESTS = {
    "t/serves.t" => //, "t/httpd.t" => //, "t/soak.t" => /noticed/, "t/readme.t" => /columns/, "t/doc.t" => //,
    "t/agree.t" => /ruby_process$/, "t/browser.t" => /every_column/, "t/browser_narrow.t" => /plain_tables/,
    "t/metrics.t" => /both_forms|as_the_other/, "t/messages.t" => //, "t/kinds.t" => /lines_of_one_kind/, "t/family.t" => nil, "t/symbols.t" => nil
  }.freeze
  UNITS = %w[test_report test_dump test_at test_escape test_kinds test_options test_routes test_metrics].freeze
  PROGRAMS = %w[.build/t/programs/fake_server .build/t/programs/family .build/t/preload/above.so .build/t/preload/witness.so].freeze
  SCRIPTS = %w[columns plot fit kinds state rows matches].freeze
  EXAMPLE_OF = { "src/server/pages/example.c" => "src/server/pages/metrics.c" }.freeze

  # { "column" => its lines, without their numbers }
  def recipes
    @recipes ||= File.read(PAGE).scan(/^## Add an? (\w+)\n\n((?:\d\. .*\n)+)/).to_h do |name, lines|
      [name, lines.lines(chomp: true).map { |line| line.sub(/\A\d\. /, "") }]
    end
  end

  def words(line) = line.scan(/`([^`]+)`/).flatten
  def path?(word) = word.include?("/") && !word.start_with?("/") || word == "README"
  def files(line) = words(line).map { |w| w[/\Anode (\S+)/, 1] || w }.select { |w| path?(w) }

  def test_each_recipe_has_at_most_five_lines
    assert_equal RECIPES, recipes.keys
    recipes.each_value { |lines| assert_includes 3..5, lines.size }
  end

  def test_every_file_and_every_name_of_a_recipe_is_there
    recipes.values.flatten.each do |line|
      refute_empty files(line), line
      files(line).each { |file| assert File.file?(File.join(ROOT, file)), "#{file}: #{line}" }
      text = files(line).map { |file| File.read(File.join(ROOT, file)) }.join
      (words(line).grep(/\A\w+\z/) - ["README"]).each { |name| assert_match(/\b#{name}\b/, text, line) }
    end
  end

  # Nobody has to find out what a recipe leaves out.
  def test_the_edits_are_in_the_recipes_files_and_in_their_order
    EDITS.each do |name, edits|
      edited = edits.map { |file, *| EXAMPLE_OF.fetch(file, file) }.uniq
      named = recipes.fetch(name).flat_map { |line| files(line) }
      assert_equal edited, named & edited, name
      assert_equal edited.grep(/\Asrc\//), named.grep(/\Asrc\//) - FOR_SOME.fetch(name, []), name
    end
  end

  def test_what_the_recipes_add_is_there_after_these_edits
    in_tmp do |dir|
      copy = File.join(dir, "copy")
      copy_to(copy)
      EDITS.each_value { |edits| edits.each { |edit| apply(copy, *edit) } }
      assert_success make(copy, "doc")
      assert_success run_command("node", File.join(copy, "web/build.mjs"))
      run = make(copy, "all")
      assert_success run
      refute_match(/warning:/, run.stderr)
      option(copy)
      served(copy, File.join(dir, "s")) { |get| column(get) || route(get) || metric(get) }
      no_test_turns_red(copy)
    end
  end

  # GNUmakefile's head offers them, or a script asks for them.
  def test_every_target_that_is_named_can_be_made
    offered = File.read(File.join(ROOT, "GNUmakefile"))[/\A(?:#.*\n)+/].scan(/^# make ([a-z][a-z0-9-]*)/).flatten
    scripts = Dir.glob(["t/**/*.sh", "bin/{check,demo}", ".ci/run"], base: ROOT).map { |file| File.read(File.join(ROOT, file)) }
    asked = scripts.flat_map { |script| script.scan(/^\s*mw_build (.+)$/) }.join(" ").split
    targets = (offered | asked).sort
    assert_operator targets.size, :>, 12
    targets.each { |target| assert_success make(ROOT, "--dry-run", target) }
  end

  private

  # With what is built, so that only what the edits concern is built again.
  def copy_to(copy)
    FileUtils.mkdir_p(copy)
    %w[GNUmakefile README NEWS src lib bin doc t].each { |name| FileUtils.cp_r(File.join(ROOT, name), copy, preserve: true) }
    Dir.glob(%w[web/* t/*.mk .build/* .build/.*], base: ROOT).each do |name|
      next if name.match?(/\/(\.{1,2}|node_modules|t|gems-.*|asan|tsan|planted|fuzz|behaviour|setup\..*)\z/)
      FileUtils.mkdir_p(File.join(copy, File.dirname(name)))
      FileUtils.cp_r(File.join(ROOT, name), File.join(copy, name), preserve: true)
    end
    Dir.glob(%w[web/node_modules .build/gems-*], base: ROOT).each { |name| FileUtils.ln_s(File.join(ROOT, name), File.join(copy, name)) }
  end

  def apply(copy, file, there, text, instead = nil)
    path = File.join(copy, file)
    return File.write(path, text) unless there
    before = File.read(path)
    assert_equal 1, before.scan(there).size, "#{file}: #{there}"
    File.write(path, before.sub(there) { instead ? text : text + there })
  end

  def no_test_turns_red(copy)
    units = UNITS.map { |name| ".build/t/unit/#{name}" }
    assert_success make(copy, *units, *PROGRAMS)
    units.each { |unit| assert_passes run_command(File.join(copy, unit)), unit }
    TESTS.each { |test, names| assert_passes run_command(RUBY, File.join(copy, test), *(names && ["-n", names.inspect])), test }
    scripts = SCRIPTS.map { |name| File.join(copy, "t/js/#{name}.test.mjs") }
    assert_passes run_command("node", "--test", *scripts), "t/js"
  end

  def assert_passes(run, what) = assert(run.status.success?, "#{what}:\n#{run.stdout.lines.grep(/\A\s*(not ok|#)/).join}#{run.stderr}")

  # What the edits concern is most of the sources: optimized less, these take two thirds of the time.
  def make(copy, *goals) = run_command("make", "-j2", "-C", copy, "RUBY=#{RUBY}", "OPT=-O1", "UNIT_OBJ=.build", *goals, env: { "MAKEFLAGS" => nil, "MAKELEVEL" => nil }, timeout: 1800)

  def option(copy)
    launcher = File.join(copy, "lib/exe/mwrap")
    assert_success run_command(RUBY, launcher, "true", env: { "MWRAP" => "example:yes" })
    wrong = run_command(RUBY, launcher, "true", env: { "MWRAP" => "example:no" })
    assert_equal [2, "mwrap: example: \"no\" is unknown: use yes\n"], [wrong.status.exitstatus, wrong.stderr]
    assert_includes run_command(RUBY, launcher, "--help").stdout, "example:yes"
  end

  # A process that serves at `socket`, and a lambda that asks it.
  def served(copy, socket)
    r, w = IO.pipe
    pid = Process.spawn({ "MWRAP" => "socket:#{option_value(socket)}", "LD_PRELOAD" => nil, "RUBYOPT" => nil },
                        RUBY, File.join(copy, "lib/exe/mwrap"), RUBY, "-e", "KEPT = Array.new(10) { 'x' * 1000 }; $stdin.read", in: r, close_others: true)
    r.close
    600.times { File.socket?(socket) ? break : sleep(0.1) }
    yield ->(path) { get(socket, path) }
  ensure
    w&.close
    Process.wait(pid) if pid
  end

  def get(socket, path)
    UNIXSocket.open(socket) do |s|
      s.write("GET #{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      Timeout.timeout(60) { s.read }.split("\r\n\r\n", 2)
    end
  end

  def column(get)
    names, *rows = get.("/each/0.tsv?sort=example&limit=3")[1].lines(chomp: true).map { |l| l.split("\t") }
    at = names.index("example")
    assert_equal names.index("live_bytes") - 1, at, names.inspect
    refute_empty rows
    rows.each { |row| assert_equal row[names.index("allocations")].to_i * 2, row[at].to_i }
    row = JSON.parse(get.("/each/0.json?sort=example&limit=1")[1])
    row = (row.is_a?(Hash) ? row.fetch("rows") : row)[0]
    assert_equal row["allocations"] * 2, row["example"]
    html = get.("/each/0?limit=1")[1]
    assert_includes html, "An example"
    assert_includes html, "sort=example"
    nil
  end

  def route(get)
    head, body = get.("/example")
    assert_match(/\AHTTP\/1\.1 200 /, head)
    assert_equal "an example\n", body
    assert_includes JSON.parse(get.("/stats.json")[1])["options"], "example"
    nil
  end

  def metric(get)
    assert_match(/^# TYPE mwrap_example_bytes gauge\n.*\n?mwrap_example_bytes \d+$/, get.("/metrics")[1])
  end
end
