# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "../executable"
require_relative "client"
require_relative "output"
require_relative "tracked"

module Mwrap
  module Ctl
    # mwrapctl doctor: is a process tracked as it should be, and what would help?
    class Doctor # :nodoc: all
      # fine: nil if it is neither good nor bad; help: what would help
      Finding = Struct.new(:about, :says, :fine, :help)
      ALLOCATORS = { "jemalloc" => /libjemalloc/n, "mimalloc" => /libmimalloc/n, "tcmalloc" => /libtcmalloc/n }.freeze
      LIB = File.expand_path("../..", __dir__)
      SECONDS = 5

      def initialize(pid, given)
        pid.match?(/\A[1-9]\d{0,9}\z/) or raise Usage, "PID: \"#{Text.clean(pid)}\" is not a PID: write digits only"
        @target = Target.new(pid)
        @given = given
      end

      # :found if something lacks
      def run
        @maps = @target.maps
        findings = Tracked.tracker?(@target.pid) ? tracked : [untracked]
        findings << allocator
        Output.write(@given["json"] ? json(findings) : text(findings))
        :found if findings.any? { |f| f.fine == false }
      end

      private

      # --- without the tracker -----------------------------------------------------------------

      def untracked
        Finding.new("tracker", "not in the process: #{why_not}", false, attachable? ? "run mwrapctl attach #{@target.pid}" : "start it with mwrap")
      end

      def attachable? = @maps.match?(/libruby|\/ruby[\d.]*$/n) && !musl? && !program_problem

      # The reason, by LD_PRELOAD and the program's file
      def why_not
        return "it was started without mwrap" unless variable("LD_PRELOAD").include?("libmwrap.so")
        program_problem || "LD_PRELOAD names it, but the program took it out or loaded none"
      end

      def program_problem
        tracker = Executable.tracker(LIB) or return
        Executable.new("/proc/#{@target.pid}/exe").problems(tracker).first&.sub(/\A: /, "")
      end

      # Its file may be called ld-musl-x86_64.so.1 or libc.so. A program names it as its linker.
      def musl? = @maps.match?(%r{/ld-musl-}n) || Executable.new("/proc/#{@target.pid}/exe").musl?

      def variable(name) = @target.read("environ").split("\0").find { |s| s.start_with?("#{name}=") }.to_s.delete_prefix("#{name}=")

      # --- with it -------------------------------------------------------------------------------

      def tracked
        process = Tracked.new(@target.pid)
        how = Finding.new("tracker", process.how == "preload" ? "in the process since its start" : "in the process since it was attached or Mwrap.start", true)
        return [how, Finding.new("server", "none", false, "run mwrapctl attach #{@target.pid}")] unless process.server
        [how, *served(process)]
      end

      def served(process)
        stats = Client.open(process.server, @given["token-file"], seconds: SECONDS).json("/stats.json")
        [Finding.new("server", Text.clean(process.server.name), true), version(stats), lines(stats), pace(stats), counts(stats), stacks(stats), cost(stats), room(stats)].compact
      rescue Failure => e
        [Finding.new("server", Text.clean(e.message), false, e.code == 401 ? "give --token-file" : "see the process's stderr")]
      end

      def version(stats)
        there = stats["version"].to_s
        Finding.new("version", "#{Text.clean(there)} there, #{VERSION} here", false, "restart the process") unless there == VERSION
      end

      def lines(stats)
        how, why = stats.values_at("ruby_lookup", "ruby_why").map { |s| Text.clean(s.to_s) }
        case how
        when "fast" then Finding.new("lines", "Ruby's, found the fast way", true)
        when "public" then Finding.new("lines", "Ruby's, found by its public calls, which cost more: #{why}", false, "see doc/limits.md for Rubies that are read directly")
        when "starting" then Finding.new("lines", "none yet: Ruby is still starting", nil)
        else Finding.new("lines", "native functions only: #{why.empty? ? "no Ruby runs in it" : why}", how == "none" ? nil : false, "see doc/limits.md")
        end
      end

      def pace(stats)
        mode, why = stats.values_at("mode", "mode_why").map { |s| Text.clean(s.to_s) }
        Finding.new("malloc", "takes the slow way: #{why}", false, "see doc/limits.md") if mode == "none" && !stats["paused"]
      end

      def counts(stats)
        return Finding.new("counting", "paused", false, "run mwrapctl resume #{@target.pid}") if stats["paused"]
        Finding.new("counting", stats["counts"] == "sampled" ? "a sample of the allocations" : "every block", true)
      end

      def stacks(stats)
        return Finding.new("stacks", "kept: mwrapctl flame shows callers", true) if stats["stacks_rate"].to_i.positive?
        Finding.new("stacks", "none", nil, "start it with MWRAP=...,stacks:auto for callers")
      end

      # Tracking takes this, as the process itself says.
      def cost(stats)
        percent, uses = stats["own"].values_at("cpu_percent", "bytes") if stats["own"].is_a?(Hash)
        return unless uses.is_a?(Hash)
        memory = Text.bytes(uses.values.grep(Integer).sum)
        Finding.new("cost", percent.is_a?(Numeric) ? "at most #{Text.number(percent)} % of its CPU time, and #{memory}" : memory, nil)
      end

      def room(stats)
        full = %w[locations records threads].select { |name| stats["#{name}_full"] }
        Finding.new("memory", "ran out for #{full.join(" and ")}", false, "raise memory_max") unless full.empty?
      end

      # --- malloc -----------------------------------------------------------------------------------

      # The first one of the preloaded libraries serves, else one that is loaded, else the C library's.
      def allocator
        there = ALLOCATORS.select { |_, pattern| @maps.match?(pattern) }.keys
        own = Executable.new("/proc/#{@target.pid}/exe").problems(Executable.tracker(LIB) || "/proc/self/exe").grep(/malloc of its own/).any?
        return Finding.new("allocator", "the program's own malloc", nil) if own
        return libc if there.empty?
        order = variable("LD_PRELOAD").split(/[ :]+/).filter_map { |path| ALLOCATORS.find { |_, pattern| File.basename(path).match?(pattern) }&.first }
        Finding.new("allocator", (order & there).first || there.first, nil)
      end

      def libc
        return Finding.new("allocator", "musl", nil) if musl? # a replay doesn't know it
        arenas = variable("MALLOC_ARENA_MAX")
        name = arenas.empty? ? "glibc" : "glibc, with MALLOC_ARENA_MAX=#{Text.clean(arenas)}"
        Finding.new("allocator", name, nil, "mwrapctl record and replay tell what another one would take")
      end

      # --- output -------------------------------------------------------------------------------------

      def json(findings) = "#{JSON.generate(findings.map { |f| f.to_h.transform_values { |v| v.is_a?(String) ? Text.utf8(v) : v } })}\n"

      def text(findings)
        width = findings.map { |f| f.about.size }.max
        findings.map { |f| "#{mark(f)} #{f.about.ljust(width)}  #{f.says}\n#{"#{" " * (width + 6)}#{f.help}\n" if f.help && f.fine != true}" }.join
      end

      def mark(finding)
        case finding.fine
        when true then Output.paint("ok ", :green)
        when false then Output.paint("bad", :red)
        else "   "
        end
      end
    end
  end
end
