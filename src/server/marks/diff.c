/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diff.h"

#include <stdlib.h>
#include <string.h>

#include "shared/report/sums.h"
#include "shared/sys/root.h"
#include "grown.h"

/* --- columns ----------------------------------------------------------------------------- */

/*
 * A row: growth, live_bytes and live are as their names say, of the later moment. total and freed are
 * bytes and blocks live at the earlier one. allocations and frees are those in between, unless life_sum,
 * the number of rows that don't know them. life_max: blocks and objects aren't known. objects and object_bytes
 * are of the later moment; object_samples and overruns are objects and their bytes at the earlier one.
 * object_variance is the sum of both: samples that are in both make it too large.
 */
static void get_growth(const struct mw_row *r, struct mw_cell *c)
{
	c->kind = MW_CELL_INT;
	c->i = r->growth;
}

static void get_known(struct mw_cell *c, uint64_t v, bool known)
{
	c->kind = known ? MW_CELL_UINT : MW_CELL_NONE;
	c->u = v;
}

static void get_growth_blocks(const struct mw_row *r, struct mw_cell *c)
{
	c->kind = r->life_max ? MW_CELL_NONE : MW_CELL_INT;
	c->i = mw_difference(r->live, r->freed);
}

static void get_from_bytes(const struct mw_row *r, struct mw_cell *c)
{
	get_known(c, r->total, true);
}

static void get_to_bytes(const struct mw_row *r, struct mw_cell *c)
{
	get_known(c, r->live_bytes, true);
}

static void get_from_blocks(const struct mw_row *r, struct mw_cell *c)
{
	get_known(c, r->freed, !r->life_max);
}

static void get_to_blocks(const struct mw_row *r, struct mw_cell *c)
{
	get_known(c, r->live, !r->life_max);
}

static void get_allocations(const struct mw_row *r, struct mw_cell *c)
{
	get_known(c, r->allocations, !r->life_sum);
}

static void get_frees(const struct mw_row *r, struct mw_cell *c)
{
	get_known(c, r->frees, !r->life_sum);
}

static void get_change(struct mw_cell *c, const struct mw_row *r, uint64_t to, uint64_t from)
{
	c->kind = r->life_max ? MW_CELL_NONE : MW_CELL_INT;
	c->i = mw_difference(to, from);
}

static void get_growth_objects(const struct mw_row *r, struct mw_cell *c)
{
	get_change(c, r, r->objects, r->object_samples);
}

static void get_growth_object_bytes(const struct mw_row *r, struct mw_cell *c)
{
	get_change(c, r, r->object_bytes, r->overruns);
}

static void get_growth_objects_error(const struct mw_row *r, struct mw_cell *c)
{
	get_known(c, (uint64_t)(2 * mw_root((double)r->object_variance) + 0.5), !r->life_max);
}

static void get_from_objects(const struct mw_row *r, struct mw_cell *c)
{
	get_known(c, r->object_samples, !r->life_max);
}

static void get_to_objects(const struct mw_row *r, struct mw_cell *c)
{
	get_known(c, r->objects, !r->life_max);
}

static void get_location(const struct mw_row *r, struct mw_cell *c)
{
	c->kind = MW_CELL_TEXT;
	c->s = r->location;
	c->u = r->location_len;
}

static const struct mw_column columns[] = {
	{ "growth", "Growth", "Bytes live at the later moment less those live at the earlier one.",
	  MW_TYPE_BYTES, -1, 0, get_growth },
	{ "growth_blocks", "Blocks", "Blocks live at the later moment less those live at the earlier one.",
	  MW_TYPE_COUNT, -1, 2, get_growth_blocks },
	{ "from_bytes", "Before", "Bytes live at the earlier moment.", MW_TYPE_BYTES, -1, 2,
	  get_from_bytes },
	{ "to_bytes", "After", "Bytes live at the later moment.", MW_TYPE_BYTES, -1, 0, get_to_bytes },
	{ "from_blocks", "Blocks before", "Blocks live at the earlier moment.", MW_TYPE_COUNT, -1, 1,
	  get_from_blocks },
	{ "to_blocks", "Blocks after", "Blocks live at the later moment.", MW_TYPE_COUNT, -1, 2,
	  get_to_blocks },
	{ "allocations", "Allocations", "Allocating calls in between; empty if a reset lies between.",
	  MW_TYPE_COUNT, -1, 2, get_allocations },
	{ "frees", "Frees", "Blocks freed in between; empty if a reset lies between.", MW_TYPE_COUNT, -1,
	  2, get_frees },
	{ "location", "Location", "Ruby file and line, or native module with symbol and offset.",
	  MW_TYPE_TEXT, 1, 0, get_location },
	{ "growth_objects", "Objects",
	  "Ruby objects that stay at the later moment less those at the earlier one, estimated from samples.",
	  MW_TYPE_COUNT, -1, 6, get_growth_objects },
	{ "growth_object_bytes", "Object bytes", "The same of their slots in Ruby's heap.",
	  MW_TYPE_BYTES, -1, 2, get_growth_object_bytes },
	{ "growth_objects_error", "Object error",
	  "How many objects more or fewer that may be, in 19 of 20 cases, or less.", MW_TYPE_COUNT, -1,
	  6, get_growth_objects_error },
	{ "from_objects", "Objects before", "Ruby objects that stayed at the earlier moment.",
	  MW_TYPE_COUNT, -1, 6, get_from_objects },
	{ "to_objects", "Objects after", "Ruby objects that stay at the later moment.", MW_TYPE_COUNT,
	  -1, 6, get_to_objects },
};

