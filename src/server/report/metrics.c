/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shared/sys/clock.h"
#include "shared/sys/root.h"
#include "api/version.h"
#include "shared/report/columns.h"

static const char rest[] = "(rest)";

/* --- what there is ---------------------------------------------------------- */

enum type { GAUGE, COUNTER };

struct value {
	uint64_t u;
	double seconds; /* if u is 0 */
	double ratio; /* if both are 0 */
};

struct metric {
	const char *name; /* without the "_total" of a counter's lines */
	enum type type;
	const char *unit; /* the name's suffix, or "" */
	const char *help; /* no quotes, backslashes or newlines */
	/* False: this process doesn't have it. */
	bool (*get)(const struct mw_metrics *, struct value *);
};

#define GET(name, known, expression)                                        \
	static bool get_##name(const struct mw_metrics *m, struct value *v) \
	{                                                                   \
		v->u = (expression);                                        \
		return (known);                                             \
	}
#define GET_STAT(field) GET(field, true, m->stats.field)

GET(allocated, m->stats.ever_known, m->stats.ever_total)
GET(allocations, m->stats.ever_known, m->stats.ever_allocations)
GET(freed, m->stats.ever_known, m->stats.ever_freed)
GET(frees, m->stats.ever_known, m->stats.ever_frees)
GET(live_bytes, m->stats.ever_known, m->stats.live_bytes)
GET(live, m->stats.ever_known, m->stats.live)
GET(rss, m->rss_known, m->rss)
GET(heap_pages, m->stats.heap_known, m->heap.pages)
GET(heap_bytes, m->stats.heap_known, m->heap.bytes)
GET(heap_deaths, m->stats.heap_known, m->heap.lives.n)
GET(heap_resurrects, m->stats.heap_known, m->heap.deaths.n)
GET(gc, m->stats.life_unit && !strcmp(m->stats.life_unit, "gc"), m->stats.generation)
GET_STAT(locations)
GET_STAT(locations_max)
GET_STAT(retired)
GET_STAT(tracker_bytes)

static bool get_own_cpu(const struct mw_metrics *m, struct value *v)
{
	v->ratio = m->own_cpu;
	return v->ratio > 0;
}

GET(memory_max, m->stats.memory_max > 0, m->stats.memory_max)
GET_STAT(lost)
GET(peak_bytes, m->stats.peak_bytes > 0, m->stats.peak_bytes)
GET_STAT(overruns)
GET_STAT(double_frees)
GET_STAT(unknown_frees)
GET_STAT(wrong_sizes)
GET_STAT(resets)
GET_STAT(paused)
GET_STAT(sampled)
GET_STAT(live_error)

/* Two standard deviations. */
static uint64_t error_of(uint64_t variance)
{
	return (uint64_t)(2 * mw_root((double)variance) + 0.5);
}

/* of: NONE before they were read */
static bool limits_known(const struct mw_metrics *m)
{
	return m->limits && m->limits->of;
}

#define GROUP(name, type, unit, file2, key2, file1, key1, help)                    \
	static bool get_group_##name(const struct mw_metrics *m, struct value *v)  \
	{                                                                          \
		v->u = limits_known(m) ? m->limits->group.name : MW_LIMIT_UNKNOWN; \
		return v->u != MW_LIMIT_UNKNOWN;                                   \
	}
#include "server/history/limits.def"
#undef GROUP

GET(tracker_full, true, m->stats.locations_full || m->stats.records_full || m->stats.threads_full)
GET(growing, m->verdict, m->verdict && m->verdict->growing)

static bool get_reached(const struct mw_metrics *m, struct value *v)
{
	v->seconds = m->verdict ? m->verdict->reached : -1;
	return m->verdict && m->verdict->reached >= 0;
}

GET(objects, m->objects_known, m->objects.objects)
GET(object_bytes, m->objects_known, m->objects.object_bytes)
GET(object_samples, m->objects_known, m->objects.object_samples)
GET(objects_error, m->objects_known, error_of(m->objects.object_variance))

static bool get_uptime(const struct mw_metrics *m, struct value *v)
{
	v->seconds = m->stats.uptime;
	return true;
}

static bool get_start(const struct mw_metrics *m, struct value *v)
{
	v->seconds = m->start;
	return true;
}

