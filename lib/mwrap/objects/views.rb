# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

#--
# The views: their columns and costs. Needs lib/mwrap/objects.rb.
#++
module Mwrap::Objects
  # A column of a view: its name as in JSON, a title and an explanation for people, and its kind
  # (:number, :signed, :bytes, :percent, :address, :class, :location, :file, :text or :path).
  class Column < Struct.new(:name, :title, :about, :kind)
    def text? # :nodoc:
      %i[class location file text path holder].include?(kind)
    end
  end

  # A kind of question: its name in paths, a title, an explanation, its measured cost (a text for
  # people), the Columns of its rows, and the titles of its sums.
  View = Struct.new(:name, :title, :about, :cost, :columns, :facts)

  # An answer: its View, sums by name, an Array of Hashes with the names of the columns, the class
  # or object asked for or nil, and the seconds that it took.
  Result = Struct.new(:view, :facts, :rows, :subject, :seconds)

  bytes = Column.new(:memsize, "Bytes", "Bytes by ObjectSpace.memsize_of: their slots, and what is malloc'ed for them.", :bytes)
  objects = Column.new(:count, "Objects", "Instances of this very class, those that the next collection will free included.", :number)
  growth = Column.new(:growth, "Growth", "More of them than at the mark; without a mark it isn't known.", :signed)
  klass = Column.new(:class, "Class", "Its name; (internal) is Ruby's own.", :class)
  since = { since: "Seconds since the mark" }

  # The views by name. The costs are of Rubies 3.1 and 3.4 on a core of 2.8 GHz.
  VIEWS = [
    View.new("pages", "How full heap pages are",
             "A page goes back to the system only when no object is left in it: many pages with few objects are " \
             "a heap that a peak left behind.",
             "Looks at every slot of the heap: about 25 ms for a million objects. The application's Ruby threads " \
             "stand still meanwhile.",
             [Column.new(:address, "Address", "Where the page is.", :address),
              Column.new(:slot_size, "Slot", "Bytes of each of its slots; an empty page has none yet.", :bytes),
              Column.new(:used, "Used", "Slots with an object.", :number),
              Column.new(:total, "Slots", "Slots that it has.", :number),
              Column.new(:percent, "Used %", "Hundredths of its slots that have an object.", :percent),
              Column.new(:generation, "Generation", "GC.count at its birth, if the tracker saw that.", :number),
              Column.new(:age, "Age", "Garbage collections since then.", :number)],
             { pages: "Pages", slots: "Slots", used: "Slots in use", full: "Full pages",
               below_half: "Pages less than half full", empty: "Empty pages" }),
    View.new("counts", "Objects by type",
             "All objects of the heap by their type, with the memory that Ruby knows of. Types that begin with imemo " \
             "are Ruby's own.",
             "Looks at every slot of the heap: about 30 ms for a million objects. The application's Ruby threads " \
             "stand still meanwhile.",
             [Column.new(:type, "Type", "As ObjectSpace.count_objects and count_imemo_objects call it.", :text),
              objects.dup.tap { |c| c.about = "How many there are, those that the next collection will free included." }, growth, bytes],
             { objects: "Objects", memsize: "Bytes", **since }),
    View.new("classes", "Objects by class",
             "All objects of the heap by their class, with the memory that Ruby knows of.",
             "Looks at every slot of the heap: about 30 ms for a million objects. The application's Ruby threads " \
             "stand still meanwhile.",
             [klass, objects, growth, bytes], { objects: "Objects", memsize: "Bytes", **since }),
    View.new("iseqs", "Instruction sequences by file",
             "Methods and blocks, compiled: the cost of a loaded file.",
             "Looks at every slot of the heap: about 10 ms for a million objects, and 2 ms for a thousand sequences. " \
             "The application's Ruby threads stand still meanwhile.",
             [Column.new(:file, "File", "Where the code is from.", :file),
              Column.new(:count, "Sequences", "Methods, blocks, and bodies of classes and files.", :number), growth, bytes],
             { iseqs: "Sequences", memsize: "Bytes", methods: "Methods", blocks: "Blocks", bodies: "Bodies of classes", files: "Bodies of files",
               rescues: "Parts for exceptions", evals: "Of evaluated strings", **since }),
    View.new("stacks", "Objects held by stacks",
             "Objects that a thread or Fiber keeps alive by its stack: its local variables and arguments, receivers, fiber-local variables, " \
             "and what C code left there. Garbage stays as long as a stack has its address.",
             "Looks for Fibers in every slot of the heap: about 10 ms for a million objects, and 0.1 ms for each stack. The " \
             "application's Ruby threads take turns with it.",
             [Column.new(:stack, "Stack", "A thread by its name or where it was made, or a Fiber.", :text),
              Column.new(:address, "Address", "Of the Thread or Fiber.", :address),
              Column.new(:status, "Status", "run, sleep, created, suspended …", :text),
              Column.new(:location, "At", "The line that it is at.", :location),
              klass, objects.dup.tap { |c| c.about = "Objects that the stack refers to, each once." }, bytes],
             { stacks: "Stacks", objects: "Objects", memsize: "Bytes" }),
    View.new("find", "Referrers",
             "Objects that refer to one object, or to the instances of a class: through variables, constants, containers, closures and stacks.",
             "Asks every object of the heap for its references, once or more for each level: about 50 ms each time for a million objects. " \
             "The application's Ruby threads stand still meanwhile.",
             [Column.new(:level, "Level", "1: refers to the object; 2: refers to that; and so on.", :number),
              klass.dup.tap { |c| c.about = "The referrers' class; (root) is Ruby itself." },
              Column.new(:through, "Through", "The variable, constant or member, or the kind of container.", :text),
              Column.new(:of, "To", "The class to which they refer.", :class),
              Column.new(:address, "Address", "Of one of them.", :address),
              objects.dup.tap { |c| c.about = "How many there are." },
              Column.new(:references, "References", "How many references they have.", :number)],
             { objects: "Objects looked for", referrers: "Objects that refer to them", cut: "Cut short" }),
    View.new("class", "Lines that allocated",
             "Where the objects of one class were allocated: known of those that were made while " \
             "ObjectSpace.trace_object_allocations_start is in force.",
             "Looks at every slot of the heap, and calls a block for each object of the class: about 60 ms for a million " \
             "objects, and 900 ms for a million of that class. The application's Ruby threads take turns with it.",
             [Column.new(:location, "Location", "The line that called new, or the like.", :location), objects, bytes],
             { objects: "Objects", memsize: "Bytes", traced: "Objects of a known line" }),
    View.new("holders", "Holders of live blocks",
             "Which Ruby object points to them, or to a block that leads to them; native memory; or nothing, which is a " \
             "native leak. With a location: of its blocks and of the Ruby objects that it made, and by which path a root of " \
             "Ruby leads to the object.",
             "A forked child looks: about 400 ms for a million objects. The application's Ruby threads stand still for " \
             "the fork alone, about 10 ms.",
             [Column.new(:holder, "Holder", "A class, a library, Ruby itself, or nothing.", :holder),
              Column.new(:by, "Held by", "ruby: an object that is reached; native: a library's variable or a thread's stack; " \
                                         "garbage: an object that the next collection frees; nothing: a leak.", :text),
              Column.new(:blocks, "Blocks", "Live blocks, or objects, that it holds; each counts once.", :number),
              Column.new(:bytes, "Bytes", "Their bytes.", :bytes),
              Column.new(:paths, "Paths", "Different paths from a root to such a holder.", :number),
              Column.new(:path, "Path", "The path that most of these blocks have, from a root to the holder.", :path),
              Column.new(:of, "Of", "blocks; or objects: Ruby's, which the location made and which stay, estimated from samples.", :text)],
             { blocks: "Blocks", bytes: "Bytes", nothing: "Blocks held by nothing", object_samples: "Samples of objects" })
  ].to_h { |v| [v.name, v.freeze] }.freeze
end
