/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * curves_choice.c - chooses the locations that are kept. See curves.h.
 *
 * For each id there are bases: its value a minute ago, and two means that follow its value slowly,
 * by a sixtieth and by a 1,440th of the difference each minute. A steady growth is ahead of them by
 * what it makes in an hour, and in a day. So there is no moment at which all changes start from 0.
 *
 * A kept location counts a quarter more than it has, so that two of about the same size don't take
 * turns.
 */
#include <stdlib.h>
#include <string.h>

#include "curves_choice.h"
#include "curves_grid.h"

enum { LIVE, MINUTE, HOUR, DAY, CRITERIA };
enum { IN_AN_HOUR = 60, IN_A_DAY = 1440 };

struct base {
	uint32_t stamp;
	uint32_t absent; /* uptime at which it surely wasn't there, plus 1; 0: not known */
	uint32_t minute, hour, day; /* units */
};

struct mw_curves_bases {
	struct base of[MW_CURVES_BASES_PIECE];
};
_Static_assert(sizeof(struct mw_curves_bases) == 40960, "10 pages");

/* The largest ids by one criterion: a heap whose first is the smallest. */
struct top {
	uint32_t n, max;
	struct {
		uint32_t key, id;
	} v[MW_CURVES_N];
};

struct set {
	uint64_t bits[MW_ID_END / 64];
};

static bool has(const struct set *s, uint32_t id)
{
	return id < MW_ID_END && s->bits[id / 64] >> id % 64 & 1;
}

static void put_id(struct set *s, uint32_t id)
{
	if (id < MW_ID_END)
		s->bits[id / 64] |= UINT64_C(1) << id % 64;
}

uint32_t mw_curves_units(uint64_t bytes)
{
	uint64_t n = bytes / MW_CURVES_UNIT; /* rounded down: nothing grows by more than it has */

	return n < MW_CURVES_UNKNOWN ? (uint32_t)n : MW_CURVES_UNKNOWN - 1;
}

/* --- slots ------------------------------------------------------------------------- */

void mw_curves_drop(struct mw_curves *c, uint32_t slot)
{
	struct mw_curves_slot *s = &c->slots[slot];

	if (s->name)
		c->names -= s->name_len + 1;
	free(s->name);
	*s = (struct mw_curves_slot){ 0 };
}

/* Sets a slot's values until `to`. */
static void fill_slot(struct mw_curves *c, uint32_t slot, uint32_t value, uint32_t to)
{
	const struct mw_curves_grid *grids[] = { &c->fine, &c->coarse, &c->whole };

	for (size_t g = 0; g < sizeof(grids) / sizeof(*grids); g++) {
		uint32_t n = mw_curves_present(grids[g]);

		for (uint32_t i = 0; i < n; i++) {
			struct mw_curves_moment m = mw_curves_moment(grids[g], i);

			if (*m.t > to)
				break;
			m.v[slot] = value;
		}
	}
}

void mw_curves_clear(struct mw_curves *c, uint32_t slot)
{
	mw_curves_drop(c, slot);
	fill_slot(c, slot, MW_CURVES_UNKNOWN, UINT32_MAX);
}

/* --- bases ------------------------------------------------------------------------------- */

/* NULL: an id without bases, or no memory. */
static struct base *base_of(struct mw_curves *c, const struct mw_api *api, uint32_t id)
{
	struct mw_curves_bases **piece;

	if (id >= MW_CURVES_BASES)
		return NULL;
	piece = &c->bases[id / MW_CURVES_BASES_PIECE];
	if (!*piece && api)
		*piece = api->keep(sizeof(**piece));
	return *piece ? &(*piece)->of[id % MW_CURVES_BASES_PIECE] : NULL;
}

static uint32_t nearer(uint32_t mean, uint32_t v, uint32_t part)
{
	return v > mean ? mean + (v - mean) / part : mean - (mean - v) / part;
}

/* The base of an id with a value; a new tenant began with nothing, unless it is as old as we are. */
static void update_base(struct base *b, const struct mw_curves *c, uint32_t stamp, uint32_t v, bool first)
{
	if (first)
		*b = (struct base){ stamp, 0, v, v, v };
	else if (b->stamp != stamp || (!b->absent && !b->minute && !b->hour && !b->day))
		*b = (struct base){ .stamp = stamp, .absent = c->chosen + 1 };
}

