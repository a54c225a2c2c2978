# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# parts.rb - what a real life is made of: modules as people write them, and what is true of each.
#
# `#!` marks the lines that a sentence may name, and a word behind it other files, or lines of theirs. Each module
# has tick(t), which is called ten times a second with the seconds since the start, and kept: the bytes, or how many
# threads or descriptors, that stay.

module RealLives
  # truth   :leaks   should be told once it can be known
  #         :fills   may be told while it goes on, since nobody can know that it will end
  #         :rests   must not be accused
  # kinds   of verdicts that are right while it grows
  # owner   what a sentence may call the one that keeps it; NAME is the module's; nil: there is none
  # weight  how often it is drawn
  Part = Struct.new(:name, :truth, :kinds, :owner, :weight, :code, keyword_init: true)

  # What a part draws: bytes a minute, bytes of a block, seconds.
  Drawn = Struct.new(:rate, :size, :from, :count, keyword_init: true) do
    def pace(bytes = size) = "PACE = Life::Pace.new(#{rate}, #{bytes}, from: #{from})"
    # times: of what it draws a minute; each: at once
    def counted(times, each = 1) = "PACE = Life::Pace.new(#{count * times}, #{each}, from: #{from})"
    def kept(size = self.size) = "def self.kept = (@n || 0) * #{size}"
  end

  ALL = []
  def self.part(name, truth, kinds, owner: nil, weight: 2, &code)
    ALL << Part.new(name: name, truth: truth, kinds: kinds, owner: owner, weight: weight, code: code)
  end

  # The text of a part that does `each` as often as `pace`, a line, says. mark: other files that a sentence may name
  def self.ticking(pace, each, kept, before: nil, mark: nil)
    <<~TEXT
      #{pace}
      #{before}
      def self.tick(t)
        PACE.due(t).times { #{each} } #{["#!", *mark].join(" ")}
      end
      def self.kept = #{kept}
    TEXT
  end

  # A part that does one thing for each `size` bytes. once: what comes before; each: what is done, with n.
  def self.steady(name, kinds: %w[grows], truth: :leaks, bytes: ->(d) { d.size }, **rest, &code)
    part(name, truth, kinds, **rest) do |d|
      once, each = code.call(d)
      <<~TEXT
        #{d.pace(bytes.(d))}
        #{once}
        def self.tick(t)
          PACE.due(t).times { one(@n = (@n || 0) + 1) }
        end
        #{d.kept(bytes.(d))}
        def self.one(n)
        #{each.gsub(/^/, "  ")}
        end
      TEXT
    end
  end

  # --- strings and records that somebody keeps ---

  steady("class_array", owner: "NAME::LOG", weight: 4) do |d|
    ["LOG = []", %(LOG << ("x" * #{d.size}) #!\n)]
  end
  steady("hash_memo", owner: "NAME.@memo", bytes: ->(d) { d.size + 100 }, weight: 3) do |d|
    ["@memo = {}", %(@memo["user:\#{n}"] ||= "v" * #{d.size} #!\n)]
  end
  steady("struct_list", owner: "NAME::EVENTS", bytes: ->(d) { d.size + 120 }) do |d|
    ["EVENTS = []\nEvent = Struct.new(:id, :at, :text, :tags)",
     %(EVENTS << Event.new(n, Time.now, "e" * #{d.size}, nil) #!\n)]
  end
  steady("closure", owner: "NAME::CALLBACKS", bytes: ->(d) { d.size + 200 }) do |d|
    ["CALLBACKS = []", %(payload = "p" * #{d.size} #!\nCALLBACKS << -> { payload.size } #!\n)]
  end
  steady("global", owner: "$", bytes: ->(d) { d.size + 40 }) do |d|
    ["$seen = []", %($seen.push("s" * #{d.size}) #!\n)]
  end
  steady("class_variable", owner: "@@log", bytes: ->(d) { d.size + 40 }) do |d|
    ["class Audit\n@@log = []\ndef self.add(x) = @@log << x\nend", %(Audit.add("a" * #{d.size}) #!\n)]
  end
  steady("thread_local", bytes: ->(d) { d.size + 40 }) do |d|
    ["Thread.main[:trail] = []", %(Thread.main[:trail] << ("t" * #{d.size}) #!\n)]
  end
  steady("instance", owner: "NAME", bytes: ->(d) { d.size + 80 }) do |d|
    ["class Service\nattr_reader :history\ndef initialize = @history = Set.new\nend\nrequire \"set\"\nSERVICE = Service.new",
     %(SERVICE.history << ("%09d" % n + "h" * #{d.size}) #! set.rb\n)]
  end
  steady("queue", owner: "NAME::JOBS", bytes: ->(d) { d.size + 40 }) do |d|
    ["JOBS = Queue.new", %(JOBS << ("j" * #{d.size}) #!\n)]
  end
  steady("exceptions", owner: "NAME::ERRORS", bytes: ->(d) { d.size + 900 }) do |d|
    ["ERRORS = []\ndef self.fail!(n) = raise(ArgumentError, \"m\" * #{d.size}) #!",
     "fail!(n)\nrescue ArgumentError => e\nERRORS << e #!\n"]
  end
  steady("finalizer", bytes: ->(d) { d.size + 300 }) do |d|
    ["", %(data = "f" * #{d.size} #!\nobject = Object.new #!\nObjectSpace.define_finalizer(object, proc { [data, object].size }) #!\n)]
  end
  steady("json", owner: "NAME::ANSWERS", bytes: ->(d) { d.size + 700 }) do |d|
    ["require \"json\"\nANSWERS = []\nTEXT = JSON.generate({ list: (1..8).to_a, text: \"t\" * #{d.size} })",
     "ANSWERS << JSON.parse(TEXT) #! common.rb\n"]
  end
  # short ones have no memory of malloc's
  steady("spread", kinds: %w[grows heap], owner: "NAME::MIXED", bytes: ->(d) { d.size }) do |d|
    ["MIXED = []", (0...10).map { |k| "MIXED << ((n % 10).zero? ? \"\" : \"#{k}\" * #{d.size / 10}) #!\n" }.join]
  end
  steady("slow_cache", owner: "NAME::CACHE", bytes: ->(d) { d.size + 150 }) do |d|
    ["CACHE = {}\ndef self.fetch(key) = CACHE.fetch(key) { CACHE[key] = yield }", %(fetch([n, "k"]) { "c" * #{d.size} } #!\n)]
  end
  steady("sub_strings", owner: "NAME::WORDS", bytes: ->(d) { d.size + 40 }) do |d|
    ["WORDS = []", %(page = "w" * #{d.size} #!\nWORDS << page[0, #{d.size / 2}] #!\n)]
  end
  steady("methods", kinds: %w[grows heap], bytes: ->(_) { 1800 }) do |_|
    ["class Model; end", %(Model.class_eval("def field_\#{n}(a, b = 1) = a.to_s + b.to_s + \\"\#{n}\\"", "model.rb", 1) #! model.rb:1\n)]
  end
  steady("singleton", owner: "NAME::PLUGINS", kinds: %w[grows heap], bytes: ->(_) { 1400 }) do |_|
    ["PLUGINS = []", "plugin = Object.new #!\nplugin.define_singleton_method(:call) { n } #!\nPLUGINS << plugin #!\n"]
  end
  steady("symbols", kinds: %w[grows heap], owner: "NAME::NAMES", bytes: ->(d) { [d.size, 400].min + 200 }) do |d|
    ["NAMES = {}", %(NAMES[:"\#{"n" * #{[d.size, 400].min}}\#{n}"] = true #!\n)]
  end
  steady("weak_keys", owner: "NAME::KEYS", bytes: ->(d) { d.size + 120 }) do |d|
    ["KEYS = []\nNOTES = ObjectSpace::WeakMap.new", %(KEYS << (key = "k" * #{d.size}) #!\nNOTES[key] = key #!\n)]
  end
  steady("deflate", owner: "NAME::STREAMS", kinds: %w[grows], bytes: ->(_) { 268_000 }) do |_|
    ["require \"zlib\"\nSTREAMS = []", "STREAMS << Zlib::Deflate.new.tap { |z| z << \"z\" } #!\n"]
  end
  steady("ended_threads", owner: "NAME::RESULTS", bytes: ->(d) { d.size + 60 }) do |d|
    ["RESULTS = []", %(Thread.new { RESULTS << ("r" * #{d.size}) }.join #!\n)]
  end
  steady("in_a_thread", owner: "NAME::INBOX", bytes: ->(d) { d.size + 40 }) do |d|
    ["INBOX = []\nASKED = Queue.new\nWORKER = Thread.new { loop { ASKED.pop; INBOX << (\"i\" * #{d.size}) } } #!", "ASKED << 1\n"]
  end
  part("buffer", :leaks, %w[grows], owner: "NAME::OUT", weight: 3) do |d|
    ticking(d.pace(300), %(OUT << ("l" * 300)), "OUT.string.bytesize", before: %(require "stringio"\nOUT = StringIO.new))
  end
  part("growing_string", :leaks, %w[grows], owner: "NAME.@text", weight: 1) do |d|
    ticking(d.pace(500), %(@text << ("l" * 500)), "@text.bytesize", before: %(@text = +""))
  end

  # --- memory of C's ---

  NATIVE = <<~'TEXT'
    require "fiddle"
    C = ->(name, from, to) { Fiddle::Function.new(Fiddle::Handle::DEFAULT[name], from, to) }
    MALLOC = C.("malloc", [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_VOIDP)
    REALLOC = C.("realloc", [Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T], Fiddle::TYPE_VOIDP)
    MEMSET = C.("memset", [Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT, Fiddle::TYPE_SIZE_T], Fiddle::TYPE_VOIDP)
    MMAP = C.("mmap", [Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, *[Fiddle::TYPE_INT] * 3, Fiddle::TYPE_LONG], Fiddle::TYPE_VOIDP)
  TEXT
  steady("c_lost", weight: 3) do |d|
    [NATIVE, "MEMSET.(MALLOC.(#{d.size}), 1, #{d.size}) #!\n"]
  end
  steady("mmap", kinds: %w[native], bytes: ->(_) { 262_144 }) do |_|
    [NATIVE, "MEMSET.(MMAP.(nil, 262_144, 3, 0x22, -1, 0), 1, 262_144) #!\n"]
  end
  # each hole has a small block before it, which makes it too small for what comes later
  part("fragments", :leaks, %w[fragmentation grows]) do |d|
    <<~TEXT
      #{NATIVE}
      #{d.pace(40_000)}
      USED = []
      @pinned = 0
      def self.tick(t)
        PACE.due(t).times do
          MEMSET.(block = MALLOC.(size = 40_000), 1, size) #!
          USED << block
          if USED.size > 40
            REALLOC.(USED.shift, 24)
            @pinned += 1
          end
        end
      end
      def self.kept = @pinned * 40_000
    TEXT
  end

  # --- what is counted, and Ruby's heap ---

  # count: how many a minute
  part("threads", :leaks, %w[threads stacks], weight: 3) do |d|
    ticking(d.counted(1), "@n = (@n || 0) + 1; Thread.new { sleep }", "@n || 0")
  end
  part("fibers", :leaks, %w[stacks grows], owner: "NAME::POOL") do |d|
    ticking(d.counted(2), "POOL << Fiber.new { [1].each { Fiber.yield } }.tap(&:resume)", "POOL.size * 25_000", before: "POOL = []")
  end
  part("enumerators", :leaks, %w[stacks grows], owner: "NAME::OPEN", weight: 1) do |d|
    ticking(d.counted(2), "OPEN << (1..9).each.tap(&:next)", "OPEN.size * 25_000", before: "OPEN = []")
  end
  part("descriptors", :leaks, %w[descriptors]) do |d|
    ticking(d.counted(2, 2), "OPEN << UNIXSocket.pair", "OPEN.size * 2", before: %(require "socket"\nOPEN = []))
  end
  steady("objects", kinds: %w[heap grows], owner: "NAME", weight: 3, bytes: ->(_) { 40 }) do |_|
    ["@list = nil", "@list = [@list, n] #!\n"]
  end
  steady("plain_objects", kinds: %w[heap grows], owner: "NAME::USERS", weight: 3, bytes: ->(_) { 48 }) do |_|
    ["class User\ndef initialize(id) = @id = id\nend\nUSERS = []", "USERS << User.new(n) #!\n"]
  end
  steady("short_strings", kinds: %w[heap grows], owner: "NAME::IDS", bytes: ->(_) { 48 }) do |_|
    ["IDS = []", "IDS << \"id-\#{n}\" #!\n"]
  end
  part("disable", :leaks, %w[disabled], weight: 1) do |d|
    <<~TEXT
      #{d.pace(2000)}
      def self.tick(t)
        (PACE.due(t) * 4).times { @n = (@n || 0) + 1; "g" * 2000 } #!
        GC.disable if PACE.active?(t)
      end
      def self.kept = (@n || 0) * 2000
    TEXT
  end

  # --- caches ---

  part("lru", :fills, %w[grows], owner: "NAME::CACHE", weight: 4) do |d|
    <<~TEXT
      #{d.pace}
      MOST = #{[d.rate * 150 / 60 / d.size / 4, 20].max}
      CACHE = {}
      def self.tick(t)
        PACE.due(t).times do
          CACHE[@n = (@n || 0) + 1] = "c" * #{d.size} #!
          CACHE.shift if CACHE.size > MOST
        end
      end
      def self.kept = CACHE.size * #{d.size}
    TEXT
  end
  part("ttl", :fills, %w[grows], owner: "NAME::CACHE", weight: 2) do |d|
    <<~TEXT
      #{d.pace}
      CACHE = {}
      def self.tick(t)
        PACE.due(t).times { CACHE[@n = (@n || 0) + 1] = [t + 45, "c" * #{d.size}] } #!
        CACHE.shift while CACHE.any? && CACHE.first[1][0] < t
      end
      def self.kept = CACHE.size * #{d.size}
    TEXT
  end
  part("store", :fills, %w[grows], owner: "NAME", weight: 2) do |d|
    <<~TEXT
      #{d.pace}
      # as a memory store: half of it goes when it is full
      class Store
        attr_reader :bytes
        def initialize(most) = (@most, @data, @bytes = most, {}, 0)
        def write(key, value)
          @data[key] = value
          @bytes += value.bytesize
          @bytes -= @data.shift[1].bytesize while @bytes > @most / 2 && @full
          @full = @bytes > @most
        end
      end
      STORE = Store.new(#{d.rate * 2})
      def self.tick(t)
        PACE.due(t).times { STORE.write(@n = (@n || 0) + 1, "s" * #{d.size}) } #!
      end
      def self.kept = STORE.bytes
    TEXT
  end
  part("filled", :fills, %w[grows], owner: "NAME::MEMO", weight: 3) do |d|
    ticking("PACE = Life::Pace.new(#{d.rate}, #{d.size}, from: #{d.from}, till: #{d.from + 130})", %(MEMO[MEMO.size] = "m" * #{d.size}), "MEMO.size * #{d.size}", before: "MEMO = {}")
  end
  part("weak", :rests, [], weight: 2) do |d|
    ticking(d.pace, %(REFS[@key = "w" * #{d.size}] = @key), "0", before: "REFS = ObjectSpace::WeakMap.new")
  end
  # old when it becomes garbage
  part("aging", :rests, [], weight: 3) do |d|
    <<~TEXT
      #{d.pace}
      LAST = []
      MOST = #{[d.rate / 6 / d.size, 5].max}
      def self.tick(t)
        PACE.due(t).times do
          LAST << ("a" * #{d.size}) #!
          LAST.shift if LAST.size > MOST
        end
      end
      def self.kept = LAST.size * #{d.size}
    TEXT
  end

  # --- what comes and goes ---

  part("spike", :fills, %w[grows], weight: 2) do |d|
    <<~TEXT
      FROM = #{d.from + 60}
      def self.tick(t)
        @rows = [] if t >= FROM && !@rows
        return unless @rows

        if t < FROM + 25
          #{[d.rate / 250 / 2000 * 4, 1].max}.times { @rows << ("s" * 2000) } #!
        else
          @rows.clear
        end
      end
      def self.kept = (@rows || []).size * 2000
    TEXT
  end
  part("peaks", :rests, [], weight: 2) do |d|
    <<~TEXT
      EVERY = #{20 + d.from % 40}
      def self.tick(t)
        return unless (turn = t.to_i / EVERY) != @turn

        @turn = turn
        page = Array.new(#{[d.rate / 3000, 10].max}) { "p" * 3000 } #!
        page.size
      end
      def self.kept = 0
    TEXT
  end
  part("thread_pool", :fills, %w[threads stacks], weight: 1) do |d|
    ticking("PACE = Life::Pace.new(30, 1, from: #{d.from}, till: #{d.from + 60})", "@n = (@n || 0) + 1; Thread.new { sleep }", "@n || 0")
  end
  part("thread_churn", :rests, [], weight: 1) do |d|
    ticking(d.counted(4), %(Thread.new { "t" * #{d.size} }), "0")
  end
  part("unclosed", :rests, [], weight: 1) do |d|
    ticking(d.counted(2), %(File.open("/dev/null")), "0")
  end
  part("templates", :fills, %w[grows heap], weight: 2) do |d|
    <<~TEXT
      require "erb"
      PACE = Life::Pace.new(40, 1, from: 0, till: 150)
      PAGES = []
      TEXT = "<% 9.times do |i| %><p><%= i %> and <%= i * 2 %></p>\\n<% end %>\\n" * 12
      def self.tick(t)
        PACE.due(t).times { PAGES << ERB.new(TEXT).tap { |e| e.def_method(Module.new, "render") } } #! erb.rb
      end
      def self.kept = PAGES.size * 40_000
    TEXT
  end
end
