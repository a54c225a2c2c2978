# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
require_relative "lib/mwrap/version"

Gem::Specification.new do |s|
  s.name = "mwrap"
  s.version = Mwrap::VERSION
  s.summary = "Shows which line of a running Ruby program allocates and keeps memory"
  s.description = <<~TEXT
    A malloc tracker that is preloaded into a Ruby process (or any other), cheap
    enough to leave on, with a small HTTP server on a Unix socket: a table of
    every line of Ruby that allocates, how much is live there, and what grew.
  TEXT
  s.authors = ["mwrap contributors"]
  s.license = "GPL-2.0-or-later"
  # MWRAP_PROJECT: the address of the project's repository, for whoever publishes a gem. The others follow from the name.
  project = ENV["MWRAP_PROJECT"]
  docs = "https://www.rubydoc.info/gems/mwrap/#{s.version}"
  s.homepage = project || "https://rubygems.org/gems/mwrap"
  s.metadata = {
    "homepage_uri" => s.homepage, "documentation_uri" => docs, "changelog_uri" => project ? "#{project}/blob/HEAD/.github/CHANGELOG.md" : "#{docs}/file/NEWS",
    "source_code_uri" => project || "https://rubygems.org/gems/mwrap/versions/#{s.version}",
    "bug_tracker_uri" => project && "#{project}/issues", "rubygems_mfa_required" => "true"
  }.compact
  s.required_ruby_version = ">= 3.1"

  # what building needs, by what is there: a gem is built without git as well;
  # and the documents and the sources of web/dist, which building doesn't need
  s.files = Dir.chdir(__dir__) do
    Dir["src/**/*.{c,cc,h,def,rb,map,sh}", "web/*", "web/{src,dist}/*", "lib/**/*.rb", "GNUmakefile", "doc/*.{1,md}", "doc/grafana.rb",
        "doc/completions/*", "sig/*.rbs", "lib/exe/mwrap{,ctl}", "README", "NEWS", "LICENSE", "mwrap.gemspec"].select { |path| File.file?(path) }.sort - ["web/grafana.json"]
  end
  s.extensions = ["src/extconf.rb"]
  s.require_paths = ["lib"]
  s.bindir = "lib/exe"
  s.executables = %w[mwrap mwrapctl]
  # RDoc: the public API. Each comment of a file that documents nothing would be Mwrap's own.
  s.rdoc_options = ["--main", "README", "--exclude", "lib/(?:puma|mwrap/(?:ctl|rack|check/(?!leak|peak)|allocators|executable|launcher|linker|moments|options))",
                    "--exclude", "src/(?!extension)"]
  s.extra_rdoc_files = ["README", "NEWS", "LICENSE"].select { |path| File.file?(File.join(__dir__, path)) }
end
