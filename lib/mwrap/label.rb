# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "mwrap"

module Mwrap
  # Rack middleware that labels what each request allocates: see Mwrap.label.
  #
  #   require "mwrap/label"
  #   use Mwrap::Label
  #
  # The label is the method and the path, such as "GET /orders/*". A segment with a digit, or of more than
  # 32 bytes, counts as "*", and so do all from the fifth on. A block names requests otherwise; nil is no label:
  #
  #   use(Mwrap::Label) { |env| "host #{env["HTTP_HOST"]}" }
  #
  # A response's body is sent after the call, so what that allocates has no label. Place the middleware
  # first to label the work of all others.
  class Label
    SEGMENTS = 4 # :nodoc:
    LONG = 32 # :nodoc:
    private_constant :SEGMENTS, :LONG

    # The label of a request, from its method and path.
    def self.of(env)
      segments = env["PATH_INFO"].to_s.split("/").reject(&:empty?)
      names = segments.first(SEGMENTS).map { |s| s.bytesize > LONG || s.b.match?(/\d/n) ? "*" : s }
      names << "*" if segments.size > SEGMENTS && names.last != "*"
      "#{env["REQUEST_METHOD"]} /#{names.join("/")}"
    end

    # +name+: a block that gets the Rack environment, and returns the request's label or nil.
    def initialize(app, &name)
      @app = app
      @name = name || Label.method(:of)
    end

    def call(env) # :nodoc:
      Mwrap.label(@name.call(env)) { @app.call(env) }
    end
  end
end
