/* SPDX-License-Identifier: GPL-2.0-or-later */
/* history.c - the rings of points. See history.h. */
#include "history.h"
#include "shared/text/json.h"

#include <string.h>

uint32_t mw_kib(uint64_t bytes)
{
	uint64_t kib = bytes / 1024 + (bytes % 1024 >= 512);

	return kib < MW_KIB_UNKNOWN ? (uint32_t)kib : MW_KIB_UNKNOWN - 1;
}

const struct mw_point *mw_history_last(const struct mw_history *h)
{
	return h->fine_n ? &h->fine[(h->fine_n - 1) % MW_FINE_N] : NULL;
}

/*
 * Is it in the step of the last point? Then the one with the lower RSS stays: spikes would hide a floor that rises. The
 * first point of all stays, too: the process began then.
 */
static bool joins(struct mw_point *last, const struct mw_point *p, uint32_t step, bool first)
{
	if (p->t / step > last->t / step)
		return false;
	if (!first && p->rss < last->rss)
		*last = *p;
	return true;
}

static bool joins_whole(struct mw_history *h, const struct mw_point *p)
{
	return h->long_n && joins(&h->whole[h->long_n - 1], p, h->long_step, h->long_n == 1);
}

/* Doubles the step until there is room: one point stays of each longer step. */
static void thin_whole(struct mw_history *h)
{
	while (h->long_n == MW_LONG_N) {
		h->long_step *= 2;
		h->long_n = 0;
		for (uint32_t i = 0; i < MW_LONG_N; i++)
			if (!joins_whole(h, &h->whole[i]))
				h->whole[h->long_n++] = h->whole[i];
	}
}

static void add_whole(struct mw_history *h, struct mw_point p)
{
	if (!h->long_step)
		h->long_step = MW_LONG_STEP;
	if (joins_whole(h, &p))
		return;
	thin_whole(h);
	if (!joins_whole(h, &p)) /* the step may be longer now */
		h->whole[h->long_n++] = p;
}

void mw_history_add(struct mw_history *h, struct mw_point p)
{
	const struct mw_point *last = mw_history_last(h);
	struct mw_point *minute = h->coarse_n ? &h->coarse[(h->coarse_n - 1) % MW_COARSE_N] : NULL;

	if (last && p.t <= last->t)
		return;
	h->fine[h->fine_n++ % MW_FINE_N] = p;
	if (!minute || !joins(minute, &p, MW_COARSE_STEP, h->coarse_n == 1))
		h->coarse[h->coarse_n++ % MW_COARSE_N] = p;
	add_whole(h, p);
}

void mw_history_mark(struct mw_history *h, double uptime)
{
	h->marks[h->marks_n++ % MW_MARKS_N] = uptime;
}

void mw_history_event(struct mw_history *h, double uptime, const char *kind, const char *text)
{
	struct mw_event *e = &h->events[h->events_n++ % MW_EVENTS_N];
	size_t n = text ? strlen(text) : 0;

	if (n > MW_EVENT_TEXT)
		n = mw_utf8_begin(text, MW_EVENT_TEXT);
	memset(e, 0, sizeof(*e));
	e->t = uptime;
	strncpy(e->kind, kind, sizeof(e->kind) - 1);
	if (n)
		memcpy(e->text, text, n);
}

/* --- grids ---------------------------------------------------------------------- */

static struct mw_history_grid ring(const struct mw_point *points, uint32_t size, uint32_t added,
				   uint32_t step)
{
	return (struct mw_history_grid){ points, size, added > size ? added % size : 0,
					 added > size ? size : added, step };
}

static struct mw_history_grid fine_of(const struct mw_history *h)
{
	return ring(h->fine, MW_FINE_N, h->fine_n, 1);
}

static struct mw_history_grid coarse_of(const struct mw_history *h)
{
	return ring(h->coarse, MW_COARSE_N, h->coarse_n, MW_COARSE_STEP);
}

static struct mw_history_grid whole_of(const struct mw_history *h)
{
	return ring(h->whole, MW_LONG_N, h->long_n, h->long_step ? h->long_step : (uint32_t)MW_LONG_STEP);
}

const struct mw_point *mw_history_at(const struct mw_history_grid *g, uint32_t i)
{
	return &g->points[(g->first + i) % g->size];
}

struct mw_history_grid mw_history_finest(const struct mw_history *h, double from)
{
	const struct mw_history_grid grids[] = { fine_of(h), coarse_of(h) }, whole = whole_of(h);
	double begin = whole.n ? mw_history_at(&whole, 0)->t : 0; /* there is nothing before */

	/* a full ring of minutes begins up to a minute after now - 24 h */
	for (size_t i = 0; i < 2; i++)
		if (grids[i].n &&
		    mw_history_at(&grids[i], 0)->t <= (from > begin ? from : begin) + grids[i].step)
			return grids[i];
	return whole;
}

