# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# For tests of the Ruby API: runs code in a process of its own, with another
# object than the tracker preloaded, or nothing.

require_relative "tap"

module InRuby
  include MwrapTest

  # Runs Ruby code after `require "mwrap"`; its value comes back by Marshal.
  def value_of(code, preload: nil, env: {}, flags: [], timeout: 300)
    in_tmp do |dir|
      # the block is a method of its own so that code can say `return`
      File.write("#{dir}/t.rb", "def t\n#{code}\nend\nvalue = t\n" \
        "File.binwrite('#{dir}/value', Marshal.dump(value))\n")
      @run = run_command(RUBY, "--disable=gems", "-I#{LIB}", "-rmwrap", "-rstringio", *flags, "#{dir}/t.rb",
                         env: { "LD_PRELOAD" => preload, "FAKE_API_LOG" => "#{dir}/log" }.merge(env), timeout: timeout)
      assert_success @run
      @log = File.exist?("#{dir}/log") ? File.readlines("#{dir}/log", chomp: true) : []
      Marshal.load(File.binread("#{dir}/value"))
    end
  end

  # The class and message of the exception that the code raises.
  def raised(code) = "begin; #{code}; rescue Exception => e; [e.class.name, e.message]; end"
end
