# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For tests of bin/mwrapctl: runs it, and says what became of it.
module RunsCtl
  CTL = File.join(MwrapTest::ROOT, "lib/exe/mwrapctl")

  def ctl(*args, **rest) = run_command(MwrapTest::RUBY, CTL, *args, **rest)

  # It wrote what is asked for, and nothing to stderr.
  def assert_written(run)
    assert_success run
    assert_equal "", run.stderr
  end

  # The rows that it writes to a pipe, a Hash for each row, numbers as such
  def rows_of(*args, **rest)
    run = ctl(*args, **rest)
    assert_written run
    head, *lines = run.stdout.split("\n").map { |l| l.split("\t", -1) }
    lines.map do |fields|
      assert_equal head.size, fields.size, fields.inspect
      head.zip(fields).to_h { |name, text| [name, text.match?(/\A-?\d+\z/) ? text.to_i : text.match?(/\A-?\d+\.\d+\z/) ? text.to_f : text] }
    end
  end

  def json_of(*args, **rest)
    run = ctl(*args, "--json", **rest)
    assert_written run
    JSON.parse(run.stdout)
  end

  def assert_refused(run, message, status = 1)
    assert_equal "", run.stdout
    message.is_a?(Regexp) ? assert_match(/\Amwrapctl: #{message}\n\z/, run.stderr) : assert_equal("mwrapctl: #{message}\n", run.stderr)
    assert_equal status, run.status.exitstatus
  end
end
