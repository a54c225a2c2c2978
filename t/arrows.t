#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The rooms that each room of src/ may include. Each folder of src/ is a product, and its folders are rooms: a product
# includes shared/, memory/ and api/, and itself. In it data flows one way, so there is no cycle. In a room, files
# that lead to each other, as the linker sees it, are one thing: three at most.

require "tsort"
require_relative "lib/c_tests"

include CTests

# From below to above.
ALLOWED = {
  "api" => %w[],
  "shared/sys" => %w[],
  "shared/options" => %w[],
  "shared/text" => %w[shared/sys],
  "shared/report" => %w[api shared/options shared/sys shared/text],
  "memory" => %w[api shared/sys],
  "tracker/base" => %w[shared/sys],
  "tracker/real" => %w[shared/sys tracker/base],
  "tracker/table" => %w[api shared/sys tracker/base tracker/real],
  "tracker/stacks" => %w[api shared/sys tracker/base tracker/table],
  "tracker/caller/ruby" => %w[shared/sys tracker/base tracker/stacks tracker/table],
  "tracker/caller" => %w[shared/sys tracker/caller/ruby tracker/stacks tracker/table],
  "tracker/track" => %w[recording/format shared/sys tracker/base tracker/caller tracker/caller/ruby tracker/real tracker/stacks tracker/table],
  "tracker/hooks" => %w[api shared/sys tracker/base tracker/caller/ruby tracker/real tracker/table tracker/track],
  "tracker/dump" => %w[shared/report shared/sys shared/text],
  "tracker/process" => %w[api recording/writer server/httpd shared/options shared/report shared/sys tracker/base tracker/caller/ruby
                          tracker/hooks tracker/real tracker/stacks tracker/table tracker/track],
  "server/history" => %w[shared/report shared/sys shared/text],
  "server/marks" => %w[server/history shared/report shared/sys shared/text],
  "server/report" => %w[api server/history shared/report shared/sys shared/text],
  "server/memory" => %w[memory],
  "server/holders" => %w[api shared/sys],
  "server/objects" => %w[api server/holders shared/options shared/sys],
  "server/verdict" => %w[server/history server/objects shared/sys shared/text],
  "server/http" => %w[shared/report shared/sys shared/text],
  "server/pages" => %w[api server/history server/holders server/http server/marks server/memory server/objects server/report server/verdict shared/report shared/sys shared/text],
  "server/family" => %w[server/history server/http server/marks server/pages server/report server/verdict shared/report shared/sys shared/text],
  "server/reports" => %w[api server/family server/history server/http server/pages shared/options shared/sys shared/text],
  "server/httpd/library" => %w[],
  "server/httpd" => %w[api server/family server/history server/http server/httpd/library server/pages server/reports shared/options shared/sys],
  "server/offers" => %w[api server/family server/holders server/objects server/pages],
  "recording/format" => %w[shared/sys],
  "recording/writer" => %w[api memory recording/format shared/options shared/report shared/sys shared/text],
  "extension" => %w[api memory server/offers shared/report shared/sys],
  "tools/launch" => %w[shared/options shared/sys],
  "tools/attach" => %w[api shared/sys],
  "tools/replay" => %w[recording/format shared/sys]
}.freeze
# Of rooms above, only the header that says what the other shared object offers.
ONLY = {
  %w[tracker/process server/httpd] => %w[httpd.h], %w[tracker/process recording/writer] => %w[record.h],
  %w[tracker/track recording/format] => %w[format.h], %w[extension server/offers] => %w[offers.h]
}.freeze

SRC = "#{ROOT}/src"

def room(path) = File.dirname(path)

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

planted = { "tracker/table/a.h" => "#include \"tracker/track/b.h\"\n", "tracker/track/b.h" => "", "tracker/track/c.c" => "#include \"tracker/table/a.h\"\n# include \"b.h\"\n",
            "tracker/process/d.c" => "#include \"server/httpd/server_state.h\"\n", "server/httpd/server_state.h" => "" }
is(wrong(crossings(planted)), ["tracker/table/a.h: tracker/table may not include tracker/track/b.h", "tracker/process/d.c: tracker/process may not include server/httpd/server_state.h"],
      "an arrow the wrong way is seen")

# A product includes itself and the shared rooms, and of another product only the header of its offer.
built = ALLOWED.flat_map { |from, all| all.map { |to| [from, to] } }.reject do |from, to|
  tops = [from, to].map { |r| r[/\A\w+/] }
  tops.uniq.one? || %w[api shared memory].include?(tops[1]) || ONLY.key?([from, to])
end
is(built.map { |from, to| "#{from[/\A\w+/]} #{to[/\A\w+/]}" }.uniq, ["tools recording"],
   "no other object's code")

sources = Dir.chdir(SRC) { Dir["**/*.{c,h}"].to_h { |f| [f, File.read(f)] } }
found = crossings(sources)
ok(found.size > 150, "there are includes across rooms", found.size.to_s)
is(sources.keys.map { |f| room(f) }.uniq.sort, ALLOWED.keys.sort, "each room is listed")
is(wrong(found), [], "each include goes the way it may")

# the list itself: no cycle, and nothing that nobody uses
order = []
until (ready = (ALLOWED.keys - order).select { |r| (ALLOWED[r] - order - (r == "tracker/process" ? %w[server/httpd recording/writer] : [])).empty? }).empty?
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

# --- files, by the symbols of what is built -----------------------------------------------------------------------

# A file leads to those that define what it uses. { file => [defined, used] } to { file => files }
def links(symbols)
  made = Hash.new { |h, name| h[name] = [] }
  symbols.each { |file, (defined, _)| defined.each { |name| made[name] << file } }
  symbols.to_h do |file, (_, used)|
    # a name that several products define is the own one's, or one that all share
    [file, used.filter_map { |name| made[name].min_by { |f| f[/\A\w+/] == file[/\A\w+/] ? 0 : f.match?(/\A(?:shared|memory)\//) ? 1 : 2 } if made.key?(name) }.uniq - [file]]
  end
end

def circles(links) = TSort.strongly_connected_components(links.method(:each_key), ->(file, &each) { links.fetch(file).each(&each) }).select { |c| c.size > 1 }

planted = links({ "a/1.c" => [%w[f], %w[g]], "a/2.c" => [%w[g], %w[h f]], "a/3.c" => [%w[h], %w[k]], "b/4.c" => [%w[k f], %w[f]] })
is(circles(planted).map(&:sort), [%w[a/1.c a/2.c]], "a circle of files is seen")

# what is exported under libc's names is called as libc's
hooks = File.read("#{SRC}/api/hooks.def").scan(/^MW_\w+\((\w+)/).flatten
symbols = sources.keys.grep(/\.c\z/).to_h do |file|
  object = [".build/src/#{file.sub(/c\z/, "o")}", *Dir[".build/ruby-*/#{File.basename(file, ".c")}.o", base: ROOT]].find { |o| File.exist?("#{ROOT}/#{o}") }
  names = object ? IO.popen(["nm", "#{ROOT}/#{object}"], &:readlines).map { |l| l.split.last(2) } : []
  [file, names.partition { |type, _| type != "U" }.map { |half| half.filter_map { |type, name| name if type.match?(/[A-Z]/) } - hooks }]
end
ok(symbols.count { |_, (defined, _)| defined.any? } > 350, "files and their symbols", symbols.select { |_, (d, _)| d.empty? }.keys.inspect)
is(circles(links(symbols)).select { |c| c.size > 3 }, [], "no circle of more than three files")

done_testing
