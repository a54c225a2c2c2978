# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "../mwrap"

# Answers questions about memory that only Ruby itself can answer: how full each heap page is, how
# many objects each type and class has, and since a mark; the cost of instruction sequences; the
# lines that allocated the objects of a class; an object's referrers; the objects held by stacks. It is
# for code that may hold Ruby's lock, for example a Rack endpoint. Mwrap's own server can't ask for
# any of this.
#
# Each call walks the whole heap, and costs accordingly: View#cost says how much, Result#seconds how
# long it took. The walk runs inside Mwrap.quiet, in a thread of its own. The first call loads
# `objspace`. It works without the tracker, too. Objects that the next collection will free are
# counted. A collection that is under way is ended, none is begun.
#
#   Mwrap::Objects.mark
#   Mwrap::Objects.classes.rows.first   # => { class: "String", count: 8796, growth: 12, memsize: 812345 }
#   Mwrap::Objects.answer("/objects/iseqs.json", "limit=10", "/mwrap")   # a Rack response
#
# It shows no contents, only names of classes, paths, lines, and sizes.
module Mwrap::Objects
  ONE = Mutex.new
  NAME_OF = Module.instance_method(:name)
  ANCESTORS_OF = Module.instance_method(:ancestors)
  PAGE = GC::INTERNAL_CONSTANTS[:HEAP_PAGE_SIZE] || 65_536
  KINDS = %i[methods blocks bodies files rescues].freeze # in the order of src/extension/heap_walk.c
  private_constant :ONE, :NAME_OF, :ANCESTORS_OF, :PAGE, :KINDS

  class << self
    # How full each page of the heap is, the emptiest first. Returns a Result with :address,
    # :slot_size, :used, :total and :percent. If the tracker saw the page's birth, it has
    # :generation and :age, too. Ruby doesn't know the slots of an empty page: nil.
    #
    # Raises Busy, Unavailable, and NoMemoryError, as the next ones do.
    def pages
      walk("pages") do
        rows = known(walk_pages).map { |start, *slots| [start - start % PAGE, *slots] }
        births = {}
        Mwrap::HeapPageBody.each { |address, generation| births[address] = generation }
        (births.keys - rows.map(&:first)).each { |address| rows << [address, nil, nil, 0] }
        rows.map! { |address, slot, total, used| page_row(address, slot, total, used, births[address]) }
        rows.sort_by! { |r| [r[:percent], r[:address]] }
        [page_facts(rows), rows]
      end
    end

    # Objects by type, most bytes first: a Result with :type ("T_STRING", "imemo_iseq"), :count,
    # :growth and :memsize. :growth is nil without a mark. Objects of several kinds that Ruby makes
    # for itself are "imemo_other".
    #
    # While other Ractors run, bytes are those of the slots only, as in #classes.
    def counts
      walk("counts") do
        rows = grown(by_type_and_class[0], :type)
        [{ objects: rows.sum { |r| r[:count] }, memsize: rows.sum { |r| r[:memsize] }, since: since }, rows]
      end
    end

    # Objects by class, most bytes first: a Result with :class, :count, :growth and :memsize. Classes
    # without a name are summed up by their nearest ancestor with a name. "(internal)" is what Ruby
    # has for itself.
    def classes
      walk("classes") do
        rows = grown(by_type_and_class[1], :class)
        [{ objects: rows.sum { |r| r[:count] }, memsize: rows.sum { |r| r[:memsize] }, since: since }, rows]
      end
    end

    # The memory of instruction sequences by their file, most bytes first: a Result with :file,
    # :count, :growth and :memsize. The sums of the Result say of what kind the sequences are, as
    # far as their labels tell, and how many come from strings (+evals+). Also raises Unavailable while
    # other Ractors run.
    def iseqs
      walk("iseqs") do
        rows, kinds = by_file
        [{ iseqs: rows.sum { |r| r[:count] }, memsize: rows.sum { |r| r[:memsize] }, **kinds, since: since }, grown(rows, :file)]
      end
    end

    # The lines that allocated the objects of the class (or classes) that #classes shows by this
    # name, most bytes first. Returns a Result with :location, :count and :memsize, or nil if there
    # is no class of that name. Objects allocated while ObjectSpace didn't trace are at "(not
    # traced)".
    def allocations(name)
      walk("class", name) do
        all = ObjectSpace.each_object(Class).select { |c| class_name(c) == name }
        next if all.empty?
        rows = sum_up(all.flat_map { |c| lines_of(c) }, :location)
        [{ objects: rows.sum { |r| r[:count] }, memsize: rows.sum { |r| r[:memsize] },
           traced: rows.sum { |r| r[:location] == "(not traced)" ? 0 : r[:count] } }, rows]
      end
    end

    # The holders of a location's live blocks, or of all live blocks: a Result with the rows of
    # Mwrap.holders. With a location it has rows of Ruby's objects that were made there, too: +of+ is
    # then :objects. nil: no such location. Raises Failed, too.
    def holders(location = nil)
      walk("holders", location) do
        here = Mwrap[location] if location
        next if location && !here
        objects, blocks = Mwrap.holders(location, of: :both).partition { |r| r.key?(:objects) }
        [{ blocks: blocks.sum { |r| r[:blocks] }, bytes: blocks.sum { |r| r[:bytes] },
           nothing: blocks.sum { |r| r[:by] == :nothing ? r[:blocks] : 0 },
           object_samples: objects.empty? ? nil : here.object_samples }.compact,
         blocks.map { |r| { **r, of: :blocks } } + objects.map { |r| { **r, blocks: r[:objects], bytes: r[:object_bytes], of: :objects } }]
      end
    end

    private

    # The block returns sums and rows, or nil.
    def walk(name, subject = nil, &work)
      alone { timed(name, subject, &work) }
    end

    # Runs one walk at a time, in a thread of its own: no Fiber scheduler and no Timeout of the
    # application gets into it. Returns what the block returns.
    def alone
      ours = false
      begin # first: an exception from elsewhere, as by Timeout, may come as soon as it is locked
        ours = ONE.try_lock
        raise Busy, "another such walk is under way" unless ours
        Mwrap.quiet { load_objspace }
        result = nil
        # quiet: from Ruby 3.3 on its stack is a megabyte of malloc
        thread = Mwrap.quiet do
          Thread.new do
            Thread.current.report_on_exception = false
            Mwrap.quiet { result = yield }
          end
        end
        wait(thread)
        result
      ensure
        begin
          wait(thread.kill) if thread&.alive? # else it would raise again what has ended it
        ensure
          ONE.unlock if ours
        end
      end
    end

    def timed(name, subject)
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      facts, rows = yield
      facts && Result.new(VIEWS.fetch(name), facts, rows, subject, Process.clock_gettime(Process::CLOCK_MONOTONIC) - began)
    end

    def load_objspace
      require "objspace"
    rescue LoadError
      raise Unavailable, "this Ruby lacks its extension objspace"
    end

    def known(found)
      found || raise(Unavailable, "this Ruby has no functions for it")
    end

    def other_ractors?
      defined?(Ractor) ? Ractor.count > 1 : false
    end

    # For walks that ask objects for their references.
    def only_ractor
      raise Unavailable, "other Ractors run, and may change their objects meanwhile" if other_ractors?
    end

    def page_row(address, slot, total, used, birth)
      { address: address, slot_size: slot, used: used, total: total, percent: total ? (100.0 * used / total).round(1) : 0.0,
        generation: birth, age: birth && [GC.count - birth, 0].max }
    end

    def page_facts(rows)
      { pages: rows.size, slots: rows.sum { |r| r[:total] || 0 }, used: rows.sum { |r| r[:used] },
        full: rows.count { |r| r[:used] == r[:total] }, below_half: rows.count { |r| r[:percent] < 50 },
        empty: rows.count { |r| r[:used].zero? } }
    end

    # [location, objects, bytes] for each location that allocated instances of it, not of its
    # subclasses.
    def lines_of(klass)
      found = Hash.new { |h, k| h[k] = [k, 0, 0] }
      ObjectSpace.each_object(klass) do |o|
        next unless klass.equal?(class_of(o))
        file = ObjectSpace.allocation_sourcefile(o)
        sums = found[file ? utf8("#{file}:#{ObjectSpace.allocation_sourceline(o)}") : "(not traced)"]
        sums[1] += 1
        sums[2] += ObjectSpace.memsize_of(o)
      end
      found.values
    end

    # Rows by type, and by class.
    def by_type_and_class
      types, classes = known(walk_counts(other_ractors?))
      [sum_up(types, :type), sum_up(classes.map { |c, *sums| [c ? class_name(c) : "(internal)", *sums] }, :class)]
    end

    # Rows, and sums by kind.
    def by_file
      only_ractor
      found = known(walk_iseqs).map { |file, sums| [file ? utf8(file) : "(not known)", *sums] }
      kinds = KINDS.each_with_index.to_h { |kind, i| [kind, found.sum { |r| r[3 + i] }] }
      kinds[:evals] = found.sum { |file, n,| file.start_with?("(eval") ? n : 0 }
      [sum_up(found, :file), kinds]
    end

    # Sums up [name, number, bytes]: one row for each name.
    def sum_up(list, column)
      rows = list.group_by(&:first).map do |name, of|
        { column => name, count: of.sum { |r| r[1] }, memsize: of.sum { |r| r[2] } }
      end
      most_first(rows, column)
    end

    def most_first(rows, column)
      rows.sort_by { |r| [-r[:memsize], r[column]] }
    end

    # The name of a class here. The class's own methods aren't asked: they may do anything.
    def class_name(klass)
      name = NAME_OF.bind_call(klass)
      return utf8(name) if name
      named = ANCESTORS_OF.bind_call(klass).lazy.grep(Class).map { |c| NAME_OF.bind_call(c) }.find(&:itself)
      "(anonymous < #{utf8(named || "BasicObject")})"
    end

    # The name of a module, or what Ruby shows of one without a name.
    def module_name(mod)
      (name = NAME_OF.bind_call(mod)) ? utf8(name) : Module === mod && Class === mod ? class_name(mod) : "(anonymous module)"
    end

    # Converts text of any bytes and encoding.
    def utf8(text)
      text = text.dup.force_encoding(Encoding::UTF_8) unless text.encoding == Encoding::UTF_8
      text.valid_encoding? ? text : text.scrub("\ufffd")
    end
  end
end

require_relative "objects/views"
require_relative "objects/mark"
require_relative "objects/stacks"
require_relative "objects/find"
require_relative "objects/dump"
require_relative "objects/answer"
