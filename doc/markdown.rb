# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later

# markdown.rb [OUT] - writes .github/README.md and .github/CHANGELOG.md, which GitHub shows, from README and NEWS,
# which are plain text. No word is written here but the head: mend README or NEWS, and run `make doc`. With OUT the
# files go to that folder.

require "fileutils"

class Markdown
  ROOT = File.expand_path("..", __dir__)
  MADE = "<!-- Made from %s by `make doc`. -->\n\n"
  CODE = /(`[^`]*`)/
  DOCUMENT = %r{\bdoc/[\w.-]*\w|\bNEWS\b}
  LISTED = %r{\A((?:doc/[\w.-]+|NEWS)(?:, (?:doc/[\w.-]+))*) {2,}(.*)\z} # a row of the list of documents
  private_constant :MADE, :CODE, :DOCUMENT, :LISTED

  def self.readme = format(MADE, "README") + new(File.read("#{ROOT}/README")).text.sub(/^# .*\n\n(?:.+\n)+\n/) { |head| head + picture }
  def self.changelog = format(MADE, "NEWS") + new(File.read("#{ROOT}/NEWS").gsub(/^[A-Z][a-z ]+\n(?=\* )/) { |head| "#{head}\n" }).text

  # The first one of doc/index.md, whose paths are a folder deep, too.
  def self.picture = File.read("#{ROOT}/doc/index.md")[/^!\[.*\)$/] + "\n\n"

  def initialize(plain)
    @blocks = plain.split(/\n{2,}/).map { |block| block.split("\n") }
  end

  def text
    @numbered = false
    "#{@blocks.each_with_index.map { |lines, i| block(lines, i) }.join("\n\n")}\n"
  end

  private

  def block(lines, at)
    return "# #{prose(lines[0])}" if at.zero?
    return heading(lines) if heading?(lines)
    return code(lines.map { |l| l.delete_prefix("    ") }) if lines.all? { |l| l.start_with?("    ") }
    @numbered = lines[0].match?(/\A\d+\. /)
    lines.map { |l| prose(l) }.join("\n")
  end

  def heading?(lines) = lines.size == 2 && lines[1].match?(/\A-+\z/) || lines.size == 1 && lines[0].match?(/\A[A-Z][a-z ]+\z/)

  def heading(lines)
    @numbered = false
    "## #{prose(lines[0])}"
  end

  # A block of code; in an item of a numbered list it belongs to that.
  def code(lines)
    return documents(lines) if lines.all? { |l| LISTED.match?(l) }
    margin = @numbered ? "   " : ""
    ["```", *lines, "```"].map { |l| "#{margin}#{l}".rstrip }.join("\n")
  end

  def documents(lines) = lines.map { |l| LISTED.match(l).then { |m| "* #{prose(m[1])}: #{prose(m[2])}" } }.join("\n")

  # Characters that mean something in Markdown, but for a list's; documents become links.
  def prose(line)
    line.split(CODE).map do |part|
      next part if part.start_with?("`")
      part.gsub(/(?<!\A)\*|[\\<\[\]|]|(?<!\w)_/) { "\\#{$&}" }.gsub(DOCUMENT) { |path| "[#{path}](../#{path})" }
    end.join
  end
end

if $PROGRAM_NAME == __FILE__
  { "README.md" => Markdown.readme, "CHANGELOG.md" => Markdown.changelog }.each do |name, text|
    to = File.join(ARGV[0] || Markdown::ROOT, ".github", name)
    FileUtils.mkdir_p(File.dirname(to))
    File.write(to, text) unless File.exist?(to) && File.read(to) == text
  end
end