/* clang-format off */
static const struct metric metrics[] = {
	{ "mwrap_allocated_bytes", COUNTER, "bytes", "Bytes asked for from malloc and its relatives.", get_allocated },
	{ "mwrap_allocations", COUNTER, "", "Calls that allocated.", get_allocations },
	{ "mwrap_freed_bytes", COUNTER, "bytes", "Bytes of the blocks that were freed.", get_freed },
	{ "mwrap_frees", COUNTER, "", "Blocks that were freed.", get_frees },
	{ "mwrap_live_bytes", GAUGE, "bytes", "Bytes allocated and not freed yet.", get_live_bytes },
	{ "mwrap_live_blocks", GAUGE, "", "Blocks allocated and not freed yet.", get_live },
	{ "mwrap_rss_bytes", GAUGE, "bytes", "Resident memory of the process.", get_rss },
	{ "mwrap_heap_pages", GAUGE, "", "Pages that Ruby's objects live in.", get_heap_pages },
	{ "mwrap_heap_bytes", GAUGE, "bytes", "Their size, which is not malloc's.", get_heap_bytes },
	{ "mwrap_heap_page_deaths", COUNTER, "", "Such pages that Ruby gave back.", get_heap_deaths },
	{ "mwrap_heap_page_resurrections", COUNTER, "", "Such pages taken again where one was given back.",
	  get_heap_resurrects },
	{ "mwrap_ruby_objects", GAUGE, "", "Ruby objects that stay, estimated from samples.", get_objects },
	{ "mwrap_ruby_object_bytes", GAUGE, "bytes", "Their slots in these pages.", get_object_bytes },
	{ "mwrap_ruby_object_samples", GAUGE, "", "Samples that both rest on.", get_object_samples },
	{ "mwrap_ruby_objects_error", GAUGE, "", "How many more or fewer they may be, in 19 of 20 cases.",
	  get_objects_error },
	{ "mwrap_gc_runs", COUNTER, "", "Ruby's garbage collections, GC.count: the generation.", get_gc },
	{ "mwrap_locations", GAUGE, "", "Locations in the table.", get_locations },
	{ "mwrap_locations_max", GAUGE, "", "Locations for which the table has room.", get_locations_max },
	{ "mwrap_locations_retired", COUNTER, "", "Locations that left the table for others.", get_retired },
	{ "mwrap_tracker_bytes", GAUGE, "bytes", "Memory of the tracker's own tables.", get_tracker_bytes },
	{ "mwrap_tracker_cpu_ratio", GAUGE, "ratio",
	  "Share of the process's CPU time that tracking took in the last minute, at most.", get_own_cpu },
	{ "mwrap_tracker_max_bytes", GAUGE, "bytes", "Its ceiling, memory_max, if there is one.", get_memory_max },
	{ "mwrap_tracker_full", GAUGE, "", "1 while the tracker has no room for new locations, blocks or threads.", get_tracker_full },
	{ "mwrap_growing", GAUGE, "", "1 while the sentence tells of a growth that asks for action.", get_growing },
	{ "mwrap_limit_reached_seconds", GAUGE, "seconds",
	  "Time until the memory limit is reached, if growth goes on as fast as it did at most.", get_reached },
#define GROUP(name, type, unit, file2, key2, file1, key1, help) { "mwrap_group_" #name, type, unit, help, get_group_##name },
#include "server/history/limits.def"
#undef GROUP
	{ "mwrap_lost_records", COUNTER, "", "Live blocks that could not be recorded for want of memory.", get_lost },
	{ "mwrap_peak_bytes", GAUGE, "bytes", "Bytes live when they were most since the last reset, looked at once a second or so.",
	  get_peak_bytes },
	{ "mwrap_overruns", COUNTER, "", "Blocks found written past their end.", get_overruns },
	{ "mwrap_double_frees", COUNTER, "", "Frees of a block that was freed before.", get_double_frees },
	{ "mwrap_unknown_frees", COUNTER, "", "Frees of a block that the tracker never saw.", get_unknown_frees },
	{ "mwrap_wrong_sizes", COUNTER, "", "Blocks freed with another size than was asked for.", get_wrong_sizes },
	{ "mwrap_resets", COUNTER, "", "Resets of the table, which change none of these.", get_resets },
	{ "mwrap_paused", GAUGE, "", "1 while tracking is paused.", get_paused },
	{ "mwrap_sampled", GAUGE, "", "1 while allocations are sampled: then other metrics are estimates.", get_sampled },
	{ "mwrap_live_error_bytes", GAUGE, "bytes", "How many more or fewer bytes may be live, in 19 of 20 cases; 0: all are counted.",
	  get_live_error },
	{ "mwrap_uptime_seconds", GAUGE, "seconds", "Time since the tracker was loaded.", get_uptime },
	{ "mwrap_start_time_seconds", GAUGE, "seconds", "When that was, in Unix time.", get_start },
};
/* clang-format on */

