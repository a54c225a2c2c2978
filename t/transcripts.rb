# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# transcripts.rb [--write]: runs the commands that doc/tools.md shows, in front of a small app that leaks,
# and with --write puts what they print into the page. t/transcripts.t holds the page against them.
#
# In the page each command is between "<!-- transcript -->" and "<!-- end -->", behind "    $ ".

require "io/console"
require "io/wait"
require "open3"
require "pty"
require "rbconfig"
require "tmpdir"

class Transcripts
  TOP = File.expand_path("..", __dir__)
  PAGE = File.join(TOP, "doc/tools.md")
  CTL = File.join(TOP, "lib/exe/mwrapctl")
  BLOCK = /^<!-- transcript -->\n(.*?)^<!-- end -->\n/m
  PID = "4711"
  COLUMNS = 80 # what every table fits
  SECONDS = 60

  # /srv/shop.rb, which reads how many requests to serve. A session is never removed.
  APP = <<~'RUBY'
    SESSIONS = {}
    CACHE = {}
    BUFFER = +""

    def page(id)
      CACHE[id % 100] ||= "<p>" * 2000
    end

    def login(id)
      SESSIONS[id] = "session" * 100
    end

    def log(id)
      BUFFER.replace("served #{id}; " * (1000 + id))
    end

    def serve(id)
      login(id)
      log(id)
      page(id)
    end

    $stdout.sync = true
    $0 = "ruby shop.rb"
    served = 0
    puts "ready"
    while (n = gets)
      n.to_i.times { serve(served += 1) }
      GC.start
      puts "done"
    end
  RUBY

  # The commands of the page, with what they print there
  def self.of_page = File.read(PAGE, encoding: "UTF-8").scan(BLOCK).map { |(text)| text.lines(chomp: true).map { |l| l.delete_prefix("    ") } }

  def self.run
    Dir.mktmpdir("mwrap-t") { |dir| new(dir).run }
  end

  def initialize(dir)
    @dir = dir
  end

  # As of_page
  def run
    start
    Transcripts.of_page.map { |(command)| [command, *output(command.delete_prefix("$ ").split)] }
  ensure
    stop
  end

  private

  # The app has served some, and left the files and marks that the commands name.
  def start
    env = { "MWRAP" => "socket:#{@dir}/mw.sock", "LD_PRELOAD" => File.join(TOP, "lib/libmwrap.so"), "RUBYOPT" => nil, "RUBYLIB" => nil }
    File.write("#{@dir}/shop.rb", APP)
    @in, @out, @thread = Open3.popen2(env, RbConfig.ruby, "--disable=gems", "-e", "eval(File.read(#{"#{@dir}/shop.rb".dump}), TOPLEVEL_BINDING, '/srv/shop.rb')", pgroup: true)
    heard("ready")
    serve(200)
    [0, 100, 300, 50, 150].each_with_index do |n, i|
      serve(n) if n.positive?
      ctl("snap", "mw.sock", "s#{i}.tsv")
    end
    File.rename("#{@dir}/s0.tsv", "#{@dir}/before.tsv")
    File.write("#{@dir}/s0.tsv", File.read("#{@dir}/before.tsv"))
    File.write("#{@dir}/after.tsv", File.read("#{@dir}/s4.tsv"))
  end

  def serve(requests)
    @in.puts(requests)
    heard("done")
  end

  def heard(line)
    @out.wait_readable(SECONDS) && @out.gets == "#{line}\n" or raise "the app doesn't say #{line}"
  end

  def ctl(*words)
    text, status = Open3.capture2e({ "RUBYOPT" => nil }, RbConfig.ruby, CTL, *words, chdir: @dir)
    status.success? or raise "mwrapctl #{words.join(" ")}: #{text}"
  end

  # The lines that a terminal shows, without colours; of ps this process alone.
  def output(words)
    said = +"".b
    env = { "TERM" => "xterm", "NO_COLOR" => "1", "LC_ALL" => "C.UTF-8", "RUBYOPT" => nil }
    words = words.drop(1).map { |word| word.sub("/tmp/", "#{@dir}/").sub(/\A#{PID}\z/, @thread.pid.to_s) }
    master, slave = PTY.open
    slave.winsize = [40, words[0] == "ps" ? 500 : COLUMNS] # real paths of sockets are long, those in containers longer
    pid = Process.spawn(env, RbConfig.ruby, CTL, *words, in: slave, out: slave, err: slave, chdir: @dir)
    slave.close
    begin
      said << master.readpartial(65_536) while true
    rescue Errno::EIO, EOFError
      Process.wait(pid)
    end
    lines = said.force_encoding("UTF-8").delete("\r").lines(chomp: true)
    lines = alone(lines) if words[0] == "ps"
    lines.map { |l| plain(l).rstrip }
  end

  # The table as it is without the others that run here
  def alone(lines)
    lines = lines.grep(/\A *PID\b|\A *#{@thread.pid} /).map { |l| plain(l).split(/ {2,}/).reject(&:empty?) }
    widths = lines.transpose.map { |column| column.map(&:size).max }
    lines.map { |l| l.each_with_index.map { |text, i| [0, 2, 3].include?(i) ? text.rjust(widths[i]) : text.ljust(widths[i]) }.join("  ") }
  end

  def plain(line)
    line.gsub(@dir, "/tmp").gsub(/\b#{@thread.pid}\b/, PID)
  end

  def stop
    @in&.close
    @thread && (@thread.join(SECONDS) || Process.kill(:KILL, @thread.pid))
    @out&.close
  end

  class << self
    def write
      done = run
      text = File.read(PAGE, encoding: "UTF-8").gsub(BLOCK) { "<!-- transcript -->\n#{done.shift.map { |l| "    #{l}".rstrip + "\n" }.join}<!-- end -->\n" }
      File.write(PAGE, text)
    end
  end
end

Transcripts.write if $0 == __FILE__ && ARGV == ["--write"]
