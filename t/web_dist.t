#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# web/dist, which is committed so that building mwrap needs no Node, is what
# its sources give, byte by byte; and what is in it may be there.
require_relative "lib/tap"
require "digest"
require "zlib"

class WebDistTest < Minitest::Test
  WEB = File.join(ROOT, "web")
  DIST = %w[LICENSES app.js at.js cluster.js flame.css flame.js flame_alone.html map.css map.js map_alone.html mwrap.js replay_alone.html report_written.html uplot.css].freeze

  def pins
    package = JSON.parse(File.read(File.join(WEB, "package.json")))
    package.fetch("dependencies").merge(package.fetch("devDependencies"))
  end

  def build(to)
    run_command("node", File.join(WEB, "build.mjs"), to).tap { |r| assert_success(r) }
  end

  def test_the_committed_build_is_that_of_the_sources
    in_tmp do |dir|
      build(dir)
      assert_equal DIST, Dir.children(dir).sort
      assert_equal DIST, Dir.children(File.join(WEB, "dist")).sort
      DIST.each do |name|
        assert_equal File.binread(File.join(dir, name)), File.binread(File.join(WEB, "dist", name)),
                     "#{name}: run npm ci and npm run build in web/, and commit web/dist"
      end
    end
  end

  def test_the_same_sources_give_the_same_bytes_elsewhere
    in_tmp do |dir|
      copy = File.join(dir, "another place")
      FileUtils.mkdir_p(copy)
      %w[src mwrap.css memory.css build.mjs package.json].each { |name| FileUtils.cp_r(File.join(WEB, name), copy) }
      File.symlink(File.join(WEB, "node_modules"), File.join(copy, "node_modules"))
      assert_success run_command("node", "--preserve-symlinks", "build.mjs", chdir: copy)
      DIST.each { |name| assert_equal File.binread(File.join(WEB, "dist", name)), File.binread(File.join(copy, "dist", name)), name }
    end
  end

  def test_what_is_installed_is_what_is_pinned
    assert_equal %w[d3-hierarchy esbuild uplot], pins.keys.sort
    lock = JSON.parse(File.read(File.join(WEB, "package-lock.json"))).fetch("packages")
    pins.each do |name, version|
      assert_match(/\A\d+\.\d+\.\d+\z/, version, name)
      assert_equal version, lock.fetch("node_modules/#{name}").fetch("version")
      installed = JSON.parse(File.read(File.join(WEB, "node_modules", name, "package.json")))
      assert_equal version, installed.fetch("version"), name
    end
    lock.each { |name, entry| refute entry.key?("resolved"), "#{name}: where it came from is nobody's business" }
  end

  def test_the_licences_are_those_of_the_libraries
    licences = File.read(File.join(WEB, "dist/LICENSES"))
    %w[d3-hierarchy uplot].each do |name|
      assert_includes licences, "#{name} #{pins.fetch(name)}"
      assert_includes licences, File.read(File.join(WEB, "node_modules", name, "LICENSE")).strip
    end
  end

  # Only so may a browser keep it: see src/server/http/embed.rb.
  def test_the_script_is_loaded_by_its_version
    loader = File.read(File.join(WEB, "dist/mwrap.js"))
    %w[app.js at.js cluster.js flame.js map.js].each { |name| assert_includes loader, %{import("./#{name}?v=#{version_of(name)}")} }
    assert_includes File.read(File.join(WEB, "dist/flame.js")), %{"./flame.css?v=#{version_of("flame.css")}"}
    assert_includes File.read(File.join(WEB, "dist/map.js")), %{"./map.css?v=#{version_of("map.css")}"}
    assert_operator loader.bytesize, :<, 2000, "what runs before the page is painted is little"
  end

  def version_of(name) = Digest::SHA256.file(File.join(WEB, "dist", name)).hexdigest[0, 16]

  # Pages of one file: what their policy lets run is what is in them, and text of a process gets in by the
  # slots alone.
  def test_pages_that_stand_alone
    { "flame_alone.html" => %w[title process json], "map_alone.html" => %w[title process json cells],
      "replay_alone.html" => %w[title heading process sentence table peak trusted trust json] }.each do |name, slots|
      page = File.read(File.join(WEB, "dist", name))
      assert_equal slots, page.scan(/\{\{(\w*)/).flatten
      style, script = page[%r{<style>(.*)</style>}m, 1], page[%r{<script type="module">(.*)</script>}m, 1]
      policy = page[/Content-Security-Policy" content="([^"]*)"/, 1]
      { "style" => style, "script" => script }.each do |kind, text|
        assert_operator text.bytesize, :>, 1000, kind
        assert_includes policy, "#{kind}-src 'sha256-#{Digest::SHA256.base64digest(text)}'"
      end
      assert_includes policy, "default-src 'none'"
      refute_includes policy, "unsafe"
      refute_match(%r{\b(?:src|href)="|url\(|https?://(?!www\.w3\.org/)|\bimport\b[^.]}, page)
    end
  end

  # Files of /: the layout, styles and script.
  def test_the_whole_page_is_small
    files = [*Dir[File.join(WEB, "*.html")], File.join(WEB, "mwrap.css"), *%w[app.js mwrap.js uplot.css].map { |n| File.join(WEB, "dist", n) }]
    size = files.sum { |path| Zlib.gzip(File.binread(path)).bytesize }
    assert_operator size, :<, 150_000
    assert_operator size, :>, 10_000
  end

  # A strict Content-Security-Policy forbids these, and so does good sense.
  def test_no_markup_and_no_code_from_text
    sources = Dir[File.join(WEB, "src/*.js")]
    assert_operator sources.size, :>, 10
    sources.each do |path|
      code = File.read(path)
      %w[innerHTML outerHTML insertAdjacentHTML document.write eval( new\ Function setAttribute("style"].each do |bad|
        refute_includes code, bad, path
      end
      refute_match(%r{https?://(?!www\.w3\.org/)}, code, path)
    end
  end
end