static const struct metric limit = { "mwrap_limit_bytes", GAUGE, "bytes", "The smallest memory limit.",
				     NULL };
static const struct metric limit_used = {
	"mwrap_limit_used_bytes", GAUGE, "bytes",
	"What this limit counts, without pages of files that the kernel can drop.", NULL
};
static const struct metric own_labels = { "mwrap_labels_info", GAUGE, "",
					  "1, with the labels of the option label.", NULL };
static const struct metric verdict = {
	"mwrap_verdict", GAUGE, "", "1, for the kind of the sentence, and the location that it names.", NULL
};
static const struct metric build = {
	"mwrap_build_info", GAUGE, "",
	"1, for the versions of mwrap and Ruby, and how Ruby lines are found.", NULL
};
/* bytes, n and error of a location, in this order; error: of objects alone. */
enum figure { BYTES, NUMBER, ERROR, FIGURES };
static const struct metric of_live[FIGURES] = {
	[BYTES] = { "mwrap_location_live_bytes", GAUGE, "bytes",
		    "Live bytes of the locations with the most, and of all others.", NULL },
	[NUMBER] = { "mwrap_location_live_blocks", GAUGE, "",
		     "Live blocks of the locations with the most live bytes.", NULL },
};
static const struct metric of_made[FIGURES] = {
	[BYTES] = { "mwrap_location_ruby_object_bytes", GAUGE, "bytes",
		    "Slots of the Ruby objects that stay, by the locations that made the most, and all others.",
		    NULL },
	[NUMBER] = { "mwrap_location_ruby_objects", GAUGE, "", "These objects, estimated from samples.",
		     NULL },
	[ERROR] = { "mwrap_location_ruby_objects_error", GAUGE, "",
		    "How many more or fewer they may be, in 19 of 20 cases.", NULL },
};

/* --- taking them ------------------------------------------------------------ */

/*
 * A location as a label's value, MW_METRICS_LABEL bytes at most, made valid. A
 * native one loses its address, which differs between processes. One that is
 * too long loses its middle: the end has the file's name and line.
 */
void mw_metrics_location_label(struct mw_buf *b, const char *location, size_t len, size_t file_len,
			       enum mw_kind kind)
{
	static const char dots[] = "\xe2\x80\xa6";
	const size_t room = MW_METRICS_LABEL - (sizeof(dots) - 1);
	/* searched behind the module's path, which may contain anything */
	const char *address =
		kind == MW_KIND_NATIVE ? memmem(location + file_len, len - file_len, " [0x", 4) : NULL;
	struct mw_buf text = { 0 };
	size_t head, tail;

	mw_buf_utf8(&text, location, address ? (size_t)(address - location) : len);
	b->failed |= text.failed;
	if (text.n <= MW_METRICS_LABEL) {
		mw_buf_add(b, text.p, text.n);
	} else {
		head = mw_utf8_begin(text.p, room / 3);
		tail = text.n - (room - room / 3);
		while (((unsigned char)text.p[tail] & 0xc0) == 0x80)
			tail++;
		mw_buf_add(b, text.p, head);
		mw_buf_str(b, dots);
		mw_buf_add(b, text.p + tail, text.n - tail);
	}
	mw_buf_free(&text);
}

static bool is_label(const struct mw_metrics *m, const struct mw_metrics_location *p, const char *s,
		     size_t n)
{
	return p->len == n && !memcmp(m->labels.p + p->at, s, n);
}

static bool taken(const struct mw_metrics *m, const struct mw_metrics_list *l, const char *s, size_t n)
{
	if (n == sizeof(rest) - 1 && !memcmp(s, rest, n))
		return true;
	for (size_t i = 0; i < l->n; i++)
		if (is_label(m, &l->v[i], s, n))
			return true;
	return false;
}

/* Adds a location with these figures for the row, unless its label is taken; r NULL: for the rest. */
static void add_location(struct mw_metrics *m, struct mw_metrics_list *l, const struct mw_row *r,
			 struct mw_metrics_location figures)
{
	size_t at = m->labels.n;

	if (r)
		mw_metrics_location_label(&m->labels, r->location, r->location_len, r->file_len, r->kind);
	else
		mw_buf_str(&m->labels, rest);
	if (m->labels.failed)
		return;
	if (r && taken(m, l, m->labels.p + at, m->labels.n - at)) {
		m->labels.n = at;
		return;
	}
	figures.at = (uint32_t)at;
	figures.len = (uint32_t)(m->labels.n - at);
	l->v[l->n++] = figures;
}

