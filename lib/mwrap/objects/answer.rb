# SPDX-License-Identifier: GPL-2.0-or-later
# frozen_string_literal: true

require_relative "../ctl/text"

#--
# Needs lib/mwrap/objects.rb.
#++
module Mwrap::Objects
  # Answers a GET of one of these paths, percent-encoded as it came:
  #
  #   /objects                  the list of views, and their costs; nothing is computed
  #   /objects/pages            as pages, counts, classes, iseqs and stacks
  #   /objects/counts
  #   /objects/classes
  #   /objects/iseqs
  #   /objects/stacks
  #   /objects/class/NAME       as allocations(NAME)
  #   /objects/find/WHAT        as find(WHAT); an address, a class's name, or the digits of an object_id; depth=
  #   /objects/holders          as holders
  #   /objects/holders?location=LOCATION   also of the Ruby objects that it made
  #
  # The form is HTML, or that of a suffix .tsv, .csv or .json (or format=). +query+ is the text
  # behind the question mark, or nil: limit= (0: all; a page has 100 rows, and 500 at most), offset=, sort= a column's
  # name, order=asc or desc. +base+ is where "/" is mounted, for links: "" or "/mwrap". +mount+ is
  # where the family's "/" is mounted, if that differs.
  #
  # mark: the overview has a button for POST /objects/mark, which the caller answers by #mark.
  #
  # Returns [status, headers, [body]] as Rack 2 and 3 take it, or nil for any other path. A failure
  # is a status and a line of text: 400 a bad parameter, 404 no page, class, object or
  # location of that name, 501 not with this Ruby or its Ractors, 503 another walk is under way, or a
  # child couldn't look.
  def self.answer(path, query, base, mount = nil, mark: false)
    return unless path.match?(%r{\A/objects(?:[/.]|\z)})
    Mwrap.quiet { Answer.new(path, query, base, mount, mark).to_a }
  end

  # How an answer tells Busy, Unavailable and TooLarge
  def self.failed(error) = Answer.failed(error) # :nodoc:

  # A status and a line of text.
  class Refused < StandardError # :nodoc:
    attr_reader :status

    def initialize(status, line)
      @status = status
      super(line)
    end
  end
  private_constant :Refused

  class Answer # :nodoc: all
    TYPES = { "html" => "text/html; charset=utf-8", "tsv" => "text/tab-separated-values; charset=utf-8",
              "csv" => "text/csv; charset=utf-8; header=present", "json" => "application/json; charset=utf-8" }.freeze
    PATHS = VIEWS.keys.to_h { |name| [name, "/objects/#{name}#{{ "class" => "/NAME", "find" => "/NAME" }[name]}"] }.freeze
    LIMIT = 100 # rows of a page when none is asked for
    MOST = 500 # and at most, as of the other pages
    ALWAYS = { "cache-control" => "no-store", "x-content-type-options" => "nosniff", "referrer-policy" => "same-origin" }.freeze

    def initialize(path, query, base, mount, mark)
      @path = path
      @query = query.to_s
      @base = base
      @mount = mount
      @mark = mark
    end

    def to_a
      body = answer
      headers = { "content-type" => TYPES.fetch(@form) }.merge(ALWAYS)
      headers, body = body if @form == "html"
      [200, headers, [body]]
    rescue Refused => e
      line(e.status, e.message)
    rescue Busy, Unavailable, Failed => e
      failed(e)
    end

    def self.failed(error) = new("", nil, "", nil, false).failed(error)

    # How Busy and the like are told
    def failed(error)
      case error
      when Busy then line(503, error.message, "retry-after" => "1")
      when Failed then line(503, error.message, "retry-after" => "5")
      when TooLarge then line(413, error.message)
      when SystemCallError then line(503, "the folder for temporary files: #{error.message}: make room there, or set TMPDIR")
      else line(501, error.message)
      end
    end

    private

    def line(status, text, more = {})
      [status, { "content-type" => "text/plain; charset=utf-8", **ALWAYS, **more }, ["#{Text.plain(text)}\n"]]
    end

    def answer
      params = parse
      @asked = @form = params["format"] || "html"
      TYPES.key?(@form) or raise Refused.new(400, "format: html, tsv, csv or json expected")
      require "json"
      return overview if @path.match?(%r{\A/objects(?:\.(?:tsv|csv|json))?\z})
      @params = params
      return ask if @form == "html" && @path == "/objects/holders" && !params.key?("look")
      result = result()
      slice = Slice.new(result.view, result.rows, params, *([LIMIT, MOST] if @form == "html"))
      case @form
      when "html" then Page.new(@base, @mount, @path, kept(result.view)).result(result, slice)
      when "json" then Text.json(result, slice.rows)
      else Text.table(result.view.columns, slice.rows, @form)
      end
    end

    # Takes a suffix such as ".tsv" from a path that has one.
    def form_of(path)
      form = path[/\.(tsv|csv|json)\z/, 1] or return path
      @form = form
      path.delete_suffix(".#{form}")
    end

    def overview
      form_of(@path)
      views = VIEWS.values.map { |v| { path: PATHS.fetch(v.name), title: v.title, about: v.about, cost: v.cost } }
      case @form
      when "html" then Page.new(@base, @mount, "/objects").overview(views, @mark)
      when "json" then "#{JSON.generate({ views: views })}\n"
      else Text.table(%i[path title about cost].map { |n| Column.new(n, nil, nil, :text) }, views, @form)
      end
    end

    # A link forks nothing: the page has a button first.
    def ask
      at = location
      Page.new(@base, @mount, @path).ask(VIEWS.fetch("holders"), at && Text.utf8(at))
    end

    def result
      case form_of(@path)
      when "/objects/pages" then Mwrap::Objects.pages
      when "/objects/counts" then Mwrap::Objects.counts
      when "/objects/classes" then Mwrap::Objects.classes
      when "/objects/iseqs" then Mwrap::Objects.iseqs
      when "/objects/stacks" then Mwrap::Objects.stacks
      when "/objects/holders" then Mwrap::Objects.holders(location) or raise Refused.new(404, "no such location: nothing was allocated there")
      when %r{\A/objects/class/.} then of_name("class") { |name| Mwrap::Objects.allocations(name) }
      when %r{\A/objects/find/.} then of_name("find") { |what| Mwrap::Objects.find(what.match?(/\A[1-9]\d{0,18}\z/) ? what.to_i : what, depth: depth) }
      else raise Refused.new(404, "no such page")
      end
    end

    # A class's name may end like a suffix; then the whole name is meant.
    def of_name(view)
      by_suffix = @form
      names = [@path, form_of(@path)].uniq.map { |path| decode(path.delete_prefix("/objects/#{view}/")) }
      @form = @asked
      found = yield(names[0]) and return found
      @form = by_suffix
      names[1] && (found = yield(names[1])) or raise Refused.new(404, view == "class" ? "no such class" : "no such object or class")
      found
    end

    def depth
      text = @params["depth"] || "1"
      text.match?(/\A[1-#{DEPTH_MAX}]\z/) ? text.to_i : raise(Refused.new(400, "depth: 1 to #{DEPTH_MAX} expected"))
    end

    # The parameters of all links of a page
    def kept(view)
      case view.name
      when "find" then { depth: depth }
      when "holders" then { location: location_param&.b&.gsub(/[^!#$%'-;=?-~]/n) { |c| format("%%%02X", c.ord) }, look: "1" }
      else {}
      end
    end

    # As it came, percent-encoded
    def location_param = @query[/(?:\A|&)location=([^&]+)/, 1]

    # Its bytes, whatever their encoding; nil: none is asked for
    def location = location_param && bytes(location_param.tr("+", " "))

    def parse
      @query.split("&").each_with_object({}) do |pair, params|
        name, value = pair.split("=", 2).map { |s| decode(s.tr("+", " ")) }
        params[name] = value unless value.to_s.empty?
      end
    end

    def decode(text) = Text.utf8(bytes(text))

    def bytes(text)
      raise Refused.new(400, "broken percent-encoding, or a NUL byte") if text.match?(/%(?!\h\h)|%00|\0/)
      text.b.gsub(/%(\h\h)/n) { $1.hex.chr }
    end
  end

  # The requested rows, in the requested order.
  class Slice # :nodoc: all
    attr_reader :rows, :offset, :limit, :all, :sort, :descending

    # limit: rows without limit=; most: rows at most; 0: all
    def initialize(view, rows, params, limit = 0, most = 0)
      @all = rows.size
      @limit = number(params, "limit", limit)
      @limit = most if most.positive? && !@limit.between?(1, most)
      @offset = number(params, "offset", 0)
      order(view, params)
      rows = sorted(rows) if @sort
      @rows = rows.drop([@offset, @all].min).then { |r| @limit.zero? ? r : r.first(@limit) }
    end

    private

    def number(params, name, default)
      text = params[name] or return default
      text.match?(/\A\d{1,18}\z/) or raise Refused.new(400, "#{name}: a whole number expected")
      text.to_i
    end

    def order(view, params)
      name, order = params.values_at("sort", "order")
      @sort = name && view.columns.find { |c| c.name.to_s == name }
      raise Refused.new(400, "sort: one of #{view.columns.map(&:name).join(", ")} expected") if name && !@sort
      raise Refused.new(400, "order: asc or desc expected") unless [nil, "asc", "desc"].include?(order)
      @descending = order ? order == "desc" : !@sort&.text?
      @sort ||= (view.columns.find { |c| c.name == :memsize } || view.columns.find { |c| c.name == :percent }) if order
    end

    # Unknown values come last.
    def sorted(rows)
      known, unknown = rows.partition { |r| r[@sort.name] }
      known = known.each_with_index.sort_by { |r, i| [r[@sort.name], i] }.map(&:first)
      (@descending ? known.reverse : known) + unknown
    end
  end

  # The forms that programs read, as the other pages have them.
  module Text # :nodoc: all
    TSV = { "\t" => "\\t", "\n" => "\\n", "\r" => "\\r", "\\" => "\\\\" }.freeze

    module_function

    def utf8(text) = Mwrap::Objects.send(:utf8, text)
    def plain(text) = utf8(text).tr("\t\r\n", " ")

    def table(columns, rows, form)
      return lines(columns, rows, ",", "\r\n") { |s| s.match?(/[",\r\n]/) ? "\"#{s.gsub('"', '""')}\"" : s } if form == "csv"
      lines(columns, rows, "\t", "\n") { |s| s.gsub(/[\t\n\r\\]/, TSV) }
    end

    def lines(columns, rows, between, ending, &escape)
      text = +"#{columns.map(&:name).join(between)}#{ending}"
      rows.each { |r| text << columns.map { |c| escape.call(value(c, r[c.name]).to_s) }.join(between) << ending }
      text
    end

    def value(column, v)
      case column.kind
      when :address then v && format("0x%x", v)
      when :path then path(v)
      else v
      end
    end

    # The steps of a path in one text, which may be several locations' bytes
    def path(steps) = steps.map { |s| utf8(s) }.join(" \u2192 ")

    def json(result, rows)
      top = { title: result.view.title, cost: result.view.cost, seconds: result.seconds.round(6) }
      top[{ "find" => :what, "holders" => :location }.fetch(result.view.name, :class)] = plain_value(nil, result.subject) if result.subject
      top.merge!(result.facts)
      objects, rows = rows.partition { |r| r[:of] == :objects } # as /holders.json of the server has them
      lists = { rows: rows.map { |r| r.except(:of) } }
      lists[:object_rows] = objects.map { |r| r.except(:of, :blocks, :bytes) } if result.view.name == "holders"
      "{\n#{top.map { |k, v| "#{JSON.generate(k.to_s)}:#{JSON.generate(v)},\n" }.join}#{lists.map { |k, v| list(k, v) }.join(",\n")}\n}\n"
    end

    def list(name, rows)
      rows = rows.map { |r| r.to_h { |k, v| [k, plain_value(k, v)] } }
      "\"#{name}\":[#{rows.map { |r| "\n#{JSON.generate(r)}" }.join(",")}#{"\n" unless rows.empty?}]"
    end

    def plain_value(name, v)
      case v
      when Array then v.map { |s| utf8(s) }
      when String then utf8(v)
      else name == :address && v ? format("0x%x", v) : v
      end
    end
  end

  # The page, in the layout of all others.
  class Page # :nodoc: all
    HTML = { "&" => "&amp;", "<" => "&lt;", ">" => "&gt;", '"' => "&quot;", "'" => "&#39;" }.freeze

    BYTES = %i[memsize bytes].freeze # facts that are amounts

    # keep: parameters of all its links
    def initialize(base, mount, path, keep = {})
      @bare = base
      @mount = mount
      @base = h(base)
      @path = path
      @keep = keep
    end

    def overview(views, mark)
      list = views.map do |v|
        link = v[:path].sub(%r{/(?:class|find)/NAME}, "/classes") # there each class is a link
        "<dt><a href=\"#{@base}#{link}\">#{h(v[:title])}</a></dt>\n<dd>#{h(v[:about])}</dd>\n<dd class=\"note\">Cost: #{h(v[:cost])}</dd>\n"
      end
      layout("Ruby’s objects", "<h1>Ruby’s objects</h1>\n<p class=\"summary\">Ruby is asked for these when they are " \
        "opened, one at a time; each says what that costs the application.</p>\n#{mark_form if mark}<dl class=\"views\">\n#{list.join}</dl>\n")
    end

    def mark_form
      "<form method=\"post\" action=\"#{@base}/objects/mark\"><button>Count growth from now on</button></form>\n"
    end

    def result(result, slice)
      view = result.view
      name = result.subject ? "#{view.title}: #{result.subject}" : view.title
      layout(name, "<h1#{" class=\"location\"" if result.subject}>#{h(name)}</h1>\n<p class=\"summary\">#{h(view.about)}</p>\n" \
        "<ul class=\"facts\">\n#{facts(result)}</ul>\n<p class=\"note\">Cost: #{h(view.cost)} This time it took " \
        "#{format("%.1f", result.seconds * 1000)} ms.</p>\n#{table(caption(result, slice), head(columns = shown(view, slice), slice), body(columns, slice))}" \
        "#{pager(slice)}<p class=\"exports\">All rows as #{exports}</p>\n#{further(result)}" \
        "<p class=\"note\"><a href=\"#{@base}/objects\">Other views of Ruby’s objects</a></p>\n")
    end

    # view: what the button computes; at: of which location, or nil
    def ask(view, at)
      field = at && "<input type=\"hidden\" name=\"location\" value=\"#{h(at)}\">"
      layout(view.title, "<h1#{" class=\"location\"" if at}>#{h(at ? "#{view.title}: #{at}" : view.title)}</h1>\n<p class=\"summary\">#{h(view.about)}</p>\n" \
        "<p class=\"note\">Cost: #{h(view.cost)}</p>\n<form action=\"#{@base}/objects/holders\">#{field}<button name=\"look\" value=\"1\">Find holders</button></form>\n")
    end

    private

    def h(text) = Text.utf8(text.to_s).gsub(/[&<>"']/, HTML)
    def number(n) = Mwrap::Ctl::Text.count(n)

    # As the server's pages have it: the exact number is in the title.
    def bytes(n)
      "<span class=\"amount\" title=\"#{number(n)} byte#{"s" unless n == 1}\">#{Mwrap::Ctl::Text.bytes(n).sub(" ", "\u00a0")}</span>"
    end

    def encode(text) = text.b.gsub(/[^A-Za-z0-9\-._~]/n) { |c| format("%%%02X", c.ord) }
    def facts(result) = result.view.facts.map { |k, title| "<li>#{h(title)} <b>#{BYTES.include?(k) ? bytes(result.facts[k]) : number(result.facts[k])}</b></li>\n" if result.facts[k] }.join

    # Links to further questions about the same object or class
    def further(result)
      case result.view.name
      when "class" then "<p><a href=\"#{@base}/objects/find/#{encode(result.subject)}\">Their referrers</a></p>\n"
      when "find"
        "<p>Levels: #{[1, 2, 4, 8].map { |n| "<a href=\"#{link(nil, depth: n)}\">#{n}</a> " }.join}</p>\n"
      end
    end

    def caption(result, slice)
      n = slice.rows.size
      "#{h(result.view.title)}#{" #{number(slice.offset + 1)}–#{number(slice.offset + n)} of #{number(slice.all)}" if n.positive?}"
    end

    def table(caption, head, body)
      "<div class=\"scroll\" role=\"region\" aria-label=\"Rows\" tabindex=\"0\">\n<table class=\"rows\">\n<caption>#{caption}</caption>\n" \
        "<thead>\n<tr>\n#{head}</tr>\n</thead>\n<tbody>\n#{body}</tbody>\n</table>\n</div>\n"
    end

    # Of holders without a location no path is known, and no object.
    def shown(view, slice)
      return view.columns unless view.name == "holders"
      paths = slice.rows.any? { |r| r[:paths].to_i.positive? || r[:path]&.any? }
      objects = slice.rows.any? { |r| r[:of] == :objects }
      view.columns.reject { |c| (!paths && %i[paths path].include?(c.name)) || (!objects && c.name == :of) }
    end

    # A class that is reached leads to who refers to its objects; a library and "(nothing)" lead nowhere.
    def holder(row)
      name = h(row[:holder])
      link = %i[ruby garbage].include?(row[:by].to_sym) && row[:holder].match?(/\A[A-Z]/)
      "<td class=\"location\">#{link ? "<a href=\"#{@base}/objects/find/#{encode(row[:holder])}\" title=\"Who refers to its objects\">#{name}</a>" : name}</td>"
    end

    # A header sorts by its column; the present column's reverses the order.
    def head(columns, slice)
      columns.map do |c|
        here = slice.sort&.name == c.name
        down = here ? slice.descending : c.text?
        sorted = " aria-sort=\"#{slice.descending ? "descending" : "ascending"}\"" if here
        "<th scope=\"col\"#{" class=\"num\"" unless c.text?}#{sorted}><a href=\"#{link(nil, sort: c.name, order: down ? "asc" : "desc")}\" " \
          "title=\"#{h(c.about)}\">#{h(c.title)}</a></th>\n"
      end.join
    end

    def body(columns, slice)
      rows = slice.rows.map { |r| "<tr>#{columns.map { |c| c.kind == :holder ? holder(r) : cell(c, r[c.name]) }.join}</tr>\n" }
      return rows.join unless rows.empty?
      "<tr><td class=\"empty\" colspan=\"#{columns.size}\">#{slice.all.zero? ? "There is none." : "No row is left at this offset."}</td></tr>\n"
    end

    def cell(column, value)
      return "<td class=\"num\">–</td>" if value.nil?
      case column.kind
      when :number, :signed then "<td class=\"num\">#{number(value)}</td>"
      when :bytes then "<td class=\"num\">#{bytes(value)}</td>"
      when :text then "<td>#{h(value)}</td>"
      when :percent then "<td class=\"num\">#{format("%.1f", value)}</td>"
      when :address then "<td class=\"num address\">#{address(value)}</td>"
      when :path then "<td class=\"location\">#{h(Text.path(value))}</td>"
      else "<td class=\"location\">#{name(column, value)}</td>"
      end
    end

    # Pages of the heap aren't objects.
    def address(value)
      text = format("0x%x", value)
      @path.start_with?("/objects/pages") ? text : "<a href=\"#{@base}/objects/find/#{text}\">#{text}</a>"
    end

    # Links to what there is about it; "(internal)" and its like have nothing.
    def name(column, value)
      to = { class: "/objects/class/", location: "/at/", file: "/each/0?q=" }.fetch(column.kind)
      return h(value) if value.start_with?("(") && (column.kind != :class || value.match?(/\A\((?:internal|root)/))
      "<a href=\"#{@base}#{to}#{encode(value)}\">#{h(value)}</a>"
    end

    def link(form, params = {})
      path = @path.sub(/\.(?:tsv|csv|json)\z/, "")
      query = @keep.merge(params).reject { |k, _| form && k == :look }.compact.map { |k, v| "#{k}=#{v}" }.join("&amp;")
      # encoded as it came, except what an attribute can't hold
      "#{@base}#{h(path)}#{".#{form}" if form}#{"?#{query}" unless query.empty?}"
    end

    def pager(slice)
      before, after = slice.offset.positive?, slice.offset + slice.rows.size < slice.all && !slice.rows.empty?
      return "" if slice.limit.zero? || !(before || after)
      to = lambda do |rel, offset, text|
        order = { sort: slice.sort.name, order: slice.descending ? "desc" : "asc" } if slice.sort
        "<a rel=\"#{rel}\" href=\"#{link(nil, **order.to_h, limit: slice.limit, offset: offset)}\">#{text}</a> "
      end
      "<nav class=\"pager\" aria-label=\"Pages\">#{to["prev", [[slice.offset, slice.all].min - slice.limit, 0].max, "← Previous"] if before}" \
        "#{to["next", slice.offset + slice.limit, "Next →"] if after}</nav>\n"
    end

    def exports = %w[tsv csv json].map { |f| "<a href=\"#{link(f)}\">#{f.upcase}</a> " }.join

    # [headers, page]
    def layout(title, main) = Mwrap::Pages.page(title.tr("\0", " "), main, @bare, @mount || @bare)
  end
  private_constant :Answer, :Slice, :Text, :Page
end
