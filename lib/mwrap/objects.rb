# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "../mwrap"

# Answers questions about memory that only Ruby itself can answer: how full each heap page is, how
# many objects each class has, what instruction sequences cost, and which lines allocated the
# objects of a class. It is for code that may hold Ruby's lock, for example a Rack endpoint. Mwrap's
# own server can't ask for any of this.
#
# Each call walks the whole heap once, and costs accordingly: View#cost says how much,
# Result#seconds how long it took. The walk runs inside Mwrap.quiet, in a thread of its own. The
# first call loads `objspace`. It works without the tracker, too. Objects that the next collection
# will free are counted: no collection is made.
#
#   Mwrap::Objects.classes.rows.first   # => { class: "String", count: 8796, memsize: 812345 }
#   Mwrap::Objects.answer("/objects/iseqs.json", "limit=10", "/mwrap")   # a Rack response
#
# It shows no contents, only names of classes, paths, lines, and sizes.
module Mwrap::Objects
  # A column of a view: its name as in JSON, a title and an explanation for people, and its kind
  # (:number, :percent, :address, :class, :location or :file).
  Column = Struct.new(:name, :title, :about, :kind) do
    def text? = %i[class location file].include?(kind) # :nodoc:
  end

  # A kind of question: its name in paths, a title, an explanation, its measured cost (a text for
  # people), the Columns of its rows, and the titles of its sums.
  View = Struct.new(:name, :title, :about, :cost, :columns, :facts)

  # An answer: its View, sums by name, an Array of Hashes with the names of the columns, the class
  # asked for or nil, and the seconds that it took.
  Result = Struct.new(:view, :facts, :rows, :subject, :seconds)

  # Another thread is walking the heap: two walks at a time are too many.
  class Busy < StandardError; end

  # This Ruby lacks the functions for it.
  class Unavailable < StandardError; end

  PAGE = GC::INTERNAL_CONSTANTS[:HEAP_PAGE_SIZE] || 65_536
  BYTES = "Bytes by ObjectSpace.memsize_of: their slots, and what is malloc'ed for them."
  OBJECTS = Column.new(:count, "Objects", "Instances of this very class, those that the next collection will free included.", :number)
  private_constant :PAGE, :BYTES, :OBJECTS

  # The views by name. The costs are of Rubies 3.1 and 3.4 on a core of 2.8 GHz.
  VIEWS = [
    View.new("pages", "How full heap pages are",
             "A page goes back to the system only when no object is left in it: many pages with few objects are " \
             "a heap that a peak left behind.",
             "Looks at every slot of the heap: about 25 ms for a million objects. The application's Ruby threads " \
             "stand still meanwhile.",
             [Column.new(:address, "Address", "Where the page is.", :address),
              Column.new(:slot_size, "Slot", "Bytes of each of its slots; an empty page has none yet.", :number),
              Column.new(:used, "Used", "Slots with an object.", :number),
              Column.new(:total, "Slots", "Slots that it has.", :number),
              Column.new(:percent, "Used %", "Hundredths of its slots that have an object.", :percent),
              Column.new(:generation, "Generation", "GC.count at its birth, if the tracker saw that.", :number),
              Column.new(:age, "Age", "Garbage collections since then.", :number)],
             { pages: "Pages", slots: "Slots", used: "Slots in use", full: "Full pages",
               below_half: "Pages less than half full", empty: "Empty pages" }),
    View.new("classes", "Objects by class",
             "All objects of the heap by their class, with the memory that Ruby knows of.",
             "Calls a block for every object: about 500 ms for a million objects. The application's Ruby threads " \
             "take turns with it.",
             [Column.new(:class, "Class", "Its name; (internal) is what Ruby has for itself.", :class), OBJECTS,
              Column.new(:memsize, "Bytes", BYTES, :number)],
             { objects: "Objects", memsize: "Bytes" }),
    View.new("iseqs", "Instruction sequences by file",
             "Methods and blocks, compiled: what it costs that a file is loaded.",
             "Looks at every slot of the heap: about 10 ms for a million objects, and 2 ms for a thousand sequences. " \
             "The application's Ruby threads stand still meanwhile.",
             [Column.new(:file, "File", "Where the code is from.", :file),
              Column.new(:count, "Sequences", "Methods, blocks, and bodies of classes and files.", :number),
              Column.new(:memsize, "Bytes", BYTES, :number)],
             { iseqs: "Sequences", memsize: "Bytes" }),
    View.new("class", "Lines that allocated",
             "Where the objects of one class were allocated: known of those that were made while " \
             "ObjectSpace.trace_object_allocations_start is in force.",
             "Looks at every slot of the heap, and calls a block for each object of the class: about 60 ms for a million " \
             "objects, and 900 ms for a million of that class. The application's Ruby threads take turns with it.",
             [Column.new(:location, "Location", "The line that called new, or the like.", :location), OBJECTS,
              Column.new(:memsize, "Bytes", BYTES, :number)],
             { objects: "Objects", memsize: "Bytes", traced: "Objects of a known line" })
  ].to_h { |v| [v.name, v.freeze] }.freeze

  ONE = Mutex.new
  NAME_OF = Module.instance_method(:name)
  private_constant :ONE, :NAME_OF

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

    # Objects by class, most bytes first: a Result with :class, :count and :memsize. Classes without
    # a name are summed up by their nearest ancestor with a name.
    def classes
      walk("classes") do
        count, size = Hash.new(0).compare_by_identity, Hash.new(0).compare_by_identity
        ObjectSpace.each_object do |o|
          c = class_of(o)
          count[c] += 1
          size[c] += ObjectSpace.memsize_of(o)
        end
        rows = sum_up(count.map { |c, n| [class_name(c), n, size[c]] }, :class)
        rows = most_first(rows << internal(rows), :class)
        [{ objects: rows.sum { |r| r[:count] }, memsize: rows.sum { |r| r[:memsize] } }, rows]
      end
    end

    # The memory of instruction sequences by their file, most bytes first: a Result with :file,
    # :count and :memsize.
    def iseqs
      walk("iseqs") do
        rows = sum_up(known(walk_iseqs).map { |file, sums| [file ? utf8(file) : "(not known)", *sums] }, :file)
        [{ iseqs: rows.sum { |r| r[:count] }, memsize: rows.sum { |r| r[:memsize] } }, rows]
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

    private

    # Runs one walk at a time, in a thread of its own: no Fiber scheduler and no Timeout of the
    # application gets into it. The block returns sums and rows, or nil.
    def walk(name, subject = nil, &work)
      ours = false
      begin # first: an exception from elsewhere, as by Timeout, may come as soon as it is locked
        ours = ONE.try_lock
        raise Busy, "another such walk is under way" unless ours
        Mwrap.quiet { require "objspace" }
        result = nil
        thread = Thread.new do
          Thread.current.report_on_exception = false
          Mwrap.quiet { result = timed(name, subject, &work) }
        end
        wait(thread)
        result
      ensure
        thread&.kill&.then { |t| wait(t) }
        ONE.unlock if ours
      end
    end

    def timed(name, subject)
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      facts, rows = yield
      facts && Result.new(VIEWS.fetch(name), facts, rows, subject, Process.clock_gettime(Process::CLOCK_MONOTONIC) - began)
    end

    def known(found) = found || raise(Unavailable, "this Ruby has no functions for it")

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

    # The objects that each_object doesn't show.
    def internal(rows)
      slots = ObjectSpace.count_objects
      { class: "(internal)", count: [slots[:TOTAL] - slots[:FREE] - rows.sum { |r| r[:count] }, 0].max,
        memsize: [ObjectSpace.memsize_of_all - rows.sum { |r| r[:memsize] }, 0].max }
    end

    # Sums up [name, number, bytes]: one row for each name.
    def sum_up(list, column)
      rows = list.group_by(&:first).map do |name, of|
        { column => name, count: of.sum { |r| r[1] }, memsize: of.sum { |r| r[2] } }
      end
      most_first(rows, column)
    end

    def most_first(rows, column) = rows.sort_by { |r| [-r[:memsize], r[column]] }

    # The name of a class here. The class's own methods aren't asked: they may do anything.
    def class_name(klass)
      name = NAME_OF.bind_call(klass)
      return utf8(name) if name
      named = klass.ancestors.lazy.grep(Class).map { |c| NAME_OF.bind_call(c) }.find(&:itself)
      "(anonymous < #{utf8(named || "BasicObject")})"
    end

    # Converts text of any bytes and encoding.
    def utf8(text)
      text = text.dup.force_encoding(Encoding::UTF_8) unless text.encoding == Encoding::UTF_8
      text.valid_encoding? ? text : text.scrub("\ufffd")
    end
  end
end

require_relative "objects/answer"
