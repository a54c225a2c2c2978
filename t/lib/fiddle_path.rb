# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# RUBYLIB of programs without RubyGems that load fiddle, a gem from Ruby 4.0 on. nil: it is Ruby's own.
FIDDLE_PATH = Gem::Specification.find_by_name("fiddle").then { |spec| spec.full_require_paths.join(":") unless spec.default_gem? }
