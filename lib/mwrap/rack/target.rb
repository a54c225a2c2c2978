# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# target.rb - finds a request's mount point, path and query, percent-encoded as the client sent
# them.
#
# Servers differ in PATH_INFO. Puma, Unicorn, Pitchfork and Falcon leave it as it was sent. WEBrick
# decodes it and folds slashes. Rails folds slashes and removes the last one. But locations hold
# slashes and any other bytes. So if the server also passes the URI as it was sent, its part for
# PATH_INFO is taken instead.

module Mwrap::Pages # :nodoc: all
  SENT = %r{\A(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%\h\h)*\z}n
  private_constant :SENT

  class << self
    # [base, path, query]: Strings without NULs. The path is "" or starts with a slash. So does the
    # base, which never starts with two slashes or ends with one.
    def target(env)
      script = env["SCRIPT_NAME"].to_s.b
      path = env["PATH_INFO"].to_s.b
      query = env["QUERY_STRING"].to_s.b
      base = escape(script).squeeze("/").delete_suffix("/")
      base = "/#{base}" unless base.empty? || base.start_with?("/")
      path = sent_path(env["REQUEST_URI"].to_s.b, script, path) || escape(path)
      path = "/" if path.empty? && base.empty?
      [base, path, query.gsub(/[^\x21-\x7e]/n) { |c| format("%%%02X", c.ord) }]
    end

    private

    # Returns s if it can be what was sent, else encodes all of it.
    def escape(s)
      SENT.match?(s) ? s : s.gsub(/[^A-Za-z0-9\-._~!$&'()*+,;=:@\/]/n) { |c| format("%%%02X", c.ord) }
    end

    # nil: the URI isn't known, or differs
    def sent_path(uri, script, path)
      uri = uri.sub(%r{\A[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*}n, "")
      uri = uri[/\A[^?#]*/n]
      return if uri.empty? || uri.include?("\0")
      return path.empty? || path.include?("\0") ? nil : path if uri == script + path
      rest_of(uri, places(script), places(path))
    end

    # The part of the URI behind the mount point, if it is the same place as the path.
    def rest_of(uri, scripts, paths)
      at = 0
      while at
        rest = uri[at..]
        return rest if scripts.include?(place(uri[0, at])) && paths.include?(place(rest))
        at = rest.empty? ? nil : uri.index("/", at + 1) || uri.size
      end
    end

    # Paths that differ only in spelling have the same place.
    def place(s) = folded(s.gsub(/%(\h\h)/n) { $1.hex.chr })
    # The places of a text that may be decoded already.
    def places(s) = [place(s), folded(s)]
    def folded(s) = s.include?("\0") ? s : File.expand_path("/#{s}")
  end
end
