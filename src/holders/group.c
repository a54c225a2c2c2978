/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * group.c - sums blocks up: by holder, and for a location by path, too.
 *
 * A path's key is a hash of its steps' keys. Groups are in open addressing; when there are too many,
 * blocks count for their holder only.
 */
#include <stdio.h>
#include <string.h>

#include "child.h"
#include "label.h"

enum {
	GROUPS = 1 << 16, /* places; three quarters are used at most */
	CHAIN_MOST = 64   /* steps from the holder that tell paths apart */
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

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

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

/* The block at the head of the chain that holds block i: one that isn't held by a block. */
static uint32_t head_of(const struct mw_walk *w, uint32_t i)
{
	while (w->via[i] == MW_VIA_BLOCK)
		i = w->from[i];
	return i;
}

static enum mw_held_by held_by(const struct mw_walk *w, uint32_t i)
{
	return w->via[i] == MW_VIA_NONE ? MW_HELD_NOTHING : (enum mw_held_by)w->by[i];
}

/* A name stands for several areas. */
static uint64_t name_key(const char *name)
{
	uint64_t h = 1;

	while (*name)
		h = mix(h, (unsigned char)*name++);
	return h;
}

static uint64_t holder_key(const struct mw_walk *w, uint32_t i)
{
	uint64_t h = mix(1, held_by(w, i));

	i = head_of(w, i);
	if (w->via[i] == MW_VIA_OBJECT)
		h = mix(h, mw_holder_key(mw_object_at(w, w->from[i])));
	else if (w->via[i] == MW_VIA_AREA)
		h = mix(h, name_key(w->areas->v[w->from[i]].name));
	return h;
}

static bool is_root(uint32_t parent)
{
	return parent >= (uint32_t)MW_ROOT;
}

static uint64_t path_key(const struct mw_walk *w, uint32_t i, uint64_t h)
{
	uint32_t at;

	if (held_by(w, i) == MW_HELD_NATIVE)
		for (; w->via[i] == MW_VIA_BLOCK; i = w->from[i])
			h = mix(h, w->blocks[w->from[i]].id);
	i = head_of(w, i);
	if (w->via[i] != MW_VIA_OBJECT || held_by(w, i) != MW_HELD_RUBY)
		return h;
	at = w->from[i] + 1;
	for (unsigned k = 0; k < CHAIN_MOST && !is_root(at); k++) {
		h = mix(h, mw_step_key(mw_object_at(w, at - 1)));
		at = w->parent[at - 1];
	}
	return mix(h, at);
}

static void add_path(const struct mw_walk *w, struct groups *paths, const struct groups *holders,
		     struct group *holder, uint32_t i, uint64_t key)
{
	struct group *p = group_of(paths, path_key(w, i, key), i), *best;

