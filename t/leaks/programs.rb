# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later
#
# programs.rb - small programs of many kinds, as data: those that keep nothing of each call, and those
# that leak in Ruby. t/leak_programs.t runs each one in a process of its own.
#
# A program's block is called once, and returns its step. A leak's line has the comment "# leaks here".
# Where blocks are counted they are larger than any object: up to 640 bytes fit into one since Ruby 3.2.
module LeakPrograms
  # blocks: kept of each call, 0 for what doesn't leak; line: where
  Program = Struct.new(:name, :blocks, :line, :block)
  ALL = [] # rubocop:disable Style/MutableConstant
  PATH = File.expand_path(__FILE__)
  SOURCE = File.readlines(PATH)

  class << self
    def clean(name, &block) = ALL << Program.new(name, 0, nil, block)

    def leak(name, blocks = 1, &block)
      from = block.source_location[1]
      line = from + SOURCE[from - 1..].index { |text| text.include?("# leaks here") }
      ALL << Program.new(name, blocks, line, block)
    end
  end

  # --- leaks ---------------------------------------------------------------------------------

  leak("an array that grows") do
    kept = []
    -> { kept << "x" * 1000 } # leaks here
  end

  leak("a hash that grows") do
    sessions = {}
    -> { sessions[sessions.size] = "session" * 200 } # leaks here
  end

  leak("a class variable") do
    registry = Class.new do
      class_variable_set(:@@seen, [])
      def self.see(text) = class_variable_get(:@@seen).push(text.upcase) # leaks here
    end
    text = "seen" * 300
    -> { registry.see(text) }
  end

  leak("closures that are kept", nil) do
    callbacks = []
    subscribe = ->(data) { callbacks << -> { data } } # leaks here
    -> { subscribe.call(Array.new(50) { |i| i * 10 }) }
  end

  leak("a thread's variable") do
    main = Thread.main
    main[:trail] = []
    -> { main[:trail] << ("crumb" * 200) } # leaks here
  end

  leak("methods that are defined for ever", nil) do
    target = Class.new
    count = 0
    -> { target.define_method("m#{count += 1}") { count } } # leaks here
  end

  leak("instruction sequences that are kept", nil) do
    templates = {}
    -> { templates[templates.size] = RubyVM::InstructionSequence.compile("[1, 2, 3].map { |x| x + 1 }") } # leaks here
  end

  leak("singleton classes of kept objects", nil) do
    objects = []
    -> { objects << Object.new.tap { |o| def o.hello = 1 } } # leaks here
  end

  leak("a queue that nobody empties") do
    queue = Queue.new
    -> { queue << ("job" * 300) } # leaks here
  end

  leak("observers that never leave", nil) do
    subject = Struct.new(:observers).new({})
    -> { subject.observers[Object.new] = Array.new(20).push(Array.new(30)) } # leaks here
  end

  leak("finalizers that hold their object", nil) do
    -> { "data" * 30.tap { |n| o = Object.new; ObjectSpace.define_finalizer(o, proc { o }) } } # leaks here
  end

  leak("small objects in a list") do
    kept = []
    -> { kept << Object.new } # leaks here
  end

  leak("arrays in arrays", nil) do
    kept = []
    -> { kept << [[1] * 20, [2] * 30] } # leaks here
  end

  leak("two blocks of each call", 2) do
    kept = []
    -> { kept << [("a" * 1000), ("b" * 2000)] } # leaks here
  end

  leak("one block of every second call", 0.5) do
    kept = []
    count = 0
    -> { kept << ("x" * 800) if (count += 1).even? } # leaks here
  end

  # --- strings, symbols, numbers ---------------------------------------------------------------

  clean("strings that come and go") { -> { Array.new(50) { |i| "x" * (i * 20) }.join(",").split(",") } }
  clean("a string that is built") { -> { 100.times.with_object(+"") { |i, s| s << "line #{i}\n" }.lines.map(&:strip) } }
  clean("encodings") { -> { ("\u00e4" * 100).encode("UTF-16LE").encode("ISO-8859-1").force_encoding("UTF-8").scrub("?").unicode_normalize(:nfd) } }
  clean("symbols of a fixed set") { words = Array.new(50) { |i| "word_number_#{i}" }; -> { words.map(&:to_sym) } }
  clean("symbols that are garbage") { n = 0; -> { 20.times.map { "never_used_#{n += 1}".to_sym }.size } }
  clean("regular expressions") { text = "key=value; other=thing\n" * 50; -> { text.scan(/(\w+)=(\w+)/).to_h; text.gsub(/v(al)ue/) { $1.upcase }; $~ } }
  clean("regular expressions made at run time") { n = 0; -> { n += 1; Regexp.new("a{#{n % 50 + 1}}(?<name>b*)").match("a" * 60) } }
  clean("big numbers") { -> { (3**500).digits.sum + (7**300).to_s.to_i.gcd(2**200) + Rational(3**80, 7**60).numerator } }
  clean("BigDecimal") { require "bigdecimal"; -> { (BigDecimal("1.23456789") ** 40).round(30).to_s("F") } }
  clean("pack and unpack") { -> { Array.new(200) { |i| i }.pack("N*").unpack("n*").pack("U*").unpack1("m") } }
  clean("format") { -> { Array.new(60) { |i| format("%05d %-20s %.3e", i, "name", i / 3.0) } } }

  # --- collections ----------------------------------------------------------------------------

  clean("hashes") { -> { Array.new(100) { |i| ["key#{i}", [i] * 10] }.to_h.transform_values(&:sum).group_by { |_, v| v % 3 }.sort_by { |k, _| k } } }
  clean("a hash that is filled and emptied") { table = {}; -> { 100.times { |i| table[i] = "v" * 50 }; table.clear } }
  clean("sets") { require "set"; -> { (Set.new(1..100) | Set.new((50..200).map(&:to_s))).subtract(60..70).group_by(&:class) } }
  clean("structs") { point = Struct.new(:x, :y, :z, :name, :note); -> { Array.new(30) { |i| point.new(i, i, i, "p" * 30, nil).to_h } } }
  clean("structs made at run time") { -> { Struct.new(:a, :b).new(1, 2).to_a } }
  clean("objects with many variables") { -> { Array.new(20) { |i| Object.new.tap { |o| 8.times { |v| o.instance_variable_set("@v#{v}", i.to_s * 30) } } } } }
  clean("a cache that fills") { cache = {}; n = 0; -> { cache[(n += 1) % 15] ||= "page" * 100 } }
  clean("a cache that replaces") { cache = {}; n = 0; -> { cache[(n += 1) % 15] = "page" * 100 } }
  clean("a cache of the last ones") { cache = []; -> { cache << ("page" * 100); cache.shift if cache.size > 10 } }
  clean("memoisation") { memo = Hash.new { |h, k| h[k] = "result" * (k + 20) }; n = 0; -> { memo[(n += 7) % 19] } }
  clean("what is made at the first call") { holder = Class.new { def data = @data ||= Array.new(100) { "x" * 50 } }.new; -> { holder.data.size } }
  clean("what is made at the 30th call") { kept = nil; n = 0; -> { kept = Array.new(500) { "late" * 20 } if (n += 1) == 30 } }
  clean("a weak map") { map = ObjectSpace::WeakMap.new; -> { key = "key" * 20; map[key] = Object.new; map.size } }
  clean("finalizers") { -> { ObjectSpace.define_finalizer("x" * 100, proc { nil }) } }
  clean("weak references") { require "weakref"; -> { WeakRef.new("x" * 200).weakref_alive? } }
  clean("sorting") { -> { Array.new(300) { |i| [i * 7919 % 300, "s" * 30] }.sort.uniq(&:first).each_slice(7).to_a.transpose rescue 0 } }
  clean("enumerators") { -> { e = [1, 2, 3].each; [e.next, e.next, (1..Float::INFINITY).lazy.map { |x| x * 2 }.select { |x| x % 3 == 0 }.first(5)] } }
  clean("arrays that are shifted and pushed") { ring = Array.new(100) { "r" * 40 }; -> { 30.times { ring.push(ring.shift + "") } } }

  # --- code -------------------------------------------------------------------------------------

  clean("define_method once") { made = Class.new; -> { made.define_method(:hello) { 1 } unless made.method_defined?(:hello); made.new.hello } }
  clean("classes that are garbage") { -> { Class.new { attr_accessor :a; def hello = 1 }.new.hello } }
  # YJIT keeps a Proc and a method of each, also without the tracker: ObjectSpace.count_objects tells.
  unless defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?
    clean("methods that are redefined") { made = Class.new; n = 0; -> { n += 1; made.define_method(:hello) { n }; made.new.hello } }
  end
  clean("singleton methods of garbage") { -> { Object.new.then { |o| def o.hello = 1; o.hello } } }
  clean("method_missing and respond_to?") { o = Class.new { def method_missing(name, *) = name.to_s * 10; def respond_to_missing?(*) = true }.new; -> { [o.foo, o.bar, o.respond_to?(:baz)] } }
  clean("eval") { -> { eval("[1, 2].map { |x| x * 2 }") } } # rubocop:disable Security/Eval,Style/EvalWithLocation
  clean("closures") { -> { Array.new(20) { |i| ->(x) { x + i } }.sum { |f| f.call(1) } } }
  clean("exceptions") { -> { Integer("wrong" * 20) rescue $!.full_message } }
  clean("throw and catch") { -> { catch(:done) { 10.times { |i| throw :done, "x" * 100 if i == 5 } } } }
  clean("deep recursion") { down = ->(n) { n.zero? ? "x" * 50 : down.(n - 1) + "y" }; -> { down.(200) } }
  clean("refinements and modules") { -> { Module.new { def helper = "h" * 30 }.then { |m| Object.new.extend(m).helper } } }
  clean("a tracepoint") { -> { seen = []; TracePoint.new(:call, :c_call) { |t| seen << t.method_id }.enable { [1, 2].sum }; seen } }
  clean("parsing Ruby") { require "ripper"; -> { Ripper.sexp("def foo(a, b = 1) = a + b * [1, 2].sum { |x| x }") } }
  clean("pattern matching") { -> { { name: "x" * 50, list: [1, [2, 3]] } => { name: String => n, list: [Integer, [*, 3]] }; n } }
  clean("objects that are marshalled") { data = { a: [1, "x" * 60, 2.5], b: Struct.new("LeakProgramPoint", :x, :y).new(1, "y" * 50) }; -> { Marshal.load(Marshal.dump(data)) } }

  # --- threads, fibers, processes ------------------------------------------------------------------

  clean("threads") { -> { Array.new(3) { |i| Thread.new { Thread.current[:name] = "t" * 50; "r" * (100 + i) } }.map(&:value) } }
  clean("thread variables") { -> { Thread.current[:request] = "r" * 200; Thread.current.thread_variable_set(:user, "u" * 100) } }
  clean("queues and a worker") do
    jobs, done = Queue.new, Queue.new
    Thread.new { while (job = jobs.pop) do done << job.upcase end }
    -> { 5.times { jobs << ("j" * 100) }; 5.times { done.pop } }
  end
  clean("mutexes and condition variables") { require "monitor"; -> { Monitor.new.synchronize { Mutex.new.synchronize { ConditionVariable.new.signal } } } }
  clean("a thread that allocates by itself") { Thread.new { loop { Array.new(20) { |i| "own" * (30 + i) }; sleep 0.0005 } }; -> { "mine" * 50 } }
  clean("fibers") { -> { f = Fiber.new { |x| 3.times { x = Fiber.yield("f" * x) } }; [f.resume(50), f.resume(60), f.resume(70)] } }
  clean("fibers that never end") { -> { f = Fiber.new { Fiber.yield("f" * 100) }; f.resume } }
  clean("ractors") { -> { r = Ractor.new { Ractor.receive * 2 }; r.send("r" * 100); r.respond_to?(:value) ? r.value : r.take } }
  clean("timeouts") { require "timeout"; -> { Timeout.timeout(5) { "t" * 100 } } }
  clean("forks") { -> { Process.wait(fork { exit!(0) }) } }
  clean("a fork that comes back") { parent = Process.pid; -> { pid = fork; Process.wait(pid) if Process.pid == parent } }
  clean("programs") { require "open3"; -> { Open3.capture2e("cat", stdin_data: "x" * 300) } }
  clean("spawn and backticks") { -> { [`echo #{"x" * 50}`, system("true")] } }
  clean("signals") { come = 0; trap("USR1") { come += 1 }; -> { was = come; Process.kill("USR1", $$); Thread.pass until come > was } }

  # --- files and sockets -------------------------------------------------------------------------

  clean("files") { -> { File.foreach(__FILE__).first(50).map(&:upcase); File.read(__FILE__).size; File.stat(__FILE__).mtime } }
  clean("temporary files") { require "tempfile"; -> { Tempfile.create("leak") { |f| f.write("x" * 5000); f.rewind; f.read } } }
  clean("temporary files that the GC closes") { require "tempfile"; -> { Tempfile.new("leak").write("x" * 100) } }
  clean("folders") { -> { Dir.children(__dir__).sort.map { |name| File.join(__dir__, name) }.grep(/rb/).map { |f| File.basename(f) } } }
  clean("pathnames") { require "pathname"; -> { Pathname.new(__dir__).join("..", "lib").cleanpath.each_child.map(&:to_s) } }
  clean("pipes and select") { -> { r, w = IO.pipe; w << ("p" * 100); IO.select([r], nil, nil, 0); w.close; r.read.tap { r.close } } }
  clean("StringIO") { require "stringio"; -> { io = StringIO.new; 50.times { |i| io.puts "line #{i}" }; io.rewind; io.each_line.to_a } }
  clean("StringScanner") { require "strscan"; -> { s = StringScanner.new("foo 12 bar 34 " * 20); s.scan(/\w+/) || s.getch until s.eos? } }
  clean("sockets") do
    require "socket"
    server = TCPServer.new("127.0.0.1", 0)
    Thread.new { while (c = server.accept) do c.write(c.gets); c.close end }
    -> { TCPSocket.open("127.0.0.1", server.addr[1]) { |s| s.puts("s" * 200); s.read } }
  end
  clean("a pair of sockets") { require "socket"; -> { a, b = UNIXSocket.pair; a.write("x" * 500); b.readpartial(500).tap { a.close; b.close } } }
  clean("Net::HTTP") do
    require "net/http"
    require "socket"
    server = TCPServer.new("127.0.0.1", 0)
    Thread.new do
      while (c = server.accept)
        nil until c.gets == "\r\n"
        c.write("HTTP/1.1 200 OK\r\nContent-Length: 300\r\nX-Some: thing\r\nConnection: close\r\n\r\n#{"b" * 300}")
        c.close
      end
    end
    uri = URI("http://127.0.0.1:#{server.addr[1]}/a?b=c")
    -> { Net::HTTP.get_response(uri).body.size }
  end

  # --- the standard library -----------------------------------------------------------------------

  clean("JSON") { require "json"; data = { "list" => Array.new(50) { |i| { "id" => i, "name" => "n" * 40 } } }; -> { JSON.parse(JSON.generate(data), symbolize_names: true) } }
  clean("JSON that is wrong") { require "json"; -> { JSON.parse('{"a": [1, 2, "' + ("x" * 300)) rescue $!.message.size } }
  clean("YAML") { require "yaml"; data = { "a" => [1, 2.5, "text" * 20], "b" => { "c" => nil } }; -> { YAML.load(YAML.dump(data)) } }
  clean("YAML that is wrong") { require "yaml"; -> { YAML.load("a: [1, 2\nb: {") rescue $!.class } }
  clean("ERB") { require "erb"; page = ERB.new("<% 30.times do |i| %><li><%= i %> <%= ERB::Util.h('<a>') %></li><% end %>"); -> { page.result(binding) } }
  clean("ERB that is compiled each time") { require "erb"; -> { ERB.new("<ul><% 5.times do |i| %><li><%= i %></li><% end %></ul>").result } }
  clean("Logger") { require "logger"; require "stringio"; -> { Logger.new(StringIO.new).tap { |l| 20.times { |i| l.info("message #{i}") } } } }
  clean("time") { require "time"; -> { Array.new(20) { |i| Time.at(i * 1000).strftime("%Y-%m-%d %H:%M:%S %z") }.map { |s| Time.strptime(s, "%Y-%m-%d %H:%M:%S %z").iso8601 } } }
  clean("dates") { require "date"; -> { Array.new(20) { |i| Date.parse("2024-02-#{i + 1}").next_month.strftime("%A") } + [DateTime.now.to_s] } }
  clean("zlib") { require "zlib"; text = "compress me " * 200; -> { Zlib::Inflate.inflate(Zlib::Deflate.deflate(text)) == text && Zlib.gunzip(Zlib.gzip(text)) } }
  clean("zlib that isn't finished") { require "zlib"; -> { z = Zlib::Deflate.new; z << ("x" * 1000); nil } }
  clean("digests") { require "digest"; -> { [Digest::SHA256.hexdigest("x" * 1000), Digest::MD5.new.update("a").update("b" * 500).base64digest] } }
  clean("OpenSSL: digests and HMAC") { require "openssl"; -> { OpenSSL::HMAC.hexdigest("SHA256", "key", "x" * 500) + OpenSSL::Digest.new("SHA512").update("y" * 100).hexdigest } }
  clean("OpenSSL: ciphers") do
    require "openssl"
    -> { OpenSSL::Cipher.new("aes-256-cbc").encrypt.then { |c| c.key = "k" * 32; c.iv = "i" * 16; c.update("secret" * 50) + c.final } }
  end
  clean("OpenSSL: a signature") { require "openssl"; key = OpenSSL::PKey::EC.generate("prime256v1"); -> { key.verify("SHA256", key.sign("SHA256", "data" * 20), "data" * 20) } }
  clean("random numbers") { require "securerandom"; -> { [SecureRandom.hex(50), SecureRandom.uuid, Random.new(42).bytes(200), [1, 2, 3].shuffle] } }
  clean("URI") { require "uri"; -> { URI.parse("http://user@example.com:8080/path?query=#{"x" * 50}#frag").then { |u| [u.to_s, URI.decode_www_form(u.query)] } } }
  clean("options of a command") { require "optparse"; -> { OptionParser.new { |o| o.on("--name NAME", String); o.on("-v", "--[no-]verbose") }.parse(%w[--name foo -v rest]) } }
  clean("OpenStruct") { require "ostruct"; -> { OpenStruct.new(name: "n" * 50, age: 3).tap { |o| o.more = [1, 2] }.to_h } }
  clean("delegation") { require "delegate"; require "forwardable"; -> { SimpleDelegator.new("d" * 100).upcase } }
  clean("object inspection") { -> { [Object.new, [1, { a: "b" * 40 }], 1..2].inspect + ObjectSpace.count_objects.to_s } }
  clean("pretty printing") { require "pp"; data = { list: Array.new(20) { |i| { id: i, name: "n" * 20 } } }; -> { data.pretty_inspect } }
  clean("walking all objects") { -> { ObjectSpace.each_object(Module).first(50).map(&:name) } }
  clean("CSV") { require "csv"; -> { CSV.parse(CSV.generate { |c| 20.times { |i| c << [i, "text, quoted \" #{i}", nil] } }) } }
  clean("fiddle") { require "fiddle"; f = Fiddle::Function.new(Fiddle::Handle::DEFAULT["strlen"], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_SIZE_T); -> { f.call("x" * 300) + Fiddle::Pointer.malloc(100, Fiddle::RUBY_FREE).size } }
  clean("GC by hand, and compaction") { -> { Array.new(100) { |i| "g" * (i + 30) }; GC.start; GC.compact if GC.respond_to?(:compact) } }
  clean("environment variables") { n = 0; -> { ENV["MWRAP_LEAK_PROGRAM"] = "v" * (50 + (n += 1) % 7); ENV.to_h.size; ENV.delete("MWRAP_LEAK_PROGRAM") } }
  clean("a Sinatra app") do
    require "sinatra/base"
    require "rack/mock"
    app = Class.new(Sinatra::Base) do
      set :environment, :production
      set :host_authorization, { permitted_hosts: [] }
      get("/hello/:name") { erb "<h1><%= params[:name] %></h1><% 10.times do |i| %><p><%= i %></p><% end %>" }
    end
    -> { Rack::MockRequest.new(app).get("/hello/world?x=#{"y" * 50}").status == 200 or raise "status" }
  end
end
