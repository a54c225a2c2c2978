/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pages.h - what is in each page of the areas that may hold blocks.
 *
 * A page's address leads to its entry by two loads: windows of 64 MiB, each with an array of entries
 * that is mapped when the first of its pages turns out to be in memory, or to have a block.
 */
#ifndef MW_MAP_PAGES_H
#define MW_MAP_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "areas.h"

enum {
	/* the low bits are those of residency.h */
	MW_ENTRY_KNOWN = 32, /* the page is in memory or swapped out, in an area that may hold blocks */
	MW_ENTRY_EDGE = 64, /* the allocator's header beside a live block keeps a trim from the page */
	MW_ENTRY_SEVERAL = 128, /* blocks of several lines are there */
	MW_ENTRY_EDGE_GONE = 256 /* as MW_ENTRY_EDGE, beside a block that is asked about */
};

struct mw_map_entry {
	uint32_t line; /* the id that most of the bytes are of, if one has more than half of them */
	uint16_t live; /* bytes of live blocks, up to UINT16_MAX */
	uint16_t lead; /* by which that id leads the others: Boyer and Moore's majority vote */
	uint16_t gone; /* of `live`, those of the locations that are asked about */
	uint16_t flags;
	uint16_t start; /* in units of 16 bytes from the page's start, plus 1: the last block that begins here; 0: none */
};

enum { MW_MAP_WINDOW = 26, MW_MAP_ADDRESS = 48 };

struct mw_map_pages {
	struct mw_map_entry **windows; /* by address >> MW_MAP_WINDOW; NULL: not needed yet */
	unsigned shift; /* of a page */
	uint32_t n; /* windows there are */
	bool failed; /* no memory for one */
};

/* False: no memory. */
bool mw_map_pages_make(struct mw_map_pages *);
void mw_map_pages_free(struct mw_map_pages *);
/* Maps a window's entries. NULL: no memory, or no address of this machine's. */
struct mw_map_entry *mw_map_pages_add(struct mw_map_pages *, uintptr_t at);

/* The entry of a page; NULL: it is absent, and has no block. */
static inline struct mw_map_entry *mw_map_entry(const struct mw_map_pages *p, uintptr_t at)
{
	struct mw_map_entry *w = at >> MW_MAP_ADDRESS ? NULL : p->windows[at >> MW_MAP_WINDOW];

	return w ? w + ((at & (((uintptr_t)1 << MW_MAP_WINDOW) - 1)) >> p->shift) : NULL;
}

/* Where entries may begin again, from `at` on, up to `end`. `at`: there. */
uintptr_t mw_map_pages_skip(const struct mw_map_pages *, uintptr_t at, uintptr_t end);

/* --- fill.c: the walks over the live blocks ---------------------------------------------- */

/* By id. */
struct mw_map_sum {
	uint64_t bytes, blocks;
	double holds;
	uint64_t alone;
};

struct mw_map_walk {
	const struct mw_api *api;
	const struct mw_map_areas *areas;
	struct mw_map_pages *pages;
	bool glibc;
	uint64_t live, live_bytes, outside;
	uint32_t ids; /* one past the highest */
	const uint8_t *chosen; /* a bit for each id below chosen_n: what-if; NULL: none */
	uint32_t chosen_n;
	uint64_t chosen_blocks, chosen_bytes;
	struct mw_map_sum *sums; /* of `ids`; set for mw_map_share */
};

/* Fills the pages' live bytes, their lines and edges. */
void mw_map_fill(struct mw_map_walk *);
/* Then: what each id holds. */
void mw_map_share(struct mw_map_walk *);

/* A block's bytes in the page at `first`, which has `bytes` bytes. */
static inline size_t mw_map_within(uintptr_t start, uintptr_t end, uintptr_t first, size_t bytes)
{
	uintptr_t from = start > first ? start : first, to = end < first + bytes ? end : first + bytes;

	return to > from ? to - from : 0;
}

/* One past a block's last byte; a block of 0 bytes counts as one of 1. */
static inline uintptr_t mw_map_end(const struct mw_live *l)
{
	return l->addr + (l->size ? l->size : 1);
}

#endif
