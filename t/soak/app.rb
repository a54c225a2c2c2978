# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# app.rb - the benchmark's app, with the habits of one that runs for weeks: it
# keeps things for a while and replaces them, starts threads, and compiles templates
# that come from elsewhere. Its kept memory is bounded.
require "erb"
require_relative "../bench/programs/app"

class Store < Shop
  CARTS = 500

  set :carts, Array.new(CARTS)
  set :next_cart, Thread::Queue.new.tap { |q| CARTS.times { |i| q << i } }

  # keeps the cart in the place of an old one
  post "/cart" do
    cart = JSON.parse(request.body.read)
    place = settings.next_cart.pop
    settings.carts[place] = cart
    settings.next_cart << place
    content_type :json
    JSON.generate("items" => cart.fetch("items").size,
                  "price" => cart.fetch("items").sum { |i| settings.books.fetch(i["id"]).price * i["count"] })
  end

  # each part in a thread of its own
  get "/parts" do
    @title = "In parts"
    settings.books.each_slice(15).map { |books|
      Thread.new { books.map { |book| JSON.generate(book.to_h).upcase }.join("\n") }
    }.map(&:value).join("\n")
  end

  # a template that is compiled for each request
  get "/letter/:name" do
    ERB.new("<p>Dear <%= name %>,</p>\n" * 10).result_with_hash(name: h(params[:name]))
  end
end
