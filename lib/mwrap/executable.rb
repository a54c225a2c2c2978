# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

module Mwrap
  # A program file: its path, and whether the dynamic linker will preload the tracker into it. Used
  # by the launcher only.
  class Executable # :nodoc: all
    # The command can't run: a line, and the exit status that shells give.
    class Missing < StandardError
      attr_reader :status

      def initialize(message, status)
        super(message)
        @status = status
      end
    end

    DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
    SCRIPTS_DEEP = 4 # the kernel's limit
    PT_LOAD = 1
    PT_DYNAMIC = 2
    PT_INTERP = 3
    DT_STRTAB = 5
    DT_STRSZ = 10
    SHT_SYMTAB = 2
    SHT_DYNSYM = 11
    SYMBOL_BYTES = 24
    STRINGS_MAX = 64 << 20
    SYMBOLS_MAX = 256 << 20

    # Runtimes of gcc's and clang's sanitizers that replace malloc (UBSan's doesn't), and the
    # symbols that they define in a program with a runtime inside: src/tracker/real/untracked.c.
    SANITIZER = /\A(?:lib(?:clang_rt\.)?(?:asan|lsan|tsan|hwasan|msan)[._-]|__(?:asan|lsan|tsan|hwasan|msan)_init\z)/n

    # Is this name a sanitizer's library or symbol?
    def self.sanitizer?(name) = name.b.match?(SANITIZER)

    # The text of an Errno exception without what Ruby adds to it.
    def self.reason(error) = error.class.new.message

    # The path of a command as execvp(3) finds it. Raises Missing.
    def self.find(command)
      return check(command, command) if command.include?("/")
      found = candidates(command)
      found.find { |path| runnable?(path) } or
        check(command, found.find { |path| File.file?(path) })
    end

    def self.candidates(command)
      return [] if command.empty?
      dirs = ENV.fetch("PATH", DEFAULT_PATH).split(":", -1)
      dirs.map { |dir| File.join(dir.empty? ? "." : dir, command) }
    end

    def self.check(command, path)
      return path if path && runnable?(path)
      raise Missing.new("#{command}: command not found", 127) unless path && File.exist?(path)
      raise Missing.new("#{command}: is a directory", 126) if File.directory?(path)
      raise Missing.new("#{command}: permission denied", 126)
    end

    # The path of libmwrap.so; nil: it isn't built. RubyGems may put its builds next to lib/ instead of into it.
    def self.tracker(lib)
      found = [lib, *$LOAD_PATH.grep(String)].lazy.map { |dir| File.join(dir, "libmwrap.so") }.find { |so| File.file?(so) }
      found && File.realpath(found)
    end

    # Can LD_PRELOAD name it? The dynamic linker splits at the first two and expands the third.
    def self.preloadable?(path) = !path.match?(/[ :$]/)

    # What LD_PRELOAD names for the tracker. A program of glibc that a process of musl starts would end with 127, as its
    # linker finds musl's library but not what that needs. It puts a name of its own for $LIB, which musl's doesn't, and
    # finds an empty library.
    def self.for_preload(tracker)
      path = File.join(File.dirname(tracker), "mwrap/preload/$LIB", File.basename(tracker))
      File.file?(path) ? path : tracker
    end

    def self.runnable?(path) = File.file?(path) && File.executable?(path)

    private_class_method :candidates, :check, :runnable?

    def initialize(path, depth = 0)
      @path = path
      @depth = depth
      @head = File.binread(path, 4096) || ""
    rescue SystemCallError, IOError # a file may be executable but not readable
      @head = ""
    end

    # The reasons why the program won't be tracked. Each follows the command's name in a line on
    # stderr. `tracker` is the path of libmwrap.so.
    def problems(tracker)
      return [] if @depth > SCRIPTS_DEEP
      return script_problems(tracker) if @head.start_with?("#!")
      return [] unless @head.start_with?("\x7FELF".b) && !dynamic_linker?
      [*privileges, *linkage(tracker)]
    end

    # Was the program, or the interpreter of a script, built with a sanitizer that replaces malloc?
    def sanitizer?
      return false if @depth > SCRIPTS_DEEP
      return interpreters.any? { |path| self.class.new(path, @depth + 1).sanitizer? } if @head.start_with?("#!")
      dynamic_names.any? { |name| self.class.sanitizer?(name) }
    end

    # The tracker must match in this: 32 or 64 bits, byte order, machine.
    def kind = @head.byteslice(4, 2) + (@head.byteslice(18, 2) || "")

    # Is the program, or the interpreter of a script, of the other C library than the tracker? Then what it starts is,
    # too, as a rule.
    def of_other_library?(tracker)
      return false if @depth > SCRIPTS_DEEP
      return interpreters.any? { |path| self.class.new(path, @depth + 1).of_other_library?(tracker) } if @head.start_with?("#!")
      @head.start_with?("\x7FELF".b) && interpreter? && musl? != self.class.new(tracker).musl?
    end

    # Is the C library of this program, or of this library, musl? Alpine's has a name of its own.
    def musl?
      return interpreter.match?(%r{/ld-musl-[^/]*\z}n) unless interpreter.empty?
      names = dynamic_names
      !names.include?("libc.so.6") && names.any?(/\Alibc\.(?:so|musl-.*\.so\.1)\z/n)
    end

    private

    # ld.so run with a program as its argument: it has no interpreter, but preloads.
    def dynamic_linker? = File.basename(@path).match?(/\Ald([-.]|\d|linux)/)

    def script_problems(tracker)
      interpreters.flat_map do |path|
        self.class.new(path, @depth + 1).problems(tracker).map { |line| " (#{path})#{line}" }
      end
    end

    # For "#!/usr/bin/env ruby": both env and ruby.
    def interpreters
      first, *args = @head.lines[0].delete_prefix("#!").split
      paths = [first]
      name = args.find { |arg| !arg.match?(/\A-|=/) } if first && File.basename(first) == "env"
      paths << self.class.find(name) if name
      paths.compact.select { |path| File.file?(path) }
    rescue Missing
      paths.compact # env reports it
    end

    def privileges
      stat = File.stat(@path)
      other = (stat.setuid? && stat.uid != Process.euid) || (stat.setgid? && stat.gid != Process.egid)
      other ? [": setuid or setgid: runs without the tracker"] : []
    end

    def linkage(tracker)
      if self.class.new(tracker).kind != kind
        [": of another architecture than the tracker: runs without it"]
      elsif !interpreter?
        [": statically linked: runs without the tracker"]
      elsif musl? != self.class.new(tracker).musl?
        [": linked to #{musl? ? "musl" : "glibc"}: runs without the tracker"]
      elsif sanitizer?
        [": built with a sanitizer: runs without the tracker"]
      elsif own_malloc?
        [": has a malloc of its own: its calls aren't tracked, unless that passes them on"]
      else
        []
      end
    end

    def wide? = @head.getbyte(4) == 2
    def order = @head.getbyte(5) == 2 ? ">" : "<"

    # The program headers, raw; nil if they can't be read.
    def headers
      e = order
      offset = wide? ? @head.byteslice(32, 8).unpack1("Q#{e}") : @head.byteslice(28, 4).unpack1("L#{e}")
      size, count = @head.byteslice(wide? ? 54 : 42, 4).unpack("S#{e}2")
      return unless size.to_i >= 4 && offset + size * count <= @head.bytesize
      Array.new(count) { |i| @head.byteslice(offset + size * i, size) }
    rescue NoMethodError # cut off
      nil
    end

    # True if a program header names a dynamic linker, or if the headers can't be read: then there
    # is nothing to warn of.
    def interpreter?
      headers.nil? || headers.any? { |h| h.unpack1("L#{order}") == PT_INTERP }
    end

    # The dynamic linker's path; "" if it can't be read
    def interpreter
      _, offset, _, size = segments.find { |type,| type == PT_INTERP }
      (offset && @head.byteslice(offset, size)).to_s.delete("\0")
    end

    # [type, offset in the file, address, size in the file] of each header, 64-bit only.
    def segments
      return [] unless wide? && (all = headers)
      all.map { |h| h.unpack("L#{order}L#{order}Q#{order}5").values_at(0, 2, 3, 5) }
    end

    # Does the program define malloc? Only the program's file tells, if its linker hid the name from libraries.
    def own_malloc?
      File.open(@path, "rb") do |f|
        all = sections(f)
        all.any? do |type, offset, size, names|
          [SHT_SYMTAB, SHT_DYNSYM].include?(type) && size <= SYMBOLS_MAX && all[names] &&
            defines_malloc?(f.pread(size, offset), f.pread(all[names][2].clamp(0, STRINGS_MAX), all[names][1]))
        end
      end
    rescue SystemCallError, IOError, NoMethodError # cut off
      false
    end

    # A symbol of that name, which may be the end of a longer one in the table of names, and in a section
    def defines_malloc?(symbols, names)
      at = -1
      while (at = names.index("malloc\0".b, at + 1))
        place = -1
        name = [at].pack("L#{order}")
        while (place = symbols.index(name, place + 1))
          return true if (place % SYMBOL_BYTES).zero? && symbols.byteslice(place + 6, 2) != "\0\0".b
        end
      end
      false
    end

    # [type, offset, size, number of its section of names] of each section, 64-bit only.
    def sections(file)
      return [] unless wide?
      offset, = @head.unpack("Q#{order}", offset: 40)
      size, count = @head.unpack("S#{order}2", offset: 58)
      file.pread(size * count, offset).unpack("a#{size}" * count).map { |s| s.unpack("L#{order}2Q#{order}4L#{order}").values_at(1, 4, 5, 6) }
    end

    # All names of libraries and symbols for the dynamic linker. None if they can't be read.
    def dynamic_names
      return [] unless @head.start_with?("\x7FELF".b)
      dynamic = segments.find { |type,| type == PT_DYNAMIC } or return []
      File.open(@path, "rb") do |f|
        tags = f.pread(dynamic[3], dynamic[1]).unpack("Q#{order}*").each_slice(2).to_h
        at = tags[DT_STRTAB]
        load = segments.find { |type, _, address, size| type == PT_LOAD && at&.between?(address, address + size - 1) }
        next [] unless load && tags[DT_STRSZ]&.between?(1, STRINGS_MAX)
        f.pread(tags[DT_STRSZ], load[1] + at - load[2]).split("\0")
      end
    rescue SystemCallError, IOError
      []
    end
  end
end
