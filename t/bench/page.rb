# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# page.rb - `make bench-page` runs this: how fast the page at / is in Chromium.
#
#   LOCATIONS=50000   rows of the large table
#   LOADS=7           times that each page is opened
#   ONLY=load,keys    these parts alone: load keys ticks scroll memory
#
# load: from a real process under bin/mwrap, which has as many locations, and one
# that has few; each time in a profile of its own, so that nothing is cached. The
# others: a made-up server (t/js/fake_server.mjs), whose every run has the same rows.
#
# A keystroke lasts from the input event's own time to the end of the main thread's
# work on the next frame (page.js); "on the screen" is what the browser says of the
# same (Event Timing; in steps of 8 ms, of those with 16 ms or more).
require "etc"
require "json"
require "net/http"
require "socket"
require "tmpdir"
require_relative "../lib/chromium"

module PageBench
  TOP = File.expand_path("../..", __dir__)
  WATCH = File.read(File.join(__dir__, "page.js"))
  LONG = 120

  module_function

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def wait(what)
    deadline = now + LONG
    until (value = yield)
      raise "never: #{what}" if now > deadline

      sleep 0.02
    end
    value
  end

  # The value that the given share of all is not above
  def at(values, share)
    sorted = values.sort
    sorted[[(sorted.size * share).ceil - 1, 0].max]
  end

  # A line of the table; most: what is aimed at, or nil
  def show(title, text, most = nil, good = nil)
    puts format("%-44s  %34s  %9s  %5s", title, text, most, good.nil? ? "" : good ? "ok" : "over").rstrip
    $stdout.flush
  end

  # Median, 95th percentile and worst, in milliseconds
  def show_times(title, values, most = nil)
    p95 = at(values, 0.95)
    show(title, format("%.1f / %.1f / %.1f ms", at(values, 0.5), p95, values.max), most && "< #{most} ms", most && p95 < most)
  end

  # A page in a context of its own
  class Tab
    def initialize(browser, wanted)
      @context = browser.contexts.create
      @page = @context.create_page
      @page.command("Emulation.setDeviceMetricsOverride", width: 1280, height: 800, deviceScaleFactor: 1, mobile: false)
      @page.command("Page.addScriptToEvaluateOnNewDocument", source: "#{WATCH}\nbench.wanted = #{wanted};")
      @files = {}
      @page.on("Network.requestWillBeSent") { |p| @files[p["requestId"]] = [p.dig("request", "url")] unless p.dig("request", "url").start_with?("data:") }
      @page.on("Network.loadingFinished") { |p| @files[p["requestId"]]&.push(p["encodedDataLength"]) }
      @page.command("Performance.enable", timeDomain: "threadTicks") # CPU time, whatever else runs here
    end

    def go(url) = @page.go_to(url)

    def open(url)
      go(url)
      PageBench.wait("all rows") { js("bench.allRows") }
      self
    end

    # [path, bytes] of what it loaded, each to its end
    def files = @files.values.select { |_, size| size }.map { |url, size| [URI(url).path, size] }

    def close = @context.dispose
    def js(code, *args) = @page.evaluate(code, *args)
    def promise(code, *args) = @page.evaluate_async("(#{code}).then(arguments[arguments.length - 1])", LONG, *args)
    def key(name) = @page.keyboard.type(name)
    def command(...) = @page.command(...)

    # Seconds of the main thread's CPU so far: {"TaskDuration" => …, "ScriptDuration" => …}
    def metrics = command("Performance.getMetrics")["metrics"].to_h { |m| m.values_at("name", "value") }
  end

  # node t/js/fake_server.mjs
  class MadeUp
    def initialize(locations)
      @io = IO.popen(["node", File.join(TOP, "t/js/fake_server.mjs"), "--hand", "--locations=#{locations}"], "r+")
      @port = Integer(@io.gets[/\d+/])
    end

    def url = "http://127.0.0.1:#{@port}/"
    def tick = @io.puts("tick 1")
    def close = @io.close
  end

  # A Ruby process with so many locations, under bin/mwrap
  class Real
    CODE = <<~'RUBY'
      keep = []
      ARGV[0].to_i.times { |i| keep << eval("'x' * 2000", nil, "/srv/app/app/models/part_#{i / 100}/file#{i / 10}.rb", i % 100 + 1) }
      $stdout.sync = true
      puts "ready"
      $stdin.read
    RUBY

    attr_reader :port

    def initialize(locations)
      @port = TCPServer.open("127.0.0.1", 0) { |s| s.addr[1] }
      @io = IO.popen([{ "MWRAP" => "listen:127.0.0.1:#{@port}" }, File.join(TOP, "bin/mwrap"), RbConfig.ruby,
                      "--disable=gems", "-e", CODE, locations.to_s], "r+")
      @io.gets == "ready\n" or raise "the app didn't start"
      PageBench.wait("a server") { get("/stats.json") rescue nil }
    end

    def url = "http://127.0.0.1:#{@port}/"
    def get(path) = Net::HTTP.get(URI("http://127.0.0.1:#{@port}#{path}"))
    def close = @io.close
  end

  class Load
    FIRST_PAINT = 200 # ms
    BYTES = 150_000

    def initialize(browser, locations, loads)
      @browser = browser
      @locations = locations
      @loads = loads
    end

    def run
      floor
      [@locations, 300].each { |n| measure(n) }
    end

    private

    # The browser's own time here, now
    def floor
      page = "<!DOCTYPE html><title>x</title><p>one word"
      server = TCPServer.new("127.0.0.1", 0)
      thread = Thread.new { loop { answer(server.accept, page) } }
      took = Array.new(@loads) { paint("http://127.0.0.1:#{server.addr[1]}/") }
      PageBench.show_times("first paint of a page of one word", took)
    ensure
      thread&.kill
      server&.close
    end

    def answer(io, page)
      nil until ["\r\n", nil].include?(io.gets)
      io.write("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: #{page.size}\r\n\r\n#{page}")
    ensure
      io.close
    end

    def paint(url)
      tab = Tab.new(@browser, 1)
      sleep 1
      tab.go(url)
      PageBench.wait("paint") { tab.js("performance.getEntriesByName('first-paint')[0]?.startTime ?? null") }
    ensure
      tab&.close
    end

    def measure(locations)
      app = Real.new(locations)
      puts format("opening / of a process with %d locations", JSON.parse(app.get("/stats.json")).fetch("locations"))
      html(app)
      loads = Array.new(@loads) { load(app, locations) }
      %w[responseStart responseEnd].each { |k| PageBench.show_times("    #{k == "responseStart" ? "its first byte" : "its last byte"}", loads.map { |l| l[k] }) }
      PageBench.show_times("    first paint", loads.map { |l| l["first-paint"] }, FIRST_PAINT)
      PageBench.show_times("    first contentful paint", loads.map { |l| l["first-contentful-paint"] }, FIRST_PAINT)
      PageBench.show_times("    first row of the live table", loads.map { |l| l["first"] })
      PageBench.show_times("    all rows known", loads.map { |l| l["all"] })
      bytes(loads.last["files"])
    ensure
      app&.close
    end

    def html(app)
      took = Array.new(20) { from = PageBench.now; @html = app.get("/"); (PageBench.now - from) * 1e3 }
      PageBench.show_times("    GET / without a browser", took)
      PageBench.show("    rows in its table", @html.scan("<tr>").size.to_s)
    end

    def load(app, locations)
      tab = Tab.new(@browser, locations)
      sleep 1 # the last one's end, and this one's beginning, are the browser's own work
      tab.open(app.url)
      tab.js(<<~JS)
        (() => {
          const [navigation] = performance.getEntriesByType("navigation");
          return { responseStart: navigation.responseStart, responseEnd: navigation.responseEnd, first: bench.firstRow, all: bench.allRows,
            ...Object.fromEntries(performance.getEntriesByType("paint").map((e) => [e.name, e.startTime])) };
        })()
      JS
        .merge("files" => tab.files)
    ensure
      tab&.close
    end

    # As they travel: with headers, compressed where the server does that. The stream is
    # no part of the page: it has what there is to be shown.
    def bytes(files)
      files.each { |path, size| PageBench.show("    #{path}", format("%.1f kB", size / 1e3)) }
      sum = files.sum(&:last)
      PageBench.show("    all that it loads", format("%.1f kB", sum / 1e3), "< #{BYTES / 1000} kB", sum < BYTES)
    end
  end

  class Large
    REPAINT = 50 # ms
    TYPED = ["activerecord", "part_77", "models cache", "gem:rack puma", "-gem lib"].freeze
    PAUSE = 0.08..0.2 # seconds between two keys

    def initialize(browser, locations, parts)
      @parts = parts
      @server = MadeUp.new(locations)
      @tab = Tab.new(browser, locations - 1).open(@server.url)
      @random = Random.new(1)
    end

    def run
      sleep 1 # what the page does when it has time
      keys("nothing else happens") if @parts.include?("keys")
      ticks if @parts.include?("ticks")
      while_it_ticks { keys("a tick every second") } if @parts.include?("keys")
      scroll if @parts.include?("scroll")
      memory if @parts.include?("memory")
    end

    def close
      @tab.close
      @server.close
    end

    private

    def while_it_ticks
      going = true
      ticker = Thread.new do
        while going
          @server.tick
          sleep 1
        end
      end
      yield
    ensure
      going = false
      ticker.join
    end

    # Types each of the words and takes them away again, by Backspace.
    def keys(when_)
      @tab.js("(() => { bench.keys = []; bench.events = []; document.querySelector('input[type=search]').focus(); })()")
      typed = 0
      cpu = []
      TYPED.each do |text|
        [*text.chars, *([:Backspace] * text.size)].each do |key|
          before = @tab.metrics
          @tab.key(key)
          typed += 1
          PageBench.wait("a frame") { @tab.js("bench.keys.length") >= typed }
          after = @tab.metrics
          cpu << %w[ScriptDuration TaskDuration].map { |name| (after[name] - before[name]) * 1e3 }
          sleep @random.rand(PAUSE)
        end
      end
      report(when_, typed, cpu)
    end

    def report(when_, typed, cpu)
      took, seen = @tab.js("[bench.keys, bench.events]")
      puts "typing, #{when_}: #{typed} keystrokes"
      PageBench.show_times("    to the frame's end", took, REPAINT)
      PageBench.show_times("    on the screen", seen + ([16] * [typed - seen.size, 0].max), REPAINT)
      PageBench.show_times("    CPU of the main thread", cpu.map(&:last))
      PageBench.show_times("    of that, JavaScript", cpu.map(&:first))
    end

    # All that a second costs while nobody does anything
    def ticks
      cpu = Array.new(15) do
        before = @tab.metrics
        @server.tick
        sleep 0.7
        after = @tab.metrics
        %w[ScriptDuration TaskDuration].map { |name| (after[name] - before[name]) * 1e3 }
      end
      puts "a tick, in which some 1,500 rows change"
      PageBench.show_times("    CPU of the main thread", cpu.map(&:last))
      PageBench.show_times("    of that, JavaScript", cpu.map(&:first))
    end

    def scroll
      puts "scrolling"
      frames("    through all rows in 10 s", @tab.promise("bench.scroll(10)"))
      @tab.js("document.querySelector('.grid').scrollTop = 0")
      @tab.js("bench.watchFrames()")
      @tab.command("Input.synthesizeScrollGesture", x: 600, y: 600, yDistance: -60_000, speed: 12_000, gestureSourceType: "mouse")
      frames("    by the wheel, 12,000 pixels a second", @tab.js("(bench.enough = true, bench.frames)"))
    end

    def frames(title, times)
      PageBench.show_times(title, times)
      slow = times.count { |t| t > 50 }
      PageBench.show("    frames over 50 ms", "#{slow} of #{times.size}", "none", slow.zero?)
    end

    def memory
      @tab.command("HeapProfiler.collectGarbage")
      used = @tab.command("Runtime.getHeapUsage")
      puts "memory"
      PageBench.show("    JavaScript's heap", format("%.1f MB", used["usedSize"] / 1e6))
      PageBench.show("    and its arrays of numbers", format("%.1f MB", used["backingStorageSize"] / 1e6)) if used["backingStorageSize"]
    end
  end

  PARTS = %w[load keys ticks scroll memory].freeze

  def run(env)
    locations = Integer(env["LOCATIONS"] || 50_000)
    parts = (env["ONLY"] || PARTS.join(",")).split(",")
    unknown = parts - PARTS
    abort "bench: no such part: #{unknown.join(", ")}" unless unknown.empty?
    browser = Chromium.start(LONG)
    head(browser)
    Load.new(browser, locations, Integer(env["LOADS"] || 7)).run if parts.include?("load")
    return if (parts - %w[load]).empty?

    puts "a made-up process with #{locations} locations"
    large = Large.new(browser, locations, parts)
    large.run
  ensure
    large&.close
    browser&.quit
  end

  def head(browser)
    cpu = File.read("/proc/cpuinfo")[/^model name\s*:\s*(.+)/, 1]
    puts browser.version.product, "#{Etc.nprocessors} × #{cpu}; load average #{File.read("/proc/loadavg").split.first(3).join(" ")}",
         "median / 95th percentile / worst", ""
  end
end

PageBench.run(ENV) if $PROGRAM_NAME == __FILE__
