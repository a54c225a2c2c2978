#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# What Ruby's tools show of the interface: RDoc has a comment for each public method and nothing else, and
# sig/mwrap.rbs has its signature. Three lists are compared: RDoc's, the signatures', and Ruby's own.
require_relative "lib/tap"
require "rdoc"

module Conventions
  GEMS = File.join(MwrapTest::ROOT, ".build/gems-#{RUBY_ENGINE}-#{RUBY_VERSION}-#{RUBY_PLATFORM}")
  SIGNATURES = File.join(MwrapTest::ROOT, "sig")
  # What the interface consists of, and the gems that some of it extends.
  LOAD = <<~RUBY
    Gem.use_paths(#{GEMS.dump}, [#{GEMS.dump}, *Gem.path])
    require "mwrap_rack"
    %w[check check_task label minitest objects rails rspec sidekiq].each { |name| require "mwrap/\#{name}" }
  RUBY

  # What RDoc makes of the gem, as `gem install` calls it.
  def documented(*more)
    (@@documented ||= {})[more] ||= Dir.mktmpdir do |dir|
      spec = Dir.chdir(MwrapTest::ROOT) { Gem::Specification.load("mwrap.gemspec") }
      options = RDoc::Options.new
      options.parse(["--quiet", "--ri", "--output", "#{dir}/ri", *spec.rdoc_options, *more, *spec.require_paths, "src", *spec.extra_rdoc_files])
      RDoc::RDoc.new.tap { |rdoc| Dir.chdir(MwrapTest::ROOT) { rdoc.document(options) } }.store
    end
  end

  def modules(store) = store.all_classes_and_modules.select { |c| c.comment_location.any? || c.method_list.any? }

  # {"Mwrap.each" => comment, "Mwrap::SourceLocation#live" => …}, with attributes
  def comments(store)
    modules(store).flat_map do |c|
      c.method_list.map { |m| ["#{c.full_name}#{m.singleton ? "." : "#"}#{m.name}", m.comment] } +
        c.attributes.flat_map { |a| [*("#{c.full_name}##{a.name}" if a.rw.include?("R")), *("#{c.full_name}##{a.name}=" if a.rw.include?("W"))].map { |n| [n, a.comment] } }
    end.to_h.transform_values { |c| c.respond_to?(:text) ? c.text : c.to_s }.reject { |name,| name.end_with?(".new") }
  end

  # Ruby's own list: {"Mwrap.each" => [[:rest]]}, of each module that RDoc shows
  def defined
    @@defined ||= begin
      names = modules(documented).map(&:full_name)
      run = run_command(MwrapTest::RUBY, "-I#{MwrapTest::LIB}", "-rjson", "-e", <<~RUBY)
        #{LOAD}
        found = #{names.inspect}.flat_map do |name|
          m = Object.const_get(name)
          own = m.singleton_methods(false)
          own -= Struct.new(:x).singleton_methods(false) if m.is_a?(Class) && m < Struct
          members = m.is_a?(Class) && m < Struct && m.superclass.name.nil? ? m.superclass.public_instance_methods(false) : []
          members.map { |n| ["\#{name}#\#{n}", m.instance_method(n).parameters] } + own.map { |n| ["\#{name}.\#{n}", m.method(n).parameters] } + m.public_instance_methods(false).map { |n| ["\#{name}#\#{n}", m.instance_method(n).parameters] } +
            (m.private_instance_methods(false).include?(:initialize) ? [["\#{name}#initialize", m.instance_method(:initialize).parameters]] : [])
        end
        puts JSON.generate(found.to_h)
      RUBY
      assert_success run
      JSON.parse(run.stdout)
    end
  end

  # Methods that a comment hides (:nodoc:) are no part of the interface. Those of C are known by their functions.
  def hidden = comments(documented("--visibility", "nodoc")).keys - comments(documented).keys + hidden_in_c

  def hidden_in_c
    files = Dir[File.join(MwrapTest::ROOT, "src/extension/*.c")].map { |path| File.read(path) }
    functions = files.flat_map { |text| text.scan(%r{/\*[\s*]*:nodoc:(?:(?!\*/).)*\*/\s*static VALUE (\w+)\(}m) }.flatten
    names = files.flat_map { |text| text.scan(/rb_define_singleton_method\(mod, "(\S+)", (\w+),/) }
    names.select { |_, function| functions.include?(function) }.flat_map { |name,| ["Mwrap.#{name}", "Mwrap::Objects.#{name}"] }
  end
end

class DocumentationTest < Minitest::Test
  include Conventions

  def test_each_class_has_one_comment_and_no_licence
    found = modules(documented)
    assert_operator found.size, :>=, 15
    found.each do |c|
      texts = c.comment_location.to_a.flatten.grep(RDoc::Comment).map { |comment| comment.text.strip }.reject(&:empty?)
      assert_equal 1, texts.uniq.size, "#{c.full_name}: #{texts.inspect}"
      refute_match(/SPDX|frozen_string_literal|\ANeeds /, texts[0], c.full_name)
    end
    assert_empty found.map(&:full_name).grep_v(/\AMwrap(Rack|::|\z)/)
  end

  def test_each_method_has_a_comment
    all = comments(documented)
        assert_operator all.size, :>=, 80
    assert_empty all.select { |_, text| text.strip.empty? }.keys
    assert_empty all.select { |_, text| text.include?("SPDX") }.keys
  end

  # As it is shown, by this Ruby's own ri.
  def test_ri
    Dir.mktmpdir do |dir|
      spec = Dir.chdir(ROOT) { Gem::Specification.load("mwrap.gemspec") }
      code = 'require "rdoc"; RDoc::RDoc.new.document(ARGV)'
      assert_success run_command(RUBY, "-e", code, "--", "--quiet", "--ri", "--output", "#{dir}/ri", *spec.rdoc_options, *spec.require_paths, "src", chdir: ROOT)
      shown = run_command(RUBY, "-e", 'require "rdoc/ri/driver"; RDoc::RI::Driver.run', "--", "-T", "--no-standard-docs", "-d", "#{dir}/ri", "Mwrap")
      assert_success shown
      assert_includes shown.stdout, "Finds the lines of a running Ruby program"
      refute_includes shown.stdout, "SPDX"
    end
  end
end

class SignaturesTest < Minitest::Test
  include Conventions

  Gem.use_paths(GEMS, [GEMS, *Gem.path])
  gem "rbs"
  require "rbs"

  def environment
    @environment ||= begin
      loader = RBS::EnvironmentLoader.new
      loader.add(path: Pathname(SIGNATURES))
      RBS::Environment.from_loader(loader).resolve_type_names
    end
  end

  def ours?(name) = name.to_s.match?(/\A::Mwrap(Rack|::|\z)/)

  # {"Mwrap.each" => [method types], "Mwrap::SourceLocation#live" => …}, of what sig/ itself declares
  def signatures
    @signatures ||= begin
      builder = RBS::DefinitionBuilder.new(env: environment)
      environment.class_decls.keys.select { |name| ours?(name) }.flat_map do |name|
        { "." => builder.build_singleton(name), "#" => builder.build_instance(name) }.flat_map do |mark, definition|
          own = definition.methods.select { |m, d| d.defs.any? { |one| one.defined_in == name } && !(mark == "." && m == :new) }
          own.map { |m, d| ["#{name.to_s.delete_prefix("::")}#{mark}#{m}", d.method_types.map(&:type)] }
        end
      end.to_h
    end
  end

  # [fewest, most] arguments; nil: any number
  def takes(signature)
    signature.map do |f|
      least = f.required_positionals.size + f.trailing_positionals.size
      [least, (least + f.optional_positionals.size unless f.rest_positionals)]
    end.then { |all| [all.map(&:first).min, all.map(&:last).include?(nil) ? nil : all.map(&:last).max] }
  end

  def keywords(signature) = signature.flat_map { |f| f.required_keywords.keys + f.optional_keywords.keys }.uniq.map(&:to_s).sort

  def by(parameters, *kinds) = parameters.select { |kind,| kinds.include?(kind) }

  # Why a method's parameters aren't those of its signature; nil: they are
  def differs(parameters, signature)
    least, most = takes(signature)
    required = by(parameters, "req").size
    own = by(parameters, "key", "keyreq").map(&:last).sort
    return if parameters == [["rest"]] # of C: it looks at them itself
    return "it takes #{parameters}" unless least == required && (most == required + by(parameters, "opt").size)
    "its keywords are #{own}" unless by(parameters, "keyrest").any? || own == keywords(signature)
  end

  def test_they_are_valid
    run = run_command(RUBY, "-e", <<~RUBY, chdir: ROOT)
      Gem.use_paths(#{GEMS.dump}, [#{GEMS.dump}, *Gem.path])
      gem "rbs"
      require "rbs"
      require "rbs/cli"
      RBS::CLI.new(stdout: $stdout, stderr: $stderr).run(["--log-level", "warn", "-I", "sig", "validate"])
    RUBY
    assert_success run
    assert_equal ["", ""], [run.stdout, run.stderr]
  end

  def test_each_method_that_is_documented_has_one
    names = comments(documented).keys
    missing = names.reject { |name| signatures.key?(name) }
    assert_empty missing
  end

  def test_each_has_a_method
    there = defined
    signatures.each do |name, signature|
      owner = name[/\A[^.#]+/]
      next unless modules(documented).any? { |c| c.full_name == owner }
      assert there.key?(name), "#{name} has a signature, and doesn't exist"
      assert_nil differs(there.fetch(name), signature), name
    end
  end

  # Ruby finds no public method without a signature, but those that a comment hides.
  def test_each_public_method_has_one
    names = defined.keys.grep_v(/#initialize\z|#\w+=\z/)
    assert_operator names.size, :>=, 90
    assert_empty names - signatures.keys - hidden
  end

  def test_a_wrong_one_is_found
    assert differs([%w[req path], %w[opt mount], %w[key mark]], signatures.fetch("Mwrap::Objects.find"))
    assert differs([], signatures.fetch("Mwrap.[]"))
    assert differs([%w[req what], %w[key deep]], signatures.fetch("Mwrap::Objects.find"))
    assert_nil differs([%w[req what], %w[key depth]], signatures.fetch("Mwrap::Objects.find"))
  end
end

# The types hold in a tracked process: RBS checks each call's arguments and result.
class TypesTest < Minitest::Test
  include Conventions

  CALLS = <<~'RUBY'
    KEPT = Array.new(100) { "x" * 1000 }
    Mwrap.stats
    Mwrap.each { |name, *| Mwrap[name] }
    Mwrap.each(1_000).first
    at = Mwrap[Mwrap.each.first[0]]
    at.each { |size, _| size }
    at.each.first
    %i[allocations frees growth inspect live live_bytes live_error live_samples max_lifespan mean_lifespan name object_bytes object_error
       object_samples objects to_h total].each { |m| at.public_send(m) }
    Mwrap.stacks
    Mwrap.stacks(at.name, by: :total)
    Mwrap.label("orders#show") { KEPT << "y" * 1000 }
    Mwrap.labels
    Mwrap.quiet { |depth| depth }
    Mwrap.holders
    Mwrap.holders(at.name, of: :both)
    Mwrap.mark("deploy")
    Mwrap.dump(StringIO.new, 1000)
    Mwrap::HeapPageBody.each { |address, _| address }
    Mwrap::HeapPageBody.stat
    Mwrap::HeapPageBody.stat({})
    Mwrap::Objects.mark
    Mwrap::Objects.classes.rows
    Mwrap::Objects.find("String")
    Mwrap::Objects.pages
    Mwrap::Objects.allocations("String")
    Mwrap::Objects.answer("/objects/counts.json", "", "")
    result = Mwrap::Check.run { KEPT << "z" * 1000 }
    result.lines
    result.leaks.each { |l| %i[blocks_per_call held_by_nothing native? path_and_line rounds sentence to_h to_s].each { |m| l.public_send(m) } }
    peak = Mwrap::Check::Peak.of { "p" * 1_000_000 }
    %i[bytes lines to_s].each { |m| peak.public_send(m) }
    Mwrap::Label.new(->(env) { [200, {}, []] }).call({})
    Mwrap::Label.of({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/a/1" })
    MwrapRack.new(read_only: true).call({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/stats.json" })
    Mwrap.bt = 2
    Mwrap.bt
    Mwrap.sampled!
    Mwrap.sampled?
    Mwrap.exact!
    %i[pause paused? resume reset clear total_bytes_allocated total_bytes_freed tracking?].each { |m| Mwrap.public_send(m) }
    puts "done"
  RUBY

  def typed(calls, signatures: SIGNATURES)
    script = Conventions::LOAD + <<~RUBY + calls
      gem "rbs"
      require "stringio"
      require "rbs/test/setup"
      # RBS looks at a module at the end of its definition
      #{modules(documented).map { |c| "#{c.type} #{c.full_name}; end" }.join("\n")}
    RUBY
    env = { "RBS_TEST_TARGET" => "Mwrap,Mwrap::*,MwrapRack", "RBS_TEST_OPT" => "-I #{signatures}", "RBS_TEST_RAISE" => "true",
            "RBS_TEST_LOGLEVEL" => "error", "RBS_TEST_DOUBLE_SUITE" => "minitest" }
    run_command(LAUNCHER, RUBY, "-I#{LIB}", "-e", script, env: env)
  end

  def test_they_hold
    run = typed(CALLS)
    assert_success run
    assert_equal "done\n", run.stdout
  end

  def test_a_wrong_type_is_found
    Dir.mktmpdir do |dir|
      text = File.read(File.join(SIGNATURES, "mwrap.rbs"))
      File.write("#{dir}/mwrap.rbs", text.sub("def self.stats: () -> Hash[Symbol, figure]", "def self.stats: () -> Hash[String, figure]"))
      run = typed("Mwrap.stats\n", signatures: dir)
      refute run.status.success?
      assert_match(/TypeError|ReturnTypeError/, run.stderr)
    end
  end
end
