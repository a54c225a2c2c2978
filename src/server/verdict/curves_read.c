/* SPDX-License-Identifier: GPL-2.0-or-later */
/* curves_read.c - curves for readers, and their JSON. See curves.h. */
#include <stdlib.h>
#include <string.h>

#include "server/history/curves_grid.h"
#include "trend.h"
#include "shared/text/json.h"

/* The moments of a reading, ascending. */
struct moments {
	struct mw_curves_moment *v;
	size_t n;
};

static uint32_t t_of(const struct mw_curves_grid *g, uint32_t i)
{
	return *mw_curves_moment(g, i).t;
}

/*
 * Does a grid reach back to `from`, or to the first step? Its step less does, too: a grid of as many
 * moments as a usual range has is finer than the next one, though it begins within the range.
 */
static bool reaches(const struct mw_curves *c, const struct mw_curves_grid *g, double from)
{
	double oldest;

	if (!mw_curves_present(g))
		return false;
	oldest = t_of(g, 0);
	return oldest <= from + (double)g->step || oldest <= (double)c->first;
}

static const struct mw_curves_grid *finest(const struct mw_curves *c, double from)
{
	const struct mw_curves_grid *grids[] = { &c->fine, &c->coarse, &c->whole };
	const struct mw_curves_grid *best = &c->fine;

	for (size_t i = 0; i < sizeof(grids) / sizeof(*grids); i++) {
		const struct mw_curves_grid *g = grids[i];

		if (reaches(c, g, from))
			return g;
		if (mw_curves_present(g) && mw_curves_present(best) && t_of(g, 0) < t_of(best, 0))
			best = g; /* memory was short: the one that reaches back furthest */
	}
	return best;
}

/* From the last moment not after `from` up to `to`, `max` at most, the newest one included. */
static bool pick(struct moments *m, const struct mw_curves *c, double from, double to, size_t max)
{
	const struct mw_curves_grid *g = finest(c, from);
	uint32_t n = mw_curves_present(g), first = 0, end = n, newest = mw_curves_present(&c->fine);
	uint32_t stride;

	while (first + 1 < n && t_of(g, first + 1) <= from)
		first++;
	while (end > first && t_of(g, end - 1) > to)
		end--;
	m->n = 0;
	m->v = malloc((max + 2) * sizeof(*m->v));
	if (!m->v)
		return false;
	stride = (uint32_t)((end - first + max - 2) / (max - 1));
	if (end > first)
		m->v[m->n++] = mw_curves_moment(g, first);
	/* counted from the end, so that the last one is there */
	for (uint32_t left = end > first ? (end - 1 - first) / (stride ? stride : 1) : 0; left--;) {
		uint32_t i = end - 1 - left * stride;

		if (i > first)
			m->v[m->n++] = mw_curves_moment(g, i);
	}
	/* the coarse grids' last moment may be old */
	while (newest && t_of(&c->fine, newest - 1) > to)
		newest--;
	if (newest && m->n && t_of(&c->fine, newest - 1) > *m->v[m->n - 1].t) {
		if (m->n >= max)
			m->n = max - 1;
		m->v[m->n++] = mw_curves_moment(&c->fine, newest - 1);
	}
	return true;
}

/* One block: the curves, all bytes, the rest's, the times, the names. */
struct block {
	struct mw_curve *curves;
	uint64_t *bytes;
	uint32_t *t;
	char *names;
};

static bool make_block(struct block *b, struct mw_curve_set *set, size_t curves, size_t moments,
		       uint64_t names)
{
	size_t size = curves * sizeof(*b->curves) + (curves + 1) * moments * sizeof(*b->bytes) +
		      moments * sizeof(*b->t) + names + 1;

	set->owned = malloc(size);
	if (!set->owned)
		return false;
	b->curves = set->owned;
	b->bytes = (uint64_t *)(void *)(b->curves + curves);
	b->t = (uint32_t *)(void *)(b->bytes + (curves + 1) * moments);
	b->names = (char *)(b->t + moments);
	return true;
}

