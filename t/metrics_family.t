#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# /all/metrics of a Puma: every process's figures with its PID as a label, in both forms, as
# Prometheus's own parsers read them, and with what each process says by itself.

require_relative "lib/clusters"
require_relative "lib/prometheus"

class MetricsFamilyTest < Minitest::Test
  include Served

  OPEN = { "Accept" => "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5" }.freeze
  FORMS = { "open" => OPEN, "text" => {} }.freeze
  TYPES = { "open" => "application/openmetrics-text; version=1.0.0; charset=utf-8", "text" => "text/plain; version=0.0.4; charset=utf-8" }.freeze
  # the time that passes while nothing happens
  MOVING = /uptime|start_time|rss|cpu|verdict|growing|limit|group/

  def metrics(target, form)
    r = get(target, FORMS[form])
    assert_equal [200, TYPES[form]], [r.status, r.headers["content-type"]], r.body[0, 200]
    assert_equal form == "open", r.body.end_with?("\n# EOF\n")
    assert_equal form == "open" ? 1 : 0, r.body.scan(/^# EOF$/).size
    families(r.body, form)
  end

  def of(families, pid)
    values(families).filter_map { |(name, labels), v| [[name, labels.except("process")], v] if labels["process"] == pid.to_s }.to_h
  end

  # PIDs of those that answered in time.
  def answering(all) = all.fetch("mwrap_process_answers").samples.select { |s| Float(s.value) == 1 }.map { |s| s.labels["process"] }.sort

  def still(values) = values.reject { |(name, _),| name.match?(MOVING) }

  def test_every_process_has_its_label
    app, workers = puma(check: 3000)
    pids = [app.pid, *workers]
    titles = list(pids).to_h { |p| [p["pid"], p["title"]] }
    FORMS.each_key do |form|
      all, one, live = nil
      # a thread of Puma's may run in between; then all are asked again
      eventually("an idle moment") do
        before = pids.map { |pid| metrics("/#{pid}/metrics", form) }
        all = metrics("/all/metrics", form)
        next unless answering(all) == pids.map(&:to_s).sort
        live = pids.map { |pid| JSON.parse(body("/#{pid}/stats.json"))["live_bytes"] }
        one = pids.map { |pid| metrics("/#{pid}/metrics", form) }
        before.map { |f| values(f).then { |v| [v.keys, still(v)] } } == one.map { |f| values(f).then { |v| [v.keys, still(v)] } }
      end
      assert_equal pids.map(&:to_s).sort, values(all).keys.map { |_, labels| labels["process"] }.uniq.sort
      # each sample of each process, and no other, and each family as the process has it
      pids.zip(one).each do |pid, own|
        got = of(all, pid).reject { |(name, _),| name.start_with?("mwrap_process_info", "mwrap_process_answers") }
        assert_equal values(own).keys.sort_by(&:inspect), got.keys.sort_by(&:inspect)
        assert_equal still(values(own)), still(got)
        assert_operator still(got).size, :>=, 20
        own.each { |name, f| assert_equal [f.type, f.unit, f.help], all.fetch(name).to_a.values_at(1, 2, 3), name }
      end
      assert_equal live, pids.map { |pid| Float(of(all, pid).fetch(["mwrap_live_bytes", {}])).to_i }
      info = all.fetch("mwrap_process_info").samples
      assert_equal pids.map { |pid| [pid.to_s, titles[pid], pid == app.pid ? "1" : "0", 1] }.sort,
                   info.map { |s| [*s.labels.values_at("process", "title", "owner"), Float(s.value)] }.sort
      answers = all.fetch("mwrap_process_answers").samples
      assert_equal pids.to_h { |pid| [pid.to_s, 1.0] }, answers.to_h { |s| [s.labels["process"], Float(s.value)] }
    end
    # the parameter of each goes to each
    becomes(4, "3 and the rest") do
      of(metrics("/all/metrics?top=3", "open"), workers[0]).keys.count { |name, labels| name == "mwrap_location_live_bytes" && labels["location"] }
    end
    assert_equal get("/metrics?top=x").status, get("/all/metrics?top=x").status
    head = request("HEAD", "/all/metrics")
    assert_equal [200, ""], [head.status, head.body]
  end

  def test_a_stopped_worker
    app, workers = puma(check: 3000)
    list([app.pid, *workers])
    stop(workers[0])
    FORMS.each_key do |form|
      want = { app.pid => 1.0, workers[0] => 0.0, workers[1] => 1.0 }.transform_keys(&:to_s)
      all = nil
      becomes(want) { (all = metrics("/all/metrics", form))["mwrap_process_answers"].samples.to_h { |s| [s.labels["process"], Float(s.value)] } }
      assert_equal want.keys.sort, all["mwrap_process_info"].samples.map { |s| s.labels["process"] }.sort
      assert_match(/\Apuma: cluster worker/, all["mwrap_process_info"].samples.find { |s| s.labels["process"] == workers[0].to_s }.labels["title"])
      assert_equal [app.pid, workers[1]].map(&:to_s).sort, all["mwrap_live_bytes"].samples.map { |s| s.labels["process"] }.sort
    end
    Process.kill(:CONT, workers[0])
    eventually("it to answer") { metrics("/all/metrics", "open")["mwrap_process_answers"].samples.all? { |s| Float(s.value) == 1 } }
  end
end
