/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap_fill.h"

#include <stdlib.h>

#include "heap_walk.h"

static int by_start(const void *a, const void *b)
{
	const struct mw_map_ruby_page *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Turns slots into bytes, by address. */
static bool convert(struct mw_map_ruby *to, const struct mw_buf *pages)
{
	size_t n = pages->n / sizeof(struct mw_heap_slots);
	struct mw_map_ruby_page *v = malloc((n + 1) * sizeof(*v));

	to->v = v;
	if (!v || pages->failed)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct mw_heap_slots *p = (const struct mw_heap_slots *)(const void *)pages->p + i;

		if (p->total)
			v[to->n++] = (struct mw_map_ruby_page){ p->start, p->start + p->total * p->slot,
								p->used * p->slot };
	}
	if (to->n)
		qsort(v, to->n, sizeof(*v), by_start);
	return true;
}

bool mw_heap_fill(struct mw_map_ruby *to)
{
	struct mw_buf pages = { 0 };
	bool ok = false;

	*to = (struct mw_map_ruby){ 0 };
	if (!mw_objspace.each_objects)
		return false;
	mw_tracker->quiet_enter();
	mw_heap_slots_each(&pages);
	ok = convert(to, &pages);
	mw_buf_free(&pages);
	mw_tracker->quiet_leave();
	if (!ok)
		mw_heap_fill_free(to);
	return ok;
}

void mw_heap_fill_free(struct mw_map_ruby *r)
{
	mw_tracker->quiet_enter();
	free((void *)(uintptr_t)r->v);
	mw_tracker->quiet_leave();
	*r = (struct mw_map_ruby){ 0 };
}
