# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# A whole Rails application, as far as a mount point, routes, controllers and Rails'
# middleware go. Whoever wants to see the memory needs a name and a password.
gem "railties", "= #{RACK_APPS_PINS["railties"]}"
require "logger"
require "rails"
require "action_controller/railtie"
require "mwrap_rack"
require_relative "leak"

class App < Rails::Application
  config.load_defaults 7.1
  config.eager_load = true
  config.secret_key_base = "not a secret: a test"
  config.hosts.clear
  config.consider_all_requests_local = false
  config.logger = Logger.new($stderr, level: Logger::FATAL)
  config.root = __dir__
end

class LeaksController < ActionController::Base
  def show = render(plain: Leak.more)
end

App.initialize!
App.routes.draw do
  get "/leak", to: "leaks#show"
  guarded = Rack::Auth::Basic.new(MwrapRack.new(authorize: ->(env) { env["REMOTE_USER"] == "admin" })) do |name, password|
    ActiveSupport::SecurityUtils.secure_compare("#{name}:#{password}", "admin:pass word")
  end
  mount guarded => "/mwrap"
end
run App
