# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# real.rb N MINUTES [PART]: N Ruby programs by chance under the tracker, all at once, for so many minutes. Asks each
# for its verdict every ten seconds, judges the sentences, and prints them with the seed (SEED=7) that brings them back.
# LIFE=3: that one alone. `make lives-real N=30` calls it.
require "json"
require "socket"
require "tmpdir"
require_relative "../lib/fiddle_path"
require_relative "real/life"
require_relative "real/judge"

module RealLives
  ROOT = File.expand_path("../..", __dir__)
  TRACKER = "#{ROOT}/lib/libmwrap.so"
  ASKED_EVERY = 10

  # A life that runs
  class Process
    attr_reader :life, :moments

    def initialize(life, dir)
      @life = life
      @dir = dir
      @moments = []
      @rss = []
      life.write(dir)
      env = { "RUBYOPT" => nil, "RUBYLIB" => FIDDLE_PATH, "MWRAP" => "socket:#{dir}/s" }.merge(life.environment(TRACKER))
      @stdin, @end = IO.pipe
      @pid = spawn(env, RbConfig.ruby, "--disable=gems", "-rio/wait", "#{dir}/app.rb", in: @stdin, out: "#{dir}/out", err: "#{dir}/err", pgroup: true)
      @stdin.close
    end

    def pid = life.child ? Integer(File.read("#{@dir}/child")) : @pid
    def socket = life.child ? "#{@dir}/s.#{pid}" : "#{@dir}/s"
    def clock = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)

    def note_rss
      @rss << File.read("/proc/#{pid}/statm").split[1].to_i * 4096
    rescue SystemCallError, ArgumentError
      nil # it isn't there yet
    end

    def ask
      answer = UNIXSocket.open(socket) do |s|
        s.write("GET /verdict.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        s.read
      end
      @moments << Moment.new(at: clock, verdict: JSON.parse(answer.split("\r\n\r\n", 2)[1]), rss: @rss.last(ASKED_EVERY).min || 0)
    rescue SystemCallError, ArgumentError => e
      @missing = e
    end

    def finish
      @end.close
      ::Process.kill(:KILL, -@pid)
      ::Process.wait(@pid)
    rescue SystemCallError
      nil
    end

    def ledger = @ledger ||= File.readlines("#{@dir}/ledger").map { |l| l.split.then { |at, *kept| [at.to_f, *kept.map(&:to_i)] } }
    # What went wrong with the program itself, or with asking; "": nothing
    def trouble = @trouble ||= [File.read("#{@dir}/err"), @moments.empty? ? @missing&.message || "it wasn't asked" : nil].compact.join.strip
    def judge = Judge.new(life, ledger, moments).call
  end

  # Sentences that say the same, once with the time from which on and how often; and when a proof came
  def self.show(process)
    proofs = process.moments.each_cons(2).select { |a, b| b.verdict["proofs"]["made"] > a.verdict["proofs"]["made"] }
    puts "  proofs before #{proofs.map { |_, m| "#{m.uptime.to_i} s" }.join(", ")}" unless proofs.empty?
    process.moments.chunk_while { |a, b| [a.kind, a.location, a.outcome] == [b.kind, b.location, b.outcome] }.each do |same|
      m = same.last
      puts format("  %4d s ×%-3d %-14s %s%s", same[0].uptime, same.size, m.outcome, m.sentence, m.why ? " [#{m.why}]" : "")
    end
  end

  # Is the owner of the line named? nil: no line with an owner is told of
  def self.owner_named(process)
    m = process.moments.last
    return unless m.outcome == "right" && m.kind == "grows" && m.location

    owner = process.life.members.find { |x| x.of_it?(m.location) }&.owner
    m.sentence.include?(owner) if owner
  end

  def self.sums(processes)
    all = processes.flat_map(&:moments)
    puts "# #{processes.size} lives, #{all.size} sentences: #{all.map(&:outcome).tally.sort_by { |_, n| -n }.map { |o, n| "#{n} #{o}" }.join(", ")}"
    last = processes.filter_map { |p| p.moments.last&.outcome }.tally
    puts "# the last sentences: #{last.sort_by { |_, n| -n }.map { |o, n| "#{n} #{o}" }.join(", ")}"
    owners = processes.map { |p| owner_named(p) }.compact
    puts "# the owner of a line that grows is named in #{owners.count(true)} of #{owners.size}"
  end

  # Runs them all at once, each in a folder of its own in dir; asks and judges. They have ended when it returns.
  def self.watch(lives, minutes, dir)
    processes = lives.map { |life| Process.new(life, Dir.mkdir("#{dir}/#{life.number}") && "#{dir}/#{life.number}").tap { sleep 0.3 } }
    start = ::Process.clock_gettime(::Process::CLOCK_MONOTONIC)
    (1..(minutes * 60).to_i).each do |second|
      sleep [start + second - ::Process.clock_gettime(::Process::CLOCK_MONOTONIC), 0].max
      processes.each(&:note_rss)
      # in turn, not all in one second
      processes.each_with_index { |p, i| p.ask if ((second + i) % ASKED_EVERY).zero? }
    end
    processes.each { |p| p.judge if p.trouble.empty? }
  ensure
    processes&.each(&:finish)
  end

  def self.report(process)
    puts process.life
    return show(process) if process.trouble.empty?

    puts "  #{process.trouble.lines.first(3).join("  ")}"
  end
end

if $PROGRAM_NAME == __FILE__
  seed = Integer(ENV.fetch("SEED", Time.now.strftime("%Y%m%d")))
  n, minutes, part = Integer(ARGV.fetch(0, "30")), Float(ARGV.fetch(1, "9")), ARGV[2]
  numbers = ENV["LIFE"] ? [Integer(ENV["LIFE"])] : (1..n)
  puts "# SEED=#{seed}"
  $stdout.sync = true
  Dir.mktmpdir("mwrap-lives") do |dir|
    processes = RealLives.watch(numbers.map { |k| RealLives::Life.new(seed, k, only: part) }, minutes, dir)
    processes.each { |p| RealLives.report(p) }
    RealLives.sums(processes.select { |p| p.trouble.empty? })
  end
end
