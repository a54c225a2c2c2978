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

# RubyGems keeps what make says for itself. A person at a terminal sees how far it is.
terminal = begin
  File.open("/dev/tty", "w") { |tty| tty.tty? }
rescue SystemCallError
  false
end
sources = Dir[File.join(__dir__, "{shared,tracker,memory,server,recording,extension,tools}/**/*.{c,cc}")].size
build = "$(MAKE) -C .. -f GNUmakefile $(if $(findstring -j,$(MAKEFLAGS)),,-j#{Etc.nprocessors}) RUBY=#{RbConfig.ruby.shellescape.gsub("$", "$$")} all"
counted = %q('{ print } $$1 == "CC" { printf "\rmwrap: compiling %d of %d files", ++n, N >"/dev/tty"; fflush() } END { printf "\r\033[K" >"/dev/tty" }')

File.write("Makefile", <<~MAKE)
  all:
  \t#{terminal ? "+@{ #{build}; echo $$? >.status; } | awk -v N=#{sources} #{counted}; read s <.status; rm .status; exit $$s" : build}
  clean install:
  \trm -rf ../.build
  .PHONY: all clean install
MAKE
