# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For t/httpd*.t: runs t/programs/fake_server.c and speaks HTTP to it, byte by byte where
# that is the point.

require_relative "tap"
require_relative "patience"
require "socket"

module HttpdTest
  include Patience

  SERVER = File.join(MwrapTest::LIB, "libmwrap_httpd.so")
  SWIFT_SERVER = File.join(MwrapTest::ROOT, ".build/swift/libmwrap_httpd.so")
  PATIENCE = Patience::PATIENCE

  Response = Struct.new(:status, :headers, :body)

  # A process that is spoken to over its stdin and stdout; its stderr goes to a file.
  class Child
    attr_reader :pid, :log

    def initialize(*cmd, log:, **how)
      @log = log
      r, @in = IO.pipe
      @out, w = IO.pipe
      @pid = Process.spawn(*cmd, in: r, out: w, err: log, close_others: true, **how)
      [r, w].each(&:close)
    end

    def tell(line)
      @in.puts(line)
      @in.flush
    end

    # The next line of its stdout without its end, nil at the end of it.
    def hear = Timeout.timeout(PATIENCE) { @out.gets&.chomp }

    def ask(line)
      tell(line)
      hear
    end

    # The rest of its stdout, to the end.
    def rest = Timeout.timeout(PATIENCE) { @out.read }

    def stderr = File.read(log)
    alias said stderr

    # Closes its stdin and waits: Process::Status, nil if it had to be killed.
    def finish
      return @status if @status
      @in.close unless @in.closed?
      wait
    end

    def wait
      @status ||= Timeout.timeout(PATIENCE) { Process.wait2(pid)[1] }
    rescue Timeout::Error
      kill
      nil
    end

    def kill(signal = :KILL)
      return @status if @status
      Process.kill(signal, pid)
      @status = Process.wait2(pid)[1]
    end
  end

  class Fake < Child
    def initialize(program, log, *options, server: SERVER)
      File.exist?(server) or raise "#{server} isn't built: run make check-programs"
      super({ "MWRAP_HTTPD" => server, "LD_PRELOAD" => nil, "TMPDIR" => File.dirname(log) }, program, *options, log: log)
    end
  end

  def setup
    @dir = Dir.mktmpdir("mwrap-h")
    @fakes = []
  end

  def teardown
    @fakes.each(&:finish)
  ensure
    FileUtils.rm_rf(@dir)
  end

  def path(name = "s") = File.join(@dir, name)

  # The servers that this test starts from here on wait a fifth as long for what src/shared/sys/times.h has:
  # for a test that waits for such a time.
  def swift = @swift = true

  # A running one; waits until it serves `at` (a path), if that is given.
  def fake(*options, at: nil)
    f = Fake.new(program("fake_server"), path("log#{@fakes.size}"), *options, server: @swift ? SWIFT_SERVER : SERVER)
    @fakes << f
    wait_for_server(at) if at
    f
  end

  # One that serves @dir/s.
  def serving(*options) = fake("socket=#{path}", *options, at: path)

  # As eventually, for a value: says what it was instead. For what is asked of others within a time of the
  # product's (MW_FAMILY_MS), which a machine may exceed that doesn't run them.
  def becomes(want, what = nil)
    got = nil
    patiently { (got = yield) == want }
    assert_equal want, got, what
    got
  end

  def wait_for_server(at) = eventually("a server at #{at}") { connects?(at) }

  def connects?(at)
    at.is_a?(Integer) ? TCPSocket.open("127.0.0.1", at, &:close) : UNIXSocket.open(at, &:close)
    true
  rescue Errno::ENOENT, Errno::ECONNREFUSED
    false
  end

  def connect(at = path)
    return TCPSocket.new("127.0.0.1", at) if at.is_a?(Integer)
    s = UNIXSocket.new(at)
    s.remote_address # Ruby takes a full queue (EAGAIN) for a connection that is on its way
    s
  rescue Errno::ENOTCONN, Errno::EINVAL
    s.close
    sleep 0.01
    retry
  end

  # All bytes of a socket up to its end; "" also if it was cut off.
  def drain(s)
    out = +"".b
    Timeout.timeout(PATIENCE) { out << s.readpartial(65_536) while true }
  rescue EOFError, Errno::ECONNRESET, Errno::EPIPE, Errno::ENOTCONN
    out
  end

  def parse(text, head: false)
    top, body = text.split("\r\n\r\n", 2)
    raise "no response: #{text.inspect}" unless top&.start_with?("HTTP/1.")
    lines = top.split("\r\n")
    headers = lines.drop(1).to_h { |l| l.split(": ", 2).then { |k, v| [k.downcase, v] } }
    length = headers["content-length"]
    raise "#{body.bytesize} of #{length} bytes" if length && !head && body.bytesize != length.to_i
    Response.new(lines[0].split[1].to_i, headers, body)
  end

  def request(method, target, headers = {}, body = nil, at: path)
    headers = { "Host" => "localhost", "Connection" => "close" }.merge(headers).compact
    headers["Content-Length"] = body.bytesize if body
    s = connect(at)
    s.write("#{method} #{target} HTTP/1.1\r\n#{headers.map { |k, v| "#{k}: #{v}\r\n" }.join}\r\n#{body}")
    parse(drain(s), head: method == "HEAD")
  ensure
    s&.close
  end

  def get(target, headers = {}, at: path) = request("GET", target, headers, at: at)
  def post(target, headers = {}, body = "", at: path) = request("POST", target, headers, body, at: at)

  # It ends by itself, with 0, and said nothing on stderr.
  def assert_ends_well(app)
    assert app.finish&.success?, app.stderr
    assert_equal "", app.stderr
  end

  def assert_line(response, status, like = //)
    assert_equal status, response.status, response.body
    assert_equal "text/plain; charset=utf-8", response.headers["content-type"]
    assert_match(/\A[^\n]+\n\z/, response.body.dup.force_encoding("UTF-8"))
    assert_match like, response.body
  end

  # A page of rows and those behind it, put together; the block asks for each.
  def pages(target)
    all = +""
    while target
      all << (page = yield(target))
      target = page[/rel="next" href="([^"]*)"/, 1]&.gsub("&amp;", "&")
    end
    all
  end

  # Amounts of bytes, and lifespans, in a page as the numbers in their titles: 4.88 KB as 5,000.
  def exact(html) = html.gsub(%r{<span class="amount" title="(-?[\d,]+) (?:byte|garbage collection)s?">[^<]*</span>}) { $1 }
end

Minitest::Test.include(HttpdTest)
