/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * group_held.c - sums blocks up: by holder, and for a location by path, too.
 *
 * Groups are in open addressing; when there are too many, blocks count for their holder only.
 */
#include <stdio.h>
#include <string.h>

#include "child.h"
#include "describe.h"
#include "path.h"
#include "ruby.h"

enum {
	GROUPS = 1 << 16 /* places; three quarters are used at most */
};

struct group {
	uint64_t key; /* 0: none */
	uint64_t blocks, bytes;
	uint32_t sample; /* one of its blocks */
	uint32_t holder; /* of a path: its holder's place */
	uint64_t paths;  /* of a holder */
	uint32_t best;   /* of a holder: the place of the path with the most blocks + 1 */
};

struct groups {
	struct group *v;
	uint32_t n;
};

/* The group with that key, a new one if need be; NULL: too many. */
static struct group *group_of(struct groups *g, uint64_t key, uint32_t sample)
{
	uint32_t i;

	key |= 1;
	for (i = (uint32_t)(key >> 20) % GROUPS; g->v[i].key && g->v[i].key != key;)
		i = (i + 1) % GROUPS;
	if (!g->v[i].key) {
		if (g->n >= GROUPS / 4 * 3)
			return NULL;
		g->n++;
		g->v[i].key = key;
		g->v[i].sample = sample;
	}
	return &g->v[i];
}

/* A name stands for several areas. */
static uint64_t name_key(const char *name)
{
	uint64_t h = 1;

	while (*name)
		h = mw_mix(h, (unsigned char)*name++);
	return h;
}

static bool is_object(const struct mw_walk *w, uint32_t i)
{
	return i >= w->n_found;
}

/* Blocks, or objects that a sample stands for. */
static uint64_t blocks_or_objects(const struct mw_walk *w, uint32_t i)
{
	return is_object(w, i) ? w->sampled[w->of[i - w->n_found]].n : 1;
}

/* A suspect's holders are its own, and those of its objects are apart. */
static uint64_t kind_key(const struct mw_walk *w, uint32_t i)
{
	return mw_mix(mw_mix(mw_mix(1, mw_held_by(w, i)), w->wanted ? w->wanted[w->blocks[i].id] : 0),
		      is_object(w, i));
}

static uint64_t holder_key(const struct mw_walk *w, uint32_t i)
{
	uint64_t h = kind_key(w, i);

	i = mw_head_of(w, i);
	if (w->via[i] == MW_VIA_OBJECT)
		h = mw_mix(h, mw_holder_key(mw_object_at(w, w->from[i])));
	else if (w->via[i] == MW_VIA_AREA)
		h = mw_mix(h, name_key(w->areas->v[w->from[i]].name));
	return h;
}

static void add_path(const struct mw_walk *w, struct groups *paths, const struct groups *holders,
		     struct group *holder, uint32_t i, uint64_t key)
{
	struct group *p = group_of(paths, mw_path_key(w, i, key), i), *best;

	if (!p)
		return;
	if (!p->blocks)
		holder->paths++;
	p->holder = (uint32_t)(holder - holders->v);
	p->blocks += blocks_or_objects(w, i);
	best = holder->best ? &paths->v[holder->best - 1] : NULL;
	if (!best || p->blocks > best->blocks)
		holder->best = (uint32_t)(p - paths->v) + 1;
}

/* --- rows ------------------------------------------------------------------------ */

static void name_holder(const struct mw_walk *w, struct mw_found *row, uint32_t i)
{
	char text[MW_LABEL];

	row->by = mw_held_by(w, i);
	row->objects = is_object(w, i);
	row->suspect = w->wanted ? w->wanted[w->blocks[i].id] - 1u : 0;
	i = mw_head_of(w, i);
	if (w->via[i] == MW_VIA_OBJECT) {
		mw_holder_label(mw_object_at(w, w->from[i]), text);
		row->holder = mw_put_text(w->found, text);
	} else {
		row->holder =
			mw_put_text(w->found,
				    w->via[i] == MW_VIA_AREA ? w->areas->v[w->from[i]].name : "(nothing)");
	}
}

static uint64_t weight(const struct mw_walk *w, const struct group *g)
{
	return w->wanted ? g->blocks : g->bytes;
}

/* The heaviest holder that has no row yet. */
static struct group *heaviest(const struct mw_walk *w, struct groups *holders)
{
	struct group *most = NULL;

	for (uint32_t i = 0; i < GROUPS; i++)
		if (holders->v[i].blocks && (!most || weight(w, &holders->v[i]) > weight(w, most)))
			most = &holders->v[i];
	return most;
}

