# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
require_relative "app"
run Store
