# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Reads a text in either of its forms by Prometheus's own parsers (of its client for Python).

require_relative "tap"

module PrometheusTest
  # Debian's, whose package it is; another Python may come first in PATH.
  PYTHON = File.executable?("/usr/bin/python3") ? "/usr/bin/python3" : "python3"
  Family = Struct.new(:name, :type, :unit, :help, :samples)
  Sample = Struct.new(:name, :labels, :value) # the value as it was written

  PARSE = <<~'PY'
    import json, sys
    if sys.argv[1] == "open":
        from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
    else:
        from prometheus_client.parser import text_string_to_metric_families as parse
    text = sys.stdin.buffer.read().decode("utf-8", "strict")
    json.dump([[f.name, f.type, f.unit, f.documentation, [[s.name, s.labels, s.value] for s in f.samples]] for f in parse(text)], sys.stdout)
  PY

  # Families by name; raises where the parser refuses the text.
  def families(text, form = "open")
    run = run_command(PYTHON, "-c", PARSE, form, stdin: text)
    raise "the parser says: #{run.stderr.lines.last}" unless run.status.success?
    list = JSON.parse(run.stdout).map { |*f, samples| Family.new(*f, samples.map { |s| Sample.new(*s) }) }
    assert_equal list.map(&:name).uniq, list.map(&:name), "each family is there once"
    all = list.flat_map(&:samples).map { |s| [s.name, s.labels] }
    assert_equal all.uniq, all, "each series is there once"
    list.to_h { |f| [f.name, f] }
  end

  # Values by name and labels: { ["mwrap_live_bytes", {}] => 5.0 }.
  def values(families) = families.values.flat_map(&:samples).to_h { |s| [[s.name, s.labels], s.value] }
end

Minitest::Test.include(PrometheusTest)
