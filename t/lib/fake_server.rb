# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The made-up server (t/js/fake_server.mjs), for tests that need no browser, too.
require_relative "tap"

module BrowserTest
  LONG = 60

  # node t/js/fake_server.mjs; time passes there when it is told to.
  class FakeServer
    # The line of its app that leaks.
    LEAK = "/usr/share/gems/gems/redcarpet-3.3.2/lib/redcarpet.rb:51"

    attr_reader :port

    def initialize(*args, base: "")
      @base = base
      script = File.join(MwrapTest::ROOT, "t/js/fake_server.mjs")
      @io = IO.popen(["node", script, "--hand", *("--base=#{base}" unless base.empty?), *args], "r+")
      @port = Integer(answer[/\Alistening (\d+)/, 1])
    end

    def origin = "http://127.0.0.1:#{port}"
    def url(hash = "") = "#{origin}#{@base}/#{hash}"
    def tick(n = 1) = @io.puts("tick #{n}")
    def flat = @io.puts("flat")
    def say(kind) = @io.puts("say #{kind}")
    def expire = @io.puts("expire")
    def cut = @io.puts("cut")
    def die = (@io.puts("die"); answer)
    def back = (@io.puts("back"); answer)
    def asked = (@io.puts("asked"); JSON.parse(answer))
    def watchers = (@io.puts("watchers"); Integer(answer))
    def close = @io.close

    private

    def answer = Timeout.timeout(LONG) { @io.gets } or raise "the made-up server ended"
  end
end