/* --- JSON ----------------------------------------------------------------------- */

/* A selection of a grid's points, in order. */
struct shown {
	const struct mw_history_grid *grid;
	const struct mw_history_part *part; /* NULL: each point from `oldest` on */
	double oldest;
};

/* Returns the division of the part that holds time t, from 0. */
static uint64_t division(const struct mw_history_part *part, uint32_t t)
{
	double k = ((double)t - part->from) / (part->to - part->from) * (double)part->points;

	return k < (double)part->points ? (uint64_t)k : part->points - 1;
}

static bool is_shown(const struct shown *s, uint32_t i)
{
	const struct mw_history_part *part = s->part;
	uint32_t t = mw_history_at(s->grid, i)->t, next;

	if (!part)
		return t >= s->oldest;
	if (t < part->from || t > part->to)
		return false;
	if (i + 1 == s->grid->n || part->to <= part->from)
		return true;
	next = mw_history_at(s->grid, i + 1)->t;
	return next > part->to || division(part, next) > division(part, t);
}

/* A column by its place in a point: sizes are KiB there, and bytes in JSON. `unit`: 1024 of these, else 1. */
static void column(struct mw_buf *b, const struct shown *s, const char *name, size_t at, unsigned unit)
{
	bool time = at == offsetof(struct mw_point, t);

	mw_json_open(b, name, '[');
	for (uint32_t i = 0; i < s->grid->n; i++) {
		uint32_t v;

		if (!is_shown(s, i))
			continue;
		memcpy(&v, (const char *)mw_history_at(s->grid, i) + at, sizeof(v));
		mw_json_known(b, NULL, (uint64_t)v * unit, v != MW_KIB_UNKNOWN || time);
	}
	mw_buf_str(b, "]");
}

static void columns(struct mw_buf *b, const struct shown *s)
{
#define COLUMN(name, unit) { "\n" #name, offsetof(struct mw_point, name), unit }
	static const struct {
		const char *name;
		size_t at;
		unsigned unit;
	} all[] = { COLUMN(t, 1),         COLUMN(rss, 1024),     COLUMN(live, 1024), COLUMN(heap, 1024),
		    COLUMN(files, 1024),  COLUMN(tracker, 1024), COLUMN(free, 1024), COLUMN(anon, 1024),
		    COLUMN(stacks, 1024), COLUMN(threads, 1),    COLUMN(fds, 1),     COLUMN(gcs, 1) };
#undef COLUMN

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		column(b, s, all[i].name, all[i].at, all[i].unit);
}

static void grid(struct mw_buf *b, const char *name, const struct mw_history_grid *g, double oldest)
{
	const struct shown s = { .grid = g, .oldest = oldest };

	mw_json_open(b, name, '{');
	mw_json_u64(b, "step", g->step);
	columns(b, &s);
	mw_buf_str(b, "}");
}

static void event(struct mw_buf *b, const struct mw_event *e, bool first)
{
	mw_json_open(b, first ? NULL : "\n", '{');
	mw_json_seconds(b, "t", e->t);
	mw_json_str(b, "kind", e->kind);
	mw_json_str(b, "text", e->text);
	mw_buf_str(b, "}");
}

static void events(struct mw_buf *b, const struct mw_history *h)
{
	uint32_t first = h->events_n > MW_EVENTS_N ? h->events_n - MW_EVENTS_N : 0;

	mw_json_open(b, "\nevents", '[');
	for (uint32_t i = first; i != h->events_n; i++)
		event(b, &h->events[i % MW_EVENTS_N], i == first);
	mw_buf_str(b, "]");
}

void mw_history_render(struct mw_buf *b, const struct mw_history *h, double now)
{
	const struct mw_history_grid fine = fine_of(h), coarse = coarse_of(h), whole = whole_of(h);
	uint32_t first = h->marks_n > MW_MARKS_N ? h->marks_n - MW_MARKS_N : 0;

	grid(b, "\nfine", &fine, now - MW_FINE_N);
	grid(b, "\ncoarse", &coarse, now - MW_COARSE_STEP * MW_COARSE_N);
	grid(b, "\nlong", &whole, 0);
	mw_json_open(b, "\nmarks", '[');
	for (uint32_t i = first; i != h->marks_n; i++)
		mw_json_seconds(b, NULL, h->marks[i % MW_MARKS_N]);
	mw_buf_str(b, "]");
	events(b, h);
}

void mw_history_render_part(struct mw_buf *b, const struct mw_history *h, const struct mw_history_part *part)
{
	const struct mw_history_grid finest = mw_history_finest(h, part->from), whole = whole_of(h);
	const struct shown s = { .grid = &finest, .part = part };

	mw_json_seconds(b, "from", part->from);
	mw_json_seconds(b, "to", part->to);
	mw_json_known(b, "first", whole.n ? mw_history_at(&whole, 0)->t : 0, whole.n);
	columns(b, &s);
	events(b, h);
}
