#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# seeds.rb DIRECTORY: writes inputs of routes.c into it, one for each method and page of routes.def, and kind of peer.

dir = ARGV.fetch(0)
routes = File.read("#{__dir__}/../../src/api/routes.def").scan(/^MW_ROUTE\(([A-Z |]+), "([^"]+)"/)
abort "seeds.rb: routes.def has no routes" if routes.empty?
routes.product(%w[unix Unix tcp Tcp Far rack unix-sampled unix-recording]).each_with_index do |((flags, pattern), peer), i|
  methods = flags.split(" | ") & %w[GET POST]
  path = pattern.sub(/\.\*\z/, ".json").sub(/\*\z/, "1")
  headers = "Authorization: Bearer a-token-to-be-guessed\n" if peer =~ /\A[TF]/
  methods.each { |method| File.write("#{dir}/#{i}-#{method}", "#{method} #{peer} \n#{path}\n\n#{headers}\n") }
end
