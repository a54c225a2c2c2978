#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# doc.t - pages made from the lists of options, of columns and of mwrapctl's commands are current, and the dashboard; the
# manuals are well formed and name every option, command and route; examples in the documents name options
# that there are.

require_relative "lib/tap"
require_relative "lib/routes"
require_relative "../lib/mwrap/options"
require_relative "../lib/mwrap/version"
require_relative "../lib/mwrap/ctl/commands"
require "fileutils"

class TestOfWhatIsMade < Minitest::Test
  MADE = %w[lib/mwrap/options.rb doc/mwrap.1 doc/completions/mwrap.bash doc/completions/_mwrap doc/completions/mwrap.fish].freeze
  CTL = %w[doc/mwrapctl.1 doc/completions/mwrapctl.bash doc/completions/_mwrapctl doc/completions/mwrapctl.fish].freeze
  PAGE = %w[web/src/server_columns.js].freeze
  LISTS = %w[src/api/options.def src/api/columns.def lib/mwrap/ctl/commands.rb lib/mwrap/ctl/command.rb lib/mwrap/ctl/nearest.rb
             lib/mwrap/ctl/attach_commands.rb lib/mwrap/ctl/control_commands.rb lib/mwrap/ctl/look_commands.rb lib/mwrap/ctl/record_commands.rb].freeze

  def make(root, *args)
    run_command(RUBY, "#{root}/doc/make.rb", *args)
  end

  # A copy of what `make doc` reads and writes.
  def copy
    in_tmp do |dir|
      [*MADE, *CTL, *PAGE, *LISTS, "doc/make.rb"].each do |path|
        FileUtils.mkdir_p(File.dirname("#{dir}/#{path}"))
        FileUtils.cp("#{ROOT}/#{path}", "#{dir}/#{path}")
      end
      yield dir
    end
  end

  def test_it_is_current
    in_tmp do |dir|
      assert_success make(ROOT, dir)
      assert_equal [*MADE, *CTL, *PAGE].sort, Dir.glob("**/*", base: dir).select { |path| File.file?("#{dir}/#{path}") }.sort
      [*MADE, *CTL, *PAGE].each { |path| assert_equal File.read("#{ROOT}/#{path}"), File.read("#{dir}/#{path}"), "#{path}: run make doc" }
    end
  end

  def test_a_new_option_comes_into_every_file
    copy do |dir|
      File.write("#{dir}/src/api/options.def", %(OPTION(colour, WORD(colour), "red|dark green", "Taste", "the user's (\\"x\\") one", "It's `-red`.")\n), mode: "a")
      assert_success make(dir)
      MADE.each { |path| assert_includes File.read("#{dir}/#{path}"), "colour", path }
      assert_includes File.read("#{dir}/doc/mwrap.1"), ".SS Taste\n.TP\n\\fBcolour\\fR:\\fBred\\fR|\\fBdark green\\fR\nIt's \\fB\\-red\\fR.\n"
      help = run_command(RUBY, "-r#{dir}/lib/mwrap/options.rb", "-e", "puts Mwrap::Options.help")
      assert_match(/^Taste:\n  colour:red\|dark green +the user's \("x"\) one$/, help.stdout)
      made = MADE.map { |path| File.read("#{dir}/#{path}") }
      assert_success make(dir)
      assert_equal made, MADE.map { |path| File.read("#{dir}/#{path}") }
    end
  end

  def test_a_new_command_comes_into_every_file
    copy do |dir|
      list = File.read("#{dir}/lib/mwrap/ctl/commands.rb")
      File.write("#{dir}/lib/mwrap/ctl/commands.rb", list.sub(/^    \]\.freeze$(?!.*^    \]\.freeze$)/m, "    ].push(#{NEW_COMMAND}).freeze"))
      assert_success make(dir)
      CTL.each { |path| assert_includes File.read("#{dir}/#{path}"), "colour", path }
      assert_includes File.read("#{dir}/doc/mwrapctl.1"), ".SS paint BRUSH [COLOUR...]\nPaints.\n.TP\n\\fICOLOUR\\fR\nWhat with.\n.TP\n\\fB\\-c\\fR, \\fB\\-\\-colour\\fR \\fBred\\fR|\\fBdark\\fR\nIt's \\fB\\-red\\fR.\n"
      assert_includes File.read("#{dir}/doc/mwrapctl.1"), ".SH BRUSH\n.TP\n\\fIPATH\\fR\nA brush.\n"
      made = CTL.map { |path| File.read("#{dir}/#{path}") }
      assert_success make(dir)
      assert_equal made, CTL.map { |path| File.read("#{dir}/#{path}") }
    end
  end

  NEW_COMMAND = <<~'RUBY'.tr("\n", " ")
    Command.new(name: "paint", arguments: "BRUSH [COLOUR...]", summary: "it's [new]", about: "Paints.", forms: { "BRUSH" => [["PATH", "a brush"]], "COLOUR" => "what with" },
                options: [Option.new(name: "colour", letter: "c", value: "red|dark", help: "the user's (\"x\") one", manual: "It's `-red`.")])
  RUBY

  # Of C, of the page and of tests: the same names and texts, in the same order.
  def test_a_new_column_comes_into_the_page
    copy do |dir|
      list = File.read("#{dir}/src/api/columns.def")
      entry = %[COLUMN(colour, EVERY, TEXT, 1, 0, "Colour", "It's \\"red\\" "\n\t"</b>.")\n\n]
      File.write("#{dir}/src/api/columns.def", list.sub("COLUMN(live,") { entry + $& })
      assert_success make(dir)
      made = File.read("#{dir}/#{PAGE[0]}")
      names = made.scan(/^\t\["(\w+)", "EVERY", /).flatten
      assert_equal COLUMNS.dup.insert(COLUMNS.index("live"), "colour"), names
      assert_includes made, %(\t["colour", "EVERY", "It's \\"red\\" </b>."],\n\t["live", )
      assert_success make(dir)
      assert_equal made, File.read("#{dir}/#{PAGE[0]}")
    end
  end

  def test_a_mistake_in_the_list_is_told
    copy do |dir|
      list = File.read("#{dir}/src/api/columns.def")
      File.write("#{dir}/src/api/columns.def", list.sub("COLUMN(live, EVERY", "COLUMN(live, SOME"))
      run = make(dir)
      refute run.status.success?
      assert_equal "columns.def: not a COLUMN: COLUMN(live, SOME, COUNT, -1, 2, \"Live\",\n", run.stderr
    end
    copy do |dir|
      File.write("#{dir}/src/api/options.def", "OPTION(colour, WORD(colour), \"red\", \"Taste\", HELP, \"It.\")\n", mode: "a")
      run = make(dir)
      refute run.status.success?
      assert_equal "options.def: not an OPTION: OPTION(colour, WORD(colour), \"red\", \"Taste\", HELP, \"It.\")\n", run.stderr
    end
  end

  # The list that Ruby has is the parser's.
  def test_ruby_and_c_have_the_same_options
    known = run_command(LAUNCHER, "true", env: { "MWRAP" => "?:1" }).stderr[/known are (.*)/, 1]
    assert_equal known, Mwrap::Options::ALL.map(&:key).join(", ")
  end

  def test_the_parser_takes_the_words_of_the_list
    enumerated = Mwrap::Options::ALL.select { |o| o.value.match?(/\A[a-z0-9|]+\z/) }
    assert_operator enumerated.size, :>=, 5
    enumerated.each do |option|
      words = option.value.split("|")
      wrong = run_command("true", env: { "LD_PRELOAD" => TRACKER, "MWRAP" => "#{option.key}:other" }).stderr
      assert_equal "mwrap: #{option.key}: \"other\" is unknown: use #{[words[0..-2].join(", "), words[-1]].reject(&:empty?).join(" or ")}\n", wrong
      words.each { |word| assert_equal "", run_command("true", env: { "LD_PRELOAD" => TRACKER, "MWRAP" => "#{option.key}:#{word}" }).stderr }
    end
  end
end

# web/grafana.json; t/metrics.t sees what is in it.
class TestOfDashboard < Minitest::Test
  BOARD = "web/grafana.json"

  def make(root, *args) = run_command(RUBY, "#{root}/doc/grafana.rb", *args)

  def test_it_is_current
    in_tmp do |dir|
      assert_success make(ROOT, dir)
      assert_equal File.read("#{ROOT}/#{BOARD}"), File.read("#{dir}/#{BOARD}"), "#{BOARD}: run make"
    end
  end

  # A metric that is called otherwise, or counts otherwise, than the dashboard has it.
  def test_it_follows_the_table_of_metrics
    { '"mwrap_rss_bytes", GAUGE' => ["rss_bytes", "GAUGE"], '"mwrap_gc_runs", COUNTER' => ["gc_runs", "COUNTER"] }.each do |entry, (name, type)|
      [entry.sub(name, "other"), entry.sub(type, type == "GAUGE" ? "COUNTER" : "GAUGE")].each do |changed|
        in_tmp do |dir|
          %w[doc/grafana.rb src/server/report/metrics.c src/server/history/limits.def].each do |path|
            FileUtils.mkdir_p(File.dirname("#{dir}/#{path}"))
            FileUtils.cp("#{ROOT}/#{path}", "#{dir}/#{path}")
          end
          table = File.read("#{dir}/src/server/report/metrics.c")
          File.write("#{dir}/src/server/report/metrics.c", table.sub(entry) { changed })
          run = make(dir)
          assert_equal ["grafana.rb: mwrap_#{name}: metrics.c has no #{type} of that name: use one of its table\n", 1],
                       [run.stderr, run.status.exitstatus], changed
          refute_path_exists "#{dir}/#{BOARD}"
        end
      end
    end
  end
end

module ManualTest
  def shown(command = "man #{page}")
    run = run_command("sh", "-c", command, env: { "MANPAGER" => "cat", "MANWIDTH" => "80", "LC_ALL" => "C.UTF-8", "MAN_KEEP_FORMATTING" => nil })
    assert_success run
    run.stdout.gsub(/.\x08/, "")
  end

  def test_it_is_well_formed
    lint = run_command("mandoc", "-Tlint", "-Wall", page)
    assert_equal ["", ""], [lint.stdout, lint.stderr]
    assert_success lint
    man = run_command("man", "--warnings", "-l", page, env: { "MANPAGER" => "cat", "LC_ALL" => "C.UTF-8" })
    assert_success man
    assert_equal "", man.stderr
    assert_match(/^NAME$/, man.stdout.gsub(/.\x08/, ""))
  end

  def test_it_has_the_version
    assert_includes File.read(page)[/^\.TH .*/], "\"mwrap #{Mwrap::VERSION}\""
  end

  def sections = shown.scan(/^[A-Z][A-Z ]+$/)
end

class TestOfManual < Minitest::Test
  include ManualTest
  PAGE = File.join(ROOT, "doc/mwrap.1")

  def page = PAGE

  # Both of them report a mistake.
  def test_mistakes_would_be_seen
    in_tmp do |dir|
      File.write("#{dir}/x.1", "#{File.read(PAGE)}.XX nonsense\n")
      assert_match(/unknown macro/, run_command("mandoc", "-Tlint", "-Wall", "#{dir}/x.1").stdout)
      assert_match(/XX/, run_command("man", "--warnings", "-l", "#{dir}/x.1", env: { "MANPAGER" => "cat" }).stderr)
    end
  end

  def test_it_has_the_sections_of_a_manual
    assert_equal ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "HTTP SERVER", "FAMILIES", "ENVIRONMENT", "FILES",
                  "EXIT STATUS", "EXAMPLES", "SEE ALSO"], sections
  end

  def test_it_has_every_option
    text = shown
    Mwrap::Options::ALL.each { |o| assert_match(/^ +#{Regexp.escape("#{o.key}:#{o.value}")}$/, text) }
  end

  # Of the one table of routes.
  def test_it_has_every_route
    text = shown[/^HTTP SERVER\n(.*?)^[A-Z]/m, 1]
    ROUTES.each do |route|
      path = route.pattern.sub(/[.\/]?\*\z/, "")
      next if path.empty? || path.start_with?("/family/") # assets; what the processes ask each other
      assert_match(/^ +(?:GET|POST)\b.*#{Regexp.escape(path)}/, text, route.pattern)
    end
  end

  def test_the_help_names_it
    help = run_command(LAUNCHER, "--help").stdout
    assert_match(/^NAME\n +mwrap - /, shown(help[/^The manual:\s+(.*)$/, 1]))
  end

  def test_the_help_gives_examples_that_work
    examples = run_command(LAUNCHER, "--help").stdout.scan(/^  ((?:MWRAP|mwrapctl report\b).*)/).flatten
    assert_equal 2, examples.size
    in_tmp do |dir|
      File.write("#{dir}/server.rb", "KEPT = Array.new(1000) { 'x' * 1000 }\n$stdin.read\n")
      server, client = examples.map { |line| line.gsub("/tmp/mw.sock", "#{dir}/mw.sock") }
      refute_equal examples[0], server
      run = run_command("sh", "-c", <<~SH, chdir: dir, env: { "PATH" => "#{ROOT}/bin:#{ENV["PATH"]}" })
        mkfifo wait
        #{server} <wait &
        exec 3>wait
        tries=0
        until { #{client} >page 2>said && grep -q server.rb:1 page; } || [ $((tries += 1)) -ge 3000 ]; do sleep 0.02; done
        exec 3>&-
        wait
        cat page said
      SH
      assert_success run
      assert_match(/server\.rb:1\b/, run.stdout)
    end
  end

  def test_its_example_of_a_dump_works
    example = shown[/^ +(MWRAP=dump_fd:.*)/, 1]
    run = run_command("sh", "-c", example, env: { "PATH" => "#{ROOT}/bin:#{ENV["PATH"]}" })
    assert_success run
    totals = run.stdout.lines.map(&:to_i)
    assert_operator totals.size, :>, 3
    assert_equal totals.sort.reverse, totals
    assert_match(/-e:1$/, run.stdout)
  end
end

class TestOfCtlManual < Minitest::Test
  include ManualTest

  def page = File.join(ROOT, "doc/mwrapctl.1")

  def test_it_has_the_sections_of_a_manual
    assert_equal ["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "SOCKET", "EXIT STATUS", "EXAMPLES", "SEE ALSO"], sections
  end

  def test_it_has_every_command_and_every_option
    text = shown
    Mwrap::Ctl::COMMANDS.each do |c|
      part = text[/^   #{Regexp.escape(c.line)}\n(.*?)(?=^ {0,3}\S)/m, 1]
      assert part, c.name
      short, long = c.forms.partition { |_, meaning| meaning.is_a?(String) }
      assert_empty c.takes.map(&:name) - c.forms.keys, c.name
      [*short.map(&:first), *c.options.map(&:label)].each { |label| assert_match(/^ +#{Regexp.escape(label)}($| {2,}| (?=[A-Z]))/, part) }
      long.each do |name, rows|
        section = text[/^#{name}\n(.*?)(?=^\S)/m, 1]
        rows.each { |label,| assert_match(/^ +#{Regexp.escape(label)}($| {2,})/, section) }
      end
    end
  end

  def test_the_help_names_it
    help = run_command(RUBY, "#{ROOT}/lib/exe/mwrapctl", "--help").stdout
    assert_match(/^NAME\n +mwrapctl - /, shown(help[/^The manual:\s+(.*)$/, 1]))
  end

  def test_its_examples_name_what_there_is
    lines = shown[/^EXAMPLES\n(.*?)^SEE/m, 1].scan(/^ +mwrapctl (\w+) (.*)/)
    assert_operator lines.size, :>=, 5
    lines.each do |name, words|
      command = Mwrap::Ctl::COMMANDS.find { |c| c.name == name }
      words.scan(/(?<= )--?[a-z]+/).each { |flag| assert(command.options.any? { |o| [*("-#{o.letter}" if o.letter), "--#{o.name}"].include?(flag) }, flag) }
    end
  end
end

# What GitHub shows of README and NEWS.
class TestOfMarkdown < Minitest::Test
  FROM = { "README.md" => "README", "CHANGELOG.md" => "NEWS" }.freeze

  def made = FROM.keys.to_h { |name| [name, File.read("#{ROOT}/.github/#{name}")] }

  def test_it_is_current
    in_tmp do |dir|
      assert_success run_command(RUBY, "#{ROOT}/doc/markdown.rb", dir)
      made.each { |name, text| assert_equal File.read("#{dir}/.github/#{name}"), text, "#{name}: run make doc" }
    end
  end

  # HTML, by a renderer of Markdown that isn't ours.
  def html(text)
    gems = File.join(ROOT, ".build/gems-#{RUBY_ENGINE}-#{RUBY_VERSION}-#{RUBY_PLATFORM}")
    script = <<~RUBY
      Gem.use_paths(#{gems.dump}, [#{gems.dump}, *Gem.path])
      gem "redcarpet", "= 3.5.0"
      require "redcarpet"
      $stdout.write Redcarpet::Markdown.new(Redcarpet::Render::HTML, fenced_code_blocks: true, no_intra_emphasis: true).render($stdin.set_encoding("UTF-8").read)
    RUBY
    run = run_command(RUBY, "-e", script, stdin: text)
    assert_success run
    run.stdout
  end

  # Each word of the text is there, in its order, and no other. The numbers of a list are the browser's.
  def test_it_says_the_same
    made.each do |name, text|
      shown = html(text).gsub(/<!--.*?-->|<img[^>]*>/m, "").gsub(/<[^>]*>/, "").gsub("&quot;", '"').gsub("&#39;", "'").gsub("&lt;", "<").gsub("&gt;", ">").gsub("&amp;", "&")
      plain = File.read("#{ROOT}/#{FROM[name]}").gsub(/^(?:=+|-+|\d+\.|\*)(?= |$)/, "")
      words = ->(t) { t.delete("`").scan(/[^\s:]+/) } # the list of documents has colons
      words.call(plain).zip(words.call(shown)).each_cons(4) { |four| assert_equal four.map(&:first), four.map(&:last), name }
      assert_equal words.call(plain).size, words.call(shown).size, name
    end
  end

  def test_its_form
    readme = html(made["README.md"])
    plain = File.read("#{ROOT}/README")
    assert_equal plain.scan(/^(.+)\n-+$/).flatten, readme.scan(%r{<h2>(.*)</h2>}).flatten
    assert_operator readme.scan("<pre>").size, :>=, 10
    assert_equal 4, readme[/<ol>.*<\/ol>/m].scan("<li>").size
    refute_match(/<em>|<strong>/, readme)
    refute_match(/<em>|<strong>/, html(made["CHANGELOG.md"]))
  end

  def test_its_links_lead_somewhere
    links = made.values.flat_map { |text| text.scan(/\]\(([^)]+)\)/).flatten }
    assert_operator links.size, :>=, 40
    links.each { |to| assert File.exist?(File.join(ROOT, ".github", to)), to }
  end
end

# README and the other documents are written by hand.
class TestOfDocuments < Minitest::Test
  KEYS = Mwrap::Options::ALL.map(&:key)
  STAND_INS = %w[key].freeze # MWRAP=key:value

  def documents
    Dir.chdir(ROOT) { ["README", *Dir["doc/**/*.{md,1}"]] }
  end

  # The keys of each MWRAP=KEY:VALUE,... in a text.
  def keys(text)
    text.scan(/\bMWRAP=["']?([a-z_]+:[^\s"'`)]*)/).flat_map do |(options)|
      options.gsub(/\\./, "").split(",").map { |item| item[/\A[^:]*/] }
    end
  end

  def test_examples_name_options_that_there_are
    documents.each do |path|
      text = File.read(File.join(ROOT, path)).gsub("\\-", "-")
      assert_empty keys(text) - KEYS - STAND_INS, path
    end
    assert_operator documents.sum { |path| keys(File.read(File.join(ROOT, path))).size }, :>=, 10
    assert_equal %w[socket no_such], keys("`MWRAP=socket:/a\\,b,no_such:1 mwrap`")
  end

  # A table whose head begins with "key value" or "| option |": its rows.
  def test_tables_name_options_that_there_are
    rows = documents.flat_map do |path|
      text = File.read(File.join(ROOT, path))
      plain = text.scan(/^ {4}key +value .*\n((?: {4,}.*\n)+)/).flat_map { |(table)| table.scan(/^ {4}(\w+) /) }
      marked = text.scan(/^\| *(?:[Kk]ey|[Oo]ption) *\|.*\n\|[-| :]+\n((?:\|.*\n)+)/).flat_map { |(table)| table.scan(/^\| *`?(\w+)/) }
      [*plain, *marked].flatten.map { |key| [path, key] }
    end
    refute_empty rows
    assert_empty rows.reject { |_, key| KEYS.include?(key) }
  end
end
