# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# shop.ru - a Rails app in one file: a list of products, and a page for each, which is cached. Nothing leaks. Served
# by a threaded server it takes much more memory than its blocks have; the picture in doc/memory-map.md is of
# this under Puma with eight threads:
#
#   MWRAP=socket:/tmp/mw.sock mwrap puma --threads 8:8 t/demo/shop.ru
require "rails"
require "action_controller/railtie"

class Shop < Rails::Application
  config.load_defaults Rails::VERSION::STRING.to_f
  config.eager_load = false
  config.secret_key_base = "not secret: it signs nothing"
  config.logger = Logger.new(File::NULL)
  config.hosts.clear
  config.cache_store = :memory_store, { size: 16 << 20 }
  routes.append { resources :products, only: %i[index show] }
end
Shop.initialize!

Product = Struct.new(:id, :name, :price, :text) do
  def to_param = id.to_s
end

class ProductsController < ActionController::Base
  PRODUCTS = Array.new(400) { |i| Product.new(i, "Product #{i}", 100 + i * 7 % 900, "It comes in #{i % 9 + 2} colours. " * (i * 31 % 60 + 5)) }

  LIST = <<~ERB
    <h1><%= @products.size %> products</h1>
    <ul><% @products.each do |p| %><li><%= link_to p.name, product_path(p) %>: <%= number_to_currency(p.price) %><p><%= truncate(p.text, length: 300) %></p></li><% end %></ul>
  ERB
  PAGE = <<~ERB
    <h1><%= @product.name %></h1><p><%= @product.text %></p>
    <h2>Others like it</h2><ul><% @others.each do |p| %><li><%= link_to p.name, product_path(p) %>: <%= p.text %></li><% end %></ul>
  ERB

  def index
    @products = PRODUCTS.rotate(params[:from].to_i)
    respond_to do |format|
      format.html { render inline: LIST }
      format.json { render json: @products.map(&:to_h) }
    end
  end

  def show
    @product = PRODUCTS.fetch(params[:id].to_i)
    @others = PRODUCTS.select { |p| p.price / 50 == @product.price / 50 }
    render html: Rails.cache.fetch(["page", @product.id]) { render_to_string(inline: PAGE) }.html_safe
  end
end

run Shop
