# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The list of routes, src/api/routes.def, for tests.

module MwrapTest
  Route = Struct.new(:flags, :pattern, :all) do
    def methods = (flags & %w[GET POST]).flat_map { |m| m == "GET" ? %w[GET HEAD] : [m] }
    def match?(method, path) = methods.include?(method) && (pattern.end_with?("*") ? path.start_with?(pattern.chop) : path == pattern)
  end
  ROUTES = File.read(Dir[File.expand_path("../../src/**/routes.def", __dir__)].fetch(0)).scan(/^MW_ROUTE\(([A-Z |]+), "([^"]+)", \w+, ([A-Z]+)\)/)
               .map { |flags, pattern, all| Route.new(flags.split(" | "), pattern, all).freeze }.freeze
  raise "routes.def has another form" unless ROUTES.size > 25 && ROUTES.last.pattern == "/*"
end
