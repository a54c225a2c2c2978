# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# sessions.rb - a server that doesn't end its sessions, as doc/story.md has it.
module Sessions
  ALL = {}

  def self.start(id)
    ALL[id] = "state of session #{id} " * 100
  end

  def self.finish(id)
    # forgotten: ALL.delete(id)
  end
end

def request(id)
  Sessions.start(id)
  "a page for #{id}"
ensure
  Sessions.finish(id)
end

loop { sleep 0.01 and request(rand(1 << 64)) } if $PROGRAM_NAME == __FILE__
