#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Which room of src/ may include which. Data flows one way: a call, its caller, a record, the
# table, a report, a page. So a room includes those below it only, and there is no cycle.

require_relative "lib/c_tests"

include CTests

# From below to above. "." has what the three shared objects share: api.h and version.h.
ALLOWED = {
  "base" => %w[],
  "." => %w[],
  "options" => %w[],
  "real" => %w[base],
  "table" => %w[. base real],
  "caller/ruby" => %w[table],
  "caller" => %w[base caller/ruby table],
  "track" => %w[base caller caller/ruby real table trace],
  "hooks" => %w[. base caller/ruby real table track],
  "report" => %w[. base options],
  "report/live" => %w[base report],
  "holders" => %w[. base],
  "map" => %w[. base],
  "host" => %w[. base caller/ruby hooks httpd options real record report table track],
  "http" => %w[base report],
  "pages" => %w[. base holders http map report report/live],
  "family" => %w[base http pages report report/live],
  "httpd/library" => %w[],
  "httpd" => %w[. base family http httpd/library options pages report/live],
  "inject" => %w[. base],
  "launch" => %w[],
  "trace" => %w[],
  "replay" => %w[base trace],
  "record" => %w[. base map options report trace],
  "ruby" => %w[. base family holders map pages report report/live]
}.freeze
# Of rooms above, only the header that says what the other shared object offers.
ONLY = {
  %w[host httpd] => %w[httpd.h], %w[host record] => %w[record.h], %w[track trace] => %w[format.h]
}.freeze

SRC = "#{ROOT}/src"

# The room of a file below src/, "." for src/ itself.
def room(path) = File.dirname(path).delete_prefix("./")

# [including room, included room, included file, including file] of each include across rooms.
def crossings(sources)
  sources.flat_map do |file, text|
    text.scan(/^\s*#\s*include "([^"]+)"/).flatten.filter_map do |name|
      beside = File.join(File.dirname(file), name).delete_prefix("./")
      path = sources.key?(beside) ? beside : name
      [room(file), room(path), File.basename(path), file] if sources.key?(path) && room(file) != room(path)
    end
  end
end

def wrong(crossings)
  crossings.reject do |from, to, name, _|
    ALLOWED.fetch(from, []).include?(to) && ONLY.fetch([from, to], [name]).include?(name)
  end.map { |from, to, name, file| "#{file}: #{from} may not include #{to}/#{name}" }
end

planted = { "table/a.h" => "#include \"track/b.h\"\n", "track/b.h" => "", "track/c.c" => "#include \"table/a.h\"\n# include \"b.h\"\n",
            "host/d.c" => "#include \"httpd/server.h\"\n", "httpd/server.h" => "" }
is(wrong(crossings(planted)), ["table/a.h: table may not include track/b.h", "host/d.c: host may not include httpd/server.h"],
      "an arrow the wrong way is seen")

sources = Dir.chdir(SRC) { Dir["**/*.{c,h}"].to_h { |f| [f, File.read(f)] } }
found = crossings(sources)
ok(found.size > 150, "there are includes across rooms", found.size.to_s)
is(sources.keys.map { |f| room(f) }.uniq.sort, ALLOWED.keys.sort, "each room is listed")
is(wrong(found), [], "each include goes the way it may")

# the list itself: no cycle, and nothing that nobody uses
order = []
until (ready = (ALLOWED.keys - order).select { |r| (ALLOWED[r] - order - (r == "host" ? ["httpd"] : [])).empty? }).empty?
  order.concat(ready)
end
is(ALLOWED.keys - order, [], "what is allowed has no cycle")
inside = found.map { |from, to, *| [from, to] }.uniq
unused = ALLOWED.flat_map { |from, all| all.map { |to| [from, to] } } - inside
is(unused, [], "what is allowed is used")

# Between two files of a room too there is an order, but for these, which are one thing each.
ONE_THING = [].freeze
pairs = sources.flat_map do |file, text|
  text.scan(/^\s*#\s*include "([a-z_]+)\.h"/).flatten.map { |n| "#{room(file)}/#{n}".delete_prefix("./") }
      .select { |t| sources.key?("#{t}.h") && t != file.sub(/\.[ch]\z/, "") && file.end_with?(".h") }.map { |t| [file.sub(/\.h\z/, ""), t] }
end
is(pairs.select { |a, b| pairs.include?([b, a]) } - ONE_THING, [], "no two headers include each other")

done_testing
