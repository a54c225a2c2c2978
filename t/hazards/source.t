#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Code can be evaluated under the name of any file. /source shows the lines of those
# alone that Ruby itself read code from, and of what Ruby read then.

require_relative "../lib/served"

class SourceHazards < Minitest::Test
  WAYS = [{}, { "MWRAP_RUBY_PUBLIC" => "1" }].freeze
  SECRET = "root:x:0:0: not to be seen\n"
  EVALUATED = /\ARuby read no such file: /

  # A script keeps this for good: 9,000 bytes or more.
  KEEP = "$kept << 'k' * 9000"

  def setup
    super
    File.write(path("secret.txt"), SECRET * 9)
  end

  def source(location) = get("/source?location=#{escape(location)}")

  # The answer for the row whose location ends so.
  def shown(ending)
    rows = tsv.select { |r| r.location.end_with?(ending) }
    assert_equal 1, rows.size, "#{ending}: #{rows.map(&:location)}"
    JSON.parse(source(rows[0].location).tap { |r| assert_equal 200, r.status, r.body }.body)
  end

  def refute_shown(ending, why = EVALUATED)
    s = shown(ending)
    assert_equal [], s["lines"], ending
    assert_match why, s["why"], ending
    s
  end

  # The location's own line is `text`, and it is from that file.
  def assert_shown(ending, file, text)
    s = shown(ending)
    assert_nil s["why"], ending
    assert_equal [File.realpath(file), text], [s["file"], s["lines"][s["line"] - s["first"]]], ending
    s
  end

  # Runs a script in both ways of finding lines, up to its end, and goes on while it waits.
  def each_way(script, **rest)
    WAYS.each do |env|
      app = served_ruby("$kept = []\n#{script}\n$stdout.sync = true\nputs :there\ngets\n", env: env, **rest)
      assert_equal "there", app.hear, app.stderr
      assert_equal env.empty? ? "fast" : "public", stats["ruby_lookup"]
      yield app
      app.finish
    end
  end

  # --- what wasn't read -----------------------------------------------------------------

  def test_files_that_an_eval_named
    up = "../" * 20
    each_way(<<~RUBY) do
      eval(#{KEEP.inspect}, binding, "/etc/passwd", 3)
      eval(#{KEEP.inspect}, TOPLEVEL_BINDING, "#{up}etc/passwd", 2)
      eval(#{KEEP.inspect}, nil, #{path("secret.txt").inspect}, 4)
      Object.class_eval("def a = (#{KEEP})", #{path("secret.txt").inspect}, 5)
      a
      instance_eval(#{KEEP.inspect}, #{path("secret.txt").inspect}, 6)
      def in_method = eval(#{KEEP.inspect}, binding, #{path("secret.txt").inspect}, 7)
      in_method
      def block = [1].each { |i| eval("[2].map { |j| #{KEEP} }", binding, "secret.txt", 8) }
      Dir.chdir(#{@dir.inspect})
      block
      eval("Thread.new { #{KEEP} }.join", nil, #{path("secret.txt").inspect}, 9)
      eval(#{"eval(#{KEEP.inspect}, binding, __FILE__, 10)".inspect}, nil, #{path("secret.txt").inspect}, 1)
      Module.new.module_eval("3.times { #{KEEP} }", "#{@dir}/./secret.txt", 1)
      Binding.instance_method(:eval).bind_call(binding, #{KEEP.inspect}, #{path("secret.txt").inspect}, 11)
    RUBY
      %w[/etc/passwd:3 ../etc/passwd:2].each { |name| assert_match(/\ARuby read/, refute_shown(name)["why"]) }
      # Ruby's public calls with ZJIT name the method's file for code that a method evaluated
      lines = [*4..11] - (stats.values_at("ruby_lookup", "ruby_jit") == %w[public apart] && ENV["RUBY_ZJIT_ENABLE"] ? [7, 8] : [])
      lines.each { |line| refute_includes refute_shown("secret.txt:#{line}").to_json, "not to be seen" }
      refute_shown("/./secret.txt:1")
      assert_shown("app.rb:2", path("app.rb"), "eval(#{KEEP.inspect}, binding, \"/etc/passwd\", 3)")
    end
  end

  # A template is evaluated: its lines aren't shown, be its name a real file's or not.
  def test_templates
    File.write(path("page.erb"), "<p>\n<% $kept << 'k' * 9000 %>\n</p>\n")
    each_way(<<~RUBY, files: {}) do
      require "erb"
      page = ERB.new(File.read(#{path("page.erb").inspect}))
      page.filename = #{path("page.erb").inspect}
      page.result(binding)
    RUBY
      refute_shown("/page.erb:2")
    end
  end

  def test_code_without_a_file
    [["-e", "#{"\n" * 2}($kept ||= []) << 'k' * 9000; puts :there; $stdout.flush; gets"], ["-"]].each do |args|
      app = served(MwrapTest::RUBY, "--disable=gems", *args)
      if args == ["-"]
        app.tell("$kept = []\n#{KEEP}\nputs :there; $stdout.flush; DATA.gets\n__END__")
      end
      assert_equal "there", app.hear
      refute_shown(args == ["-"] ? "-:2" : "-e:3")
      app.finish
    end
  end

  # --- what was read -----------------------------------------------------------------------

  LIBRARY = "# a comment\ndef NAME\n  $kept << 'k' * 9000 # NAME\nend\nNAME\n"

  def library(name, file = "#{name}.rb")
    FileUtils.mkdir_p(File.dirname(path(file)))
    File.write(path(file), LIBRARY.gsub("NAME", name))
  end

  def test_files_that_ruby_read
    names = %w[loaded required relative relative_load linked binary compiled autoloaded wrapped]
    names.each { |name| library(name) }
    library("in_folder", "folder/in_folder.rb")
    Dir.mkdir(path("elsewhere"))
    File.symlink(path("linked.rb"), path("link.rb"))
    File.symlink(path("folder"), path("current"))
    each_way(<<~RUBY) do
      Dir.chdir(#{@dir.inspect})
      load #{path("loaded.rb").inspect}
      require #{path("required").inspect}
      require_relative "relative"
      load "relative_load.rb"
      load "./link.rb"
      load #{path("wrapped.rb").inspect}, true
      RubyVM::InstructionSequence.load_from_binary(RubyVM::InstructionSequence.compile_file("binary.rb").to_binary).eval
      path = #{path("compiled.rb").inspect}
      RubyVM::InstructionSequence.load_from_binary(RubyVM::InstructionSequence.compile(File.read(path), path, path).to_binary).eval
      autoload :Autoloaded, #{path("autoloaded.rb").inspect}
      Autoloaded rescue NameError
      load #{path("current/in_folder.rb").inspect}
      Dir.chdir(#{path("elsewhere").inspect})
    RUBY
      (names - ["linked"]).each { |name| assert_shown("#{"/" unless %w[relative_load binary].include?(name)}#{name}.rb:3", path("#{name}.rb"), "  $kept << 'k' * 9000 # #{name}") }
      assert_shown("link.rb:3", path("linked.rb"), "  $kept << 'k' * 9000 # linked")
      assert_shown("in_folder.rb:3", path("folder/in_folder.rb"), "  $kept << 'k' * 9000 # in_folder")
      # links that lead elsewhere by now: what Ruby read is shown
      File.unlink(path("current"), path("link.rb"))
      Dir.mkdir(path("other"))
      FileUtils.cp(path("secret.txt"), path("other/in_folder.rb"))
      File.symlink(path("other"), path("current"))
      File.symlink(path("secret.txt"), path("link.rb"))
      assert_shown("in_folder.rb:3", path("folder/in_folder.rb"), "  $kept << 'k' * 9000 # in_folder")
      assert_shown("link.rb:3", path("linked.rb"), "  $kept << 'k' * 9000 # linked")
      # as it was, for the other way
      FileUtils.rm_r([path("other"), path("current"), path("link.rb")])
      File.symlink(path("linked.rb"), path("link.rb"))
      File.symlink(path("folder"), path("current"))
    end
  end

  # The name of the program may be relative, and lead elsewhere when somebody asks.
  def test_a_program_by_a_relative_name
    Dir.mkdir(path("elsewhere"))
    FileUtils.cp(path("secret.txt"), path("elsewhere/main.rb"))
    File.write(path("main.rb"), "$kept = []\n#{KEEP}\nDir.chdir('elsewhere')\nputs :there\n$stdout.flush\ngets\n")
    WAYS.each do |env|
      app = served("sh", "-c", "cd \"$1\" && exec \"$2\" --disable=gems main.rb", "sh", @dir, MwrapTest::RUBY, env: env)
      assert_equal "there", app.hear
      assert_equal "main.rb:2", tsv.map(&:location).grep(/main\.rb:2\z/)[0]
      assert_shown("main.rb:2", path("main.rb"), KEEP)
      app.finish
    end
  end

  # A location that both have: the file is shown from the time on when Ruby has read it.
  def test_evaluated_first_and_read_later
    library("both")
    script = <<~RUBY
      $stdout.sync = true
      $kept = []
      eval("\\n\\n" + #{KEEP.inspect}, nil, #{path("both.rb").inspect})
      puts :evaluated
      gets
      load #{path("both.rb").inspect}
      puts :loaded
      gets
    RUBY
    WAYS.each do |env|
      app = served_ruby(script, env: env)
      assert_equal "evaluated", app.hear
      refute_shown("both.rb:3")
      assert_equal "loaded", app.ask("")
      assert_shown("both.rb:3", path("both.rb"), "  $kept << 'k' * 9000 # both")
      app.finish
    end
  end

  def test_read_first_and_evaluated_later
    library("both")
    each_way(<<~RUBY) do
      load #{path("both.rb").inspect}
      eval(#{KEEP.inspect}, nil, #{path("both.rb").inspect}, 3)
      eval(#{KEEP.inspect}, nil, #{path("both.rb").inspect}, 1)
    RUBY
      assert_shown("both.rb:3", path("both.rb"), "  $kept << 'k' * 9000 # both")
      assert_shown("both.rb:1", path("both.rb"), "# a comment")
    end
  end

  # A file that Ruby read may have become something else since.
  def test_replaced_by_a_link
    library("swapped")
    each_way("load #{path("swapped.rb").inspect}") do
      assert_shown("swapped.rb:3", path("swapped.rb"), "  $kept << 'k' * 9000 # swapped")
      File.rename(path("swapped.rb"), path("was.rb"))
      File.symlink(path("secret.txt"), path("swapped.rb"))
      refute_shown("swapped.rb:3", /symbolic link/)
      File.rename(path("was.rb"), path("swapped.rb"))
    end
  end

  # Lines that are found out after a call without Ruby's lock, and in a forked child.
  def test_a_blocking_call_and_a_child
    app = served_ruby(<<~'RUBY')
      require "fiddle"
      $kept = []
      malloc = Fiddle::Function.new(Fiddle::Handle::DEFAULT["malloc"], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_UINTPTR_T, need_gvl: false)
      20.times { $kept <<
        malloc.call(9000) }
      $stdout.sync = true
      puts :there
      while (line = gets)
        next puts(fork { eval("$kept << 'k' * 9000", nil, "/etc/passwd", 5); puts(:child); $stdin.gets }) if line == "fork\n"
        puts :there
      end
    RUBY
    assert_equal "there", app.hear
    eventually("its line is known") { app.ask("") && tsv.any? { |r| r.location.end_with?("app.rb:5") && r.live >= 15 } }
    assert_shown("app.rb:5", path("app.rb"), "  malloc.call(9000) }")
    said = [app.ask("fork"), app.hear]
    pid = said.find { |l| l != "child" }
    child = path("s.#{pid}")
    wait_for_server(child)
    get("/source?location=#{escape("#{path("app.rb")}:5")}", at: child).then { |r| assert_includes r.body, "malloc.call" }
    get("/source?location=%2Fetc%2Fpasswd%3A5", at: child).then { |r| assert_includes r.body, "Ruby read no such file" }
    # the same, asked of its parent
    get("/#{pid}/source?location=%2Fetc%2Fpasswd%3A5").then { |r| assert_includes r.body, "Ruby read no such file" }
    get("/#{pid}/source?location=#{escape("#{path("app.rb")}:5")}").then { |r| assert_includes r.body, "malloc.call" }
  ensure
    Process.kill(:KILL, pid.to_i) if pid
  end
end
