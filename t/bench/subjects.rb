# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# subjects.rb - the measured subjects: nothing, this mwrap, the older ones, heaptrack.
# Each is a set of environment variables: all of them are preloads. DIR in a value
# stands for the app's temporary folder (puma.rb).
require_relative "../lib/allocators"
require "open3"
require "rbconfig"
require "tmpdir"

class Subject
  TOP = File.expand_path("../..", __dir__)
  ENV_NAMES = %w[LD_PRELOAD MWRAP DUMP_HEAPTRACK_OUTPUT].freeze
  SAMPLED = { "MWRAP" => "counts:sampled" }.freeze
  NONE = ENV_NAMES.to_h { |name| [name, nil] }.freeze

  attr_reader :key, :title, :env
  attr_reader :why # more about `missing`, or nil

  # preload: path, or nil where it isn't installed; below: the allocator's, nil: libc
  def initialize(key, title, preload: nil, env: {}, below: Subject.below)
    @key = key
    @title = title
    @preload = preload
    chain = [preload, below].compact
    @env = NONE.merge("LD_PRELOAD" => (chain.join(":") unless chain.empty?)).merge(env)
  end

  # nil, or why it can't be measured: one or two words.
  def missing
    return if @key == "native"
    return "not installed" unless @preload

    @missing ||= check
    @missing unless @missing.empty?
  end

  private

  # The program must run, and with the preload in it: a preload that can't be
  # opened is but a warning.
  def check
    code = "exit File.read('/proc/self/maps').include?(ARGV[0])"
    out, status = Open3.capture2e(@env, RbConfig.ruby, "--disable=gems", "-e", code, File.realpath(@preload))
    return "" if status.success?

    @why = out.lines.last.to_s[/undefined symbol.*/]
    @why || status.exitstatus ? "can't be loaded" : "crashes"
  end

  class << self
    # The allocator that $BELOW names: its path, or nil.
    def below
      name = ENV["BELOW"].to_s
      @below ||= allocator(name) unless name.empty?
    end

    # Native and mwrap on the allocator of that name; libc: the C library's own.
    def both(name, **how)
      path = name == "libc" ? nil : allocator(name)
      [new("native", "native on #{name}", below: path), mine("mwrap", "mwrap on #{name}", below: path, **how)]
    end

    def all
      [new("native", "native"), mine("mwrap", "mwrap"),
       mine("socket", "with a socket", env: { "MWRAP" => "socket:DIR/mwrap.sock" }),
       mine("sampled", "sampled", env: SAMPLED),
       mine("sampled_socket", "sampled, with a socket", env: { "MWRAP" => "counts:sampled,socket:DIR/mwrap.sock" }),
       mine("recording", "recording", env: { "MWRAP" => "trace_path:#{recordings}/%p,trace_max:1g" })] +
        [["mwrap2", "2.3.0"], ["mwrap3", "3.0.0.pre1"]].map { |key, version| older(key, version) } + [heaptrack]
    end

    private

    # A folder for them, until the end.
    def recordings
      @recordings ||= Dir.mktmpdir("mwrap-bench").tap { |dir| at_exit { FileUtils.rm_rf(dir) } }
    end

    def allocator(name)
      Allocators.to_enum.find { |known,| known == name }&.at(1) or
        abort "bench: #{name}: not an allocator that is installed: see t/lib/packages"
    end

    def mine(key, title, **how)
      new(key, title, preload: File.join(TOP, "lib/libmwrap.so"), **how)
    end

    # The library that their own `mwrap` command preloads.
    def older(key, version)
      found = Gem.path.flat_map { |dir| Dir[File.join(dir, "gems/mwrap-#{version}/lib/mwrap.so")] }
      new(key, "mwrap #{version}", preload: found.first)
    end

    # The library that its own command preloads, writing to nowhere. That command has a
    # second process, which reads and packs: its time isn't counted here.
    def heaptrack
      found = Dir["/usr/lib/heaptrack/libheaptrack_preload.so", "/usr/lib/*/heaptrack/libheaptrack_preload.so"]
      new("heaptrack", "heaptrack", preload: found.first, env: { "DUMP_HEAPTRACK_OUTPUT" => "/dev/null" })
    end
  end
end
