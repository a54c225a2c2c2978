#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# What real processes of known behaviour say of themselves at /verdict. They all run at once and are
# watched once, from their start on: none may ever accuse an innocent line. Shapes that are played
# through the function, over hours and days: shapes.txt.

require_relative "lib/served"
require_relative "lib/allocators"

class VerdictTest < Minitest::Test
  NATIVE = <<~'RUBY'
    require "fiddle"
    module Native
      POINTER, SIZE, INT = Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, Fiddle::TYPE_INT
      FUNCTION = ->(name, from, to) { Fiddle::Function.new(Fiddle::Handle::DEFAULT[name], from, to) }
      MALLOC = FUNCTION.("malloc", [SIZE], POINTER)
      REALLOC = FUNCTION.("realloc", [POINTER, SIZE], POINTER)
      MEMSET = FUNCTION.("memset", [POINTER, INT, SIZE], POINTER)
      MMAP = FUNCTION.("mmap", [POINTER, SIZE, INT, INT, INT, Fiddle::TYPE_LONG], POINTER)
    end
  RUBY

  # Ten times a second until its stdin ends, and as often on a machine that doesn't run it for a while.
  EVERY_TENTH = <<~'RUBY'
    def every_tenth
      start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      (0..).each do |i|
        wait = start + i / 10.0 - Process.clock_gettime(Process::CLOCK_MONOTONIC)
        exit if $stdin.wait_readable([wait, 0].max)
        yield i
      end
    end
  RUBY

  # What is right in the end. lines: those that may be named; at: the one that must be.
  Shape = Struct.new(:script, :is, :at, :lines, :command, :env, :options, keyword_init: true)
  QUIET = %w[watching warming flat sawtooth].freeze # accuse nobody

  SHAPES = {
    small_leak_in_400_mb: Shape.new(is: %w[grows], at: "app.rb:4", script: <<~'RUBY'),
      BOOT = Array.new(400) { "x" * (1 << 20) }
      KEPT = []
      every_tenth do |i|
        KEPT << ("x" * 1_740)
      end
    RUBY
    leak_beneath_teeth: Shape.new(is: %w[grows], at: "app.rb:4", script: <<~'RUBY'),
      KEPT = []
      GC.disable
      every_tenth do |i|
        KEPT << ("x" * 10_000)
        100.times { "y" * 10_000 }
        GC.start if i % 70 == 69
      end
    RUBY
    small_objects: Shape.new(is: %w[heap], script: <<~'RUBY'),
      list = nil
      every_tenth do |i|
        1000.times { list = [list, i] }
      end
    RUBY
    mmap_outside_malloc: Shape.new(is: %w[native], script: <<~'RUBY'),
      every_tenth do |i|
        Native::MEMSET.call(Native::MMAP.call(nil, 1 << 20, 3, 0x22, -1, 0), 1, 1 << 20) if i % 10 == 0
      end
    RUBY
    # each hole has a small block before it, and is too small for what comes later
    fragmentation: Shape.new(is: %w[fragmentation], script: <<~'RUBY'),
      used = []
      every_tenth do |i|
        2.times do
          size = 40_000 + 64 * i
          Native::MEMSET.call(used[used.size] = Native::MALLOC.call(size), 1, size)
          Native::REALLOC.call(used.shift, 24) if used.size > 100
        end
      end
    RUBY
    cache_that_filled: Shape.new(is: %w[flat filled grew], lines: %w[app.rb:3], script: <<~'RUBY'),
      CACHE = []
      every_tenth do |i|
        CACHE << ("x" * 100_000) if i < 450
      end
    RUBY
    flat: Shape.new(is: %w[flat], script: <<~'RUBY'),
      BOOT = Array.new(50) { "x" * (1 << 20) }
      every_tenth { }
    RUBY
    garbage: Shape.new(is: %w[sawtooth flat], script: <<~'RUBY'),
      GC.disable
      every_tenth do |i|
        100.times { "y" * 10_000 }
        GC.start if i % 90 == 89
      end
    RUBY
    step: Shape.new(is: %w[flat step], lines: %w[app.rb:3], script: <<~'RUBY'),
      BOOT = Array.new(50) { "x" * (1 << 20) }
      every_tenth do |i|
        MORE = Array.new(25) { "x" * (1 << 20) } if i == 650
      end
    RUBY
    falls: Shape.new(is: %w[falls], script: <<~'RUBY'),
      KEPT = Array.new(1200) { "x" * 200_000 }
      every_tenth do |i|
        KEPT.pop.clear if i > 50 && KEPT.any?
      end
    RUBY
    two_leaks: Shape.new(is: %w[grows], at: "app.rb:3", lines: %w[app.rb:4], script: <<~'RUBY'),
      KEPT = []
      every_tenth do |i|
        KEPT << ("x" * 60_000)
        KEPT << ("x" * 40_000)
        "y" * 200_000
      end
    RUBY
    native_leak: Shape.new(is: %w[grows], at: "app.rb:2", script: <<~'RUBY'),
      every_tenth do |i|
        Native::MEMSET.call(Native::MALLOC.call(20_000), 1, 20_000)
      end
    RUBY
    c_program: Shape.new(is: %w[grows], at: /leaks/, command: "leaky"),
    without_history: Shape.new(is: %w[grows], options: "history:0", script: <<~'RUBY'),
      KEPT = []
      every_tenth do |i|
        KEPT << ("x" * 20_000)
      end
    RUBY
    on_jemalloc: Shape.new(is: %w[grows], at: "app.rb:3", env: "jemalloc", script: <<~'RUBY'),
      KEPT = []
      every_tenth do |i|
        KEPT << ("x" * 20_000)
      end
    RUBY
    on_mimalloc: Shape.new(is: %w[grows], at: "app.rb:3", env: "mimalloc", script: <<~'RUBY'),
      KEPT = []
      every_tenth do |i|
        KEPT << ("x" * 20_000)
      end
    RUBY
    # the parent does nothing
    forked_child: Shape.new(is: %w[grows], at: "app.rb:4", lines: %w[app.rb:2], script: <<~'RUBY'),
      BOOT = []
      BOOT << "x" * 3_000_000 until BOOT.size == 10
      File.write("#{__dir__}/child", fork { every_tenth do |i|
        BOOT << ("x" * 20_000)
      end }.to_s)
      $stdin.read
    RUBY
  }.freeze
  SECONDS = 100 # of uptime that are watched

  Said = Struct.new(:kind, :sentence, :line, :now)

  # All of them, and what they said until now.
  class Scene
    include MwrapTest
    include HttpdTest
    include Served
    include Minitest::Assertions
    attr_accessor :assertions
    attr_reader :said, :apps

    def self.watched = @watched ||= new.tap { |s| Minitest.after_run { s.teardown } }.tap(&:watch)

    def initialize
      self.assertions = 0
      setup
      @said = Hash.new { |h, k| h[k] = [] }
      @apps = SHAPES.to_h { |name, shape| [name, start(name, shape)] }
      eventually("the child") { File.size?(path("forked_child.d/child")) }
      @child = File.read(path("forked_child.d/child")).to_i
      wait_for_server(at(:forked_child))
    end

    attr_reader :child

    def start(name, shape)
      own = path("#{name}.d")
      Dir.mkdir(own)
      script = File.join(own, "app.rb")
      File.write(script, shape.script)
      File.write(lib = File.join(own, "lib.rb"), NATIVE + EVERY_TENTH)
      command = shape.command ? [program(shape.command)] : [MwrapTest::RUBY, "--disable=gems", "-rio/wait", "-r#{lib}", script]
      env = { "LD_PRELOAD" => [MwrapTest::TRACKER, *library(shape.env)].join(":") }
      served(*command, options: shape.options, env: env, at: path("#{name}.sock"), wait: false)
    end

    def library(name)
      return unless name
      Allocators.each { |n, file, package| return file || flunk("#{name} isn't installed: apt-get install #{package}") if n == name }
    end

    def at(name) = "#{path("#{name}.sock")}#{".#{@child}" if name == :forked_child && @child}"

    def verdict(name, query = "") = JSON.parse(body("/verdict.json#{query}", at: at(name)))

    # Asks each of them each second until all have been up for that long.
    def watch
      SHAPES.each_key { |name| wait_for_server(at(name)) }
      eventually("#{SECONDS} seconds of each", 600) do
        sleep 1
        SHAPES.each_key { |name| ask(name) }
        SHAPES.each_key.all? { |name| said[name].last.now > SECONDS }
      end
    end

    def ask(name)
      v = verdict(name)
      said[name] << Said.new(v["kind"], v["sentence"], v["at_text"], v["now"])
    end
  end

  def scene = Scene.watched

  # Does the text name one of its own lines?
  def names(shape, text) = [*shape.at, *shape.lines].any? { |l| l === text }

  SHAPES.each do |name, shape|
    define_method("test_#{name}") do
      all = scene.said[name]
      assert_operator all.size, :>=, 20, "it was asked"
      # never an accusation of another kind or of an innocent line
      wrong = all.reject { |s| [*QUIET, *shape.is].include?(s.kind) && (!s.line || names(shape, s.line)) }
      assert_empty wrong.map { |s| [s.now, s.sentence] }
      patiently { scene.ask(name) && shape.is.include?(all.last.kind) }
      assert_includes shape.is, all.last.kind, all.map(&:to_a).join("\n")
      assert_operator shape.at, :===, all.last.line, all.last.sentence if shape.at
    end
  end
end
