# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For tests written with minitest: `require_relative "lib/tap"` in a t/*.t
# file runs its Minitest::Test classes and prints TAP. A test that asserts
# nothing is "not ok", and so is a file without tests.
#
# Also what such tests share, in MwrapTest (mixed into every test):
#
#   r = mwrap_run("ruby", "-e", "…")   # under the tracker
#   r.stdout, r.stderr, r.status       # Strings, Process::Status
#   r.rows                             # Rows of all processes' exit dumps
#   r.processes                        # the same, one Array for each process
#   r.row("app.rb:3")                  # the only Row whose location ends so
#
# mwrap_run gives `options: "key:value,…"` to the tracker. Unless they name
# where to dump, it dumps TSV to a file of its own and parses that.

require "minitest"
require "fileutils"
require "json"
require "rbconfig"
require "tempfile"
require "timeout"
require "tmpdir"
require_relative "columns"
require_relative "fiddle_path"

# A shell's background jobs ignore these, and so would every program started from here.
%w[HUP INT QUIT].each { |signal| trap(signal, "DEFAULT") }

module MwrapTest
  ROOT = File.expand_path("../..", __dir__)
  # For figures to the byte, where all tests run with a JIT: Ruby allocates for it at the lines that it compiles.
  WITHOUT_JIT = { "RUBY_YJIT_ENABLE" => nil, "RUBY_ZJIT_ENABLE" => nil }.freeze
  JIT = WITHOUT_JIT.keys.any? { |name| ENV[name] } # do all tests run with one?
  LIB = File.join(ROOT, "lib")
  # MWRAP_TEST_LIB: the folder of another tracker and its server, such as .build/assert
  TRACKER = File.join(ENV.fetch("MWRAP_TEST_LIB", LIB), "libmwrap.so")
  LAUNCHER = File.join(ROOT, "bin/mwrap")
  BUILT = File.join(ROOT, ".build/t")
  RUBY = RbConfig.ruby
  RUBY_FILE = RbConfig::CONFIG["ENABLE_SHARED"] == "yes" ? "libruby" : "ruby" # the file that has Ruby's functions
  # Before its VM is up Ruby 3.2 allocates 36 MB, which lead each table there; elsewhere nil.
  STARTING = RUBY_VERSION.start_with?("3.2.") ? "(ruby, starting)" : nil
  # Bytes of Ruby's smallest slot, which an object without variables has.
  SLOT = GC.respond_to?(:stat_heap) ? GC.stat_heap.values.map { |heap| heap[:slot_size] }.min : 40
  # Bytes of a string for which no slot has room.
  NO_SLOT = [640, GC::INTERNAL_CONSTANTS.fetch(:RVARGC_MAX_ALLOCATE_SIZE, 0)].max
  FIDDLE = FIDDLE_PATH

  # One location, as in a dump; the names of the TSV columns, the location last.
  # Means are Floats or nil, the rest but location are Integers.
  Row = Struct.new(*NUMBER_COLUMNS.map(&:to_sym), :location)

  # The outcome of a command.
  Run = Struct.new(:stdout, :stderr, :status, :processes, :dump) do
    def rows = processes.flatten

    # The Rows whose location ends with a String, or matches a Regexp.
    def rows_at(where)
      rows.select { |r| where.is_a?(Regexp) ? where.match?(r.location) : r.location.end_with?(where) }
    end

    # The one of them. Raises if there are more or none.
    def row(where)
      found = rows_at(where)
      return found[0] if found.size == 1
      raise Minitest::Assertion, "#{found.size} rows at #{where.inspect}:\n" \
        "#{found.map(&:inspect).join("\n")}\n#{stderr}"
    end
  end

  # Parsers of dumps; each returns an Array of Arrays of Rows, one for each
  # process that appended to it.
  module Dump
    module_function

    # The forms that have a header line start a process's part with it.
    def tsv(text)
      parts(text.b.split("\n").map { |line| line.split("\t", -1) }) { |s| unescape(s) }
    end

    def csv(text) = parts(csv_records(text.b)) { |s| s }

    # RFC 4180, strictly (the csv library is a gem of its own since Ruby 3.4).
    def csv_records(text)
      records = [[]]
      until text.empty?
        m = /\A(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|\n|\z)/mn.match(text) or
          raise "not CSV: #{text[0, 80].inspect}"
        records.last << (m[1] ? m[1].gsub('""', '"') : m[2])
        records << [] unless m[3] == ","
        text = m.post_match
      end
      records.reject(&:empty?)
    end

    # One JSON text after another; rows are an Array, or in "rows".
    def json(text)
      text.split(/(?<=[\]}])\n(?=[\[{])/).reject { |s| s.strip.empty? }.map do |one|
        rows = JSON.parse(one)
        rows = rows.fetch("rows") if rows.is_a?(Hash)
        rows.map { |h| Row.new(*Row.members.map { |m| h.fetch(m.to_s) }) }
      end
    end

    # Only total, allocations and location; processes can't be told apart. The last line may be a sentence.
    def text(text)
      [text.b.lines(chomp: true).reject { |line| line.start_with?("# ") }.map do |line|
        m = /\A *(\d+) +(\d+) (.*)\z/mn.match(line) or raise "not a line of a text dump: #{line.inspect}"
        Row.new.tap { |r| r.total = m[1].to_i; r.allocations = m[2].to_i; r.location = utf8(m[3]) }
      end]
    end

    def parts(lines)
      header = COLUMNS
      size = nil
      lines.each_with_object([]) do |fields, out|
        if fields == header || fields == header + KIND_COLUMNS # of a process that keeps stacks: see kinds.t
          size = fields.size
          next out << []
        end
        raise "no header before #{fields.inspect}" if out.empty?
        raise "#{fields.size} columns in #{fields.inspect}" if fields.size != size
        row = Row.new(*header.zip(fields).to_h.values_at(*Row.members.map(&:to_s)))
        NUMBER_COLUMNS.each { |m| row[m] = number(row[m]) }
        MEAN_COLUMNS.each { |m| row[m] = row[m]&.to_f }
        row.location = utf8(yield(row.location))
        out.last << row
      end
    end

    def number(s)
      return nil if s.nil? || s.empty?
      /\A-?\d+\z/.match?(s) ? Integer(s, 10) : Float(s)
    end

    def unescape(s)
      s.b.gsub(/\\(.)/mn) { { "t" => "\t", "n" => "\n", "r" => "\r", "\\" => "\\" }.fetch($1) }.force_encoding(s.encoding)
    end

    def utf8(s)
      u = s.dup.force_encoding(Encoding::UTF_8)
      u.valid_encoding? ? u : s
    end
  end

  # A value for an option: commas, backslashes and percent signs quoted.
  def option_value(s) = s.gsub(/[,\\]/) { "\\#{_1}" }.gsub("%", "%%")

  # The program that make check built from t/programs/NAME.c.
  def program(name) = built("programs/#{name}")

  # The preload that make check built from t/preload/NAME.c.
  def preload(name) = built("preload/#{name}.so")

  def built(path)
    path = File.join(BUILT, path)
    File.exist?(path) or flunk "#{path} isn't built: run make check-programs"
    path
  end

  # A directory that goes when the block ends.
  # Yields a new directory. A process that is just ending may still write there, so that the directory isn't empty when it goes.
  def in_tmp
    dir = Dir.mktmpdir("mwrap-t")
    yield dir
  ensure
    600.times do
      FileUtils.rm_rf(dir)
      File.exist?(dir) ? sleep(0.1) : break
    end
  end

  # The launcher of a copy that every user may read, as this checkout may not be.
  def in_open_copy
    in_tmp do |dir|
      FileUtils.cp_r(%w[bin lib].map { |name| File.join(ROOT, name) }, dir)
      FileUtils.chmod_R("a+rX", dir)
      yield "#{dir}/bin/mwrap"
    end
  end

  # Runs a command to its end, `timeout` seconds at most. Further arguments
  # are those of Process.spawn. Returns a Run without rows.
  def run_command(*cmd, env: {}, stdin: "", timeout: 300, **spawn)
    files = Array.new(3) { Tempfile.new("mwrap-t", binmode: true) }
    files[0].write(stdin)
    files[0].rewind
    base = { "LD_PRELOAD" => nil, "MWRAP" => nil, "RUBYOPT" => nil, "RUBYLIB" => FIDDLE }
    pid = Process.spawn(base.merge(env), *cmd, in: files[0], out: files[1], err: files[2],
                        close_others: true, **spawn)
    status = wait_for(pid, timeout) or flunk "still running after #{timeout} s: #{cmd.inspect}\n" \
      "#{files[2].tap(&:rewind).read}"
    out, err = files[1, 2].map { |f| f.rewind; Dump.utf8(f.read) }
    Run.new(out, err, status, [], nil)
  ensure
    files&.each(&:close!)
  end

  # Process::Status, or nil after killing it.
  def wait_for(pid, timeout)
    Timeout.timeout(timeout) { Process.wait2(pid)[1] }
  rescue Timeout::Error
    Process.kill(:KILL, pid)
    Process.wait(pid)
    nil
  end

  # Runs a command under the tracker; see above. `preload:` are shared
  # objects to preload beneath it.
  def mwrap_run(*cmd, options: "", env: {}, preload: [], **rest)
    File.exist?(TRACKER) or flunk "#{TRACKER} isn't built: run make"
    in_tmp do |dir|
      path = File.join(dir, "dump")
      ours = !options.match?(/(\A|,)dump_(path|fd):/)
      format = options[/(?:\A|,)dump_format:(\w+)/, 1]
      all = [options.empty? ? nil : options, *("dump_path:#{option_value(path)}" if ours),
             *("dump_format:tsv" if ours && !format)].compact.join(",")
      env = { "MWRAP" => all, "LD_PRELOAD" => [TRACKER, *preload].join(":") }.merge(env)
      run = run_command(*cmd, env: env, **rest)
      run.dump = File.exist?(path) ? File.binread(path) : ""
      run.processes = Dump.public_send(format || "tsv", run.dump)
      run
    end
  end

  # mwrap_run of a Ruby script given as text, with lib/ in its load path. The
  # script is the file NAME in a directory of its own: its locations end with
  # "/NAME:LINE".
  def mwrap_ruby(script, name: "script.rb", args: [], **rest)
    in_tmp do |dir|
      path = File.join(dir, name)
      File.write(path, script)
      mwrap_run(RUBY, "-I#{LIB}", path, *args, **rest)
    end
  end

  def assert_success(run)
    assert run.status.success?, "#{run.status}\n#{run.stdout}\n#{run.stderr}"
  end

  # Holds for every row of a process that did no reset and no fork, once
  # it is quiet: allocated = freed + live.
  def assert_exact(rows)
    refute_empty rows
    rows.each do |r|
      assert_equal r.allocations, r.frees + r.live, r.inspect
      assert_equal r.live_bytes, r.growth, r.inspect
      assert_operator r.live_bytes, :<=, r.total, r.inspect
      assert_equal 0, r.live_bytes, r.inspect if r.live.zero?
    end
  end
end

# Minitest's results as TAP on what stdout was at the start, so that nothing
# a test prints gets in between.
class MwrapTap < Minitest::AbstractReporter
  def initialize
    super
    @out = $stdout.dup
    @out.sync = true
    $stdout.reopen($stderr)
    @pid = Process.pid
    @count = 0
    @failed = false
  end

  def prerecord(_class, _name); end

  def record(result)
    return if Process.pid != @pid # a child that got past its end
    @count += 1
    vacuous = result.assertions.zero? && result.failures.empty?
    bad = vacuous || (!result.passed? && !result.skipped?)
    @failed ||= bad
    line = "#{"not " if bad}ok #{@count} - #{name(result)}"
    line += " # SKIP #{one_line(result.failure.message)}" if result.skipped?
    say line
    comment("asserts nothing") if vacuous
    result.failures.each { |f| comment("#{f.message}\n#{f.location}") } unless result.skipped?
  end

  def report
    return if Process.pid != @pid
    if @count.zero?
      @failed = true
      @count = 1
      say "not ok 1 - no tests in this file"
    end
    say "1..#{@count}"
  end

  def passed? = !@failed

  private

  def name(result) = one_line("#{result.klass}: #{result.name.delete_prefix("test_").tr("_", " ")}")
  def one_line(s) = s.scrub("?").tr("\n", " ").gsub("#", "\\#")
  def comment(s) = s.scrub("?").each_line(chomp: true) { |l| say "# #{l}" }
  def say(s) = @out.puts(s)
end

module Minitest
  def self.plugin_mwrap_tap_init(_options)
    reporter.reporters.replace([MwrapTap.new])
  end

  extensions << "mwrap_tap"
end

Minitest::Test.include(MwrapTest)
Minitest.autorun
