# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# extconf.rb - builds mwrap for `gem install`, which runs this in src/ of the unpacked
# gem, and then `make clean`, `make` and `make install` there. The Makefile written
# below leaves the build to ../GNUmakefile. The shared objects are made where they are
# loaded from, in the gem's lib/: there is nothing to install.
#
# Newer RubyGems give make a number of jobs. A number of our own would put an end to that, with a warning.
#
# If a requirement is missing or too old, this ends with one line that says so. Old
# Rubies must be able to run it for that.
require "etc"
require "rbconfig"
require "shellwords"

# RubyGems runs the make that these variables name
make = ENV["MAKE"] || ENV["make"] || "make"
lacking = IO.popen([{ "RUBY" => RbConfig.ruby.shellescape, "MAKE" => make }, "sh", File.join(__dir__, "needs.sh")], &:read)
abort lacking unless lacking.empty?

File.write("Makefile", <<~MAKE)
  all:
  \t$(MAKE) -C .. -f GNUmakefile $(if $(findstring -j,$(MAKEFLAGS)),,-j#{Etc.nprocessors}) RUBY=#{RbConfig.ruby.shellescape.gsub("$", "$$")} all
  clean install:
  \trm -rf ../.build
  .PHONY: all clean install
MAKE
