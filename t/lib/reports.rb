# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For tests of reports that a process writes by itself: what is in report_dir.

require "zlib"
require_relative "served"

module ReadsReports
  FIRST = %w[verdict.txt each.tsv].freeze
  FILES = [*FIRST, "stats.json", "history.json", "diff.tsv", "stacks.pprof.gz", "report.html"].freeze

  EPOLL_WAIT = [232, 281, 22].freeze # epoll_wait and epoll_pwait of x86-64, epoll_pwait of arm64

  # Keeps strings of 100 kB in line 4 when it is told how many; says how many there are.
  LEAK = <<~'RUBY'
    $stdout.sync = true
    $keep = []
    puts "ready"
    while (n = $stdin.gets) do n.to_i.times { $keep << ("x" * 100_000) }; puts $keep.size end
  RUBY

  def reports_dir = path("reports").tap { |dir| FileUtils.mkdir_p(dir) }

  # A process without a server.
  def reporting(script, *options, dir: reports_dir, env: {}, **rest)
    File.write(path("app.rb"), script)
    tracker = @swift ? File.join(MwrapTest::ROOT, ".build/swift/libmwrap.so") : MwrapTest::TRACKER
    clean = { "RUBYOPT" => nil, "RUBYLIB" => MwrapTest::FIDDLE, "MWRAP" => ["report_dir:#{dir}", *options].join(","), "LD_PRELOAD" => tracker }
    app = HttpdTest::Child.new(clean.merge(env), MwrapTest::RUBY, "--disable=gems", path("app.rb"), log: path("err#{@fakes.size}"), **rest)
    @fakes << app
    eventually("its thread") { its_thread_waits?(app.pid) }
    app
  end

  # In its loop: a process that ends before writes no report (doc/limits.md).
  def its_thread_waits?(pid)
    Dir["/proc/#{pid}/task/*"].any? do |task|
      File.read("#{task}/comm") == "mwrap\n" && EPOLL_WAIT.include?(File.read("#{task}/syscall").to_i)
    rescue SystemCallError
      false
    end
  end

  # Complete ones, the oldest first.
  def reports(dir = reports_dir) = Dir["#{dir}/*-[0-9]*Z"].select { |d| File.directory?(d) && !File.symlink?(d) }.sort_by { |d| [d[-16..], d] }

  def a_report(dir = reports_dir, number: 1) = eventually("report #{number}") { reports(dir)[number - 1] }

  # All of its files are there, whole, and say the same of the line.
  def assert_complete(report, line)
    assert_equal FILES.sort, (Dir.children(report) - ["each-all.tsv"]).sort
    assert_match(/^\d.* blocks at \S*#{Regexp.escape(line)}$/, File.read("#{report}/verdict.txt"))
    assert_first_row report, line
    assert_match(/\tlocation\t?/, File.readlines("#{report}/diff.tsv")[1])
    %w[stats.json history.json].each { |f| assert_kind_of Hash, JSON.parse(File.read("#{report}/#{f}")), f }
    assert_operator Zlib.gunzip(File.binread("#{report}/stacks.pprof.gz")).size, :>, 100
    page = File.read("#{report}/report.html")
    assert page.end_with?("</html>\n"), "the page is whole"
    assert_includes page, line.delete_prefix("/"), "the page names the line"
  end

  def assert_first_row(report, line)
    head, columns, *rows = File.readlines("#{report}/each.tsv", chomp: true)
    at = columns.split("\t").index("location")
    row = rows.find { |r| r.split("\t")[at] != MwrapTest::STARTING }
    assert_match(/\A# mwrap=\S+ .*\bpid=\d+ /, head)
    assert row.split("\t")[at].end_with?(line), row
  end

  def assert_nothing_half(dir = reports_dir)
    assert_empty Dir.children(dir).grep(/\A\.|\.first\z/)
  end
end
