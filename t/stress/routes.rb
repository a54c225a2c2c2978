# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# routes.rb - requests for every route that src/api/routes.def has, for this process, for one by its PID and for all.
# FILLED gives a "*" its value; a route that isn't there is asked for with nothing in its place.
require "json"
require_relative "../lib/routes"

class Chaos
  class Routes
    SAMPLED = ENV["SAMPLED"] == "1"
    # pattern => methods
    ALL = MwrapTest::ROUTES.to_h { |r| [r.pattern, r.flags & %w[GET POST]] }.freeze
    # of other files
    MORE = { "/family" => %w[GET], "/family.json" => %w[GET] }.freeze
    FORMS = %w[tsv csv json].freeze
    FILLED = {
      "/each" => %w[each?group=kind each?q=chaos], "/diff" => %w[diff?from=start&to=now diff?from=m1&to=now], "/diff.*" => FORMS, "/marks.*" => FORMS, "/overruns.*" => FORMS, "/heap_pages.*" => FORMS,
      "/holders.*" => %w[json], "/at.*" => FORMS, "/*" => %w[app.js map.css nosuch], "/each/*" => %w[0 0.tsv 2000.csv 0.json?sort=growth 0?group=file 100?q=alpha],
      "/mark" => %w[mark?name=m1 mark?name=m2 mark], "/mark/clear" => %w[mark/clear?name=m1 mark/clear], "/annotate" => %w[annotate?text=here],
      "/ctl" => %w[ctl?stacks=auto ctl?stacks=65536 ctl?stacks=off], "/history.json" => %w[history.json?range=15m history.json?points=20],
      "/metrics" => %w[metrics metrics?top=100], "/flame.json" => %w[flame.json flame.json?range=15m], "/source" => %w[source?location=/x.rb:1]
    }.freeze

    def initialize(app, random)
      @app = app
      @random = random
      @pids = [app.pid]
      @next = []
    end

    # [kind, method, target]: see Clients#ask.
    def draw
      return @next.shift unless @next.empty?

      pattern, methods = pick({ **ALL, **MORE }.to_a)
      method = pick(methods)
      target = pick(["", "", "", "/#{pick(@pids)}", "/all"]) + fill(pattern)
      [kind(target), method, target]
    end

    # PIDs to ask for later, and what to ask of a map at once, before it is gone.
    def learn(target, answer)
      return unless answer.status == 200

      case target
      when %r{/family\.json\z} then @pids = [@app.pid, *answer.body.scan(/"pid":(\d+)/).flatten]
      when %r{\A/map\.json\z} then @next = map_pieces(answer.body[/"id":"([-\d]+)"/, 1])
      end
    end

    private

    def pick(from) = from.sample(random: @random)

    def kind(target)
      case target
      when %r{/(reset|clear)\z} then :reset
      when %r{/(pause|resume)\z} then @random.rand(10).zero? ? :pause : :none
      when %r{/live\z} then :live
      when %r{/(exact|sampled)\z} then SAMPLED ? :ask : :none
      else :ask
      end
    end

    def map_pieces(id)
      ["#{id}/0/0.bin", "#{id}/1/0.bin", "#{id}/at.bin?at=#{location}"].map { |piece| [:ask, "GET", "/map/#{piece}"] } +
        [[:ask, "GET", "/map/whatif?at=#{location}"]]
    end

    def fill(pattern)
      case pattern
      when "/at/*" then "/at/#{location}"
      when "/at", "/holders", "/map/whatif" then "#{pattern}?#{pattern == "/map/whatif" ? "at" : "location"}=#{location}"
      when "/map/page/*" then "/map/page/0x#{(@random.rand(1 << 35) << 12).to_s(16)}"
      when "/map/*" then "/map/0/0/0.bin"
      when "/trace/start" then "/trace/start?path=#{@app.dir}/%25p.#{@random.rand(1 << 30)}&max=4m&seconds=5"
      when "/pause", "/resume" then "/pause"
      else
        filled = pick(FILLED.fetch(pattern, [pattern.delete_prefix("/").delete_suffix("*")]))
        pattern.end_with?("*") ? pattern.delete_suffix("*") + filled.delete_prefix(pattern.delete_suffix("*").delete_prefix("/")) : "/#{filled}"
      end
    end

    def location = pick(["nosuch", *@app.locations]).b.gsub(/[^A-Za-z0-9\-._~]/n) { |c| format("%%%02X", c.ord) }
  end
end
