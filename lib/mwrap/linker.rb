# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "timeout"
require_relative "executable"

module Mwrap
  # Asks the dynamic linker whether it can load our shared objects here. An image may lack a library
  # that they need, or have an older C library than that of their build. Used by the launcher only.
  module Linker # :nodoc: all
    PACKAGES = {
      /\Aliburcu/ => "liburcu8t64 or liburcu8",
      /\Alibmicrohttpd/ => "libmicrohttpd12t64 or libmicrohttpd12"
    }.freeze

    SECONDS = 5 # Ruby tries for ever if there may be no other process

    # Before a path: glibc's linker puts its folder of libraries for $LIB, from which enough ".." lead to the root.
    # musl's has no such folder, and passes over what it doesn't find. It would end a program for a library of glibc.
    GLIBC_ONLY = "/usr/$LIB/../../../../../.."

    module_function

    # Returns a line with the problem, or nil; then what is put before a path in LD_PRELOAD, so that only glibc finds it.
    # musl's linker can't be asked, and its programs find what is for musl.
    def check(paths)
      return [nil, ""] if Executable.new(paths[0]).musl?
      said = trace([*paths, "#{GLIBC_ONLY}#{paths[0]}"])
      [read(said, paths), said.empty? || said.include?("'#{GLIBC_ONLY}") ? "" : GLIBC_ONLY]
    end

    # Returns what the linker prints when it loads these into this very program. It then runs
    # nothing of the program (ld.so(8), LD_TRACE_LOADED_OBJECTS); with LD_WARN it reports symbols as
    # well. Empty if that fails: then no problem is known. A linker without these variables would
    # run Ruby, which prints its version.
    def trace(paths)
      env = { "LD_TRACE_LOADED_OBJECTS" => "1", "LD_WARN" => "1", "LD_PRELOAD" => paths.join(":"), "MWRAP" => nil,
              "RUBYOPT" => nil }
      Timeout.timeout(SECONDS) { IO.popen([env, "/proc/self/exe", "--version", err: %i[child out]], &:read).b }
    rescue SystemCallError, ThreadError, Timeout::Error
      ""
    end

    def read(said, paths)
      missing = said.scan(/^\s*(\S+) => not found$/n).flatten.uniq
      return "#{missing.join(", ")}: not found: install #{packages(missing)}" unless missing.empty?
      ours = Regexp.union(paths.map(&:b))
      case said
      when /(\S+): version `(\S+)' not found \(required by (#{ours})\)/n
        "#{$1}: has no #{$2}, which #{File.basename($3)} needs: build mwrap on this system " \
          "(it needs glibc 2.35 or newer)"
      when /^undefined symbol: ([^\s,]+).*\((#{ours})\)$/n
        "#{$2}: no library here has #{$1}: build mwrap on this system"
      when /object '(#{ours})' from LD_PRELOAD cannot be preloaded \((.*)\)/n
        "#{$1}: can't be preloaded: #{$2}"
      when /error while loading shared libraries: (\S+): (.*)$/n
        "#{$1}: can't be loaded: #{$2}"
      end
    end

    def packages(missing)
      names = missing.filter_map { |lib| PACKAGES.find { |pattern,| pattern.match?(lib) }&.last }.uniq
      "#{missing.size == 1 ? "it" : "them"}#{" (Debian: #{names.join(", ")})" unless names.empty?}"
    end
  end
end
