# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# The outcome of a replay, made up: of a process with a cache, whose memory grows to a peak near its end.
module Replayed
  MB = 1 << 20
  SECONDS = 200.0

  module_function

  # [[seconds, bytes], ...] with this peak
  def curve(peak, points: 101)
    Array.new(points) do |i|
      part = i / (points - 1.0)
      [SECONDS * part, (peak * MB * (part < 0.9 ? 0.8 * (1 - Math.exp(-8 * part)) : part < 0.95 ? 1.0 : 0.7)).round]
    end
  end

  def setting(name, malloc, peak, mean, cpu, environment = {}, **more)
    { "setting" => name, "malloc" => malloc, "environment" => environment, "peak_rss_bytes" => peak * MB, "mean_rss_bytes" => mean * MB, "cpu_seconds" => cpu, "curve" => curve(peak), **more }
  end

  SETTINGS = [setting("as recorded", "glibc 2.36", 185, 149, 3.1), setting("glibc", "glibc 2.36", 182, 146, 3.0), setting("glibc MALLOC_ARENA_MAX=2", "glibc 2.36", 107, 88, 3.6, { "MALLOC_ARENA_MAX" => "2" }),
              setting("jemalloc narenas:2", "jemalloc 5.3.0", 120, 84, 2.6, { "MALLOC_CONF" => "narenas:2" }, "library" => "/usr/lib/libjemalloc.so.2"),
              setting("mimalloc", "mimalloc 2.0", 171, 118, 2.2), { "setting" => "tcmalloc", "malloc" => "tcmalloc", "error" => "libtcmalloc.so: not there" }].freeze

  LIVE_PEAK = { "seconds" => 184.0, "bytes" => 72 * MB, "blocks" => 9000, "locations" => Array.new(50) { |i| ["/srv/app/row.rb:#{i + 1}", (50 - i) * 57_000, 180] } }.freeze

  def outcome(settings: SETTINGS, peak: 180 * MB, mean: 147 * MB, **more)
    live = curve(72)
    { "file" => "/srv/app.1234.mwtrace", "command" => "puma -t 16", "events" => 17_100_000, "threads" => 16, "seconds" => SECONDS,
      "recorded" => { "curve" => curve(180).zip(live).map { |(t, heap), (_, l)| [t, heap, l] }, "peak" => peak, "mean" => mean }, "settings" => settings, "live_peak" => LIVE_PEAK, **more.transform_keys(&:to_s) }
  end
end
