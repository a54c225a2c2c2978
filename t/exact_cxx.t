#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# As t/exact.t, for C++: what new and delete do is counted exactly. A file of
# its own, since the quick tests need no C++ compiler.

require_relative "lib/exactly"

include Exactly

exactly("C++", "cxx", over: false) # operator new isn't seen from above
exactly("C++ where there is no memory", "cxx", "fail", over: false)
exactly("a C++ library loaded late", "cxxhost", built("plugins/cxxplug.so"), over: false)
done_testing
