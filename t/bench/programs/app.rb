# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# app.rb - the app that the benchmark sends requests to: pages by ERB in a layout,
# a list in JSON, a search. Nothing leaks, and nothing is kept between requests.
require "json"
require "sinatra/base"
require "tilt/erb" # else two first requests at once may see half of that class

class Shop < Sinatra::Base
  Book = Struct.new(:id, :title, :author, :price, :tags)

  set :show_exceptions, false
  set :logging, false
  set :books, Array.new(60) { |i|
    Book.new(i, "The #{i}th Book of <Examples>", "Some Author & Daughter", i * 1.5, %w[new used rare].first(i % 4))
  }

  template(:layout) { <<~'ERB' }
    <!DOCTYPE html>
    <html lang="en"><head><meta charset="utf-8"><title><%= h @title %></title></head>
    <body><nav><% %w[home new used rare].each do |name| %><a href="/<%= name %>"><%= name %></a> <% end %></nav>
    <%= yield %></body></html>
  ERB

  template(:list) { <<~'ERB' }
    <table><% books.each do |book| %>
    <tr><td><a href="/books/<%= book.id %>"><%= h book.title %></a></td>
    <td><%= h book.author %></td><td><%= format("%.2f", book.price) %></td></tr>
    <% end %></table>
  ERB

  template(:book) { <<~'ERB' }
    <h1><%= h book.title %></h1>
    <p><%= h book.author %>, <%= h book.tags.join(", ") %></p>
    <% 10.times do |i| %><p><%= h "Paragraph #{i} of what \"#{book.title}\" is about. " * 4 %></p><% end %>
  ERB

  helpers do
    def h(text)
      Rack::Utils.escape_html(text.to_s)
    end
  end

  get "/" do
    @title = "All books"
    erb :list, locals: { books: settings.books }
  end

  get "/books/:id" do
    book = settings.books[params[:id].to_i] or halt 404
    @title = book.title
    erb :book, locals: { book: book }
  end

  get "/books.json" do
    content_type :json
    JSON.generate(settings.books.map(&:to_h))
  end

  get "/search" do
    wanted = params[:q].to_s.downcase
    @title = "Search: #{wanted}"
    erb :list, locals: { books: settings.books.select { |book| book.title.downcase.include?(wanted) } }
  end

  # seconds of CPU time that this process has had
  get "/cpu" do
    Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID).to_s
  end
end
