#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The three shared objects export the symbols that t/symbols/ lists, and need
# none that they may not: the tracker, which is loaded into every process,
# libc and liburcu, and nothing of Ruby's (a symbol that a later Ruby hides would
# keep every preloaded process from starting); the server nothing of the
# tracker's but what it is handed; the extension nothing but Ruby and libc.

require_relative "lib/c_tests"

include CTests

LIBC = /\A(libc\.so\.6|ld-linux[-\w]*\.so\.\d+)\z/
OBJECTS = {
  "tracker" => ["lib/libmwrap.so", [/\Aliburcu-(cds|common)\.so\.\d+\z/]],
  "server" => ["lib/libmwrap_httpd.so", [/\Alibz\.so\.\d+\z/]],
  "library" => ["lib/libmwrap_mhd.so", [/\Alibmicrohttpd\.so\.\d+\z/]],
  "extension" => ["lib/mwrap/mwrap_ext.so", [/\Alibruby.*\.so[.\d]*\z/]]
}.freeze
# weak, and absent from most processes: the compiler puts all but the last one into every object
TOOLCHAIN = /\A(_ITM_(de)?registerTMCloneTable|__gmon_start__|__cxa_finalize|__sanitizer_get_heap_size)\z/

def tool(*argv)
  r = run(*argv, env: { "LC_ALL" => "C" }, dir: ROOT)
  raise "#{argv.join(" ")}: #{r.ending} #{r.err}" unless r.ending == "exit 0"

  r.out.lines(chomp: true)
end

# [name, version] pairs; no version: "".
def symbols(object, which)
  tool("nm", "-D", which, object).map { |l| l.split.last.split(/@+/, 2).then { |n, v| [n, v.to_s] } }
end

def needed(object)
  tool("readelf", "-dW", object).filter_map { |l| l[/\(NEEDED\).*\[(.+)\]/, 1] }
end

# The tracker's are those of the one list, by kind.
HOOKS = File.read("#{ROOT}/src/api/hooks.def").scan(/^(MW_\w+)\((\w+)/).group_by(&:first).transform_values { |l| l.map(&:last) }.freeze

def listed(name)
  return HOOKS.values.flatten.sort if name == "tracker"
  list = File.readlines("#{ROOT}/t/symbols/#{name}", chomp: true).grep_v(/\A(#|\z)/)
  # a Ruby that is not released yet asks each extension for it
  name == "extension" && RUBY_PATCHLEVEL.negative? ? [*list, "ruby_abi_version"].sort : list
end

OBJECTS.each do |name, (object, libraries)|
  want = listed(name)
  got = symbols(object, "--defined-only").map(&:first)
  ok(!want.empty? && want == want.sort.uniq, "#{name}: the list is sorted")
  is([(got - want).sort, (want - got).sort], [[], []], "#{name}: exports what is listed and nothing else")
  libs = needed(object)
  ok(libs.any?(name == "library" ? libraries[0] : LIBC), "#{name}: what it needs could be read", libs.inspect) # a table needs no libc
  is(libs.reject { |l| [LIBC, *libraries].any? { |re| re.match?(l) } }, [], "#{name}: needs no other library")
end

tracker = OBJECTS["tracker"][0]
undefined = symbols(tracker, "--undefined-only").reject { |n, _| TOOLCHAIN.match?(n) }
ok(undefined.size > 30, "tracker: what it takes from others could be read")
strange = undefined.reject { |n, v| v.start_with?("GLIBC_") || n.match?(/\A_?cds_lfht_/) }
is(strange, [], "tracker: takes all from libc and liburcu")
is(undefined.map(&:first).grep(/\A_?(rb|ruby|Init|onig)_?/i), [], "tracker: nothing of Ruby's")
is(undefined.map(&:first) & %w[__tls_get_addr exit _exit abort __assert_fail printf puts], [],
   "tracker: neither dynamic TLS, which would allocate, nor what ends a process or prints")

# Interposed functions, under the names by which it asks for the next of them.
is(HOOKS.keys.sort, %w[MW_EXPORT_DATA MW_HOOK MW_HOOK_CXX MW_HOOK_NEXT MW_HOOK_REAL], "hooks: entries of every kind could be read")
# each is defined in the file that its entry stands below
files = File.read("#{ROOT}/src/api/hooks.def").split(%r{^/\* (?=(?:tracker|api)/)}).drop(1)
          .to_h { |part| [part[/\A[\w\/]+\.[ch]/], part.scan(/^MW_\w+\((\w+)/).flatten] }
nowhere = files.flat_map { |file, names| text = File.read("#{ROOT}/src/#{file}"); names.reject { |n| text.match?(/\b#{n}\b/) } }
is(nowhere, [], "hooks: each is in the file that the list names")
is(files.values.flatten.sort, HOOKS.values.flatten.sort, "hooks: each stands below a file")

flags = tool("readelf", "-dW", tracker).grep(/FLAGS/).join
ok(flags.include?("NODELETE"), "tracker: is never unmapped", flags)
# only some processors' linkers set the flag STATIC_TLS, so its relocations tell
tls = tool("readelf", "-rW", tracker).grep(/TPOFF|TPREL|TLSDESC|DTPMOD/)
ok(tls.any? && tls.none?(/TLSDESC|DTPMOD/), "tracker: its thread-local variables are the initial-exec kind", tls.join)
# src/server/http/context.h says why
OBJECTS.except("tracker").each do |name, paths|
  ok(tool("readelf", "-lW", paths[0]).none?(/^ *TLS /), "#{name}: it has no thread-local variables")
end
ok(tool("readelf", "-lW", tracker).none? { |l| l =~ /GNU_STACK.*RWE|LOAD.*RWE/ }, "tracker: no memory is both writable and executable")

server = symbols(OBJECTS["server"][0], "--undefined-only").map(&:first)
is(server & (listed("tracker") - %w[malloc free calloc realloc]), [], "server: takes nothing of the tracker's by name")

extension = symbols(OBJECTS["extension"][0], "--undefined-only").reject { |n, _| TOOLCHAIN.match?(n) }
ok(extension.map(&:first).include?("rb_define_alloc_func"), "extension: what it takes could be read")
is(extension.reject { |n, v| v.start_with?("GLIBC_") || n.match?(/\A(rb|ruby)/) }, [], "extension: takes all from Ruby and libc")

# The server's code is in its library alone.
offered = File.read("#{ROOT}/src/server/offers/offers.def").scan(/^MW_OFFER\((\w+)\)/).map { |name,| "mw_#{name}" }
defined = ->(name) { tool("nm", "--defined-only", OBJECTS[name][0]).map { |l| l.split.last } }
is(offered - defined.call("server"), [], "server: has what it offers")
is(defined.call("extension") & offered, [], "extension: has none of it")

done_testing
