/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heaps.c - the heaps of glibc's thread arenas, among the anonymous areas; see areas.h.
 *
 * A heap's address is a multiple of HEAP_MAX, and its header is there. To read a page that isn't in memory would
 * make the kernel set up tables for it: a gigabyte of them for a reservation of 16 TiB. So only pages that are in
 * memory are looked at.
 */

#include "shared/sys/sys.h"
#include "pages.h"

#define HEAP_MAX ((uintptr_t)64 << 20) /* glibc's HEAP_MAX_SIZE */

/* As at the start of glibc's heap_info. */
struct header {
	uintptr_t arena, previous;
	size_t size, accessible;
};

struct split {
	struct mw_map_areas to;
	const struct mw_map_pages *pages;
	int memory; /* /proc/self/mem; -1: none, or not glibc */
	uintptr_t mapping_end; /* of the areas from `first` on */
	size_t first;
	bool any; /* one of them is of a heap */
	struct mw_map_area heap; /* the last one; its end is where that heap ends */
};

/* A heap's header at `at`, in a mapping that ends at `end`. */
static bool heap_at(const struct split *s, uintptr_t at, uintptr_t end, struct header *h)
{
	uintptr_t page = (uintptr_t)1 << s->pages->shift;

	if (mw_sys(SYS_pread64, s->memory, mw_sys_ptr(h), sizeof(*h), (long)at, 0) != sizeof(*h))
		return false;
	if (!h->size || h->size > h->accessible || h->accessible > HEAP_MAX || h->size % page ||
	    h->accessible % page || h->accessible > end - at)
		return false;
	if (h->previous) /* the arena's struct lies in its first heap, behind the header */
		return h->previous % HEAP_MAX == 0 && h->arena % HEAP_MAX < page && h->arena - at >= page;
	return h->arena > at && h->arena - at < page;
}

/* The next heap that begins in [at, v->end): becomes s->heap. */
static bool next_heap(struct split *s, uintptr_t at, const struct mw_map_area *v)
{
	struct header h;

	while (at < v->end) {
		uintptr_t w = (at + HEAP_MAX - 1) & ~(HEAP_MAX - 1);

		at = w;
		if (w >= v->end || !mw_map_pages_next(s->pages, &at, v->end))
			return false;
		if (at != w)
			continue;
		at = w + 1;
		if (!heap_at(s, w, v->mapping_end, &h))
			continue;
		s->any = true;
		s->heap = (struct mw_map_area){
			.start = w,
			.end = w + h.size,
			.mapping_end = v->mapping_end,
			.kind = MW_AREA_ARENA,
			.heap = w,
			.arena = h.arena,
			.previous = h.previous
		};
		return true;
	}
	return false;
}

/* Of [from, to) of v. */
static void push(struct split *s, struct mw_map_area v, uintptr_t from, uintptr_t to)
{
	v.start = from;
	v.end = to;
	mw_map_areas_push(&s->to, v);
}

/* Puts what of the heap is in the rest of v, which begins at `from`, into the list. Returns its end. */
static uintptr_t push_heap(struct split *s, const struct mw_map_area *v, uintptr_t from)
{
	uintptr_t to = s->heap.end < v->end ? s->heap.end : v->end;

	if (from >= to)
		return from;
	push(s, s->heap, from, to);
	return to;
}

/* Settles the kinds of a mapping's other areas: only its end tells whether a heap is among them. */
static void end_mapping(struct split *s)
{
	for (size_t i = s->first; i < s->to.n; i++) {
		struct mw_map_area *v = &s->to.v[i];

		if (v->kind != MW_AREA_ANON)
			continue;
		if (v->stack && !s->any)
			v->kind = MW_AREA_STACK;
		v->guarded &= !s->any;
	}
	s->any = false;
	s->first = s->to.n;
}

static void split_area(struct split *s, const struct mw_map_area *v)
{
	uintptr_t at = v->start;

	if (v->mapping_end != s->mapping_end)
		end_mapping(s);
	s->mapping_end = v->mapping_end;
	if (v->kind == MW_AREA_ANON && s->memory >= 0) {
		at = push_heap(s, v, at);
		while (next_heap(s, at, v)) {
			push(s, *v, at, s->heap.start);
			at = push_heap(s, v, s->heap.start);
		}
	}
	push(s, *v, at, v->end);
}

bool mw_map_areas_split(struct mw_map_areas *a, const struct mw_map_pages *pages, bool glibc)
{
	struct split s = { .pages = pages, .memory = -1, .to.dropped = a->dropped };

	if (glibc)
		s.memory = mw_sys_open("/proc/self/mem", O_RDONLY | O_CLOEXEC, 0);
	for (size_t i = 0; i < a->n; i++)
		split_area(&s, &a->v[i]);
	end_mapping(&s);
	if (s.memory >= 0)
		mw_sys_close(s.memory);
	mw_map_areas_free(a);
	*a = s.to;
	return !a->failed;
}
