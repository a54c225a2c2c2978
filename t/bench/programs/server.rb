# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# server.rb - app.rb under Puma: see t/lib/under_puma.rb.
require_relative "../../lib/under_puma"
UnderPuma.run File.expand_path("config.ru", __dir__)
