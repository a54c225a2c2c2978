#!/usr/bin/env ruby
# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true
#
# messages.t - t/messages.txt lists the messages of the launcher, of the options' parser, of the
# tracker, of its server, of the Ruby extension, and of bin/check and bin/demo; each has the form "object: problem" or "object: problem: remedy".
# Where a hurried person would stumble over that, a message is a sentence, and its remedy behind a colon.
# They are collected from the sources (t/lib/messages.rb).
#
# After a change of a message: t/messages.t --write, and read what it did to t/messages.txt.

require_relative "lib/messages"

ROOT = File.expand_path("..", __dir__)
LIST = File.join(__dir__, "messages.txt")
SECTIONS = ["object: problem: remedy", "a sentence: remedy", "no mistake", "parts"].freeze

# "object" names a thing, by three words at most, and says nothing of it; remedies end the line.
VERBS = %w[is are was were has have had can can't could cannot no gave stays keeps went failed please there].freeze

def well_formed?(message)
  return true if message.match?(/\A<>\. [A-Z][^:;.]+\z/) # a second sentence behind a whole message

  bare = message.gsub(/\([^()]*\)/, "")
  object, problem, remedy, more = bare.gsub(%r{https?://|\[::1\]:|\d:|\w:(?=[A-Z])}) { |s| s.tr(":", "_") }.split(/: /, -1)
  words = object.split
  words.size.between?(1, 3) && (words & VERBS).empty? && !object.match?(/[;,]/) &&
    ![problem, remedy].include?("") && !problem.nil? && more.nil? && !bare.match?(/[;.]\z|; /)
end

# A whole sentence about one thing, and at most one remedy.
SAYS = %w[is isn't has have lacks can't could does doesn't reached ran runs loses needs out].freeze

def sentence?(message)
  sentence, remedy, more = message.gsub(/\([^()]*\)/, "").split(/: /, -1)
  words = sentence.split
  words.size >= 3 && (words & SAYS).any? && more.nil? && remedy != "" && !message.match?(/[;.]\z|; /)
end

def list
  text = File.readlines(LIST, chomp: true).reject { |line| line.start_with?("#") || line.empty? }
  text.slice_before(/\A== /).to_h { |head, *lines| [head.delete_prefix("== "), lines] }
end

def collected
  files = Dir.chdir(ROOT) { Dir["src/**/*.{c,sh}"] + Dir["lib/mwrap/{,ctl/}*.rb"] + %w[lib/exe/mwrap lib/exe/mwrapctl] }.sort
  all = files.map { |path| Messages.of(File.join(ROOT, path)) }
  # other lines of these aren't about a mistake
  all += %w[bin/demo t/demo/run.rb t/lib/setup.sh].map { |path| [Messages.of(File.join(ROOT, path))[0], []] }
  all.transpose.map { |lists| lists.flatten.uniq }
end

if ARGV == ["--write"]
  messages, parts = collected
  notices = list.fetch("no mistake")
  sentences = (messages - notices).reject { |m| well_formed?(m) && !list.fetch(SECTIONS[1]).include?(m) }
  head = File.readlines(LIST).take_while { |line| line.start_with?("#") }.join
  lists = [(messages - notices - sentences).sort, sentences.sort, notices & messages, parts.sort]
  File.write(LIST, head + SECTIONS.zip(lists).map { |name, lines| "\n== #{name}\n\n#{lines.map { |l| "#{l}\n" }.join}" }.join)
  exit
end

require_relative "lib/tap"

class TestOfMessages < Minitest::Test
  def setup
    @list = list
    @messages, @parts = collected
  end

  def listed = @list.values_at(*SECTIONS.take(3)).flatten

  def test_the_list_has_every_message_and_no_other
    assert_equal SECTIONS, @list.keys
    assert_operator @messages.size, :>=, 80
    assert_equal [], @messages - listed, "not in t/messages.txt"
    assert_equal [], listed - @messages, "in t/messages.txt, but not in the sources"
    assert_equal listed.uniq, listed
  end

  # A text that is put together elsewhere, or one that no message has.
  def test_the_list_has_every_part
    assert_equal @list["parts"].sort, @parts.sort
  end

  def test_each_has_the_form
    assert_equal [], @list[SECTIONS[0]].reject { |m| well_formed?(m) }
    assert_equal [], @list[SECTIONS[1]].reject { |m| sentence?(m) }
  end

  def test_which_forms_are_right
    ["<>: given twice", "x: no port: write [::1]:PORT", "dump_path <>: nobody reads it", "listen: \"<>\" is far: use 127.0.0.1:PORT",
     "<>. The server is off", "the server's thread: can't be made: <>", "x: missing: install it (Debian: <>)"].each { |m| assert well_formed?(m), m }
    ["given twice", "can't lock <>: <>", "<> is in the way: not a socket", "no thread: <>", "<>: a: b: c", "<>: off; try again",
     "<>: off.", "<>. It is: off", ": off", "<>: ", "a sanitizer is in here: it runs", "please install <>"].each { |m| refute well_formed?(m), m }
  end

  def test_which_sentences_are_right
    ["its main thread is stopped: continue it first (kill -CONT)", "out of memory for the table", "attach needs x86-64 here: do that"].each { |m| assert sentence?(m), m }
    ["is stopped", "given twice in there", "its thread is stopped.", "its main thread is off: a: b", "its main thread is off: ", "it is off here; try again"].each { |m| refute sentence?(m), m }
  end

  # Whatever way a source says it.
  def test_what_is_collected
    {
      "x.c" => [<<~'C', ["<>: \"<>\" is <> wrong: mend it", "<>: alone", "a: b", "c: d", "e <>: f", "g: h"], ["some other text"]],
        /* mw_log("not: this"); */
        mw_option_wrong(p, value, "is %.10zu "
                        "wrong: mend it");
        mw_option_wrong(p, NULL, "alone");
        mw_log(x ? "a: b" /* , "not" */ : "c: d"); // "nor this one"
        mw_log("e %s: f", f("(", ','));
        snprintf(err, MW_ERROR_MAX, "g: h");
        snprintf(path, 3, "%s/%s", "some other text", "short");
      C
      "x.rb" => [<<~'RUBY', ["<>: b", "c <>: d: e", "f: g", "h: i"], ["some \"other\" text", "x y: <>"]],
        # raise Failure, "not: this"
        raise Failure, "#{a("b", {})}: b" unless x
        raise Failure, "c #{d}: d: " \
          "e"
        raise Missing.new("f: g", 127)
        say("h: i") if x
        puts "some \"other\" text", "short", "x y: #{z}"
      RUBY
      "y.c" => ["f(\"%\" PRIu64 \" words here\"); rb_raise(rb_eTypeError, \"%+\" PRIsVALUE \": wrong\", x);", ["<>: wrong"], ["<> words here"]],
      "x.sh" => ["echo \"mwrap: a $b: ${c} $(d e)\"\necho other\n", ["a <>: <> <>"], []],
      "demo" => ["#!/usr/bin/env bash\nmw_die \"a ${b//c/, }: d\"\nmw_say \"e ${f[*]}\"\n", ["a <>: d", "e <>"], []]
    }.each do |name, (text, messages, parts)|
      in_tmp do |dir|
        File.write("#{dir}/#{name}", text)
        found = Messages.of("#{dir}/#{name}")
        assert_equal [messages, parts], found.map(&:sort), name
      end
    end
  end
end
