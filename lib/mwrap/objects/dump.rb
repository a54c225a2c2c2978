# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require "tmpdir"

#--
# The whole heap as text. Needs lib/mwrap/objects.rb.
#++
module Mwrap::Objects
  # Objects in a dump, unless another limit is given.
  DUMP_MAX = 5_000_000
  STRINGS_MAX = 1 << 30 # bytes: Ruby writes their contents to the file, before they are left out
  private_constant :STRINGS_MAX

  # There are more objects than the limit given.
  class TooLarge < StandardError; end

  class << self
    # Writes all objects to +io+, which needs a method +write+: a line of JSON for each, as
    # ObjectSpace.dump_all makes them, with address, type, class, memsize and references, and with file, line
    # and generation while ObjectSpace traces allocations. Returns the number of bytes written.
    #
    # The contents of strings, symbols and floats are left out, unless +contents+ is true. Names of
    # classes, variables, methods and files are there.
    #
    # A million objects take 0.5 s, during which the application's Ruby threads stand still for most of the
    # time; 280 MB of Dir.tmpdir, in a file without a name; and then 1 s to leave out contents.
    # The file also has all contents of strings. Raises TooLarge if the heap has more than +limit+
    # objects or 1 GiB of strings, Busy, Unavailable (also while other
    # Ractors run), SystemCallError, and what +io+ raises.
    def dump(io, contents: false, limit: DUMP_MAX)
      body = dumped(contents, limit)
      body.sum { |text| io.write(text); text.bytesize }
    ensure
      body&.close
    end

    # A body as Rack takes it
    def dumped(contents = false, limit = DUMP_MAX) # :nodoc:
      Dumped.new(contents, limit)
    end

    private

    # Returns a file without a name.
    def dump_file(limit)
      alone do
        only_ractor
        slots = ObjectSpace.count_objects
        n = slots[:TOTAL] - slots[:FREE]
        raise TooLarge, "#{n} objects: more than the limit of #{limit}" if n > limit
        bytes = ObjectSpace.memsize_of_all(String)
        raise TooLarge, "#{bytes} bytes of strings: more than the limit of #{STRINGS_MAX}" if bytes > STRINGS_MAX
        file = nameless
        begin
          ObjectSpace.dump_all(output: file)
          file.flush
          file.tap(&:rewind)
        rescue Exception
          file.close
          raise
        end
      end
    end

    def nameless # :nodoc:
      File.open(Dir.tmpdir, File::RDWR | File::TMPFILE, 0o600, binmode: true)
    rescue Errno::EOPNOTSUPP, Errno::EISDIR, Errno::ENOENT # a file system that can't
      path = File.join(Dir.tmpdir, "mwrap-#{Process.pid}-#{rand(1 << 60).to_s(36)}")
      File.open(path, File::RDWR | File::CREAT | File::EXCL, 0o600, binmode: true).tap { File.unlink(path) }
    end
  end

  # A dump that is read once: a body as Rack takes it.
  class Dumped # :nodoc: all
    include Enumerable

    VALUE = /, "value":(?:"(?:[^"\\]|\\.)*"|[^"{\[][^,}]*)/n
    PART = 1 << 18

    def initialize(contents, limit)
      @contents = contents
      @file = Mwrap.quiet { Mwrap::Objects.send(:dump_file, limit) }
    end

    # Whole lines. The block's allocations are tracked.
    def each
      while (part = Mwrap.quiet { take })
        yield part
      end
    end

    def close
      @file.close
    end

    private

    def take
      part = @file.read(PART) or return
      part << @file.gets.to_s unless part.end_with?("\n")
      @contents ? part : part.gsub(VALUE, "").tap { part.clear } # else the next dump would have it
    end
  end
  private_constant :Dumped
end
