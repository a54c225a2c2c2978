# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# erb.rb - a page with a table of 50 rows, some 12 KB, from a compiled template.
require "erb"
require_relative "measure"

class Page
  include ERB::Util

  Row = Struct.new(:id, :title, :author, :price)

  TEMPLATE = <<~'HTML'
    <!DOCTYPE html>
    <html><head><title><%= h title %></title></head><body>
    <h1><%= h title %></h1>
    <%- rows.each do |row| -%>
    <tr class="<%= row.id.even? ? "even" : "odd" %>">
    <td><a href="/books/<%= row.id %>?from=list"><%= h row.title %></a></td>
    <td><%= h row.author %></td>
    <td><%= format("%.2f", row.price) %></td>
    <td><%= h "#{row.title} by #{row.author} & others" %></td>
    </tr>
    <%- end -%>
    </body></html>
  HTML
  ERB.new(TEMPLATE, trim_mode: "-").def_method(self, "render", __FILE__)

  attr_reader :title, :rows

  def initialize
    @title = "Books <in stock>"
    @rows = Array.new(50) { |i| Row.new(i, "The \"#{i}th\" Book of Examples", "Some Author & Daughter", i * 1.5) }
  end
end

page = Page.new
Measure.run do |rounds|
  rounds.times { page.render }
end
