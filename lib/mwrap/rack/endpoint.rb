# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# endpoint.rb - turns a Rack environment into an answer for MwrapRack: permissions, the page, and
# how a stream is sent. The pages are the server's (src/server/pages).
#
# All of it runs in quiet mode, which the methods in src/extension/rack.c enter. So nothing here may
# switch Fibers: no Mutex, no Queue, no IO that waits.

begin
  require "zlib"
rescue LoadError # this Ruby was built without it
end
require_relative "target"
require_relative "live"
require_relative "passage"

class MwrapRack
  POLL = 2000 # ms between two requests of /live, where no connection can be kept
  ABSENT = "mwrap isn't in this process: start it as `mwrap COMMAND ...`, or with libmwrap.so in LD_PRELOAD"
  NEITHER = "refused: to let POST change anything, give MwrapRack.new an authorize: or a token:"
  READ_ONLY = "refused: MwrapRack.new was given read_only: true"
  NO_TOKEN = "refused: POST needs `Authorization: Bearer TOKEN`, or the token as a password"
  REFUSED = "refused: authorize: of MwrapRack said no"
  FULL = "too many live viewers (limit 8): try again later"
  NO_DUMP = "refused: a dump shows every object: give MwrapRack.new dump: true to allow it"
  BODY_MAX = 1 << 20
  FORM_MAX = 4096
  TOO_LARGE = "the request's body is larger than 1 MiB"
  private_constant :POLL, :ABSENT, :NEITHER, :READ_ONLY, :NO_TOKEN, :REFUSED, :FULL, :NO_DUMP, :BODY_MAX, :FORM_MAX, :TOO_LARGE

  private

  # MwrapRack.new, in quiet mode
  def set_up(read_only: false, authorize: nil, token: nil, dump: false)
    raise TypeError, "authorize: must respond to call" unless authorize.nil? || authorize.respond_to?(:call)
    raise TypeError, "token: must be a String" unless token.nil? || token.is_a?(String)
    raise ArgumentError, "token: must not be empty" if token&.empty?
    @read_only = read_only ? true : false
    @authorize = authorize
    @token = token&.b&.freeze
    @dump = dump ? true : false
  end

  # MwrapRack#call, in quiet mode. allowed: the answer of authorize; nil: there is none
  def answer(env, allowed)
    return line(env, 503, ABSENT) unless Mwrap.tracking?
    allowed ||= true if token?(env)
    return line(env, 403, REFUSED) if allowed == false
    return line(env, 413, TOO_LARGE) if env["CONTENT_LENGTH"].to_s.to_i > BODY_MAX
    base, path, query = Mwrap::Pages.target(env)
    query = [query, form(env)].join("&") if Mwrap::Pages.form?(path)
    return slash(env, base, query) if path.empty?
    objects(env, base, path, query, allowed) || page(env, [env["REQUEST_METHOD"].to_s.delete("\0"), path, query, base, env, *no_post(allowed)])
  end

  # The fields of a posted form, percent-encoded; "": there are none, or they aren't in memory yet.
  # To wait for them could switch Fibers.
  def form(env)
    input = env["rack.input"]
    return "" unless env["REQUEST_METHOD"] == "POST" && defined?(StringIO) && input.is_a?(StringIO)
    return "" unless env["CONTENT_TYPE"].to_s.start_with?("application/x-www-form-urlencoded")
    return "" if input.size > FORM_MAX
    fields = input.string.b
    fields.match?(/\A[!-~]*\z/n) ? fields : ""
  end

  # Answers what only Ruby itself knows, also under this process's number; nil: another request.
  def objects(env, base, path, query, allowed)
    own = path[%r{\A/#{Process.pid}(?=/objects|/holders)}]
    mount = base
    path, base = path.delete_prefix(own), base + own if own
    path = path.sub(%r{\A/holders(?=[.]|\z)}, "/objects/holders") # the server's path for it
    return if !path.start_with?("/objects") || "#{path}?#{query}".include?("%00") # refused elsewhere
    require_relative "../objects"
    return mark(env, [env["REQUEST_METHOD"].to_s.delete("\0"), path, query, base, env, *no_post(allowed)]) if path == "/objects/mark"
    get = %w[GET HEAD].include?(env["REQUEST_METHOD"])
    return line(env, 405, "GET and HEAD only", "allow" => "GET, HEAD") unless get
    return dump(env, allowed) if path == "/objects/dump"
    status, headers, body = Mwrap::Objects.answer(path, query, base, mount, mark: no_post(allowed).none?)
    status && whole(env, status, headers, body[0])
  end

  # The page says whether this request may, and answers it.
  def mark(env, request)
    answer = page(env, request)
    Mwrap::Objects.mark if answer[0] < 400
    answer
  rescue Mwrap::Objects::Busy, Mwrap::Objects::Unavailable => e
    answer[2].close
    status, headers, body = Mwrap::Objects.failed(e)
    whole(env, status, headers, body[0])
  end

  def dump(env, allowed)
    return line(env, 403, NO_DUMP) unless @dump
    return line(env, 403, @token ? NO_TOKEN : NEITHER) unless allowed
    headers = { "content-type" => "application/x-ndjson", "cache-control" => "no-store", "x-content-type-options" => "nosniff" }
    [200, headers, env["REQUEST_METHOD"] == "HEAD" ? [] : Mwrap::Objects.dumped]
  rescue Mwrap::Objects::Busy, Mwrap::Objects::Unavailable, Mwrap::Objects::TooLarge, SystemCallError => e
    status, headers, body = Mwrap::Objects.failed(e)
    whole(env, status, headers, body[0])
  end

  def whole(env, status, headers, text)
    headers["content-length"] = text.bytesize.to_s
    [status, headers, env["REQUEST_METHOD"] == "HEAD" ? [] : [text]]
  end

  def page(env, request)
    keep = Mwrap::Pages::Live.hijack?(env)
    stream = keep && request[0] == "GET" ? Mwrap::Pages.passage?(request[1]) : false
    return elsewhere(env, request, stream) unless stream == false
    status, headers, body, stream = Mwrap::Pages.answer(*request, keep ? 0 : POLL)
    return live(request, headers, body, keep) if stream
    headers["www-authenticate"] = 'Basic realm="mwrap", charset="UTF-8"' if status == 401
    return gzip_file(env, headers, body) if body.gzip_file? && defined?(Zlib)
    body.close if env["REQUEST_METHOD"] == "HEAD"
    [status, headers, body]
  end

  # An answer whose body is a gzip file. A Ruby without zlib sends it as it was made: readers of
  # profiles take both.
  def gzip_file(env, headers, body)
    text = Zlib.gzip(body.text)
    body.close
    headers["content-length"] = text.bytesize.to_s
    [200, headers, env["REQUEST_METHOD"] == "HEAD" ? [] : [text]]
  end

  # Why a POST is refused, and whether a token would help; nil: it isn't refused
  def no_post(allowed)
    return [READ_ONLY, false] if @read_only
    return [nil, false] if allowed
    @token ? [NO_TOKEN, true] : [NEITHER, false]
  end

  def token?(env)
    scheme, given = env["HTTP_AUTHORIZATION"]&.b&.split(" ", 2)
    return false unless @token && given
    given = given.unpack1("m").partition(":")[2] if scheme.casecmp?("basic")
    scheme.match?(/\A(bearer|basic)\z/i) && Mwrap::Pages.same?(given, @token)
  end

  # A stream if the server gives connections away, else an answer from the end of the last one; see Live
  def live(request, headers, body, keep)
    # no-transform: compressing middleware would hold events back
    headers["cache-control"] = "no-store, no-transform"
    headers["x-accel-buffering"] = "no"
    return [200, headers, Mwrap::Pages::Live.part(body, request[2])] unless keep
    seat = Mwrap::Pages::Live.seat(body.text) { Mwrap::Pages.answer(*request, POLL)[2] }
    body.close
    return line(request[4], 503, FULL, "retry-after" => "5") unless seat
    [200, headers.merge!("connection" => "close", "rack.hijack" => seat), []]
  end

  # Answers /live of another process; free nil: too many watch other processes
  def elsewhere(env, request, free)
    return line(env, 503, FULL, "retry-after" => "5") unless free
    [200, { "content-type" => "text/event-stream", "cache-control" => "no-store, no-transform", "x-content-type-options" => "nosniff",
            "x-accel-buffering" => "no", "connection" => "close", "rack.hijack" => Mwrap::Pages::Passage.new(request) }, []]
  end

  def slash(env, base, query)
    to = "#{base}/#{"?#{query}" unless query.empty?}"
    line(env, 302, "see #{to}", "location" => to)
  end

  def line(env, status, text, more = {})
    whole(env, status, { "content-type" => "text/plain; charset=utf-8", "cache-control" => "no-store",
                         "x-content-type-options" => "nosniff", **more }, "#{text}\n")
  end
end
