# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

#--
# The objects held by threads' and Fibers' stacks. Needs lib/mwrap/objects.rb.
#++
module Mwrap::Objects
  # Methods that an application may have replaced in a class of its own.
  THREAD = %i[to_s name status backtrace_locations keys []].to_h { |m| [m, Thread.instance_method(m)] }.freeze
  FIBER = %i[to_s alive? backtrace_locations].to_h { |m| [m, Fiber.instance_method(m)] }.freeze
  private_constant :THREAD, :FIBER

  class << self
    # The objects that the stack of each thread and Fiber refers to, by class, most bytes first: a
    # Result with :stack, :address, :status, :location, :class, :count and :memsize. An object is
    # counted once for each stack.
    #
    # A stack's objects are its local variables and arguments, the receivers and code of its frames,
    # Fiber-local variables (Thread#[]), thread variables, what C code has on the machine stack, and
    # stale words there that are an object's address. The thread that looks isn't shown. A Fiber
    # that runs, and the one with which a thread began, are shown as their thread. Objects to which
    # these refer aren't counted.
    #
    # Raises Busy, Unavailable (also while other Ractors run), and NoMemoryError.
    def stacks
      walk("stacks") do
        only_ractor
        of_threads = Hash.new { |all, thread| all[thread] = [] }.compare_by_identity
        others = fibers(of_threads)
        rows = threads.concat(others).flat_map { |object, *about| stack_rows(object, of_threads[object], about) }
        rows = rows.sort_by { |r| [-r[:memsize], r[:stack], r[:address], r[:class]] }
        [{ stacks: rows.map { |r| r[:address] }.uniq.size, objects: rows.sum { |r| r[:count] }, memsize: rows.sum { |r| r[:memsize] } }, rows]
      end
    end

    private

    # [thread, name, status, line]
    def threads
      (Thread.list - [Thread.current]).map do |t|
        name = THREAD[:name].bind_call(t)
        name = t == Thread.main ? "main thread" : "thread #{name ? utf8(name) : place(THREAD[:to_s].bind_call(t))}"
        [t, name, (THREAD[:status].bind_call(t) || "dead").to_s, line_of(THREAD[:backtrace_locations].bind_call(t, 0, 1))]
      end
    end

    # The same for Fibers. Those that have a thread's stack are put there, by thread.
    def fibers(of_threads)
      ObjectSpace.each_object(Fiber).filter_map do |f|
        next unless FIBER[:alive?].bind_call(f)
        if (thread = thread_of(f))
          of_threads[thread] << f
          next
        end
        text = utf8(FIBER[:to_s].bind_call(f))
        next if thread.nil? && runs?(f) # its thread has ended
        [f, "fiber #{place(text)}", text[/\(([a-z]+)\)>?\z/, 1].to_s, line_of(FIBER[:backtrace_locations].bind_call(f, 0, 1))]
      end
    end

    # The thread whose stack is the Fiber's. nil: there is none. false: this Ruby doesn't tell.
    def thread_of(fiber)
      thread_with(fiber, runs?(fiber))
    end

    def runs?(fiber)
      FIBER[:to_s].bind_call(fiber).end_with?("(resumed)>")
    end

    # Where it was made, from "#<Thread:0x00007f0123456789@name /srv/app.rb:3 sleep>"
    def place(text)
      utf8(text)[%r{ (\S.*:\d+) ?[( ]?[a-z_ ]*\)?>\z}, 1] || "of a C function"
    end

    def line_of(locations)
      at = locations&.first
      at ? utf8("#{at.absolute_path || at.path}:#{at.lineno}") : "(no Ruby code)"
    end

    def stack_rows(object, fibers, about)
      address = address_of(object)
      known(held_by(object, fibers)).group_by { |c,| c ? class_name(c) : "(internal)" }.map do |name, of|
        { stack: about[0], address: address, status: about[1], location: about[2], class: name, count: of.size, memsize: of.sum { |_, n| n } }
      end
    end
  end
end
