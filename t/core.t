#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# The core, which runs within a program as well as preloaded (t/core/), under
# AddressSanitizer with UndefinedBehaviorSanitizer: no report of theirs, and all counts
# right with threads, readers, forks and signals, and where no memory is left.

require_relative "lib/sanitized"

include Sanitized

run_core("asan")
done_testing
