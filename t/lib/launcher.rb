# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For t/launcher*.t: runs copies of bin/mwrap, with a stand-in for the tracker unless another is named.

require_relative "tap"
require "fileutils"

module LauncherTest
  include MwrapTest

  # A copy of what the launcher needs, in a directory of its own.
  def layout(tracker: preload("fake_api"), name: "mwrap-dir")
    in_tmp do |tmp|
      dir = File.join(tmp, name)
      FileUtils.mkdir_p(["#{dir}/bin", "#{dir}/lib/exe", "#{dir}/lib/mwrap/objects"])
      FileUtils.cp(LAUNCHER, "#{dir}/bin")
      FileUtils.cp("#{ROOT}/lib/exe/mwrap", "#{dir}/lib/exe")
      Dir.chdir(LIB) do
        Dir["**/*.rb", "mwrap/mwrap_ext.so"].each do |f|
          FileUtils.mkdir_p(File.dirname("#{dir}/lib/#{f}"))
          FileUtils.cp(f, "#{dir}/lib/#{f}")
        end
      end
      FileUtils.cp(tracker, "#{dir}/lib/libmwrap.so") if tracker
      yield File.realpath(dir), tmp
    end
  end

  # LD_PRELOAD's entry for the tracker in there
  def preloaded(lib) = "/usr/$LIB/../../../../../..#{lib}/libmwrap.so"

  def launch(dir, *args, **rest) = run_command("#{dir}/bin/mwrap", *args, **rest)

  # Exactly one line on stderr, nothing on stdout, and this status.
  def assert_refused(run, line, status = 2)
    if line.is_a?(Regexp)
      assert_match(/\Amwrap: #{line}\n\z/, run.stderr)
    else
      assert_equal "mwrap: #{line}\n", run.stderr
    end
    assert_equal "", run.stdout
    assert_equal status, run.status.exitstatus
  end
end
