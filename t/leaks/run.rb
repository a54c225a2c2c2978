# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run.rb - shared by the scripts in this folder: each makes calls of
# which a gem's old version leaks some memory, at the line with "# leaks here".
#
#	ruby t/leaks/GEM.rb VERSION CALLS [WAY]
#
# with GEM_HOME as leaks.t sets it. Prints the gem's version as it was loaded,
# the calls made, and by how much the process grew for each of them (bytes, by
# the kernel's count of its pages), so that a script shows its leak without the
# tracker, too. Under the tracker the counters start anew once it is warm.
#
# With MWRAP_LEAK_CHECK it makes the calls by Mwrap::Check instead, in a process that tracks itself, and
# prints what that found as JSON.
module LeakRun
  # Between two GCs so few calls are made that what they leave for the GC, and
  # the tables that Ruby grows for it, are small beside what leaks.
  BATCH = 250
  PAGE = 4096

  def self.use(name)
    @name = name
    if ENV.key?("MWRAP_LEAK_CHECK")
      require "mwrap/check"
      Mwrap::Check.start
    end
    gem name, "= #{ARGV.fetch(0)}"
  end

  # Makes the calls, each by one call of the block; a GC after every `batch`.
  def self.calls(batch: BATCH, &call)
    return check(call) if ENV.key?("MWRAP_LEAK_CHECK")

    calls = Integer(ARGV.fetch(1))
    4.times { make(batch) { yield } }
    if ENV.key?("MWRAP")
      require "mwrap"
      Mwrap.reset
    end
    before = pages
    made = 0
    made += make([batch, calls - made].min) { yield } while made < calls
    grown = (pages - before) * PAGE
    puts "#{Gem.loaded_specs.fetch(@name).full_name} #{made} #{grown / made}"
  end

  def self.check(call)
    require "json"
    result = Mwrap::Check.run(&call)
    puts JSON.generate("gem" => Gem.loaded_specs.fetch(@name).full_name, "outcome" => result.outcome, "lines" => result.lines,
                       "leaks" => result.leaks.map(&:to_h))
  end
  private_class_method :check

  # Returns how many calls were made.
  def self.make(count)
    made = 0
    while made < count
      yield
      made += 1
    end
    GC.start
    made
  end
  private_class_method :make

  def self.pages
    File.read("/proc/self/statm").split[1].to_i
  end
  private_class_method :pages
end
