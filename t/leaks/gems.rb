# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# gems.rb - gems whose old versions leak memory that they get from malloc: the
# one table of them, and their installation.
#
# Each has a script in this folder. The versions are the last one that leaks and
# the first that doesn't, except redcarpet's, which are the demo's.
require "fileutils"
require "rbconfig"

module LeakGems
  # script      its name without .rb, which is the gem's
  # way         which of its calls to make, where it has several: then the line has "# WAY leaks here"
  # bytes       what one call leaks, as it was asked of malloc (by the gem's source)
  # blocks      in how many blocks
  # calls       how many t/leaks.t makes; else 10,000
  # within      by which part of that the growth may differ
  # at          where, if not at the script's line "# leaks here": a file of the
  #             gem, a method's head, and the line after it
  # below       the first Ruby on which RubyGems refuses to install these versions
  # news        where the fix is told of
  Leak = Struct.new(:script, :way, :leaks, :fixed, :bytes, :blocks, :calls, :within, :at, :below, :news, keyword_init: true) do
    alias_method :gem_name, :script

    def name
      [script, way].compact.join(" ")
    end

    def command(version, calls)
      [script_path, version, calls.to_s, *way]
    end

    # Why it can't be had on this Ruby, or nil.
    def refused
      return unless below && Gem::Version.new(RUBY_VERSION) >= Gem::Version.new(below)

      "#{gem_name} #{leaks} and #{fixed} require a Ruby below #{below}"
    end

    def tolerance
      within || 0.01
    end

    # "PATH:LINE", as the tracker should name it, when this version runs.
    def location(home, version)
      return "#{script_path}:#{line_of(script_path, "# #{[*way, "leaks here"].join(" ")}")}" unless at

      path = File.join(home, "gems", "#{gem_name}-#{version}", at[0])
      "#{path}:#{line_of(path, at[2], line_of(path, at[1]))}"
    end

    def script_path
      File.join(__dir__, "#{script}.rb")
    end

    private

    # The number of the first line with this text, after line `from`.
    def line_of(path, text, from = 0)
      found = File.foreach(path).with_index(1).find { |line, number| number > from && line.include?(text) }
      found or raise "#{path}: no #{text.inspect} after line #{from}"
      found[1]
    end
  end

  ALL = [
    Leak.new(script: "redcarpet", leaks: "3.3.2", fixed: "3.5.0", bytes: 312, blocks: 1,
             news: "CHANGELOG of 3.3.3: a memory leak when Redcarpet::Render::Base is instantiated"),
    Leak.new(script: "bigdecimal", leaks: "3.1.7", fixed: "3.1.8", bytes: 440, blocks: 1,
             news: "its #290, fixed by #294: VpAlloc leaks when there is an exception"),
    Leak.new(script: "jaro_winkler", leaks: "1.5.1", fixed: "1.5.2", bytes: 2 * 64 * 4, blocks: 2,
             news: "its #20: the C extension leaks when it raises InvalidWeightError"),
    Leak.new(script: "version_sorter", leaks: "2.2.2", fixed: "2.2.3", bytes: 272 + 288, blocks: 2,
             news: "rb_version_compare has called xfree for both of its versions since 2.2.3"),
    Leak.new(script: "json", way: "to_json", leaks: "2.7.4", fixed: "2.7.5", bytes: 1024 + 32, blocks: 2,
             news: "CHANGES of 2.7.5: a memory leak when a to_json method raises"),
    Leak.new(script: "json", way: "generate", leaks: "2.7.1", fixed: "2.7.2", bytes: 1024 + 32, blocks: 2,
             at: ["lib/json/common.rb", "def generate(", "state.generate(obj)"],
             news: "CHANGES of 2.7.2, #574: a memory leak when an exception is raised during generation"),
    # a chunk of 32 pages more or less, and what the GC has not found yet
    Leak.new(script: "msgpack", leaks: "1.7.3", fixed: "1.7.4", bytes: 4096 + 32, blocks: 1.0..1.1, within: 0.05,
             news: "ChangeLog of 1.7.4, #371: each time that a recursive unpacker raises, 4 KiB leak"),
    Leak.new(script: "commonmarker", leaks: "0.23.10", fixed: "0.23.11", bytes: 560, blocks: 1,
             at: ["lib/commonmarker.rb", "def render_html(", "Node.markdown_to_html("], below: "4.0",
             news: "its #320: string buffers that are copied and not freed"),
    Leak.new(script: "ox", way: "dump", leaks: "2.14.28", fixed: "2.14.29", bytes: 65_336, blocks: 1, calls: 1000,
             news: "CHANGELOG of 2.14.29, #425: the buffer of Ox.dump is freed when a dump raises"),
    Leak.new(script: "ox", way: "load", leaks: "2.14.28", fixed: "2.14.29", bytes: 8216, blocks: 1, calls: 1000,
             news: "CHANGELOG of 2.14.29, #433: a leak of the object mode's circular reference table")
  ].freeze

  # Newer compilers take for errors what the older gems' C has. -O1: quickly built.
  CFLAGS = "-O1 -w -std=gnu11 -Wno-incompatible-pointer-types -Wno-implicit-function-declaration -Wno-int-conversion"

  # Where bin/check has its gems, too: one folder for each Ruby.
  def self.home(top)
    File.join(top, ".build", "gems-#{RUBY_ENGINE}-#{RUBY_VERSION}-#{RUBY_PLATFORM}")
  end

  # The environment of a script that uses them, and of `gem`.
  def self.env(home)
    { "GEM_HOME" => home, "GEM_PATH" => nil, "RUBYOPT" => nil, "RUBYLIB" => nil, "BUNDLE_GEMFILE" => nil,
      "MWRAP" => nil, "LD_PRELOAD" => nil }
  end

  def self.missing(home)
    all = ALL.reject(&:refused).flat_map { |leak| [[leak.gem_name, leak.leaks], [leak.gem_name, leak.fixed]] }
    all.uniq.reject { |name, version| File.exist?("#{home}/specifications/#{name}-#{version}.gemspec") }
  end

  # Installs what is missing; what can't be is still missing then, and why is in
  # HOME/leaks-NAME-VERSION.log. One process at a time, as t/lib/setup.sh.
  def self.install(top)
    home = home(top)
    FileUtils.mkdir_p(home)
    File.open(File.join(top, ".build", "setup.lock"), "w") do |lock|
      lock.flock(File::LOCK_EX)
      work = Queue.new
      missing(home).each { |one| work << one }
      work.close
      Array.new(2) { Thread.new { while (one = work.pop) do install_one(home, *one) end } }.each(&:join)
    end
    home
  end

  def self.install_one(home, name, version)
    log = File.join(home, "leaks-#{name}-#{version}.log")
    ok = system(env(home), RbConfig.ruby, "-rrubygems/gem_runner", "-e", "Gem::GemRunner.new.run(ARGV.dup)", "--",
                "install", name, "--version", version, "--no-document", "--ignore-dependencies",
                "--platform", "ruby", "--install-dir", home, "--", "--with-cflags=#{CFLAGS}",
                in: File::NULL, out: log, err: [:child, :out], close_others: true)
    File.delete(log) if ok
  end
  private_class_method :install_one
end
