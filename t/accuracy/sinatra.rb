# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# sinatra.rb - a server for run.rb: a Sinatra app under Puma with one thread. It sends itself the
# same requests in every run, says "ready", and ends with its input.
require "json"
require "net/http"
require "puma"
require "sinatra/base"

class Shop < Sinatra::Base
  set :environment, :production
  set :logging, false
  set :show_exceptions, false
  set :raise_errors, true
  ITEMS = Array.new(400) { |i| { "id" => i, "name" => "item #{i}", "tags" => ["t#{i % 7}", "all"], "text" => "word #{i} " * 20 } }
  CACHE = {} # pages by their path; the oldest goes
  SESSIONS = {}

  def cached(key)
    CACHE.delete(CACHE.first[0]) if CACHE.size >= 40
    CACHE[key] ||= yield
  end

  def found(tag) = ITEMS.select { |item| item["tags"].include?(tag) }
  def session_of(id) = SESSIONS[id] ||= { seen: [], name: "session #{id}" * 4 }

  get("/list/:tag") do |tag|
    cached(request.fullpath) { erb(<<~HTML, locals: { items: found(tag) }) }
      <ul><% items.each do |item| %><li id="<%= item["id"] %>"><%= h item["name"] %> <%= item["text"] %></li><% end %></ul>
    HTML
  end
  helpers { def h(text) = Rack::Utils.escape_html(text) }

  get("/items.json") do
    content_type :json
    JSON.generate(found(params["tag"]).map { |item| item.merge("url" => "/item/#{item["id"]}") })
  end

  post("/import") do
    JSON.parse(request.body.read).each { |item| session_of(params["who"])[:seen] << item["name"] + "!" }
    204
  end

  get("/search") do
    ITEMS.map { |item| item["text"].scan(/\w+/).map(&:capitalize) }.flatten.grep(/#{params["q"]}/).uniq.join(",")
  end

  get("/text/:n") { |n| cached(request.fullpath) { Array.new(n.to_i) { |i| "line #{i}".center(60, "-") }.join("\n") } }
end

server = Puma::Server.new(Shop, nil, min_threads: 1, max_threads: 1, log_writer: Puma::LogWriter.null)
port = server.add_tcp_listener("127.0.0.1", 0).addr[1]
server.run
rounds = Integer(ENV.fetch("ROUNDS", "40"))
Net::HTTP.start("127.0.0.1", port) do |http|
  good = lambda do |answer|
    raise "#{answer.code}: #{answer.body[0, 200]}" unless answer.is_a?(Net::HTTPSuccess)
  end
  rounds.times do |i|
    good[http.get("/list/t#{i % 7}?page=#{i}")]
    good[http.get("/items.json?tag=t#{i % 5}")]
    good[http.post("/import?who=#{i % 10}", JSON.generate(Shop::ITEMS.first(150)), "content-type" => "application/json")]
    good[http.get("/search?q=W.r")] if (i % 4).zero?
    good[http.get("/text/#{200 + i}")]
  end
end
GC.start
puts "ready #{Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :nanosecond)}"
$stdout.flush
$stdin.read
