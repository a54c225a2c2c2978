# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# rack_driver.rb '{"rack": VERSION or null, "mount": "/x" or null, "new": {...}, "authorize": CODE}' -
# one MwrapRack behind Rack::Lint (null: without Rack, as any server could call it).
# A line of JSON on stdin is a request, and one on stdout what came of it. For t/lib/racked.rb.

require "json"

how = JSON.parse(ARGV[0])
if how["rack"]
  gems = ENV.fetch("RACK_GEMS")
  Gem.use_paths(gems, [*Gem.path, gems])
  gem "rack", "= #{how["rack"]}"
  require "rack"
  require "rack/lint"
  require "rack/mock"
  require "rack/urlmap"
end
require "mwrap_rack"

options = how.fetch("new", {}).transform_keys(&:to_sym)
options[:authorize] = eval(how["authorize"]) if how["authorize"]
APP = MwrapRack.new(**options)
STACK = if how["rack"]
          inner = Rack::Lint.new(APP)
          Rack::Lint.new(how["mount"] ? Rack::URLMap.new(how["mount"] => inner) : inner)
        else
          APP
        end
KEPT = []

# Does as a server would: takes all of the body, then closes it.
def take(env)
  status, headers, body = STACK.call(env)
  parts = []
  body.each { |s| parts << s }
  body.close if body.respond_to?(:close)
  if (seat = headers["rack.hijack"])
    headers = headers.merge("rack.hijack" => "there")
    KEPT << seat
  end
  { status: status, headers: headers.to_h.transform_keys(&:downcase), parts: parts.map(&:bytesize), body: [parts.join].pack("m0") }
end

def env_of(ask)
  env = ask.fetch("env", {}).transform_values { |v| v.is_a?(Array) ? v.pack("C*") : v }
  path, query = ask["target"].split("?", 2)
  all = defined?(Rack::MockRequest) ? Rack::MockRequest.env_for("/", method: ask["method"]) : { "REQUEST_METHOD" => ask["method"], "SCRIPT_NAME" => "" }
  all.merge({ "PATH_INFO" => path.to_s, "QUERY_STRING" => query.to_s }, env)
end

$stdout.sync = true
while (line = $stdin.gets)
  ask = JSON.parse(line)
  answer = begin
    if ask["code"]
      { value: eval(ask["code"]) }
    elsif ask["times"]
      ask["times"].times { take(env_of(ask)) }
      { value: ask["times"] }
    else
      take(env_of(ask))
    end
  rescue Exception => e
    { error: "#{e.class}: #{e.message}", at: e.backtrace.first(3) }
  end
  puts JSON.generate(answer)
end
