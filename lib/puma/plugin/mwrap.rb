# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# mwrap.rb - a plugin of Puma: `plugin :mwrap` in config/puma.rb. doc/recipes.md describes it.
#
# It sets marks (Mwrap.mark): "boot" when the server serves, "phased restart 1" in the master before the first
# worker of such a restart is forked, "worker boot" in each worker, before it loads the app unless that is preloaded.
# It labels requests by method and path (Mwrap::Label); labels within the app come first.
#
# The process may run without the tracker. A mark that can't be set is a line in Puma's log, and nothing else.

require "puma/plugin"
require "mwrap_rack"
require "mwrap/label"

# :stopdoc:
Puma::Plugin.create do
  def start(launcher)
    @launcher = launcher
    launcher.config.singleton_class.prepend(Module.new { def app = Mwrap::Label.new(super) })
    launcher.events.on_booted { boot } # again after a phased restart
    watch_workers(launcher.config) if launcher.config.options[:workers].to_i.positive?
  end

  private

  def boot
    mark("boot") unless @booted
    @booted = true
  end

  # Hooks of workers are the configuration's: events of the launcher are the master's alone.
  def watch_workers(config)
    master = Process.pid
    phase = 0
    config.configure do |user|
      user.on_worker_fork do
        now = Process.pid == master ? @launcher.stats[:phase] : phase # with fork_worker a worker forks, too
        mark("phased restart #{phase = now}") if now > phase
      end
      user.on_worker_boot { mark("worker boot") }
    end
  end

  def mark(name)
    Mwrap.mark(name)
  rescue RuntimeError, NoMemoryError => e
    @launcher.log_writer.log("mwrap: #{e.message}")
  end
end