/* The larger one of both moments. */
static uint64_t size(const struct mw_row *r)
{
	const uint64_t v[] = { r->total, r->live_bytes, r->object_bytes, r->overruns };
	uint64_t most = 0;

	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
		most = v[i] > most ? v[i] : most;
	return most;
}

const struct mw_table mw_diff_table = { columns, sizeof(columns) / sizeof(*columns), 0, size };

/* --- exact ------------------------------------------------------------------------------- */

static const struct mw_marks_numbers zero;

/* May counts of calls at these two moments be subtracted? */
static bool one_epoch(const struct mw_diff *d)
{
	return d->from.resets == d->to.resets;
}

/* Sets the numbers of a row whose text is set. A location that had more calls before is a new one. */
static void set_numbers(struct mw_row *r, const struct mw_marks_numbers *from,
			const struct mw_marks_numbers *to, bool calls)
{
	const uint64_t *f = from->v, *t = to->v;

	r->total = f[MW_MARKS_BYTES];
	r->freed = f[MW_MARKS_BLOCKS];
	r->live_bytes = t[MW_MARKS_BYTES];
	r->live = t[MW_MARKS_BLOCKS];
	r->growth = mw_difference(t[MW_MARKS_BYTES], f[MW_MARKS_BYTES]);
	r->objects = t[MW_MARKS_OBJECTS];
	r->object_bytes = t[MW_MARKS_OBJECT_BYTES];
	r->object_samples = f[MW_MARKS_OBJECTS];
	r->overruns = f[MW_MARKS_OBJECT_BYTES];
	r->object_variance = mw_sum_u64(t[MW_MARKS_VARIANCE], f[MW_MARKS_VARIANCE]);
	calls = calls && t[MW_MARKS_ALLOCATIONS] >= f[MW_MARKS_ALLOCATIONS] &&
		t[MW_MARKS_FREES] >= f[MW_MARKS_FREES];
	r->life_sum = !calls;
	if (!calls)
		return;
	r->allocations = t[MW_MARKS_ALLOCATIONS] - f[MW_MARKS_ALLOCATIONS];
	r->frees = t[MW_MARKS_FREES] - f[MW_MARKS_FREES];
}

/* Between two marks, or the start and one: all texts are places'. */
static int between_marks(struct mw_diff *d, const struct mw_marks *m,
			 const struct mw_marks_numbers *from, const struct mw_marks_numbers *to)
{
	d->rows = calloc((size_t)m->places + 1, sizeof(*d->rows));
	if (!d->rows)
		return -1;
	for (uint32_t i = 0; i < m->places; i++) {
		d->rows[d->n] = mw_marks_row(mw_marks_place(m, i));
		set_numbers(&d->rows[d->n++], from ? &from[i] : &zero, &to[i], one_epoch(d));
	}
	return 0;
}

struct keyed {
	uint64_t key;
	const struct mw_row *row;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/* The table's rows by their keys, malloc'ed; NULL: no memory. */
static struct keyed *keyed_rows(const struct mw_snapshot *s)
{
	struct keyed *v = malloc((s->n + 1) * sizeof(*v));

