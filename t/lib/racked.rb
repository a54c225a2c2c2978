# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For tests of MwrapRack: a process under the tracker (or not) that has one, which
# does what it is asked (rack_driver.rb), under a given version of Rack.

require_relative "served"

module Racked
  GEMS = File.join(MwrapTest::ROOT, ".build/gems-#{RUBY_ENGINE}-#{RUBY_VERSION}-#{RUBY_PLATFORM}")
  # as t/lib/gems pins them
  RACKS = File.readlines(File.join(MwrapTest::ROOT, "t/lib/gems")).filter_map { |l| l.split[2] if l.split[1] == "rack" }.sort
  Answer = Struct.new(:status, :headers, :body, :parts)

  class Process
    def initialize(app) = @app = app

    def request(method, target, headers = {}, env = {})
      env = env.merge(headers.to_h { |k, v| ["HTTP_#{k.upcase.tr("-", "_")}", v] })
      r = ask("method" => method, "target" => target, "env" => env.transform_values { |v| v.is_a?(String) && !v.ascii_only? ? v.bytes : v })
      Answer.new(r.fetch("status"), r.fetch("headers"), r.fetch("body").unpack1("m"), r.fetch("parts"))
    end

    def get(target, headers = {}, env = {}) = request("GET", target, headers, env)
    def post(target, headers = {}, env = {}) = request("POST", target, headers, env)

    # The code's value, as JSON has it
    def eval(code) = ask("code" => code).fetch("value")

    # The same request so many times, in the process itself
    def times(n, target, env = {}) = ask("times" => n, "method" => "GET", "target" => target, "env" => env).fetch("value")

    def error(method, target, env = {}) = raw("method" => method, "target" => target, "env" => env).fetch("error")
    def pid = @app.pid
    def stderr = @app.stderr
    def finish = @app.finish

    private

    def raw(what) = JSON.parse(@app.ask(JSON.generate(what)) || raise("it ended: #{@app.stderr}"))
    def ask(what) = raw(what).tap { |r| raise "#{r["error"]} #{r["at"]}" if r["error"] }
  end

  # new: what MwrapRack.new is given; authorize: Ruby code
  def racked(rack: RACKS.last, mount: nil, new: {}, authorize: nil, tracker: true, flags: [], options: "", env: {})
    how = JSON.generate({ rack: rack, mount: mount, new: new, authorize: authorize }.compact)
    env = { "RUBYOPT" => nil, "RUBYLIB" => nil, "MWRAP" => options, "LD_PRELOAD" => (MwrapTest::TRACKER if tracker), "RACK_GEMS" => GEMS }.merge(env)
    app = Served::App.new(MwrapTest::RUBY, *flags, "-I#{MwrapTest::LIB}", File.join(__dir__, "rack_driver.rb"), how,
                          env: env, err: path("err#{@fakes.size}"), dump_path: nil)
    @fakes << app
    Process.new(app)
  end

  # t/lib/rack_serve.rb under a real server, until the test ends. Returns the App and its port.
  def rack_served(server = "puma", options: "")
    # bound here, too, but not listening: nobody else is given this port
    ours = @held_port = Socket.new(:INET, :STREAM)
    ours.setsockopt(:SOCKET, :REUSEADDR, true)
    ours.bind(Addrinfo.tcp("127.0.0.1", 0))
    port = ours.local_address.ip_port
    env = { "RUBYOPT" => nil, "RUBYLIB" => nil, "MWRAP" => options, "LD_PRELOAD" => MwrapTest::TRACKER, "RACK_GEMS" => GEMS }
    @fakes << (app = Served::App.new(MwrapTest::RUBY, "-I#{MwrapTest::LIB}", File.join(__dir__, "rack_serve.rb"), server, port.to_s, env: env, err: path("err"), dump_path: nil))
    wait_for_server(port)
    [app, port]
  end

  # Rows of the table that an answer has as TSV
  def rows(answer)
    assert_equal 200, answer.status, answer.body[0, 300]
    MwrapTest::Dump.tsv(answer.body).fetch(0)
  end
end

Minitest::Test.include(Racked)
