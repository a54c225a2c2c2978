# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For tests that ask a living process over its socket: starts it under the
# tracker, talks to it over its stdin and stdout, and reads the table in every
# form that there is. requests themselves are t/lib/httpd.rb's.

require_relative "at_rest"
require_relative "httpd"
require "cgi/escape"

module Served
  Row = MwrapTest::Row
  Dump = MwrapTest::Dump
  NUMBERS = MwrapTest::WHOLE_COLUMNS.map(&:to_sym).freeze
  MEANS = MwrapTest::MEAN_COLUMNS.map(&:to_sym).freeze

  class App < HttpdTest::Child
    attr_reader :dump_path

    def initialize(*cmd, env:, err:, dump_path:)
      @dump_path = dump_path
      # a process group of its own: the kernel lets nobody stop one of whose parents none is left
      super(env, *cmd, log: err, pgroup: true)
    end

    # The exit dumps of it and its family, an Array of Rows for each process.
    def dumps(format = "tsv") = Dump.public_send(format, File.exist?(dump_path) ? File.binread(dump_path) : "")
  end

  # Starts a command that serves at `path` and dumps at its end; waits until it
  # serves. Further options as in MWRAP.
  def served(*cmd, options: nil, env: {}, at: path, format: "tsv", wait: true)
    tracker = @swift ? File.join(MwrapTest::ROOT, ".build/swift/libmwrap.so") : MwrapTest::TRACKER
    File.exist?(tracker) or flunk "#{tracker} isn't built: run make check-programs"
    n = @fakes.size
    dump = path("dump#{n}")
    all = ["socket:#{option_value(at)}", "dump_path:#{option_value(dump)}", "dump_format:#{format}", *options]
    clean = { "RUBYOPT" => nil, "RUBYLIB" => MwrapTest::FIDDLE, "MWRAP" => all.join(","), "LD_PRELOAD" => tracker }
    app = App.new(*cmd, env: clean.merge(env), err: path("err#{n}"), dump_path: dump)
    @fakes << app
    wait_for_server(at) if wait
    app
  end

  # A frame's name without its method's class: "block in keep" for "block in Store#keep".
  def bare(name) = name.sub(/(?<![^ ])[\w:]+[#.](?=[^\s#.]+\z)/, "")

  # A Ruby script given as text; its locations end with "/NAME:LINE". `files`:
  # further ones in its folder, by name.
  def served_ruby(script, *flags, name: "app.rb", args: [], files: {}, **rest)
    { name => script, **files }.each { |n, text| File.write(path(n), text) }
    served(MwrapTest::RUBY, "--disable=gems", "-I#{MwrapTest::LIB}", *flags, path(name), *args, **rest)
  end

  # The one thread of the tracker's that the process has besides `before`, by id. Ruby may have started some of its own.
  def thread_besides(before, pid)
    new = (Dir.children("/proc/#{pid}/task") - before).select { |id| (File.read("/proc/#{pid}/task/#{id}/comm") rescue "") == "mwrap\n" }
    new[0].to_i if new.one?
  end

  # "http://127.0.0.1:1234", when its server listens there
  def origin_of(app) = eventually("where it listens") { app.stderr[%r{listening on (http://\S+:\d+)/}, 1] }
  def port_of(app) = origin_of(app)[/\d+\z/].to_i

  # Until it has done what comes after what it said last, and waits for orders.
  def at_rest(app) = eventually("#{app.pid} to wait") { AtRest.now?(app.pid) }

  # Stops a process for real: the signal alone is only a wish.
  def stop(pid)
    Process.kill(:STOP, pid)
    eventually("all its threads to stop") do
      Dir["/proc/#{pid}/task/*/stat"].all? { |f| File.read(f)[/\) (\w)/, 1] == "T" }
    rescue Errno::ENOENT, Errno::ESRCH
      false # one has just ended
    end
  end

  # --- the forms -------------------------------------------------------------

  def body(target, at: path)
    r = get(target, at: at)
    assert_equal 200, r.status, "#{target}: #{r.body[0, 300]}"
    r.body
  end

  def tsv(target = "/each/0.tsv", at: path) = only(Dump.tsv(body(target, at: at)), target)

  # Bytes that Ruby's start has and hardly touched: they may be more than is resident.
  def starting(rows) = MwrapTest::STARTING ? rows.find { |r| r.location == MwrapTest::STARTING }.live_bytes : 0
  def csv(target = "/each/0.csv", at: path) = only(Dump.csv(body(target, at: at)), target)
  def stats(at: path) = JSON.parse(body("/stats.json", at: at))

  def json(target = "/each/0.json", at: path)
    JSON.parse(body(target, at: at)).map { |h| Row.new(*Row.members.map { |m| h.fetch(m.to_s) }) }
  end

  # The rows of the page's table and of those behind it, and the one below them, its sum.
  def html(target = "/each/0?limit=500", at: path)
    text = pages(target) { |page| body(page, at: at) }.force_encoding("UTF-8")
    assert text.valid_encoding?, target
    rows = cells(text.scan(%r{<tbody>(.*?)</tbody>}m).join).map { |c| html_row(c) }
    [rows, html_row(cells(text[%r{<tfoot>(.*?)</tfoot>}m, 1])[0])]
  end

  def cells(table)
    table.scan(%r{<tr>(.*?)</tr>}m).map do |(row)|
      row.scan(%r{<t[dh][^>]*>(.*?)</t[dh]>}m).map { |(c)| CGI.unescapeHTML(exact(c).gsub(/<[^>]*>/, "")) }
    end
  end

  # Whole numbers with commas, "–" where there is none.
  def html_row(cells)
    kinds = MwrapTest::KIND_COLUMNS.size # its kind, and the samples of that
    cells.slice!(-1 - kinds, kinds) if cells.size == Row.members.size + kinds
    assert_equal Row.members.size, cells.size, cells.inspect
    numbers = cells[0..-2].map do |c|
      next if c == "–"
      assert_match(/\A-?\d{1,3}(,\d{3})*\z/, c)
      c.delete(",").to_i
    end
    Row.new(*numbers, cells.last)
  end

  def only(parts, target)
    assert_equal 1, parts.size, "#{target}: one header"
    parts[0]
  end

  def escape(location) = location.b.gsub(/[^A-Za-z0-9\-._~]/n) { |c| format("%%%02X", c.ord) }

  # --- the rules -------------------------------------------------------------

  def by_location(rows)
    names = rows.map { |r| r.location.b }
    assert_equal names.uniq, names, "a location has one row"
    rows.to_h { |r| [r.location.b, r] }
  end

  # The same rows with the same values. columns: those that both have.
  def assert_same_rows(want, got, what, columns: MwrapTest::EXACT_COLUMNS.map(&:to_sym), only: nil, least: 5)
    assert_operator want.size, :>=, least, "#{what}: there are rows"
    want, got = [want, got].map { |rows| by_location(only ? rows.select(&only) : rows) }
    assert_equal [[], []], [want.keys - got.keys, got.keys - want.keys], "#{what}: the same locations"
    columns.each do |c|
      bad = want.each_key.reject { |k| MEANS.include?(c) ? same_mean?(want[k][c], got[k][c]) : want[k][c] == got[k][c] }
      assert_empty bad.first(5).map { |k| [want[k], got[k]] }, "#{what}: the same #{c}"
    end
  end

  # A mean may be shown with three decimals, as a Float or rounded to a whole.
  def same_mean?(a, b)
    return a.nil? && b.nil? if a.nil? || b.nil?
    a = a.to_f
    b.is_a?(Integer) ? (a - b).abs <= 0.5005 : (a - b).abs < 0.0005
  end

  # For any process at any time at which nothing is allocated.
  def assert_sound(rows)
    by_location(rows)
    rows.each do |r|
      NUMBERS.each { |c| assert_includes(c == :growth ? -(1 << 60)..(1 << 60) : 0..(1 << 60), r[c], r.inspect) }
      assert_equal r.live.zero?, r.live_bytes.zero?, r.inspect if r.live.zero?
      assert_equal 0, r.total, r.inspect if r.allocations.zero?
      assert_equal r.frees.zero?, r.mean_life.nil?, r.inspect
      assert_operator r.mean_life, :<=, r.max_life + 0.0005, r.inspect if r.mean_life
    end
  end

  # Sums over locations are the totals of the process.
  def assert_sums(rows, stats, columns = %w[total allocations frees live_bytes live])
    columns.each { |c| assert_equal stats.fetch(c), rows.sum { |r| r[c] }, "sum of #{c}" }
    assert_equal stats["total"] - stats["freed"], rows.sum(&:growth), "sum of growth"
    assert_no_strays stats
  end

  # As it is wherever a test doesn't do such things on purpose.
  def assert_no_strays(stats)
    assert_equal [0, 0, 0], stats.fetch_values("overruns", "double_frees", "unknown_frees"), "overruns and stray frees"
  end
end

Minitest::Test.include(Served)