/* a - b, not below 0: a saturated sum may be less than its parts. */
static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static struct mw_metrics_location figures_of(const struct mw_row *r, bool objects)
{
	if (objects)
		return (struct mw_metrics_location){
			.bytes = r->object_bytes, .n = r->objects, .variance = r->object_variance
		};
	return (struct mw_metrics_location){ .bytes = r->live_bytes, .n = r->live };
}

static int take_list(struct mw_metrics *m, const struct mw_api *api, uint64_t top, bool objects)
{
	/* a limit of 0 would mean all */
	struct mw_query q = { .sort = objects ? MW_COLUMN_object_bytes : MW_COLUMN_live_bytes,
			      .limit = top ? top : 1 };
	struct mw_metrics_list *l = objects ? &m->made : &m->live;
	struct mw_metrics_location others;
	struct mw_result res;

	if (mw_result_make(&res, api, &q))
		return -1;
	m->objects = res.sum;
	others = figures_of(&res.sum, objects);
	l->v = calloc(res.n + 1, sizeof(*l->v));
	for (size_t i = 0; l->v && i < res.n && top; i++) {
		struct mw_metrics_location one = figures_of(&res.rows[i], objects);

		if (one.n)
			add_location(m, l, &res.rows[i], one);
	}
	for (size_t i = 0; i < l->n; i++) {
		others.bytes = less(others.bytes, l->v[i].bytes);
		others.n = less(others.n, l->v[i].n);
		others.variance = less(others.variance, l->v[i].variance);
	}
	if (l->v)
		add_location(m, l, NULL, others);
	mw_result_free(&res, api);
	return l->v && !m->labels.failed ? 0 : -1;
}

static double unix_time(void)
{
	return (double)mw_clock_ns(CLOCK_REALTIME) / 1e9;
}

int mw_metrics_take(struct mw_metrics *m, const struct mw_api *api, int statm, uint64_t top, bool objects)
{
	*m = (struct mw_metrics){ .objects_known = objects };
	if (take_list(m, api, top, false) || (objects && take_list(m, api, top, true))) {
		mw_metrics_free(m);
		return -1;
	}
	api->heap_sums(&m->heap);
	api->stats(&m->stats);
	m->rss_known = mw_rss_bytes(statm, &m->rss);
	m->options = api->options ? api->options() : NULL;
	m->start = unix_time() - m->stats.uptime;
	return 0;
}

void mw_metrics_free(struct mw_metrics *m)
{
	free(m->live.v);
	free(m->made.v);
	mw_buf_free(&m->labels);
	*m = (struct mw_metrics){ 0 };
}

/* --- rendering them --------------------------------------------------------- */

static void metric_head(struct mw_buf *b, const struct metric *k, enum mw_metrics_form form)
{
	bool open = form == MW_METRICS_OPENMETRICS;
	const char *end = k->type == COUNTER && !open ? "_total" : "";

	mw_buf_fmt(b, "# HELP %s%s %s\n# TYPE %s%s %s\n", k->name, end, k->help, k->name, end,
		   k->type == COUNTER ? "counter" : "gauge");
	if (open && *k->unit)
		mw_buf_fmt(b, "# UNIT %s %s\n", k->name, k->unit);
}

void mw_metrics_label(struct mw_buf *b, unsigned *n, const char *name, const char *s, size_t len)
{
	struct mw_buf text = { 0 };
	size_t done = 0;

	mw_buf_utf8(&text, s, len);
	b->failed |= text.failed;
	mw_buf_fmt(b, "%s%s=\"", (*n)++ ? "," : "{", name);
	for (size_t i = 0; i < text.n; i++) {
		const char *escaped = text.p[i] == '\n' ? "\\n" :
				      text.p[i] == '"'  ? "\\\"" :
				      text.p[i] == '\\' ? "\\\\" :
							  NULL;

		if (!escaped)
			continue;
		mw_buf_add(b, text.p + done, i - done);
		mw_buf_str(b, escaped);
		done = i + 1;
	}
	if (text.n > done) /* an empty buffer's p is NULL */
		mw_buf_add(b, text.p + done, text.n - done);
	mw_buf_str(b, "\"");
	mw_buf_free(&text);
}

static void metric_name(struct mw_buf *b, const struct metric *k)
{
	mw_buf_str(b, k->name);
	mw_buf_str(b, k->type == COUNTER ? "_total" : "");
}

static void end_sample(struct mw_buf *b, unsigned n, const struct value *v)
{
	mw_buf_str(b, n ? "} " : " ");
	if (v->ratio > 0)
		mw_buf_decimals(b, v->ratio, 5);
	else if (v->seconds > 0)
		mw_buf_seconds(b, v->seconds);
	else
		mw_buf_u64(b, v->u);
	mw_buf_str(b, "\n");
}