	if (!p)
		return;
	if (!p->blocks)
		holder->paths++;
	p->holder = (uint32_t)(holder - holders->v);
	p->blocks++;
	best = holder->best ? &paths->v[holder->best - 1] : NULL;
	if (!best || p->blocks > best->blocks)
		holder->best = (uint32_t)(p - paths->v) + 1;
}

/* --- text ------------------------------------------------------------------------ */

/* Adds a text; its offset. 0, which is an empty text: no room. */
static uint32_t put(struct mw_findings *f, const char *s)
{
	size_t n = strlen(s) + 1;
	uint32_t at = f->text_n;

	if (n > MW_FOUND_TEXT - at)
		return 0;
	memcpy(f->text + at, s, n);
	f->text_n += (uint32_t)n;
	return at;
}

/* A path under way: repeated steps become one. */
struct path {
	struct mw_findings *f;
	struct mw_found *row;
	char last[2 * MW_LABEL];
	uint32_t times;
};

static void flush(struct path *p)
{
	char text[2 * MW_LABEL + 16];
	uint32_t at;

	if (!p->times)
		return;
	snprintf(text, sizeof(text), p->times > 1 ? "%s \xc3\x97%u" : "%s", p->last, p->times);
	at = put(p->f, text);
	if (at && !p->row->n_path++)
		p->row->path = at;
	p->times = 0;
}

static void step(struct path *p, const char *text)
{
	if (p->times && !strcmp(p->last, text)) {
		p->times++;
		return;
	}
	flush(p);
	snprintf(p->last, sizeof(p->last), "%s", text);
	p->times = 1;
}

/* From a root to object number `leaf`. The middle of a long path is left out. */
static void ruby_path(const struct mw_walk *w, struct path *p, uint32_t leaf)
{
	enum { HALF = MW_PATH_MOST / 2 };
	uint32_t near[HALF], far[HALF]; /* objects: from the leaf on, and the last ones before the root */
	uint32_t n = 0, at;
	char text[2 * MW_LABEL];

	for (at = leaf + 1; !is_root(at); at = w->parent[at - 1]) {
		if (n < HALF)
			near[n] = at - 1;
		else
			far[n % HALF] = at - 1;
		n++;
	}
	step(p, w->roots[at - (uint32_t)MW_ROOT]);
	for (uint32_t k = n; k--;) {
		uint32_t number = k < HALF ? near[k] : far[k % HALF];
		uintptr_t object = mw_object_at(w, number);

		if (k >= HALF && k + HALF < n) { /* far[] has others by now */
			snprintf(text, sizeof(text), "(%u more)", n - 2 * HALF);
			step(p, text);
			k = HALF;
			continue;
		}
		mw_step_label(object, text);
		if (k) {
			uint32_t next = k - 1 < HALF ? near[k - 1] : far[(k - 1) % HALF];
			size_t len = strlen(text);

			mw_edge_label(object, mw_object_at(w, next), text + len);
		}
		step(p, text);
	}
}

static void native_path(const struct mw_walk *w, struct path *p, uint32_t i)
{
	enum { MOST = MW_PATH_MOST };
	uint32_t ids[MOST], n = 0;
	char text[16];

	for (; w->via[i] == MW_VIA_BLOCK; i = w->from[i])
		ids[n++ % MOST] = w->blocks[w->from[i]].id;
	step(p, w->areas->v[w->from[i]].name);
	for (uint32_t k = n; k-- && n - k <= MOST;) {
		snprintf(text, sizeof(text), "%c%u", MW_FOUND_ID, ids[k % MOST]);
		step(p, text);
	}
}

static void path_of(const struct mw_walk *w, struct mw_found *row, uint32_t i)
{
	struct path p = { .f = w->found, .row = row };
	uint32_t head = head_of(w, i);

	if (row->by == MW_HELD_RUBY)
		ruby_path(w, &p, w->from[head]);
	else if (row->by == MW_HELD_NATIVE)
		native_path(w, &p, i);
	flush(&p);
}

/* --- rows ------------------------------------------------------------------------ */

static void name_holder(const struct mw_walk *w, struct mw_found *row, uint32_t i)
{
	char text[MW_LABEL];

	row->by = held_by(w, i);
	i = head_of(w, i);
	if (w->via[i] == MW_VIA_OBJECT) {
		mw_holder_label(mw_object_at(w, w->from[i]), text);
		row->holder = put(w->found, text);
	} else {
		row->holder = put(w->found,
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
		if (f->rows[i].by == row->by && !strcmp(f->text + f->rows[i].holder, f->text + row->holder))
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
		if (!as && f->n == MW_FOUND_ROWS - MW_HELD_BY_N) { /* the rest, one row for each kind */
			row.holder = put(f, "(others)");
			as = same(f, &row);
		}
		if (as) {
			as->blocks += row.blocks;
			as->bytes += row.bytes;
			as->paths += row.paths;
			continue;
		}
		if (g->best)
			path_of(w, &row, paths->v[g->best - 1].sample);
		f->rows[f->n++] = row;
	}
}

void mw_group(struct mw_walk *w)
{
	struct groups holders = { mw_child_map(w, GROUPS * sizeof(struct group)), 0 };
	struct groups paths = { mw_child_map(w, GROUPS * sizeof(struct group)), 0 };

	for (uint32_t i = 0; i < w->n_blocks; i++) {
		uint64_t key;
		struct group *h;

		if (w->wanted && !w->wanted[w->blocks[i].id])
			continue;
		key = holder_key(w, i);
		h = group_of(&holders, key, i);
		if (!h)
			h = group_of(&holders, mix(1, held_by(w, i)), i); /* one of its kind's */
		w->found->blocks++;
		w->found->bytes += w->blocks[i].size;
		if (!h)
			continue;
		h->blocks++;
		h->bytes += w->blocks[i].size;
		if (w->wanted)
			add_path(w, &paths, &holders, h, i, key);
	}
	make_rows(w, &holders, &paths);
	w->found->objects = w->n_reached;
}
