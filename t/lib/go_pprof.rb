# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Profiles as Go's pprof reads them: t/profile_forms.t's made-up ones, and real ones.

module GoPprof
  CACHE = File.expand_path("../../.build/go", __dir__) # from Go 1.25 on the first call compiles pprof

  # Runs `go tool pprof`, which asks no network and none of this user's folders.
  def pprof(*args, **rest)
    in_tmp do |dir|
      env = { "HOME" => dir, "TZ" => "UTC", "PPROF_TMPDIR" => dir, "PPROF_BINARY_PATH" => dir, "GOTOOLCHAIN" => "local", "GOCACHE" => CACHE, "GOFLAGS" => "", "GO111MODULE" => nil }
      run = run_command("go", "tool", "pprof", *args, env: env, chdir: dir, **rest)
      assert_success run
      run.stdout
    end
  end

  def with_file(bytes)
    in_tmp do |dir|
      File.binwrite("#{dir}/heap.pb", bytes)
      yield "#{dir}/heap.pb"
    end
  end

  # By [flat, cum, name] of each line of -top.
  def top(*args)
    pprof("-top", "-unit=B", "-nodecount=100", "-nodefraction=0", "-edgefraction=0", *args).lines.filter_map do |l|
      l =~ /\A\s*(-?\d+)B?\s+\S+\s+\S+\s+(-?\d+)B?\s+\S+  (.+?)\n/ && [$1.to_i, $2.to_i, $3]
    end
  end

  # [values, ids of locations, label `location`] of each sample of -raw
  def raw_samples(raw)
    raw[/^Samples:\n.*?\n(.*?)^Locations/m, 1].scan(/^ +((?: *\d+){6}): ((?:\d+ ?)+)\n +location:\[(.*?)\]\n/m).map do |values, ids, location|
      [values.split.map(&:to_i), ids.split.map(&:to_i), location]
    end
  end
end
