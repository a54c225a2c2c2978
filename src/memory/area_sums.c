/* SPDX-License-Identifier: GPL-2.0-or-later */
/* area_sums.c - the sums of each area's pages. See make.h. */
#include <string.h>

#include "make.h"
#include "shared/sys/residency.h"

#include "shared/sys/maps.h"

/*
 * A trim looks at each free chunk, asks the kernel to take those that have whole pages, and the kernel takes each
 * page. The least CPU times of glibc 2.36 on a quiet machine (t/accuracy/trim.rb), at 100 thousand to 1 million
 * blocks in 1 to 8 arenas; a busy one takes up to twice as long. There are no more free chunks than live blocks, nor
 * smaller ones than these.
 */
#define TRIM_CHUNK_NS 150
#define TRIM_CALL_NS 800
#define TRIM_PAGE_NS 400
#define TRIM_CHUNK_BYTES 128
/* glibc keeps so many free blocks for a thread at most, in 64 classes; each may be alone on its page. */
#define CACHED_MAX (64 * 7)

/* The last heap of an arena is no other one's previous. Its rest is the arena's end. */
static void find_last_heaps(struct mw_map_areas *all)
{
	bool last = false;

	for (size_t i = 0; i < all->n; i++)
		all->v[i].last = true;
	for (size_t i = 0; i < all->n; i++) {
		uintptr_t previous = all->v[i].kind == MW_AREA_ARENA ? all->v[i].previous : 0;
		struct mw_map_area *v = previous ? mw_map_area_at(all, previous) : NULL;

		if (v && v->heap == previous && v->arena == all->v[i].arena)
			v->last = false;
	}
	for (size_t i = 0; i < all->n; i++) {
		struct mw_map_area *a = &all->v[i];

		if (a->kind == MW_AREA_ARENA && a->heap == a->start)
			last = a->last;
		else /* more of the same heap */
			a->last = a->kind == MW_AREA_ARENA && last;
	}
}

static bool kept(const struct mw_map_entry *e)
{
	return e->live || e->flags & (MW_ENTRY_EDGE | MW_ENTRY_EDGE_GONE);
}

/* Calls f with each page that is in memory or swapped out. */
static void each_entry(struct mw_map_making *k, struct mw_map_area *a,
		       void (*f)(struct mw_map_making *, struct mw_map_area *, uintptr_t,
				 struct mw_map_entry *))
{
	struct mw_map_entry *e;

	for (uintptr_t at = a->start; (e = mw_map_pages_next(&k->pages, &at, a->end)); at += k->map->page)
		f(k, a, at, e);
}

static void sum_page(struct mw_map_making *k, struct mw_map_area *a, uintptr_t at, struct mw_map_entry *e)
{
	if (e->live > k->map->page)
		e->live = (uint32_t)k->map->page; /* blocks came and went while they were read */
	if (kept(e))
		a->used = at + k->map->page;
	if (e->flags & MW_PAGE_PRESENT) {
		a->live += e->live;
		a->resident += k->map->page;
	}
}

enum mw_map_cell mw_map_cell_is(const struct mw_map_making *k, const struct mw_map_area *a, uintptr_t at,
				const struct mw_map_entry *e)
{
	if (!e || !(e->flags & (MW_PAGE_PRESENT | MW_PAGE_SWAPPED)))
		return MW_MAP_IS_ABSENT;
	if (!(e->flags & MW_PAGE_PRESENT))
		return MW_MAP_IS_SWAPPED;
	if (a->kind == MW_AREA_RUBY)
		return MW_MAP_IS_RUBY;
	if (e->live)
		return MW_MAP_IS_USED;
	if (a->kind == MW_AREA_ANON || !k->walk.glibc)
		return k->walk.glibc || !a->live ? MW_MAP_IS_OTHER :
		       k->map->missing           ? MW_MAP_IS_UNKNOWN :
						   MW_MAP_IS_EMPTY;
	if (k->map->missing)
		return MW_MAP_IS_UNKNOWN;
	return a->last && at >= a->used ? MW_MAP_IS_END : MW_MAP_IS_EMPTY;
}

