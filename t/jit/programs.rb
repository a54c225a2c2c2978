# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# Ruby programs made at random, for t/jit.t: methods that call each other in the ways that a JIT compiles,
# inlines or leaves to the interpreter. Each line that keeps a block has a size of its own. At its end a
# program prints where each size was counted, as JSON: { size: { location: blocks } }. Some of the code is
# evaluated under another file's name, as templates are.

class JitProgram
  FILE = "made_at_random.rb"
  START = <<~'RUBY'
    require "json"
    require "mwrap"
    KEEP = []
    def self.deep(n, &b) = n.zero? ? b.call : deep(n - 1, &b)
    Pair = Struct.new(:left, :right)
    class Base
      attr_accessor :kept
      def initialize(n = 1) = @kept = n
      def each_of(list) = list.each { |x| yield x }
      def method_missing(name, *args) = name == :absent ? args[0] : super
      def respond_to_missing?(name, all = false) = name == :absent || super
    end
  RUBY
  # %s: an expression that allocates
  FORMS = [
    "KEEP << %s",
    "3.times { |i| KEEP << %s if i == 1 }",
    "[1, 2].each { |i| KEEP << %s if i == 2 }",
    "{ a: 1 }.each_pair { |_, v| KEEP << %s if v }",
    "KEEP.concat([2, 1].map { |i| i == 1 ? %s : nil }.compact)",
    "[3, 1].sort_by { |i| KEEP << %s if i == 1; i }",
    "Pair.new(1, %s).then { |pair| KEEP << pair.right }",
    "begin; raise ArgumentError if KEEP; rescue ArgumentError; KEEP << %s; end",
    "begin; KEEP; ensure; KEEP << %s; end",
    "each_of([1]) { |i| KEEP << %s }",
    "catch(:out) { throw :out, KEEP << %s }",
    "KEEP << instance_eval { %s }",
    "KEEP << (Fiber.new { %s }).resume",
    "-> { KEEP << %s }.call",
    "i = 0; KEEP << %s while (i += 1) < 2",
    "self.kept = %s; KEEP << kept",
    "KEEP << absent(%s)"
  ].freeze
  # Ruby's own code allocates an array of that size, below a line of the program.
  INTERNAL = "KEEP << (KEEP << Array.new(%d, 1))[-1].shuffle"
  # Of code that is evaluated in a method: its file isn't the method's.
  EVALS = ["eval(%<code>p, nil, %<file>p, %<line>d)", "eval(%<code>p, binding, %<file>p, %<line>d)", "instance_eval(%<code>p, %<file>p, %<line>d)",
           "binding.eval(%<code>p, %<file>p, %<line>d)", "[1].each { |i| eval(%<code>p, nil, %<file>p, %<line>d) }",
           "(singleton_class.module_eval(%<method>p, %<file>p, %<line>d); evaluated)"].freeze
  # %s: the method
  CALLS = ["%s(n)", "%s(n, opt: 2)", "send(:%s, n)", "public_send(:%s, n)", "method(:%s).call(n)", "%s(*[n])", "%s(n, **{ opt: 3 })",
           "%s(n) { |x| x }", "[n].each { |x| %s(x) }", "self.class.new.%s(n)", "1.times { %s(n) }"].freeze
  PARAMETERS = ["(n, opt: 1, **)", "(n, *rest, opt: 1)", "(n, other = [n, 2], opt: n, &block)", "(*args, **options)"].freeze

  attr_reader :source
  # Of code that is evaluated: { size: location }.
  attr_reader :evaluated

  def initialize(seed)
    @random = Random.new(seed)
    @size = 20_000
    @evaluated = {}
    @source = "#{START}class Made < Base\n"
    methods = Array.new(12) { |i| "made#{i}" }
    methods.each_with_index { |name, i| add_method(name, methods.take(i)) }
    @source << "end\nKEEP.clear\n"
    methods.each { |name| @source << "#{one_of(60, 120)}.times { |i| Made.new.#{name}(i) }\n" }
    @source << "SIZES = #{(20_016..@size).step(16).to_a}\n" << FINISH
  end

  FINISH = <<~'RUBY'
    found = Hash.new { |h, k| h[k] = Hash.new(0) }
    Mwrap.each do |location, |
      next unless location.include?(File.basename(__FILE__))
      # a text ends with a NUL, an array doesn't
      Mwrap[location]&.each { |size, _| found[size / 16 * 16][location] += 1 if SIZES.include?(size / 16 * 16) }
    end
    puts JSON.generate(found.sort.to_h.transform_values { |at| at.sort.to_h })
  RUBY

  private

  def one_of(*choices) = choices[@random.rand(choices.size)]
  def block = "(\"x\" * #{@size += 16})"

  def form
    return format(one_of(*FORMS), block) unless @random.rand(3).zero?
    code = @random.rand(3).zero? ? format(INTERNAL, (@size += 16) / 8) : format(one_of(*FORMS), block)
    file, line = "#{FILE}.#{@size}", @size % 1000
    @evaluated[@size] = "#{file}:#{line}"
    format(one_of(*EVALS), code: code, method: "def evaluated = (#{code})", file: file, line: line)
  end

  # The calls make a tree that isn't large: later methods call one or two of the earlier ones.
  def add_method(name, earlier)
    body = Array.new(@random.rand(1..3)) { form }
    body << format(one_of(*CALLS), one_of(*earlier.last(3))) unless earlier.empty?
    body << "return n if n.is_a?(Integer) && n > 1000" if @random.rand(3).zero?
    body.shuffle!(random: @random)
    parameters = one_of(*PARAMETERS)
    if @random.rand(5).zero?
      @source << "define_method(:#{name}) do |n = 1, opt: 1, **|\n#{body.join("\n").gsub(/^return/, "next")}\nend\n"
    else
      body.unshift("n = args[0]") if parameters.include?("args")
      @source << "def #{name}#{parameters}\n#{body.join("\n")}\nend\n"
    end
  end
end