static void roll(struct mw_curves *c, const struct mw_live_sums *sums)
{
	for (uint32_t id = 1; id < sums->end; id++) {
		struct base *b = base_of(c, NULL, id);
		uint32_t v = mw_curves_units(sums->v[id].bytes);

		if (!b)
			continue;
		b->minute = v;
		b->hour = nearer(b->hour, v, IN_AN_HOUR);
		b->day = nearer(b->day, v, IN_A_DAY);
	}
}

/* --- the choice -------------------------------------------------------------------------- */

static void sift_top(struct top *t, uint32_t i)
{
	for (;;) {
		uint32_t least = i, left = 2 * i + 1;

		for (uint32_t k = left; k < left + 2 && k < t->n; k++)
			if (t->v[k].key < t->v[least].key)
				least = k;
		if (least == i)
			return;
		__typeof__(t->v[0]) swap = t->v[i];
		t->v[i] = t->v[least];
		t->v[least] = swap;
		i = least;
	}
}

static void offer(struct top *t, uint32_t key, uint32_t id)
{
	if (!key || (t->n == t->max && key <= t->v[0].key))
		return;
	if (t->n < t->max) {
		uint32_t i = t->n++;

		for (; i && t->v[(i - 1) / 2].key > key; i = (i - 1) / 2)
			t->v[i] = t->v[(i - 1) / 2];
		t->v[i].key = key;
		t->v[i].id = id;
		return;
	}
	t->v[0].key = key;
	t->v[0].id = id;
	sift_top(t, 0);
}

static uint32_t change(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

/* A kept location counts a quarter more. */
static uint32_t favour(uint32_t key, bool kept)
{
	return kept && key < UINT32_MAX / 2 ? key + key / 4 : key;
}

static int by_key(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x > *y ? -1 : *x < *y;
}

struct choice {
	struct set kept, wanted;
	struct set strong; /* the part of `wanted` that isn't there for its size alone */
	uint32_t wanted_n;
	struct top tops[CRITERIA];
	uint32_t fresh[MW_CURVES_N]; /* ids to take over, the most wanted first */
	uint32_t n, needed; /* the first `needed` of them are strong */
};

static void rank(struct choice *k, struct mw_curves *c, const struct mw_api *api,
		 const struct mw_live_sums *sums, bool first)
{
	for (uint32_t i = 0; i < MW_CURVES_N; i++) {
		if (c->slots[i].name && !c->slots[i].gone)
			put_id(&k->kept, c->slots[i].id);
	}
	for (int i = 0; i < CRITERIA; i++)
		k->tops[i].max = i == LIVE ? MW_CURVES_N : MW_CURVES_CLASS;
	for (uint32_t id = 1; id < sums->end; id++) {
		uint32_t v = mw_curves_units(sums->v[id].bytes);
		struct base *b = base_of(c, v ? api : NULL, id);
		bool kept = has(&k->kept, id);

		offer(&k->tops[LIVE], favour(v, kept), id);
		if (!b)
			continue;
		update_base(b, c, sums->v[id].stamp, v, first);
		offer(&k->tops[MINUTE], favour(change(v, b->minute), kept), id);
		offer(&k->tops[HOUR], favour(change(v, b->hour), kept), id);
		offer(&k->tops[DAY], favour(change(v, b->day), kept), id);
	}
}

static void want(struct choice *k, const struct top *t, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to && i < t->n; i++) {
		uint32_t id = t->v[i].id;

		if (has(&k->wanted, id) || k->wanted_n == MW_CURVES_N)
			continue;
		put_id(&k->wanted, id);
		k->wanted_n++;
		if (!has(&k->kept, id) && k->n < MW_CURVES_N)
			k->fresh[k->n++] = id;
	}
}