/* A holder of the same name: classes without a name have one together. */
static struct mw_found *same(struct mw_findings *f, const struct mw_found *row)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (f->rows[i].by == row->by && f->rows[i].suspect == row->suspect &&
		    f->rows[i].objects == row->objects &&
		    !strcmp(f->text + f->rows[i].holder, f->text + row->holder))
			return &f->rows[i];
	return NULL;
}

static void make_rows(const struct mw_walk *w, struct groups *holders, const struct groups *paths)
{
	struct mw_findings *f = w->found;
	struct group *g;

	f->text_n = 1; /* offset 0 is an empty text */
	while ((g = heaviest(w, holders))) {
		struct mw_found row = { .blocks = g->blocks, .bytes = g->bytes, .paths = g->paths }, *as;

		name_holder(w, &row, g->sample);
		g->blocks = 0;
		as = same(f, &row);
		if (!as &&
		    f->n == MW_FOUND_ROWS - 2 * MW_HELD_BY_N * MW_SUSPECTS) { /* the rest, one row for each kind */
			row.holder = mw_put_text(f, "(others)");
			as = same(f, &row);
		}
		if (as) {
			as->blocks += row.blocks;
			as->bytes += row.bytes;
			as->paths += row.paths;
			continue;
		}
		if (g->best)
			mw_path_of(w, &row, paths->v[g->best - 1].sample);
		f->rows[f->n++] = row;
	}
}

static bool is_wrapped(const struct mw_walk *w, uint32_t head)
{
	return w->via[head] == MW_VIA_OBJECT && mw_ruby_type(mw_object_at(w, w->from[head])) == MW_T_DATA;
}

static void add_to_suspect(const struct mw_walk *w, uint32_t i)
{
	const struct mw_block *b = &w->blocks[i];
	struct mw_suspected *s = &w->found->suspects[w->wanted[b->id] - 1];

	if (is_object(w, i))
		return;
	s->blocks++;
	s->by[mw_held_by(w, i)] += b->size;
	s->old_by[mw_held_by(w, i)] += b->old ? b->size : 0;
	if (mw_held_by(w, i) == MW_HELD_GARBAGE && is_wrapped(w, mw_head_of(w, i)))
		s->wrapped += b->size;
}

/* Keeps the location if it is among those with the most bytes. */
static void keep_lost(struct mw_findings *f, const struct mw_lost *lost)
{
	uint32_t at = f->n_lost;

	while (at && f->lost[at - 1].bytes < lost->bytes)
		at--;
	if (at == MW_LOST)
		return;
	f->n_lost += f->n_lost < MW_LOST;
	memmove(&f->lost[at + 1], &f->lost[at], (f->n_lost - at - 1) * sizeof(*lost));
	f->lost[at] = *lost;
}

/* Which locations have the blocks that nothing holds? */
static void find_lost(struct mw_walk *w)
{
	struct mw_lost *by_id = mw_child_map(w, MW_ID_END * sizeof(*by_id));

	for (uint32_t i = 0; i < w->n_blocks; i++) {
		struct mw_lost *l = &by_id[w->blocks[i].id];

		if (is_object(w, i) || w->blocks[i].mapping || mw_held_by(w, i) != MW_HELD_NOTHING)
			continue;
		l->id = w->blocks[i].id;
		l->blocks++;
		l->bytes += w->blocks[i].size;
	}
	for (uint32_t id = 0; id < MW_ID_END; id++)
		if (by_id[id].blocks)
			keep_lost(w->found, &by_id[id]);
}

void mw_group(struct mw_walk *w)
{
	struct groups holders = { mw_child_map(w, GROUPS * sizeof(struct group)), 0 };
	struct groups paths = { mw_child_map(w, GROUPS * sizeof(struct group)), 0 };

	if (w->wanted)
		mw_path_keys(w);
	for (uint32_t i = 0; i < w->n_blocks; i++) {
		uint64_t key;
		struct group *h;

		if (!mw_is_wanted(w, i))
			continue;
		key = holder_key(w, i);
		h = group_of(&holders, key, i);
		if (!h)
			h = group_of(&holders, kind_key(w, i), i); /* one of its kind's */
		w->found->sampled += is_object(w, i);
		w->found->blocks += !is_object(w, i);
		w->found->bytes += is_object(w, i) ? 0 : w->blocks[i].size;
		if (w->wanted)
			add_to_suspect(w, i);
		if (!h)
			continue;
		h->blocks += blocks_or_objects(w, i);
		h->bytes += w->blocks[i].size;
		if (w->wanted)
			add_path(w, &paths, &holders, h, i, key);
	}
	make_rows(w, &holders, &paths);
	if (!w->wanted)
		find_lost(w);
	w->found->objects = w->n_reached;
	w->found->object_bytes = w->reached_bytes;
}
