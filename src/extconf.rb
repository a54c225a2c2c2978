# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# extconf.rb - how `gem install` builds mwrap: it runs this in src/ of the
# unpacked gem, and then `make clean`, `make` and `make install` here, all of
# which the Makefile written below leaves to ../GNUmakefile. The shared objects
# are made where they are loaded from, in the gem's lib/, so that there is nothing
# to install.
#
# Ends with one line that says what is missing or too old, if something is; so
# it, like needs.sh, is written for old Rubies as well.
require "etc"
require "rbconfig"
require "shellwords"

# RubyGems runs the make that this names
make = ENV["MAKE"] || ENV["make"] || "make"
lacking = IO.popen([{ "RUBY" => RbConfig.ruby.shellescape, "MAKE" => make }, "sh", File.join(__dir__, "needs.sh")], &:read)
abort lacking unless lacking.empty?

File.write("Makefile", <<~MAKE)
  all:
  \t$(MAKE) -C .. -f GNUmakefile -j#{Etc.nprocessors} RUBY=#{RbConfig.ruby.shellescape.gsub("$", "$$")} all
  clean install:
  \trm -rf ../.build
  .PHONY: all clean install
MAKE
