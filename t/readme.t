#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Documents say what is true. The table of hazards in t/README names tests that exist, and all
# of t/hazards. README and doc/ name options, requests, columns, metrics, files, make's targets and
# pages that there are; doc/ has each request and each column.

require_relative "lib/tap"
require_relative "lib/routes"
require "rubygems"

class ReadmeTest < Minitest::Test
  Row = Struct.new(:hazard, :tests, :result)

  def rows
    @rows ||= File.readlines(File.join(__dir__, "README"), chomp: true).grep(/\A\|/).drop(2).map do |line|
      cells = line.split("|", -1).map(&:strip)
      assert_equal 5, cells.size, line
      Row.new(cells[1], cells[2].split("; ").map { |t| t.split(": ", 2) }, cells[3])
    end
  end

  def source(file)
    (@sources ||= {})[file] ||= File.read(File.join(__dir__, file))
  end

  # Is there a test method, or a test's name in a string?
  def test?(file, name)
    text = source(file)
    text.match?(/^\s*def test_#{Regexp.escape(name.tr(" ", "_"))}(?: = .*)?$/) || text.match?(/"[^"\n]*#{Regexp.escape(name)}[^"\n]*"/) ||
      text.match?(/^\s*define_method\(:"test_#{Regexp.escape(name.tr(" ", "_"))}/)
  end

  def test_every_row_is_complete
    assert_operator rows.size, :>=, 55
    rows.each { |r| refute(r.hazard.empty? || r.tests.empty? || r.result.empty?, r.hazard) }
    assert_equal rows.map(&:hazard).uniq, rows.map(&:hazard)
  end

  def test_every_test_that_is_named_exists
    rows.each do |r|
      r.tests.each do |file, name|
        assert name && File.executable?(File.join(__dir__, file)), "#{r.hazard}: #{file}"
        assert test?(file, name), "#{r.hazard}: #{file} has no #{name.inspect}"
      end
    end
  end

  def test_every_test_of_a_hazard_is_named
    named = rows.flat_map(&:tests)
    files = Dir.children(File.join(__dir__, "hazards")).grep(/\.t\z/)
    assert_operator files.size, :>=, 5
    files.each do |f|
      methods = source("hazards/#{f}").scan(/^\s*def test_(\w+)$/).flatten
      refute_empty methods
      assert_empty methods.map { |m| ["hazards/#{f}", m.tr("_", " ")] } - named
    end
  end
end

class DocumentsTest < Minitest::Test
  # Pages that aren't written yet. One that is there is checked, too.

  def pages = Dir[File.join(ROOT, "doc/*.md")].map { |path| path.delete_prefix("#{ROOT}/") }.sort

  def documents = ["README", *pages]

  def text(file) = (@texts ||= {})[file] ||= File.read(File.join(ROOT, file))

  # The rows of the first table under a heading: Arrays of cells.
  def table(file, heading)
    part = text(file)[/^#+ #{Regexp.escape(heading)}$(.*?)(?=^#+ |\z)/m, 1] or flunk "#{file}: no #{heading}"
    part.lines(chomp: true).drop_while { |l| !l.start_with?("|") }.take_while { |l| l.start_with?("|") }.drop(2).map do |line|
      line.split(/(?<!\\)\|/).drop(1).map { |cell| cell.strip.gsub("\\|", "|") }
    end
  end

  def code(cell) = cell.scan(/`([^`]+)`/).flatten

  # --- README itself ----------------------------------------------------------------

  def test_readme_is_short_and_plain
    lines = text("README").lines(chomp: true)
    assert_operator lines.size, :<=, 160
    assert_empty lines.grep(/!\[|\]\(/), "Markdown in README"
    assert_empty lines.select { |l| l.size > 90 }
  end

  # README's table of costs has the medians that doc/performance.md has, figure by figure.
  def test_costs
    figure = /[×+][\d.]+(?: ns)?/
    rows = text("README")[/^Costs\n(.*?)^Requirements/m, 1].lines.map { |l| l.scan(figure) }.reject(&:empty?)
    medians = text("doc/performance.md")[/^    Medians\n\n(.*?)\n\n/m, 1].lines.drop(1).map { |l| l.scan(figure)[0...-1] }
    assert_equal [7] * 7, rows.map(&:size)
    assert_equal medians, rows
  end

  def test_readme_names_every_page
    named = text("README").scan(%r{doc/[\w.-]+\w}).uniq
    assert_empty named.reject { |path| File.file?(File.join(ROOT, path)) }
    assert_empty pages - named
  end

  # --- links ------------------------------------------------------------------------

  # As GitHub makes them of headings.
  def anchors(file)
    text(file).scan(/^#+ (.*)$/).flatten.map { |h| h.downcase.gsub(/[^\w\- ]/, "").tr(" ", "-") }
  end

  def test_every_link_leads_somewhere
    links = pages.flat_map { |page| text(page).scan(/\]\(([^)]+)\)/).flatten.map { |to| [page, to] } }
    assert_operator links.size, :>=, 40
    links.each do |page, to|
      next if to.match?(/\A[a-z]+:/)
      path, anchor = to.split("#", 2)
      path = path.empty? ? page : File.expand_path(path, "/doc").delete_prefix("/")
      assert File.exist?(File.join(ROOT, path)), "#{page}: #{to}"
      assert_includes anchors(path), anchor, "#{page}: #{to}" if anchor
    end
  end

  def test_the_first_page_links_to_all_others
    linked = text("doc/index.md").scan(/\]\(([^)#]+)\)/).flatten.map { |to| "doc/#{to}" }
    assert_empty pages - ["doc/index.md"] - linked
  end

  # --- requests ---------------------------------------------------------------------

  # The route table, but for what processes ask each other and the server's own files.
  def routes = MwrapTest::ROUTES.reject { |r| r.pattern.start_with?("/family/") || r.pattern == "/*" }

  # A request as documents write it; src/server/family answers the first ones.
  def route?(method, path)
    path = path.sub(%r{\A/(all|\d+|\$\w+)(?=/)}, "") # $worker: a PID
    return true if path == "/" || (method == "GET" && path.match?(%r{\A/family(\.(tsv|csv|json))?\z}))
    routes.any? { |r| r.match?(method, path) }
  end

  def curls(file)
    # the app of the recipes listens on port 3000: t/recipes.t asks it
    text(file).lines.grep(/\bcurl (-|.*http:)/).grep_v(/localhost:3000/).map do |line|
      url = line[%r{https?://[^\s'"]+}] or flunk "#{file}: no address: #{line}"
      [line[/-X (\w+)/, 1] || "GET", url[%r{\A\w+://[^/?]+(/[^?]*)}, 1] || "/", line]
    end
  end

  def test_every_curl_asks_for_a_page_that_there_is
    assert_operator curls("README").size, :>=, 2
    documents.each do |file|
      curls(file).each { |method, path, line| assert route?(method, path), "#{file}: #{line}" }
    end
    refute route?("GET", "/eech/0.tsv")
    refute route?("GET", "/all/reset")
    refute route?("GET", "/familys")
  end

  # The answer first; and a newcomer's terminal isn't flooded by tables.
  def test_the_first_curl_asks_for_the_verdict
    paths = curls("README").map { |_, path, _| path }
    assert_equal "/verdict", paths.first
    tables = curls("README").map(&:last).grep(%r{/each/})
    assert_operator tables.size, :>=, 1
    tables.each { |line| assert_match %r{\?sort=growth&limit=20'$}, line }
  end

  # The steps in their order, in words of a cluster
  def test_the_steps
    part = text("README")[/^Find a leak.*?^Choose/m]
    assert_equal [%w[verdict /tmp/mw.sock/all], %w[snap /tmp/mw.sock/all before.tsv], %w[diff before.tsv /tmp/mw.sock/all --per 1000]],
                 part.scan(/^    mwrapctl (.*)/).map { |(words)| words.split }
  end

  # Each command of mwrapctl that a document shows is one, with options that it has.
  def test_every_command_of_mwrapctl_is_one
    require_relative "../lib/mwrap/ctl"
    commands = Mwrap::Ctl::COMMANDS.to_h { |c| [c.name, c] }
    shown = documents.flat_map { |file| text(file).scan(/^ {4}(?:\$ )?mwrapctl ([a-z]+)(.*)/).map { |name, rest| [file, name, rest] } }
    assert_operator shown.size, :>=, 20
    shown.each do |file, name, rest|
      next if name == "help"
      assert commands.key?(name), "#{file}: mwrapctl #{name}"
      next if commands[name].runs?
      flags = rest.sub(/ +#.*/, "").scan(/ (--[a-z-]+|-[a-zA-Z])(?=[ =]|$)/).flatten - %w[--help -h]
      known = commands[name].options.flat_map { |o| ["--#{o.name}", "-#{o.letter}"] }
      assert_empty flags - known, "#{file}: mwrapctl #{name}#{rest}"
    end
  end

  def test_requests_and_routes_are_the_same
    said = table("doc/http.md", "Addresses").flat_map { |cells| code(cells[0]) }.filter_map do |request|
      method, path = request.split
      [method, path.sub(/MIN/, "0").sub(/LOCATION/, "x").sub(/\?.*/, "")] if path
    end
    assert_operator said.size, :>=, 20
    said.each { |method, path| assert route?(method, path), "#{method} #{path}" }
    routes.each do |r|
      (r.methods & %w[GET POST]).each do |method|
        stem = r.pattern.sub(/[.\/]?\*\z/, "")
        assert(said.any? { |m, path| m == method && (path == stem || path.start_with?("#{stem}/")) }, "#{method} #{r.pattern}")
      end
    end
  end

  # --- options ------------------------------------------------------------------------

  # nil, or what the tracker's own parser says of each.
  def problems(options)
    run = run_command(RUBY, "-I#{LIB}", "-rmwrap", "-rjson", "-e", "puts JSON.generate(JSON.parse(ARGV[0]).map { |o| Mwrap.check_options(o) })",
                      JSON.generate(options))
    assert_success run
    JSON.parse(run.stdout)
  end

  def test_every_option_is_one
    part = text("README")[/^Main options\n(.*?)^Costs/m, 1]
    table = part.scan(/^    (\w+:\S+)  /).flatten
    assert_operator table.size, :>=, 8
    used = documents.flat_map { |file| text(file).scan(/MWRAP=(\w+:[^\s`'")]+)/).flatten }
    assert_operator used.size, :>=, 8
    all = [table.join(","), *used]
    assert_equal [nil] * all.size, problems(all), all.inspect
    refute_nil problems(["sockets:/tmp/mw.sock"])[0]
  end

  # --- names ----------------------------------------------------------------------------

  def test_columns
    run = mwrap_run("true", options: "dump_fd:1,dump_format:tsv")
    assert_success run
    columns = run.stdout.lines.first.chomp.split("\t")
    assert_equal columns, table("doc/reading-the-numbers.md", "Columns").flat_map { |cells| code(cells[0]) } - MwrapTest::FAMILY_COLUMNS - MwrapTest::KIND_COLUMNS
  end

  STATUS = /(?:[(,?:=] |\(|return )(4[0-3]\d|50\d)[,;) ]/

  def test_statuses
    named = table("doc/reading-the-numbers.md", "If the answer is an error").flat_map { |cells| cells[0].scan(/\d{3}/) }.uniq
    given = Dir[File.join(ROOT, "{src/server/{family,http,httpd,pages},lib/mwrap/{rack,objects}}/**/*.{c,rb}")].flat_map { |path| File.read(path).scan(STATUS) }.flatten.uniq
    assert_operator given.size, :>=, 10
    assert_equal given.sort, (named - %w[431]).sort # this one is libmicrohttpd's alone
  end

  def test_metrics
    named = text("doc/prometheus.md").scan(/\bmwrap_\w+/).uniq
    assert_operator named.size, :>=, 3
    sources = Dir[File.join(ROOT, "src/**/*.c")].map { |path| File.read(path) }.join
    named.each { |name| assert_match(/["\s]#{name}\b/, sources) }
  end

  def test_files_and_targets
    made = Dir[File.join(ROOT, "{GNUmakefile,t/*.mk}")].flat_map { |path| File.readlines(path).filter_map { |l| l[/\A([\w-]+):(?!=)/, 1] } }
    documents.each do |file|
      text(file).scan(%r{(?<![\w/.-])(?:t|src|bin|web)/[\w./-]*\w}).each { |path| assert File.exist?(File.join(ROOT, path)), "#{file}: #{path}" }
      text(file).scan(/`make\s+([\w-]+)`/).flatten.each { |target| assert_includes made, target, file }
    end
  end

  def test_the_gem_has_them
    files = Gem::Specification.load(File.join(ROOT, "mwrap.gemspec")).files
    assert_empty documents - files
  end
end
