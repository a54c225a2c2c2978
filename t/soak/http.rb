# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# http.rb - one request over a connection of its own, to a port of the loopback
# address (an Integer) or to a Unix socket (its path). Nothing but a whole answer
# is an answer: all else raises Http::Broken.
require "io/wait"
require "socket"

module Http
  Broken = Class.new(StandardError)
  Answer = Struct.new(:status, :headers, :body)
  PATIENCE = 60 # seconds without a byte

  module_function

  def ask(address, method, target, headers = {}, body = nil)
    io = connect(address)
    headers = { "Host" => "localhost", "Connection" => "close" }.merge(headers)
    headers["Content-Length"] = body.bytesize if body
    io.write("#{method} #{target} HTTP/1.1\r\n", headers.map { |k, v| "#{k}: #{v}\r\n" }.join, "\r\n", body.to_s)
    parse(read(io), method)
  rescue SystemCallError, IOError => e
    raise Broken, "#{method} #{target}: #{e.message}"
  ensure
    io&.close
  end

  def connect(address)
    return TCPSocket.new("127.0.0.1", address) if address.is_a?(Integer)

    io = UNIXSocket.new(address)
    io.remote_address # Ruby takes a full queue (EAGAIN) for a connection that is on its way
    io
  rescue Errno::ENOTCONN, Errno::EINVAL
    io.close
    sleep 0.01
    retry
  end

  def read(io)
    text = +"".b
    loop do
      case part = io.read_nonblock(1 << 16, exception: false)
      when String then text << part
      when :wait_readable then io.wait_readable(PATIENCE) or raise IOError, "no answer for #{PATIENCE} s"
      else return text
      end
    end
  end

  def parse(text, method)
    top, body = text.split("\r\n\r\n", 2)
    top&.start_with?("HTTP/1.1 ") && body or raise IOError, "no answer: #{text[0, 80].inspect}"
    lines = top.split("\r\n")
    headers = lines.drop(1).to_h { |line| line.split(": ", 2).then { |name, value| [name.downcase, value] } }
    length = headers["content-length"] or raise IOError, "no Content-Length"
    body.bytesize == (method == "HEAD" ? 0 : Integer(length, 10)) or raise IOError, "#{body.bytesize} of #{length} bytes"
    Answer.new(Integer(lines[0].split[1], 10), headers, body)
  end
end
