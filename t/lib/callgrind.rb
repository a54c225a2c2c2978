# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Counts instructions with callgrind: the same number in every run.

module Callgrind
  # The block's sum over the processes of the command.
  def callgrind(*command, env: {})
    in_tmp do |dir|
      out = File.join(dir, "callgrind")
      run = run_command("valgrind", "--tool=callgrind", "--trace-children=yes", "--callgrind-out-file=#{out}.%p",
                        *command, env: env, timeout: 900)
      assert run.status.success?, run.stderr
      # `env` itself has a file too, without the tracker
      Dir["#{out}.*"].sum { |f| yield File.readlines(f) }
    end
  end

  # Self cost, summed over a callgrind file's lines "LINE COST" in that object; names
  # are given once and abbreviated "(1)" from then on, and the line after "calls=" is
  # what the called function cost.
  def in_object(lines, suffix)
    names = {}
    inside = called = false
    lines.sum do |line|
      case line
      when /\Aob=(\(\d+\))(?: (.*))?$/
        names[$1] = $2 if $2
        inside = names[$1].end_with?(suffix)
        0
      when /\Acob=(\(\d+\)) (.*)$/ then names[$1] = $2; 0
      when /\Acalls=/ then called = true; 0
      when /\A[+\-*\d]\S* (\d+)$/ then (inside && !called ? $1.to_i : 0).tap { called = false }
      else 0
      end
    end
  end

  # The cost of one more round: both runs have the start and the end.
  def each_round(few, many)
    (yield(many) - yield(few)).fdiv(many - few)
  end
end
