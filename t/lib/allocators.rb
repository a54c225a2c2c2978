# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Where the other allocators are that tests put beneath the tracker. bin/check
# installs all three.

module Allocators
  ALL = {
    "jemalloc" => ["libjemalloc.so.2", "libjemalloc2"],
    "mimalloc" => [/\Alibmimalloc\.so\.\d+\z/, "libmimalloc2.0 (Debian 12) or libmimalloc3 (13)"],
    "tcmalloc" => ["libtcmalloc_minimal.so.4", "libtcmalloc-minimal4 (Debian 12) or libtcmalloc-minimal4t64 (13)"]
  }.freeze

  module_function

  # Yields each one's name, its path or nil, and the Debian package that has it.
  def each
    libraries = `PATH=$PATH:/sbin:/usr/sbin ldconfig -p`.lines.filter_map do |l|
      l =~ /^\s*(\S+) \(.*\) => (\S+)$/ && [$1, $2]
    end
    ALL.each { |name, (soname, package)| yield name, libraries.find { |l, _| soname === l }&.last, package }
  end

  # The same, behind libc, whose path and package are nil.
  def with_libc
    yield "libc", nil, nil
    each { |*one| yield(*one) }
  end
end