/* A slot's values from its first known one on; what is unknown later holds the one before. */
static void take_curve(struct mw_curve_set *set, struct block *b, const struct moments *m,
		       const struct mw_curves_slot *s, uint32_t slot)
{
	struct mw_curve *curve = &b->curves[set->n];
	size_t first = 0, n = 0;

	while (first < m->n && m->v[first].v[slot] == MW_CURVES_UNKNOWN)
		first++;
	for (size_t i = first; i < m->n; i++, n++) {
		uint32_t v = m->v[i].v[slot];

		b->bytes[n] = v == MW_CURVES_UNKNOWN ? b->bytes[n - 1] : (uint64_t)v * MW_CURVES_UNIT;
	}
	if (!n)
		return;
	memcpy(b->names, s->name, s->name_len + 1);
	*curve = (struct mw_curve){
		.location = b->names,
		.location_len = s->name_len,
		.file_len = s->file_len,
		.kind = s->kind,
		.id = s->gone ? MW_ID_NONE : s->id,
		.n = n,
		.t = b->t + first,
		.bytes = b->bytes
	};
	b->names += s->name_len + 1;
	b->bytes += n;
	set->n++;
}

static void take_rest(struct mw_curve_set *set, struct block *b, const struct moments *m,
		      const struct mw_curves *c)
{
	for (size_t i = 0; i < m->n; i++) {
		uint64_t kept = 0;

		for (uint32_t s = 0; s < MW_CURVES_N; s++)
			if (c->slots[s].name && !c->slots[s].fresh && m->v[i].v[s] != MW_CURVES_UNKNOWN)
				kept += (uint64_t)m->v[i].v[s] * MW_CURVES_UNIT;
		b->bytes[i] = *m->v[i].total > kept ? *m->v[i].total - kept : 0; /* values are rounded */
	}
	set->rest_n = m->n;
	set->rest_t = b->t;
	set->rest_bytes = b->bytes;
}

static int read_some(const struct mw_curves *c, const char *location, size_t len, double from, double to,
		     size_t points, struct mw_curve_set *set)
{
	struct moments m = { 0 };
	struct block b;
	size_t curves = 0;

	*set = (struct mw_curve_set){ 0 };
	if (!mw_curves_present(&c->fine))
		return 0;
	for (uint32_t i = 0; i < MW_CURVES_N; i++)
		curves += c->slots[i].name != NULL;
	if (!pick(&m, c, from, to, points < 2 ? 2 : points) ||
	    !make_block(&b, set, curves, m.n, c->names)) {
		free(m.v);
		return -1;
	}
	for (size_t i = 0; i < m.n; i++)
		b.t[i] = *m.v[i].t;
	set->v = b.curves;
	for (uint32_t i = 0; i < MW_CURVES_N; i++) {
		const struct mw_curves_slot *s = &c->slots[i];

		if (s->name && !s->fresh &&
		    (!location || (s->name_len == len && !memcmp(s->name, location, len))))
			take_curve(set, &b, &m, s, i);
	}
	if (!location)
		take_rest(set, &b, &m, c);
	free(m.v);
	return 0;
}

int mw_curves_read(const struct mw_curves *c, const struct mw_api *api, double from, double to,
		   struct mw_curve_set *set)
{
	(void)api;
	return read_some(c, NULL, 0, from, to, MW_CURVES_POINTS, set);
}

int mw_curves_read_one(const struct mw_curves *c, const char *location, size_t len, double from,
		       double to, size_t points, struct mw_curve_set *set)
{
	return read_some(c, location, len, from, to, points, set);
}

void mw_curves_free_set(struct mw_curve_set *set)
{
	free(set->owned);
	*set = (struct mw_curve_set){ 0 };
}

/* --- for trend.h ------------------------------------------------------------------------- */

