# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Where the suites of run.rb come from: Ruby's own tests from Debian's source
# package of this Ruby, gems' from the gem where it has them, Puma's from its
# repository. All go to a folder of their own; apt gets its own configuration and
# lists there, so that the machine's stay as they are.
require "fileutils"
require "open3"
require "rbconfig"

module Behaviour
  class Sources
    # Can't be had, and why in one line.
    class Missing < StandardError; end

    def initialize(dir)
      @dir = dir
      FileUtils.mkdir_p(dir)
    end

    # The top of Ruby's source, of this very version.
    def ruby
      return named("RUBY_SOURCE") if ENV["RUBY_SOURCE"]
      unpacked("ruby-#{RUBY_VERSION}", "test/runner.rb") { |into| untar(debian("ruby#{RUBY_VERSION[/\d+\.\d+/]}"), into) }
    end

    # A gem's folder; t/lib/gems has it. Copied, for tests may write there.
    def gem(name, version)
      from = File.join(ENV.fetch("GEM_HOME"), "gems", "#{name}-#{version}")
      File.directory?(from) or raise Missing, "#{from} is not there"
      unpacked("#{name}-#{version}-#{RUBY_VERSION}", "lib") { |into| FileUtils.cp_r("#{from}/.", into) }
    end

    # Puma's repository at the version of that gem, and the gem's extension in it.
    def puma(version)
      top = named("PUMA_SOURCE") if ENV["PUMA_SOURCE"]
      top ||= unpacked("puma-#{version}", "test") { |into| git("puma/puma", "v#{version}", into) }
      built = Dir[File.join(ENV.fetch("GEM_HOME"), "gems/puma-#{version}/lib/puma/*.so")]
      built.empty? and raise Missing, "the gem puma #{version} has no extension"
      copy = File.join(@dir, "puma-#{version}-#{RUBY_VERSION}")
      FileUtils.rm_rf(copy)
      FileUtils.cp_r(top, copy)
      FileUtils.cp(built, File.join(copy, "lib/puma"))
      mend_stop(File.join(copy, "lib/puma/server.rb"))
      copy
    end

    private

    # A worker's server makes the pipe by which it is told to stop first, and not when its threads
    # have started: else a worker that is told so as soon as it is ready may not notice, until Puma
    # tells it again 5 s later, which is too late for its tests of phased restarts. See ../README.
    def mend_stop(path)
      text = File.read(path)
      text.sub!(/^( *)def run\(background=true.*\n/, "\\0\\1  @check, @notify = Puma::Util.pipe unless @notify\n") or
        raise Missing, "#{path} is not as it was"
      File.write(path, text)
    end

    def named(variable)
      top = File.expand_path(ENV.fetch(variable))
      File.directory?(File.join(top, "test")) ? top : raise(Missing, "#{variable}=#{top} has no folder test")
    end

    # A folder that has `what`, or is filled by the block in one step.
    def unpacked(name, what)
      into = File.join(@dir, name)
      return into if File.exist?(File.join(into, what))
      part = "#{into}.part"
      FileUtils.rm_rf([into, part])
      FileUtils.mkdir_p(part)
      yield part
      File.exist?(File.join(part, what)) or raise Missing, "#{name} has no #{what}"
      File.rename(part, into)
      into
    end

    def git(repository, tag, into)
      sh("git", "clone", "--quiet", "--depth", "1", "--branch", tag, "https://github.com/#{repository}", into)
    end

    def untar(file, into)
      sh("tar", "xf", file, "-C", into, "--strip-components=1")
    end

    # Downloads the upstream part of a source package whose version is this
    # Ruby's; returns its file.
    def debian(package)
      apt_get("update", "-qq")
      versions = sh("apt-cache", *apt_options, "showsrc", package).scan(/^Version: (.*)$/).flatten.uniq
      versions = versions.grep(/\A(?:\d+:)?#{Regexp.escape(RUBY_VERSION)}[^\d.]/)
      versions.empty? and raise Missing, "Debian's sources here have no #{package} #{RUBY_VERSION}"
      versions.each do |version|
        apt_get("source", "--download-only", "-qq", "#{package}=#{version}")
      rescue Missing
        raise if version == versions.last
      end
      Dir[File.join(@dir, "#{package}_#{RUBY_VERSION}*.orig.tar.*")].grep_v(/\.asc\z/).first or
        raise Missing, "#{package} has no upstream part"
    end

    def apt_get(*args) = sh("apt-get", *apt_options, *args)

    def apt_options
      @apt_options ||= begin
        apt = File.join(@dir, "apt")
        FileUtils.mkdir_p(%w[parts lists/partial cache/archives/partial].map { |d| File.join(apt, d) })
        source_lists(apt)
        { "Dir::Etc::SourceList" => "#{apt}/sources.list", "Dir::Etc::SourceParts" => "#{apt}/parts",
          "Dir::State::Lists" => "#{apt}/lists", "Dir::Cache" => "#{apt}/cache",
          "APT::Sandbox::User" => "root" }.flat_map { |k, v| ["-o", "#{k}=#{v}"] }
      end
    end

    # This machine's lists of packages as lists of sources, in both of apt's forms.
    def source_lists(apt)
      FileUtils.touch("#{apt}/sources.list")
      Dir["/etc/apt/sources.list", "/etc/apt/sources.list.d/*.{list,sources}"].each do |path|
        text = File.read(path)
        text = text.gsub(/^deb(-src)?\s/, "deb-src ").gsub(/^Types:.*$/, "Types: deb-src")
        File.write(File.join(apt, "parts", File.basename(path)), text)
      end
    end

    # Returns what a command printed.
    def sh(*command)
      out, err, status = Open3.capture3({ "LC_ALL" => "C", "GIT_TERMINAL_PROMPT" => "0" }, *command, chdir: @dir, stdin_data: "")
      status.success? or raise Missing, "#{command.grep_v(/\A-|::/).join(" ")}: #{err.lines.last(3).join.strip}"
      out
    rescue SystemCallError => e
      raise Missing, e.message
    end
  end
end
