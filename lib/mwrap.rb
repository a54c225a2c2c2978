# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

# Finds the lines of a running Ruby program that allocate memory, and those that keep it.
#
# The program must be started with the tracker, as mwrap(1) does, or call Mwrap.start; see doc/ruby.md.
# Without it this library loads and costs nothing, every count is 0, and Mwrap.each yields nothing.
# Mwrap.tracking? tells whether the tracker is there.
#
# Bytes are those asked for from malloc(3) and its relatives. Lifespans and generations are counted
# in runs of the GC (GC.count). All methods may be called in any thread and Ractor.
#
#   require "mwrap"
#   Mwrap.each(1_000_000) do |name, *|
#     at = Mwrap[name] or next
#     puts "#{name}: #{at.live} blocks live, #{at.live_bytes} bytes"
#   end
module Mwrap
  # Marks this moment by a name, for comparisons: <tt>/diff?from=NAME</tt> shows what has come and gone since. The
  # history's curves show it, too. A mark of the same name is replaced. A forked child begins without marks.
  #
  # +name+ is a line of 1 to 80 bytes of UTF-8. Without a server, the history begins with the first call, as with
  # MwrapRack.new. The call takes some milliseconds, and waits up to two seconds for a server that is busy or starts.
  #
  # Returns true; false without the tracker. Raises RuntimeError if the mark can't be set. It is for the main Ractor.
  def self.mark(name)
    return false unless tracking?
    require_relative "mwrap_rack"
    require "uri"
    query = URI.encode_www_form("name" => name.to_s)
    status, _, body = MwrapRack.new(authorize: ->(_) { true }).call("REQUEST_METHOD" => "POST", "PATH_INFO" => "/mark", "QUERY_STRING" => query)
    text = +""
    body.each { |part| text << part }
    body.close if body.respond_to?(:close)
    status < 300 or raise text.chomp
    true
  end
end

require_relative "mwrap/version"
require "mwrap/mwrap_ext"