void mw_curve_series(const struct mw_curve *c, double *t, double *v)
{
	for (size_t i = 0; i < c->n; i++) {
		t[i] = c->t[i];
		v[i] = (double)c->bytes[i];
	}
}

size_t mw_curves_longest(const struct mw_curve_set *set)
{
	size_t most = set->rest_n;

	for (size_t i = 0; i < set->n; i++)
		most = set->v[i].n > most ? set->v[i].n : most;
	return most;
}

/* --- JSON -------------------------------------------------------------------------------- */

/* The times of an answer: whole seconds, n of them. */
struct times {
	uint32_t from, to;
	size_t n;
};

static uint32_t time_at(const struct times *a, size_t i)
{
	return i + 1 < a->n ? a->from + (uint32_t)((uint64_t)(a->to - a->from) * i / (a->n - 1)) : a->to;
}

/* How many points are at `at` or before; the last one's value holds. 0: not known. */
static size_t until(uint32_t at, size_t n, const uint32_t *t, size_t k)
{
	while (k < n && t[k] <= at)
		k++;
	return k;
}

/* Without the last values that are all the same, but for the first of these. */
static void values(struct mw_buf *b, const char *name, const struct times *a, size_t n,
		   const uint32_t *t, const uint64_t *bytes)
{
	size_t last = 0, k = until(time_at(a, 0), n, t, 0);

	for (size_t i = 1; i < a->n; i++) {
		size_t before = k;

		k = until(time_at(a, i), n, t, k);
		if (k != before && (!before || bytes[k - 1] != bytes[before - 1]))
			last = i;
	}
	mw_json_open(b, name, '[');
	k = 0;
	for (size_t i = 0; i <= last; i++) {
		k = until(time_at(a, i), n, t, k);
		mw_json_known(b, NULL, k ? bytes[k - 1] : 0, k);
	}
	mw_buf_str(b, "]");
}

/* `room` has place for the times and the values of a curve; NULL: there was no memory. */
static void rank(struct mw_buf *b, const struct times *a, const struct mw_curve *c, double *room)
{
	uint32_t first = a->from > c->t[0] ? a->from : c->t[0];

	if (!room || a->to < first + MW_TREND_SECONDS) {
		mw_json_str(b, NULL, NULL);
		return;
	}
	mw_curve_series(c, room, room + c->n);
	mw_json_i64(b, NULL, (int64_t)mw_trend_rank(room, room + c->n, c->n, first, a->to));
}

static void curve_row_json(struct mw_buf *b, const struct times *a, const struct mw_curve *c, double *room)
{
	mw_json_open(b, "\n", '[');
	mw_json_known(b, NULL, c->id, c->id != MW_ID_NONE);
	mw_json_location(b, c->location, c->location_len, c->file_len, c->kind);
	values(b, NULL, a, c->n, c->t, c->bytes);
	rank(b, a, c, room);
	mw_buf_str(b, "]");
}

void mw_curves_render(struct mw_buf *b, const struct mw_curve_set *set, double from, double to,
		      size_t points)
{
	struct times a = { .from = from > 0 ? (uint32_t)from : 0, .n = points };
	double *room;

	a.to = to > (double)a.from ? (uint32_t)to : a.from;
	if (a.n > (size_t)(a.to - a.from) + 1)
		a.n = (size_t)(a.to - a.from) + 1;
	mw_json_u64(b, "from", a.from);
	mw_json_u64(b, "to", a.to);
	mw_json_open(b, "\nt", '[');
	for (size_t i = 0; i < a.n; i++)
		mw_json_u64(b, NULL, time_at(&a, i));
	mw_buf_str(b, "]");
	mw_json_open(b, "\nrows", '[');
	room = calloc(mw_curves_longest(set) + 1, 2 * sizeof(*room));
	for (size_t i = 0; i < set->n; i++)
		curve_row_json(b, &a, &set->v[i], room);
	free(room);
	mw_buf_str(b, "]");
	values(b, "\nrest", &a, set->rest_n, set->rest_t, set->rest_bytes);
}
