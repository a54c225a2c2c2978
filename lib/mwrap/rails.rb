# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "mwrap"
require "active_support/lazy_load_hooks"

module Mwrap
  # <tt>require "mwrap/rails"</tt> in config/application.rb, behind <tt>require "rails"</tt>, does two things.
  #
  # It labels what each action of a controller allocates, such as "orders#show", and each job of Active Job by its
  # class: see Mwrap.label.
  #
  # It mounts MwrapRack at <tt>/mwrap</tt>: in development, for requests from the same machine. Elsewhere it does so only if
  # the app has a block that lets requests in:
  #
  #   config.mwrap.allow { |request| request.env["warden"].user&.admin? }
  #   config.mwrap.mount_at = "/admin/memory"   # another path; nil: don't mount it
  module Rails
    ACTION = ->(controller, action) { Mwrap.label("#{controller.controller_path}##{controller.action_name}") { action.call } } # :nodoc:
    JOB = ->(job, work) { Mwrap.label(job.class.name) { work.call } } # :nodoc:
    private_constant :ACTION, :JOB

    ActiveSupport.on_load(:action_controller) { prepend_around_action(ACTION) }
    ActiveSupport.on_load(:active_job) { around_perform(prepend: true, &JOB) }

    # An app's <tt>config.mwrap</tt>.
    class Options
      # Where the pages are mounted; <tt>"/mwrap"</tt>. nil: nowhere.
      attr_accessor :mount_at

      def initialize # :nodoc:
        @mount_at = "/mwrap"
      end

      # The block gets each request, an ActionDispatch::Request, and says whether it may see the pages and use their
      # controls. If it returns nil or false, the answer is 403. With a block the pages are mounted in each environment.
      def allow(&block)
        @allow = block
      end

      # MwrapRack for that environment; nil: it isn't mounted there.
      def pages(development) # :nodoc:
        allow = @allow || (:local?.to_proc if development)
        return unless allow && @mount_at
        require "mwrap_rack"
        MwrapRack.new(authorize: ->(env) { allow.call(ActionDispatch::Request.new(env)) })
      end
    end

    if defined?(::Rails::Railtie)
      class Railtie < ::Rails::Railtie # :nodoc: all
        config.mwrap = Options.new

        initializer("mwrap.mount") do |app|
          options = app.config.mwrap
          pages = options.pages(::Rails.env.development?)
          app.routes.prepend { mount pages => options.mount_at } if pages
        end
      end
    end
  end
end
