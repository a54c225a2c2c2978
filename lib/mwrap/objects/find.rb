# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

#--
# The referrers of an object. Needs lib/mwrap/objects.rb.
#++
module Mwrap::Objects
  # Levels of referrers
  DEPTH_MAX = 8
  # Roots as Ruby's collector names them
  ROOTS = { "global_tbl" => "global variable", "vm" => "Ruby itself", "global_list" => "C variable", "end_proc" => "at_exit",
            "finalizers" => "finalizer", "global_symbols" => "symbol" }.freeze
  private_constant :ROOTS

  class << self
    # The referrers of an object, or of the instances of a class. +what+ is an address ("0x7f00deadbeef"), a
    # class or its name as #classes shows it, an Integer as of Object#object_id, or any other object.
    # A String is always taken for an address or a name.
    #
    # Returns a Result, or nil if there is no such object or class. Its rows: :level, 1 for referrers
    # of the object, 2 for their referrers, up to +depth+ (1 to 8); :class, the referrers' class;
    # :through, a variable ("@list", "Registry::ALL"), member, "array element", "hash key",
    # "hash value", "closure → local variable", "stack" or the like; :of, the class to which
    # they refer; :address, of one of them; :count, how many there are; :references, how many
    # references they have. A row of :class "(root)" is a reference of Ruby itself.
    #
    # References of Ruby's own objects are followed to a visible object, and aren't a level.
    # Caches of methods and constants don't count, nor does the thread that looks. At level 1 of a
    # class's own address its instances are there, through "class". If 100,000 objects refer to it,
    # the search ends. Of more than a million instances only so many are looked for. Then :cut is 1.
    #
    # Raises ArgumentError for another depth, Busy, Unavailable (also while other Ractors run), and
    # NoMemoryError.
    def find(what, depth: 1)
      depth.is_a?(Integer) && depth.between?(1, DEPTH_MAX) or raise ArgumentError, "depth: 1 to #{DEPTH_MAX} expected"
      case what # a Regexp here would call to_str of any object
      when Class then find_by(:classes, [what], depth)
      when Integer then find_by(:id, what, depth)
      when String then what.match?(/\A0x\h{1,16}\z/) ? find_by(:address, what.hex, depth) : find_by(:name, what, depth)
      else find_by(:address, address_of(what), depth)
      end
    end

    private

    # `what` is never an object that is looked for: the block refers to it.
    def find_by(kind, what, depth)
      walk("find", kind == :name || kind == :id ? what.to_s : kind == :classes ? class_name(what[0]) : what && format("0x%x", what)) do
        only_ractor
        found = kind == :id ? by_id(what, depth) : kind == :name ? by_name(what, depth) : what && known_or_none(walk_find(what, depth))
        found && referrers(*found)
      end
    end

    # Several classes may have the same name, for example none.
    def by_name(name, depth)
      classes = ObjectSpace.each_object(Class).select { |c| class_name(c) == name }
      classes.empty? ? nil : known_or_none(walk_find(classes, depth))
    ensure
      classes&.clear
    end

    # Only the thread that looks refers to the object.
    def by_id(id, depth)
      address = address_of(object = object_with(id))
      found = address && known_or_none(walk_find(address, depth))
      object = nil
      found
    rescue RangeError
      nil
    end

    # nil: none has it
    def object_with(id)
      return ObjectSpace._id2ref(id) if ObjectSpace.respond_to?(:_id2ref)
      found = walk_id(id)
      found.nil? and raise Unavailable, "this Ruby finds no object by its object_id: give its address"
      found ? found.pop : nil
    end

    def known_or_none(found)
      found.nil? ? known(nil) : found || nil
    end

    def referrers(targets, hits, roots, cut)
      rows = Referrers.new(hits, roots).rows
      hits.concat(roots).each(&:clear) # they refer to classes
      [{ objects: targets, referrers: rows.sum { |r| r[:level] == 1 ? r[:count] : 0 }, cut: cut ? 1 : nil }, rows]
    end
  end

  # Rows of what src/extension/heap_find.c found.
  class Referrers # :nodoc: all
    Hit = Struct.new(:level, :number, :what, :how, :address, :label, :references, :to, :of, :of_how, :of_address)

    def initialize(hits, roots)
      hits = hits.map { |h| Hit.new(*h) }
      hits.reject! { |h| Fiber === h.what && !shown?(h) }
      hits.concat(roots.map { |level, category, to, *of| Hit.new(of[1] == :type && level > 0 ? level : level + 1, nil, nil, :root, nil, category, 1, to, *of) })
      @inner = hits.select { |h| h.how == :type }.group_by(&:number).transform_values(&:first)
      followed = hits.to_h { |h| [h.to, true] }
      @hits = hits.reject { |h| h.how == :type && followed[h.number] }
    end

    def rows
      groups = @hits.group_by { |h| [h.level, name(h.what, h.how), through(h), of(h)] }
      rows = groups.map do |(level, klass, through, of), hits|
        { level: level, class: klass, through: through, of: of, address: hits[0].address, count: hits.uniq(&:address).size, references: hits.sum(&:references) }
      end
      [@hits, @inner.values].flatten.each { |h| h.what = h.of = nil }
      rows.sort_by { |r| [r[:level], -r[:references], r[:class], r[:through], r[:of]] }
    end

    private

    # Writes the thread for the Fiber with its stack. Neither the thread that looks is shown, nor one that has ended.
    def shown?(hit)
      thread = objects(:thread_of, hit.what)
      return thread == false || !objects(:runs?, hit.what) unless thread
      hit.what, hit.address = thread, objects(:address_of, thread)
      !thread.equal?(Thread.current)
    end

    # No splat: its array would refer to the argument.
    def objects(name, argument)
      Mwrap::Objects.send(name, argument)
    end

    def name(what, how)
      case how
      when :root then "(root)"
      when :type then "(internal: #{what})"
      else objects(:class_name, how == :self ? objects(:class_of, what) : what)
      end
    end

    # The class to which it refers, past Ruby's internal objects.
    def of(hit)
      hit = @inner[hit.to] while hit.of_how == :type && @inner[hit.to]
      name(hit.of, hit.of_how)
    end

    def through(hit)
      text = label(hit)
      text += " → #{hit.label}" while hit.of_how == :type && (hit = @inner[hit.to])
      text
    end

    def label(hit)
      label = objects(:utf8, hit.label)
      case hit.what
      when Module then hit.how == :self ? of_module(hit.what, label) : label
      when Thread then label == "stack" ? fiber_local(hit) || label : label
      else hit.how == :root ? of_root(hit, label) : label
      end
    end

    # A global variable has a name. Ruby's own with other names may warn, so they aren't asked.
    def of_root(hit, label)
      return ROOTS.fetch(label, label) unless label == "global_tbl" && hit.of_how != :type
      @globals ||= global_variables.grep(/\A\$[a-z]\w*\z/).to_h { |name| [address_of_global(name), objects(:utf8, name.name)] }
      @globals.fetch(hit.of_address, ROOTS[label])
    end

    # With the name of the module that has the variable or constant
    def of_module(mod, label)
      name = objects(:module_name, mod)
      return "#{name}.#{label}" if label.start_with?("@")
      return "#{label} of #{name}" unless label.match?(/\A[[:upper:]]/)
      mod.equal?(Object) ? label : "#{name}::#{label}"
    end

    def address_of_global(name)
      objects(:address_of, objects(:global, name))
    rescue StandardError # the C function of a library may give its value
      nil
    end

    def fiber_local(hit)
      key = THREAD[:keys].bind_call(hit.what).find { |k| objects(:address_of, THREAD[:[]].bind_call(hit.what, k)) == hit.of_address }
      key && "[:#{objects(:utf8, key.name)}]"
    end
  end
  private_constant :Referrers
end
