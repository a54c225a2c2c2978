# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The most common leak of all: a class keeps its records, and nobody takes them out. They are too small for
# malloc. Prints "ready" once some hundred thousand stay, and goes on for as long as stdin is open.

class Visit
  def initialize(path, user)
    @path = path
    @user = user
  end
end

class Audit
  @visits = []

  class << self
    def note(path, user)
      @visits << Visit.new(path, user) # the leak
    end
  end
end

# A request: it makes objects that die.
def serve(n)
  path = "/products/#{n % 400}"
  Audit.note(path, :guest)
  [path, { n => [n, path] }, Array.new(3) { |i| [i, n] }].flatten.map(&:to_s).join
end

n = 0
until n == 400_000
  serve(n += 1)
  sleep 0.001 if n % 200 == 0
end
4.times { GC.start }
puts "ready"
$stdout.flush
until IO.select([$stdin], nil, nil, 0.01)
  serve(n += 1)
end
