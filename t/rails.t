#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# require "mwrap/rails" in a real Rails application: where it mounts the pages, and for whom.
require_relative "lib/tap"

class RailsTest < Minitest::Test
  GEMS = File.join(ROOT, ".build/gems-#{RUBY_ENGINE}-#{RUBY_VERSION}-#{RUBY_PLATFORM}")

  # An application whose catch-all route would take any path. Says the status and the first line of each answer.
  APP = <<~'RUBY'
    gems = ENV.fetch("RACK_GEMS")
    Gem.use_paths(gems, [gems, *Gem.path])
    { "rack" => "3.1.23", "railties" => "7.1.5.1" }.each { |name, version| gem name, "= #{version}" }
    require "logger"
    require "json"
    require "rails"
    require "action_controller/railtie"
    require "mwrap/rails"
    class App < Rails::Application
      config.load_defaults 7.1
      config.eager_load = true
      config.secret_key_base = "not a secret: a test"
      config.hosts.clear
      config.consider_all_requests_local = false
      config.logger = Logger.new($stderr, level: Logger::FATAL)
      config.root = Dir.pwd
      #{CONFIG}
    end
    class EverythingController < ActionController::Base
      def show = render(plain: "the app's")
    end
    App.initialize!
    App.routes.draw { match "*all", to: "everything#show", via: :all }
    mock = Rack::MockRequest.new(App)
    ASKED.each do |method, path, env|
      answer = mock.request(method, path, env)
      puts JSON.generate([answer.status, answer.body.lines.first.to_s.chomp])
    end
  RUBY
  HERE = { "REMOTE_ADDR" => "127.0.0.1" }.freeze
  AWAY = { "REMOTE_ADDR" => "192.0.2.7" }.freeze

  def asked(env, *requests, config: "", tracked: true)
    in_tmp do |dir|
      File.write("#{dir}/app.rb", "CONFIG = nil\nASKED = #{requests.inspect}\n#{APP.sub('#{CONFIG}', config)}")
      command = [*(LAUNCHER if tracked), RUBY, "-I#{LIB}", "#{dir}/app.rb"]
      run = run_command(*command, env: { "RACK_GEMS" => GEMS, "RAILS_ENV" => env }, chdir: dir)
      assert_success run
      run.stdout.lines.map { |line| JSON.parse(line) }
    end
  end

  def refused?(answer) = assert_equal([403, "refused: authorize: of MwrapRack said no"], answer)
  def the_apps?(answer) = assert_equal([200, "the app's"], answer)

  def test_in_development_for_this_machine
    here, page, posted, away, forwarded, other = asked("development", ["GET", "/mwrap/stats.json", HERE], ["GET", "/mwrap/", HERE], ["POST", "/mwrap/reset", HERE],
                                                       ["GET", "/mwrap/", AWAY], ["GET", "/mwrap/", HERE.merge("HTTP_X_FORWARDED_FOR" => "192.0.2.7")], ["GET", "/x", HERE])
    assert_equal [200, 200, 200], [here, page, posted].map(&:first)
    assert_match(/\A\{/, here[1])
    refused?(away)
    refused?(forwarded)
    the_apps?(other)
  end

  def test_nowhere_else
    %w[production test staging].each { |env| asked(env, ["GET", "/mwrap/", HERE], ["GET", "/mwrap/stats.json", HERE]).each { |a| the_apps?(a) } }
  end

  ALLOW = %(config.mwrap.allow { |request| request.headers["X-Admin"] == "yes" && request.is_a?(ActionDispatch::Request) })

  def test_elsewhere_as_the_app_allows
    ok, post, no, here = asked("production", ["GET", "/mwrap/stats.json", AWAY.merge("HTTP_X_ADMIN" => "yes")], ["POST", "/mwrap/reset", AWAY.merge("HTTP_X_ADMIN" => "yes")],
                               ["GET", "/mwrap/", AWAY], ["POST", "/mwrap/reset", HERE], config: ALLOW)
    assert_equal [200, 200], [ok[0], post[0]]
    refused?(no)
    refused?(here)
  end

  # The app's block counts in development, too.
  def test_in_development_as_the_app_allows
    ok, here = asked("development", ["GET", "/mwrap/stats.json", AWAY.merge("HTTP_X_ADMIN" => "yes")], ["GET", "/mwrap/", HERE], config: ALLOW)
    assert_equal 200, ok[0]
    refused?(here)
  end

  def test_another_place
    old, now = asked("development", ["GET", "/mwrap/stats.json", HERE], ["GET", "/admin/memory/stats.json", HERE], config: %(config.mwrap.mount_at = "/admin/memory"))
    the_apps?(old)
    assert_equal 200, now[0]
    asked("development", ["GET", "/mwrap/", HERE], config: "config.mwrap.mount_at = nil").each { |a| the_apps?(a) }
  end

  def test_without_the_tracker
    page, = asked("development", ["GET", "/mwrap/", HERE], tracked: false)
    assert_equal 503, page[0]
    assert_match(/start it as `mwrap COMMAND/, page[1])
  end
end
