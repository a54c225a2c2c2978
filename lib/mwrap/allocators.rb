# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "rbconfig"

module Mwrap
  # Finds other allocators' shared objects, for the option malloc:. Not for use elsewhere.
  module Allocators # :nodoc: all
    # name => the object's name, and its Debian package. Of several versions the newest is taken.
    # tcmalloc without its profiler comes first: the profiler would take signals and stacks of its
    # own.
    KNOWN = {
      "jemalloc" => [[/\Alibjemalloc\.so\.2\z/], "libjemalloc2"],
      "mimalloc" => [[/\Alibmimalloc\.so\.\d+(?:\.\d+)*\z/], "libmimalloc3 or libmimalloc2.0"],
      "tcmalloc" => [[/\Alibtcmalloc_minimal\.so\.4\z/, /\Alibtcmalloc\.so\.4\z/], "libtcmalloc-minimal4 or libtcmalloc-minimal4t64"]
    }.freeze

    module_function

    # The absolute path, or nil.
    def find(name, paths = installed)
      patterns, = KNOWN.fetch(name)
      patterns.each do |pattern|
        found = paths.select { |path| File.basename(path).match?(pattern) && usable?(path) }
        return found.max_by { |path| version(path) } unless found.empty?
      end
      nil
    end

    def package(name) = KNOWN.fetch(name)[1]

    # The linker splits LD_PRELOAD at blanks and colons, and expands $.
    def usable?(path) = File.file?(path) && !path.match?(/[ :$]/)

    def version(path) = path[/\d+(?:\.\d+)*\z/].to_s.split(".").map(&:to_i)

    # Shared objects that the dynamic linker finds by name, in this order: LD_LIBRARY_PATH, the
    # linker's cache, the usual directories (for systems without a cache).
    def installed
      dirs = ENV.fetch("LD_LIBRARY_PATH", "").split(/[:;]/).reject(&:empty?)
      dirs.flat_map { |dir| Dir[File.join(File.expand_path(dir), "*.so*")] rescue [] } + cached + usual # the working directory may be gone
    end

    # "	NAME (libc6,x86-64) => PATH". An object of another machine's is passed over.
    def cached
      tool = %w[/sbin/ldconfig /usr/sbin/ldconfig].find { |path| File.executable?(path) } or return []
      lines = IO.popen([tool, "-p"], err: File::NULL, &:readlines)
      same = File.binread(RbConfig.ruby, 20)
      lines.filter_map { |line| line[/ => (\/.*)$/, 1] }.select { |path| built_like?(path, same) }
    rescue SystemCallError
      []
    end

    # Are class, byte order and machine those of an ELF file that begins with `elf`?
    def built_like?(path, elf)
      head = File.binread(path, 20)
      head && head.byteslice(0, 6) == elf.byteslice(0, 6) && head.byteslice(18, 2) == elf.byteslice(18, 2)
    rescue SystemCallError
      false
    end

    def usual
      arch = RbConfig::CONFIG["arch"].to_s.sub(/-linux\z/, "-linux-gnu")
      %W[/usr/local/lib /usr/lib/#{arch} /lib/#{arch} /usr/lib64 /usr/lib].flat_map { |dir| Dir["#{dir}/*.so.*"] }
    end
  end
end
