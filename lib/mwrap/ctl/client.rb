# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "json"
require "rbconfig" # Ruby 3.4 without gems has not loaded it, and net/http needs it
require "net/http"
require "socket"
require "timeout"
require_relative "../executable"
require_relative "endpoint"

module Mwrap
  module Ctl
    # Net::HTTP, which knows chunks and gzip, over a Unix socket.
    class UnixHTTP < Net::HTTP # :nodoc: all
      # No proxy, whatever the environment says
      def self.at(path) = new("localhost", 80, nil).tap { |http| http.instance_variable_set(:@unix_path, path) }

      private

      def connect
        # a full queue blocks connect(2)
        socket = Timeout.timeout(open_timeout, Net::OpenTimeout) { UNIXSocket.new(@unix_path) }
        @socket = Net::BufferedIO.new(socket, read_timeout: read_timeout, write_timeout: write_timeout)
        @last_communicated = nil
        on_connect
      end
    end

    # Asks the server at an Endpoint. Every refusal is a Failure.
    class Client # :nodoc: all
      OPEN_SECONDS = 10
      READ_SECONDS = 60 # /all/ waits for each process
      SHOWN_MAX = 200   # characters of somebody else's text in a message
      STRANGE = [Net::ProtocolError, Net::HTTPBadResponse, Net::HTTPHeaderSyntaxError, IOError, *(Zlib::Error if Net::HTTP::HAVE_ZLIB)].freeze

      attr_reader :at

      # For SOCKET and the options of OF_A_SERVER.
      # seconds: how long it waits for an answer
      def self.of(socket, given, seconds: READ_SECONDS)
        raise Usage, "--pid and --all: exclude each other: give one of them" if given["pid"] && given["all"]
        open(Endpoint.find(socket, given["all"] ? "all" : given["pid"]&.to_s), given["token-file"], seconds: seconds)
      end

      # token_file: nil for that of the process, if it is known
      def self.open(at, token_file, seconds: READ_SECONDS) = new(at, token(token_file, at.token_file), seconds: seconds)

      # The first line of a file. named: nil or the one that must be there; found: the one of the process.
      def self.token(named, found)
        path = named || found or return
        line = File.open(path, "rb") { |f| f.gets("\n", 1024) }.to_s.strip
        return line if line.match?(/\A[\x21-\x7e]+\z/n)
        raise Failure, "#{path}: no token: write it in the first line"
      rescue SystemCallError => e
        raise Failure, "#{path}: #{Executable.reason(e)}" if named
      end
      private_class_method :token

      def initialize(endpoint, token, seconds: READ_SECONDS)
        @at = endpoint
        @token = token
        @seconds = seconds
      end

      # The bytes of a page. path: below the process, or below all of them
      def get(path) = ask(@at.base + @at.member + path)

      # The bytes that it answers to a POST
      def post(path) = ask(@at.base + @at.member + path, Net::HTTP::Post)

      # JSON that must be an object. Its text is kept, as UTF-8, by `text` if that is given.
      def json(path, text = +"")
        text.replace(get(path)).force_encoding(Encoding::UTF_8)
        tree = JSON.parse(text) if text.valid_encoding?
        tree.is_a?(Hash) ? tree : strange
      rescue JSON::ParserError
        strange
      end

      # The block's value; nil if the server hasn't the page that it asks for.
      def optional
        yield
      rescue Failure => e
        raise unless [400, 404].include?(e.code)
      end

      # A Hash for each process of the family, as /family.json has it. Empty if there is no answer.
      def family
        list = JSON.parse(ask("#{@at.base}/family.json"))
        list.is_a?(Hash) ? Array(list["processes"]).grep(Hash) : []
      rescue Failure, JSON::ParserError
        []
      end

      def strange
        raise Failure, "#{@at.name}: the answer is not mwrap's: name the server of a process that runs under it"
      end

      private

      def http
        http = @at.path ? UnixHTTP.at(@at.path) : Net::HTTP.new(@at.host, @at.port)
        http.use_ssl = true if @at.ssl
        http.open_timeout = [OPEN_SECONDS, @seconds].min
        http.read_timeout = @seconds
        http.max_retries = 0
        http
      end

      def ask(target, method = Net::HTTP::Get)
        request = method.new(target)
        request.body = "" if method::REQUEST_HAS_BODY
        request["Host"] = "localhost" if @at.path
        request.basic_auth(*@at.login) if @at.login
        request["Authorization"] = "Bearer #{@token}" if @token
        answer(http.start { |h| h.request(request) })
      rescue Net::OpenTimeout, Net::ReadTimeout, Net::WriteTimeout
        raise Failure.new("#{@at.name}: no answer within #{@seconds} seconds: see whether its process is stopped", code: 408)
      rescue SystemCallError => e
        raise Failure, "#{@at.name}: #{problem(e)}"
      rescue SocketError => e
        raise Failure, "#{@at.name}: no such host: #{shown(e.message)}"
      rescue *STRANGE
        strange
      rescue *tls => e
        raise Failure, "#{@at.name}: TLS failed: #{shown(e.message)}"
      end

      # The name of its error loads OpenSSL, which a Ruby may lack.
      def tls
        @at.ssl ? [OpenSSL::SSL::SSLError] : []
      rescue LoadError
        raise Failure, "#{@at.name}: this Ruby has no OpenSSL: name a server of http"
      end

      def problem(error)
        case error
        when Errno::ECONNREFUSED
          option = @at.path ? "socket:#{@at.path}" : "listen:#{@at.name}"
          @at.name.include?("://") ? "no process listens there" : "no process listens: start one with MWRAP=#{option}"
        when Errno::EACCES, Errno::EPERM then "permission denied: run mwrapctl as the user of the process"
        when Errno::ECONNRESET, Errno::EPIPE then "the connection was cut: see whether its process has ended"
        else Executable.reason(error)
        end
      end

      def answer(response)
        case response
        when Net::HTTPOK then response.body
        when Net::HTTPUnauthorized
          raise Failure.new("#{@at.name}: #{@token ? "refuses this token" : "needs a token"}: give the right file by --token-file", code: 401)
        when Net::HTTPRedirection
          raise Failure, "#{@at.name}: moved: use #{shown(response["Location"].to_s)}"
        else
          raise Failure.new("#{@at.name}: #{reason(response)}", code: response.code.to_i)
        end
      end

      # The server's own words, which are one line of text.
      def reason(response)
        return shown(response.body.to_s) if response["Content-Type"].to_s.start_with?("text/plain")
        "the answer is not mwrap's"
      end

      def shown(text)
        text.dup.force_encoding(Encoding::UTF_8).scrub("?").strip.gsub(/[^[:print:]]+/, " ")[0, SHOWN_MAX].b
      end
    end
  end
end
