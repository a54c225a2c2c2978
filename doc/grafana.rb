# frozen_string_literal: true
# SPDX-License-Identifier: GPL-2.0-or-later

# grafana.rb [OUT] - writes web/grafana.json, a dashboard for Grafana. Names and types of metrics are
# those of the tables in src/server/report/metrics.c and src/server/history/limits.def. With OUT the file goes to that folder.

require "fileutils"
require "json"

ROOT = File.expand_path("..", __dir__)
METRICS = {
  **File.read(File.join(ROOT, "src/server/report/metrics.c")).scan(/"mwrap_(\w+)", (GAUGE|COUNTER), "/).to_h,
  **File.read(File.join(ROOT, "src/server/history/limits.def")).scan(/^GROUP\((\w+), (GAUGE|COUNTER)/).to_h { |name, type| ["group_#{name}", type] }
}.freeze
SOURCE = { type: "prometheus", uid: "${datasource}" }.freeze

# --- expressions --------------------------------------------------------------------

# The processes that the viewer chose, by what is chosen in the dashboard's variables.
def chosen(*variables, rest: [])
  labels = variables.map { |v| "#{v}=~\"$#{v}\"" } + rest
  labels.empty? ? "" : "{#{labels.join(",")}}"
end

def metric(name, type, *rest)
  METRICS[name] == type or abort "grafana.rb: mwrap_#{name}: metrics.c has no #{type} of that name: use one of its table"
  "mwrap_#{name}#{"_total" if type == "COUNTER"}#{chosen("job", "instance", "process", rest: rest)}"
end

def gauge(name, *rest) = metric(name, "GAUGE", *rest)
def sum(expression) = "sum(#{expression})"
def by_location(expression) = "sum by (location) (#{expression})"
# Growth a second, of a gauge and of a counter.
def slope(name, *rest) = "deriv(#{gauge(name, *rest)}[15m])"
def rate(name) = "rate(#{metric(name, "COUNTER")}[$__rate_interval])"
def increase(name, span) = "increase(#{metric(name, "COUNTER")}[#{span}])"

def growing
  same = "on (job, instance, process)"
  "count by (location, version) ((#{gauge("verdict", 'location!=""')} and #{same} #{gauge("growing")} == 1) " \
    "* #{same} group_left (version) #{gauge("labels_info")})"
end

# --- variables ----------------------------------------------------------------------

def shown = { hide: 0, skipUrlSync: false }

# The values of a label, among what the variables before it chose.
def variable(name, before)
  query = "label_values(mwrap_live_bytes#{chosen(*before)}, #{name})"
  { name: name, label: name.capitalize, type: "query", datasource: SOURCE, definition: query,
    query: { query: query, refId: "PrometheusVariableQueryEditor-VariableQuery" },
    refresh: 2, regex: "", sort: 1, multi: true, includeAll: true, allValue: ".*",
    current: { selected: true, text: ["All"], value: ["$__all"] }, options: [], **shown }
end

def variables
  [{ name: "datasource", label: "Data source", type: "datasource", query: "prometheus", refresh: 1, regex: "",
     multi: false, includeAll: false, current: {}, options: [], **shown },
   variable("job", []), variable("instance", %w[job]), variable("process", %w[job instance])]
end

# --- panels -------------------------------------------------------------------------

EACH = "{{instance}} {{process}}"

# The line of this name isn't a part of the stack.
def above_the_stack(name)
  { matcher: { id: "byName", options: name },
    properties: [{ id: "custom.stacking", value: { group: "A", mode: "none" } }, { id: "custom.fillOpacity", value: 0 },
                 { id: "custom.lineWidth", value: 2 }, { id: "color", value: { fixedColor: "text", mode: "fixed" } }] }
end

# lines: expressions by their names. below: values may be below 0.
def panel(title, description, unit, lines, stacked: false, below: false, legend: "list", overrides: [])
  { type: "timeseries", title: title, description: description, datasource: SOURCE, gridPos: nil,
    fieldConfig: {
      defaults: {
        color: { mode: "palette-classic" },
        custom: { drawStyle: "line", lineWidth: 1, fillOpacity: stacked ? 40 : 0, showPoints: "never", spanNulls: false,
                  stacking: { group: "A", mode: stacked ? "normal" : "none" } },
        unit: unit, **(below ? {} : { min: 0 })
      },
      overrides: overrides
    },
    options: { legend: { calcs: %w[lastNotNull max], displayMode: legend, placement: "bottom", showLegend: true },
               tooltip: { mode: "multi", sort: "desc" } },
    targets: lines.zip("A".."Z").map do |(name, expression), id|
      { datasource: SOURCE, editorMode: "code", expr: expression, legendFormat: name, range: true, refId: id }
    end }
end

def memory
  rss, live, heap, tracker = %w[rss live heap tracker].map { |name| sum(gauge("#{name}_bytes")) }
  panel("Memory", "RSS as a line; below it what is live in malloc's blocks, Ruby's heap pages, the tracker's tables, and the " \
        "rest: free memory that the allocator keeps, programs, stacks.", "bytes",
        { "live" => live, "Ruby's heap pages" => heap, "the tracker's tables" => tracker,
          "other" => "clamp_min(#{rss} - #{live} - (#{heap} or vector(0)) - #{tracker}, 0)", "RSS" => rss },
        stacked: true, legend: "table", overrides: [above_the_stack("RSS")])
end

# Each row's height, and its panels, which share its width.
ROWS = [
  [10,
   memory,
   panel("Live bytes by location", "The locations with the most live bytes; (rest) is all others. A native location has no address, " \
         "so that processes have the same.", "bytes",
         { "{{location}}" => by_location(gauge("location_live_bytes")) }, stacked: true, legend: "table")],
  [8,
   panel("Which line grows, on how many processes", "Processes that tell of a growth, by the line and by the label version " \
         "(option label:version=...): the first version that is there brought it.", "short",
         { "{{location}} {{version}}" => growing }, legend: "table"),
   panel("Limit", "What the smallest memory limit counts, and that limit.", "bytes",
         { "used, #{EACH}" => gauge("limit_used_bytes"), "{{of}}" => "max by (of) (#{gauge("limit_bytes")})" }),
   panel("Time until the limit", "At the fastest rate since the growth began. Nothing grows where there is no line.", "s",
         { EACH => gauge("limit_reached_seconds") })],
  [9,
   panel("Growth", "How fast live bytes and RSS grow, over a quarter of an hour: what stays above zero for hours is a leak, " \
         "or a cache that isn't full yet.", "Bps",
         { "live, #{EACH}" => slope("live_bytes"), "RSS, #{EACH}" => slope("rss_bytes") }, below: true, legend: "table"),
   panel("Growth by location", "The ten that grow fastest.", "Bps",
         { "{{location}}" => "topk(10, #{by_location(slope("location_live_bytes", 'location!="(rest)"'))})" },
         below: true, legend: "table")],
  [9,
   panel("Ruby's objects by location", "Slots of the Ruby objects that stay, by the lines that made the most of them, estimated from " \
         "samples; (rest) is all others. Not there before Ruby 3.4, unless the option objects is on.", "bytes",
         { "{{location}}" => by_location(gauge("location_ruby_object_bytes")) }, stacked: true, legend: "table"),
   panel("Growth of Ruby's objects by location", "The ten lines whose objects grow fastest.", "Bps",
         { "{{location}}" => "topk(10, #{by_location(slope("location_ruby_object_bytes", 'location!="(rest)"'))})" },
         below: true, legend: "table")],
  [8,
   panel("Allocation rate", "Bytes allocated and freed a second: the work of malloc, and of the collector behind it.", "Bps",
         { "allocated" => sum(rate("allocated_bytes")), "freed" => sum(rate("freed_bytes")) }),
   panel("Calls", "Calls that allocated, and blocks that were freed, a second.", "ops",
         { "allocations" => sum(rate("allocations")), "frees" => sum(rate("frees")) }),
   panel("Garbage collections", "Ruby's collections a second.", "ops", { EACH => rate("gc_runs") })],
  [8,
   panel("Ruby's heap pages", "Pages that live, and those given back and taken again since the start: resurrections that rise all the " \
         "time are pages that Ruby gives back too early.", "short",
         { "live" => sum(gauge("heap_pages")), "deaths" => sum(increase("heap_page_deaths", "$__rate_interval")),
           "resurrections" => sum(increase("heap_page_resurrections", "$__rate_interval")) }),
   panel("Faults", "Blocks written past their end, double and unknown frees, within an hour: each is a bug of a C extension. " \
         "Lost records: memory_max is too small.", "short",
         %w[overruns double_frees unknown_frees wrong_sizes lost_records].to_h { |name| ["#{name.tr("_", " ")}, #{EACH}", increase(name, "1h")] }),
   panel("Locations", "In the table, of those for which it has room.", "percentunit",
         { EACH => "#{gauge("locations")} / #{gauge("locations_max")}" })]
].freeze

def panels
  y = 0
  ROWS.flat_map do |height, *row|
    width = 24 / row.size
    places = row.each_with_index.map { |panel, i| panel.merge(gridPos: { h: height, w: width, x: i * width, y: y }) }
    y += height
    places
  end.map.with_index(1) { |panel, id| { id: id, **panel } }
end

# --- the dashboard ------------------------------------------------------------------

STARTS = { datasource: SOURCE, enable: true, expr: "resets(#{gauge("uptime_seconds")}[2m]) > 0", iconColor: "orange", name: "Starts",
           titleFormat: "{{instance}} started" }.freeze

BOARD = {
  __inputs: [],
  __requires: [
    { type: "grafana", id: "grafana", name: "Grafana", version: "9.0.0" },
    { type: "datasource", id: "prometheus", name: "Prometheus", version: "1.0.0" },
    { type: "panel", id: "timeseries", name: "Time series", version: "" }
  ],
  annotations: {
    list: [{ builtIn: 1, datasource: { type: "grafana", uid: "-- Grafana --" }, enable: true, hide: true,
             iconColor: "rgba(0, 211, 255, 1)", name: "Annotations & Alerts", type: "dashboard" }, STARTS]
  },
  title: "mwrap", uid: "mwrap-process", description: "Memory of processes that mwrap tracks: see doc/prometheus.md.",
  tags: %w[mwrap ruby memory], editable: true, graphTooltip: 1, id: nil, links: [], liveNow: false, refresh: "30s",
  schemaVersion: 37, style: "dark", time: { from: "now-6h", to: "now" }, timepicker: {}, timezone: "", version: 1,
  weekStart: "", templating: { list: variables }, panels: panels
}.freeze

path = File.join(ARGV[0] || ROOT, "web/grafana.json")
FileUtils.mkdir_p(File.dirname(path))
# some versions of json put a newline into an empty list or object
File.write(path, "#{JSON.pretty_generate(BOARD).gsub(/([\[{])\n\s*([\]}])/) { "#{$1}#{$2}" }}\n")
