# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.rb [--fixed] [--once]: what bin/demo runs once all is installed and built.
# Starts the app (server.rb) under mwrap, sends it requests, and reads over
# mwrap's socket which line's memory grew; while it goes on, a browser can look at
# the page, on a port beside the socket. Everything that it started or made is gone
# when it ends, in whatever way.
require "net/http"
require "rbconfig"
require "shellwords"
require "tmpdir"

class Demo
  TOP = File.expand_path("../..", __dir__)
  APP = File.join(__dir__, "app.rb")
  WARM_UP = 300   # requests before the counters are reset
  REQUESTS = 3000 # requests that are measured: then the leak is more than the garbage of any line, at any time
  TRICKLE = 10    # requests a second from then on, so that the page sees the leak rise ...
  HOURS = 1       # ... for so long
  COLUMNS = %w[growth live_bytes live allocations frees location].freeze

  class Failure < StandardError
    def initialize(message, log = nil) = super([message, log].compact.join("\n"))
  end

  def initialize(fixed:, once:)
    @fixed = fixed
    @once = once
    @redcarpet = fixed ? "3.5.0" : "3.3.2"
    @sent = 0
  end

  # Returns the exit status.
  def run
    # a socket's path has room for 107 bytes
    Dir.mktmpdir("mwrap-demo-", Dir.tmpdir.bytesize > 70 ? "/tmp" : nil) do |dir|
      @dir = dir
      @socket = File.join(dir, "mwrap.sock")
      start
      ok = measure
      @once ? puts : watch
      ok ? 0 : 1
    ensure
      stop
    end
  end

  private

  def start
    options = ["socket:#{quote(@socket)}", *("listen:127.0.0.1:0" unless @once)].join(",")
    puts "Starting a Sinatra app under Puma, with redcarpet #{@redcarpet}:",
         "  MWRAP=#{options.shellescape} bin/mwrap ruby t/demo/server.rb #{@redcarpet}"
    log = File.join(@dir, "app.log")
    stdin, @alive = IO.pipe
    ruby = RbConfig.ruby
    @pid = spawn({ "MWRAP" => options }, ruby, File.join(TOP, "lib/exe/mwrap"), ruby,
                 File.join(__dir__, "server.rb"), @redcarpet,
                 in: stdin, %i[out err] => log, pgroup: true)
    stdin.close
    address = wait_for("the app") { File.read(log)[%r{Listening on http://(\S+)}, 1] }
    wait_for("mwrap's socket") { File.socket?(@socket) }
    @page = wait_for("the page's address") { File.read(log)[%r{listening on (http://\S+)}, 1] } unless @once
    host, port = address.split(":")
    @http = Net::HTTP.start(host, port.to_i)
  end

  # In a value of $MWRAP a comma, a backslash and a percent sign mean something.
  def quote(path)
    path.gsub(/[,\\]/) { "\\#{_1}" }.gsub("%", "%%")
  end

  # Waits until the block returns something, and returns that.
  def wait_for(what)
    1200.times do
      got = yield and return got
      if Process.wait(@pid, Process::WNOHANG)
        @pid = nil
        raise Failure.new("the app: ended: #{$?}", log_end)
      end
      sleep 0.05
    end
    raise Failure.new("#{what}: not ready after a minute", log_end)
  end

  def log_end
    File.readlines(File.join(@dir, "app.log")).last(30).join
  end

  # Ends the app; it removes its socket itself.
  def stop
    @http&.finish if @http&.started?
    @alive&.close
    return unless @pid

    Process.kill(:TERM, @pid)
    100.times do
      return if Process.wait(@pid, Process::WNOHANG)

      sleep 0.05
    end
    Process.kill(:KILL, @pid)
    Process.wait(@pid)
  end

  def measure
    puts "Warming up with #{WARM_UP} requests, then resetting mwrap's counters (POST /reset)."
    requests(WARM_UP)
    collect
    curl("/reset", "--request", "POST")
    before = @sent
    puts "Sending #{REQUESTS} more."
    requests(REQUESTS)
    collect
    path = "/each/0.tsv?sort=growth&limit=10"
    rows = table(path)
    puts "", "The lines whose memory grew most, by", "  #{command(path)}", ""
    show(rows)
    puts
    verdict(rows.first, @sent - before)
  end

  # The requests of a visitor or two: mostly reading, some searching, some writing.
  def requests(count)
    count.times do
      n = @sent += 1
      case n % 10
      when 0 then get("/?q=Note+#{n % 24}")
      when 1 then get("/notes.json?q=#{n % 24}")
      when 2 then expect(Net::HTTPSeeOther, @http.post("/notes/#{n % 24}", "text=Comment+*#{n}*"))
      else get("/notes/#{n % 24}")
      end
    end
  end

  def get(path)
    expect(Net::HTTPOK, @http.get(path))
  end

  def expect(kind, response)
    response.is_a?(kind) or raise Failure.new("the app: answered #{response.code}", log_end)
  end

  def collect
    expect(Net::HTTPNoContent, @http.post("/gc", ""))
  end

  def curl(path, *options)
    IO.popen(["curl", "-sS", "--fail", "--max-time", "30", "--unix-socket", @socket, *options,
              "http://localhost#{path}", err: %i[child out]], &:read).tap do |text|
      $?.success? or raise Failure, "curl #{path}: #{text}"
    end
  end

  # The rows of a page in TSV, each a hash.
  def table(path)
    head, *lines = curl(path).lines(chomp: true).map { |line| line.split("\t", -1) }
    lines.map { |fields| head.zip(fields).to_h }.each do |row|
      row["location"] or raise Failure, "#{path}: no column named location"
    end
  end

  def show(rows)
    cells = [COLUMNS] + rows.map { |row| row.values_at(*COLUMNS).map { |cell| commas(cell) } }
    widths = cells.transpose.map { |column| column.map(&:length).max }
    cells.each do |*numbers, location|
      puts "  #{numbers.zip(widths).map { |text, width| text.rjust(width) }.join("  ")}  #{location}"
    end
  end

  def commas(text)
    text.to_s.match?(/\A-?\d+\z/) ? text.reverse.scan(/\d{1,3}-?/).join(",").reverse : text.to_s
  end

  # Says what the first row means. Returns whether it is as it should be: with
  # the old redcarpet the line that makes renderers leads the table, with the
  # fixed one it doesn't, or not by a leak. A leak leaves a block or more of each
  # request; a table of Ruby's own that doubled, which any line may come to do,
  # adds much to the bytes but few blocks.
  def verdict(row, count)
    row or raise Failure, "the table: empty"
    growth, allocations, frees = row.values_at("growth", "allocations", "frees").map { |text| Integer(text, 10) }
    @first = row["location"]
    grew = "#{@first} grew by #{commas(growth.to_s)} bytes over #{count} requests"
    leaks = allocations - frees >= count
    known = leaks && @first == marked
    puts "#{known ? "redcarpet's leak" : leaks ? "Not redcarpet's leak" : "No leak"}: #{grew}" \
         "#{" (#{allocations - frees} blocks)" unless known}"
    known == !@fixed
  end

  # The line of the app that is known to leak: only to check what mwrap found.
  def marked
    number = File.foreach(APP).find_index { |line| line.end_with?("# the leak\n") }
    "#{APP}:#{number + 1}"
  end

  def command(path)
    "curl --unix-socket #{@socket.shellescape} 'http://localhost#{path}'"
  end

  # Until Ctrl-C: some requests, so that there is something to see.
  def watch
    puts "", "The app goes on at http://#{@http.address}:#{@http.port}/ with #{TRICKLE} requests a second. To see what it does:",
         "  open #{@page} in a browser", "  #{command("/each/2000.tsv")}", "  #{command("/stats.json")}", "Ctrl-C ends it.", ""
    page = "/each/0.tsv?#{URI.encode_www_form(q: @first)}"
    (HOURS * 3600).times do |second|
      TRICKLE.times do
        requests(1)
        sleep 1.0 / TRICKLE
      end
      next unless (second % 10).zero?

      row = table(page).find { |r| r["location"] == @first }
      puts "#{Time.now.strftime("%T")}  #{@sent} requests  #{commas(row["growth"])} bytes of growth at #{@first}" if row
    end
    puts "No more requests are sent."
    Process.wait(@pid)
    @pid = nil
  rescue Interrupt
    puts "", "Stopping."
  end
end

args = ARGV - %w[--fixed --once]
abort "usage: bin/demo [--fixed] [--once]" unless args.empty?

$stdout.sync = true
%w[HUP QUIT TERM].each { |name| trap(name) { exit 1 } }
begin
  exit Demo.new(fixed: ARGV.include?("--fixed"), once: ARGV.include?("--once")).run
rescue Demo::Failure, SystemCallError, IOError, Timeout::Error => e
  abort "mwrap: #{e.message}"
rescue Interrupt
  exit 130
end