static void simple(struct mw_buf *b, const struct metric *k, const struct mw_metrics *m,
		   enum mw_metrics_form form)
{
	struct value v = { 0 };

	if (!k->get(m, &v))
		return;
	metric_head(b, k, form);
	metric_name(b, k);
	end_sample(b, 0, &v);
}

static void versions(struct mw_buf *b, const struct mw_metrics *m, enum mw_metrics_form form)
{
	static const struct value one = { .u = 1 };
	const char *ruby = m->stats.ruby ? m->stats.ruby : "";
	const char *lookup = m->stats.ruby_lookup ? m->stats.ruby_lookup : "";
	const char *mode = m->stats.mode ? m->stats.mode : "";
	unsigned labels = 0;

	metric_head(b, &build, form);
	metric_name(b, &build);
	mw_metrics_label(b, &labels, "version", MWRAP_VERSION, strlen(MWRAP_VERSION));
	mw_metrics_label(b, &labels, "ruby", ruby, strlen(ruby));
	mw_metrics_label(b, &labels, "ruby_lookup", lookup, strlen(lookup));
	mw_metrics_label(b, &labels, "mode", mode, strlen(mode));
	end_sample(b, labels, &one);
}

/* One sample with labels. */
static void labelled(struct mw_buf *b, const struct metric *k, enum mw_metrics_form form, uint64_t v,
		     const char *const (*label)[2], size_t n)
{
	unsigned labels = 0;

	metric_head(b, k, form);
	metric_name(b, k);
	for (size_t i = 0; i < n; i++)
		mw_metrics_label(b, &labels, label[i][0], label[i][1], strlen(label[i][1]));
	end_sample(b, labels, &(struct value){ .u = v });
}

static void write_labels(struct mw_buf *b, const struct mw_metrics *m, enum mw_metrics_form form)
{
	char label[MW_LABEL_NAME_MAX + 1];
	unsigned labels = 0;

	metric_head(b, &own_labels, form);
	metric_name(b, &own_labels);
	for (unsigned i = 0; m->options && i < m->options->labels_n; i++) {
		const char *given = m->options->labels[i];
		size_t n = strcspn(given, "=");

		memcpy(label, given, n);
		label[n] = '\0';
		mw_metrics_label(b, &labels, label, given + n + 1, strlen(given + n + 1));
	}
	end_sample(b, labels, &(struct value){ .u = 1 });
}

static void write_kept(struct mw_buf *b, const struct mw_metrics *m, enum mw_metrics_form form)
{
	if (limits_known(m)) {
		const char *const of[][2] = { { "of", mw_limit_names[m->limits->of] } };

		labelled(b, &limit, form, m->limits->bytes, of, 1);
		labelled(b, &limit_used, form, m->limits->used, of, 1);
	}
	if (m->verdict) {
		const char *const says[][2] = { { "kind", m->verdict->kind },
						{ "location", m->verdict->location } };

		labelled(b, &verdict, form, 1, says, 2);
	}
}

static uint64_t figure_of(const struct mw_metrics_location *l, enum figure f)
{
	return f == BYTES ? l->bytes : f == NUMBER ? l->n : error_of(l->variance);
}

static void write_figure(struct mw_buf *b, const struct mw_metrics *m, const struct mw_metrics_list *l,
			 const struct metric *k, enum figure f, enum mw_metrics_form form)
{
	metric_head(b, k, form);
	for (size_t i = 0; i < l->n; i++) {
		struct value v = { .u = figure_of(&l->v[i], f) };
		unsigned labels = 0;

		metric_name(b, k);
		mw_metrics_label(b, &labels, "location", m->labels.p + l->v[i].at, l->v[i].len);
		end_sample(b, labels, &v);
	}
}

static void write_list(struct mw_buf *b, const struct mw_metrics *m, const struct mw_metrics_list *l,
		       const struct metric *of, enum mw_metrics_form form)
{
	for (enum figure f = 0; f < FIGURES && l->n; f++)
		if (of[f].name)
			write_figure(b, m, l, &of[f], f, form);
}

void mw_metrics_render(struct mw_buf *b, const struct mw_metrics *m, enum mw_metrics_form form)
{
	versions(b, m, form);
	write_labels(b, m, form);
	for (size_t k = 0; k < sizeof(metrics) / sizeof(*metrics); k++)
		simple(b, &metrics[k], m, form);
	write_kept(b, m, form);
	write_list(b, m, &m->live, of_live, form);
	write_list(b, m, &m->made, of_made, form);
	if (form == MW_METRICS_OPENMETRICS)
		mw_buf_str(b, "# EOF\n");
}
