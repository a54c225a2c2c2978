/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chunks.c - the least that malloc_trim gives back; see make.h.
 *
 * A thread's cache keeps freed blocks, which glibc's arena sees as used: a trim leaves their pages. Only the
 * chunks' headers tell the arena's free ones. So the headers in empty pages are read, from the last live
 * block before them on. Other threads may change them meanwhile: an impossible header ends the reading of that run.
 */

#include "shared/sys/sys.h"
#include "make.h"
#include "shared/sys/residency.h"

enum {
	BEFORE = 16, /* from a chunk's start to its block */
	CHUNK_LEAST = 32,
	FREE_HEAD = 48, /* of a free chunk, which a trim leaves */
	IN_USE_BEFORE = 1, /* in a chunk's size: the chunk before it is used */
	MAPPED = 2,
	FLAGS = 7,
	PAGES_MAX = 1 << 16 /* that are read: 50 ms or so */
};

struct reader {
	struct mw_map_making *k;
	const struct mw_map_area *area;
	int memory;
	uintptr_t page; /* that is in `text`; 0: none */
	unsigned left; /* pages that may still be read */
	uint64_t *text; /* a page */
	uint64_t sure,
		unknown; /* bytes of empty pages: in free chunks; in runs that weren't read to their end */
};

/* Bytes of empty pages in [from, to). */
static uint64_t empty_in(const struct reader *r, uintptr_t from, uintptr_t to)
{
	size_t page = r->k->map->page;
	const struct mw_map_entry *e;
	uint64_t sum = 0;

	to &= ~(page - 1);
	from = (from + page - 1) & ~(page - 1);
	for (; (e = mw_map_pages_next(&r->k->pages, &from, to)); from += page)
		sum += mw_map_cell_is(r->k, r->area, from, e) == MW_MAP_IS_EMPTY ? page : 0;
	return sum;
}

/* The size and flags in a chunk's header; 0: it isn't known. No page is brought into memory. */
static uint64_t read_chunk_header(struct reader *r, uintptr_t chunk)
{
	size_t bytes = r->k->map->page;
	uintptr_t page = chunk & ~(bytes - 1);
	const struct mw_map_entry *e = mw_map_entry(&r->k->pages, page);

	if (page != r->page) {
		if (!e || !(e->flags & MW_PAGE_PRESENT) || !r->left)
			return 0;
		r->left--;
		r->page = 0;
		if (mw_sys(SYS_pread64, r->memory, mw_sys_ptr(r->text), (long)bytes, (long)page, 0) !=
		    (long)bytes)
			return 0;
		r->page = page;
	}
	return r->text[(chunk - page) / sizeof(*r->text) + 1];
}

/* One past a chunk; 0: that can't be right. */
static uintptr_t behind(struct reader *r, uintptr_t chunk)
{
	uint64_t v = read_chunk_header(r, chunk), size = v & ~(uint64_t)FLAGS;

	return size < CHUNK_LEAST || size % BEFORE || v & MAPPED || size > r->area->end - chunk ?
		       0 :
		       chunk + size;
}

/* Pages [from, to) without a live block; chunk: that of the last live block before them. */
static void read_run(struct reader *r, uintptr_t chunk, uintptr_t from, uintptr_t to)
{
	uintptr_t next = chunk ? behind(r, chunk) : 0; /* that one is used */

	while (next && next < to) {
		uint64_t after;

		chunk = next;
		next = behind(r, chunk);
		/* the last chunk, which is free, ends with the area */
		after = !next                        ? 0 :
			next + BEFORE > r->area->end ? CHUNK_LEAST :
						       read_chunk_header(r, next);
		if (!after)
			next = 0;
		else if (!(after & IN_USE_BEFORE))
			r->sure += empty_in(r, chunk + FREE_HEAD, next < to ? next : to);
	}
	if (!next)
		r->unknown += empty_in(r, chunk > from ? chunk : from, to);
}

static void read_area(struct reader *r)
{
	const struct mw_map_pages *pages = &r->k->pages;
	uintptr_t page = r->k->map->page, end = r->area->end, chunk = 0, to;
	const struct mw_map_entry *e;

	for (uintptr_t at = r->area->start; (e = mw_map_pages_next(pages, &at, end)); at = to) {
		to = at + page;
		if (e->start)
			chunk = at + (uintptr_t)(e->start - 1) * BEFORE - BEFORE;
		if (mw_map_cell_is(r->k, r->area, at, e) != MW_MAP_IS_EMPTY)
			continue;
		while ((e = mw_map_pages_next(pages, &to, end)) && !e->live)
			to += page;
		read_run(r, chunk, at, e ? to : end);
	}
}

uint64_t mw_map_surely_empty(struct mw_map_making *k, uint64_t *unknown)
{
	struct reader r = { .k = k, .left = PAGES_MAX, .text = mw_map_memory(k->map->page) };

	r.memory = r.text ? mw_sys_open("/proc/self/mem", O_RDONLY | O_CLOEXEC, 0) : -1;
	for (size_t i = 0; i < k->areas.n; i++) {
		r.area = &k->areas.v[i];
		if (r.area->kind != MW_AREA_HEAP && r.area->kind != MW_AREA_ARENA)
			continue;
		if (r.memory >= 0)
			read_area(&r);
		else
			r.unknown += empty_in(&r, r.area->start, r.area->end);
	}
	if (r.memory >= 0)
		mw_sys_close(r.memory);
	mw_map_memory_free(r.text, k->map->page);
	*unknown = r.unknown;
	return r.sure;
}
