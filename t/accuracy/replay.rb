# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# replay.rb [NAME...]: what a replay says, beside what the same work really takes. Not a test: it prints a table.
#
#	make && ruby t/accuracy/replay.rb bloat jobs puma
#
# Each workload is recorded once on glibc as it is. That recording is played under each setting, with the tracker's
# own bytes, as the real runs have them. Then the work really runs under each setting. The columns: peak
# and mean of the memory of malloc in MB, as said, as measured in the real run, and the error. The first row
# of a workload is the recording itself: its replay beside its own curve.
require "json"
require "net/http"
require "rbconfig"
require "tmpdir"
require_relative "../lib/allocators"

TOP = File.expand_path("../..", __dir__)
REPLAY = "#{TOP}/lib/mwrap/mwrap-replay"
SEED = "SEED = Integer(ENV.fetch('SEED', '1'))\n"

WORK = {
  # threads that keep one block in some hundred
  "bloat" => SEED + <<~'RUBY',
    kept = Array.new(16) { [] }
    Array.new(16) do |t|
      Thread.new do
        random = Random.new(SEED * 100 + t)
        150.times do
          all = Array.new(1000 + random.rand(2000)) { "x" * (64 + random.rand(3000)) }
          kept[t].concat(all.each_slice(300).map(&:first))
          kept[t].shift(kept[t].size / 2) if kept[t].size > 400
          sleep 0.03
        end
      end
    end.each(&:join)
  RUBY
  # a pool of 10 threads takes jobs from a queue: JSON, templates, compression, as a Sidekiq's would
  "jobs" => SEED + <<~'RUBY',
    require "json"
    require "erb"
    require "zlib"
    jobs = Queue.new
    page = ERB.new("<% rows.each do |r| %><li><%= r['name'] %> <%= r['n'] * 2 %></li>\n<% end %>")
    cache = {}
    lock = Mutex.new
    pool = Array.new(10) do |t|
      Thread.new do
        random = Random.new(SEED * 1000 + t)
        while (n = jobs.pop)
          rows = JSON.parse(JSON.generate(Array.new(200 + random.rand(3000)) { |i| { "name" => "row #{i} " * (1 + random.rand(5)), "n" => i, "tags" => %w[a b c] } }))
          html = page.result_with_hash(rows: rows)
          packed = Zlib.gzip(html)
          lock.synchronize { cache[n % 500] = packed }
          sleep random.rand * 0.02
        end
      end
    end
    600.times { |i| jobs << i; sleep 0.01 if i % 10 == 0 }
    10.times { jobs << nil }
    pool.each(&:join)
  RUBY
  # a small app on Puma, asked by four clients
  "puma" => SEED + <<~'RUBY'
    require "puma"
    require "puma/configuration"
    require "puma/launcher"
    require "json"
    require "net/http"
    require "socket"
    port = TCPServer.open("127.0.0.1", 0) { |s| s.addr[1] }
    seen = {}
    app = lambda do |env|
      n = env["QUERY_STRING"].to_i
      rows = Array.new(100 + n % 900) { |i| { id: i, name: "n" * (10 + (i * 7 + n) % 200) } }
      seen[n % 300] = JSON.generate(rows.first(20))
      [200, { "content-type" => "application/json" }, [JSON.generate(rows)]]
    end
    config = Puma::Configuration.new { |c| c.bind "tcp://127.0.0.1:#{port}"; c.threads 5, 5; c.app(app); c.quiet; c.log_requests false }
    launcher = Puma::Launcher.new(config, log_writer: Puma::LogWriter.null)
    clients = Thread.new do
      sleep 0.1 until (TCPSocket.open("127.0.0.1", port).close || true rescue false)
      Array.new(4) do |t|
        Thread.new do
          random = Random.new(SEED * 10 + t)
          Net::HTTP.start("127.0.0.1", port) { |h| 1500.times { h.get("/?#{random.rand(100_000)}").body.size } }
        end
      end.each(&:join)
      launcher.stop
    end
    launcher.run
    clients.join
  RUBY
}.freeze

