# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The suites of run.rb. Each is found by its name, and made when it is wanted:
# only then its source is looked for.
require_relative "compare"
require_relative "sources"

module Behaviour
  class Suites
    # Ruby's own, of its folder test/; a file that this Ruby doesn't have is left out.
    RUBY = {
      "processes" => %w[ruby/test_process ruby/test_signal ruby/test_system ruby/test_beginendblock ruby/test_env
                        ruby/test_rubyoptions ruby/test_vm_dump ruby/test_io ruby/test_pipe ruby/test_io_timeout
                        test_pty test_open3 etc io],
      "threads" => %w[ruby/test_thread ruby/test_thread_cv ruby/test_thread_queue ruby/test_thread_local
                      ruby/test_threadgroup ruby/test_fiber ruby/test_continuation ruby/test_sleep ruby/test_stack
                      ruby/test_ractor ruby/test_settracefunc test_timeout monitor fiber],
      "memory" => %w[ruby/test_gc ruby/test_gc_compact ruby/test_objectspace ruby/test_weakmap ruby/test_weakkeymap
                     ruby/test_memory_view ruby/test_io_buffer ruby/test_string ruby/test_stringchar ruby/test_array
                     ruby/test_hash ruby/test_symbol ruby/test_object_id test_weakref objspace],
      "json" => %w[json],
      "extensions" => %w[stringio strscan zlib digest date fiddle socket psych openssl coverage ripper erb drb]
    }.freeze
    # A JIT of Ruby's own runs a compiler, and its tests never end on Debian's Ruby.
    NOT = /\A(?:ruby\/)?test_(?:jit|rubyvm_.?jit|rjit|yjit)/

    # the versions in t/lib/gems
    MSGPACK = "1.4.5"
    PUMA = "6.6.1"
    REDCARPET = "3.5.0"

    NAMES = [*RUBY.keys.map { |part| "ruby #{part}" }, "ruby language", "msgpack", "puma", "redcarpet"].freeze

    def initialize(dir)
      @sources = Sources.new(dir)
    end

    # The suite; raises Sources::Missing if its source can't be had.
    def [](name)
      case name
      when /\Aruby (.*)/ then ruby(name, $1)
      when "msgpack" then msgpack
      when "puma" then puma
      when "redcarpet" then self.class.redcarpet(@sources.gem("redcarpet", REDCARPET))
      end
    end

    # Also for ../behaviour.t, which has the gem unpacked already.
    def self.redcarpet(dir)
      Suite.new(name: "redcarpet", kind: :test_unit, dir: dir, only: ->(names) { ["-n", "/\\A(?:#{methods(names)})\\z/"] },
                args: ["-Ilib", "-Itest", "-e", "ARGV.shift(ARGV.index('--')).each { |f| require File.expand_path(f) }",
                       *files(dir, "test/*_test.rb"), "--", "-v"])
    end

    def self.files(dir, *patterns) = Dir.glob(patterns, base: dir).sort

    def self.methods(names) = names.map { |name| Regexp.escape(name[/#(.*)/, 1]) }.join("|")

    # As a regular expression that needs no quoting.
    def self.exactly(names) = "/\\A(?:#{names.map { |name| Regexp.escape(name).gsub("/", "\\/") }.join("|")})\\z/"

    private

    def ruby(name, part)
      top = @sources.ruby
      files = part == "language" ? others(top) : RUBY.fetch(part)
      files = files.flat_map do |f|
        self.class.files(File.join(top, "test"), "#{f}.rb", "#{f}/**/{test_*,*_test}.rb").grep_v(NOT)
      end
      Suite.new(name: name, kind: :ruby, dir: top, only: ->(names) { ["-n", self.class.exactly(names)] },
                args: ["-I#{top}/tool/lib", "#{top}/test/runner.rb", "-v", "--seed=1", "--subprocess-timeout-scale=10",
                       "--ruby=#{RbConfig.ruby}", *files.map { |f| "test/#{f}" }])
    end

    # The files of test/ruby that are in none of the others.
    def others(top)
      named = RUBY.values.flatten
      self.class.files(File.join(top, "test"), "ruby/test_*.rb").map { |f| f.delete_suffix(".rb") } - named
    end

    def msgpack
      dir = @sources.gem("msgpack", MSGPACK)
      Suite.new(name: "msgpack", kind: :rspec, dir: dir, only: ->(names) { names.flat_map { |n| ["-e", n[/\S+ (.*)/, 1]] } },
                args: ["-Ilib", "-Ispec", "-e", "exit RSpec::Core::Runner.run(ARGV)", "--", "--order", "defined",
                       "-f", "doc", *self.class.files(dir, "spec/*_spec.rb", "spec/cruby/*_spec.rb")])
    end

    # Without Bundler: what needs it fails, with and without the tracker. HOME is
    # where the gem localhost keeps certificates.
    def puma
      dir = @sources.puma(PUMA)
      Suite.new(name: "puma", kind: :minitest, dir: dir, env: { "HOME" => dir }, only: ->(names) { ["-n", self.class.exactly(names)] },
                args: ["-Ilib", "-Itest", "-e", "ARGV.shift(ARGV.index('-v')).each { |f| require File.expand_path(f) }",
                       *self.class.files(dir, "test/test_*.rb"), "-v", "--seed=1"])
    end
  end
end