/* A place for one more: a free one, or that of the least which isn't wanted; MW_CURVES_N: none. */
static uint32_t choose_slot(struct mw_curves *c, const struct choice *k, bool needed)
{
	uint32_t best = MW_CURVES_N;

	for (uint32_t i = 0; i < MW_CURVES_N; i++) {
		const struct mw_curves_slot *s = &c->slots[i], *b = &c->slots[best % MW_CURVES_N];

		if (!s->name)
			return i;
		if (!s->gone && has(needed ? &k->strong : &k->wanted, s->id))
			continue;
		if (best == MW_CURVES_N || s->last < b->last)
			best = i;
	}
	return best;
}

static bool take_over(struct mw_curves *c, const struct mw_live_sums *sums, uint32_t slot,
		      const struct mw_row *r)
{
	struct mw_curves_slot *s = &c->slots[slot];
	const struct base *b = base_of(c, NULL, r->id);
	char *name;

	if (c->names + r->location_len + 1 > MW_CURVES_NAMES)
		return false;
	name = malloc((size_t)r->location_len + 1);
	if (!name)
		return false;
	if (s->name)
		mw_curves_clear(c, slot);
	memcpy(name, r->location, r->location_len);
	name[r->location_len] = '\0';
	*s = (struct mw_curves_slot){
		.name = name,
		.id = r->id,
		.stamp = sums->v[r->id].stamp,
		.name_len = r->location_len,
		.file_len = r->file_len,
		.kind = r->kind,
		.fresh = true,
		.last = mw_curves_units(sums->v[r->id].bytes)
	};
	c->names += r->location_len + 1;
	if (b && b->absent)
		fill_slot(c, slot, 0, b->absent - 1);
	return true;
}

/* A location that was retired and is back goes on where it was. */
static bool is_back(struct mw_curves *c, const struct mw_live_sums *sums, const struct mw_row *r)
{
	for (uint32_t i = 0; i < MW_CURVES_N; i++) {
		struct mw_curves_slot *s = &c->slots[i];

		if (!s->gone || s->name_len != r->location_len ||
		    memcmp(s->name, r->location, r->location_len) != 0)
			continue;
		s->id = r->id;
		s->stamp = sums->v[r->id].stamp;
		s->last = mw_curves_units(sums->v[r->id].bytes);
		s->gone = false;
		s->fresh = true;
		return true;
	}
	return false;
}

static void take_over_all(struct mw_curves *c, const struct mw_api *api, const struct mw_live_sums *sums,
			  struct choice *k)
{
	struct mw_snapshot *s = api->snapshot();
	const struct mw_row *rows[MW_CURVES_N] = { 0 };

	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		const struct mw_row *r = &s->rows[i];

		if (!has(&k->wanted, r->id) || has(&k->kept, r->id))
			continue;
		for (uint32_t n = 0; n < k->n; n++)
			if (k->fresh[n] == r->id)
				rows[n] = r;
	}
	for (uint32_t n = 0; n < k->n; n++) {
		uint32_t slot;

		if (!rows[n] || is_back(c, sums, rows[n]))
			continue;
		slot = choose_slot(c, k, n < k->needed);
		if (slot < MW_CURVES_N)
			(void)take_over(c, sums, slot, rows[n]);
	}
	api->snapshot_free(s);
}

void mw_curves_choose(struct mw_curves *c, const struct mw_api *api, const struct mw_live_sums *sums,
		      uint32_t t)
{
	struct choice *k = calloc(1, sizeof(*k)); /* 57 KB: more than some stacks should bear */

	if (!k)
		return;
	rank(k, c, api, sums, t == c->first);
	for (int i = 0; i < CRITERIA; i++)
		qsort(k->tops[i].v, k->tops[i].n, sizeof(k->tops[i].v[0]), by_key);
	for (int i = MINUTE; i < CRITERIA; i++)
		want(k, &k->tops[i], 0, MW_CURVES_CLASS);
	want(k, &k->tops[LIVE], 0, MW_CURVES_CLASS);
	k->needed = k->n;
	k->strong = k->wanted;
	want(k, &k->tops[LIVE], MW_CURVES_CLASS, MW_CURVES_N);
	if (k->n)
		take_over_all(c, api, sums, k);
	if (t >= c->minute) {
		roll(c, sums);
		c->minute = t + MW_CURVES_COARSE_STEP;
	}
	c->chosen = t;
	free(k);
}
