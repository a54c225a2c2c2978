# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
gem "sinatra", "= #{RACK_APPS_PINS["sinatra"]}"
require "sinatra/base"
require "mwrap_rack"
require_relative "leak"

class App < Sinatra::Base
  set :host_authorization, { permitted_hosts: [] }
  get("/leak") { Leak.more }
end

map("/MWRAP") { run MwrapRack.new(authorize: ->(_env) { true }) }
map("/TOKEN") { run MwrapRack.new(token: "t0ken") }
map("/") { run App }
