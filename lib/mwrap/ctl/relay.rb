# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "socket"
require_relative "../executable"

module Mwrap
  module Ctl
    # A port of 127.0.0.1 that leads to a Unix socket. The socket's mode lets this user alone in, so the port does, too:
    # the kernel says whose each connection is, and another user's is closed unanswered. The server believes whoever
    # reaches the socket. So the port answers to its own name alone, and no page of another site asks through it. Each
    # connection has one request, whose head is looked at.
    class Relay # :nodoc: all
      TABLE = "/proc/net/tcp"
      LOOPBACK = "0100007F" # 127.0.0.1 as the table has it, on a little-endian machine
      CHUNK = 65_536
      HEAD_END = "\r\n\r\n"
      REFUSAL = ["HTTP/1.1 403 Forbidden", "Connection: close", "Content-Type: text/plain", "", "the request is another site's", ""].join("\r\n")

      # The block gets a Relay.
      def self.open(path, port)
        server = TCPServer.new("127.0.0.1", port)
        yield new(path, server)
      rescue Errno::EADDRINUSE, Errno::EACCES => e
        raise Failure, "port #{port}: #{Executable.reason(e)}: name another one by --port"
      ensure
        server&.close
      end

      def initialize(path, server)
        @path = path
        @server = server
      end

      def port = @server.addr[1]

      # Until a signal ends it
      def run
        loop do
          client = @server.accept
          Thread.new { serve(client) }.report_on_exception = false
        end
      end

      private

      def serve(client)
        return unless own?(client)
        head, rest = read_head(client) || return
        return client.write(REFUSAL) unless own_name?(head)
        to = UNIXSocket.new(@path)
        to.write(one_request(head), rest)
        back = Thread.new { copy(to, client) }
        back.report_on_exception = false
        copy(client, to)
        back.join
      rescue SystemCallError, IOError
        nil # one of them has gone
      ensure
        to&.close
        client.close
      end

      # [head, what came behind it]; nil: too long, or cut off
      def read_head(client)
        text = "".b
        text << client.readpartial(CHUNK) until text.include?(HEAD_END) || text.size > CHUNK
        head, rest = text.split(HEAD_END, 2)
        [head, rest] if rest
      rescue EOFError
        nil
      end

      # Host is the port's name, and Origin, of scripts and forms, too.
      def own_name?(head)
        own = %w[127.0.0.1 localhost].map { |host| "#{host}:#{port}" }
        hosts, origins = %w[Host Origin].map { |name| head.scan(/^#{name}:[ \t]*(.*?)[ \t]*\r?$/i).flatten }
        hosts.size == 1 && own.include?(hosts[0]) && origins.all? { |origin| own.include?(origin.delete_prefix("http://")) }
      end

      # The server closes the connection behind its answer.
      def one_request(head) = "#{head.lines.reject { |line| line.match?(/\AConnection:/i) }.join.chomp}\r\nConnection: close#{HEAD_END}"

      # Answers end when the server closes; what the client sends ends when it has sent all.
      def copy(from, to)
        to.write(from.readpartial(CHUNK)) while true
      rescue EOFError
        to.close_write
      rescue SystemCallError, IOError
        [from, to].each { |s| s.close unless s.closed? }
      end

      # The row of the other end has its owner.
      def own?(client)
        wanted = [client.remote_address.ip_port, port].map { |n| format("#{LOOPBACK}:%04X", n) }
        row = File.foreach(TABLE).map(&:split).find { |f| f[1, 2] == wanted }
        !row.nil? && row[7].to_i == ::Process.euid
      rescue SystemCallError
        false
      end
    end
  end
end
