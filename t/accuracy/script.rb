# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# script.rb - a program for run.rb: it reads CSV, writes and reads JSON, renders ERB, and keeps
# objects. The same in every run. It says "ready" when it is done, and ends with its input.
require "csv"
require "erb"
require "json"
require "set"

Item = Struct.new(:id, :name, :tags, :prices)

def rows(n)
  CSV.generate do |csv|
    csv << %w[id name tag price]
    n.times { |i| csv << [i, "item number #{i} of the shop", "tag#{i % 37}", i * 3 % 1000] }
  end
end

def load_items(text)
  CSV.parse(text, headers: true).map do |row|
    Item.new(row["id"].to_i, row["name"].upcase, [row["tag"], "all"], Array.new(8) { |k| row["price"].to_i + k })
  end
end

def index(items)
  items.each_with_object({}) { |item, by_tag| (by_tag[item.tags.first] ||= []) << item.name.dup }
end

def words(items)
  items.each_with_object(Set.new) { |item, set| item.name.split.each { |word| set << "#{word}-#{item.id}" } }
end

def export(items) = JSON.generate(items.map(&:to_h))
def import(text) = JSON.parse(text, symbolize_names: true)

PAGE = ERB.new(<<~HTML)
  <ul><% items.each do |item| %>
    <li class="<%= item.tags.first %>"><%= item.name %>: <%= item.prices.join(", ") %></li>
  <% end %></ul>
HTML
def page(items) = PAGE.result_with_hash(items: items)

def report(items)
  items.group_by { |item| item.tags.first }.map { |tag, of| format("%-10s %6d %s", tag, of.size, of.map(&:id).join(" ")) }
end

KEPT = []
8.times do |round|
  items = load_items(rows(800 + 100 * round))
  KEPT << items if round.odd?
  KEPT << index(items)
  KEPT << words(items) if (round % 4).zero?
  KEPT << import(export(items)) if round % 3 == 1
  KEPT << page(items)
  KEPT << report(items) if round.even?
  10.times { page(items.first(200)) }
  5.times { import(export(items.first(300))) }
end
GC.start
puts "ready"
$stdout.flush
$stdin.read
