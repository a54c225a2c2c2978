/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gc.c - Ruby's collector, as far as memory over time shows it.
 *
 * A minor collection comes when as much as malloc_limit was allocated, or Ruby's heap is full. A major one
 * comes when old memory has grown by as much as old_limit, has doubled, or left too little free. Both limits grow
 * when they are met. Garbage goes while pages are swept, some seconds long.
 */
#include <stdlib.h>

#include "life.h"

enum { MINORS_TO_AGE = 3 };

void gc_begin(struct life *l)
{
	struct gc *g = &l->gc;

	g->malloc_limit = 16 * MB;
	g->old_limit = 16 * MB;
	g->limit = 4 * MB;
	g->gcs_then = calloc((size_t)l->lasts + 2, sizeof(*g->gcs_then));
	g->next_manual = g->manual_every > 0 ? g->manual_every : NEVER;
}

bool gc_is_off(const struct life *l, double t)
{
	return l->gc.ruby && t >= l->gc.off_from && t < l->gc.off_until;
}

static void sweep(struct life *l, double t)
{
	struct gc *g = &l->gc;
	double part = t >= g->sweep_until ? 1 : 1 / (g->sweep_until - t + 1);

	for (size_t i = 0; i < l->lines_n; i++)
		l->lines[i].dying -= l->lines[i].dying * part;
	g->dying -= g->dying * part;
	if (t >= g->sweep_until)
		g->majors_done = g->majors;
}

/* rest: the part of young garbage that came after the collection began */
static void collect(struct life *l, double t, bool major, double rest)
{
	struct gc *g = &l->gc;

	for (size_t i = 0; i < l->lines_n; i++) {
		struct line *line = &l->lines[i];

		if (!line->collects)
			continue;
		line->young *= rest;
		if (major) {
			line->dying += line->old;
			line->old = 0;
		}
	}
	g->young *= rest;
	g->last = t;
	g->minors_since++;
	if (!major)
		return;
	g->dying += g->old;
	g->old = 0;
	g->majors++;
	g->minors_since = 0;
	g->wants_major = false;
	g->sweep_until = t + chance_between(&l->chance, 0, 4);
	g->old_at_major = g->kept;
}

static double heap_used(const struct gc *g)
{
	return g->kept + g->young + g->old + g->dying;
}

static void size_heap(struct gc *g)
{
	double used = heap_used(g) - g->dying, limit = g->limit > g->pages ? g->limit : g->pages;

	if (limit - used >= limit / 5)
		return;
	if (g->minors_since >= MINORS_TO_AGE)
		g->wants_major = true;
	g->limit = used / 0.6 < limit * 1.8 ? used / 0.6 : limit * 1.8;
}

static void set_limits(struct gc *g, bool by_malloc, bool by_old, bool major)
{
	if (by_malloc)
		g->malloc_limit = fmin(g->malloc_limit * 1.4, g->malloc_max);
	else
		g->malloc_limit = fmax(g->malloc_limit * 0.98, 16 * MB);
	if (by_old)
		g->old_limit = fmin(g->old_limit * 1.2, g->old_max);
	else if (major)
		g->old_limit = fmax(g->old_limit * 0.98, 16 * MB);
	if (major)
		g->old_inc = 0;
}

static bool is_manual(struct gc *g, double t)
{
	if (t < g->next_manual)
		return false;
	g->next_manual = t + g->manual_every;
	return true;
}

/* Pages that are free after a major collection are given back. */
static void compact(struct gc *g, double t)
{
	if (g->compacts_every <= 0 || fmod(t, g->compacts_every) >= 1 || t < 1)
		return;
	g->limit = fmax(heap_used(g) / 0.8, 4 * MB);
	g->pages = fmin(g->pages, g->limit);
}

static void run(struct life *l, double t)
{
	struct gc *g = &l->gc;
	bool full = heap_used(g) >= fmax(g->limit, g->pages), by_malloc = g->malloc_inc >= g->malloc_limit;
	bool by_old = g->old_inc >= g->old_limit, manual = is_manual(g, t);
	bool major = manual || by_old || g->wants_major ||
		     g->kept + g->old > 2 * fmax(g->old_at_major, 2 * MB);
	double rest = 0;

	if (!full && !by_malloc && !manual)
		return;
	g->gcs++;
	if (by_malloc && !manual) {
		g->gcs += (uint32_t)(g->malloc_inc / g->malloc_limit) - 1;
		rest = fmod(g->malloc_inc, g->malloc_limit) / g->malloc_inc;
	}
	collect(l, t, major, rest);
	set_limits(g, by_malloc, by_old, major);
	g->malloc_inc *= rest;
	size_heap(g);
}

void gc_second(struct life *l, double t)
{
	struct gc *g = &l->gc;

	if (!g->ruby)
		return;
	sweep(l, t);
	if (!gc_is_off(l, t))
		run(l, t);
	compact(g, t);
	g->pages = fmax(g->pages, heap_used(g));
	g->gcs_then[(size_t)t] = g->gcs;
}
