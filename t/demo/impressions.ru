# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# impressions.ru - a Rails app that leaks Ruby objects: each request for the list notes which pictures were seen (audit.rb).
# The pictures of a line's objects in doc/index.md are of this:
#
#   MWRAP=socket:/tmp/mw.sock mwrap puma --threads 2:2 t/demo/impressions.ru
require "rails"
require "action_controller/railtie"
require_relative "audit"

class Gallery < Rails::Application
  config.load_defaults Rails::VERSION::STRING.to_f
  config.eager_load = false
  config.secret_key_base = "not secret: it signs nothing"
  config.logger = Logger.new(File::NULL)
  config.hosts.clear
  routes.append { resources :pictures, only: :index }
end
Gallery.initialize!

class PicturesController < ActionController::Base
  PICTURES = Array.new(200) { |i| "Picture #{i}".freeze }

  def index
    PICTURES.each { |picture| Audit.note(picture, :guest) }
    render json: PICTURES
  end
end

run Gallery
