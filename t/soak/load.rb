# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# load.rb - clients of the app, until they are stopped. Each request has an answer
# that is known before; anything else is an error. That a worker ends is no excuse:
# Puma lets it finish what it began.
require "json"
require_relative "http"

class Load
  CLIENTS = 6
  PAUSE = 0.02 # seconds between an answer and the next request

  attr_reader :served, :errors

  def initialize(port)
    @port = port
    @served = 0
    @errors = []
    @lock = Mutex.new
    @threads = []
  end

  def start
    @over = false
    @threads = Array.new(CLIENTS) { |i| Thread.new { client(i) } }
  end

  def stop
    @over = true
    @threads.each(&:join).clear
  end

  private

  def client(i)
    until @over
      wrong = request(*example(i += 7))
      @lock.synchronize { wrong ? @errors << wrong : @served += 1 }
      sleep PAUSE
    end
  end

  # [method, path, body, what the answer matches]
  def example(i)
    case i % 6
    when 0 then ["GET", "/", nil, %r{\A<!DOCTYPE html>.*The 59th Book.*</html>\s*\z}m]
    when 1 then ["GET", "/books/#{i % 60}", nil, %r{<h1>The #{i % 60}th Book of &lt;Examples&gt;</h1>.*</html>\s*\z}m]
    when 2 then ["GET", i.odd? ? "/books.json" : "/search?q=#{i % 60}", nil, /The #{i.odd? ? 0 : i % 60}th Book/]
    when 3 then ["GET", "/parts", nil, /\A\{"ID":0,.*\n\{"ID":59,[^\n]*\}\z/m]
    when 4 then ["GET", "/letter/N#{i}", nil, %r{\A(<p>Dear N#{i},</p>\n){10}\z}]
    else cart(i)
    end
  end

  def cart(i)
    items = Array.new(1 + i % 40) { |k| { "id" => k, "count" => i % 7, "note" => "n" * (i % 300) } }
    price = items.sum { |item| item["id"] * 1.5 * item["count"] }
    ["POST", "/cart", JSON.generate("items" => items), /\A\{"items":#{items.size},"price":#{price}\}\z/]
  end

  # nil, or what was wrong.
  def request(method, path, body, like)
    answer = Http.ask(@port, method, path, body ? { "Content-Type" => "application/json" } : {}, body)
    return if answer.status == 200 && like.match?(answer.body)

    "#{method} #{path}: #{answer.status} #{answer.body[0, 60].inspect}"
  rescue Http::Broken => e
    e.message
  end
end
