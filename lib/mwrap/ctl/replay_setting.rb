# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "etc"
require_relative "../allocators"
require_relative "replay_program"

module Mwrap
  module Ctl
    # An allocator and its variables, under which a recording is played.
    #
    # malloc:: "glibc", "jemalloc", "mimalloc", "tcmalloc", the path of another one, or "" if that isn't known
    # environment:: its variables
    # library:: what is preloaded; nil: nothing
    # problem:: why it can't be played, or nil
    ReplaySetting = Struct.new(:name, :malloc, :environment, :library, :problem, keyword_init: true) do
      # Are these the same calls under the same allocator?
      def same?(other) = malloc == other.malloc && environment == other.environment

      # The same, called by its allocator and variables
      def under_its_name = dup.tap { |s| s.name = [malloc, *environment.map { |pair| pair.join("=") }].join(" ") }

      # For Process.spawn. processors: of the recorded machine. By default the number of arenas goes with them.
      def variables(processors)
        ReplayProgram::QUIET.merge(arenas(processors), environment, "LD_PRELOAD" => library)
      end

      # Does the player run under it? says: as it calls its malloc
      def served?(says) = library ? !says.start_with?("glibc") : says.start_with?("glibc")

      private

      def arenas(processors)
        here = Etc.nprocessors
        return {} if processors.nil? || processors == here
        case malloc
        when "glibc" then environment.key?("GLIBC_TUNABLES") ? {} : { "MALLOC_ARENA_MAX" => (8 * processors).to_s }
        when "jemalloc" then environment.key?("MALLOC_CONF") ? {} : { "MALLOC_CONF" => "narenas:#{processors > 1 ? 4 * processors : 1}" }
        else {}
        end
      end
    end

    # The settings that a command line asks for.
    class ReplaySettings # :nodoc: all
      NAMES = ["glibc", *Allocators::KNOWN.keys].freeze
      # The allocator that reads a variable
      OWNERS = { /\AMALLOC_CONF\z/ => "jemalloc", /\A(?:MALLOC_|GLIBC_TUNABLES\z)/ => "glibc", /\AMIMALLOC_/ => "mimalloc", /\ATCMALLOC_/ => "tcmalloc" }.freeze
      ARENAS = { "glibc" => ["MALLOC_ARENA_MAX", "%d", "MALLOC_ARENA_MAX=%d"], "jemalloc" => ["MALLOC_CONF", "narenas:%d", "narenas:%d"] }.freeze
      VARIABLE = /\A[A-Za-z_]\w*=/n

      class << self
        # The one that was recorded. meta: of the recording
        def recorded(meta, name)
          malloc = meta["allocator"].to_s
          given = meta["environment"].is_a?(Hash) ? meta["environment"].transform_values(&:to_s) : {}
          return ReplaySetting.new(name: name, malloc: malloc, environment: given, problem: "its allocator is unknown: name it by --malloc") unless NAMES.include?(malloc)
          library = find(malloc)
          problem = missing(malloc) unless library || malloc == "glibc"
          ReplaySetting.new(name: name, malloc: malloc, environment: given, library: library, problem: problem)
        end

        def find(malloc) = malloc == "glibc" ? nil : Allocators.find(malloc)
        def missing(malloc) = "\"#{malloc}\" is not installed: install it (Debian: #{Allocators.package(malloc)})"
      end

      def initialize(given)
        @default = %w[malloc arena-max set].none? { |name| given.key?(name) }
        @arenas = given["arena-max"] || (@default ? [2] : [])
        @sets = (given["set"] || []).map { |text| variables(text) }
        @mallocs = given["malloc"] ? given["malloc"].split(",", -1) : wanted
        check
      end

      # An Array of ReplaySettings, none twice
      def to_a
        @mallocs.flat_map { |malloc| of(malloc) }.each_with_object([]) { |s, all| all << s if all.none? { |other| other.same?(s) } }
      end

      private

      # "A=1,B=2": a comma begins another variable only before a name and =.
      def variables(text)
        pairs = text.split(/,(?=[A-Za-z_]\w*=)/n)
        pairs.all? { |pair| pair.match?(VARIABLE) } && !pairs.empty? or raise Usage, "--set: \"#{text}\" is not a variable: write NAME=VALUE"
        pairs.to_h { |pair| pair.split("=", 2) }
      end

      # The allocators that a variable is for; nil: any
      def owners(set) = set.keys.filter_map { |name| OWNERS.find { |pattern,| pattern.match?(name) }&.last }.uniq.then { |found| found.empty? ? nil : found }

      # Without --malloc
      def wanted
        return ["glibc", *Allocators::KNOWN.keys.select { |name| Allocators.find(name) }] if @default
        [*("glibc" unless @arenas.empty?), *@sets.flat_map { |set| owners(set) || ["glibc"] }].uniq
      end

      def check
        @mallocs.each { |malloc| check_malloc(malloc) }
        @arenas.empty? || @mallocs.intersect?(ARENAS.keys) or raise Usage, "--arena-max: neither glibc nor jemalloc is among --malloc: add one of them"
        @sets.each do |set|
          owners = owners(set) or next
          raise Usage, "--set: #{set.keys.join(" and ")} belong to #{owners.join(" and ")}: give one for each" if owners.size > 1
          @mallocs.include?(owners[0]) or @mallocs.any? { |m| m.include?("/") } or
            raise Usage, "--set: #{set.keys[0]} is for #{owners[0]}: add it to --malloc"
        end
      end

      def check_malloc(malloc)
        return if malloc == "glibc"
        if malloc.include?("/")
          File.file?(malloc) or raise Usage, "--malloc: \"#{malloc}\" is not #{File.exist?(malloc) ? "a file" : "there"}: name a library"
          Allocators.usable?(File.expand_path(malloc)) or raise Usage, "--malloc: \"#{malloc}\" can't be preloaded: move it to a path without spaces, colons and $"
        elsif NAMES.include?(malloc)
          Allocators.find(malloc) or raise Usage, "--malloc: #{ReplaySettings.missing(malloc)}"
        else
          raise Usage, "--malloc: \"#{malloc}\" is unknown: use #{NAMES.join(", ")} or a library's path"
        end
      end

      # Of one allocator: as it comes, with each number of arenas, with each --set that is for it
      def of(malloc)
        path = malloc.include?("/") ? File.expand_path(malloc) : ReplaySettings.find(malloc)
        name = malloc.include?("/") ? File.basename(malloc) : malloc
        make = ->(label, environment) { ReplaySetting.new(name: label, malloc: malloc, environment: environment, library: path) }
        [make.call(name, {}), *by_arenas(malloc, name, make), *@sets.filter_map { |set| make.call("#{name} #{set.map { |p| p.join("=") }.join(" ")}", set) if for?(set, malloc) }]
      end

      def by_arenas(malloc, name, make)
        variable, value, label = ARENAS[malloc]
        variable && (!@default || malloc == "glibc") ? @arenas.map { |n| make.call("#{name} #{format(label, n)}", { variable => format(value, n) }) } : []
      end

      def for?(set, malloc)
        owners = owners(set)
        owners.nil? || owners.include?(malloc) || malloc.include?("/")
      end
    end
  end
end
