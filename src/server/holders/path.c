/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * path.c - see path.h.
 *
 * A key is a hash of the steps' keys, where equal steps in a row count as one: as in the text. An
 * object's parent comes before it in the queue, so one pass makes each key from its parent's.
 */
#include "path.h"

#include <stdio.h>
#include <string.h>

#include "edge.h"
#include "describe.h"
#include "globals.h"

static bool is_root(uint32_t parent)
{
	return parent >= (uint32_t)MW_ROOT;
}

/* The object that leads to object number `number`; 0: a root does. */
static uintptr_t parent_of(const struct mw_walk *w, uint32_t number)
{
	uint32_t parent = w->parent[number];

	return is_root(parent) ? 0 : mw_object_at(w, parent - 1);
}

/* The name of the root that leads to the object: its kind, or a global variable's. */
static const char *root_name(const struct mw_walk *w, uint32_t root, uintptr_t object)
{
	const char *kind = w->roots[root - (uint32_t)MW_ROOT];
	const char *global = strcmp(kind, "global_tbl") ? NULL : mw_global_name(w->globals, object);

	return global ? global : kind;
}

/* --- keys ------------------------------------------------------------------------ */

static bool is_ruby(const struct mw_walk *w, uint32_t head)
{
	return w->via[head] == MW_VIA_OBJECT && mw_held_by(w, head) == MW_HELD_RUBY;
}

/* Marks the holder of a wanted block, and all that leads to it. */
static void want(struct mw_walk *w, uint32_t i)
{
	uint32_t head = mw_head_of(w, i), at;

	if (!is_ruby(w, head))
		return;
	for (at = w->from[head] + 1; !is_root(at) && !w->steps[at - 1].path; at = w->parent[at - 1])
		w->steps[at - 1].path = 1;
}

/* The steps before the object on its path. */
static void make_key(struct mw_walk *w, uintptr_t object, uint32_t number)
{
	uint32_t parent = w->parent[number];
	struct mw_path_step *s = &w->steps[number], *before;
	uintptr_t from;

	if (is_root(parent)) {
		s->path = mw_mix(1, (uintptr_t)root_name(w, parent, object)) | 1;
		return;
	}
	from = mw_object_at(w, parent - 1);
	before = &w->steps[parent - 1];
	s->last = mw_mix(mw_step_key(from), mw_edge_key(parent_of(w, parent - 1), from, object));
	s->path = s->last == before->last ? before->path : mw_mix(before->path, s->last) | 1;
}

void mw_path_keys(struct mw_walk *w)
{
	w->steps = mw_child_map(w, (size_t)w->n_objects * sizeof(*w->steps) + 1);
	for (uint32_t i = 0; i < w->n_blocks; i++)
		if (mw_is_wanted(w, i))
			want(w, i);
	for (uint32_t i = 0; i < w->n_reached; i++) {
		uint32_t number = (uint32_t)mw_object_number(w, w->queue[i]);

		if (w->steps[number].path)
			make_key(w, w->queue[i], number);
	}
}

uint64_t mw_path_key(const struct mw_walk *w, uint32_t i, uint64_t holder)
{
	uint32_t head = mw_head_of(w, i), number;
	uint64_t key = holder;

	if (mw_held_by(w, i) == MW_HELD_NATIVE)
		for (; w->via[i] == MW_VIA_BLOCK; i = w->from[i])
			key = mw_mix(key, w->blocks[w->from[i]].id);
	if (!is_ruby(w, head))
		return key;
	number = w->from[head];
	return mw_mix(mw_mix(key, w->steps[number].path), mw_step_key(mw_object_at(w, number)));
}

/* --- text ------------------------------------------------------------------------ */

uint32_t mw_put_text(struct mw_findings *f, const char *s)
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
	at = mw_put_text(p->f, text);
	if (at && !p->row->n_path++)
		p->row->path = at;
	p->times = 0;
}

static void add_step(struct path *p, const char *text)
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
	add_step(p, root_name(w, at, mw_object_at(w, n <= HALF ? near[n - 1] : far[(n - 1) % HALF])));
	for (uint32_t k = n; k--;) {
		uint32_t number = k < HALF ? near[k] : far[k % HALF];
		uintptr_t object = mw_object_at(w, number);

		if (k >= HALF && k + HALF < n) { /* far[] has others by now */
			snprintf(text, sizeof(text), "(%u more)", n - 2 * HALF);
			add_step(p, text);
			k = HALF;
			continue;
		}
		mw_step_label(object, text);
		if (k && (k - 1 < HALF || k - 1 + HALF >= n)) {
			uint32_t next = k - 1 < HALF ? near[k - 1] : far[(k - 1) % HALF];
			size_t len = strlen(text);

			mw_edge_label(parent_of(w, number), object, mw_object_at(w, next), text + len);
		}
		add_step(p, text);
	}
}

static void native_path(const struct mw_walk *w, struct path *p, uint32_t i)
{
	enum { MOST = MW_PATH_MOST };
	uint32_t ids[MOST], n = 0;
	char text[16];

	for (; w->via[i] == MW_VIA_BLOCK; i = w->from[i])
		ids[n++ % MOST] = w->blocks[w->from[i]].id;
	add_step(p, w->areas->v[w->from[i]].name);
	for (uint32_t k = n; k-- && n - k <= MOST;) {
		snprintf(text, sizeof(text), "%c%u", MW_FOUND_ID, ids[k % MOST]);
		add_step(p, text);
	}
}

void mw_path_of(const struct mw_walk *w, struct mw_found *row, uint32_t i)
{
	struct path p = { .f = w->found, .row = row };
	uint32_t head = mw_head_of(w, i);

	if (row->by == MW_HELD_RUBY)
		ruby_path(w, &p, w->from[head]);
	else if (row->by == MW_HELD_NATIVE)
		native_path(w, &p, i);
	flush(&p);
}