SETTINGS = {
  "glibc" => {}, "glibc MALLOC_ARENA_MAX=2" => { "MALLOC_ARENA_MAX" => "2" },
  "jemalloc" => { library: "jemalloc" }, "mimalloc" => { library: "mimalloc" }, "tcmalloc" => { library: "tcmalloc" }
}.freeze

def library(setting)
  name = SETTINGS.fetch(setting)[:library] or return
  Allocators.each { |n, path, package| return path || abort("#{n}: not installed: install #{package}") if n == name }
end

def variables(setting) = SETTINGS.fetch(setting).reject { |k, _| k == :library }

def record(dir, work, setting)
  script = File.join(dir, "#{work}.rb")
  File.write(script, WORK.fetch(work))
  trace = File.join(dir, "#{work}-#{setting.tr(" =", "--")}-#{Dir.children(dir).size}.mwtrace")
  env = variables(setting).merge("LD_PRELOAD" => ["#{TOP}/lib/libmwrap.so", library(setting)].compact.join(":"),
                                 "MWRAP" => "trace_path:#{trace},trace_clock:#{ENV.fetch("CLOCK", "coarse")}", "RUBYLIB" => nil, "RUBYOPT" => nil)
  system(env, RbConfig.ruby, script, out: File::NULL) or abort "#{work} on #{setting}: #{$?}"
  trace
end

def pack(trace)
  packed = "#{trace}.packed"
  system(REPLAY, "pack", trace, "-o", packed) or abort "pack: #{$?}"
  packed
end

# Peak, and mean over time, of [seconds, bytes].
def figures(curve)
  spans = curve.each_cons(2).map { |(a, x), (b, y)| [b - a, (x + y) / 2.0] }
  time = spans.sum(&:first)
  [curve.map(&:last).max, time.zero? ? curve[0][1] : spans.sum { |s, v| s * v } / time]
end

# The recorded curve, and what is played.
def play(packed, setting)
  env = variables(setting).merge("LD_PRELOAD" => library(setting), "MALLOC_ARENA_TEST" => nil)
  lines = IO.popen([env, REPLAY, "play", "--as-recorded", *ENV["PACE"]&.then { "--pace" }, packed], &:readlines).map { |l| JSON.parse(l) }
  recorded = lines.filter_map { |l| l["recorded"] }.map { |s| [s["at"], s["heap"]] }
  played = lines.filter_map { |l| [l["at"], l["rss"]] if l["at"] }
  [figures(recorded), figures(played)]
end

def row(setting, said, real)
  errors = said.zip(real).map { |s, r| format("%+.1f %%", (s / r.to_f - 1) * 100) }
  values = said.zip(real).flat_map { |s, r| [s, r] }.map { |b| format("%.1f", b / 1e6) }
  puts format("| %-28s | %7s | %7s | %8s | %7s | %7s | %8s |", setting, values[0], values[1], errors[0], values[2], values[3], errors[1])
end

Dir.mktmpdir do |dir|
  (ARGV.empty? ? WORK.keys : ARGV).each do |work|
    trace = record(dir, work, "glibc")
    packed = pack(trace)
    info = JSON.parse(IO.popen([REPLAY, "info", packed], &:read))
    puts "", "#{work}: #{info["events"]} events in #{info["seconds"].round(1)} s; #{(File.size(trace) / info["events"].to_f).round(2)} bytes an event, " \
             "#{(File.size(packed) / info["events"].to_f).round(2)} packed"
    puts "| setting                      | peak    | real    | error    | mean    | real    | error    |"
    recorded, played = play(packed, "glibc")
    row("the recording itself", played, recorded)
    SETTINGS.each_key do |setting|
      _, said = play(packed, setting)
      real, = play(pack(record(dir, work, setting)), setting)
      row(setting, said, real)
    end
  end
end
