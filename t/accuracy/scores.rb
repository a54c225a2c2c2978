# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# scores.rb [GEM ...]: where mwrapctl diff and score put the line that leaks, of real gems whose old versions leak
# and whose fixed versions don't (t/leaks/gems.rb). Not a test: it prints a table, a row for each version:
#
#   rank of that line in diff, with --per and without, and in score; its score; the highest score of another line
#
# Each version makes different numbers of calls in processes of their own, whose exit dumps are compared.
require "json"
require "open3"
require "tmpdir"
require_relative "../leaks/gems"

TOP = File.expand_path("../..", __dir__)
HOME = LeakGems.install(TOP)
CALLS = [1000, 1600, 2000, 2900, 3200].freeze

def dump(leak, version, calls, to)
  env = LeakGems.env(HOME).merge("LD_PRELOAD" => File.join(TOP, "lib/libmwrap.so"), "MWRAP" => "dump_path:#{to},dump_format:tsv")
  out, status = Open3.capture2e(env, RbConfig.ruby, "-I", File.join(TOP, "lib"), *leak.command(version, calls))
  status.success? or abort out
  to
end

def rows(*words)
  out, status = Open3.capture2({ "RUBYOPT" => nil }, RbConfig.ruby, File.join(TOP, "lib/exe/mwrapctl"), *words, "--json")
  status.success? or exit 1
  JSON.parse(out)["rows"]
end

# "1: 20.5, 3.1"
def rank(rows, line)
  at = rows.index { |r| r["location"] == line }
  format("%4s %6.2f %6.2f", at ? at + 1 : "-", at ? rows[at]["score"] : 0, rows.reject { |r| r["location"] == line }.map { |r| r["score"] }.max.to_f)
end

puts format("%-28s %-20s %-20s %-20s", "", "diff --per", "diff", "score"), format("%-28s %-20s %-20s %-20s", "", *(["rank  score  other"] * 3))
LeakGems::ALL.reject(&:refused).select { |leak| ARGV.empty? || ARGV.include?(leak.script) }.each do |leak|
  [leak.leaks, leak.fixed].each do |version|
    Dir.mktmpdir do |dir|
      files = CALLS.map { |n| dump(leak, version, n, "#{dir}/#{n}") }
      line = leak.location(HOME, version)
      two = [files[0], files[1]]
      puts format("%-28s %-20s %-20s %-20s", "#{leak.name} #{version}", rank(rows("diff", *two, "--per", (CALLS[1] - CALLS[0]).to_s), line), rank(rows("diff", *two), line),
                  rank(rows("score", *files, "--x", CALLS.join(",")), line))
    end
  end
end
