# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# clients.rb - threads that ask for what routes.rb has, each drawn from a seed of its own.
require_relative "../soak/http"
require_relative "routes"

class Chaos
  class Clients
    PATIENCE = 20 # seconds until a request counts as timed out
    LISTENING = 0.5 # seconds of /live

    def initialize(app, tally, seeds)
      @app = app
      @tally = tally
      @lock = Mutex.new
      @quiet = ConditionVariable.new
      @pausing = Mutex.new
      @wild = false
      @disturbing = 0
      @certain = true
      @threads = seeds.map { |seed| Thread.new { client(Random.new(seed)) } }
    end

    # From now on nobody resets or pauses, and nobody is at it.
    def calm
      @lock.synchronize do
        @wild = false
        @quiet.wait(@lock) while @disturbing.positive?
      end
    end

    def wild = @lock.synchronize { @wild = true }

    # False: a reset timed out, and may have come later, or may still.
    def certain? = @certain

    def stop
      @over = true
      @threads.each(&:join)
    end

    private

    def client(random)
      routes = Routes.new(@app, random)
      ask(random, *routes.draw, routes) until @over || @app.ended?
    rescue App::Gone
      nil
    end

    def ask(random, kind, method, target, routes)
      case kind
      when :ask then request(random, method, target).then { |answer| routes.learn(target, answer) if answer }
      when :live then listen(target)
      when :reset then disturb { request(random, method, target).nil? && @certain = false }
      when :pause then disturb { @pausing.try_lock && pause(random, target) }
      end
    end

    def disturb
      @lock.synchronize { @wild ? @disturbing += 1 : return }
      begin
        yield
      ensure
        @lock.synchronize { (@disturbing -= 1).zero? && @quiet.broadcast }
      end
    end

    # Has @pausing.
    def pause(random, target)
      @app.maybe
      request(random, "POST", target)
      sleep random.rand(0.05)
      request(random, "POST", target.sub("pause", "resume"))
      # a pause that came late, too
      @app.ask("POST", "/resume") while @app.stats["paused"]
      @app.sure
    ensure
      @pausing.unlock
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # nil: no whole answer.
    def request(random, method, target)
      from = now
      answer = Timeout.timeout(PATIENCE) { Http.ask(random.rand(4).zero? ? @app.port : @app.socket, method, target) }
      @tally.answer(method, target, answer.status, now - from)
      answer
    rescue Timeout::Error
      @tally.timeout(method, target)
    rescue Http::Broken => e
      @tally.broken(method, target, "#{e.message} #{@app.owner}") unless @app.ended?
    end

    def listen(target)
      from = now
      io = Http.connect(@app.socket)
      io.write("GET #{target} HTTP/1.1\r\nHost: localhost\r\n\r\n")
      io.wait_readable(PATIENCE) or return @tally.timeout("GET", target)
      first = io.readpartial(65_536)
      @tally.answer("GET", target, first[%r{\AHTTP/1.1 (\d+)}, 1].to_i, now - from)
      io.read_nonblock(65_536, exception: false) while io.wait_readable(LISTENING) && now - from < 2 * LISTENING
    rescue SystemCallError, IOError => e
      @tally.broken("GET", target, e.message) unless @app.ended?
    ensure
      io&.close
    end
  end
end
