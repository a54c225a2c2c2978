# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# visit.rb - all pages and forms of one process of a cluster, and one of the changes that
# POST can make; which parameters the pages get is drawn from a seed. A process that ends meanwhile raises
# Http::Broken; an answer that isn't right is added to `wrong`.
require "json"
require_relative "http"
require_relative "rows"

class Visit
  FORMS = { "html" => "text/html", "tsv" => "text/tab-separated-values", "csv" => "text/csv", "json" => "application/json" }.freeze
  TEXTS = ["", "puma", "app.rb", "/gems/", "ruby"].freeze
  CHANGES = %w[reset trim pause clear].freeze
  BUSIEST = 3
  # nothing of this may ever be in stats.json
  NEVER = { "locations_full" => false, "records_full" => false, "threads_full" => false, "lost" => 0,
            "overruns" => 0, "double_frees" => 0, "unknown_frees" => 0 }.freeze
  # [method, target, headers, status]: what is refused
  REFUSED = [
    ["GET", "/nosuch", {}, 404], ["GET", "/at/nosuch.rb%3A1", {}, 404], ["GET", "/each/many", {}, 400],
    ["GET", "/each/0?sort=beauty", {}, 400], ["GET", "/each/0?limit=-1", {}, 400], ["GET", "/reset", {}, 405],
    ["POST", "/stats.json", {}, 405], ["POST", "/reset", { "Origin" => "http://elsewhere.example" }, 403]
  ].freeze

  attr_reader :pages, :wrong

  def initialize(path, pid, seed, change)
    @path = path
    @pid = pid
    @change = change
    @random = Random.new(seed)
    @pages = 0
    @wrong = []
  end

  def run
    post("/resume") if stats["paused"] # forked while its parent was paused
    page("/")
    FORMS.each_key { |form| each_in(form) }
    busiest.each { |location| at(location) }
    ["/overruns", "/overruns.tsv", "/overruns.csv", "/overruns.json"].each { |target| page(target) }
    REFUSED.sample(2, random: @random).each { |request| refused(*request) }
    change
    self
  end

  private

  def complain(target, what)
    @wrong << "#{@path.split("/").last} #{target}: #{what}"
    nil
  end

  def ask(method, target, headers = {})
    @pages += 1
    Http.ask(@path, method, target, headers)
  end

  # The body of a whole page of the form that the target names; nil if it is wrong.
  def page(target, form = target[/\A[^?]*\.(tsv|csv|json)\b/, 1] || "html")
    answer = ask("GET", target)
    type = answer.headers["content-type"].to_s
    answer.status == 200 or return complain(target, "#{answer.status} #{answer.body[0, 100].inspect}")
    type.start_with?(FORMS.fetch(form)) or return complain(target, "it is #{type}")
    answer.headers["cache-control"] == "no-store" or return complain(target, "may be stored")
    form != "html" || answer.body.match?(%r{\A<!DOCTYPE html>.*</html>\s*\z}mn) or return complain(target, "not a whole page")
    answer.body
  end

  def each_in(form)
    asked = { "sort" => draw(Rows::COLUMNS), "order" => draw([nil, "asc", "desc"]), "limit" => draw([1, 20, 1000]),
              "group" => draw(%w[line file gem]), "q" => draw(TEXTS), "min" => draw([0, 2000, 100_000]) }
    query = asked.except("min").compact.map { |name, value| "#{name}=#{value}" }.join("&")
    target = "/each/#{asked["min"]}#{".#{form}" unless form == "html"}?#{query}"
    body = page(target, form) or return
    form == "html" ? html(target, body, asked["limit"]) : Rows.check(Rows.parse(form, body), asked)
  rescue Rows::Wrong => e
    complain(target, e.message)
  end

  def html(target, body, limit)
    rows = body[%r{<tbody>(.*?)</tbody>}m, 1].to_s.scan("<tr>").size
    complain(target, "#{rows} rows") unless rows.between?(1, [limit, 1].max)
  end

  def draw(from) = from.sample(random: @random)

  # Those that allocate most, and one that holds most.
  def busiest
    { "allocations" => BUSIEST, "live_bytes" => 1 }.flat_map { |column, n|
      target = "/each/0.json?sort=#{column}&limit=#{n}"
      body = page(target)
      body ? Rows.parse("json", body).map { |row| row["location"] } : []
    }.uniq
  rescue Rows::Wrong => e
    complain("the busiest", e.message)
    []
  end

  def at(location)
    target = "/at/#{location.b.gsub(/[^A-Za-z0-9\-._~]/n) { |c| format("%%%02X", c.ord) }}"
    page(target, "html")
    form = draw(%w[tsv csv])
    body = page("/at?format=#{form}&location=#{target.delete_prefix("/at/")}", form)
    complain(target, "no header line in #{form}") if body && !body.start_with?("size#{form == "tsv" ? "\t" : ","}generation")
    body = page("#{target}.json", "json") or return
    one = JSON.parse(body)
    sums = %w[by_size by_age].map { |by| one[by].sum { |bucket| bucket["count"] } }
    complain("#{target}.json", "#{one["lives"].size} blocks, #{sums} by size and age") if sums.uniq != [one["lives"].size]
    complain("#{target}.json", "of #{one["location"]}") if one["location"] != location
  rescue JSON::ParserError => e
    complain(target, e.message[0, 100])
  end

  def refused(method, target, headers, status)
    answer = ask(method, target, headers)
    complain("#{method} #{target}", "#{answer.status} instead of #{status}") if answer.status != status
    complain("#{method} #{target}", "doesn't say why in one line") unless answer.body.match?(/\A[^\n]+\n\z/n)
  end

  def stats
    body = page("/stats.json") or return {}
    stats = JSON.parse(body)
    bad = stats.slice(*NEVER.keys).reject { |name, value| NEVER[name] == value }
    bad["pid"] = stats["pid"] if stats["pid"] != @pid
    complain("/stats.json", bad.to_s) unless bad.empty?
    stats
  rescue JSON::ParserError => e
    complain("/stats.json", e.message[0, 100])
    {}
  end

  # Every process is left tracking.
  def change
    case @change
    when "pause" then pause
    when "trim" then post("/trim")
    else reset("/#{@change}")
    end
  end

  def reset(target)
    before = stats["resets"]
    post(target)
    complain("POST #{target}", "no reset was counted") if stats["resets"] != before + 1
  end

  def pause
    post("/pause")
    complain("POST /pause", "isn't paused") unless stats["paused"] == true
  ensure
    post("/resume")
    complain("POST /resume", "is paused") unless stats["paused"] == false
  end

  def post(target)
    answer = ask("POST", target)
    complain("POST #{target}", answer.status.to_s) if answer.status != 200
  end
end
