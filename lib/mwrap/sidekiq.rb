# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "mwrap"

module Mwrap
  # <tt>require "mwrap/sidekiq"</tt> behind <tt>require "sidekiq"</tt> labels what each job allocates by its
  # class: see Mwrap.label. A job of Active Job has its own class, not the adapter's.
  class SidekiqLabel
    def call(_worker, job, _queue, &work) # :nodoc:
      Mwrap.label((job["wrapped"] || job["class"]).to_s, &work)
    end
  end
end

if defined?(Sidekiq)
  Sidekiq.configure_server do |config|
    config.server_middleware { |chain| chain.prepend Mwrap::SidekiqLabel }
  end
end
