# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "client"
require_relative "output"

module Mwrap
  module Ctl
    # mwrapctl objects: the views of Ruby's own heap that MwrapRack has at /objects.
    class Objects # :nodoc: all
      Column = Listing::Column
      VIEWS = %w[classes counts iseqs stacks pages].freeze
      NAMED = %r{\A(class|find)/(.+)\z}m
      # Of JSON's names. Any other is a text.
      COLUMNS = [Column.new("level", "LEVEL", :count), Column.new("count", "COUNT", :count), Column.new("growth", "GROWTH", :change), Column.new("references", "REFERENCES", :count),
                 Column.new("memsize", "BYTES", :bytes), Column.new("slot_size", "SLOT", :bytes), Column.new("used", "USED", :count), Column.new("total", "SLOTS", :count),
                 Column.new("percent", "USED %", :score), Column.new("generation", "GENERATION", :count), Column.new("age", "AGE", :count)].to_h { |c| [c.name, c] }.freeze

      def initialize(socket, view, given)
        @socket = socket
        @view = view
        @given = given
      end

      def run
        raise Usage, "--mark: not with a VIEW: give one of them" if @given["mark"] && @view
        path = self.path
        @client = Client.of(@socket, @given)
        @given["mark"] ? mark : listing(path)
        nil
      end

      private

      def path
        view = @view || VIEWS[0]
        name = view[NAMED, 2]
        name || VIEWS.include?(view) or raise Usage, "VIEW: \"#{view}\" is unknown: use #{VIEWS.join(", ")}, class/NAME or find/NAME"
        depth = @given["depth"]
        raise Usage, "--depth: only for find/NAME" if depth && view[NAMED, 1] != "find"
        "/objects/#{name ? "#{view[NAMED, 1]}/#{encode(name)}" : view}"
      end

      def encode(name) = name.b.gsub(/[^A-Za-z0-9\-._~]/n) { |c| format("%%%02X", c.ord) }

      def mark
        Output.write(asked { @client.post("/objects/mark") })
      end

      def listing(path)
        tree = asked { @client.json("#{path}?format=json#{"&depth=#{@given["depth"]}" if @given["depth"]}") }
        rows = tree.delete("rows")
        rows.is_a?(Array) && rows.all?(Hash) or @client.strange
        columns = rows.empty? ? [] : arranged(rows[0].keys)
        Listing.new(columns, rows.map { |r| columns.map { |c| r[c.name] } }, facts: facts(tree), extra: tree, limit: @given["count"], empty: "There is none.").print(@given)
      end

      # Numbers first: names may be long. Without a mark there is no growth to show.
      def arranged(names)
        names.map { |name| COLUMNS[name] || Column.new(name, name.upcase, :text) }.partition { |c| !c.text? }.flatten
      end

      # The lines above the rows
      def facts(tree)
        numbers = tree.except("title", "cost", "seconds", "class", "what").select { |_, v| v.is_a?(Integer) }
        shown = numbers.map { |name, n| "#{name} #{Output.paint(name == "memsize" ? Text.bytes(n) : Text.count(n), :bold)}" }
        [Output.paint(Text.clean([tree["title"], tree["class"] || tree["what"]].compact.join(": ")), :bold), shown.join("  ")]
      end

      # A server of the tracker's own has no lock of Ruby's.
      def asked
        yield
      rescue Failure => e
        raise unless e.code == 404 && e.message.include?("Rack endpoint")
        raise Failure, "#{@client.at.name}: has no views of Ruby's objects: name the address at which the app mounts MwrapRack"
      end
    end
  end
end
