# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.rb [APP...]: how far sampled stacks are from the truth. Not a test: it prints a table.
#
#   TRUTH=LIBRARY ruby t/accuracy/run.rb script.rb sinatra.rb
#
# Each app runs with every allocation sampled, which is the truth, and RUNS times with each rate.
# TRUTH is a libmwrap.so with room for all samples, without it the first line of each app says how many
# were dropped and folded. Build it with larger MW_STACKS_MAX, MW_STACK_FRAMES_MAX, MW_STACK_NODES_MAX,
# MW_STACK_TEXTS_MAX and MW_SAMPLES_MAX in src/tracker/stacks/stacks.h, and with more heads in stacks.c.
#
# An error is that of a frame's inclusive bytes, relative to the truth; of frames with 2 to 90 % of all
# bytes. WORST=1 shows the worst frames of a run. GEM_HOME must have sinatra and puma.
require "json"
require "open3"
require "rbconfig"
require "socket"
require "tmpdir"

HERE = __dir__
TRACKER = ENV.fetch("TRACKER") { File.expand_path("../../lib/libmwrap.so", HERE) }
RUNS = Integer(ENV.fetch("RUNS", "5"))
RATES = ENV.fetch("RATES", "512k 64k").split
VIEWS = %w[live total].product([nil, "raw=1"])

def get(path, target)
  UNIXSocket.open(path) do |s|
    s.write("GET #{target} HTTP/1.1\r\nHost: 0\r\nConnection: close\r\n\r\n")
    head, body = s.read.b.split("\r\n\r\n", 2)
    raise head unless head.start_with?("HTTP/1.1 200")

    head =~ /chunked/i ? unchunk(body) : body
  end
end

def unchunk(body)
  text = +"".b
  until (n = body[/\A\h+/].hex).zero?
    body = body.split("\r\n", 2)[1]
    text << body[0, n]
    body = body[n + 2..]
  end
  text
end

# { frames => bytes }
def stacks(text)
  text.each_line.to_h do |line|
    at = line.rindex(" ")
    [line[0...at].split(";").reject(&:empty?), line[at..].to_i]
  end
end

# Inclusive bytes by function: a frame counts once in a stack.
def inclusive(stacks)
  stacks.each_with_object(Hash.new(0)) { |(frames, bytes), sums| frames.uniq.each { |f| sums[f] += bytes } }
end

# One run's figures: { [by, raw] => { frames => bytes } }, and those of /stats.json.
def observe(app, tracker, rate)
  Dir.mktmpdir do |dir|
    path = File.join(dir, "s")
    env = { "LD_PRELOAD" => tracker, "MWRAP" => "socket:#{path},stacks:#{rate}", "RUBYLIB" => nil }
    Open3.popen2(env, RbConfig.ruby, File.join(HERE, app)) do |input, output, _|
      line = output.gets.to_s
      raise "#{app}: it ended before it was ready" unless line.start_with?("ready")

      found = VIEWS.to_h { |by, raw| [[by, raw], stacks(get(path, "/stacks.collapsed?#{["by=#{by}", raw].compact.join("&")}"))] }
      stats = JSON.parse(get(path, "/stats.json"))
      input.close
      [found, stats, line.split[1].to_i]
    end
  end
end

# Ruby's own functions: which of them belong to the interpreter is learned, by each run for itself.
INSIDE = /\A(rb|ruby)_|\(\+0x/

# The frames that are compared, with their bytes.
def large(truth)
  all = truth.sum { |_, bytes| bytes }
  inclusive(truth).select { |f, bytes| !INSIDE.match?(f) && bytes.between?(all * 0.02, all * 0.9) }
end

def errors(truth, found)
  is = inclusive(found)
  large(truth).map { |f, bytes| (is[f] - bytes).fdiv(bytes) }
end

# Share of the bytes that stand at a location without any caller.
def alone(stacks)
  stacks.sum { |frames, bytes| frames.size == 1 ? bytes : 0 }.fdiv(stacks.sum { |_, bytes| bytes })
end

# Frames whose error is the largest: a help to understand one.
def worst(truth, found)
  is = inclusive(found)
  large(truth).max_by(3) { |f, bytes| (is[f] - bytes).abs.fdiv(bytes) }.map { |f, bytes| "#{f}: #{is[f]} for #{bytes}" }
end

def mean(v) = v.sum.fdiv(v.size)

(ARGV.empty? ? %w[script.rb sinatra.rb] : ARGV).each do |app|
  truth, stats, = observe(app, ENV.fetch("TRUTH", TRACKER), 1)
  puts "#{app}: truth: #{stats["stacks_samples"]} samples, #{stats["stacks"]} stacks, " \
       "#{stats["stacks_dropped"]} dropped, #{stats["stacks_folded"]} folded"
  puts "| app | rate | by | frames | calibrated: mean | bias | worst | raw: mean | bias | worst | without a caller |"
  RATES.each do |rate|
    runs = Array.new(RUNS) { observe(app, TRACKER, rate) }
    %w[live total].each do |by|
      cells = [nil, "raw=1"].flat_map do |raw|
        all = runs.map { |found,| errors(truth[[by, nil]], found[[by, raw]]) }
        [mean(all.map { |e| mean(e.map(&:abs)) }), mean(all.map { |e| mean(e) }), mean(all.map { |e| e.map(&:abs).max })]
      end
      puts worst(truth[[by, nil]], runs[0][0][[by, nil]]) if ENV["WORST"]
      n = errors(truth[[by, nil]], truth[[by, nil]]).size
      lost = mean(runs.map { |found,| alone(found[[by, nil]]) })
      puts "| #{app} | #{rate} | #{by} | #{n} | #{cells.map { |c| format("%.2f", c) }.join(" | ")} | #{format("%.1f %%", 100 * lost)} |"
    end
    used = runs.map { |_, s, cpu| [s["stacks_samples"], s["stacks_first"], s["stacks_ns"] / 1000, s["stacks_dropped"], cpu / 1_000_000, s["stacks_rate"]] }
    puts "  samples, first stacks, µs, dropped, ms of CPU, rate: #{used.inspect}"
    $stdout.flush
  end
end