	for (size_t i = 0; v && i < s->n; i++)
		v[i] = (struct keyed){ mw_marks_key(&s->rows[i]), &s->rows[i] };
	if (v)
		qsort(v, s->n, sizeof(*v), by_key);
	return v;
}

/* A row for all of v[n] that have the key of the first; returns how many these are. */
static size_t add_row(struct mw_diff *d, const struct keyed *v, size_t n,
		      const struct mw_marks_numbers *from)
{
	struct mw_row *r = &d->rows[d->n++];
	struct mw_marks_numbers now = { 0 };
	size_t same = 0;

	*r = (struct mw_row){ .location = v->row->location,
			      .location_len = mw_location_bare(v->row),
			      .file_len = v->row->file_len,
			      .at = v->row->at,
			      .kind = v->row->kind,
			      .id = v->row->id };
	for (; same < n && v[same].key == v->key; same++)
		mw_marks_numbers_add(&now, v[same].row);
	set_numbers(r, from, &now, one_epoch(d));
	return same;
}

/* Up to now: the table's rows, and what was live before and isn't there any more. from NULL: the start. */
static int until_now(struct mw_diff *d, const struct mw_marks *m, const struct mw_marks_numbers *from)
{
	struct keyed *v = keyed_rows(d->now);
	bool *seen = calloc((size_t)m->places + 1, sizeof(*seen));

	d->rows = calloc(d->now->n + m->places + 1, sizeof(*d->rows));
	for (size_t i = 0; v && seen && d->rows && i < d->now->n;) {
		uint32_t place = from ? mw_marks_place_of(m, v[i].key) : UINT32_MAX;

		if (place != UINT32_MAX)
			seen[place] = true;
		i += add_row(d, &v[i], d->now->n - i, place == UINT32_MAX ? &zero : &from[place]);
	}
	for (uint32_t i = 0; v && seen && d->rows && from && i < m->places; i++) {
		if (seen[i] || !(from[i].v[MW_MARKS_BLOCKS] | from[i].v[MW_MARKS_OBJECTS]))
			continue;
		d->rows[d->n] = mw_marks_row(mw_marks_place(m, i));
		set_numbers(&d->rows[d->n++], &from[i], &zero, false);
	}
	free(v);
	free(seen);
	return v && seen && d->rows ? 0 : -1;
}

static void set_now(struct mw_diff *d, const struct mw_diff_source *src)
{
	struct mw_stats stats = { 0 };

	src->api->stats(&stats);
	d->to = mw_moment_now(d->now, &stats, src->uptime, 0);
}

int mw_diff_make(struct mw_diff *d, const struct mw_diff_source *src, const struct mw_named_mark *from,
		 const struct mw_named_mark *to)
{
	struct mw_marks_numbers *f = from ? mw_marks_read(src->marks, from) : NULL;
	struct mw_marks_numbers *t = to ? mw_marks_read(src->marks, to) : NULL;
	int rc = (from && !f) || (to && !t) ? -1 : 0;

	*d = (struct mw_diff){ .exact = true };
	if (from)
		d->from = from->moment;
	else
		d->from.unix_time = src->unix_time - src->uptime;
	if (!to && !rc) {
		d->now = src->api->snapshot();
		rc = d->now ? 0 : -1;
	}
	if (!rc && to) {
		d->to = to->moment;
		rc = between_marks(d, src->marks, f, t);
	} else if (!rc) {
		set_now(d, src);
		rc = until_now(d, src->marks, f);
	}
	free(f);
	free(t);
	if (rc)
		mw_diff_free(d, src->api);
	return rc;
}

/* --- by the history ------------------------------------------------------------------------ */

static const char rest_name[] = "(rest)";

static struct mw_row curve_row(const char *location, size_t len, uint64_t from, uint64_t to)
{
	return (struct mw_row){ .location = location,
				.location_len = (uint32_t)len,
				.id = MW_ID_NONE,
				.total = from,
				.live_bytes = to,
				.growth = mw_difference(to, from),
				.life_sum = 1,
				.life_max = 1 };
}

/* A location that is newly kept was among the rest before; so it stays there. */
static int from_curves(struct mw_diff *d)
{
	const struct mw_curve_set *set = &d->set;
	uint64_t from = set->rest_bytes[0], to = set->rest_bytes[set->rest_n - 1];

	d->rows = calloc(set->n + 1, sizeof(*d->rows));
	if (!d->rows)
		return -1;
	for (size_t i = 0; i < set->n; i++) {
		const struct mw_curve *c = &set->v[i];
		struct mw_row *r = &d->rows[d->n];

		if (c->n < set->rest_n) {
			to = mw_sum_u64(to, c->bytes[c->n - 1]);
			continue;
		}
		*r = curve_row(c->location, c->location_len, c->bytes[0], c->bytes[c->n - 1]);
		r->file_len = c->file_len;
		r->kind = c->kind;
		r->location_len = mw_location_bare(r);
		d->n++;
	}
	d->rows[d->n] = curve_row(rest_name, sizeof(rest_name) - 1, from, to);
	d->rows[d->n].file_len = sizeof(rest_name) - 1;
	d->rows[d->n++].kind = MW_KIND_SPECIAL;
	return 0;
}

static void set_time(struct mw_moment *m, const struct mw_diff_source *src, uint32_t t)
{
	m->uptime = t;
	m->unix_time = src->unix_time - src->uptime + t;
}

int mw_diff_between(struct mw_diff *d, const struct mw_diff_source *src, double from, double to)
{
	struct mw_grown g;
	int rc = mw_grown_read(&g, src->curves, src->api, from, to);

	*d = (struct mw_diff){ 0 };
	if (rc)
		return rc;
	d->set = g.set; /* moves */
	set_time(&d->from, src, g.from);
	set_time(&d->to, src, g.to);
	rc = from_curves(d);
	if (rc)
		mw_diff_free(d, src->api);
	return rc;
}

/* --- the peak ------------------------------------------------------------------------------ */

/* Bytes at a moment: of the rows of one location, and of its place. */
static uint64_t bytes_at(const struct mw_diff_moment *m, const struct mw_row *sum,
			 const struct mw_marks_numbers *of_mark, uint32_t place)
{
	if (m->is_peak)
		return sum->peak_bytes;
	if (m->mark)
		return place == UINT32_MAX ? 0 : of_mark[place].v[MW_MARKS_BYTES];
	return m->is_now ? sum->live_bytes : 0;
}

/* A row for each location of the table, and for each that only a mark has. */
static int rows_of_peak(struct mw_diff *d, const struct mw_marks *m, const struct mw_diff_moment *from,
			const struct mw_marks_numbers *f, const struct mw_diff_moment *to,
			const struct mw_marks_numbers *t)
{
	struct keyed *v = keyed_rows(d->now);
	bool *seen = calloc((size_t)m->places + 1, sizeof(*seen));
	const struct mw_row none = { 0 };

	d->rows = calloc(d->now->n + m->places + 1, sizeof(*d->rows));
	for (size_t i = 0; v && seen && d->rows && i < d->now->n;) {
		const struct mw_row *r = v[i].row;
		uint32_t place = f || t ? mw_marks_place_of(m, v[i].key) : UINT32_MAX;
		struct mw_row sum = { 0 }, *row = &d->rows[d->n++];
		uint64_t key = v[i].key;

		if (place != UINT32_MAX)
			seen[place] = true;
		for (; i < d->now->n && v[i].key == key; i++) {
			sum.peak_bytes = mw_sum_u64(sum.peak_bytes, v[i].row->peak_bytes);
			sum.live_bytes = mw_sum_u64(sum.live_bytes, v[i].row->live_bytes);
		}
		*row = curve_row(r->location, mw_location_bare(r), bytes_at(from, &sum, f, place),
				 bytes_at(to, &sum, t, place));
		row->file_len = r->file_len;
		row->at = r->at;
		row->kind = r->kind;
		row->id = r->id;
	}
	for (uint32_t i = 0; v && seen && d->rows && (f || t) && i < m->places; i++) {
		uint64_t before = bytes_at(from, &none, f, i), after = bytes_at(to, &none, t, i);
		struct mw_row place = mw_marks_row(mw_marks_place(m, i));

		if (seen[i] || !(before | after))
			continue;
		d->rows[d->n] = curve_row(place.location, place.location_len, before, after);
		d->rows[d->n].file_len = place.file_len;
		d->rows[d->n].at = place.at;
		d->rows[d->n++].kind = place.kind;
	}
	free(v);
	free(seen);
	return v && seen && d->rows ? 0 : -1;
}

/* The moment of an end; its sums are those of the rows. */
static struct mw_moment moment_of(const struct mw_diff_moment *m, const struct mw_diff_source *src,
				  const struct mw_stats *stats)
{
	double t = m->is_peak ? stats->peak_uptime : m->is_now ? src->uptime : 0;

	return m->mark ? m->mark->moment :
			 (struct mw_moment){ .uptime = t,
					     .unix_time = src->unix_time - src->uptime + t,
					     .live_bytes = m->is_peak ? stats->peak_bytes :
							   m->is_now  ? stats->live_bytes :
									0 };
}

int mw_diff_peak(struct mw_diff *d, const struct mw_diff_source *src, const struct mw_diff_moment *from,
		 const struct mw_diff_moment *to)
{
	struct mw_marks_numbers *f = from->mark ? mw_marks_read(src->marks, from->mark) : NULL;
	struct mw_marks_numbers *t = to->mark ? mw_marks_read(src->marks, to->mark) : NULL;
	struct mw_stats stats = { 0 };
	int rc;

	*d = (struct mw_diff){ .of_peak = true };
	src->api->stats(&stats);
	d->now = src->api->snapshot();
	rc = (from->mark && !f) || (to->mark && !t) || !d->now ? -1 : 0;
	if (!rc)
		rc = rows_of_peak(d, src->marks, from, f, to, t);
	d->from = moment_of(from, src, &stats);
	d->to = moment_of(to, src, &stats);
	free(f);
	free(t);
	if (rc)
		mw_diff_free(d, src->api);
	return rc;
}

void mw_diff_free(struct mw_diff *d, const struct mw_api *api)
{
	if (d->now)
		api->snapshot_free(d->now);
	free(d->rows);
	mw_curves_free_set(&d->set);
	*d = (struct mw_diff){ 0 };
}
