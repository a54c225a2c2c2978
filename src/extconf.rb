# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# extconf.rb - how `gem install` builds mwrap: it runs this in src/ of the
# unpacked gem, and then `make clean`, `make` and `make install` here, all of
# which the Makefile written below leaves to ../GNUmakefile. The shared objects
# are made where they are loaded from, in the gem's lib/, so that there is nothing
# to install.
#
# Ends with one line that says what is missing, if something is.
require "etc"
require "rbconfig"
require "shellwords"

# Can the compiler find it? nil: there is no compiler.
def header?(name)
  system(*ENV.fetch("CC", "cc").shellsplit, *ENV.fetch("CFLAGS", "").shellsplit,
         "-E", "-include", name, "-x", "c", "/dev/null", out: File::NULL, err: File::NULL)
end

abort "mwrap: works on Linux only" unless RbConfig::CONFIG["host_os"].start_with?("linux")
missing = []
missing << "a C compiler (Debian: gcc and libc6-dev)" unless header?("stdlib.h")
missing << "liburcu's headers (Debian: liburcu-dev)" unless header?("urcu/rculfhash.h")
missing << "xxHash's header (Debian: libxxhash-dev)" unless header?("xxhash.h")
missing << "libmicrohttpd's headers (Debian: libmicrohttpd-dev)" unless header?("microhttpd.h")
abort "mwrap: please install #{missing.join(", ")}" unless missing.empty?

File.write("Makefile", <<~MAKE)
  all:
  \t$(MAKE) -C .. -f GNUmakefile -j#{Etc.nprocessors} RUBY=#{RbConfig.ruby.shellescape.gsub("$", "$$")} all
  clean install:
  \trm -rf ../.build
  .PHONY: all clean install
MAKE
