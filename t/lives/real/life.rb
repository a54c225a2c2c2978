# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# life.rb - a real process by chance: one to three parts, an app's own garbage, a regime of collections, an allocator.
# The seed and the life's number give the same scripts again.
require_relative "parts"
require_relative "../../lib/allocators"

module RealLives
  # A part in a life: its module's name, its file, and the lines that a sentence may name
  Member = Struct.new(:part, :name, :file, :drawn, :lines, keyword_init: true) do
    def owner = part.owner&.gsub("NAME", name)
    def names?(location) = lines.any? { |l| location == l || location.start_with?("#{l}:") }
    # Of its file, or of another one for it
    def of_it?(location) = location.start_with?("#{file}:") || names?(location)
  end

  class Life
    LIB = File.expand_path("lib.rb", __dir__)
    SETTINGS = [{}, {}, {}, { "RUBY_GC_MALLOC_LIMIT_MAX" => "268435456", "RUBY_GC_OLDMALLOC_LIMIT_MAX" => "536870912" },
                { "MALLOC_ARENA_MAX" => "2" }, { "RUBY_GC_HEAP_GROWTH_FACTOR" => "1.1" }].freeze
    COLLECTIONS = [nil, nil, nil, "GC.start if i % 600 == 599", "GC.start(full_mark: false) if i % 100 == 99", "GC.compact if i % 900 == 899"].freeze
    LIBRARIES = Allocators::ALL.keys.to_h { |name| [name, nil] }.tap { |all| Allocators.each { |name, file, _| all[name] = file } }

    attr_reader :number, :members, :allocator, :child, :dir

    def initialize(seed, number, only: nil)
      @number = number
      @random = Random.new(seed * 100_003 + number)
      @child = chance(0.12)
      @allocator = chance(0.2) ? %w[jemalloc mimalloc].sample(random: @random) : nil
      @settings = SETTINGS.sample(random: @random)
      @collects = COLLECTIONS.sample(random: @random)
      @boot = @random.rand(60)
      @garbage = Integer(3 * 400**@random.rand) # requests' strings in each tenth of a second
      @members = draw(only)
      @collects = nil if members.any? { |m| m.part.name == "disable" } # GC.start collects, whether GC is disabled or not
    end

    def to_s
      ["life #{number}:", members.map { |m| m.part.name }.join(" + "), *allocator, *("child" if child), *@collects&.[](/\S+/), *@settings.map { |pair| pair.join("=") }].join(" ")
    end

    # Writes its scripts there, which must be empty
    def write(dir)
      @dir = dir
      members.each { |m| File.write("#{dir}/#{m.file}", text_of(m)) }
      members.each do |m|
        lines = File.readlines("#{dir}/#{m.file}", chomp: true)
        m.lines = lines.each_index.select { |i| lines[i].match?(/#!(\s|\z)/) }.map { |i| "#{m.file}:#{i + 1}" } + lines.flat_map { |l| l.scan(/#! (\S+)\z/).flatten }
      end
      File.write("#{dir}/app.rb", app)
    end

    def environment(tracker)
      library = LIBRARIES.fetch(allocator) if allocator
      @settings.merge("LD_PRELOAD" => [tracker, *library].join(":"))
    end

    private

    def chance(of) = @random.rand < of
    def between(from, to) = from * (to.to_f / from)**@random.rand # as many small as large ones

    def draw(only)
      kinds = []
      kinds << ALL.find { |p| p.name == only } if only
      wanted = [1, 1, 2, 2, 2, 3].sample(random: @random)
      kinds |= [ALL.flat_map { |p| [p] * p.weight }.sample(random: @random)] while kinds.size < wanted
      kinds.each_with_index.map do |part, i|
        name = part.name.split("_").map(&:capitalize).join + (i + 1).to_s
        size = between(60, 30_000).to_i
        drawn = Drawn.new(rate: between(400_000, 6_000_000).to_i, size: size, from: chance(0.5) ? 0 : @random.rand(10..140), count: @random.rand(12..60))
        Member.new(part: part, name: name, file: "#{part.name}_#{i + 1}.rb", drawn: drawn)
      end
    end

    def text_of(member)
      body = member.part.code.call(member.drawn).gsub(/^(?=.)/, "  ")
      "# frozen_string_literal: false\n\nmodule #{member.name}\n#{body}end\nLife::PARTS << #{member.name}\n"
    end

    def app
      <<~TEXT
        require #{LIB.dump}
        #{members.map { |m| "require_relative #{m.file.delete_suffix(".rb").dump}" }.join("\n")}
        BOOT = Array.new(#{@boot}) { "b" * (1 << 20) }
        def request(n) = "request \#{n}: " + "r" * (100 + n % 3000)
        def serve
          ledger = File.open("#{dir}/ledger", "w")
          Life.run(ledger) do |i|
            #{@garbage}.times { |n| request(n) }
            #{@collects}
          end
        end
        #{child ? "File.write(\"#{dir}/child\", fork { serve }.to_s)\nProcess.wait" : "serve"}
      TEXT
    end
  end
end
