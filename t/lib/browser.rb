# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# A headless Chromium for tests, and the made-up server that it looks at
# (t/js/fake_server.mjs). Nothing here sleeps for a fixed time: what is
# expected is waited for, LONG seconds at most, and if it doesn't come the test
# fails and says what the page has instead.
require_relative "tap"

gems = File.join(MwrapTest::ROOT, ".build", "gems-#{RUBY_ENGINE}-#{RUBY_VERSION}-#{RUBY_PLATFORM}")
Gem.use_paths(gems, [*Gem.path, gems])
require "ferrum"

module BrowserTest
  LONG = 60
  FLAGS = %w[no-sandbox disable-gpu disable-quic no-first-run disable-background-networking disable-component-update
             disable-sync disable-dev-shm-usage].to_h { |flag| [flag, nil] }.freeze

  # node t/js/fake_server.mjs; time passes there when it is told to.
  class FakeServer
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
    def cut = @io.puts("cut")
    def die = (@io.puts("die"); answer)
    def back = (@io.puts("back"); answer)
    def asked = (@io.puts("asked"); JSON.parse(answer))
    def close = @io.close

    private

    def answer = Timeout.timeout(LONG) { @io.gets } or raise "the made-up server ended"
  end

  # One browser for all tests of a file: it starts slowly.
  def self.browser
    @browser ||= Ferrum::Browser.new(headless: true, browser_path: ENV["CHROMIUM"] || "/usr/bin/chromium", window_size: [1280, 800],
                                     timeout: LONG, process_timeout: LONG, browser_options: FLAGS)
  end

  Minitest.after_run { @browser&.quit }

  # Opens a page of its own, and gives what it complained about to @complaints.
  def open_page(url, width: 1280, height: 800, scheme: "light")
    @complaints = []
    @requests = []
    @context = BrowserTest.browser.contexts.create
    @page = @context.create_page
    listen
    @page.command("Emulation.setEmulatedMedia", features: [{ name: "prefers-color-scheme", value: scheme }])
    @page.command("Emulation.setDeviceMetricsOverride", width: width, height: height, deviceScaleFactor: 1, mobile: width < 600)
    @page.go_to(url)
  end

  def close_page
    @context&.dispose
    @context = nil
  end

  def listen
    @page.command("Log.enable")
    @page.on("Runtime.exceptionThrown") { |p| @complaints << p.dig("exceptionDetails", "exception", "description").to_s }
    @page.on("Runtime.consoleAPICalled") { |p| @complaints << p["args"].inspect if %w[error warning assert].include?(p["type"]) }
    @page.on("Log.entryAdded") { |p| @complaints << p["entry"].slice("level", "text", "url").inspect if %w[error warning].include?(p.dig("entry", "level")) }
    @page.on("Network.requestWillBeSent") { |p| @requests << p.dig("request", "url") }
  end

  def js(code, *args) = @page.evaluate(code, *args)

  # Waits until the expression is true (or what it gives is what the block wants).
  def wait_until(code, *args)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + LONG
    loop do
      value = js(code, *args)
      return value if block_given? ? yield(value) : value
      flunk "never: #{code} #{args.inspect}; it is #{value.inspect}\n#{js("document.body.innerText")[0, 1500]}\n#{@complaints.join("\n")}" if
        Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
      sleep 0.05
    end
  end

  def text(selector) = js("document.querySelector(arguments[0])?.textContent ?? null", selector)
  def texts(selector) = js("[...document.querySelectorAll(arguments[0])].map((n) => n.textContent)", selector)
  def click(selector) = (wait_until("!!document.querySelector(arguments[0])", selector); js("document.querySelector(arguments[0]).click()", selector))

  # As a person's keys: "a", :Enter
  def keys(*list) = @page.keyboard.type(*list)
end
