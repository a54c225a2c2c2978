# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

module Mwrap
  module Ctl
    # Pages that are one file: a template of web/ with its slots, {{name}}, filled.
    module Page # :nodoc: all
      WEB = File.expand_path("../../../web", __dir__)
      HTML = { "&" => "&amp;", "<" => "&lt;", ">" => "&gt;", '"' => "&quot;", "'" => "&#39;" }.freeze
      # "<" could end the script or begin a comment; the other two end lines in older scripts.
      JSON_TEXT = { "<" => "\\u003c", "\u2028" => "\\u2028", "\u2029" => "\\u2029" }.freeze

      module_function

      # All at once: what is filled in may have the text of a slot in it.
      def fill(path, slots) = file(path).gsub(/\{\{(\w+)\}\}/) { slots.fetch($1) }

      def file(path)
        path = File.join(WEB, path)
        File.read(path, encoding: "UTF-8")
      rescue SystemCallError => e
        raise Failure, "#{path}: #{Executable.reason(e)}: install mwrap again"
      end

      def html(text) = text.gsub(/[&<>"']/, HTML)

      # JSON that is in a page's script
      def json(text) = text.gsub(/[<\u2028\u2029]/, JSON_TEXT)
    end
  end
end
