/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fill.c - see pages.h. */
#include "pages.h"

/*
 * glibc's chunk begins 16 bytes before the block: its header's first word belongs to the chunk before,
 * if that is in use. A free chunk keeps the 48 bytes at its start, which a trim leaves. A chunk's end
 * isn't known to the byte: a block has a tail of 8 bytes at most (tracker/table/tail.h), and a size of 16 bytes.
 */
enum { BEFORE = 16, TAIL = 8, WORD = 8, GRAIN = 16, CHUNK_LEAST = 32, FREE_HEAD = 48 };

static bool chosen(const struct mw_map_walk *w, uint32_t id)
{
	return w->chosen && id < w->chosen_n && w->chosen[id / 8] >> id % 8 & 1;
}

/* Boyer and Moore's vote: what is left at the end is the majority's, if there is one. */
static void vote(struct mw_map_entry *e, uint32_t id, uint32_t bytes)
{
	if (!e->live) {
		e->line = id;
		e->lead = bytes;
	} else if (e->line == id) {
		e->lead += bytes;
	} else {
		e->flags |= MW_ENTRY_SEVERAL;
		if (e->lead >= bytes) {
			e->lead -= bytes;
		} else {
			e->line = id;
			e->lead = bytes - e->lead;
		}
	}
}

static void mark_edges(struct mw_map_walk *w, const struct mw_live *l, uint16_t flag)
{
	size_t chunk = (l->size + TAIL + WORD + GRAIN - 1) & ~(size_t)(GRAIN - 1);
	uintptr_t start = l->addr - BEFORE;
	uintptr_t end = start + (chunk < CHUNK_LEAST ? CHUNK_LEAST : chunk) + FREE_HEAD;
	unsigned shift = w->pages->shift;
	struct mw_map_entry *e;

	if (start >> shift != l->addr >> shift && (e = mw_map_entry(w->pages, start)))
		e->flags |= flag;
	if ((end - 1) >> shift != (mw_map_end(l) - 1) >> shift && (e = mw_map_entry(w->pages, end - 1)))
		e->flags |= flag;
}

/* Bytes of [start, end) that are in no mapping. */
static uint64_t outside(const struct mw_map_walk *w, uintptr_t start, uintptr_t end)
{
	uint64_t bytes = end - start;

	for (const struct mw_map_area *a = mw_map_area_from(w->areas, start);
	     a < w->areas->v + w->areas->n && a->start < end; a++)
		bytes -= mw_map_overlap(start, end, a->start, a->end);
	return bytes;
}

static void fill_in_block(const struct mw_live *l, void *ctx)
{
	struct mw_map_walk *w = ctx;
	uintptr_t end = mw_map_end(l), page = (uintptr_t)1 << w->pages->shift;
	uint64_t in_memory = 0;
	bool goes = chosen(w, l->id);
	struct mw_map_entry *e;

	w->live++;
	w->live_bytes += l->size;
	if (l->id >= w->ids)
		w->ids = l->id + 1;
	if (goes) {
		w->chosen_blocks++;
		w->chosen_bytes += l->size;
	}
	for (uintptr_t at = l->addr & ~(page - 1); (e = mw_map_pages_next(w->pages, &at, end));
	     at += page) {
		uint32_t bytes = (uint32_t)mw_map_within(l->addr, end, at, page);
		uint16_t start = (uint16_t)(at <= l->addr ? (l->addr - at) / GRAIN + 1 : 0);

		in_memory += bytes;
		if (start > e->start)
			e->start = start;
		vote(e, l->id, bytes);
		e->live += bytes;
		if (!goes)
			e->flags |= MW_ENTRY_STAYS;
	}
	if (in_memory < end - l->addr)
		w->outside += outside(w, l->addr, end);
	if (w->glibc)
		mark_edges(w, l, goes ? MW_ENTRY_EDGE_GONE : MW_ENTRY_EDGE);
}

void mw_map_fill(struct mw_map_walk *w)
{
	w->live = w->live_bytes = w->outside = w->chosen_blocks = w->chosen_bytes = 0;
	w->ids = 1;
	w->api->each_live(fill_in_block, w);
}

static void share_out_block(const struct mw_live *l, void *ctx)
{
	struct mw_map_walk *w = ctx;
	uintptr_t end = mw_map_end(l), page = (uintptr_t)1 << w->pages->shift;
	const struct mw_map_entry *e;
	struct mw_map_sum *s;

	if (l->id >= w->ids)
		return; /* a location that is new since mw_map_fill */
	s = &w->sums[l->id];
	s->bytes += l->size;
	s->blocks++;
	for (uintptr_t at = l->addr & ~(page - 1); (e = mw_map_pages_next(w->pages, &at, end));
	     at += page) {
		size_t bytes = mw_map_within(l->addr, end, at, page);

		if (!(e->flags & 1) || !e->live)
			continue;
		s->holds += (double)(page * bytes) / (double)(e->live > bytes ? e->live : bytes);
		if (!(e->flags & MW_ENTRY_SEVERAL))
			s->alone += bytes * page / (e->live > bytes ? e->live : bytes);
	}
}

void mw_map_share(struct mw_map_walk *w)
{
	w->api->each_live(share_out_block, w);
}