static void add_page(struct mw_map_making *k, struct mw_map_area *a, uintptr_t at, struct mw_map_entry *e)
{
	uint64_t *parts = k->map->parts, page = k->map->page;
	bool free_then = !(e->flags & (MW_ENTRY_STAYS | MW_ENTRY_EDGE));

	switch (mw_map_cell_is(k, a, at, e)) {
	case MW_MAP_IS_USED:
		parts[MW_MAP_LIVE] += e->live;
		parts[k->map->missing == MW_MISSING_SAMPLED ? MW_MAP_UNKNOWN : MW_MAP_HOLES] +=
			page - e->live;
		if (free_then && (!k->walk.glibc || a->kind != MW_AREA_ANON))
			k->empty_then += page;
		else if (free_then) /* a block of its own mapping goes at once */
			k->unmapped_then += page;
		break;
	case MW_MAP_IS_EMPTY:
		parts[MW_MAP_EMPTY] += page;
		if (!(e->flags & (MW_ENTRY_EDGE | MW_ENTRY_EDGE_GONE)))
			k->map->trim.bytes += page;
		if (free_then)
			k->empty_then += page;
		break;
	case MW_MAP_IS_END:
		parts[MW_MAP_ENDS] += page;
		break;
	case MW_MAP_IS_UNKNOWN:
		parts[MW_MAP_UNKNOWN] += page;
		break;
	case MW_MAP_IS_RUBY:
		parts[MW_MAP_RUBY] += page;
		break;
	case MW_MAP_IS_OTHER:
		parts[a->guarded && !a->live ? MW_MAP_STACKS : MW_MAP_OTHER] += page;
		break;
	case MW_MAP_IS_SWAPPED:
	case MW_MAP_IS_ABSENT:
	case MW_MAP_IS_MASK:
		break;
	}
}

static void count_task(pid_t task, void *ctx)
{
	(void)task;
	++*(uint64_t *)ctx;
}

static void estimate_trim(struct mw_map_making *k)
{
	struct mw_map_trim *t = &k->map->trim;
	uint64_t tasks = 0, cached, chunks, pages, calls, unknown;

	t->known = !k->map->missing;
	if (!t->known)
		return;
	if (!strcmp(k->map->allocator, "mimalloc"))
		t->bytes = k->empty_then = 0;
	mw_tasks_each(count_task, &tasks);
	cached = tasks * CACHED_MAX * k->map->page;
	if (k->walk.glibc && !k->walk.chosen) {
		t->least = mw_map_surely_empty(k, &unknown);
		t->least += unknown > cached ? unknown - cached : 0;
		if (t->least > t->bytes)
			t->least = t->bytes;
	}
	chunks = k->map->parts[MW_MAP_HOLES] / TRIM_CHUNK_BYTES;
	if (chunks > k->walk.live)
		chunks = k->walk.live;
	pages = t->bytes / k->map->page;
	calls = chunks < pages ? chunks : pages;
	t->ns = chunks * TRIM_CHUNK_NS + calls * TRIM_CALL_NS + pages * TRIM_PAGE_NS;
}

void mw_map_sum_areas(struct mw_map_making *k)
{
	static const enum mw_map_part of[] = {
		[MW_AREA_FILE] = MW_MAP_FILES, [MW_AREA_NONE] = MW_MAP_OTHER, [MW_AREA_STACK] = MW_MAP_STACKS, [MW_AREA_OWN] = MW_MAP_OWN
	};

	find_last_heaps(&k->areas);
	for (size_t i = 0; i < k->areas.n; i++) {
		struct mw_map_area *a = &k->areas.v[i];

		a->used = a->start;
		a->live = 0;
		if (!mw_map_may_hold(a->kind)) {
			k->map->parts[of[a->kind]] += a->resident;
			continue;
		}
		a->resident = 0;
		each_entry(k, a, sum_page);
		each_entry(k, a, add_page);
	}
	estimate_trim(k);
}
