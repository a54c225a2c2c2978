# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For tests that watch a process by GET /live: an EventSource, as far as tests need
# one, and an app that leaks when it is told to.

require "zlib"
require_relative "served"

module Watching
  Event = Struct.new(:name, :data)

  # Reads GET /live, event by event.
  class Watcher
    attr_reader :status, :headers, :socket, :bytes # read so far

    def initialize(socket, headers = {}, target: "/live")
      @socket = socket
      @socket.write("GET #{target} HTTP/1.1\r\nHost: localhost\r\n#{headers.map { |k, v| "#{k}: #{v}\r\n" }.join}\r\n")
      @raw = +"".b
      @bytes = 0
      @text = +"".b
      head = read_until("\r\n\r\n")
      @status = head.split[1].to_i
      @headers = head.split("\r\n").drop(1).to_h { |l| l.split(": ", 2).then { |k, v| [k.downcase, v] } }
      @gunzip = Zlib::Inflate.new(Zlib::MAX_WBITS + 16) if @headers["content-encoding"] == "gzip"
    end

    # The next event; nil at the end of the stream. Comments are left out.
    def event
      loop do
        until (at = @text.index("\n\n"))
          return nil unless (chunk = next_chunk)
          @text << (@gunzip ? @gunzip.inflate(chunk) : chunk)
        end
        lines = @text.slice!(0, at + 2).lines(chomp: true).reject { |l| l.empty? || l.start_with?(":") }
        next if lines.empty?
        fields = lines.to_h { |l| l.split(": ", 2) }
        return Event.new(fields.fetch("event"), JSON.parse(fields.fetch("data").force_encoding("UTF-8")))
      end
    end

    # Events up to one of that name (with it) for which the block, if any, is true.
    def upto(name)
      seen = []
      until seen.any? && seen.last.name == name && (!block_given? || yield(seen.last.data))
        e = event or raise "the stream ended after #{seen.map(&:name)}"
        seen << e
      end
      seen
    end

    # The table as a page has it, once `times` points came.
    def table(times = 1)
      @known ||= {}
      times.times { seen = upto("point").each { |e| take(e.data) if e.name == "rows" }; @at = seen.last.data["t"] }
      @known
    end

    # ... once a point came of a later moment than that, in seconds of its uptime. Points that nobody
    # has read yet may be older than what a test has done since.
    def table_after(moment)
      table until @at && @at > moment
      @known
    end

    def take(data)
      @known = {} if data["all"]
      data["gone"].each { |id| @known.delete(id) }
      data["rows"].each do |*row, objects|
        (@objects ||= {})[row[0]] = objects
        raise "a short row of an unknown id: #{row}" unless row.size == 13 || @known[row[0]]
        raise "neither 11 nor 14 values: #{row}" unless [10, 13].include?(row.size)
        @known[row[0]] = row + (row.size == 10 ? @known[row[0]].drop(10) : [])
      end
    end

    # By id: 0, or objects, their bytes, samples and variance, as they were told last.
    attr_reader :objects

    # Did all come, compressed, up to its mark of the end?
    def whole? = @gunzip.finished?
    def close = @socket.close

    private

    def next_chunk
      size = read_until("\r\n").to_i(16)
      return nil if size.zero?
      chunk = read_bytes(size + 2)
      chunk && chunk[0, size]
    end

    def more
      got = Timeout.timeout(HttpdTest::PATIENCE) { @socket.readpartial(65_536) }
      @bytes += got.bytesize
      @raw << got
      true
    rescue EOFError, Errno::ECONNRESET
      false
    end

    def read_until(mark)
      until (at = @raw.index(mark))
        return +"" unless more
      end
      @raw.slice!(0, at + mark.size)
    end

    def read_bytes(n)
      until @raw.size >= n
        return nil unless more
      end
      @raw.slice!(0, n)
    end
  end

  def watch(at: path, **headers) = Watcher.new(connect(at), headers).tap { |w| (@watchers ||= []) << w }

  def teardown
    @watchers&.each(&:close)
    super
  end

  LEAK = <<~RUBY
    $stdout.sync = true; puts "ready"
    kept = []
    while (line = gets)
      case line
      when /^leak (\\d+)/ then $1.to_i.times { kept << ("x" * 10_000) }
      when /^fork/ then
        r, w = IO.pipe
        pid = fork { w.close; r.read; exit! }
        r.close
      when /^exec/ then exec("sleep", "1000")
      when /^end/ then exit
      end
      puts "done \#{pid}"
    end
  RUBY

  # It serves before Ruby has started: here all of that is over.
  def leaking(**rest) = served_ruby(LEAK, **rest).tap(&:hear)

  # These watchers' tables, once all that was done until now is in them.
  def tables_now(*watchers, at: path)
    now = JSON.parse(body("/history.json", at: at))["now"]
    watchers.map { |w| w.table_after(now) }
  end

  def location(text) = ->(row) { row[10].end_with?(text) }
end
