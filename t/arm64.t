#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Files with code of their own for arm64 compile there, without a warning. `make check-arm64` runs it.

require_relative "lib/tap"

class Arm64Test < Minitest::Test
  include MwrapTest

  FLAGS = %w[-std=gnu11 -O1 -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes
             -Wmissing-prototypes -Wpointer-arith -Werror -D_GNU_SOURCE -Isrc -fsyntax-only -x c].freeze

  # Headers that don't depend on the C library or the processor come from where this machine's are.
  def shared_headers(dir)
    Dir.glob(%w[xxhash.h xxh3.h {*-linux-gnu/,}urcu*], base: "/usr/include").each { |name| FileUtils.ln_sf("/usr/include/#{name}", dir) }
    "-isystem#{dir}"
  end

  # Where Ruby and the C library are built for it, the code that attach copies lies in a guarded page: a jump to anything else
  # ends the process.
  def test_what_is_jumped_to_is_marked
    in_tmp do |dir|
      assert_success run_command("aarch64-linux-gnu-gcc", *(FLAGS - %w[-fsyntax-only -x c]), "-c", "src/tools/attach/visit.c", "-o", "#{dir}/o", chdir: ROOT)
      code = run_command("aarch64-linux-gnu-objdump", "-d", "#{dir}/o").stdout
      %w[mw_visit_entry mw_visit_job].each { |name| assert_match(/<#{name}>:\n.*\tbti\t(c|jc)$/, code) }
    end
  end

  def test_it_compiles_for_arm64
    files = Dir.glob("src/{memory,recording,server,shared,tools,tracker}/**/*.[ch]", base: ROOT).select { |f| File.read("#{ROOT}/#{f}").include?("__aarch64__") }
    assert_operator files.size, :>=, 8, files.inspect
    in_tmp do |dir|
      files.each { |file| assert_success run_command("aarch64-linux-gnu-gcc", *FLAGS, shared_headers(dir), "-include", file, File::NULL, chdir: ROOT) }
    end
  end
end
